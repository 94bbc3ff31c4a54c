import { afterEach, test } from "node:test";
import assert from "node:assert/strict";
import { packed } from "./helpers";
import { decodeSlices } from "../src/api/slices";
import { buffersOf, SliceSource, type FromWorker, type SlicesRequest, type ToWorker } from "../src/timeline/slice_source";

const real = globalThis.fetch;
afterEach(() => {
	globalThis.fetch = real;
});

const answer = () =>
	decodeSlices(packed([{ track: 3, row: 0, begin: 0, dur: 9, name: "x", event: 7 }], { begin_ps: 0, end_ps: 100, tick_ps: 1 }), 10);
const req: SlicesRequest = { params: { run: "r", tracks: "3" }, width_px: 10 };

class FakeWorker {
	onmessage: ((e: { data: FromWorker }) => void) | undefined;
	onerror: (() => void) | undefined;
	readonly sent: ToWorker[] = [];
	gone = false;
	postMessage(m: ToWorker) {
		this.sent.push(m);
	}
	terminate() {
		this.gone = true;
	}
}

function source(): { s: SliceSource; w: FakeWorker } {
	const w = new FakeWorker();
	return { s: new SliceSource(() => w as unknown as Worker), w };
}

test("answers of the worker find who asked, in any order", async () => {
	const { s, w } = source();
	const stop = new AbortController();
	const first = s.read(req, stop.signal);
	const second = s.read(req, stop.signal);
	w.onmessage?.({ data: { id: 2, error: "the file was taken away" } });
	w.onmessage?.({ data: { id: 1, answer: answer() } });
	assert.equal((await first).tracks[0]?.track, 3);
	await assert.rejects(second, /the file was taken away/);
	s.stop();
	assert.ok(w.gone);
});

test("what is given up is told to the worker, and its answer is not awaited", async () => {
	const { s, w } = source();
	const stop = new AbortController();
	const asked = s.read(req, stop.signal);
	stop.abort();
	await assert.rejects(asked, { name: "AbortError" });
	assert.deepEqual(w.sent, [{ id: 1, req }, { id: 1 }]);
	w.onmessage?.({ data: { id: 1, answer: answer() } });
});

test("without a worker the page asks itself", async () => {
	const urls: string[] = [];
	globalThis.fetch = (async (url: string) => {
		urls.push(url);
		return new Response(packed([], { begin_ps: 0, end_ps: 100, tick_ps: 1 }));
	}) as unknown as typeof fetch;
	const { s, w } = source();
	const stop = new AbortController();
	const asked = s.read(req, stop.signal);
	assert.equal(urls.length, 0);
	w.onerror?.();
	assert.deepEqual((await asked).tracks, []);
	await s.read(req, stop.signal);
	await new SliceSource(() => {
		throw new Error("no workers here");
	}).read(req, stop.signal);
	assert.deepEqual(urls, Array(3).fill("api/timeline/slices?run=r&tracks=3"));
});

test("an answer changes hands with all its columns, each once", () => {
	const a = answer();
	const list = buffersOf(a);
	assert.equal(new Set(list).size, list.length);
	const copy = structuredClone(a, { transfer: list });
	assert.deepEqual(copy, answer());
	assert.equal(a.tracks[0]?.begin.length, 0);
});
