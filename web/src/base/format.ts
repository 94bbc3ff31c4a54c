/*
 * format.ts - numbers for people. Every number on the page passes here and leaves with its unit.
 * Only the unit's scale is chosen here; rounding is to `digits` significant places, never of a value that is added up.
 */

export type Unit =
	| ""
	| "ps"
	| "ns"
	| "us"
	| "ms"
	| "s"
	| "bytes"
	| "mib"
	| "gib"
	| "frac"
	| "percent"
	| "flops"
	| "gflop_per_s"
	| "tflop_per_s"
	| "gib_per_s"
	| "gb_per_s"
	| "flop_per_byte"
	| "count"
	| "html"
	| "nj"
	| "hex";

const NARROW = "\u202f"; /* thin space that does not break: 12.3 ms */

/* Figures in 3 significant digits; groups of thousands above. */
export function significant(v: number, digits = 3): string {
	if (!Number.isFinite(v)) return Number.isNaN(v) ? "–" : v > 0 ? "∞" : "−∞";
	if (v === 0) return "0";
	/* Rounded first: 999.96 has one place less than 999.4. */
	const a = Number(Math.abs(v).toPrecision(digits));
	const places = Math.max(0, digits - 1 - Math.floor(Math.log10(a) + 1e-12));
	/* Below what toFixed can say, fall back to powers of ten. */
	if (places > 12) return v.toExponential(1).replace(/-/g, "−");
	const text = group(a.toFixed(Math.min(places, 12)));
	return v < 0 ? `−${text}` : text;
}

export function group(text: string): string {
	const dot = text.indexOf(".");
	const whole = dot < 0 ? text : text.slice(0, dot);
	if (whole.length < 5) return text;
	return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (dot < 0 ? "" : text.slice(dot));
}

const TIMES: readonly [number, string][] = [
	[3.6e15, "h"],
	[6e13, "min"],
	[1e12, "s"],
	[1e9, "ms"],
	[1e6, "µs"],
	[1e3, "ns"],
	[1, "ps"],
];

/* 1234567 ps -> "1.23 µs". Hours and minutes only where seconds stop being readable. */
export function time_ps(ps: number, digits = 3): string {
	if (!Number.isFinite(ps)) return significant(ps);
	const a = Math.abs(ps);
	/* Less than the clock's own unit is the dust of a sum. */
	if (a < 0.5) return `0${NARROW}s`;
	for (const [scale, unit] of TIMES) {
		if (scale >= 6e13 && a < 600e12) continue;
		/* 999.96 µs is written 1.00 ms: compare after rounding. */
		if (a >= scale * (1 - 0.5 * 10 ** -digits)) return `${significant(ps / scale, digits)}${NARROW}${unit}`;
	}
	return `${significant(ps, digits)}${NARROW}ps`;
}

/*
 * A point in time of a trace, to be told from its neighbours `step_ps` away. The unit is that of `among_ps`: all points of a ruler
 * share it.
 */
export function clock_ps(ps: number, step_ps: number, among_ps = ps): string {
	const [scale, unit] = TIMES.find(([s]) => s <= 1e12 && Math.abs(among_ps) >= s) ?? [1e12, "s"];
	const places = step_ps >= scale ? 0 : Math.min(12, Math.ceil(Math.log10(scale / step_ps) - 1e-9));
	const text = group((Math.abs(ps) / scale).toFixed(places));
	return `${ps < 0 ? "−" : ""}${text}${NARROW}${unit}`;
}

/* Exact, for details: all picoseconds of 1234567890 ps -> "1,234.567890 µs"; no zeros without a meaning. */
export function exact_ps(ps: number): string {
	const a = Math.abs(ps);
	const [scale, unit] = TIMES.find(([s]) => s <= 1e12 && a >= s) ?? [1, "ps"];
	const places = Math.round(Math.log10(scale));
	const text = (a / scale)
		.toFixed(places)
		.replace(/(\.\d*?)0+$/, "$1")
		.replace(/\.$/, "");
	return `${ps < 0 ? "−" : ""}${group(text)}${NARROW}${unit}`;
}

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(v: number, digits = 3): string {
	let i = 0;
	let a = Math.abs(v);
	while (a >= 1023.5 && i < BYTES.length - 1) {
		a /= 1024;
		i++;
	}
	const text = i === 0 ? group(String(Math.round(a))) : significant(a, digits);
	return `${v < 0 ? "−" : ""}${text}${NARROW}${BYTES[i] ?? ""}`;
}

