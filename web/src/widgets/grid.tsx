/*
 * grid.tsx - a table of any length: only the rows on the screen exist. Sort by the headers, filter by words, choose columns, copy.
 */
import { Component, type ComponentChildren } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TableData } from "../api/types";
import { classes, useSettled, useSize, saveText } from "../base/dom";
import { count } from "../base/format";
import { adjust, query } from "../base/url";
import {
	type ColumnView,
	columnViews,
	emptyColumns,
	filterRows,
	isTree,
	type Measure,
	plainLabel,
	type Sort,
	sortFrom,
	sortRows,
	toCsv,
	toText,
	Tree,
} from "./grid_model";
import { Icon } from "./icon";

const ROW_PX = 26;
const NO_ROWS = new Uint32Array(0);
const SPARE = 8;
/* Before a name in a tree: its triangle, and what each level shifts it by. Room is made for those of two levels. */
const TWIG_PX = 18;
const LEVEL_PX = 16;
const TWIGS_PX = TWIG_PX + LEVEL_PX;

let measure: Measure | undefined;

/* Measures in the fonts of the page (widgets.css). */
function pen(): Measure | undefined {
	const c = measure ? null : document.createElement("canvas").getContext("2d");
	const family = getComputedStyle(document.body).fontFamily;
	if (c)
		measure = (text, heading) => {
			c.font = heading ? `600 12px ${family}` : `13px ${family}`;
			return c.measureText(text).width;
		};
	return measure;
}

export interface GridProps {
	table: TableData;
	filter?: string;
	onFilter?: (text: string) => void;
	sort?: Sort | undefined;
	maxRows?: number; /* a short table is as high as its rows, up to this many */
	link?: ((col: string, row: number) => string | undefined) | undefined;
	onRow?: (row: number) => void; /* a click, or Up and Down in the table */
	onPoint?: (row: number | null) => void;
	selected?: number | null; /* the row of onRow */
	tint?: (col: string, row: number) => string | undefined; /* a cell's ground */
	onSort?: (s: Sort | undefined) => void;
	csv?: string | undefined; /* address of the table as CSV */
	orderKey?: string; /* where the order stands in the URL */
	whole?: boolean; /* show columns in which nothing stands, too */
	save?: string; /* name of the file when the rows on the screen are saved as CSV */
}

