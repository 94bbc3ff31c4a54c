/*
 * compare_model.ts - tables of a comparison as the charts draw them. Nothing is judged here: what is significant the server says.
 */
import { column, numbers, strings } from "../api/table";
import type { TableData } from "../api/types";

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
