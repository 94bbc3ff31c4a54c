/*
 * slices_worker.ts - the other side of slice_source.ts: dist/slices.js.
 */
import { buffersOf, readSlices, type FromWorker, type ToWorker } from "./slice_source";

const flying = new Map<number, AbortController>();

addEventListener("message", (e: MessageEvent<ToWorker>) => {
	const { id, req } = e.data;
	if (!req) {
		flying.get(id)?.abort();
		return;
	}
	const stop = new AbortController();
	flying.set(id, stop);
	readSlices(req, stop.signal)
		.then(
			(answer) => postMessage({ id, answer } satisfies FromWorker, { transfer: buffersOf(answer) }),
			(error: Error) => stop.signal.aborted || postMessage({ id, error: error.message } satisfies FromWorker),
		)
		.finally(() => flying.delete(id));
});
