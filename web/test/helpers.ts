/* What several tests need. */
export { contrast, distinctColors, family, hash, nameColor, oklchToRgb } from "../src/base/color";
import { pixel } from "../src/base/color";
import { decodeSlices, type SlicesAnswer } from "../src/api/slices";
// @ts-expect-error made-up answers are plain JavaScript
import { encode } from "./fixtures.mjs";

export function parseable(hex: string): number {
	const v = parseInt(hex.slice(1), 16);
	return pixel((v >> 16) & 255, (v >> 8) & 255, v & 255);
}

export interface Plain {
	track: number;
	row: number;
	begin: number; /* ticks */
	dur: number;
	name: string;
	event: number;
}

/* An answer of the slices route, from a list of slices sorted by track and begin. */
export function packed(list: readonly Plain[], over: Record<string, unknown> = {}): ArrayBuffer {
	const names = [...new Set(list.map((s) => s.name))];
	const cols = {
		dbegin: [] as number[],
		dur: [] as number[],
		name: [] as number[],
		event: [] as number[],
		row: [] as number[],
	};
	const tracks: { track: number; first: number; count: number; complete: boolean }[] = [];
	let at = 0;
	let event = 0;
	list.forEach((s, i) => {
		let t = tracks[tracks.length - 1];
		if (!t || t.track !== s.track) {
			t = { track: s.track, first: i, count: 0, complete: true };
			tracks.push(t);
			at = 0;
		}
		t.count++;
		cols.dbegin.push(s.begin - at);
		at = s.begin;
		cols.dur.push(s.dur);
		cols.name.push(names.indexOf(s.name));
		cols.event.push((s.event - event) >>> 0);
		event = s.event;
		cols.row.push(s.row);
	});
	return encode(
		{
			begin_ps: 0,
			end_ps: 1000,
			origin_ps: 0,
			tick_ps: 1,
			nslices: list.length,
			tracks,
			names,
			counters: [],
			flows: [],
			...over,
		},
		cols,
	) as ArrayBuffer;
}

export function decoded(list: readonly Plain[], over: Record<string, unknown> = {}, width = 1000): SlicesAnswer {
	return decodeSlices(packed(list, over), width);
}

export function random(seed: number): () => number {
	let s = seed >>> 0;
	return () => {
		s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
		return s / 4294967296;
	};
}
