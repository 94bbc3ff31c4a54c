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

export function ticks(v: View, width_px: number, least_px = 110): Tick[] {
	if (width_px <= 0) return [];
	const step = tickStep(v, width_px, least_px);
	const parts = String(step)[0] === "2" ? 4 : 5;
	const fine = step / parts;
	const out: Tick[] = [];
	const among = Math.max(Math.abs(v.begin_ps), Math.abs(v.end_ps));
	const first = Math.floor(v.begin_ps / step) * parts;
	const last = Math.ceil(v.end_ps / fine);
	for (let i = first; i <= last; i++) {
		const ps = i * fine;
		if (ps < v.begin_ps - step || ps > v.end_ps) continue;
		out.push({ ps, label: i % parts === 0 ? clock_ps(ps, step, among) : "" });
	}
	return out;
}
