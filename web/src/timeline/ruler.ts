/*
 * ruler.ts - where the time ruler has its lines and what stands at them.
 */
import { clock_ps } from "../base/format";
import type { View } from "./viewport";

export interface Tick {
	ps: number;
	label: string; /* empty for the short lines between */
}

/* Steps of 1, 2 and 5 times a power of ten, at least `least_px` apart. */
export function tickStep(v: View, width_px: number, least_px: number): number {
	const raw = Math.max(1, ((v.end_ps - v.begin_ps) / Math.max(1, width_px)) * least_px);
	const ten = 10 ** Math.floor(Math.log10(raw));
	for (const m of [1, 2, 5]) if (m * ten >= raw * (1 - 1e-9)) return m * ten;
	return 10 * ten;
}

/*
 * Where a label would need more figures than one reads, labels count from a base, and the first names it: "9.719 s + 50 µs". The base
 * is the same for all views of about this length around here, so that it does not run along while one pans. 0: none is needed.
 */
const READ_FIGURES = 5;

export function rulerBase(v: View, step: number): number {
	const among = Math.max(Math.abs(v.begin_ps), Math.abs(v.end_ps));
	if (among / step < 10 ** READ_FIGURES) return 0;
	const unit = 10 ** Math.ceil(Math.log10(Math.max(1, v.end_ps - v.begin_ps)) + 1e-9);
	return Math.floor(v.begin_ps / unit) * unit;
}

export function ticks(v: View, width_px: number, least_px = 110): Tick[] {
	if (width_px <= 0) return [];
	const step = tickStep(v, width_px, least_px);
	const parts = String(step)[0] === "2" ? 4 : 5;
	const fine = step / parts;
	const out: Tick[] = [];
	const base = rulerBase(v, step);
	const among = Math.max(Math.abs(v.begin_ps - base), Math.abs(v.end_ps - base));
	let named = base === 0;
	const first = Math.floor(v.begin_ps / step) * parts;
	const last = Math.ceil(v.end_ps / fine);
	for (let i = first; i <= last; i++) {
		const ps = i * fine;
		if (ps < v.begin_ps - step || ps > v.end_ps) continue;
		const label = i % parts === 0 ? clock_ps(ps - base, step, among) : "";
		const shown = named || !label ? label : `${clock_ps(base, 10 ** Math.floor(Math.log10(v.end_ps - v.begin_ps)))} + ${label}`;
		named = named || (label !== "" && ps >= v.begin_ps);
		out.push({ ps, label: shown });
	}
	return out;
}
