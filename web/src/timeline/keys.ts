/*
 * keys.ts - what the keyboard does to the timeline.
 */
import { useEffect, useRef } from "preact/hooks";
import { isTyping } from "../base/dom";
import type { Where } from "./gap";
import type { TimelineModel } from "./model";
import { choose } from "./place";
import { neighbour } from "./pointer";
import { chosenStretch, toggleMark, type ToolMode, type TraceStore } from "./state";
import { stepBy } from "./steps";
import { fit, panBy, span, zoomAt, type View } from "./viewport";

const MODES: Readonly<Record<string, ToolMode>> = { "1": 1, "2": 2, "3": 3, "4": 4 };
const ARROWS: Readonly<Record<string, "left" | "right" | "up" | "down">> = {
	ArrowLeft: "left",
	ArrowRight: "right",
	ArrowUp: "up",
	ArrowDown: "down",
};

/* What goes from match to match. */
interface Stepper {
	step(direction: 1 | -1): void;
}

export function useKeys(store: TraceStore, model: TimelineModel, search: Stepper, toggleHelp: () => void, gap: (where: Where) => void): void {
	const now = useRef({ search, toggleHelp, gap });
	now.current = { search, toggleHelp, gap };
	useEffect(() => {
		const key = (e: KeyboardEvent) => {
			if (e.ctrlKey || e.metaKey || e.altKey || isTyping(e)) return;
			if (handle(e.key, e.shiftKey, e.target instanceof HTMLButtonElement || e.target instanceof HTMLAnchorElement))
				e.preventDefault();
		};
		const handle = (k: string, shift: boolean, onControl: boolean): boolean => {
			const st = store.get();
			const lower = k.toLowerCase();
			if (moveKey(store, model, lower, shift)) return true;
			if (MODES[k]) {
				store.update({ mode: MODES[k] ?? 1 });
				return true;
			}
			const arrow = ARROWS[k];
			if (arrow && !onControl && st.selected) {
				const next = neighbour(model, st.selected, arrow);
				if (next) choose(store, model, next);
				return true;
			}
			switch (lower) {
				case "f":
					fitChosen(store, model);
					return true;
				case "0":
					store.update({ target: model.room });
					return true;
				case "g":
					now.current.gap(shift ? "previous" : "next");
					return true;
				case "[":
				case "]":
					stepBy(lower === "[" ? -1 : 1);
					return true;
				case "m":
					markHere(store);
					return true;
				case "n":
					now.current.search.step(shift ? -1 : 1);
					return true;
				case "?":
					now.current.toggleHelp();
					return true;
				case "/":
					focusSearch();
					return true;
				case "escape":
					store.update({ selected: undefined, box: undefined, boxRows: "", measure: undefined, gap: undefined, list: false });
					return true;
				default:
					return false;
			}
		};
		addEventListener("keydown", key);
		return () => removeEventListener("keydown", key);
	}, [store, model]);
}

function pointerPs(): number | undefined {
	const v = document.querySelector<HTMLElement>(".tl-over")?.dataset["pointer"];
	return v === undefined ? undefined : Number(v);
}

/* Keys act on where the view is going, so that a key held down adds up. */
function moveKey(store: TraceStore, model: TimelineModel, k: string, shift: boolean): boolean {
	const { target } = store.get();
	const step = shift ? 0.5 : 0.18;
	const at = pointerPs() ?? (target.begin_ps + target.end_ps) / 2;
	const to: Record<string, () => View> = {
		w: () => zoomAt(target, shift ? 2.5 : 1.5, Math.min(Math.max(at, target.begin_ps), target.end_ps), model.room),
		s: () => zoomAt(target, shift ? 0.4 : 1 / 1.5, Math.min(Math.max(at, target.begin_ps), target.end_ps), model.room),
		a: () => panBy(target, -span(target) * step, model.room),
		d: () => panBy(target, span(target) * step, model.room),
	};
	const make = to[k];
	if (!make) return false;
	store.update({ target: make() });
	return true;
}

export function fitChosen(store: TraceStore, model: TimelineModel): void {
	const v = chosenStretch(store.get());
	store.update({ target: v ? fit(v.begin_ps, v.end_ps, model.room) : model.room });
}

export function markHere(store: TraceStore): void {
	const v = chosenStretch(store.get());
	const at = pointerPs();
	if (v) toggleMark(store, { begin_ps: Math.round(v.begin_ps), end_ps: Math.round(v.end_ps) });
	else if (at !== undefined) toggleMark(store, { begin_ps: at, end_ps: at });
}

function focusSearch(): void {
	const el = document.querySelector<HTMLInputElement>("#trace-search");
	el?.focus();
	el?.select();
}
