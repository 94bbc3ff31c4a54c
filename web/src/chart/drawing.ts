/*
 * drawing.ts - an answer that is a graph as its server drew it (`drawing=true`): where each node stands, what is written on it, and the
 * way of each edge.
 */
import { column, numbers, strings, table } from "../api/table";
import type { Result } from "../api/types";

export interface Place {
	x: number;
	y: number;
	w: number;
	h: number;
}

export interface Edge {
	from: number;
	to: number;
	row: number; /* of the table of edges */
}

export interface Drawing {
	w: number;
	h: number;
	nodes: Place[];
	boxes: Place[];
	rows: number[]; /* of the nodes: in their table */
	lines: string[][]; /* of the nodes */
	titles: string[]; /* of the boxes */
	edges: Edge[];
	ways: number[][]; /* of each edge: x, y, x, y … from the end of one node to the begin of the other */
}

export function drawing(result: Result, picture = 0): Drawing {
	const t = table(result, "places");
	const [x = [], y = [], w = [], h = []] = ["x", "y", "width", "height"].map((id) => numbers(t, id));
	const rows = numbers(t, "row") ?? [];
	const text = strings(t, "lines") ?? [];
	const isBox = column(t, "is_box") ?? [];
	const mine = (numbers(t, "picture") ?? []).flatMap((p, i) => (p === picture ? [i] : []));
	const place = (i: number): Place => ({ x: x[i] ?? 0, y: y[i] ?? 0, w: w[i] ?? 0, h: h[i] ?? 0 });
	const nodes = mine.filter((i) => !isBox[i]);
	const boxes = mine.filter((i) => isBox[i]);
	const routes = table(result, "routes");
	const [from = [], to = [], row = []] = ["from", "to", "row"].map((id) => numbers(routes, id));
	const points = strings(routes, "points") ?? [];
	const edges = (numbers(routes, "picture") ?? []).flatMap((p, i) => (p === picture ? [i] : []));
	const all = mine.map(place);
	return {
		w: Math.max(0, ...all.map((p) => p.x + p.w)),
		h: Math.max(0, ...all.map((p) => p.y + p.h)),
		nodes: nodes.map(place),
		boxes: boxes.map(place),
		rows: nodes.map((i) => rows[i] ?? 0),
		lines: nodes.map((i) => (text[i] ?? "").split("\n")),
		titles: boxes.map((i) => text[i] ?? ""),
		edges: edges.map((i) => ({ from: from[i] ?? 0, to: to[i] ?? 0, row: row[i] ?? 0 })),
		ways: edges.map((i) => (points[i] ?? "").split(" ").map(Number)),
	};
}

/* An edge's way as a curve: vertical at every point. */
export function curve(way: readonly number[]): string {
	let d = `M${fix(way[0])} ${fix(way[1])}`;
	for (let i = 2; i + 1 < way.length; i += 2) {
		const [x0 = 0, y0 = 0, x1 = 0, y1 = 0] = way.slice(i - 2, i + 2);
		const half = Math.max(Math.abs(y1 - y0) / 2, y1 < y0 ? 40 : 0);
		d += Math.abs(x1 - x0) < 0.5 ? `L${fix(x1)} ${fix(y1)}` : `C${fix(x0)} ${fix(y0 + half)} ${fix(x1)} ${fix(y1 - half)} ${fix(x1)} ${fix(y1)}`;
	}
	return d;
}

function fix(v: number | undefined): string {
	return String(Math.round((v ?? 0) * 10) / 10);
}
