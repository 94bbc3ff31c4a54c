/*
 * state.ts - what the trace viewer's parts share. The view moves with every frame: the canvas reads it from here, and components
 * that need not draw with it pick only what they show.
 */
import { createStore, type Store } from "../base/store";
import type { Box, Hit } from "./hit_test";
import { itemId, movedBefore, NO_ORDER, PINNED_PID, siblings, type Item, type Layout, type Order } from "./layout";
import type { Bands, GapAnswer } from "../api/types";
import { formatView, type View } from "./viewport";

export type ToolMode = 1 | 2 | 3 | 4;

export const TOOLS: readonly { mode: ToolMode; name: string; hint: string }[] = [
	{ mode: 1, name: "Select", hint: "Click an event; drag a frame over many" },
	{ mode: 2, name: "Pan", hint: "Drag the timeline" },
	{ mode: 3, name: "Zoom", hint: "Drag over a range to zoom to it; the wheel zooms, too" },
	{ mode: 4, name: "Measure", hint: "Drag from one edge to another" },
];

/* As many searches keep a colour of their own. */
export const MOST_PAINTS = 6;

export interface Mark extends View {
	note?: string;
}

export interface Selected {
	track: number;
	row: number;
	event: number;
	name: string;
	begin_ps: number;
	dur_ps: number;
}

export interface TraceState {
	view: View;
	target: View; /* where a moving view is heading */
	mode: ToolMode;
	hover: (Hit & { x: number; y: number }) | undefined;
	selected: Selected | undefined;
	box: Box | undefined;
	boxRows: string;
	measure: View | undefined;
	gap: GapAnswer | undefined;
	gapLeast_ps: number; /* shorter ones are passed over, as long as one is shown */
	gapTrack: number | undefined; /* whose gaps are looked at */
	list: boolean; /* the names that match the search, in the pane */
	step: number | undefined; /* that alone is shown */
	marks: readonly Mark[];
	paints: readonly string[]; /* searches whose events have a colour of their own */
	query: string;
	only: ReadonlySet<string>; /* if there are any: events of other names step back */
	marked: ReadonlySet<string>; /* events of these names stand out */
	flows: FlowMode;
	closed: ReadonlySet<number>;
	collapsed: ReadonlySet<number>;
	pinned: readonly number[];
	filter: string;
	order: Order;
	busy: boolean;
	version: number; /* grows with each answer that changes the picture */
	error: string;
	wanted: { track: number; row: number } | undefined; /* scroll this into sight */
	bands: Bands | undefined; /* over the whole trace, once a closed section was seen */
}

const NO_NAMES: ReadonlySet<string> = new Set();

/* Which arrows are drawn: of the selected event, of all events in sight, along the critical path of the steps, none. */
const FLOW_MODES = ["selected", "all", "path", "none"] as const;
export type FlowMode = (typeof FLOW_MODES)[number];

export function parseFlowMode(text: string): FlowMode {
	return FLOW_MODES.find((m) => m === text) ?? "selected";
}

export type TraceStore = Store<TraceState>;

export function createTraceStore(view: View, closed: ReadonlySet<number>): TraceStore {
	return createStore<TraceState>({
		view,
		target: view,
		mode: 1,
		hover: undefined,
		selected: undefined,
		box: undefined,
		boxRows: "",
		measure: undefined,
		gap: undefined,
		gapLeast_ps: 0,
		gapTrack: undefined,
		list: false,
		step: undefined,
		marks: [],
		paints: [],
		query: "",
		only: NO_NAMES,
		marked: NO_NAMES,
		flows: "selected",
		closed,
		collapsed: new Set(),
		pinned: [],
		filter: "",
		order: NO_ORDER,
		busy: true,
		version: 0,
		error: "",
		wanted: undefined,
		bands: undefined,
	});
}

/* "/…/" in the search box is a regular expression: what stands between. */
export function expression(query: string): string | undefined {
	return query.length > 2 && query.startsWith("/") && query.endsWith("/") ? query.slice(1, -1) : undefined;
}

/* Which names a search means. */
export function matcher(query: string): (name: string) => boolean {
	const text = expression(query);
	const low = query.toLowerCase();
	if (text === undefined) return (name) => name.toLowerCase().includes(low);
	try {
		const re = new RegExp(text.replace(/^\(\?i\)/, ""), text.startsWith("(?i)") ? "i" : "");
		return (name) => re.test(name);
	} catch {
		return () => true;
	}
}

export function toggled<T>(set: ReadonlySet<T>, value: T): Set<T> {
	const out = new Set(set);
	if (!out.delete(value)) out.add(value);
	return out;
}

export function toggleSection(s: TraceStore, pid: number): void {
	if (pid === PINNED_PID) s.update({ pinned: [] });
	else s.update({ closed: toggled(s.get().closed, pid) });
}

