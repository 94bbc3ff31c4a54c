/*
 * hit_test.ts - what lies under the pointer, and what a dragged frame covers.
 */
import { beginOf, durOf, sliceAt, type TrackSlices } from "../api/slices";
import { firstVisible, type Layout, type TrackItem } from "./layout";
import type { View } from "./viewport";

export interface Hit {
	track: number;
	row: number;
	event: number;
	name: string;
	begin_ps: number;
	dur_ps: number;
	tick_ps: number; /* to which times are rounded for the drawing */
	cut: boolean; /* begin or end lie outside of what was loaded: the true slice is longer */
	value?: number; /* of a counter: then there is no event to select */
}

export function trackAt(l: Layout, y: number): { item: TrackItem; row: number } | undefined {
	const item = l.items[firstVisible(l, y)];
	if (!item || item.kind !== "track" || y < item.y || y >= item.y + item.h) return undefined;
	return { item, row: Math.min(item.rows - 1, Math.floor((y - item.y) / item.rowH)) };
}

export function hitOf(t: TrackSlices, row: number, i: number): Hit {
	const begin_ps = beginOf(t, i);
	const dur_ps = durOf(t, i);
	const margin = t.end_ps - t.begin_ps;
	return {
		track: t.track,
		row,
		event: t.event[i] ?? 0,
		name: t.names[t.name[i] ?? 0] ?? "",
		begin_ps,
		dur_ps,
		tick_ps: t.tick_ps,
		cut: begin_ps <= t.begin_ps - margin + t.tick_ps || begin_ps + dur_ps >= t.end_ps + margin - t.tick_ps,
	};
}

/* The slice at a time, with `slack_ps` of kindness towards slices narrower than the pointer. */
export function sliceUnder(t: TrackSlices, row: number, ps: number, slack_ps: number): Hit | undefined {
	const first = t.rowFirst[row] ?? 0;
	const end = t.rowFirst[row + 1] ?? 0;
	const at = sliceAt(t, row, ps);
	if (at < 0) return undefined;
	let best = -1;
	let nearest = slack_ps;
	for (let i = Math.max(first, at - 1); i < Math.min(end, at + 2); i++) {
		const b = beginOf(t, i);
		const e = b + durOf(t, i);
		const d = ps < b ? b - ps : ps > e ? ps - e : 0;
		if (d === 0 && ps < e) return hitOf(t, row, i);
		if (d <= nearest) {
			nearest = d;
			best = i;
		}
	}
	return best < 0 ? undefined : hitOf(t, row, best);
}

/* The sample of a counter that holds at a time. */
export function counterAt(t: TrackSlices, name: string, ps: number): Hit | undefined {
	const c = t.counter;
	if (!c || !c.t_ps.length || ps < (c.t_ps[0] ?? 0)) return undefined;
	let lo = 0;
	let hi = c.t_ps.length;
	while (hi - lo > 1) {
		const mid = (lo + hi) >>> 1;
		if ((c.t_ps[mid] ?? 0) <= ps) lo = mid;
		else hi = mid;
	}
	const begin_ps = c.t_ps[lo] ?? 0;
	return {
		track: t.track,
		row: 0,
		event: -1,
		name,
		begin_ps,
		dur_ps: (c.t_ps[hi] ?? ps) - begin_ps,
		tick_ps: 1,
		cut: false,
		value: c.value[lo] ?? 0,
	};
}

/* Edges of slices attract a measured interval: the nearest edge of this row within `slack_ps`, or the time itself. */
export function snap(t: TrackSlices | undefined, row: number, ps: number, slack_ps: number): number {
	if (!t) return ps;
	const at = sliceAt(t, row, ps);
	if (at < 0) return ps;
	let best = ps;
	let nearest = slack_ps;
	const end = t.rowFirst[row + 1] ?? 0;
	for (let i = Math.max(t.rowFirst[row] ?? 0, at - 1); i < Math.min(end, at + 2); i++)
		for (const edge of [beginOf(t, i), beginOf(t, i) + durOf(t, i)])
			if (Math.abs(edge - ps) < nearest) {
				nearest = Math.abs(edge - ps);
				best = edge;
			}
	return best;
}

export interface Box extends View {
	y0: number;
	y1: number;
}

/* Rows of slice tracks inside a frame, in the form the summary route takes: "3:0-2,4:0-0". */
export function rowsInBox(l: Layout, box: Box): string {
	const parts: string[] = [];
	for (let i = firstVisible(l, box.y0); i < l.items.length; i++) {
		const it = l.items[i];
		if (!it || it.y > box.y1) break;
		if (it.kind !== "track" || it.info.kind === "counter") continue;
		const from = Math.max(0, Math.floor((box.y0 - it.y) / it.rowH));
		const to = Math.min(it.rows - 1, Math.floor((box.y1 - it.y) / it.rowH));
		if (from <= to) parts.push(`${it.info.track}:${from}-${to}`);
	}
	return parts.join(",");
}