export function Grid(props: GridProps) {
	const { table, maxRows = 24 } = props;
	const [filter, setFilter] = useState(props.filter ?? "");
	const [sort, setSort] = useState<Sort | undefined>(() => sortFrom(props.orderKey ? (query.get()[props.orderKey] ?? "") : "", table) ?? props.sort);
	const [hidden, setHidden] = useState<ReadonlySet<string>>(() => (props.whole ? new Set() : emptyColumns(table)));
	const [widths, setWidths] = useState<Readonly<Record<string, number>>>({});
	const [top, setTop] = useState(0); /* the first row in sight */
	const [body, size] = useSize<HTMLDivElement>();
	useEffect(() => setFilter(props.filter ?? ""), [props.filter]);
	const fresh = useRef(true);
	useEffect(() => {
		if (!fresh.current) setSort(props.sort);
		fresh.current = false;
	}, [props.sort?.col, props.sort?.down]);
	const changeSort = (s: Sort | undefined) => {
		setSort(s);
		if (props.orderKey) adjust({ [props.orderKey]: s && `${s.down ? "-" : ""}${s.col}` });
		props.onSort?.(s);
	};
	const settled = useSettled(filter, table.nrows > 5000 ? 150 : 0);

	const views = useMemo(() => columnViews(table, pen()), [table]);
	const tree = useMemo(() => (isTree(table) ? new Tree(table) : undefined), [table]);
	/* A single root says little: it begins open, and so does what leads to the chosen row. */
	const [open, setOpen] = useState<ReadonlySet<number>>(() => {
		const all = new Set(tree && tree.roots().length < 4 ? tree.roots() : []);
		for (let up = tree?.parent[props.selected ?? -1] ?? -1; up >= 0; up = tree?.parent[up] ?? -1) all.add(up);
		return all;
	});
	const shown = useMemo(() => tree?.visible(settled, sort, open), [tree, settled, sort, open]);
	const flat = useMemo(
		() => (tree ? undefined : sortRows(table, filterRows(table, settled), sort)),
		[tree, table, settled, sort],
	);
	const rows = shown?.rows ?? flat ?? NO_ROWS;
	const fold = useCallback(
		(row: number) =>
			setOpen((s) => {
				const next = new Set(s);
				if (!next.delete(row)) next.add(row);
				return next;
			}),
		[],
	);
	const cols = useMemo(() => {
		const on = views.filter((c) => !hidden.has(c.col.id));
		const first = Math.max(0, on.findIndex((c) => !c.numeric));
		return tree ? on.map((c, i) => (i === first ? { ...c, width_px: c.width_px + TWIGS_PX } : c)) : on;
	}, [views, hidden, tree === undefined]);
	const branch = tree ? (cols.find((c) => !c.numeric) ?? cols[0]) : undefined;
	const template = useMemo(() => columnsTemplate(cols, size.width, branch, widths), [cols, size.width, widths]);
	const frozen = branch ?? frozenColumn(cols);
	const height = Math.max(1, Math.min(rows.length, maxRows)) * ROW_PX + ROW_PX + 16;
	const seen = Math.ceil(Math.max(height, size.height) / ROW_PX) + 1;
	const first = Math.max(0, Math.min(top, rows.length - 1) - SPARE);
	const last = Math.min(rows.length, top + seen + SPARE);
	/* A row's element stays where it is and becomes another row's, when its own has left the window. */
	const slots = seen + 2 * SPARE;
	const change = (text: string) => {
		setFilter(text);
		if (body.current) body.current.scrollTop = 0;
		props.onFilter?.(text);
	};

	/* What a link chose is in sight. */
	const sought = useRef(false);
	useEffect(() => {
		const at = props.selected == null ? -1 : rows.indexOf(props.selected);
		const el = body.current;
		if (sought.current || at < 0 || !el || !el.clientHeight) return;
		sought.current = true;
		if ((at + 1) * ROW_PX > el.clientHeight) el.scrollTop = at * ROW_PX - el.clientHeight / 2;
	}, [props.selected, rows, size.height]);

	/* Up and Down choose a row, Left and Right close and open it. */
	const onKey = (e: KeyboardEvent) => {
		if (!props.onRow || e.target !== e.currentTarget || !rows.length) return;
		const at = props.selected == null ? -1 : rows.indexOf(props.selected);
		const row = rows[at] ?? -1;
		if (e.key === "ArrowDown" || e.key === "ArrowUp") {
			const next = Math.min(rows.length - 1, Math.max(0, at + (e.key === "ArrowDown" ? 1 : -1)));
			props.onRow(rows[next] ?? 0);
			const el = body.current;
			if (el) {
				const y = next * ROW_PX;
				if (y < el.scrollTop) el.scrollTop = y;
				else if (y + 3 * ROW_PX > el.scrollTop + el.clientHeight) el.scrollTop = y + 3 * ROW_PX - el.clientHeight;
			}
		} else if (at >= 0 && tree?.hasKids(row) && open.has(row) !== (e.key === "ArrowRight") && /Left|Right/.test(e.key))
			fold(row);
		else return;
		e.preventDefault();
	};
	const choosing = !!props.onRow;

	return (
		<div class="grid">
			<div class="grid-bar">
				<label class="search-box">
					<Icon name="search" />
					<input
						class="input"
						type="search"
						placeholder="Filter rows"
						aria-label="Filter rows"
						value={filter}
						onInput={(e) => change(e.currentTarget.value)}
					/>
				</label>
				<span class="muted" role="status">
					{rows.length === table.nrows
						? `${count(table.nrows)} ${table.nrows === 1 ? "row" : "rows"}`
						: `${count(rows.length)} of ${count(table.nrows)} rows`}
				</span>
				<span class="spring" />
				<ColumnChooser views={views} hidden={hidden} onChange={setHidden} />
				<CopyButton text={() => toText(table, cols, rows)} />
				{props.csv && (
					<a class="button" href={props.csv} download title="Save the whole table as CSV, without filter and order">
						<Icon name="download" />
						CSV
					</a>
				)}
				{props.save && (
					<button class="button" title="Save these rows as CSV" onClick={() => saveText(props.save ?? "", "text/csv", toCsv(table, cols, rows))}>
						<Icon name="download" />
						CSV
					</button>
				)}
			</div>
			<div
				class="grid-body"
				ref={body}
				style={{ height }}
				tabIndex={0}
				role={choosing ? (tree ? "treegrid" : "grid") : "table"}
				aria-label={table.title || table.name}
				aria-rowcount={rows.length + 1}
				onKeyDown={onKey}
				onPointerLeave={props.onPoint && (() => props.onPoint?.(null))}
				onScroll={(e) => setTop(Math.floor(e.currentTarget.scrollTop / ROW_PX))}
			>
				<div class="grid-head grid-row" role="row" style={{ gridTemplateColumns: template }}>
					{cols.map((c) => (
						<HeadCell
							key={c.col.id}
							view={c}
							sort={sort}
							frozen={c === frozen}
							onSort={changeSort}
							onWidth={(px) => setWidths((w) => ({ ...w, [c.col.id]: px }))}
						/>
					))}
				</div>
				<div class="grid-space" role="rowgroup" style={{ height: rows.length * ROW_PX }}>
					{inSlots(first, last, slots).map((i) => {
						const row = rows[i] ?? 0;
						const depth = shown?.depth[i] ?? 0;
						return (
							<Row
								key={i % slots}
								i={i}
								row={row}
								table={table}
								cols={cols}
								frozen={frozen}
								template={template}
								choosing={choosing}
								selected={props.selected === row}
								level={choosing && shown ? depth + 1 : undefined}
								branch={tree && shown ? branch : undefined}
								depth={depth}
								kids={tree?.hasKids(row) ?? false}
								open={open.has(row) || (!!tree && settled.trim() !== "")}
								fold={fold}
								onPoint={props.onPoint}
								onRow={props.onRow}
								link={props.link}
								tint={props.tint}
							/>
						);
					})}
				</div>
				{rows.length === 0 && <p class="grid-none">{table.nrows === 0 ? "No rows." : `No row matches “${filter}”.`}</p>}
			</div>
		</div>
	);
}

