/*
 * roofline.tsx - how close program and operations come to the device's limits: a log-log plot of FLOP rate over operational intensity
 * under the roofs of compute and of each memory, and the table it is drawn from.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { column, numbers, propNumber, propText, strings, table, tableWith } from "../api/table";
import type { Result, TableData } from "../api/types";
import { css, nameColor } from "../base/color";
import { useSize } from "../base/dom";
import { count, quantity, si, significant } from "../base/format";
import { useTheme } from "../base/theme";
import { adjust, momentHref, toolHref, useQuery } from "../base/url";
import { along, logAxis, moveAxis, roofLine, ticks, zoomAxis, type LogAxis, type Roof } from "../chart/scatter";
import { Verdict } from "../widgets/conclusion";
import { Grid } from "../widgets/grid";
import { filterFor } from "../widgets/grid_model";
import { Icon } from "../widgets/icon";
import { Notes } from "../widgets/notes";
import { allNotes, AnswerPage } from "./answer";
import { csvAddress, type Session } from "./session";

export function RooflinePage({ session }: { session: Session }) {
	return (
		<AnswerPage session={session}>{(result) => <Roofline result={result} session={session} />}</AnswerPage>
	);
}

/* GiB/s times FLOP/B is 1.0737 GFLOP/s. */
const GIB = 1.073741824;

const MEMORIES: readonly [id: string, label: string][] = [
	["peak_hbm_bw", "HBM"],
	["peak_cmem_read_bw", "CMEM read"],
	["peak_cmem_write_bw", "CMEM write"],
	["peak_vmem_read_bw", "VMEM read"],
	["peak_vmem_write_bw", "VMEM write"],
];

/* As the device calls it: what is VMEM of a TPU is shared memory of a GPU. */
function roofName(t: TableData, id: string, label: string): string {
	const said = t.props[id]?.label ?? "";
	return said.startsWith("Peak ") ? said.replace(/^Peak /, "").replace(/ bandwidth$/, "") : label;
}

export function roofsOf(t: TableData): Roof[] {
	const flat = propNumber(t, "peak_flop_rate") ?? 0;
	if (!(flat > 0)) return [];
	return MEMORIES.flatMap(([id, label]) => {
		const bw = propNumber(t, id) ?? 0;
		return bw > 0 ? [{ label: roofName(t, id, label), slope: bw * GIB, flat }] : [];
	});
}

interface Point {
	row: number;
	x: number;
	y: number;
	share: number;
	name: string;
	category: string;
	program: boolean;
}

function pointsOf(t: TableData, rows: readonly number[]): Point[] {
	const x = numbers(t, "operational_intensity") ?? [];
	const y = numbers(t, "measured_flop_rate") ?? [];
	const share = numbers(t, "total_self_time_percent") ?? [];
	const names = strings(t, "operation") ?? [];
	const kinds = strings(t, "category") ?? [];
	return rows
		.filter((row) => x[row]! > 0 && y[row]! > 0)
		.map((row) => ({
			row,
			x: x[row] ?? 0,
			y: y[row] ?? 0,
			share: share[row] ?? 0,
			name: names[row] ?? "",
			category: kinds[row] ?? "",
			program: kinds[row] === "Program",
		}));
}

function programsOf(t: TableData | undefined): string[] {
	return [...new Set(strings(t, "hlo_module_id") ?? [])].filter((p) => p !== "" && p !== "0");
}

const FEEDS = "include_infeed_outfeed";

/* Of a step, a category, a program, with or without waiting for the host. The row of the whole is there whatever the category. */
function rowsShown(t: TableData, step: string, category: string, program: string, fed: boolean): number[] {
	const feeds = column(t, FEEDS);
	const kinds = strings(t, "category") ?? [];
	const modules = strings(t, "hlo_module_id") ?? [];
	return (strings(t, "step") ?? []).flatMap((s, i) => {
		const whole = kinds[i] === "Program";
		return s === step && (feeds?.[i] ?? fed) === fed && (whole || ((!category || kinds[i] === category) && (!program || modules[i] === program))) ? [i] : [];
	});
}

