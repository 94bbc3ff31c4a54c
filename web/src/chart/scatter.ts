/*
 * scatter.ts - the arithmetic of a log-log plot: ranges in whole decades, places on paper, and roofs under which points must stay.
 */

export interface LogAxis {
	from: number; /* of the whole plot powers of ten, of a part of it any two */
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

/* Where lines of the grid stand: at powers of ten; closer up at 1, 2 and 5, and at last at even distances. */
export function ticks(a: LogAxis): number[] {
	const low = Math.floor(Math.log10(a.from) + 1e-9);
	const high = Math.ceil(Math.log10(a.to) - 1e-9);
	const at = (digits: readonly number[]) => {
		const out: number[] = [];
		for (let e = low; e <= high; e++) for (const d of digits) out.push(d * 10 ** e);
		return out.filter((v) => v >= a.from * (1 - 1e-9) && v <= a.to * (1 + 1e-9));
	};
	const tens = at([1]);
	if (tens.length > 2) return tens;
	const fine = at([1, 2, 5]);
	if (fine.length > 2) return fine;
	const step = 10 ** Math.floor(Math.log10(a.to - a.from));
	const d = [1, 0.5, 0.2, 0.1].map((k) => k * step).find((x) => (a.to - a.from) / x >= 3) ?? step / 10;
	const out: number[] = [];
	for (let i = Math.ceil(a.from / d); i * d <= a.to; i++) out.push(i * d);
	return out;
}

const LEAST_RATIO = 1.05;

/* `factor` > 1 shows less; what stands at `share` of the axis stays there. Never more than `all`. */
export function zoomAxis(a: LogAxis, all: LogAxis, factor: number, share: number): LogAxis {
	const length = Math.log(a.to / a.from);
	const next = Math.min(Math.log(all.to / all.from), Math.max(Math.log(LEAST_RATIO), length / factor));
	return within(Math.log(a.from) + share * (length - next), next, all);
}

export function moveAxis(a: LogAxis, all: LogAxis, share: number): LogAxis {
	const length = Math.log(a.to / a.from);
	return within(Math.log(a.from) + share * length, length, all);
}

function within(from: number, length: number, all: LogAxis): LogAxis {
	const low = Math.min(Math.max(from, Math.log(all.from)), Math.log(all.to) - length);
	return { from: Math.exp(low), to: Math.exp(low + length) };
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
