/*
 * viewport.ts - the stretch of time on the screen, as plain values: every function returns a new one, kept inside the trace.
 */

export interface View {
	begin_ps: number;
	end_ps: number;
}

/* 100 ps across the screen: finer than any clock that stamped an event. */
const MIN_SPAN_PS = 100;

export function span(v: View): number {
	return v.end_ps - v.begin_ps;
}

export function clampView(v: View, all: View): View {
	const most = Math.max(span(all), MIN_SPAN_PS);
	const s = Math.min(Math.max(span(v), MIN_SPAN_PS), most);
	/* A span that had to change stays centred, then moves inside. */
	let begin = (v.begin_ps + v.end_ps - s) / 2;
	begin = Math.min(Math.max(begin, all.begin_ps), all.begin_ps + most - s);
	return { begin_ps: begin, end_ps: begin + s };
}

/* `factor` > 1 zooms in; the time `at_ps` keeps its place on the screen. */
export function zoomAt(v: View, factor: number, at_ps: number, all: View): View {
	const s = Math.min(Math.max(span(v) / factor, MIN_SPAN_PS), Math.max(span(all), MIN_SPAN_PS));
	const share = (at_ps - v.begin_ps) / span(v);
	const begin = at_ps - share * s;
	return clampView({ begin_ps: begin, end_ps: begin + s }, all);
}

export function panBy(v: View, delta_ps: number, all: View): View {
	return clampView({ begin_ps: v.begin_ps + delta_ps, end_ps: v.end_ps + delta_ps }, all);
}

/* Shows [begin, end] with room on both sides. */
export function fit(begin_ps: number, end_ps: number, all: View, margin = 0.15): View {
	const s = Math.max(end_ps - begin_ps, MIN_SPAN_PS);
	return clampView({ begin_ps: begin_ps - s * margin, end_ps: begin_ps + s * (1 + margin) }, all);
}

/* Moves as little as possible to make [begin, end] visible, without zooming unless it is longer than the view. */
export function reveal(v: View, begin_ps: number, end_ps: number, all: View): View {
	const s = span(v);
	if (end_ps - begin_ps > s) return fit(begin_ps, end_ps, all);
	if (begin_ps >= v.begin_ps && end_ps <= v.end_ps) return v;
	const middle = (begin_ps + end_ps) / 2;
	return clampView({ begin_ps: middle - s / 2, end_ps: middle + s / 2 }, all);
}

/* One step of an exponential approach; lands when the rest is less than a hundredth of a pixel. */
export function approach(v: View, target: View, share: number, width_px: number): View {
	const begin = v.begin_ps + (target.begin_ps - v.begin_ps) * share;
	const end = v.end_ps + (target.end_ps - v.end_ps) * share;
	const rest = Math.max(Math.abs(target.begin_ps - begin), Math.abs(target.end_ps - end));
	return rest < span(target) / Math.max(1, width_px) / 4 ? target : { begin_ps: begin, end_ps: end };
}

export function sameView(a: View, b: View): boolean {
	return a.begin_ps === b.begin_ps && a.end_ps === b.end_ps;
}

/* "1200-3400" (whole picoseconds) in the URL. */
export function formatView(v: View): string {
	return `${Math.round(v.begin_ps)}-${Math.round(v.end_ps)}`;
}

export function parseView(text: string): View | undefined {
	const m = /^(-?\d{1,16})-(-?\d{1,16})$/.exec(text);
	if (!m) return undefined;
	const v = { begin_ps: Number(m[1]), end_ps: Number(m[2]) };
	return v.end_ps > v.begin_ps ? v : undefined;
}