const SI: readonly [number, string][] = [
	[1e15, "P"],
	[1e12, "T"],
	[1e9, "G"],
	[1e6, "M"],
	[1e3, "k"],
];

export function si(v: number, unit: string, digits = 3): string {
	const a = Math.abs(v);
	for (const [scale, prefix] of SI)
		if (a >= scale * 0.9995) return `${significant(v / scale, digits)}${NARROW}${prefix}${unit}`;
	return `${significant(v, digits)}${NARROW}${unit}`;
}

export function count(v: number): string {
	const a = Math.abs(v);
	const text = Number.isInteger(a) ? group(a.toFixed(0)) : significant(a);
	return v < 0 ? `−${text}` : text;
}

/* A counter's value: a counter that says it counts bytes is read in MiB and GiB, others as they are. */
export function counterText(v: number, name: string): string {
	return /byte|memory|hbm|heap/i.test(name) && Math.abs(v) >= 1024 ? bytes(v) : count(v);
}

/* One decimal as long as it tells something; a share that is not zero never reads 0 %. */
export function percent(v: number): string {
	if (!Number.isFinite(v)) return "–";
	if (v === 0) return `0${NARROW}%`;
	const a = Math.abs(v);
	const text = a < 0.05 ? "<0.1" : a > 99.95 && a < 100 ? ">99.9" : a.toFixed(1).replace(/^100\.0$/, "100");
	return `${v < 0 ? "−" : ""}${text}${NARROW}%`;
}

const PS_OF: Partial<Record<Unit, number>> = { ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12 };

/* 64 bits, unsigned. Above 2^53 the low bits did not survive the way here: they are written as unknown. */
export function hex(v: number): string {
	if (!Number.isInteger(v)) return significant(v);
	const text = BigInt.asUintN(64, BigInt(v)).toString(16);
	return Number.isSafeInteger(v) ? `0x${text}` : `0x${text.slice(0, -3)}…`;
}

/* The one entry for values from a result. */
export function quantity(v: number, unit: Unit): string {
	const ps = PS_OF[unit];
	if (ps !== undefined) return time_ps(v * ps);
	switch (unit) {
		case "bytes":
			return bytes(v);
		case "mib":
			return bytes(v * 1048576);
		case "gib":
			return bytes(v * 1073741824);
		case "hex":
			return hex(v);
		case "nj":
			return v === 0 ? "0" : v >= 1e6 ? si(v / 1e9, "J") : `${significant(v)}${NARROW}nJ`;
		case "frac":
			return percent(v * 100);
		case "percent":
			return percent(v);
		case "flops":
			return si(v, "FLOP");
		case "gflop_per_s":
			return v === 0 ? "0" : si(v * 1e9, "FLOP/s");
		case "tflop_per_s":
			return v === 0 ? "0" : si(v * 1e12, "FLOP/s");
		case "gib_per_s":
			return `${significant(v)}${NARROW}GiB/s`;
		case "gb_per_s":
			return v === 0 ? "0" : si(v * 1e9, "B/s");
		case "flop_per_byte":
			return `${significant(v)}${NARROW}FLOP/B`;
		case "count":
			return count(v);
		default:
			return Number.isInteger(v) ? count(v) : significant(v, 4);
	}
}

/* Cells of one column share a unit, so that a column can be read downwards: its name goes into the header. */
export interface ColumnFormat {
	unit: string;
	cell(v: number): string;
}

/*
 * The scale is chosen by the column's greatest value (small ones lose digits, not their order): times of 0.2 ms and
 * 12 ms both read in ms.
 */
