/*
 * color.ts - one colour per name, the same in every session, readable in dark and in light.
 *
 * The hue comes from the name without its instance number, so "fusion.12" and "fusion.13" look like relatives; the full name
 * moves the lightness a little, so neighbours still differ. Colours are made in OKLCH, where equal lightness looks equal:
 * one text colour is readable on all of them.
 */

export interface Theme {
	dark: boolean;
}

/* FNV-1a over UTF-16 code units: short, stable, good enough to spread names over hues. */
export function hash(text: string): number {
	let h = 0x811c9dc5;
	for (let i = 0; i < text.length; i++) {
		h ^= text.charCodeAt(i);
		h = Math.imul(h, 0x01000193);
	}
	/* FNV leaves the low bits of similar strings close; one round of mixing sets them apart. */
	h ^= h >>> 15;
	h = Math.imul(h, 0x2c1b3c6d);
	h ^= h >>> 12;
	return h >>> 0;
}

/* "loop_fusion.123" -> "loop_fusion"; "train 17" -> "train"; "%copy-done.4.1" -> "%copy-done". */
export function family(name: string): string {
	const cut = name.replace(/(?:[._ #:-]?\d+)+$/, "");
	return cut || name;
}

const HUES = 18;

/* Rows of [lightness, chroma] per theme; three lightnesses of one hue are still one family. */
const LIGHT = [
	[0.83, 0.085],
	[0.79, 0.095],
	[0.86, 0.075],
] as const;
const DARK = [
	[0.48, 0.085],
	[0.44, 0.085],
	[0.515, 0.08],
] as const;

export function oklchToRgb(l: number, c: number, hueDeg: number): [number, number, number] {
	const h = (hueDeg * Math.PI) / 180;
	const a = c * Math.cos(h);
	const b = c * Math.sin(h);
	const l3 = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m3 = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s3 = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
	const lin = [
		4.0767416621 * l3 - 3.3077115913 * m3 + 0.2309699292 * s3,
		-1.2684380046 * l3 + 2.6097574011 * m3 - 0.3413193965 * s3,
		-0.0041960863 * l3 - 0.7034186147 * m3 + 1.707614701 * s3,
	];
	const gamma = (x: number) => {
		const v = Math.min(1, Math.max(0, x));
		return Math.round(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055));
	};
	return [gamma(lin[0] ?? 0), gamma(lin[1] ?? 0), gamma(lin[2] ?? 0)];
}

/* A pixel of an ImageData seen as Uint32 on a little-endian machine: 0xAABBGGRR. */
export function pixel(r: number, g: number, b: number): number {
	return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

export function css(p: number): string {
	return `rgb(${p & 255} ${(p >>> 8) & 255} ${(p >>> 16) & 255})`;
}

function palette(rows: readonly (readonly [number, number])[]): Uint32Array {
	const out = new Uint32Array(HUES * rows.length);
	rows.forEach(([l, c], v) => {
		for (let i = 0; i < HUES; i++) out[v * HUES + i] = pixel(...oklchToRgb(l, c, 20 + (i * 360) / HUES));
	});
	return out;
}

const PALETTES = { light: palette(LIGHT), dark: palette(DARK) };

/* Hues that mean something, by number: what is none of these gets one of the others. */
const MEANINGS: readonly [RegExp, number][] = [
	[/^%?(all-|reduce-scatter|collective|ncclkernel|nccldev|nccl:|send|recv)|allreduce|allgather|reducescatter/i, 14],
	[/^%?(copy|memcpy|memset)/i, 2],
	[/^%?(infeed|iterator|inputpipeline|dataloader)/i, 0],
];
const MEANT = new Set(MEANINGS.map(([, hue]) => hue));
const FREE = Array.from({ length: HUES }, (_, i) => i).filter((i) => !MEANT.has(i));

/* Computing as a whole, green as in the charts of steps; each operation has a colour of its own. */
const COMPUTE = 7;

/* Idle time and what is not known have no hue. */
const IDLE = 1000;
const UNKNOWN = 1001;
const GREYS: Readonly<Record<number, { light: number; dark: number }>> = {
	[IDLE]: { light: pixel(...oklchToRgb(0.9, 0.008, 250)), dark: pixel(...oklchToRgb(0.36, 0.008, 250)) },
	[UNKNOWN]: { light: pixel(...oklchToRgb(0.8, 0.008, 250)), dark: pixel(...oklchToRgb(0.46, 0.008, 250)) },
};

/* Index into a palette: the same for both themes. */
export function nameIndex(name: string): number {
	if (/^idle$/i.test(name)) return IDLE;
	if (/^(unknown|\(none\)|)$/i.test(name)) return UNKNOWN;
	if (/^compute$/i.test(name)) return COMPUTE;
	const hue = MEANINGS.find(([re]) => re.test(name))?.[1] ?? FREE[hash(family(name)) % FREE.length] ?? 0;
	return hue + HUES * (hash(name) % 3);
}

function colorAt(index: number, dark: boolean): number {
	const grey = GREYS[index];
	if (grey) return dark ? grey.dark : grey.light;
	return (dark ? PALETTES.dark : PALETTES.light)[index] ?? 0xff808080;
}

export function nameColor(name: string, dark: boolean): number {
	return colorAt(nameIndex(name), dark);
}

/* Colours that a reader gives, stronger than those of names and as far from each other as they get. */
export function paintColor(at: number, dark: boolean): number {
	return pixel(...oklchToRgb(dark ? 0.62 : 0.7, 0.17, (25 + at * 137.5) % 360));
}

/* Colours of names that stand side by side: no two have the same, as long as there are enough. */
export function distinctColors(names: readonly string[], dark: boolean): number[] {
	const taken = new Set<number>();
	return names.map((name) => {
		let at = nameIndex(name);
		for (let k = 1; at < IDLE && taken.has(at) && k < FREE.length; k++)
			at = (FREE[(hash(family(name)) + 7 * k) % FREE.length] ?? 0) + HUES * (hash(name) % 3);
		taken.add(at);
		return colorAt(at, dark);
	});
}

/* Mixes pixel `a` with `b`, `t` of b. */
export function mix(a: number, b: number, t: number): number {
	const ch = (shift: number) => Math.round(((a >>> shift) & 255) * (1 - t) + ((b >>> shift) & 255) * t);
	return pixel(ch(0), ch(8), ch(16));
}

/* WCAG relative luminance and contrast, for the tests of the palettes. */
export function luminance(p: number): number {
	const lin = (v: number) => {
		const s = v / 255;
		return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
	};
	return 0.2126 * lin(p & 255) + 0.7152 * lin((p >>> 8) & 255) + 0.0722 * lin((p >>> 16) & 255);
}

export function contrast(a: number, b: number): number {
	const x = luminance(a) + 0.05;
	const y = luminance(b) + 0.05;
	return x > y ? x / y : y / x;
}

/* A share of what is possible, 0 red to 1 green, as a ground under text. Low shares are told apart best: most operations have them. */
export function heat(frac: number, dark: boolean): string {
	const f = 1 - Math.sqrt(1 - Math.min(1, Math.max(0, frac)));
	return css(pixel(...oklchToRgb(dark ? 0.4 : 0.88, dark ? 0.09 : 0.085, 25 + 125 * f)));
}

/* A share of time, 0 yellow to 1 blue: darker is more in light colours, and the other way round in dark ones. */
export function ramp(frac: number, dark: boolean): string {
	const f = Math.min(1, Math.max(0, frac));
	return dark
		? css(pixel(...oklchToRgb(0.3 + 0.5 * f, 0.1, 265 - 165 * f)))
		: css(pixel(...oklchToRgb(0.95 - 0.5 * f, 0.09 + 0.05 * f, 100 + 165 * f)));
}
