/*
 * painter.ts - one frame of the timeline, on contexts that canvas_view.tsx owns.
 *
 * The tracks are drawn in device pixels: raster.ts fills an array with a pixel row per timeline row, one putImageData carries it to a
 * small canvas, and each track is stretched from there to its place. The array has the background and the lines behind the slices as
 * well, so that nothing needs to be mixed and nothing is painted twice: in software drawing each pass over the screen is half a
 * millisecond. Then come gaps between rows, names and counters.
 */
import { css, mix, nameColor, paintColor, pixel } from "../base/color";
import { clock_ps, counterText, time_ps } from "../base/format";
import { beginOf, sliceAt, type Flow, type FlowPoint, type TrackSlices } from "../api/slices";
import type { FlowEnd, Section, TrackInfo } from "../api/types";
import { coveredColumns, fitText, Labels, rasterRow, stripedColumns, type Pixels } from "./raster";
import { BAND_PX, type BandPictures } from "./bands";
import { byHost, placeOf, visibleItems, type Item, type Layout, type SectionItem, type TrackItem } from "./layout";
import type { TimelineModel } from "./model";
import { ticks, tickStep } from "./ruler";
import { matcher, type TraceState } from "./state";
import type { View } from "./viewport";

export const MAP_PX = 16;
export const HEAD_PX = 40;

export interface Palette {
	bg: string;
	band: string;
	grid: string;
	line: string;
	text: string;
	muted: string;
	mutedText: string;
	label: string;
	accent: string;
	wash: string;
	bgPixel: number;
	gridPixel: number;
	linePixel: number;
	markPixel: number;
	dark: boolean;
}

/* Of one answer's names, and what they depend on. */
interface Colors extends Pick<TraceState, "query" | "only" | "marked" | "paints"> {
	fill: Uint32Array;
	edge: Uint32Array;
}

export interface Frame {
	bands: BandPictures;
	state: TraceState;
	layout: Layout;
	model: TimelineModel;
	top: number; /* scrolled by so many CSS pixels */
	flows: readonly Flow[];
	selectedFlows: readonly FlowEnd[];
	moving: boolean;
}

const FONT_PX = 11;
const LABEL_CAP = 1500;
const MOVING_CAP = 500;

/* Rows of a track on the screen, and the row of the array that holds the first of them. */
interface Place {
	item: TrackItem;
	first: number;
	count: number;
	at: number;
}

/* "rgb(12 34 56)" or "#0c2238" from the style sheet, as a pixel. */
export function parsePixel(text: string): number {
	const hex = /^#([0-9a-f]{6})$/i.exec(text.trim());
	if (hex) {
		const v = parseInt(hex[1] ?? "0", 16);
		return pixel((v >> 16) & 255, (v >> 8) & 255, v & 255);
	}
	const m = text.match(/\d+(\.\d+)?/g)?.map(Number) ?? [];
	return pixel(m[0] ?? 0, m[1] ?? 0, m[2] ?? 0);
}

export class Painter {
	private readonly head: CanvasRenderingContext2D;
	private readonly main: CanvasRenderingContext2D;
	private readonly over: CanvasRenderingContext2D;
	private readonly strip: CanvasRenderingContext2D;
	private readonly map: CanvasRenderingContext2D;
	private mapShows: Float32Array | undefined;
	private overBlank = false;
	private image: ImageData | undefined;
	private px: Pixels = { data: new Uint32Array(0), width: 0 };
	private readonly still = new Labels(LABEL_CAP);
	private readonly moving = new Labels(MOVING_CAP);
	private widths = new Float32Array(128);
	private wideChar = 8;
	private colors = new WeakMap<readonly string[], Colors>();
	private byName = new Map<string, number>();
	private blank = new Uint32Array(0);
	private grid: { view: View | undefined; width: number; columns: readonly number[] } = { view: undefined, width: 0, columns: [] };
	private readonly stepTracks = new WeakMap<Section, TrackInfo | undefined>();
	private density: { key: string; data: Float32Array } | undefined;
	private pal: Palette | undefined;
	width = 0;
	height = 0;
	dpr = 1;
	drawn = 0; /* slices in the last frame */