/* Its place in the program's graph, or its row in the stats. */
function opHref(t: TableData, row: number, session: Session): string | undefined {
	const name = String(column(t, "operation")?.[row] ?? "");
	if (!name || column(t, "category")?.[row] === "Program") return undefined;
	const program = String(column(t, "hlo_module_id")?.[row] ?? "");
	if (session.toolNames.includes("graph_viewer") && program && program !== "0")
		return toolHref("graph_viewer", { node_name: name, program_id: program });
	return session.toolNames.includes("hlo_stats") ? toolHref("hlo_stats", { filter: filterFor("hlo_op_name", name) }) : undefined;
}

function Roofline({ result, session }: { result: Result; session: Session }) {
	const t = table(result, "records") ?? tableWith(result, "operational_intensity", "measured_flop_rate");
	const steps = useMemo(() => [...new Set(strings(t, "step") ?? [])], [t]);
	const kinds = useMemo(() => [...new Set(strings(t, "category") ?? [])].filter((k) => k !== "Program"), [t]);
	const askedStep = useQuery("step");
	const step = steps.includes(askedStep) ? askedStep : (steps[0] ?? "");
	const category = useQuery("category");
	const program = useQuery("program");
	const [pointed, setPointed] = useState<number | null>(null);
	const op = useQuery("op");
	const programs = useMemo(() => programsOf(t), [t]);
	/* Each row is there a second time, without infeed and outfeed, where there are any. */
	const feeds = useMemo(() => (column(t, FEEDS) ?? []).includes(false), [t]);
	const fed = useQuery("infeed") !== "no" || !feeds;
	const at = useMemo(() => (t ? rowsShown(t, step, category, program, fed) : []), [t, step, category, program, fed]);
	const shown = useMemo(() => (t ? pointsOf(t, at) : []), [t, at]);
	const rows = useMemo(() => t && { ...t, nrows: at.length, data: t.data.map((d) => at.map((i) => d[i] ?? null)) }, [t, at]);
	/* The operation in the URL, in the step and the programs that are shown. */
	const names = useMemo(() => strings(t, "operation") ?? [], [t]);
	const kept = useMemo(() => at.find((row) => names[row] === op && op !== "") ?? null, [names, at, op]);
	const keep = (row: number | null) => adjust({ op: row === null || row === kept ? undefined : names[row] });
	if (!t || !t.nrows)
		return (
			<>
				<Notes notes={allNotes(result)} />
				<p class="empty">No operation with known work was traced.</p>
			</>
		);
	return (
		<>
			<Notes notes={allNotes(result)} />
			<Verdict of={result.conclusion} tools={session.toolNames} />
			<div class="bar">
				<label class="field">
					Step
					<select class="select" value={step} onChange={(e) => adjust({ step: e.currentTarget.value })}>
						{steps.map((s) => (
							<option key={s} value={s}>
								{s}
							</option>
						))}
					</select>
				</label>
				<label class="field">
					Category
					<select
						class="select"
						value={category}
						onChange={(e) => adjust({ category: e.currentTarget.value || undefined })}
					>
						<option value="">all</option>
						{kinds.map((k) => (
							<option key={k} value={k}>
								{k}
							</option>
						))}
					</select>
				</label>
				{programs.length > 1 && (
					<label class="field">
						Program
						<select class="select" value={program} onChange={(e) => adjust({ program: e.currentTarget.value || undefined })}>
							<option value="">all</option>
							{programs.map((k) => (
								<option key={k} value={k}>
									{k}
								</option>
							))}
						</select>
					</label>
				)}
				{feeds && (
					<label class="field">
						<input type="checkbox" checked={fed} onChange={(e) => adjust({ infeed: e.currentTarget.checked ? undefined : "no" })} />
						With infeed and outfeed
					</label>
				)}
			</div>
			<div class={shown.length > 0 ? "columns columns-tall" : "columns columns-alone"}>
				<div class="column-side">
					<Limits t={t} />
					<OpCard t={t} row={pointed ?? kept} drawn={shown.length > 0} session={session} />
				</div>
				{shown.length > 0 && (
					<section class="card column-main" aria-label="Roofline">
						<h2>
							Roofline{" "}
							<span class="aim">
								{count(shown.length)} of {count(at.length)} rows do floating point work and move bytes
							</span>
						</h2>
						<Plot t={t} points={shown} row={pointed ?? kept} onPoint={setPointed} onKeep={keep} />
					</section>
				)}
			</div>
			<section class="card" aria-label="Operations">
				<h2>Operations</h2>
				{rows && (
					<Grid
						table={rows}
						maxRows={16}
						csv={csvAddress(session)}
						selected={kept === null ? null : at.indexOf(kept)}
						onRow={(i) => keep(at[i] ?? null)}
						onPoint={(i) => setPointed(i === null ? null : (at[i] ?? null))}
						link={(col, i) => (col === "operation" ? opHref(t, at[i] ?? -1, session) : undefined)}
					/>
				)}
			</section>
		</>
	);
}

