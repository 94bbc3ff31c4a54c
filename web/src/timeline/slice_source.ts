/*
 * slice_source.ts - asks for slices and decodes them apart from the page: an answer takes 10 ms to
 * unpack, read and sort, and a frame that has to wait for that is late. Where there is no worker
 * the page does it itself.
 */
import { getBytes, type Params } from "../api/fetch";
import { bestWindow, saved } from "../api/saved";
import { decodeSlices, type SlicesAnswer } from "../api/slices";

export interface SlicesRequest {
	params: Params;
	width_px: number;
}

export type ReadSlices = (req: SlicesRequest, signal: AbortSignal) => Promise<SlicesAnswer>;

/*
 * To the worker: a request, or without `req` that it is not wanted any more. Back comes one of the
 * two, or nothing.
 */
export interface ToWorker {
	id: number;
	req?: SlicesRequest;
}

export interface FromWorker {
	id: number;
	answer?: SlicesAnswer;
	error?: string;
}

export const readSlices: ReadSlices = async (req, signal) => {
	if (saved) return readSaved(req, signal);
	return decodeSlices(await getBytes("api/timeline/slices", req.params, signal), req.width_px);
};

/* Of a page that is a file: a window that it holds, of all tracks. */
const readSaved: ReadSlices = async ({ params, width_px }, signal) => {
	const { run, host } = params;
	const best = saved && bestWindow(saved, Number(params["begin_ps"]), Number(params["end_ps"]), width_px);
	const [begin_ps, end_ps] = best ?? [0, 0];
	const bytes = await getBytes("api/timeline/slices", { run, host, begin_ps, end_ps, width_px: saved?.width_px }, signal);
	return decodeSlices(bytes, saved?.width_px ?? width_px);
};

interface Waiting {
	req: SlicesRequest;
	signal: AbortSignal;
	done(answer: SlicesAnswer): void;
	fail(e: Error): void;
}

export class SliceSource {
	private worker: Worker | undefined;
	private readonly waiting = new Map<number, Waiting>();
	private last = 0;

	constructor(make: () => Worker = () => new Worker("slices.js")) {
		try {
			this.worker = make();
		} catch {
			return;
		}
		this.worker.onmessage = (e: MessageEvent<FromWorker>) => this.take(e.data);
		this.worker.onerror = () => this.doWithout();
	}

	readonly read: ReadSlices = (req, signal) => {
		const { worker } = this;
		if (!worker) return readSlices(req, signal);
		return new Promise((done, fail) => {
			const id = ++this.last;
			this.waiting.set(id, { req, signal, done, fail });
			signal.addEventListener("abort", () => {
				if (!this.waiting.delete(id)) return;
				worker.postMessage({ id } satisfies ToWorker);
				fail(new DOMException("aborted", "AbortError"));
			});
			worker.postMessage({ id, req } satisfies ToWorker);
		});
	};

	private take({ id, answer, error }: FromWorker): void {
		const w = this.waiting.get(id);
		this.waiting.delete(id);
		if (answer) w?.done(answer);
		else w?.fail(new Error(error));
	}

	/* Its script cannot be had: what was asked of it is asked by the page. */
	private doWithout(): void {
		this.worker?.terminate();
		this.worker = undefined;
		const list = [...this.waiting.values()];
		this.waiting.clear();
		for (const w of list) readSlices(w.req, w.signal).then(w.done, w.fail);
	}

	stop(): void {
		this.worker?.terminate();
		this.worker = undefined;
	}
}

/* What of an answer can change hands instead of being copied. */
export function buffersOf(answer: SlicesAnswer): ArrayBuffer[] {
	const out = new Set<ArrayBuffer>();
	for (const t of answer.tracks)
		for (const a of [t.begin, t.dur, t.name, t.event, t.rowFirst, t.counter?.t_ps, t.counter?.value])
			/* An empty array may be that of many tracks. */
			if (a?.byteLength) out.add(a.buffer as ArrayBuffer);
	return [...out];
}