/* What is left over goes to text columns, so a table fills its place and long names get the most of it. */
function columnsTemplate(
	cols: readonly ColumnView[],
	room: number,
	branch: ColumnView | undefined,
	widths: Readonly<Record<string, number>>,
): string {
	const sum = (list: readonly ColumnView[]) => list.reduce((a, c) => a + c.width_px, 0);
	const texts = cols.filter((c) => !c.numeric && c.width_px > 90);
	const takers = texts.length ? texts : cols;
	const spare = room - sum(cols) - 1;
	/* When there is too little, long names give up to half of theirs so that the table need not scroll sideways. */
	const least = spare / Math.max(1, sum(texts));
	const share = spare >= 0 ? spare / Math.max(1, sum(takers)) : least;
	const scrolls = least < -0.5;
	const of = (c: ColumnView) =>
		spare >= 0
			? takers.includes(c)
				? c.width_px * (1 + share)
				: c.width_px
			: scrolls && !branch
				? Math.min(c.width_px, SCROLLS_PX)
				: texts.includes(c) && c.width_px > 180
					? Math.max(c === branch ? 200 : branch ? 120 : 180, c.width_px * (1 + Math.max(-0.5, share)))
					: c.width_px;
	return cols.map((c) => `${Math.floor(widths[c.col.id] ?? of(c))}px`).join(" ");
}

/* The places from `from` to `to`, each at its place modulo `slots`. */
function inSlots(from: number, to: number, slots: number): number[] {
	const out: number[] = [];
	for (let s = 0; s < slots; s++) {
		const i = from + ((s - (from % slots) + slots) % slots);
		if (i < to) out.push(i);
	}
	return out;
}