const LIMITS = [
	"device_type",
	"peak_flop_rate",
	"peak_hbm_bw",
	"peak_cmem_read_bw",
	"peak_cmem_write_bw",
	"peak_vmem_read_bw",
	"peak_vmem_write_bw",
	"hbm_ridge_point",
	"cmem_read_ridge_point",
	"cmem_write_ridge_point",
	"vmem_read_ridge_point",
	"vmem_write_ridge_point",
];

function labelOf(t: TableData, id: string): string {
	const label = t.props[id]?.label;
	return label && label !== id ? label : id.replace(/_/g, " ").replace(/\b([hcv])(mem|bm)\b/g, (m) => m.toUpperCase());
}

function Limits({ t }: { t: TableData }) {
	const list = LIMITS.filter((id) => propText(t, id) && t.props[id]?.value !== 0);
	if (!list.length) return null;
	return (
		<section class="card" aria-label="Limits of the device">
			<h2>Limits of the device</h2>
			<dl class="metrics">
				{list.map((id) => (
					<div class="metric" key={id}>
						<dt class="upper">{labelOf(t, id)}</dt>
						<dd>
							<span class="metric-value">{propText(t, id)}</span>
						</dd>
					</div>
				))}
			</dl>
		</section>
	);
}

const FIELDS: readonly [string, string][] = [
	["category", "Category"],
	["occurrences", "Runs"],
	["total_self_time", "Self time"],
	["total_self_time_percent", "Share"],
	["measured_flop_rate", "FLOP rate"],
	["operational_intensity", "Intensity"],
	["hbm_bw", "HBM"],
	["bound_by", "Bound by"],
	["roofline_efficiency", "Share of the roof"],
];

function OpCard({ t, row, drawn, session }: { t: TableData; row: number | null; drawn: boolean; session: Session }) {
	if (row === null)
		return (
			<section class="card card-fills" aria-label="Operation" aria-live="polite">
				<h2>Operation</h2>
				<p class="muted">Point at {drawn ? "a circle or a row of the table" : "a row of the table"} to see what it is; click to keep it.</p>
			</section>
		);
	const name = String(column(t, "operation")?.[row] ?? "");
	const graph = opHref(t, row, session);
	return (
		<section class="card card-fills" aria-label="Operation" aria-live="polite">
			<header>
				<h2 class="wrap">{name}</h2>
				{graph && (
					<nav class="event-links" aria-label={`${name} in other tools`}>
						<a href={graph}>{graph.includes("graph_viewer") ? "Graph" : "HLO stats"}</a>
						{session.toolNames.includes("op_profile") && <a href={toolHref("op_profile", { op: name })}>Op profile</a>}
						{session.toolNames.includes("trace_viewer@") && <a href={momentHref(name)}>Timeline</a>}
					</nav>
				)}
			</header>
			<dl class="env">
				{FIELDS.map(([id, label]) => {
					const v = column(t, id)?.[row];
					const unit = t.cols.find((c) => c.id === id)?.unit ?? "";
					const text = typeof v === "number" ? quantity(v, unit) : String(v ?? "");
					return (
						text && (
							<div key={id}>
								<dt title={t.cols.find((c) => c.id === id)?.doc}>{label}</dt>
								<dd class="wrap" data-field={id}>
									{text}
								</dd>
							</div>
						)
					);
				})}
			</dl>
		</section>
	);
}

/* ---- the plot ---- */

const HEIGHT = 380;
const LEFT = 80;
const BOTTOM = 40;

interface PlotProps {
	t: TableData;
	points: readonly Point[];
	row: number | null;
	onPoint: (row: number | null) => void;
	onKeep: (row: number | null) => void;
}

