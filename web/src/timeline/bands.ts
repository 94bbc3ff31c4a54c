/*
 * bands.ts - what a closed section shows: how busy it was, and with what, as a picture of one column for each part of the range.
 *
 * The program counts (GET /api/timeline/bands); here an answer becomes pixels once and is stretched to the view in every frame. One answer
 * over the whole trace stays, a finer one follows the view once it rests.
 */
import { getJson, type Params } from "../api/fetch";
import type { Bands } from "../api/types";
import { nameColor } from "../base/color";
import { span, type View } from "./viewport";
import type { TimelineModel } from "./model";

export const BAND_PX = 20;
const BINS = 1024;
const REST_MS = 150;
/* A view so much shorter than what an answer covers wants a finer one. */
const COARSE = 3;

/* From the bottom up; each has the colour of a name that means the same. */
const MEANINGS: readonly (readonly [meaning: string, name: string])[] = [
	["compute", "compute"],
	["other", "unknown"],
	["copy", "copy"],
	["input", "infeed"],
	["communication", "all-reduce"],
];

export function bytesOf(hex: string): Uint8Array {
	const out = new Uint8Array(hex.length >> 1);
	for (let i = 0; i < out.length; i++) out[i] = parseInt(hex.slice(i * 2, i * 2 + 2), 16);
	return out;
}

/*
 * Pixels of one section, `high` rows from the top down, 0 where nothing is. As high as the section was busy, divided by what it was busy
 * with; what has no meaning is `plain`.
 */
export function bandPixels(of: Bands["sections"][number], bins: number, high: number, colors: readonly number[], plain: number): Uint32Array {
	const out = new Uint32Array(bins * high);
	const busy = bytesOf(of.busy);
	const parts = MEANINGS.map(([meaning]) => bytesOf(of.parts[meaning] ?? ""));
	for (let x = 0; x < busy.length; x++) {
		const top = Math.ceil(((busy[x] ?? 0) / 255) * high);
		const sum = parts.reduce((s, p) => s + (p[x] ?? 0), 0);
		let k = 0;
		let until = sum ? (parts[0]?.[x] ?? 0) : 0;
		for (let y = 0; y < top; y++) {
			while (sum && k < parts.length - 1 && ((y + 0.5) / top) * sum > until) until += parts[++k]?.[x] ?? 0;
			out[(high - 1 - y) * bins + x] = sum ? (colors[k] ?? plain) : plain;
		}
	}
	return out;
}

interface Picture {
	of: Bands;
	canvases: Map<number, HTMLCanvasElement>; /* by section */
}

export class BandPictures {
	private whole: Picture | undefined;
	private near: Picture | undefined;
	private timer: ReturnType<typeof setTimeout> | undefined;
	private flying: AbortController | undefined;
	private dark: boolean | undefined;
	private plain = 0;

	constructor(
		private readonly model: TimelineModel,
		private readonly of: Params,
		private readonly changed: (whole: Bands) => void,
	) {}

	/* A section that is closed is on the screen. */
	show(view: View): void {
		clearTimeout(this.timer);
		if (this.flying) return;
		if (!this.whole) return this.ask(this.model.all);
		const best = this.best(view);
		if (best && span(best.of) <= span(view) * COARSE) return;
		this.timer = setTimeout(() => {
			const side = span(view) / 2;
			this.ask({
				begin_ps: Math.floor(Math.max(this.model.all.begin_ps, view.begin_ps - side)),
				end_ps: Math.ceil(Math.min(this.model.all.end_ps, view.end_ps + side)),
			});
		}, REST_MS);
	}

	private ask(range: View): void {
		const stop = new AbortController();
		this.flying = stop;
		const first = !this.whole;
		getJson<Bands>("api/timeline/bands", { ...this.of, ...range, bins: BINS }, stop.signal).then(
			(of) => {
				this.flying = undefined;
				const made = { of, canvases: new Map<number, HTMLCanvasElement>() };
				if (first) this.whole = made;
				else this.near = made;
				this.changed((this.whole ?? made).of);
			},
			() => {
				/* The next move asks again; the loader of slices tells that the server is gone. */
				this.flying = undefined;
			},
		);
	}

	private best(view: View): Picture | undefined {
		const { near } = this;
		return near && near.of.begin_ps <= view.begin_ps && near.of.end_ps >= view.end_ps ? near : this.whole;
	}

	setPalette(dark: boolean, plain: number): void {
		if (dark === this.dark && plain === this.plain) return;
		this.dark = dark;
		this.plain = plain;
		this.whole?.canvases.clear();
		this.near?.canvases.clear();
	}

	/* Draws section number `at` of the timeline into [0, W) x [y, y + h) of the canvas. */
	draw(ctx: CanvasRenderingContext2D, at: number, view: View, y: number, W: number, h: number): void {
		const p = this.best(view);
		const canvas = p && this.canvasOf(p, at);
		if (!p || !canvas) return;
		const { begin_ps, end_ps, bins } = p.of;
		const from = ((view.begin_ps - begin_ps) / (end_ps - begin_ps)) * bins;
		const wide = (span(view) / (end_ps - begin_ps)) * bins;
		ctx.imageSmoothingEnabled = false;
		ctx.drawImage(canvas, from, 0, wide, BAND_PX, 0, y, W, h);
	}

	private canvasOf(p: Picture, at: number): HTMLCanvasElement | undefined {
		const have = p.canvases.get(at);
		const of = p.of.sections.find((s) => s.section === at);
		if (have || !of) return have;
		const canvas = document.createElement("canvas");
		canvas.width = p.of.bins;
		canvas.height = BAND_PX;
		const ctx = canvas.getContext("2d");
		if (!ctx) return undefined;
		const image = new ImageData(p.of.bins, BAND_PX);
		const colors = MEANINGS.map(([, name]) => nameColor(name, this.dark ?? false));
		new Uint32Array(image.data.buffer).set(bandPixels(of, p.of.bins, BAND_PX, colors, this.plain));
		ctx.putImageData(image, 0, 0);
		p.canvases.set(at, canvas);
		return canvas;
	}

	stop(): void {
		clearTimeout(this.timer);
		this.flying?.abort();
	}
}