/* The first column of names stays in sight while one scrolls sideways. */
function frozenColumn(cols: readonly ColumnView[]): ColumnView | undefined {
	return cols.find((c) => !c.numeric && c.width_px > 90) ?? cols.find((c) => !c.numeric);
}

const LEAST_PX = 40;
const SCROLLS_PX = 320; /* a column of a table that scrolls sideways, at most */

/* The right edge of a heading, to be dragged. */
function WidthHandle({ onWidth }: { onWidth: (px: number) => void }) {
	const from = useRef<{ x: number; w: number }>();
	return (
		<span
			class="grid-width"
			aria-hidden="true"
			onPointerDown={(e) => {
				from.current = { x: e.clientX, w: e.currentTarget.parentElement?.getBoundingClientRect().width ?? 0 };
				e.currentTarget.setPointerCapture(e.pointerId);
			}}
			onPointerMove={(e) => from.current && onWidth(Math.max(LEAST_PX, from.current.w + e.clientX - from.current.x))}
			onPointerUp={() => (from.current = undefined)}
		/>
	);
}

function HeadCell({
	view,
	sort,
	frozen,
	onSort,
	onWidth,
}: {
	view: ColumnView;
	sort: Sort | undefined;
	frozen: boolean;
	onSort: (s: Sort | undefined) => void;
	onWidth: (px: number) => void;
}) {
	const { col } = view;
	const mine = sort?.col === col.id ? sort : undefined;
	/* Numbers first from the greatest, names first from A; the third click gives the server's order back. */
	const firstDown = view.numeric;
	const next = !mine
		? { col: col.id, down: firstDown }
		: mine.down === firstDown
			? { col: col.id, down: !firstDown }
			: undefined;
	return (
		<div
			role="columnheader"
			class={classes("grid-cell", view.numeric && "grid-number", frozen && "grid-frozen")}
			aria-sort={mine ? (mine.down ? "descending" : "ascending") : "none"}
		>
			<button class="grid-sort" title={col.doc || plainLabel(col.label || col.id)} onClick={() => onSort(next)}>
				<span class="grid-label">{plainLabel(col.label || col.id)}</span>
				{view.unit && <span class="grid-unit">{view.unit}</span>}
				{mine && <Icon name={mine.down ? "down" : "up"} />}
			</button>
			<WidthHandle onWidth={onWidth} />
		</div>
	);
}

interface RowProps {
	i: number; /* its place */
	row: number; /* its row in the table */
	table: TableData;
	cols: readonly ColumnView[];
	frozen: ColumnView | undefined;
	template: string;
	choosing: boolean;
	selected: boolean;
	level: number | undefined;
	branch: ColumnView | undefined; /* the column with the twigs of a tree */
	depth: number;
	kids: boolean;
	open: boolean;
	fold: (row: number) => void;
	onPoint: GridProps["onPoint"];
	onRow: GridProps["onRow"];
	link: GridProps["link"];
	tint: GridProps["tint"];
}

/* Drawn again only when something of it has changed: while one scrolls that is one row in fifty. */
class Row extends Component<RowProps> {
	override shouldComponentUpdate(next: RowProps): boolean {
		return (Object.keys(next) as (keyof RowProps)[]).some((k) => next[k] !== this.props[k]);
	}

	override render({ i, row, table, cols, choosing, branch, onPoint, onRow, ...p }: RowProps) {
		return (
			<div
				class={classes("grid-row", choosing && "grid-click", i % 2 === 1 && "grid-odd", p.selected && "grid-on")}
				role="row"
				aria-rowindex={i + 2}
				aria-selected={choosing ? p.selected : undefined}
				aria-level={p.level}
				onPointerEnter={onPoint && (() => onPoint(row))}
				style={{ gridTemplateColumns: p.template, top: i * ROW_PX }}
				onClick={onRow && (() => onRow(row))}
			>
				{cols.map((c) => (
					<BodyCell
						key={c.col.id}
						view={c}
						row={row}
						table={table}
						frozen={c === p.frozen}
						role={choosing ? "gridcell" : "cell"}
						tint={p.tint?.(c.col.id, row)}
						href={p.link?.(c.col.id, row)}
						twig={c === branch ? { depth: p.depth, kids: p.kids, open: p.open, fold: () => p.fold(row) } : undefined}
					/>
				))}
			</div>
		);
	}
}

