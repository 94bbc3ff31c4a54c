/*
 * layout.ts - where sections, tracks and rows lie down the page. Lengths are CSS pixels from the top of the content.
 *
 * A section is a band with its name and, when open, its tracks. A track is as high as its rows; a collapsed track
 * squeezes all of them into one row's height, so one still sees when it was busy. Pinned tracks stand first, tracks without an
 * event nowhere. Sections, and tracks within theirs, stand in the server's order until the reader moves them, but hosts in natural order.
 */
import { naturally } from "../base/format";
import type { Section, TrackInfo } from "../api/types";

export const ROW_PX = 18;
export const COUNTER_PX = 40;
export const SECTION_PX = 24;
const TRACK_GAP_PX = 4;

export interface SectionItem {
	kind: "section";
	y: number;
	h: number;
	pid: number;
	name: string;
	open: boolean;
	tracks: number;
}

export interface TrackItem {
	kind: "track";
	y: number;
	h: number;
	rowH: number;
	rows: number;
	info: TrackInfo;
	pid: number;
	collapsed: boolean;
	pinned: boolean;
}

export type Item = SectionItem | TrackItem;

export interface Layout {
	items: Item[];
	height: number;
	byTrack: Map<number, TrackItem>;
	closedIn: Map<number, SectionItem>; /* by track: the band of the closed section that it is in */
}

export interface LayoutState {
	closed: ReadonlySet<number>; /* pids */
	collapsed: ReadonlySet<number>; /* tracks */
	pinned: readonly number[]; /* tracks, in the order they were pinned */
	filter: string;
	order: Order;
}

/* What the reader moved, in the order wanted; what is not named follows in the server's order. */
export interface Order {
	sections: readonly number[]; /* pids */
	tracks: ReadonlyMap<number, readonly number[]>; /* by pid */
}

export const NO_ORDER: Order = { sections: [], tracks: new Map() };

export const PINNED_PID = -1;

function trackItem(info: TrackInfo, pid: number, y: number, st: LayoutState, pinned: boolean): TrackItem {
	const counter = info.kind === "counter";
	const rows = counter ? 1 : Math.max(1, info.rows);
	const collapsed = st.collapsed.has(info.track) && (rows > 1 || counter);
	const full = counter ? COUNTER_PX : rows * ROW_PX;
	const h = collapsed ? ROW_PX : full;
	return { kind: "track", y, h, rowH: h / rows, rows, info, pid, collapsed, pinned };
}

function ordered<T>(list: readonly T[], id: (x: T) => number, first: readonly number[] | undefined): readonly T[] {
	if (!first?.length) return list;
	const rank = new Map(first.map((n, i) => [n, i]));
	const of = (x: T) => rank.get(id(x)) ?? first.length;
	return list
		.map((x, i) => ({ x, i }))
		.sort((a, b) => of(a.x) - of(b.x) || a.i - b.i)
		.map(({ x }) => x);
}

const inOrder = new WeakMap<readonly Section[], readonly Section[]>();

/* Hosts in natural order, and what is of a host in the server's: a host's sections have one thousand in their numbers. Sorted once. */
export function byHost(all: readonly Section[]): readonly Section[] {
	const sections = inOrder.get(all) ?? sortedByHost(all);
	inOrder.set(all, sections);
	return sections;
}

function sortedByHost(all: readonly Section[]): readonly Section[] {
	const first = new Map<number, string>();
	const host = (s: Section) => Math.floor(s.pid / 1000);
	for (const s of all) if (!first.has(host(s))) first.set(host(s), s.name);
	const of = (s: Section) => first.get(host(s)) ?? "";
	return first.size < 2 ? all : [...all].sort((a, b) => naturally(of(a), of(b)));
}