	constructor(
		head: HTMLCanvasElement,
		main: HTMLCanvasElement,
		over: HTMLCanvasElement,
		spare: () => HTMLCanvasElement,
	) {
		const ctx = (c: HTMLCanvasElement, alpha: boolean) => {
			const x = c.getContext("2d", { alpha });
			if (!x) throw new Error("This browser provides no canvas, so the timeline cannot be drawn.");
			return x;
		};
		this.head = ctx(head, false);
		this.main = ctx(main, false);
		this.over = ctx(over, true);
		this.strip = ctx(spare(), false);
		this.map = ctx(spare(), false);
	}

	setPalette(pal: Palette): void {
		this.pal = pal;
		this.byName.clear();
		this.colors = new WeakMap();
		this.density = undefined;
	}

	resize(width: number, height: number, dpr: number): void {
		if (width === this.width && height === this.height && dpr === this.dpr) return;
		this.width = width;
		this.height = height;
		this.dpr = dpr;
		for (const [ctx, h] of [
			[this.head, HEAD_PX],
			[this.main, height],
			[this.over, height],
		] as const) {
			ctx.canvas.width = Math.max(1, Math.round(width * dpr));
			ctx.canvas.height = Math.max(1, Math.round(h * dpr));
			ctx.canvas.style.width = `${width}px`;
			ctx.canvas.style.height = `${h}px`;
		}
		this.measureFont();
	}

	private font(px: number, weight = 400): string {
		return `${weight} ${px * this.dpr}px system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif`;
	}

	private measureFont(): void {
		this.main.font = this.font(FONT_PX);
		for (let c = 32; c < 127; c++) this.widths[c] = this.main.measureText(String.fromCharCode(c)).width;
		this.wideChar = this.main.measureText("…").width;
	}

	/* ---- tracks ---- */

	private nameFill(name: string): number {
		let c = this.byName.get(name);
		if (c === undefined) {
			c = nameColor(name, this.pal?.dark ?? false);
			this.byName.set(name, c);
		}
		return c;
	}

	/* Colours per name of one answer. While a search is on or names were chosen, the others step back. */
	private colorsOf(names: readonly string[], { query, only, marked, paints }: TraceState): Colors {
		const old = this.colors.get(names);
		if (old && old.query === query && old.only === only && old.marked === marked && old.paints === paints) return old;
		const fill = new Uint32Array(names.length);
		const edge = new Uint32Array(names.length);
		const bg = this.pal?.bgPixel ?? 0xffffffff;
		const fits = matcher(query);
		const painted = paints.map(matcher);
		for (let i = 0; i < names.length; i++) {
			const name = names[i] ?? "";
			const paint = painted.findIndex((fit) => fit(name));
			let c = marked.has(name) ? (this.pal?.markPixel ?? 0) : paint >= 0 ? paintColor(paint, this.pal?.dark ?? false) : this.nameFill(name);
			if (paint >= 0) {
				/* What was given a colour keeps it, whatever is looked for now. */
			} else if ((query && !fits(name)) || (only.size > 0 && !only.has(name))) c = mix(c, bg, 0.78);
			fill[i] = c;
			edge[i] = mix(c, bg, 0.55);
		}
		const made = { query, only, marked, paints, fill, edge };
		this.colors.set(names, made);
		return made;
	}

