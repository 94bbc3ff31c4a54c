/*
 * loader.ts - keeps one request for slices under way: the one that the screen needs most. What is on the screen stays until a better
 * picture is here. A request whose answer would no longer serve the view is cancelled, but not at once: mostly the answer is here
 * sooner than a connection would be closed and a new one opened, and the server would work for both.
 */
import type { Params } from "../api/fetch";
import type { Flow } from "../api/slices";
import type { TimelineModel, Want } from "./model";
import { readSlices, type ReadSlices } from "./slice_source";
import type { View } from "./viewport";

const NEAR_TRACKS = 64;
/* A request is left alone for so long. */
const PATIENT_MS = 100;
/* Waiting is shown once it has taken so long: less is not noticed, and showing it costs frames. */
const BUSY_MS = 200;

function placeOf(view: View, tracks: readonly number[]): string {
	return `${view.begin_ps}-${view.end_ps}-${tracks.join()}`;
}

export class Loader {
	private flying: { want: Want; stop: AbortController; since: number } | undefined;
	private lastKey = "";
	private timer: ReturnType<typeof setTimeout> | undefined;
	private busyTimer: ReturnType<typeof setTimeout> | undefined;
	private shownBusy = true; /* until the first picture */
	private moving = false;
	private latest: { tracks: readonly number[]; others: readonly number[]; view: View; width_px: number } | undefined;
	flows: Flow[] = [];
	wantFlows: "" | "1" | "path" = ""; /* the parameter "flows" of the request */
	private flowsOf = ""; /* the view whose arrows are here */
	requests = 0;

	constructor(
		private readonly model: TimelineModel,
		readonly of: Params,
		private readonly changed: () => void,
		private readonly failed: (text: string) => void,
		private readonly status: (busy: boolean) => void,
		private readonly read: ReadSlices = readSlices,
	) {}

	/* The screen now shows `tracks`; `others` are below or above it. `view` is where a moving view is heading. */
	show(tracks: readonly number[], others: readonly number[], view: View, width_px: number, moving: boolean): void {
		/* Not laid out yet: nothing is on a screen without width. */
		if (width_px <= 0) return;
		this.latest = { tracks, others, view, width_px };
		this.moving = moving;
		clearTimeout(this.timer);
		this.pump(!moving);
		if (moving) this.timer = setTimeout(() => this.pump(true), 80);
	}

	/* Asks again for everything: the kind of answer has changed. */
	reset(): void {
		this.flowsOf = "";
		this.lastKey = "";
		this.flying?.stop.abort();
		this.flying = undefined;
		this.pump(true);
	}

	private pump(still: boolean): void {
		if (this.latest) this.next(this.latest, still);
		this.tell();
	}

	/* Waiting is told late, its end at once, and each only once. */
	private tell(): void {
		const { busy } = this;
		if (busy && !this.shownBusy) {
			this.busyTimer ??= setTimeout(() => {
				this.busyTimer = undefined;
				if (this.busy) this.status((this.shownBusy = true));
			}, BUSY_MS);
			return;
		}
		clearTimeout(this.busyTimer);
		this.busyTimer = undefined;
		if (!busy && this.shownBusy) this.status((this.shownBusy = false));
	}

	/* Is the request under way one that must go? */
	private useless(now: NonNullable<Loader["latest"]>): boolean {
		const { tracks, view, width_px } = now;
		if (!this.flying || !this.model.want(tracks, view, width_px, false)) return false;
		return !this.flying.want.urgent || !this.model.serves(this.flying.want, tracks, view, width_px);
	}

	private next(now: NonNullable<Loader["latest"]>, still: boolean): void {
		const { tracks, view, width_px } = now;
		if (this.flying) {
			if (!this.useless(now)) return;
			const left_ms = this.flying.since + PATIENT_MS - performance.now();
			if (left_ms > 0) {
				clearTimeout(this.timer);
				this.timer = setTimeout(() => this.pump(!this.moving), left_ms + 1);
				return;
			}
			this.flying.stop.abort();
			this.flying = undefined;
		}
		const want =
			this.model.want(tracks, view, width_px, still) ?? this.wantArrows(now, still) ?? (still ? this.wantOthers(now) : undefined);
		if (want) this.ask(want);
	}

	/* With the screen served, what lies behind it: the whole of these tracks (a link may open deep inside), then of those that a scroll brings up. */
	private wantOthers(now: {
		tracks: readonly number[];
		others: readonly number[];
		width_px: number;
	}): Want | undefined {
		const rest = [...now.tracks, ...now.others].filter((t) => !this.model.whole(t)).slice(0, NEAR_TRACKS);
		return rest.length ? this.model.wantWhole(rest, now.width_px) : undefined;
	}

	/* The slices are here, their arrows are not: they were asked for without, or for another view. */
	private wantArrows(now: { tracks: readonly number[]; view: View; width_px: number }, still: boolean): Want | undefined {
		if (!this.wantFlows || !still || this.flowsOf === placeOf(now.view, now.tracks)) return undefined;
		const { begin_ps, end_ps } = now.view;
		return { tracks: [...now.tracks], begin_ps: Math.floor(begin_ps), end_ps: Math.ceil(end_ps), width_px: now.width_px, urgent: true, behind: true };
	}

	private ask(want: Want): void {
		/* A server that answers less than asked must not be asked for ever. */
		const key = `${want.begin_ps}-${want.end_ps}-${want.width_px}-${want.tracks.join()}-${this.wantFlows}`;
		if (key === this.lastKey) return;
		this.lastKey = key;
		const stop = new AbortController();
		this.flying = { want, stop, since: performance.now() };
		this.requests++;
		const params = {
			...this.of,
			begin_ps: want.begin_ps,
			end_ps: want.end_ps,
			width_px: want.width_px,
			tracks: want.tracks.join(","),
			flows: this.wantFlows || undefined,
		};
		this.read({ params, width_px: want.width_px }, stop.signal)
			.then((answer) => {
				this.model.accept(answer.tracks, want.behind);
				if (!this.wantFlows || !this.latest) return;
				this.flows = answer.flows;
				this.flowsOf = placeOf(this.latest.view, this.latest.tracks);
			})
			.then(
				() => {
					if (stop.signal.aborted) return;
					this.flying = undefined;
					this.changed();
					this.pump(!this.moving);
				},
				(e: Error) => {
					if (stop.signal.aborted) return;
					this.flying = undefined;
					/* The next move asks again. */
					this.lastKey = "";
					this.tell();
					this.failed(e.message);
				},
			);
	}

	get busy(): boolean {
		return this.flying?.want.urgent === true;
	}

	stop(): void {
		clearTimeout(this.timer);
		clearTimeout(this.busyTimer);
		this.flying?.stop.abort();
		this.latest = undefined;
	}
}
