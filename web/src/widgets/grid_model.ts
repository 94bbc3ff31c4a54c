/*
 * grid_model.ts - which rows a table shows and in which order, without a document: so that it can be tested, and be fast for 100,000 rows.
 */
import { isNumeric } from "../api/table";
import type { Cell, Column, TableData } from "../api/types";
import { columnFormat } from "../base/format";
import { plainHtml } from "../base/html";

export interface Sort {
	col: string;
	down: boolean;
}

/* Words at blanks; quotes keep them together: type:"two words" other */
export function wordsOf(filter: string): string[] {
	return (filter.toLowerCase().match(/[^\s"]*"[^"]*"?|\S+/g) ?? []).map((w) => w.replace(/"/g, "")).filter(Boolean);
}

export function filterFor(col: string, value: string): string {
	return /[\s"]/.test(value) ? `${col}:"${value.replace(/"/g, "")}"` : `${col}:${value}`;
}

/* Rows in which every word occurs in some text column; "column:word" looks into that column alone. */
export function filterRows(t: TableData, filter: string): Uint32Array {
	const words = wordsOf(filter);
	const all = new Uint32Array(t.nrows);
	for (let i = 0; i < t.nrows; i++) all[i] = i;
	if (!words.length) return all;
	const texts = t.cols.flatMap((c, k) => (isNumeric(c) ? [] : [{ id: c.id.toLowerCase(), data: t.data[k] ?? [] }]));
	const tests = words.map((w) => {
		const colon = w.indexOf(":");
		const only = colon > 0 ? texts.filter((x) => x.id === w.slice(0, colon)) : [];
		return only.length ? { word: w.slice(colon + 1), cols: only } : { word: w, cols: texts };
	});
	return all.filter((row) =>
		tests.every((x) =>
			x.cols.some((c) =>
				String(c.data[row] ?? "")
					.toLowerCase()
					.includes(x.word),
			),
		),
	);
}

const WHOLE = /^-?\d{1,20}$/;
const collator = new Intl.Collator("en", { numeric: true });

/* Empty cells last, whichever way; equal rows keep the server's order. */
export function compareCells(a: Cell | undefined, b: Cell | undefined): number {
	if (typeof a === "number" && typeof b === "number") return a - b;
	const x = String(a);
	const y = String(b);
	if (!WHOLE.test(x) || !WHOLE.test(y)) return collator.compare(x, y);
	const d = BigInt(x) - BigInt(y);
	return d < 0n ? -1 : d > 0n ? 1 : 0;
}

export function sortRows(t: TableData, rows: Uint32Array, sort: Sort | undefined): Uint32Array {
	const k = sort ? t.cols.findIndex((c) => c.id === sort.col) : -1;
	const data = t.data[k];
	if (!sort || !data) return rows;
	const empty = (v: Cell | undefined) =>
		v === null || v === undefined || v === "" || (typeof v === "number" && Number.isNaN(v));
	const sign = sort.down ? -1 : 1;
	return rows.slice().sort((i, j) => {
		const a = data[i];
		const b = data[j];
		const ea = empty(a);
		const eb = empty(b);
		if (ea || eb) return ea && eb ? i - j : ea ? 1 : -1;
		return sign * compareCells(a, b) || i - j;
	});
}

export interface ColumnView {
	index: number;
	col: Column;
	unit: string;
	numeric: boolean;
	bar: number; /* greatest value, for shares that are drawn as bars as well; 0 for none */
	width_px: number;
	text(row: number): string;
	full(row: number): string; /* what `text` is a short form of */
}

const CHAR_PX = 6.9;
const DIGIT_PX = 7.9; /* figures are all as wide as the widest */
const PROBE = 300;

/* Labels say their unit once: "Total time (us)" with unit us becomes "Total time" over a column in ms. */
export function plainLabel(label: string): string {
	return label
		.replace(
			/\s*\((?:in )?(?:us|ms|ns|ps|s|µs|%|bytes|GFLOPs?\/Sec|GFLOP\/s|FLOPs\/s|GBytes\/Sec|GB\/s|GiB\/s|FLOPs\/Byte|FLOP\/B)\)\s*$/i,
			"",
		)
		.replace(/\s*[%]$/, "");
}

/* How wide a text is, of a heading or of a cell. */
export type Measure = (text: string, heading: boolean) => number;

export function columnViews(t: TableData, measure?: Measure): ColumnView[] {
	return t.cols
		.map((col, index) => columnView(t, col, index, measure))
		.filter((v) => v.col.id !== "parent" && v.col.role !== "tooltip" && !v.col.role?.startsWith(SHORT));
}

/* A column of short forms of another's texts: shown in its place. The full ones are on hover, in the filter and in copies. */
const SHORT = "short:";

/* Columns in which nothing stands. */
export function emptyColumns(t: TableData): Set<string> {
	const none = (c: Column, v: Cell) => v === null || v === "" || (typeof v === "number" && Number.isNaN(v)) || isNoThing(c, v) || (v === 0 && c.role === "part");
	return new Set(t.nrows ? t.cols.flatMap((c, k) => (t.data[k]?.every((v) => none(c, v)) ? [c.id] : [])) : []);
}

/* Numbers of things, of which a negative one is none. */
const isNoThing = (c: Column, v: Cell) => c.role === "id" && typeof v === "number" && v < 0;

/* "-total_us": by that column, greatest first. */
export function sortFrom(text: string, t: TableData): Sort | undefined {
	const down = text.startsWith("-");
	const col = down ? text.slice(1) : text;
	return t.cols.some((c) => c.id === col) ? { col, down } : undefined;
}

/* Columns that share a scale, so that a row can be read across: base, new and their delta. */
const SCALE = "scale:";
const scaleOf = (c: Column) => (c.role?.startsWith(SCALE) ? c.role.slice(SCALE.length) : c.id);

function greatestOf(data: readonly Cell[]): number {
	let greatest = 0;
	for (const v of data) if (typeof v === "number" && Math.abs(v) > greatest) greatest = Math.abs(v);
	return greatest;
}

function textWidth(text: string, numeric: boolean): number {
	const figures = numeric ? text.length : (text.match(/\d/g)?.length ?? 0);
	return figures * DIGIT_PX + (text.length - figures) * CHAR_PX;
}

const MOST_LETTERS = 60;
const HEAD_PX = 16; /* the arrow of its order, and the gap to the unit */

const MEASURED = 8; /* texts with the most letters: which of them is the widest, the pen tells */

/*
 * The widest text of the first rows is found by counting letters, and measured where there is a pen: how wide a letter is depends on the
 * fonts of the machine.
 */
function widthOf(t: TableData, numeric: boolean, heading: string, text: (row: number) => string, measure: Measure | undefined): number {
	const texts = new Set<string>();
	for (let i = 0; i < Math.min(PROBE, t.nrows); i++) texts.add(text(i).slice(0, MOST_LETTERS));
	const long = [...texts].sort((a, b) => textWidth(b, numeric) - textWidth(a, numeric)).slice(0, MEASURED);
	const most = textWidth(long[0] ?? "", numeric);
	const head = measure ? measure(heading, true) : textWidth(heading, numeric);
	return Math.max(head + HEAD_PX, measure ? Math.max(...long.map((s) => measure(s, false)), 0) + 1 : most);
}

function columnView(t: TableData, col: Column, index: number, measure: Measure | undefined): ColumnView {
	const data = t.data[index] ?? [];
	const numeric = isNumeric(col);
	const greatest = numeric ? greatestOf(data) : 0;
	const among = t.cols.map((c, k) => (scaleOf(c) === scaleOf(col) && isNumeric(c) ? greatestOf(t.data[k] ?? []) : 0));
	const f = columnFormat(col.unit, Math.max(greatest, ...among));
	const html = col.unit === "html";
	const short = t.data[t.cols.findIndex((c) => c.role === SHORT + col.id)];
	const full = (row: number) => {
		const v = data[row];
		if (v === null || v === undefined || isNoThing(col, v)) return "";
		if (html && typeof v === "string") return plainHtml(v);
		if (typeof v === "number") return f.cell(v);
		return typeof v === "boolean" ? (v ? "yes" : "no") : v;
	};
	const text = short ? (row: number) => String(short[row] || full(row)) : full;
	const heading = plainLabel(col.label || col.id) + (f.unit ? ` ${f.unit}` : "");
	const longest_px = widthOf(t, numeric, heading, text, measure);
	const share = col.unit === "frac" || col.unit === "percent";
	return {
		index,
		col,
		unit: f.unit,
		numeric,
		text,
		full,
		bar: share ? greatest : 0,
		width_px: Math.ceil(Math.min(numeric ? 220 : 420, Math.max(56, longest_px + 21))),
	};
}

/* ---- trees: a column `parent` holds the row number of the parent, -1 for roots ---- */

export interface TreeRows {
	rows: Uint32Array;
	depth: Uint16Array; /* of each of `rows` */
}

export function isTree(t: TableData): boolean {
	return t.cols.some((c) => c.id === "parent" && isNumeric(c));
}

export class Tree {
	readonly parent: Int32Array;
	private readonly kids = new Map<number, number[]>();

	constructor(private readonly t: TableData) {
		const data = t.data[t.cols.findIndex((c) => c.id === "parent")] ?? [];
		this.parent = Int32Array.from(data, (v) => (typeof v === "number" && v >= 0 && v < t.nrows ? v : -1));
		this.parent.forEach((p, i) => {
			/* A row that is its own ancestor would never be reached: such rows become roots. */
			const up = this.loops(i) ? -1 : p;
			if (up < 0) this.parent[i] = -1;
			const list = this.kids.get(up);
			if (list) list.push(i);
			else this.kids.set(up, [i]);
		});
	}

	private loops(row: number): boolean {
		let n = 0;
		for (let p = this.parent[row] ?? -1; p >= 0; p = this.parent[p] ?? -1) if (p === row || ++n > 512) return true;
		return false;
	}

	hasKids(row: number): boolean {
		return this.kids.has(row);
	}

	roots(): readonly number[] {
		return this.kids.get(-1) ?? [];
	}

	/* Rows that the filter finds stand with all their ancestors, open; siblings are sorted among themselves. */
	visible(filter: string, sort: Sort | undefined, open: ReadonlySet<number>): TreeRows {
		const words = filter.trim() !== "";
		const keep = new Uint8Array(this.t.nrows);
		if (words)
			for (const row of filterRows(this.t, filter))
				for (let p: number = row; p >= 0 && !keep[p]; p = this.parent[p] ?? -1) keep[p] = 1;
		const rows: number[] = [];
		const depth: number[] = [];
		const walk = (list: readonly number[], d: number) => {
			for (const row of sortRows(this.t, Uint32Array.from(list), sort)) {
				if (words && !keep[row]) continue;
				rows.push(row);
				depth.push(d);
				const kids = this.kids.get(row);
				if (kids && (words || open.has(row))) walk(kids, d + 1);
			}
		};
		walk(this.roots(), 0);
		return { rows: Uint32Array.from(rows), depth: Uint16Array.from(depth) };
	}
}

/* The unit of the full values, which is not that of the cells on the screen. */
const UNIT_OF_COPY: Readonly<Partial<Record<Column["unit"], string>>> = {
	frac: "fraction",
	percent: "%",
	flops: "FLOP",
	gflop_per_s: "GFLOP/s",
	tflop_per_s: "TFLOP/s",
	mib: "MiB",
	gib: "GiB",
	gib_per_s: "GiB/s",
	gb_per_s: "GB/s",
	flop_per_byte: "FLOP/B",
	nj: "nJ",
	us: "µs",
	count: "",
	html: "",
	hex: "",
};

function headingOfCopy(c: Column): string {
	const label = c.label || c.id;
	const unit = UNIT_OF_COPY[c.unit] ?? c.unit;
	return unit && !label.includes("(") ? `${label} (${unit})` : label;
}

/* Tab-separated text of what is on the screen, for a spreadsheet: full values, not rounded ones. */
export function toText(t: TableData, cols: readonly ColumnView[], rows: Uint32Array): string {
	const clean = (v: Cell | undefined) => (v === null || v === undefined ? "" : String(v).replace(/[\t\r\n]+/g, " "));
	const lines = [cols.map((c) => headingOfCopy(c.col)).join("\t")];
	for (const row of rows) lines.push(cols.map((c) => clean(t.data[c.index]?.[row])).join("\t"));
	return lines.join("\n") + "\n";
}

/* The same as CSV. */
export function toCsv(t: TableData, cols: readonly ColumnView[], rows: Uint32Array): string {
	const quoted = (v: Cell | undefined) => `"${v === null || v === undefined ? "" : String(v).replace(/"/g, '""')}"`;
	const lines = [cols.map((c) => quoted(c.col.id)).join(",")];
	for (const row of rows) lines.push(cols.map((c) => quoted(t.data[c.index]?.[row])).join(","));
	return lines.join("\n") + "\n";
}