/* What is looked at of both axes; all of it anew when the points are others. */
function useWindow(allX: LogAxis, allY: LogAxis) {
	const [w, setW] = useState({ x: allX, y: allY });
	useEffect(() => setW({ x: allX, y: allY }), [allX, allY]);
	return {
		...w,
		whole: w.x.from === allX.from && w.x.to === allX.to && w.y.from === allY.from && w.y.to === allY.to,
		reset: () => setW({ x: allX, y: allY }),
		zoom: (factor: number, fx = 0.5, fy = 0.5) =>
			setW((v) => ({ x: zoomAxis(v.x, allX, factor, fx), y: zoomAxis(v.y, allY, factor, fy) })),
		move: (dx: number, dy: number) => setW((v) => ({ x: moveAxis(v.x, allX, dx), y: moveAxis(v.y, allY, dy) })),
	};
}

function Plot({ t, points, row, onPoint, onKeep }: PlotProps) {
	const [box, size] = useSize<HTMLDivElement>();
	const svg = useRef<SVGSVGElement>(null);
	const dark = useTheme().dark;
	const roofs = useMemo(() => roofsOf(t), [t]);
	const allX = useMemo(() => logAxis([...points.map((p) => p.x), ...roofs.map((r) => r.flat / r.slope)]), [points, roofs]);
	const allY = useMemo(() => logAxis([...points.map((p) => p.y), ...roofs.map((r) => r.flat)]), [points, roofs]);
	const { x, y, whole, reset, zoom, move } = useWindow(allX, allY);
	const width = size.width;
	const wide = width - LEFT - 22;
	const high = HEIGHT - BOTTOM - 12;
	const px = (v: number) => LEFT + along(x, v) * wide;
	const py = (v: number) => HEIGHT - BOTTOM - along(y, v) * high;
	useEffect(() => {
		const el = svg.current;
		if (!el) return;
		/* With Ctrl alone, for the page under it scrolls. */
		const wheel = (e: WheelEvent) => {
			if (!e.ctrlKey && !e.metaKey) return;
			e.preventDefault();
			const r = el.getBoundingClientRect();
			const d = Math.max(-240, Math.min(240, e.deltaY * (e.deltaMode === 1 ? 24 : 1)));
			zoom(Math.exp(-d * 0.0015), (e.clientX - r.left - LEFT) / wide, 1 - (e.clientY - r.top - 12) / high);
		};
		el.addEventListener("wheel", wheel, { passive: false });
		return () => el.removeEventListener("wheel", wheel);
	}, [wide, allX, allY]);
	const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
	const keys = (e: KeyboardEvent) => {
		const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key];
		if (e.ctrlKey || e.metaKey || e.altKey) return;
		if (step) move((step[0] ?? 0) / 8, (step[1] ?? 0) / 8);
		else if (e.key === "+" || e.key === "=") zoom(1.3);
		else if (e.key === "-") zoom(1 / 1.3);
		else if (e.key === "0") reset();
		else return;
		e.preventDefault();
	};
	/* Great ones first, so that small ones stay reachable. */
	const order = [...points].sort((a, b) => b.share - a.share);
	return (
		<div class="plot" ref={box} onPointerLeave={() => onPoint(null)}>
			{width > 100 && (
				<svg
					ref={svg}
					class={whole ? undefined : "plot-moves"}
					width={width}
					height={HEIGHT}
					role="group"
					tabindex={0}
					aria-label="FLOP rate over operational intensity. Plus and minus zoom, arrows move, 0 shows all."
					onKeyDown={keys}
					onPointerDown={(e) => e.button === 0 && (drag.current = { x: e.clientX, y: e.clientY, moved: false })}
					onPointerMove={(e) => {
						const d = drag.current;
						if (!d) return;
						const [dx, dy] = [e.clientX - d.x, e.clientY - d.y];
						if (!d.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
						if (!d.moved) e.currentTarget.setPointerCapture(e.pointerId);
						drag.current = { x: e.clientX, y: e.clientY, moved: true };
						move(-dx / wide, dy / high);
					}}
					onPointerUp={() => (drag.current = null)}
					onPointerCancel={() => (drag.current = null)}
				>
					<clipPath id="plot-inside">
						<rect x={LEFT} y={0} width={Math.max(0, width - LEFT)} height={HEIGHT - BOTTOM} />
					</clipPath>
					<Axes x={x} y={y} px={px} py={py} width={width} />
					<g clip-path="url(#plot-inside)">
						{roofs.map((r, i) => (
							<RoofShape key={r.label} roof={r} at={i} x={x} y={y} px={px} py={py} />
						))}
						{order.map((p) => (
							<g
								key={p.row}
								class={p.row === row ? "point point-on" : "point"}
								tabindex={0}
								role="button"
								aria-label={`${p.name}: ${quantity(p.y, "gflop_per_s")}`}
								onPointerEnter={() => onPoint(p.row)}
								onFocus={() => onPoint(p.row)}
								onClick={() => onKeep(p.row)}
								onKeyDown={(e) => e.key === "Enter" && onKeep(p.row)}
							>
								{p.program ? (
									<path d={diamond(px(p.x), py(p.y), 8)} class="point-program" />
								) : (
									<circle
										cx={px(p.x)}
										cy={py(p.y)}
										r={4 + Math.sqrt(Math.max(0, p.share)) * 16}
										fill={css(nameColor(p.category, dark))}
									/>
								)}
								<title>{p.name}</title>
							</g>
						))}
					</g>
				</svg>
			)}
			<div class="graph-buttons plot-buttons">
				<button class="button button-icon" title="Larger (+, or Ctrl and the wheel)" aria-label="Larger" onClick={() => zoom(1.3)}>
					+
				</button>
				<button class="button button-icon" title="Smaller (-)" aria-label="Smaller" disabled={whole} onClick={() => zoom(1 / 1.3)}>
					−
				</button>
				<button class="button button-icon" title="Show all (0)" aria-label="Show all" disabled={whole} onClick={reset}>
					<Icon name="fit" />
				</button>
			</div>
		</div>
	);
}