interface Twig {
	depth: number;
	kids: boolean;
	open: boolean;
	fold: () => void;
}

function BodyCell({
	view,
	row,
	table,
	frozen,
	role,
	tint,
	href,
	twig,
}: {
	view: ColumnView;
	row: number;
	table: TableData;
	frozen: boolean;
	role: "cell" | "gridcell";
	tint: string | undefined;
	href: string | undefined;
	twig: Twig | undefined;
}) {
	const text = twig ? withoutParent(table, view, row) : view.text(row);
	const v = table.data[view.index]?.[row];
	const share = view.bar > 0 && typeof v === "number" ? Math.min(1, Math.max(0, v / view.bar)) : 0;
	let inner: ComponentChildren = text;
	const path = !view.numeric && isPath(text);
	if (path) inner = <bdi>{text}</bdi>;
	if (href) inner = <a href={href}>{inner}</a>;
	return (
		<div
			role={role}
			class={classes("grid-cell", view.numeric && "grid-number", frozen && "grid-frozen")}
			style={tint ? { background: tint } : undefined}
			title={view.numeric ? undefined : view.full(row)}
		>
			{twig && (
				<span class="grid-twig" style={{ width: `${twig.depth * LEVEL_PX + TWIG_PX}px` }}>
					{twig.kids && (
						<button
							class="grid-fold"
							aria-expanded={twig.open}
							aria-label={`${twig.open ? "Close" : "Open"} ${text}`}
							onClick={(e) => {
								e.stopPropagation();
								twig.fold();
							}}
						>
							<Icon name={twig.open ? "down" : "right"} />
						</button>
					)}
				</span>
			)}
			{share > 0 && !tint && <span class="grid-share" style={{ width: `${share * 100}%` }} />}
			<span class={classes("grid-text", path && "cut-front")}>{inner}</span>
		</div>
	);
}

/* Below "a/b" in a tree "a/b/c" is "c". */
function withoutParent(table: TableData, view: ColumnView, row: number): string {
	const up = table.data[table.cols.findIndex((c) => c.id === "parent")]?.[row];
	const text = view.text(row), front = typeof up === "number" && up >= 0 ? `${view.text(up)}/` : undefined;
	return front && text.startsWith(front) ? text.slice(front.length) : text;
}

/* Names like a/b/c differ at their end: that is what stays when there is no room for all of it. */
export function isPath(text: string): boolean {
	return text.includes("/") && !/\s/.test(text);
}

function ColumnChooser({
	views,
	hidden,
	onChange,
}: {
	views: readonly ColumnView[];
	hidden: ReadonlySet<string>;
	onChange: (s: ReadonlySet<string>) => void;
}) {
	if (views.length < 5) return null;
	return (
		<details class="menu">
			<summary class="button">
				<Icon name="columns" />
				Columns
			</summary>
			<div class="menu-list">
				{views.map((v) => (
					<label key={v.col.id} class="menu-item">
						<input
							type="checkbox"
							checked={!hidden.has(v.col.id)}
							onChange={() => {
								const next = new Set(hidden);
								if (!next.delete(v.col.id)) next.add(v.col.id);
								onChange(next);
							}}
						/>
						{plainLabel(v.col.label || v.col.id)}
					</label>
				))}
			</div>
		</details>
	);
}

export function CopyButton({
	text,
	title = "Copy the rows as tab-separated text",
}: {
	text: () => string;
	title?: string;
}) {
	const [state, setState] = useState("Copy");
	const copy = async () => {
		try {
			await navigator.clipboard.writeText(text());
			setState("Copied");
		} catch {
			setState("Not allowed");
		}
		setTimeout(() => setState("Copy"), 1500);
	};
	return (
		<button class="button" onClick={copy} title={title}>
			<Icon name="copy" />
			{state}
		</button>
	);
}