	drawMain(f: Frame): void {
		const pal = this.pal;
		if (!pal || this.width <= 0) return;
		const ctx = this.main;
		const { dpr } = this;
		const W = ctx.canvas.width;
		const H = ctx.canvas.height;
		const labels = f.moving ? this.moving : this.still;
		labels.reset(26 * dpr);

		const items = visibleItems(f.layout, f.top, this.height);
		const places: Place[] = [];
		let rows = 0;
		let bare = 0; /* nothing was painted from here on down */
		for (const it of items) {
			const y = Math.round((it.y - f.top) * dpr);
			if (y > bare) this.drawBare(f, pal, bare, y, W);
			bare = Math.max(y + 1, Math.round((it.y + it.h - f.top) * dpr));
			if (it.kind === "section") {
				ctx.fillStyle = pal.band;
				ctx.fillRect(0, y, W, bare - y);
				if (!it.open) this.drawBand(f, pal, it, y, W);
			} else if (it.info.kind === "counter") {
				this.drawBare(f, pal, y, bare, W);
				this.drawCounter(f, it, (it.y - f.top) * dpr, pal, W);
			} else {
				const first = Math.max(0, Math.floor((f.top - it.y) / it.rowH));
				const last = Math.min(it.rows, Math.ceil((f.top + this.height - it.y) / it.rowH));
				if (last <= first) continue;
				places.push({ item: it, first, count: last - first, at: rows });
				rows += last - first;
			}
		}
		if (bare < H) this.drawBare(f, pal, bare, H, W);
		const steps = this.findSteps(f, items, W);
		this.ensurePixels(W, rows);
		this.drawn = 0;
		for (const p of places) {
			this.fillBlank(f, pal, p.item.pinned ? undefined : steps.get(p.item.pid), W);
			this.rasterTrack(f, p, p.item.collapsed ? null : labels);
		}
		if (rows && this.image) this.strip.putImageData(this.image, 0, 0, 0, 0, W, rows);
		ctx.imageSmoothingEnabled = false;
		for (const p of places) this.drawPlace(f, p, pal, W);
		this.drawSteps(f, items, steps, pal);
		this.drawLabels(labels, pal);
	}

	/* How busy a closed section was. */
	private drawBand(f: Frame, pal: Palette, it: SectionItem, y: number, W: number): void {
		const at = f.model.timeline.sections.findIndex((s) => s.pid === it.pid);
		const high = Math.round(BAND_PX * this.dpr);
		f.bands.setPalette(pal.dark, parsePixel(pal.muted));
		f.bands.draw(this.main, at, f.state.view, y + Math.round(((it.h - BAND_PX) / 2) * this.dpr), W, high);
	}

	/* Background and grid where no slices stand. */
	private drawBare(f: Frame, pal: Palette, y0: number, y1: number, W: number): void {
		const ctx = this.main;
		ctx.fillStyle = pal.bg;
		ctx.fillRect(0, y0, W, y1 - y0);
		ctx.fillStyle = pal.grid;
		for (const x of this.gridColumns(f, W)) ctx.fillRect(x, y0, 1, y1 - y0);
	}

	private drawPlace(f: Frame, p: Place, pal: Palette, W: number): void {
		const ctx = this.main;
		const { item, first, count } = p;
		const yOf = (row: number) => Math.round((item.y + row * item.rowH - f.top) * this.dpr);
		ctx.drawImage(this.strip.canvas, 0, p.at, W, count, 0, yOf(first), W, Math.max(1, yOf(first + count) - yOf(first)));
		if (item.collapsed && item.rows > 1) return;
		ctx.fillStyle = pal.bg;
		for (let k = 1; k <= count; k++) ctx.fillRect(0, yOf(first + k) - 1, W, 1);
	}

	private ensurePixels(W: number, rows: number): void {
		const have = this.image;
		if (have && have.width === W && have.height >= rows) return;
		const high = Math.max(16, have && have.width === W ? Math.max(rows, have.height * 2) : rows);
		this.strip.canvas.width = W;
		this.strip.canvas.height = high;
		const image = new ImageData(W, high);
		this.image = image;
		this.px = { data: new Uint32Array(image.data.buffer), width: W };
	}

	/* What a row of pixels looks like without slices. */
	private fillBlank(f: Frame, pal: Palette, steps: readonly number[] | undefined, W: number): void {
		if (this.blank.length !== W) this.blank = new Uint32Array(W);
		this.blank.fill(pal.bgPixel);
		for (const x of this.gridColumns(f, W)) this.blank[x] = pal.gridPixel;
		for (const x of steps ?? []) this.blank[x] = pal.linePixel;
	}

