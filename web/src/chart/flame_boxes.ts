/*
 * flame_boxes.ts - a tree of rows as boxes: each as wide as what it comes to with all inside of it, and below the one that it is inside of.
 * A tree is a table with a column `parent`: a row's number, -1 for a root, parents before what is inside of them.
 */
import type { Cell, Column, TableData } from "../api/types";

const UNITS: ReadonlySet<string> = new Set(["ps", "ns", "us", "ms", "s", "bytes"]);

/* What the boxes can be as wide as: times and bytes. What a row has of its own says nothing of what is inside. */
export function measures(t: TableData): Column[] {
	if (!t.cols.some((c) => c.id === "parent")) return [];
	return t.cols.filter((c) => UNITS.has(c.unit) && (c.type === "f64" || c.type === "i64") && !c.id.includes("self"));
}

export interface Box {
	row: number;
	depth: number;
	left: number; /* of the whole width, 0..1 */
	width: number;
	value: number;
	own: number; /* without what is inside */
}

export interface Boxes {
	list: Box[];
	depth: number; /* rows of boxes */
	total: number; /* what the whole width comes to */
	hidden: number; /* boxes that are narrower than `least` */
}

const num = (v: Cell | undefined) => (typeof v === "number" && v > 0 ? v : 0);

/* The boxes inside of the row `focus`, and those that it is inside of, as wide as all; -1: of all roots. */
export function boxes(t: TableData, measure: string, focus: number, least: number): Boxes {
	const col = (id: string) => t.data[t.cols.findIndex((c) => c.id === id)] ?? [];
	const value = col(measure).map(num);
	const parent = col("parent").map((p, i) => (typeof p === "number" && p >= 0 && p < i ? p : -1));
	const inside: number[][] = parent.map(() => []);
	const roots: number[] = [];
	parent.forEach((p, i) => (p < 0 ? roots : (inside[p] ?? roots)).push(i));
	const of = (row: number) => value[row] ?? 0;
	const sum = (rows: readonly number[]) => rows.reduce((s, r) => s + of(r), 0);
	const out: Boxes = { list: [], depth: 0, total: focus < 0 ? sum(roots) : of(focus), hidden: 0 };
	const put = (row: number, depth: number, left: number, width: number) => {
		out.list.push({ row, depth, left, width, value: of(row), own: Math.max(0, of(row) - sum(inside[row] ?? [])) });
		out.depth = Math.max(out.depth, depth + 1);
	};
	const above: number[] = [];
	for (let at = focus < 0 ? -1 : (parent[focus] ?? -1); at >= 0; at = parent[at] ?? -1) above.unshift(at);
	above.forEach((row, depth) => put(row, depth, 0, 1));
	const todo = [{ rows: focus < 0 ? roots : [focus], depth: above.length, left: 0, width: 1, of: out.total }];
	for (let next = todo.pop(); next; next = todo.pop()) {
		const { rows, depth, width } = next;
		/* Clocks may say that what is inside took longer than what it is inside of. */
		const whole = Math.max(next.of, sum(rows));
		let left = next.left;
		for (const row of [...rows].sort((a, b) => of(b) - of(a) || a - b)) {
			const w = whole > 0 ? (of(row) / whole) * width : 0;
			if (w < least || w <= 0) {
				out.hidden++;
				continue;
			}
			put(row, depth, left, w);
			todo.push({ rows: inside[row] ?? [], depth: depth + 1, left, width: w, of: of(row) });
			left += w;
		}
	}
	return out;
}

/* "Net_0/Linear_1" inside of "Net_0" is "Linear_1". */
export function frameName(names: readonly string[], parents: readonly number[], row: number): string {
	const name = names[row] ?? "";
	const around = names[parents[row] ?? -1];
	return around && name.startsWith(`${around}/`) ? name.slice(around.length + 1) : name || "(no name)";
}
