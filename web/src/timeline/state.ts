/*
 * state.ts - what the trace viewer's parts share. The view moves with every frame: the canvas reads it from here, and components
 * that need not draw with it pick only what they show.
 */
import { createStore, type Store } from "../base/store";
import type { Box, Hit } from "./hit_test";
import { PINNED_PID } from "./layout";
import { formatView, type View } from "./viewport";

export type ToolMode = 1 | 2 | 3 | 4;

export const TOOLS: readonly { mode: ToolMode; name: string; hint: string }[] = [
	{ mode: 1, name: "Select", hint: "Click an event; drag a frame over many" },
	{ mode: 2, name: "Pan", hint: "Drag the timeline" },
	{ mode: 3, name: "Zoom", hint: "Drag a stretch to see it whole; the wheel zooms" },
	{ mode: 4, name: "Measure", hint: "Drag from one edge to another" },
];

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
	marks: readonly View[];
	query: string;
	flows: "selected" | "all" | "none";
	closed: ReadonlySet<number>;
	collapsed: ReadonlySet<number>;
	pinned: readonly number[];
	filter: string;
	busy: boolean;
	version: number; /* grows with each answer that changes the picture */
	error: string;
	wanted: { track: number; row: number } | undefined; /* scroll this into sight */
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
		marks: [],
		query: "",
		flows: "selected",
		closed,
		collapsed: new Set(),
		pinned: [],
		filter: "",
		busy: true,
		version: 0,
		error: "",
		wanted: undefined,
	});
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

/* Marks in the URL: "10-20,35-35". A mark without length is a moment. */
export function formatMarks(marks: readonly View[]): string {
	return marks.map(formatView).join(",");
}

export function parseMarks(text: string): View[] {
	return text
		.split(",")
		.flatMap((part) => {
			const m = /^(-?\d{1,16})-(-?\d{1,16})$/.exec(part);
			return m ? [{ begin_ps: Number(m[1]), end_ps: Number(m[2]) }] : [];
		})
		.filter((v) => v.end_ps >= v.begin_ps)
		.slice(0, 50);
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
