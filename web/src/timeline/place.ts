/*
 * place.ts - where the timeline is: going to an event, and the URL and the browser's history that hold it.
 */
import { useEffect, useRef } from "preact/hooks";
import { pending } from "../base/pending";
import { adjust, parseQuery, type Query } from "../base/url";
import { keepPlace, placeWriter } from "./history";
import type { TimelineModel } from "./model";
import {
	formatMarks,
	formatOrder,
	formatPaints,
	parseFlowMode,
	parseMarks,
	parseOrder,
	parsePaints,
	parsePins,
	type Selected,
	type TraceState,
	type TraceStore,
} from "./state";
import { isolate } from "./steps";
import { clampView, fit, formatView, parseView, reveal, sameView, span } from "./viewport";

/* Selects an event that may be anywhere: opens its section, scrolls to its row and moves the view there. */
export function choose(store: TraceStore, model: TimelineModel, to: Selected): void {
	keepPlace();
	/* What lies outside of the step that alone is shown ends that. */
	if (to.begin_ps < model.room.begin_ps || to.begin_ps > model.room.end_ps) isolate(store, model, undefined);
	const st = store.get();
	const section = model.timeline.sections.find((s) => s.tracks.some((t) => t.track === to.track));
	const closed = new Set(st.closed);
	if (section) closed.delete(section.pid);
	const far = to.dur_ps < span(st.target) / 400;
	const target = far
		? fit(to.begin_ps - to.dur_ps * 20, to.begin_ps + to.dur_ps * 21, model.room)
		: reveal(st.target, to.begin_ps, to.begin_ps + to.dur_ps, model.room);
	store.update({
		selected: to,
		gap: undefined,
		target,
		closed: section && st.closed.has(section.pid) ? closed : st.closed,
		box: undefined,
		boxRows: "",
		filter:
			section &&
			st.filter &&
			!`${section.name} ${section.tracks.find((t) => t.track === to.track)?.name ?? ""}`
				.toLowerCase()
				.includes(st.filter.toLowerCase())
				? ""
				: st.filter,
	});
	/* After the layout has opened the section. */
	requestAnimationFrame(() => store.update({ wanted: { track: to.track, row: to.row } }));
}

/*
 * Back and Forward: what the address of that place says. The event or the gap, and the step that alone is shown, need an answer of the
 * server (`follow`).
 */
export function useHistory(store: TraceStore, model: TimelineModel, follow: (q: Query) => void): void {
	const now = useRef(follow);
	now.current = follow;
	useEffect(() => {
		const back = () => {
			const q = parseQuery(location.search);
			const asked = parseView(q["view"] ?? "");
			const s = store.get();
			/* The list of steps isolates the one that the address names (steps.tsx). */
			const step = q["step"] && q["step"] === String(s.step) ? s.step : undefined;
			if (step === undefined) model.room = model.all;
			store.update({
				...placeOf(q),
				step,
				target: asked ? clampView(asked, model.all) : model.room,
				gap: undefined,
				box: undefined,
				boxRows: "",
				selected: q["event"] && q["event"] === String(s.selected?.event) ? s.selected : undefined,
			});
			now.current(q);
		};
		addEventListener("popstate", back);
		return () => removeEventListener("popstate", back);
	}, [store, model]);
}

/* What the address alone tells of a place. */
export function placeOf(q: Query): Partial<TraceState> {
	return {
		marks: parseMarks(q["marks"] ?? ""),
		paints: parsePaints(q["paint"] ?? ""),
		query: q["q"] ?? "",
		pinned: parsePins(q["pins"] ?? ""),
		order: parseOrder(q["order"] ?? ""),
		list: q["list"] === "1",
		filter: q["tracks"] ?? "",
		flows: parseFlowMode(q["arrows"] ?? ""),
	};
}

export function useUrl(store: TraceStore, model: TimelineModel): void {
	useEffect(() => {
		let timer: ReturnType<typeof setTimeout> | undefined;
		let was = store.get();
		const put = () => {
			const s = store.get();
			adjust({
				view: sameView(s.target, model.room) ? undefined : formatView(s.target),
				event: s.selected ? String(s.selected.event) : undefined,
				gap: s.gap?.gap && !s.selected ? `${s.gap.gap.begin_ps}${s.gapTrack === undefined ? "" : `.${s.gapTrack}`}` : undefined,
				step: s.step === undefined ? undefined : String(s.step),
				list: s.list && s.query ? "1" : undefined,
				find: undefined,
				q: s.query || undefined,
				marks: formatMarks(s.marks) || undefined,
				paint: formatPaints(s.paints) || undefined,
				pins: s.pinned.join(".") || undefined,
				order: formatOrder(s.order) || undefined,
				tracks: s.filter || undefined,
				arrows: s.flows === "selected" ? undefined : s.flows,
			});
		};
		const forget = () => {
			if (timer === undefined) return;
			clearTimeout(timer);
			timer = undefined;
			pending(-1);
		};
		const write = () => {
			forget();
			put();
		};
		placeWriter(write);
		const stop = store.subscribe(() => {
			const s = store.get();
			if (
				sameView(s.target, was.target) &&
				s.selected?.event === was.selected?.event &&
				s.gap === was.gap &&
				s.step === was.step &&
				s.list === was.list &&
				s.query === was.query &&
				s.marks === was.marks &&
				s.paints === was.paints &&
				s.pinned === was.pinned &&
				s.order === was.order &&
				s.filter === was.filter &&
				s.flows === was.flows
			)
				return;
			was = s;
			forget();
			pending(1);
			timer = setTimeout(write, 250);
		});
		return () => {
			forget();
			placeWriter(undefined);
			stop();
		};
	}, [store, model]);
}
