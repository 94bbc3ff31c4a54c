/*
 * scatter.ts - the arithmetic of a log-log plot: ranges in whole decades, places on paper, and roofs under which points must stay.
 */

export interface LogAxis {
	from: number; /* both powers of ten */
	to: number;
}

/* Whole decades around all positive values; at least two. */
export function logAxis(values: readonly number[]): LogAxis {
	const list = values.filter((v) => v > 0 && Number.isFinite(v));
	if (!list.length) return { from: 0.1, to: 10 };
	let lo = Math.floor(Math.log10(Math.min(...list)) + 1e-9);
	let hi = Math.ceil(Math.log10(Math.max(...list)) - 1e-9);
	if (hi - lo < 2) {
		lo--;
		hi = Math.max(hi, lo + 2);
	}
	return { from: 10 ** lo, to: 10 ** hi };
}

export function decades(a: LogAxis): number[] {
	const out: number[] = [];
	for (let e = Math.round(Math.log10(a.from)); e <= Math.round(Math.log10(a.to)); e++) out.push(10 ** e);
	return out;
}

/* 0..1 along the axis. */
export function along(a: LogAxis, v: number): number {
	return Math.log10(v / a.from) / Math.log10(a.to / a.from);
}

export interface Roof {
	label: string;
	/* GFLOP/s for each FLOP per byte; 0 for a flat roof */
	slope: number;
	/* GFLOP/s at most */
	flat: number;
}

/* Corners of a roof inside the axes: up the slope to the flat top, then level. */
export function roofLine(r: Roof, x: LogAxis, y: LogAxis): [number, number][] {
	const ridge = r.slope > 0 ? r.flat / r.slope : x.from;
	const out: [number, number][] = [];
	if (r.slope > 0) {
		const first = Math.max(x.from, y.from / r.slope);
		out.push([first, first * r.slope]);
		if (ridge > first && ridge < x.to) out.push([ridge, r.flat]);
		else if (ridge >= x.to) return [...out, [x.to, x.to * r.slope]];
	} else out.push([x.from, r.flat]);
	out.push([x.to, r.flat]);
	return out;
}
