/*
 * memory_blocks.ts - buffers as rectangles of program order and address, and the part of them that is looked at: without a document.
 */
import { numbers, strings } from "../api/table";
import type { TableData } from "../api/types";

export interface Blocks {
	n: number;
	id: readonly number[]; /* of the buffer; -1: an allocation, which the buffers in it lie over */
	name: readonly string[];
	begin: readonly number[]; /* program order */
	end: readonly number[];
	offset: readonly number[]; /* bytes */
	size: readonly number[];
}

/* What is looked at: program order from x0 to x1, bytes from y0 to y1. */
export interface Window {
	x0: number;
	x1: number;
	y0: number;
	y1: number;
}

export function blocksOf(t: TableData | undefined): Blocks | undefined {
	const id = numbers(t, "buffer_id");
	const begin = numbers(t, "begin");
	const end = numbers(t, "end");
	const offset = numbers(t, "offset_bytes");
	const size = numbers(t, "size_bytes");
	if (!t?.nrows || !id || !begin || !end || !offset || !size) return undefined;
	return { n: t.nrows, id, name: strings(t, "name") ?? [], begin, end, offset, size };
}

export function extent(b: Blocks, last: number): Window {
	let [x1, y1] = [Math.max(1, last), 1];
	for (let i = 0; i < b.n; i++) {
		x1 = Math.max(x1, b.end[i] ?? 0);
		y1 = Math.max(y1, (b.offset[i] ?? 0) + (b.size[i] ?? 0));
	}
	return { x0: 0, x1, y0: 0, y1 };
}

/* The buffer at a point; buffers that share memory lie over each other, the one drawn last is seen. */
export function blockAt(b: Blocks, x: number, y: number): number | null {
	let found: number | null = null;
	for (let i = b.n - 1; i >= 0; i--) {
		const from = b.offset[i] ?? 0;
		if (x < (b.begin[i] ?? 0) || x > (b.end[i] ?? 0) || y < from || y > from + (b.size[i] ?? 0)) continue;
		if ((b.id[i] ?? -1) >= 0) return i;
		found ??= i;
	}
	return found;
}

/* The rectangle of a buffer. */
export function blockOf(b: Blocks, id: number): number {
	return id < 0 ? -1 : b.id.indexOf(id);
}

export function blocksNamed(b: Blocks, text: string): number[] {
	const word = text.trim().toLowerCase();
	const out: number[] = [];
	if (word) for (let i = 0; i < b.n; i++) if ((b.id[i] ?? -1) >= 0 && b.name[i]?.toLowerCase().includes(word)) out.push(i);
	return out;
}

/* As much as asked for, but at least one step and 16 bytes, and never beyond the whole. */
export function inside(w: Window, all: Window): Window {
	const fit = (a: number, b: number, low: number, high: number, least: number): [number, number] => {
		const length = Math.min(Math.max(b - a, least), high - low);
		const from = Math.min(Math.max((a + b - length) / 2, low), high - length);
		return [from, from + length];
	};
	const [x0, x1] = fit(w.x0, w.x1, all.x0, all.x1, Math.min(1, all.x1 - all.x0));
	const [y0, y1] = fit(w.y0, w.y1, all.y0, all.y1, Math.min(16, all.y1 - all.y0));
	return { x0, x1, y0, y1 };
}

/* `factor` > 1 shows less; the point x, y keeps its place. */
export function zoomed(w: Window, all: Window, factor: number, x: number, y: number): Window {
	const side = (a: number, b: number, at: number): [number, number] => [at - (at - a) / factor, at + (b - at) / factor];
	const [x0, x1] = side(w.x0, w.x1, x);
	const [y0, y1] = side(w.y0, w.y1, y);
	return inside({ x0, x1, y0, y1 }, all);
}

export function moved(w: Window, all: Window, dx: number, dy: number): Window {
	return inside({ x0: w.x0 + dx, x1: w.x1 + dx, y0: w.y0 + dy, y1: w.y1 + dy }, all);
}

/* A block with room around it. */
export function around(b: Blocks, i: number, all: Window): Window {
	const wide = Math.max(1, (b.end[i] ?? 0) - (b.begin[i] ?? 0));
	const high = Math.max(16, b.size[i] ?? 0);
	const y = b.offset[i] ?? 0;
	const x = b.begin[i] ?? 0;
	return inside({ x0: x - wide, x1: x + 2 * wide, y0: y - high, y1: y + 2 * high }, all);
}