export function togglePin(s: TraceStore, track: number): void {
	const { pinned } = s.get();
	s.update({ pinned: pinned.includes(track) ? pinned.filter((t) => t !== track) : [...pinned, track] });
}

/* Puts a track or a section before one of its siblings, or last. */
export function moveItem(s: TraceStore, l: Layout, item: Item, before: number | undefined): void {
	const { order, pinned } = s.get();
	const list = movedBefore(siblings(l, item).map(itemId), itemId(item), before);
	if (item.kind === "section") s.update({ order: { ...order, sections: list } });
	else if (item.pinned) s.update({ pinned: movedBefore(pinned, item.info.track, before) });
	else s.update({ order: { ...order, tracks: new Map(order.tracks).set(item.pid, list) } });
}

/* One place up (-1) or down (1); false at the end. */
export function stepItem(s: TraceStore, l: Layout, item: Item, by: 1 | -1): boolean {
	const ids = siblings(l, item).map(itemId);
	const at = ids.indexOf(itemId(item));
	if (at + by < 0 || at + by >= ids.length) return false;
	moveItem(s, l, item, by < 0 ? ids[at - 1] : ids[at + 2]);
	return true;
}

/* The order in the URL: "1001.1000_1001:4.3.5", sections first, then the tracks of each that has an order of its own. */
export function formatOrder(o: Order): string {
	const tracks = [...o.tracks].map(([pid, list]) => `${pid}:${list.join(".")}`);
	return o.sections.length || tracks.length ? [o.sections.join("."), ...tracks].join("_") : "";
}

const numbersOf = (text: string) => text.split(".").filter((x) => /^\d{1,9}$/.test(x)).map(Number);

export function parseOrder(text: string): Order {
	if (!text) return NO_ORDER;
	const [sections = "", ...rest] = text.split("_");
	const tracks = new Map<number, number[]>();
	for (const part of rest) {
		const m = /^(\d{1,9}):([\d.]+)$/.exec(part);
		if (m) tracks.set(Number(m[1]), numbersOf(m[2] ?? ""));
	}
	return { sections: numbersOf(sections), tracks };
}

export function parsePins(text: string): number[] {
	return [...new Set(numbersOf(text))];
}

const MOST_MARKS = 50;
const MOST_NOTE = 500; /* characters */

/* Marks in the URL: "10-20,35-35~a note". A mark without length is a moment. */
export function formatMarks(marks: readonly Mark[]): string {
	return marks.map((m) => formatView(m) + (m.note ? `~${encodeURIComponent(m.note)}` : "")).join(",");
}

function decoded(text: string): string {
	try {
		return decodeURIComponent(text).slice(0, MOST_NOTE);
	} catch {
		return "";
	}
}

export function parseMarks(text: string): Mark[] {
	return text
		.split(",")
		.flatMap((part) => {
			const m = /^(-?\d{1,16})-(-?\d{1,16})(?:~(.*))?$/.exec(part);
			const note = decoded(m?.[3] ?? "");
			return m ? [{ begin_ps: Number(m[1]), end_ps: Number(m[2]), ...(note && { note }) }] : [];
		})
		.filter((v) => v.end_ps >= v.begin_ps)
		.slice(0, MOST_MARKS);
}

/* Searches in the URL, in the order of their colours. */
export function formatPaints(paints: readonly string[]): string {
	return paints.map(encodeURIComponent).join(",");
}

export function parsePaints(text: string): string[] {
	return text.split(",").map(decoded).filter(Boolean).slice(0, MOST_PAINTS);
}

/* A search keeps a colour, or gives it back. */
export function togglePaint(s: TraceStore, text: string): void {
	const { paints } = s.get();
	if (paints.includes(text)) s.update({ paints: paints.filter((p) => p !== text) });
	else if (text && paints.length < MOST_PAINTS) s.update({ paints: [...paints, text] });
}

/* A mark gets a note; "" takes it away. */
export function noteMark(s: TraceStore, at: Mark, note: string): void {
	s.update({ marks: s.get().marks.map((m) => (m === at ? { begin_ps: m.begin_ps, end_ps: m.end_ps, ...(note && { note: note.slice(0, MOST_NOTE) }) } : m)) });
}

/* `m` marks what is selected; the same again takes the mark away. */
export function toggleMark(s: TraceStore, at: View): void {
	const { marks } = s.get();
	const rest = marks.filter((m) => m.begin_ps !== at.begin_ps || m.end_ps !== at.end_ps);
	s.update({ marks: rest.length < marks.length ? rest : [...marks, at] });
}

/* The stretch that `f` and `m` are about: the event, the frame, or the measured interval. */
export function chosenStretch(st: TraceState): View | undefined {
	if (st.measure) return st.measure;
	if (st.box) return { begin_ps: st.box.begin_ps, end_ps: st.box.end_ps };
	if (st.selected) return { begin_ps: st.selected.begin_ps, end_ps: st.selected.begin_ps + st.selected.dur_ps };
	return undefined;
}
