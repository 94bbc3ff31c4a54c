/*
 * place.ts - where the timeline is: going to an event, and the URL and the browser's history that hold it.
 */
import { useEffect } from "preact/hooks";
import { pending } from "../base/pending";
import { adjust, parseQuery } from "../base/url";
import type { TimelineModel } from "./model";
import { formatMarks, formatOrder, formatPaints, parseMarks, type Selected, type TraceStore } from "./state";
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

/* A jump is a step in the browser's history: Back returns to what was on the screen before. */
let writePlace: (() => void) | undefined;

export function keepPlace(): void {
	writePlace?.();
	history.pushState(null, "", location.href);
}

/* Back and Forward: the view and the marks of that place. */
export function useHistory(store: TraceStore, model: TimelineModel): void {
	useEffect(() => {
		const back = () => {
			const q = parseQuery(location.search);
			const asked = parseView(q["view"] ?? "");
			const s = store.get();
			store.update({
				target: asked ? clampView(asked, model.all) : model.all,
				marks: parseMarks(q["marks"] ?? ""),
				query: q["q"] ?? "",
				gap: undefined,
				selected: q["event"] === String(s.selected?.event) ? s.selected : undefined,
			});
		};
		addEventListener("popstate", back);
		return () => removeEventListener("popstate", back);
	}, [store, model]);
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
		writePlace = write;
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
			writePlace = undefined;
			stop();
		};
	}, [store, model]);
}
