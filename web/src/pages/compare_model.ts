/*
 * compare_model.ts - tables of a comparison as the charts draw them. Nothing is judged here: what is significant the server says.
 */
import { column, numbers, strings } from "../api/table";
import type { Cell, TableData } from "../api/types";

export interface Bar {
	name: string;
	kind: "level" | "change";
	from: number; /* microseconds */
	to: number;
	base: number;
	next: number;
	significant: boolean;
}

/* Base, then each part that changed at all, each where the last ended, then new. */
export function waterfall(t: TableData): Bar[] {
	const names = strings(t, "component") ?? [];
	const base = numbers(t, "base_us") ?? [];
	const next = numbers(t, "new_us") ?? [];
	const significant = column(t, "significant") ?? [];
	const sum = (v: number[]) => v.reduce((a, b) => a + (Number.isFinite(b) ? b : 0), 0);
	const level = (name: string, v: number): Bar => ({
		name,
		kind: "level",
		from: v,
		to: v,
		base: v,
		next: v,
		significant: true,
	});
	const out = [level("base", sum(base))];
	let at = sum(base);
	names.forEach((name, i) => {
		const b = base[i] ?? 0;
		const n = next[i] ?? 0;
		if (!b && !n) return;
		out.push({ name, kind: "change", from: at, to: at + n - b, base: b, next: n, significant: significant[i] === true });
		at += n - b;
	});
	out.push(level("new", sum(next)));
	return out;
}

export type Points = { us: number; run: number; step: number; outlier: boolean }[];

const MOST_POINTS = 2000;

/* The steps of a side; of very many every n-th, and all outliers. */
export function stepPoints(t: TableData, side: string): Points {
	const sides = strings(t, "side") ?? [];
	const us = numbers(t, "duration_us") ?? [];
	const run = numbers(t, "run") ?? [];
	const step = numbers(t, "step") ?? [];
	const outlier = column(t, "outlier") ?? [];
	const all: Points = [];
	sides.forEach((s, i) => {
		if (s === side) all.push({ us: us[i] ?? NaN, run: run[i] ?? 0, step: step[i] ?? 0, outlier: outlier[i] === true });
	});
	const stride = Math.ceil(all.length / MOST_POINTS);
	return stride <= 1 ? all : all.filter((p, i) => p.outlier || i % stride === 0);
}

/* The share of a side's steps in each of `bins` equal stretches from `lo` to `hi`. */
export function histogram(points: Points, lo: number, hi: number, bins: number): number[] {
	const out = new Array<number>(bins).fill(0);
	for (const p of points) {
		const at = hi > lo ? Math.floor(((p.us - lo) / (hi - lo)) * bins) : 0;
		const k = Math.min(Math.max(at, 0), bins - 1);
		out[k] = (out[k] ?? 0) + 1 / points.length;
	}
	return out;
}

/* ---- timelines ---- */

export type Side = "base" | "new";

export interface Step {
	num: number;
	begin_ps: number;
	us: number;
	outlier: boolean;
}

/* Of the first run of a side, in order. */
export function firstRunSteps(t: TableData, side: Side): Step[] {
	const sides = strings(t, "side") ?? [];
	const run = numbers(t, "run") ?? [];
	const num = numbers(t, "step") ?? [];
	const begin = numbers(t, "begin_us") ?? [];
	const us = numbers(t, "duration_us") ?? [];
	const outlier = column(t, "outlier") ?? [];
	const out: Step[] = [];
	sides.forEach((s, i) => {
		const b = begin[i];
		if (s === side && run[i] === 0 && b !== undefined)
			out.push({ num: num[i] ?? 0, begin_ps: Math.round(b * 1e6), us: us[i] ?? 0, outlier: outlier[i] === true });
	});
	return out;
}

const JOINED = " + ";

/* Names under which the operations of a row stand in the timeline of a side: the instructions, and the user's operations. */
export function namesOfRow(ops: TableData, side: Side, row: number): ReadonlySet<string> {
	const parts = ["name", "path"].flatMap((c) => (strings(ops, `${side}_${c}`)?.[row] ?? "").split(JOINED));
	return new Set(parts.filter(Boolean));
}

/* The row that an event belongs to; the one with most time, where names are the same. */
export function rowOfName(ops: TableData, side: Side, name: string): number | null {
	const list = strings(ops, `${side}_name`) ?? [];
	const at = list.findIndex((n) => n === name || n.split(JOINED).includes(name));
	return at < 0 ? null : at;
}

/* Names of operations that only this side has. */
export function alone(ops: TableData, side: Side): ReadonlySet<string> {
	const how = side === "base" ? "removed" : "added";
	const names = strings(ops, `${side}_name`) ?? [];
	return new Set((strings(ops, "match") ?? []).flatMap((m, i) => (m === how && names[i] ? [names[i] ?? ""] : [])));
}

/* ---- the tables of a tool ---- */

export interface Figure {
	id: string;
	label: string;
}

/* The figures that are there three times: base_F, new_F and delta_F. What is tested in steps goes with the first. */
export function figuresOf(t: TableData): Figure[] {
	const ids = new Set(t.cols.map((c) => c.id));
	return t.cols
		.filter((c) => c.id.startsWith("base_") && c.id !== "base_step_us" && ids.has(`delta_${c.id.slice(5)}`))
		.map((c) => ({ id: c.id.slice(5), label: c.label.replace(/^Base: /, "") }));
}

/* The table with one of its figures. The test is that of the first, and stands only beside it. */
export function withFigure(t: TableData, figure: string): TableData {
	const figures = figuresOf(t);
	if (!figures.length) return t;
	const own = new Set(["base", "new", "delta"].map((s) => `${s}_${figure}`));
	const tested = ["base_step_us", "new_step_us", "delta_step_us", "p_adjusted", "verdict"];
	const others = new Set(figures.flatMap((f) => ["base", "new", "delta"].map((s) => `${s}_${f.id}`)));
	const keep = t.cols
		.map((c, i) => ({ c, i }))
		.filter(({ c }) => own.has(c.id) || (!others.has(c.id) && (figure === figures[0]?.id || !tested.includes(c.id))));
	return {
		...t,
		cols: keep.map(({ c }) => (own.has(c.id) ? { ...c, label: c.label.replace(/:.*/, "") } : c)),
		data: keep.map(({ c, i }) => (c.id === "verdict" ? words(t.data[i]) : (t.data[i] ?? []))),
	};
}

function words(v: readonly Cell[] | undefined): Cell[] {
	return (v ?? []).map((x) => (typeof x === "string" ? x.replace(/_/g, " ") : x));
}