	private rasterTrack(f: Frame, p: Place, labels: Labels | null): void {
		const { item: it, first, count, at } = p;
		const W = this.px.width;
		const layers = f.model.layers(it.info.track, f.state.view);
		for (let k = 0; k < count; k++) this.px.data.set(this.blank, (at + k) * W);
		this.stripe(layers, f.state.view, at, count, W);
		layers.forEach((t, depth) => {
			const [from, to] = coveredColumns(t, f.state.view, W);
			const { fill, edge } = this.colorsOf(t.names, f.state);
			for (let k = 0; k < count; k++) {
				const offset = (at + k) * W;
				if (depth > 0 && to > from) this.px.data.set(this.blank.subarray(from, to), offset + from);
				const y = (it.y + (first + k + 0.5) * it.rowH - f.top) * this.dpr;
				const names = depth === layers.length - 1 ? labels : null;
				this.drawn += rasterRow(this.px, offset, t, first + k, f.state.view, from, to, fill, edge, names, y);
			}
		});
	}

	/* Columns of which nothing is here yet: stripes, for blank means idle. */
	private stripe(layers: readonly TrackSlices[], view: View, at: number, count: number, W: number): void {
		const color = this.pal?.gridPixel ?? 0;
		for (const x of stripedColumns(layers, view, W, Math.max(2, Math.round(3 * this.dpr))))
			for (let k = 0; k < count; k++) this.px.data[(at + k) * W + x] = color;
	}

	private drawLabels(labels: Labels, pal: Palette): void {
		const ctx = this.main;
		const pad = 3 * this.dpr;
		ctx.font = this.font(FONT_PX);
		ctx.textBaseline = "middle";
		ctx.fillStyle = pal.label;
		for (let i = 0; i < labels.n; i++) {
			const text = fitText(labels.name[i] ?? "", (labels.w[i] ?? 0) - 2 * pad, this.widths, this.wideChar);
			if (text) ctx.fillText(text, (labels.x[i] ?? 0) + pad, labels.y[i] ?? 0);
		}
	}

	/* Columns of the labelled lines of the ruler. */
	private gridColumns(f: Frame, W: number): readonly number[] {
		const { view } = f.state;
		if (this.grid.view === view && this.grid.width === W) return this.grid.columns;
		const perPs = W / (view.end_ps - view.begin_ps);
		const columns = ticks(view, this.width)
			.filter((t) => t.label)
			.map((t) => Math.round((t.ps - view.begin_ps) * perPs))
			.filter((x) => x >= 0 && x < W);
		this.grid = { view, width: W, columns };
		return columns;
	}

	/* Columns where a step of a section begins, by section, where steps are wide enough to be told apart. */
	private findSteps(f: Frame, items: readonly Item[], W: number): Map<number, number[]> {
		const { view } = f.state;
		const perPs = W / (view.end_ps - view.begin_ps);
		const out = new Map<number, number[]>();
		for (const s of f.model.timeline.sections) {
			if (!items.some((it) => it.kind === "track" && it.pid === s.pid && !it.pinned)) continue;
			const steps = this.stepTrack(s);
			const t = steps && f.model.layers(steps.track, view).pop();
			const end = t?.rowFirst[1] ?? 0;
			if (!t || end < 2) continue;
			const wide = ((beginOf(t, end - 1) - beginOf(t, 0)) / (end - 1)) * perPs;
			if (wide < 40 * this.dpr) continue;
			const columns: number[] = [];
			for (let i = Math.max(0, sliceAt(t, 0, view.begin_ps)); i < end; i++) {
				const x = Math.round((beginOf(t, i) - view.begin_ps) * perPs);
				if (x >= W) break;
				if (x > 0) columns.push(x);
			}
			out.set(s.pid, columns);
		}
		return out;
	}

	private stepTrack(s: Section): TrackInfo | undefined {
		if (!this.stepTracks.has(s))
			this.stepTracks.set(s, s.tracks.find((t) => t.kind === "slices" && /^steps?$/i.test(t.name)));
		return this.stepTracks.get(s);
	}

	/* The lines of steps between the tracks of a section; the tracks have them in their pixels. */
	private drawSteps(f: Frame, items: readonly Item[], steps: ReadonlyMap<number, number[]>, pal: Palette): void {
		const ctx = this.main;
		ctx.fillStyle = pal.line;
		for (const [pid, columns] of steps) {
			const mine = items.filter((it): it is TrackItem => it.kind === "track" && it.pid === pid && !it.pinned);
			for (let i = 0; i < mine.length; i++) {
				const it = mine[i];
				const next = mine[i + 1];
				if (!it) continue;
				const y0 = Math.round((it.info.kind === "counter" ? it.y - f.top : it.y + it.h - f.top) * this.dpr);
				const y1 = Math.round(((next ? next.y : it.y + it.h) - f.top) * this.dpr);
				if (y1 > y0) for (const x of columns) ctx.fillRect(x, y0, 1, y1 - y0);
			}
		}
	}

