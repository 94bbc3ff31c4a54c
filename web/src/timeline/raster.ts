/*
 * raster.ts - slices into pixels, without a canvas.
 *
 * One row of slices becomes one row of pixels of an array; the canvas stretches it to the height of the row. In software
 * drawing this is some fifty times cheaper than a rectangle per slice: 100,000 slices take a few milliseconds.
 */
import type { TrackSlices } from "../api/slices";
import { sliceAt } from "../api/slices";
import type { View } from "./viewport";

export interface Pixels {
	data: Uint32Array;
	width: number;
}

/* Places for names: slices wide enough to be labelled, in the order they were drawn. */
export class Labels {
	n = 0;
	/* Grows while too many slices ask for a label, so that one frame never draws more than `cap`. */
	min_px = 30;
	readonly x: Float32Array;
	readonly w: Float32Array;
	readonly y: Float32Array;
	readonly name: string[] = [];
	private overflow = 0;

	constructor(readonly cap: number) {
		this.x = new Float32Array(cap);
		this.w = new Float32Array(cap);
		this.y = new Float32Array(cap);
	}

	/* Before a frame: adapts the least width to how many asked in the last one. */
	reset(floor_px: number): void {
		if (this.overflow > 0) this.min_px *= 1.25;
		else if (this.n < this.cap * 0.6) this.min_px = Math.max(floor_px, this.min_px / 1.15);
		this.min_px = Math.max(floor_px, this.min_px);
		this.n = 0;
		this.overflow = 0;
	}

	add(x: number, w: number, y: number, name: string): void {
		if (this.n >= this.cap) {
			this.overflow++;
			return;
		}
		const i = this.n++;
		this.x[i] = x;
		this.w[i] = w;
		this.y[i] = y;
		this.name[i] = name;
	}
}

/* Slices from this width on get a line at their left edge, which keeps equal neighbours apart. */
const EDGE_PX = 4;

/*
 * Draws row `r` of `t` into pixel row `at` (an index into pixels.data), columns [clip0, clip1). `colors` and `edges` are
 * per name. A slice is at least one pixel; of several in one pixel the last one stays. Returns the number drawn.
 */
export function rasterRow(
	px: Pixels,
	at: number,
	t: TrackSlices,
	r: number,
	view: View,
	clip0: number,
	clip1: number,
	colors: Uint32Array,
	edges: Uint32Array,
	labels: Labels | null,
	labelY: number,
): number {
	const end = t.rowFirst[r + 1] ?? 0;
	let i = sliceAt(t, r, view.begin_ps + ((view.end_ps - view.begin_ps) * clip0) / px.width);
	if (i < 0) return 0;
	const first = i;
	const perPs = px.width / (view.end_ps - view.begin_ps);
	const scale = t.tick_ps * perPs;
	const shift = (t.origin_ps - view.begin_ps) * perPs;
	const { begin, dur, name } = t;
	const data = px.data;
	const minLabel = labels ? labels.min_px : Infinity;
	for (; i < end; i++) {
		const x0 = (begin[i] as number) * scale + shift;
		if (x0 >= clip1) break;
		const x1 = x0 + (dur[i] as number) * scale;
		const left = Math.floor(x0);
		const right = Math.max(left + 1, Math.ceil(x1 - 0.5));
		/* Whole numbers only within the screen: far outside they fit no machine word, and compiled code would be thrown away. */
		const a = (left < clip0 ? clip0 : left) | 0;
		const b = (right > clip1 ? clip1 : right) | 0;
		if (a >= b) continue;
		const k = name[i] as number;
		const c = colors[k] as number;
		/* A plain loop: fill() costs more than it saves on spans this short. */
		for (let x = at + a, stop = at + b; x < stop; x++) data[x] = c;
		if (right - left >= EDGE_PX && left >= clip0) data[at + a] = edges[k] as number;
		if (b - a >= minLabel) labels?.add(a, b - a, labelY, t.names[k] ?? "");
	}
	return i - first;
}

/* Columns [from, to) of the window of `t` in this view: outside of it `t` says nothing. */
export function coveredColumns(t: TrackSlices, view: View, width: number): [number, number] {
	const perPs = width / (view.end_ps - view.begin_ps);
	const from = Math.max(0, Math.floor((t.begin_ps - view.begin_ps) * perPs));
	const to = Math.min(width, Math.ceil((t.end_ps - view.begin_ps) * perPs));
	return [Math.min(from, width), Math.max(0, to)];
}

const NONE: readonly number[] = [];

/* The columns of stripes, `wide` each, over what no answer covers: nothing is known there yet, where blank would mean idle. */
export function stripedColumns(layers: readonly TrackSlices[], view: View, width: number, wide: number): readonly number[] {
	let [from, to] = [width, 0];
	for (const t of layers) {
		const [a, b] = coveredColumns(t, view, width);
		if (b > a) [from, to] = [Math.min(from, a), Math.max(to, b)];
	}
	if (from <= 0 && to >= width) return NONE;
	const out: number[] = [];
	for (let x = 0; x < width; x++) if ((x < from || x >= to) && Math.floor(x / wide) % 2 === 0) out.push(x);
	return out;
}

/*
 * As much of `text` as fits into `room` pixels, by the widths of its characters; "" when not even three characters
 * and the ellipsis fit. `widths` holds ASCII, `other` is for the rest.
 */
export function fitText(text: string, room: number, widths: Float32Array, other: number): string {
	let sum = 0;
	const dots = other;
	let cut = -1;
	for (let i = 0; i < text.length; i++) {
		sum += widths[text.charCodeAt(i)] ?? other;
		if (cut < 0 && sum + dots > room) cut = i;
		if (sum > room) return cut < 3 ? "" : `${text.slice(0, cut)}…`;
	}
	return text;
}
