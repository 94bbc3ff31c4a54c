/*
 * model.ts - which slices are here, and which must be asked for.
 *
 * Each track keeps two answers: one over the whole trace (the picture that is never empty) and the latest one for the window
 * around the view. The drawing takes the finer one where it reaches and the whole one elsewhere, so a zoom or a pan shows
 * something at once and becomes sharp when the answer comes.
 */
import { shaped, type TrackSlices } from "../api/slices";
import type { Timeline } from "../api/types";
import { span, type View } from "./viewport";

export interface Want {
	tracks: number[];
	begin_ps: number;
	end_ps: number;
	width_px: number;
	urgent: boolean; /* what is on the screen is missing or coarse; otherwise it is for later */
	behind?: boolean; /* the whole of tracks, for the map and for zooming out */
}

interface Held {
	all: TrackSlices | undefined;
	near: TrackSlices | undefined;
}

/* Answers reach one view's length to both sides of the view. */
const SIDE = 1;
/* The next one is asked for when less than this share of a view is left on a side. */
const LEFT = 0.35;
/* An answer may be this much coarser than the screen while things still move. */
const COARSE = 2;

export class TimelineModel {
	private readonly held = new Map<number, Held>();
	readonly all: View;
	room: View; /* where one can move: all, or a step that is looked at alone */

	constructor(readonly timeline: Timeline) {
		this.all = { begin_ps: timeline.begin_ps, end_ps: Math.max(timeline.end_ps, timeline.begin_ps + 1) };
		this.room = this.all;
	}

	accept(tracks: readonly TrackSlices[], behind = false): void {
		for (const t of tracks.map(shaped)) {
			const h = this.held.get(t.track) ?? { all: undefined, near: undefined };
			const whole = t.begin_ps <= this.all.begin_ps && t.end_ps >= this.all.end_ps;
			/* A finer whole replaces a coarser one only if that does not make every frame walk over it. */
			if (whole && (!h.all || t.complete)) h.all = t;
			/* What was asked for behind the screen must not push out what is on it. */
			if (!behind || !h.near) h.near = t;
			this.held.set(t.track, h);
		}
	}

	/* What to draw of a track, coarse first. */
	layers(track: number, view: View): TrackSlices[] {
		const h = this.held.get(track);
		if (!h) return [];
		const { all, near } = h;
		if (!near || near === all) return all ? [all] : [];
		if (near.end_ps <= view.begin_ps || near.begin_ps >= view.end_ps) return all ? [all] : [near];
		return (near.begin_ps <= view.begin_ps && near.end_ps >= view.end_ps) || !all ? [near] : [all, near];
	}

	/* The best there is at a time. */
	best(track: number, ps: number): TrackSlices | undefined {
		const h = this.held.get(track);
		if (h?.near && ps >= h.near.begin_ps && ps <= h.near.end_ps) return h.near;
		return h?.all ?? h?.near;
	}

	whole(track: number): TrackSlices | undefined {
		return this.held.get(track)?.all;
	}

	wantWhole(tracks: readonly number[], width_px: number): Want {
		return { tracks: [...tracks], ...this.all, width_px: Math.max(1, width_px), urgent: false, behind: true };
	}

	private good(t: TrackSlices | undefined, begin_ps: number, end_ps: number, resolution_ps: number): boolean {
		if (!t || t.begin_ps > begin_ps || t.end_ps < end_ps) return false;
		return t.resolution_ps <= resolution_ps || (t.complete && t.tick_ps <= resolution_ps / 2);
	}

	private enough(track: number, begin_ps: number, end_ps: number, resolution_ps: number): boolean {
		const h = this.held.get(track);
		if (!h) return false;
		return this.good(h.near, begin_ps, end_ps, resolution_ps) || this.good(h.all, begin_ps, end_ps, resolution_ps);
	}

	/*
	 * The next request for these tracks, if any. `still` means that the view rests: then the picture is made as sharp as the
	 * screen and the sides are prepared.
	 */
	want(tracks: readonly number[], view: View, width_px: number, still: boolean): Want | undefined {
		if (width_px <= 0) return undefined;
		const s = span(view);
		const begin = (share: number) => Math.max(this.all.begin_ps, view.begin_ps - s * share);
		const end = (share: number) => Math.min(this.all.end_ps, view.end_ps + s * share);
		const res = s / width_px;
		const missing = tracks.filter((t) => !this.enough(t, view.begin_ps, view.end_ps, res * COARSE));
		const later =
			missing.length || !still ? [] : tracks.filter((t) => !this.enough(t, begin(LEFT), end(LEFT), res * 1.01));
		const list = missing.length ? missing : later;
		if (!list.length) return undefined;
		const begin_ps = Math.floor(begin(SIDE));
		const end_ps = Math.ceil(end(SIDE));
		return {
			tracks: list,
			begin_ps,
			end_ps,
			urgent: missing.length > 0,
			width_px: Math.max(1, Math.ceil((end_ps - begin_ps) / res)),
		};
	}

	/* Would the answer to `w` serve this view, with what is here already? Then it is worth waiting for. */
	serves(w: Want, tracks: readonly number[], view: View, width_px: number): boolean {
		const res = (span(view) / width_px) * COARSE;
		if (w.begin_ps > view.begin_ps || w.end_ps < view.end_ps) return false;
		if ((w.end_ps - w.begin_ps) / w.width_px > res) return false;
		const asked = new Set(w.tracks);
		return tracks.every((t) => asked.has(t) || this.enough(t, view.begin_ps, view.end_ps, res));
	}
}