	/* A counter keeps its value until the next sample: steps, filled down to the zero line (or to the least value). */
	private drawCounter(f: Frame, it: TrackItem, y: number, pal: Palette, W: number): void {
		const ctx = this.main;
		const { view } = f.state;
		const t = f.model.layers(it.info.track, view).pop();
		const c = t?.counter;
		if (!c || !c.t_ps.length) return;
		const h = it.h * this.dpr;
		const range = counterRange(c.value, it.info.min, it.info.max);
		const perPs = W / (view.end_ps - view.begin_ps);
		const yOf = (v: number) => y + h - 1 - ((v - range.min) / (range.max - range.min || 1)) * (h - 4);
		let i = lowerBound(c.t_ps, view.begin_ps) - 1;
		if (i < 0) i = 0;
		const x0 = Math.max(0, ((c.t_ps[i] ?? 0) - view.begin_ps) * perPs);
		ctx.beginPath();
		ctx.moveTo(x0, yOf(Math.max(range.min, Math.min(0, range.max))));
		let last = c.value[i] ?? 0;
		ctx.lineTo(x0, yOf(last));
		let x = x0;
		for (i++; i < c.t_ps.length && x < W; i++) {
			x = Math.min(W, ((c.t_ps[i] ?? 0) - view.begin_ps) * perPs);
			ctx.lineTo(x, yOf(last));
			last = c.value[i] ?? 0;
			ctx.lineTo(x, yOf(last));
		}
		ctx.lineTo(W, yOf(last));
		ctx.lineTo(W, yOf(Math.max(range.min, Math.min(0, range.max))));
		ctx.closePath();
		const color = this.nameFill(it.info.name);
		ctx.fillStyle = css(mix(color, pal.bgPixel, 0.35));
		ctx.fill();
		ctx.strokeStyle = css(mix(color, pal.dark ? 0xffffffff : 0xff000000, 0.3));
		ctx.lineWidth = this.dpr;
		ctx.stroke();
		if (it.collapsed) return;
		ctx.font = this.font(10);
		ctx.textBaseline = "top";
		ctx.fillStyle = pal.mutedText;
		ctx.fillText(counterText(range.max, it.info.name), 4 * this.dpr, y + 1);
	}

	/* ---- head: the whole trace, and the ruler ---- */

	drawHead(f: Frame): void {
		const pal = this.pal;
		if (!pal || this.width <= 0) return;
		const ctx = this.head;
		const W = ctx.canvas.width;
		const { dpr } = this;
		ctx.fillStyle = pal.bg;
		ctx.fillRect(0, 0, W, HEAD_PX * dpr);
		this.drawMap(f, pal, W);
		this.drawRuler(f, pal, W);
		ctx.fillStyle = pal.line;
		ctx.fillRect(0, HEAD_PX * dpr - 1, W, 1);
	}

	private drawMap(f: Frame, pal: Palette, W: number): void {
		const ctx = this.head;
		const h = MAP_PX * this.dpr;
		const all = f.model.all;
		ctx.drawImage(this.mapImage(f, pal, W, h), 0, 0);
		const perPs = W / (all.end_ps - all.begin_ps);
		const x0 = (f.state.view.begin_ps - all.begin_ps) * perPs;
		const x1 = Math.max(x0 + 2 * this.dpr, (f.state.view.end_ps - all.begin_ps) * perPs);
		ctx.globalAlpha = 0.62;
		ctx.fillStyle = pal.bg;
		ctx.fillRect(0, 0, x0, h);
		ctx.fillRect(x1, 0, W - x1, h);
		ctx.globalAlpha = 1;
		ctx.fillStyle = pal.accent;
		ctx.fillRect(x0, 0, this.dpr, h);
		ctx.fillRect(x1 - this.dpr, 0, this.dpr, h);
	}