export function columnFormat(unit: Unit, greatest: number): ColumnFormat {
	const ps = PS_OF[unit];
	if (ps !== undefined) {
		const max = Math.abs(greatest) * ps;
		/* Of nothing but zeros the clock's own unit says nothing. */
		if (max === 0 && ps < 1e6) return { unit: "µs", cell: (v) => fixed((v * ps) / 1e6, 0) };
		const [scale, name] = TIMES.find(([s]) => s <= 1e12 && max >= s) ?? [ps, unit === "us" ? "µs" : unit];
		return { unit: name, cell: (v) => fixed((v * ps) / scale, max / scale) };
	}
	switch (unit) {
		case "bytes": {
			const i = Math.max(0, Math.min(BYTES.length - 1, Math.floor(Math.log2(Math.max(1, Math.abs(greatest))) / 10)));
			return { unit: BYTES[i] ?? "B", cell: (v) => (i === 0 ? count(v) : fixed(v / 1024 ** i, greatest / 1024 ** i)) };
		}
		case "frac":
			return { unit: "%", cell: (v) => percentCell(v * 100) };
		case "percent":
			return { unit: "%", cell: percentCell };
		case "gflop_per_s":
			return { unit: "GFLOP/s", cell: (v) => fixed(v, greatest) };
		case "mib":
			return { unit: "MiB", cell: (v) => fixed(v, greatest) };
		case "gib":
			return { unit: "GiB", cell: (v) => fixed(v, greatest) };
		case "hex":
			return { unit: "", cell: hex };
		case "nj":
			return { unit: "nJ", cell: (v) => fixed(v, greatest) };
		case "tflop_per_s":
			return { unit: "TFLOP/s", cell: (v) => fixed(v, greatest) };
		case "gib_per_s":
			return { unit: "GiB/s", cell: (v) => fixed(v, greatest) };
		case "gb_per_s":
			return { unit: "GB/s", cell: (v) => fixed(v, greatest) };
		case "flop_per_byte":
			return { unit: "FLOP/B", cell: (v) => fixed(v, greatest) };
		case "flops":
			return { unit: "", cell: (v) => si(v, "FLOP") };
		default:
			return { unit: "", cell: (v) => (Number.isInteger(v) ? count(v) : significant(v, 4)) };
	}
}

function percentCell(v: number): string {
	if (!Number.isFinite(v)) return "–";
	if (v === 0) return "0";
	return Math.abs(v) < 0.005 ? "<0.01" : v.toFixed(2);
}

/*
 * Equal decimals down a column, as many as its greatest value needs for about four figures; values far below it get as many more as
 * two figures of theirs need, up to six.
 */
function fixed(v: number, greatest: number): string {
	if (!Number.isFinite(v)) return "–";
	if (v === 0) return "0";
	const a = Math.abs(v);
	const usual = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(Math.max(Math.abs(greatest), 1e-3)))));
	const own = a < 1 ? 1 - Math.floor(Math.log10(a)) : 0;
	const places = Math.max(usual, Math.min(6, own));
	const text = group(a.toFixed(places));
	if (/^[0.,]*$/.test(text)) return `<${(10 ** -places).toFixed(places)}`;
	return v < 0 ? `−${text}` : text;
}

/* 2024-11-02 03:51:07 in the reader's time zone; the same width for every row. */
export function date_s(s: number): string {
	const d = new Date(s * 1000);
	if (!(s > 0) || Number.isNaN(d.getTime())) return "–";
	const two = (n: number) => String(n).padStart(2, "0");
	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

export function ago(s: number, now_s: number): string {
	const d = now_s - s;
	if (!(s > 0) || d < -60) return "";
	if (d < 90) return "just now";
	if (d < 5400) return `${Math.round(d / 60)} min ago`;
	if (d < 129600) return `${Math.round(d / 3600)} h ago`;
	if (d < 86400 * 60) return `${Math.round(d / 86400)} days ago`;
	if (d < 86400 * 700) return `${Math.round(d / 86400 / 30.4)} months ago`;
	return `${Math.round(d / 86400 / 365.25)} years ago`;
}

/* Labels of an axis, told apart: with more figures where they would repeat. */
export function apart(at: readonly number[], text: (v: number, digits?: number) => string): string[] {
	for (let digits = 3; digits < 12; digits++) {
		const out = at.map((v) => text(v, digits));
		if (new Set(out).size === out.length) return out;
	}
	return at.map((v) => text(v));
}

const numeric = new Intl.Collator("en", { numeric: true });

/* "host2" before "host10". */
export function naturally(a: string, b: string): number {
	return numeric.compare(a, b);
}