export function layOut(all: readonly Section[], st: LayoutState): Layout {
	const sections = ordered(byHost(all), (x) => x.pid, st.order.sections);
	const items: Item[] = [];
	const byTrack = new Map<number, TrackItem>();
	const closedIn = new Map<number, SectionItem>();
	let y = 0;
	const addTrack = (info: TrackInfo, pid: number, pinned: boolean) => {
		const item = trackItem(info, pid, y, st, pinned);
		items.push(item);
		byTrack.set(info.track, item);
		y += item.h + TRACK_GAP_PX;
	};
	const addSection = (pid: number, name: string, open: boolean, tracks: number) => {
		const item: SectionItem = { kind: "section", y, h: SECTION_PX, pid, name, open, tracks };
		items.push(item);
		y += SECTION_PX + TRACK_GAP_PX;
		return item;
	};
	const words = st.filter.toLowerCase().split(/\s+/).filter(Boolean);
	const shown = (text: string) => words.every((w) => text.toLowerCase().includes(w));
	const pins = new Set(st.pinned);

	if (pins.size) {
		addSection(PINNED_PID, "Pinned", true, pins.size);
		for (const track of st.pinned)
			for (const s of sections) for (const t of s.tracks) if (t.track === track) addTrack(t, s.pid, true);
	}
	for (const s of sections) {
		const tracks = ordered(s.tracks, (t) => t.track, st.order.tracks.get(s.pid)).filter(
			(t) => t.events > 0 && !pins.has(t.track) && (!words.length || shown(`${s.name} ${t.name}`)),
		);
		if (words.length && !tracks.length) continue;
		/* A filter opens what it finds. */
		const open = words.length > 0 || !st.closed.has(s.pid);
		const band = addSection(s.pid, s.name, open, tracks.length);
		for (const t of tracks)
			if (open) addTrack(t, s.pid, false);
			else closedIn.set(t.track, band);
	}
	return { items, height: y, byTrack, closedIn };
}

/* Where an event of a track stands: in its row, or in the band of its section while that is closed. None: the filter leaves its track out. */
export function placeOf(l: Layout, at: { track: number; row: number }): { y: number; h: number } | undefined {
	const it = l.byTrack.get(at.track);
	return it ? { y: it.y + at.row * it.rowH, h: it.rowH } : l.closedIn.get(at.track);
}

/* First item whose bottom is below `y`: the start of what is visible when scrolled to y. */
export function firstVisible(l: Layout, y: number): number {
	let lo = 0;
	let hi = l.items.length;
	while (lo < hi) {
		const mid = (lo + hi) >>> 1;
		const it = l.items[mid];
		if (it && it.y + it.h < y) lo = mid + 1;
		else hi = mid;
	}
	return lo;
}

export function visibleItems(l: Layout, top: number, height: number): Item[] {
	const out: Item[] = [];
	for (let i = firstVisible(l, top); i < l.items.length; i++) {
		const it = l.items[i];
		if (!it || it.y > top + height) break;
		out.push(it);
	}
	return out;
}

/* More devices than these fill screens with the same: all but the first are a band each. */
const DEVICES_OPEN = 8;

/* A host with hundreds of threads would bury what stands below it: such sections begin closed, as do all after many. */
export function closedAtFirst(sections: readonly Section[]): Set<number> {
	const out = new Set<number>();
	let sum = 0;
	const devices = byHost(sections).filter((s) => s.kind === "device");
	const alike = devices.length > DEVICES_OPEN ? new Set(devices.slice(1)) : new Set<Section>();
	sections.forEach((s, i) => {
		sum += s.tracks.length;
		if (alike.has(s) || (i > 0 && (s.tracks.length > 100 || sum > 400))) out.add(s.pid);
	});
	return out;
}

/* ---- moving ---- */

/* `what` stands right before `before`, or last without one. */
export function movedBefore(list: readonly number[], what: number, before: number | undefined): number[] {
	if (before === what) return [...list];
	const out = list.filter((x) => x !== what);
	const at = before === undefined ? -1 : out.indexOf(before);
	out.splice(at < 0 ? out.length : at, 0, what);
	return out;
}

/* What can change places with an item: the tracks of its section or of the pinned ones, or the sections. */
export function siblings(l: Layout, item: Item): Item[] {
	return l.items.filter((x) =>
		item.kind === "section"
			? x.kind === "section" && x.pid !== PINNED_PID
			: x.kind === "track" && x.pinned === item.pinned && (item.pinned || x.pid === item.pid),
	);
}

export function itemId(item: Item): number {
	return item.kind === "section" ? item.pid : item.info.track;
}

export interface Gap {
	before: number | undefined; /* id of the sibling that it is above */
	y: number;
}

/* The gap between siblings that is nearest to `y`. */
export function gapAt(l: Layout, item: Item, y: number): Gap {
	const list = siblings(l, item);
	/* A section reaches down to the next one. */
	const bottom = (i: number) => {
		const next = list[i + 1];
		const it = list[i];
		if (item.kind === "section") return next ? next.y : l.height;
		return it ? it.y + it.h : l.height;
	};
	for (let i = 0; i < list.length; i++) {
		const it = list[i];
		if (it && y < (it.y + bottom(i)) / 2) return { before: itemId(it), y: it.y };
	}
	return { before: undefined, y: bottom(list.length - 1) };
}