	/* Drawn anew only when what it shows has changed: it has a bar for each column. */
	private mapImage(f: Frame, pal: Palette, W: number, h: number): HTMLCanvasElement {
		const busy = this.mapOf(f, W);
		const canvas = this.map.canvas;
		if (this.mapShows === busy && canvas.width === W && canvas.height === h) return canvas;
		canvas.width = W;
		canvas.height = h;
		this.mapShows = busy;
		const ctx = this.map;
		ctx.fillStyle = pal.band;
		ctx.fillRect(0, 0, W, h);
		ctx.fillStyle = pal.muted;
		for (let x = 0; x < W; x++) {
			const v = busy[x] ?? 0;
			if (v > 0) ctx.fillRect(x, h - 1 - v * (h - 3), 1, v * (h - 3));
		}
		return canvas;
	}

	/* How busy the outermost rows are over the whole trace, 0..1 for each column; devices if there are any. */
	private mapOf(f: Frame, W: number): Float32Array {
		const sections = mapSections(f.model.timeline.sections);
		const list: TrackSlices[] = [];
		for (const s of sections)
			for (const t of s.tracks) {
				const held = t.kind === "slices" ? f.model.whole(t.track) : undefined;
				if (held) list.push(held);
			}
		const key = `${W}:${list.length}`;
		if (this.density?.key === key) return this.density.data;
		const data = new Float32Array(W);
		const all = f.model.all;
		const perPs = W / (all.end_ps - all.begin_ps);
		for (const t of list) addCoverage(data, t, all, perPs);
		let most = 0;
		for (const v of data) most = Math.max(most, v);
		if (most > 0) for (let x = 0; x < W; x++) data[x] = (data[x] ?? 0) / most;
		this.density = { key, data };
		return data;
	}

	private drawRuler(f: Frame, pal: Palette, W: number): void {
		const ctx = this.head;
		const { dpr } = this;
		const { view, marks, measure } = f.state;
		const perPs = W / (view.end_ps - view.begin_ps);
		const top = MAP_PX * dpr;
		const bottom = HEAD_PX * dpr;
		const xOf = (ps: number) => (ps - view.begin_ps) * perPs;
		ctx.font = this.font(FONT_PX);
		ctx.textBaseline = "middle";
		for (const t of ticks(view, this.width)) {
			const x = Math.round(xOf(t.ps));
			ctx.fillStyle = pal.line;
			ctx.fillRect(x, bottom - (t.label ? 9 : 4) * dpr, 1, 9 * dpr);
			if (!t.label || x < -4 * dpr) continue;
			ctx.fillStyle = pal.text;
			ctx.fillText(t.label, x + 4 * dpr, top + 9 * dpr);
		}
		for (const m of marks) {
			const x0 = xOf(m.begin_ps);
			const w = Math.max(2 * dpr, xOf(m.end_ps) - x0);
			ctx.fillStyle = pal.accent;
			ctx.fillRect(x0, bottom - 4 * dpr, w, 3 * dpr);
			const text = m.note ? shortened(m.note) : m.end_ps > m.begin_ps ? time_ps(m.end_ps - m.begin_ps) : "";
			if (text && x0 + w > 0 && x0 < W) this.tag(ctx, x0 + w / 2, top + 9 * dpr, text, pal, W);
		}
		if (measure) {
			const x0 = xOf(measure.begin_ps);
			const x1 = xOf(measure.end_ps);
			this.tag(ctx, (x0 + x1) / 2, top + 10 * dpr, time_ps(measure.end_ps - measure.begin_ps, 4), pal, W);
		}
	}

	private tag(ctx: CanvasRenderingContext2D, x: number, y: number, text: string, pal: Palette, W: number): void {
		const w = ctx.measureText(text).width + 10 * this.dpr;
		const left = Math.min(Math.max(2, x - w / 2), W - w - 2);
		ctx.fillStyle = pal.accent;
		ctx.beginPath();
		ctx.roundRect(left, y - 8 * this.dpr, w, 16 * this.dpr, 3 * this.dpr);
		ctx.fill();
		ctx.fillStyle = pal.dark ? "#10151c" : "#ffffff";
		ctx.fillText(text, left + 5 * this.dpr, y + 0.5);
	}