function diamond(x: number, y: number, r: number): string {
	return `M${x} ${y - r}L${x + r} ${y}L${x} ${y + r}L${x - r} ${y}Z`;
}

type Place = (v: number) => number;

function Axes({ x, y, px, py, width }: { x: LogAxis; y: LogAxis; px: Place; py: Place; width: number }) {
	/* Neighbours must not read the same. */
	const [fineX, fineY] = [x, y].map((a) => (a.to / a.from > 3 ? 1 : 3));
	return (
		<g class="axes">
			{ticks(x).map((v) => (
				<g key={v}>
					<line x1={px(v)} x2={px(v)} y1={12} y2={HEIGHT - BOTTOM} />
					<text x={px(v)} y={HEIGHT - BOTTOM + 15} text-anchor="middle">
						{v >= 1e5 || v < 1e-3 ? v.toExponential(0).replace("e+", "e") : significant(v, fineX)}
					</text>
				</g>
			))}
			{ticks(y).map((v) => (
				<g key={v}>
					<line x1={LEFT} x2={width - 22} y1={py(v)} y2={py(v)} />
					<text x={LEFT - 6} y={py(v) + 4} text-anchor="end">
						{si(v * 1e9, "FLOP/s", fineY)}
					</text>
				</g>
			))}
			<text x={(LEFT + width) / 2} y={HEIGHT - 6} text-anchor="middle">
				Operational intensity, FLOP per byte
			</text>
		</g>
	);
}

function RoofShape({
	roof,
	at: n,
	x,
	y,
	px,
	py,
}: {
	roof: Roof;
	at: number;
	x: LogAxis;
	y: LogAxis;
	px: Place;
	py: Place;
}) {
	const line = roofLine(roof, x, y);
	const first = line[0];
	const second = line[1];
	if (!first || !second) return null;
	const d = line.map(([a, b], i) => `${i ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join("");
	/* The name stands along the slope, a little above it; each further along than the one before. */
	const share = 0.3 + 0.2 * (n % 4);
	const at = 10 ** (Math.log10(first[0]) * (1 - share) + Math.log10(second[0]) * share);
	return (
		<g class="roof">
			<path d={d} />
			<text x={Math.max(px(at), LEFT + 4)} y={py(Math.min(roof.flat, at * roof.slope)) - 6} text-anchor={px(at) < LEFT + 150 ? "start" : "end"}>
				{roof.label}
			</text>
		</g>
	);
}
