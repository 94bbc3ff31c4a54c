/*
 * pointer.ts - mouse, wheel and trackpad over the timeline.
 *
 *	wheel           scrolls the tracks; zooms where nothing can be scrolled, over the ruler and with the zoom tool
 *	ctrl + wheel    zooms at the pointer (a pinch on a trackpad arrives as this)
 *	shift + wheel, sideways wheel    pans
 *	drag            by tool; with shift or the middle button always pans
 */
import { counterAt, hitOf, rowsInBox, sliceUnder, snap, trackAt, type Hit } from "./hit_test";
import type { Layout } from "./layout";
import { MAP_PX } from "./painter";
import type { TimelineModel } from "./model";
import type { TraceStore } from "./state";
import { clampView, fit, panBy, span, zoomAt, type View } from "./viewport";

export interface Host {
	store: TraceStore;
	model: TimelineModel;
	layout(): Layout;
	body: HTMLElement; /* the scrolling box */
	area: HTMLElement; /* the canvas over the tracks */
	head: HTMLElement;
	select(hit: Hit | undefined): void;
	blank(track: number, ps: number): void; /* a click beside the events of a track */
}

const CLICK_PX = 4;

export function bindPointer(h: Host): () => void {
	const { store, model, area, head, body } = h;
	const stop = new AbortController();
	const on = { signal: stop.signal };

	const local = (e: MouseEvent, el: HTMLElement) => {
		const r = el.getBoundingClientRect();
		return { x: e.clientX - r.left, y: e.clientY - r.top, width: r.width };
	};
	const timeAt = (x: number, width: number, v = store.get().view) => v.begin_ps + (x / Math.max(1, width)) * span(v);
	/* The view follows the hand at once; only keys and buttons glide. */
	const jump = (v: View) => store.update({ view: v, target: v });

	const under = (e: MouseEvent): Hit | undefined => {
		const p = local(e, area);
		const at = trackAt(h.layout(), p.y + body.scrollTop);
		if (!at) return undefined;
		const ps = timeAt(p.x, p.width);
		const t = model.best(at.item.info.track, ps);
		if (t && at.item.info.kind === "counter") return counterAt(t, at.item.info.name, ps);
		return t ? sliceUnder(t, at.row, ps, (span(store.get().view) / p.width) * 3) : undefined;
	};

	const wheel = (e: WheelEvent) => {
		const inHead = e.currentTarget === head;
		const p = local(e, area);
		const unit = e.deltaMode === 1 ? 20 : e.deltaMode === 2 ? 400 : 1;
		const dx = e.deltaX * unit;
		const dy = e.deltaY * unit;
		const st = store.get();
		const scrolls = body.scrollHeight > body.clientHeight + 1;
		const pinch = e.ctrlKey || e.metaKey;
		if (pinch || (!e.shiftKey && Math.abs(dy) >= Math.abs(dx) && (inHead || st.mode === 3 || !scrolls))) {
			e.preventDefault();
			/* A notch of a wheel is about 100; a pinch sends many small ones. */
			const factor = Math.exp(-Math.max(-240, Math.min(240, dy)) * (pinch && Math.abs(dy) < 40 ? 0.012 : 0.0028));
			jump(zoomAt(st.view, factor, timeAt(p.x, p.width), model.room));
		} else if (e.shiftKey || Math.abs(dx) > Math.abs(dy)) {
			e.preventDefault();
			const d = e.shiftKey && dx === 0 ? dy : dx;
			jump(panBy(st.view, (d / p.width) * span(st.view), model.room));
		}
	};
	area.addEventListener("wheel", wheel, { ...on, passive: false });
	head.addEventListener("wheel", wheel, { ...on, passive: false });

	area.addEventListener(
		"pointermove",
		(e) => {
			if (e.buttons) return;
			const hit = under(e);
			const p = local(e, area);
			const old = store.get().hover;
			if (hit) store.update({ hover: { ...hit, x: p.x, y: p.y } });
			else if (old) store.update({ hover: undefined });
			area.dataset["pointer"] = String(Math.round(timeAt(p.x, p.width)));
		},
		on,
	);
	area.addEventListener(
		"pointerleave",
		() => {
			delete area.dataset["pointer"];
			if (store.get().hover) store.update({ hover: undefined });
		},
		on,
	);

	area.addEventListener(
		"pointerdown",
		(e) => {
			const pans = e.button === 1 || (e.button === 0 && (e.shiftKey || store.get().mode === 2));
			if (!pans && e.button !== 0) return;
			e.preventDefault();
			area.focus({ preventScroll: true });
			area.setPointerCapture(e.pointerId);
			store.update({ hover: undefined });
			const drag = pans ? panDrag(e) : store.get().mode === 4 ? measureDrag(e) : frameDrag(e);
			const move = (m: PointerEvent) => drag.move(m);
			const end = (m: PointerEvent) => {
				area.removeEventListener("pointermove", move);
				area.removeEventListener("pointerup", end);
				area.removeEventListener("pointercancel", end);
				drag.end(m);
			};
			area.addEventListener("pointermove", move);
			area.addEventListener("pointerup", end);
			area.addEventListener("pointercancel", end);
		},
		on,
	);

	const pick = (e: MouseEvent) => {
		const hit = under(e);
		h.select(hit?.value === undefined ? hit : undefined);
		const p = local(e, area);
		const at = hit ? undefined : trackAt(h.layout(), p.y + body.scrollTop);
		if (at && at.item.info.kind === "slices") h.blank(at.item.info.track, timeAt(p.x, p.width));
	};

	interface Drag {
		move(e: PointerEvent): void;
		end(e: PointerEvent): void;
	}

	function panDrag(start: PointerEvent): Drag {
		const from = store.get().view;
		const top = body.scrollTop;
		const width = local(start, area).width;
		let moved = false;
		return {
			move(e) {
				moved ||= Math.abs(e.clientX - start.clientX) > CLICK_PX || Math.abs(e.clientY - start.clientY) > CLICK_PX;
				jump(panBy(from, ((start.clientX - e.clientX) / width) * span(from), model.room));
				body.scrollTop = top + start.clientY - e.clientY;
			},
			end(e) {
				if (!moved && e.button === 0) pick(e);
			},
		};
	}

	/* Select: a click takes one event, a drag frames many. Zoom: a drag frames time. */
	function frameDrag(start: PointerEvent): Drag {
		const zooms = store.get().mode === 3;
		const a = local(start, area);
		const top = body.scrollTop;
		const startPs = timeAt(a.x, a.width);
		let moved = false;
		return {
			move(e) {
				const p = local(e, area);
				moved ||= Math.abs(p.x - a.x) > CLICK_PX || Math.abs(p.y - a.y) > CLICK_PX;
				if (!moved) return;
				const ps = timeAt(p.x, p.width);
				const y0 = a.y + top;
				const y1 = p.y + body.scrollTop;
				store.update({
					box: {
						begin_ps: Math.min(startPs, ps),
						end_ps: Math.max(startPs, ps),
						y0: zooms ? 0 : Math.min(y0, y1),
						y1: zooms ? h.layout().height + body.clientHeight : Math.max(y0, y1),
					},
					boxRows: "",
					measure: undefined,
				});
			},
			end(e) {
				const { box, view } = store.get();
				if (zooms) {
					const to = moved && box ? clampView(box, model.room) : zoomAt(view, e.altKey ? 0.5 : 2, startPs, model.room);
					store.update({ box: undefined, target: to });
				} else if (moved && box) store.update({ boxRows: rowsInBox(h.layout(), box), selected: undefined });
				else pick(e);
			},
		};
	}

	function measureDrag(start: PointerEvent): Drag {
		const snapped = (e: MouseEvent) => {
			const p = local(e, area);
			const ps = timeAt(p.x, p.width);
			const at = trackAt(h.layout(), p.y + body.scrollTop);
			const t = at ? model.best(at.item.info.track, ps) : undefined;
			return snap(t, at?.row ?? 0, ps, (span(store.get().view) / p.width) * 8);
		};
		const from = snapped(start);
		store.update({ measure: undefined, box: undefined, boxRows: "" });
		return {
			move(e) {
				const to = snapped(e);
				if (to !== from) store.update({ measure: { begin_ps: Math.min(from, to), end_ps: Math.max(from, to) } });
			},
			end() {
				/* the interval stays until the next one or Escape */
			},
		};
	}

	/* The map of the whole trace: press to go there, drag to move along; the ruler below it pans. */
	head.addEventListener(
		"pointerdown",
		(e) => {
			if (e.button !== 0) return;
			const p = local(e, head);
			head.setPointerCapture(e.pointerId);
			const onMap = p.y < MAP_PX;
			const from = store.get().view;
			const center = (x: number) => {
				const at = model.all.begin_ps + (x / p.width) * span(model.all);
				const v = store.get().view;
				jump(panBy(v, at - (v.begin_ps + v.end_ps) / 2, model.room));
			};
			if (onMap) center(p.x);
			const move = (m: PointerEvent) => {
				const x = local(m, head).x;
				if (onMap) center(x);
				else jump(panBy(from, ((p.x - x) / p.width) * span(from), model.room));
			};
			const end = () => {
				head.removeEventListener("pointermove", move);
				head.removeEventListener("pointerup", end);
				head.removeEventListener("pointercancel", end);
			};
			head.addEventListener("pointermove", move);
			head.addEventListener("pointerup", end);
			head.addEventListener("pointercancel", end);
		},
		on,
	);

	area.addEventListener(
		"dblclick",
		(e) => {
			const hit = under(e);
			if (hit && hit.value === undefined)
				store.update({ target: fit(hit.begin_ps, hit.begin_ps + hit.dur_ps, model.room) });
		},
		on,
	);

	return () => stop.abort();
}

/* The slice next to the selected one in its row, or the one above or below it: what the arrow keys reach. */
export function neighbour(
	model: TimelineModel,
	at: { track: number; row: number; begin_ps: number; dur_ps: number; event: number },
	step: "left" | "right" | "up" | "down",
): Hit | undefined {
	const t = model.best(at.track, at.begin_ps);
	if (!t) return undefined;
	if (step === "up" || step === "down")
		return sliceUnder(t, at.row + (step === "up" ? -1 : 1), at.begin_ps + at.dur_ps / 2, at.dur_ps / 2);
	const first = t.rowFirst[at.row] ?? 0;
	const end = t.rowFirst[at.row + 1] ?? 0;
	for (let i = first; i < end; i++) {
		if (t.event[i] !== at.event) continue;
		const k = step === "left" ? i - 1 : i + 1;
		return k >= first && k < end ? hitOf(t, at.row, k) : undefined;
	}
	return undefined;
}
