/*
 * loader.ts - keeps one request for slices under way: the one that the screen needs most. A request whose answer would no longer
 * serve the view is cancelled; what is on the screen stays until a better picture is here.
 */
import { getBytes } from "../api/fetch";
import { decodeSlices, type Flow } from "../api/slices";
import type { TimelineModel, Want } from "./model";
import type { View } from "./viewport";

const NEAR_TRACKS = 64;

export class Loader {
	private flying: { want: Want; stop: AbortController } | undefined;
	private lastKey = "";
	private timer: ReturnType<typeof setTimeout> | undefined;
	private latest: { tracks: readonly number[]; others: readonly number[]; view: View; width_px: number } | undefined;
	flows: Flow[] = [];
	wantFlows = false;
	requests = 0;

	constructor(
		private readonly model: TimelineModel,
		private readonly run: string,
		private readonly host: string,
		private readonly changed: () => void,
		private readonly failed: (text: string) => void,
		private readonly status: (busy: boolean) => void,
	) {}

	/* The screen now shows `tracks`; `others` are below or above it. */
	show(tracks: readonly number[], others: readonly number[], view: View, width_px: number, moving: boolean): void {
		/* Not laid out yet: nothing is on a screen without width. */
		if (width_px <= 0) return;
		this.latest = { tracks, others, view, width_px };
		clearTimeout(this.timer);
		this.pump(!moving);
		if (moving) this.timer = setTimeout(() => this.pump(true), 80);
	}

	/* Asks again for everything: the kind of answer has changed. */
	reset(): void {
		this.lastKey = "";
		this.flying?.stop.abort();
		this.flying = undefined;
		this.pump(true);
	}

	private pump(still: boolean): void {
		if (this.latest) this.next(this.latest, still);
		this.status(this.busy);
	}

	private next(now: NonNullable<Loader["latest"]>, still: boolean): void {
		const { tracks, view, width_px } = now;
		if (this.flying) {
			if (!this.flying.want.urgent || this.model.serves(this.flying.want, tracks, view, width_px)) {
				const urgent = this.model.want(tracks, view, width_px, false);
				if (this.flying.want.urgent || !urgent) return;
			}
			this.flying.stop.abort();
			this.flying = undefined;
		}
		const want = this.model.want(tracks, view, width_px, still) ?? (still ? this.wantOthers(now) : undefined);
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

	private ask(want: Want): void {
		/* A server that answers less than asked must not be asked for ever. */
		const key = `${want.begin_ps}-${want.end_ps}-${want.width_px}-${want.tracks.join()}-${this.wantFlows}`;
		if (key === this.lastKey) return;
		this.lastKey = key;
		const stop = new AbortController();
		this.flying = { want, stop };
		this.requests++;
		getBytes(
			"api/timeline/slices",
			{
				run: this.run,
				host: this.host,
				begin_ps: want.begin_ps,
				end_ps: want.end_ps,
				width_px: want.width_px,
				tracks: want.tracks.join(","),
				flows: this.wantFlows ? 1 : undefined,
			},
			stop.signal,
		)
			.then((buf) => {
				const answer = decodeSlices(buf, want.width_px);
				this.model.accept(answer.tracks, want.behind);
				if (this.wantFlows) this.flows = answer.flows;
			})
			.then(
				() => {
					if (stop.signal.aborted) return;
					this.flying = undefined;
					this.changed();
					this.pump(true);
				},
				(e: Error) => {
					if (stop.signal.aborted) return;
					this.flying = undefined;
					/* The next move asks again. */
					this.lastKey = "";
					this.status(false);
					this.failed(e.message);
				},
			);
	}

	get busy(): boolean {
		return this.flying?.want.urgent === true;
	}

	stop(): void {
		clearTimeout(this.timer);
		this.flying?.stop.abort();
		this.latest = undefined;
	}
}