	/* ---- overlay ---- */

	drawOver(f: Frame): void {
		const pal = this.pal;
		if (!pal || this.width <= 0) return;
		const ctx = this.over;
		const W = ctx.canvas.width;
		const H = ctx.canvas.height;
		const { hover, selected, marks, measure, box, gap } = f.state;
		const drawn = f.state.flows === "all" || f.state.flows === "path";
		/* With nothing on it the overlay is neither drawn nor laid over the tracks: that is a third of a frame's cost. */
		const blank = !hover && !selected && !marks.length && !measure && !box && !gap && !(drawn && f.flows.length);
		if (blank && this.overBlank) return;
		ctx.canvas.style.opacity = blank ? "0" : "1";
		this.overBlank = blank;
		ctx.clearRect(0, 0, W, H);
		if (blank) return;
		this.drawStretches(f, pal, W, H);
		if (f.state.flows === "path") this.drawPath(f, pal);
		if (f.state.flows === "all") for (const fl of f.flows) this.drawArrow(f, fl.from, fl.to, pal, 0.55);
		if (f.state.flows !== "none" && selected)
			for (const e of f.selectedFlows)
				this.drawArrow(f, e.direction === "in" ? e : selected, e.direction === "in" ? selected : e, pal, 1);
		if (hover && hover.value === undefined && hover.event !== selected?.event) this.outline(f, hover, pal.text, 1);
		if (selected) this.outline(f, selected, pal.accent, 2);
	}

	/* What the steps' length consists of: each operation framed once, tied to the next. */
	private drawPath(f: Frame, pal: Palette): void {
		for (const [i, fl] of f.flows.entries()) {
			this.drawArrow(f, fl.from, fl.to, pal, 1);
			/* The path comes from its end back: an origin is the end of the arrow behind it. */
			this.outline(f, fl.from, pal.accent, 2);
			if (f.flows[i - 1]?.id !== fl.id) this.outline(f, fl.to, pal.accent, 2);
		}
	}

	/* In a closed section an event is somewhere in its band. */
	private rect(f: Frame, at: FlowPoint): { x: number; w: number; y: number; h: number } | undefined {
		const place = placeOf(f.layout, at);
		if (!place) return undefined;
		const { view } = f.state;
		const perPs = this.over.canvas.width / (view.end_ps - view.begin_ps);
		const x = (at.begin_ps - view.begin_ps) * perPs;
		return {
			x,
			w: Math.max(1, at.dur_ps * perPs),
			y: (place.y - f.top) * this.dpr,
			h: Math.max(2, place.h * this.dpr - 1),
		};
	}

	private outline(f: Frame, at: FlowPoint, color: string, px: number): void {
		const r = this.rect(f, at);
		if (!r) return;
		const ctx = this.over;
		const w = px * this.dpr;
		const x0 = Math.max(-4 * w, Math.floor(r.x));
		const x1 = Math.min(ctx.canvas.width + 4 * w, Math.ceil(r.x + r.w));
		ctx.strokeStyle = color;
		ctx.lineWidth = w;
		ctx.strokeRect(x0 - w / 2, r.y - w / 2, Math.max(2 * w, x1 - x0) + w, r.h + w);
	}

	private drawArrow(f: Frame, from: FlowPoint, to: FlowPoint, pal: Palette, alpha: number): void {
		const a = this.rect(f, from);
		const b = this.rect(f, to);
		if (!a || !b) return;
		const ctx = this.over;
		const W = ctx.canvas.width;
		const x0 = a.x + a.w;
		const y0 = a.y + a.h / 2;
		const x1 = b.x;
		const y1 = b.y + b.h / 2;
		if (Math.max(x0, x1) < 0 || Math.min(x0, x1) > W) return;
		const bend = Math.min(120 * this.dpr, Math.max(24 * this.dpr, Math.abs(x1 - x0) / 2));
		ctx.globalAlpha = alpha;
		ctx.strokeStyle = pal.accent;
		ctx.fillStyle = pal.accent;
		ctx.lineWidth = 1.5 * this.dpr;
		ctx.beginPath();
		ctx.moveTo(x0, y0);
		ctx.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 4 * this.dpr, y1);
		ctx.stroke();
		ctx.beginPath();
		ctx.moveTo(x1, y1);
		ctx.lineTo(x1 - 7 * this.dpr, y1 - 3.5 * this.dpr);
		ctx.lineTo(x1 - 7 * this.dpr, y1 + 3.5 * this.dpr);
		ctx.fill();
		ctx.globalAlpha = 1;
	}

	/* Marks, the measured interval and the frame being dragged. */
	private drawStretches(f: Frame, pal: Palette, W: number, H: number): void {
		const ctx = this.over;
		const { view, marks, measure, box } = f.state;
		const perPs = W / (view.end_ps - view.begin_ps);
		const xOf = (ps: number) => Math.round((ps - view.begin_ps) * perPs);
		const between = (v: View) => {
			const x0 = xOf(v.begin_ps);
			const x1 = xOf(v.end_ps);
			ctx.fillStyle = pal.wash;
			ctx.fillRect(x0, 0, x1 - x0, H);
			ctx.fillStyle = pal.accent;
			ctx.fillRect(x0, 0, 1, H);
			ctx.fillRect(x1, 0, 1, H);
		};
		for (const m of marks) between(m);
		if (measure) between(measure);
		if (f.state.gap?.gap) between(f.state.gap.gap);
		if (!box) return;
		const x0 = xOf(box.begin_ps);
		const y0 = (box.y0 - f.top) * this.dpr;
		const w = Math.max(1, xOf(box.end_ps) - x0);
		const h = (box.y1 - box.y0) * this.dpr;
		ctx.fillStyle = pal.wash;
		ctx.fillRect(x0, y0, w, h);
		ctx.strokeStyle = pal.accent;
		ctx.lineWidth = this.dpr;
		ctx.strokeRect(x0 + 0.5, y0 + 0.5, w, h);
	}
}

const NOTE_CHARS = 32;

function shortened(note: string): string {
	return note.length > NOTE_CHARS ? `${note.slice(0, NOTE_CHARS - 1)}…` : note;
}

function mapSections(sections: readonly Section[]): readonly Section[] {
	const devices = byHost(sections).filter((s) => s.kind === "device");
	return devices.length ? devices : byHost(sections);
}

function addCoverage(data: Float32Array, t: TrackSlices, all: View, perPs: number): void {
	const end = t.rowFirst[1] ?? 0;
	for (let i = 0; i < end; i++) {
		const x0 = (t.origin_ps + (t.begin[i] ?? 0) * t.tick_ps - all.begin_ps) * perPs;
		const x1 = x0 + (t.dur[i] ?? 0) * t.tick_ps * perPs;
		const a = Math.max(0, Math.floor(x0));
		const b = Math.min(data.length - 1, Math.floor(x1));
		for (let x = a; x <= b; x++) data[x] = (data[x] ?? 0) + Math.min(x1, x + 1) - Math.max(x0, x);
	}
}

export function counterRange(
	values: Float64Array,
	min: number | undefined,
	max: number | undefined,
): { min: number; max: number } {
	const told = typeof min === "number" && typeof max === "number";
	let lo = told ? min : Infinity;
	let hi = told ? max : -Infinity;
	if (!told)
		for (const v of values) {
			lo = Math.min(lo, v);
			hi = Math.max(hi, v);
		}
	/* Amounts are read from zero; only a counter that never comes near it gets a floor of its own. */
	if (lo > 0 && lo < hi * 0.9) lo = 0;
	if (hi < 0) hi = 0;
	return lo < hi ? { min: lo, max: hi } : { min: Math.min(0, lo), max: Math.max(1, hi) };
}

function lowerBound(a: Float64Array, v: number): number {
	let lo = 0;
	let hi = a.length;
	while (lo < hi) {
		const mid = (lo + hi) >>> 1;
		if ((a[mid] ?? 0) < v) lo = mid + 1;
		else hi = mid;
	}
	return lo;
}

/* Text of the time under the pointer, to the precision of a pixel. */
export function pointerTime(view: View, width: number, ps: number): string {
	return clock_ps(ps, tickStep(view, width, 1));
}
