import { afterEach, test } from "node:test";
import assert from "node:assert/strict";
import { packed } from "./helpers";
import type { Timeline } from "../src/api/types";
import { Loader } from "../src/timeline/loader";
import { TimelineModel } from "../src/timeline/model";
import { rowsOf } from "../src/pages/rows";

const real = globalThis.fetch;
afterEach(() => {
	globalThis.fetch = real;
});

const META: Timeline = {
	begin_ps: 0,
	end_ps: 1_000_000,
	start_unix_ns: null,
	events: 2,
	dropped: 0,
	notes: [],
	sections: [
		{
			pid: 1,
			name: "d",
			kind: "device",
			tracks: [0, 1].map((track) => ({ track, tid: track, name: "t", kind: "slices" as const, rows: 1, events: 1 })),
		},
	],
};

interface Asked {
	url: URL;
	answer(ok?: boolean): void;
	aborted(): boolean;
}

/* A server whose answers come when the test says so. */
function fake(empty = false): Asked[] {
	const asked: Asked[] = [];
	globalThis.fetch = ((input: string, init?: RequestInit) =>
		new Promise((done, fail) => {
			const url = new URL(input, "http://x/");
			init?.signal?.addEventListener("abort", () => fail(new DOMException("aborted", "AbortError")));
			asked.push({
				url,
				aborted: () => init?.signal?.aborted === true,
				answer(ok = true) {
					if (!ok)
						return done(
							new Response(JSON.stringify({ error: { status: 500, text: "the file was taken away" } }), {
								status: 500,
							}),
						);
					const begin = Number(url.searchParams.get("begin_ps"));
					const end = Number(url.searchParams.get("end_ps"));
					const tracks = empty ? [] : (url.searchParams.get("tracks") ?? "").split(",").map(Number);
					done(
						new Response(
							packed(
								tracks.map((track) => ({ track, row: 0, begin: 0, dur: 9, name: "x", event: track })),
								{
									begin_ps: begin,
									end_ps: end,
									tick_ps: Math.max(1, Math.floor((end - begin) / Number(url.searchParams.get("width_px")) / 8)),
								},
							),
						),
					);
				},
			});
		})) as typeof fetch;
	return asked;
}

const turn = (ms = 5) => new Promise((r) => setTimeout(r, ms));

function loader(log: string[]): { l: Loader; m: TimelineModel } {
	const m = new TimelineModel(META);
	return {
		m,
		l: new Loader(
			m,
			{ run: "r", host: "h" },
			() => log.push("changed"),
			(t) => log.push(t),
			(b) => log.push(b ? "busy" : "idle"),
		),
	};
}

function whole(m: TimelineModel, track: number) {
	const t = m.whole(track);
	assert.ok(t);
	return t;
}

test("one request at a time, then what else is near, then silence", async () => {
	const asked = fake();
	const log: string[] = [];
	const { l, m } = loader(log);
	l.show([0], [1], m.all, 1000, false);
	l.show([0], [1], m.all, 1000, false);
	assert.equal(asked.length, 1);
	asked[0]?.answer();
	await turn();
	assert.equal(asked.length, 2, "tracks out of sight come second");
	assert.equal(asked[1]?.url.searchParams.get("tracks"), "1");
	asked[1]?.answer();
	await turn();
	l.show([0], [1], m.all, 1000, false);
	assert.equal(asked.length, 2);
	assert.deepEqual(log, ["changed", "idle", "changed"], "what is asked for in advance is no waiting");
	l.stop();
});

test("a request that no longer serves the view is cancelled", async () => {
	const asked = fake();
	const { l, m } = loader([]);
	l.show([0, 1], [], m.all, 1000, false);
	asked[0]?.answer();
	await turn();
	l.show([0, 1], [], { begin_ps: 100_000, end_ps: 110_000 }, 1000, true);
	assert.equal(asked.length, 2);
	l.show([0, 1], [], { begin_ps: 104_000, end_ps: 114_000 }, 1000, true);
	assert.equal(asked.length, 2, "a small move waits for the answer");
	l.show([0, 1], [], { begin_ps: 700_000, end_ps: 710_000 }, 1000, true);
	assert.equal(asked.length, 2, "nor is it given up at once");
	await turn(150);
	assert.equal(asked.length, 3);
	assert.ok(asked[1]?.aborted());
	l.stop();
	assert.ok(asked[2]?.aborted());
});

test("a request is worth waiting for when the rest of the screen is here already", async () => {
	const asked = fake();
	const { l, m } = loader([]);
	l.show([0, 1], [], m.all, 1000, false);
	asked[0]?.answer();
	await turn();
	/* Track 0 has all it needs in a window that reaches far; only track 1 is asked for, and asked for once. */
	m.accept([{ ...whole(m, 0), begin_ps: 0, end_ps: 1_000_000, resolution_ps: 1 }]);
	for (let i = 0; i < 10; i++) {
		l.show([0, 1], [], { begin_ps: 400_000 + i, end_ps: 410_000 + i }, 1000, true);
		await turn(20);
	}
	assert.equal(asked.length, 2);
	assert.equal(asked[1]?.url.searchParams.get("tracks"), "1");
	assert.ok(!asked[1]?.aborted());
	l.stop();
});

test("waiting is told when it takes long", async () => {
	const asked = fake();
	const log: string[] = [];
	const { l, m } = loader(log);
	l.show([0, 1], [], m.all, 1000, false);
	asked[0]?.answer();
	await turn();
	l.show([0, 1], [], { begin_ps: 100_000, end_ps: 110_000 }, 1000, true);
	await turn(50);
	assert.deepEqual(log, ["changed", "idle"]);
	await turn(250);
	assert.deepEqual(log, ["changed", "idle", "busy"]);
	asked[1]?.answer();
	await turn();
	assert.deepEqual(log, ["changed", "idle", "busy", "changed", "idle"]);
	l.stop();
});

test("a link into the depth gets its picture first, then the whole for the map", async () => {
	const asked = fake();
	const log: string[] = [];
	const { l, m } = loader(log);
	const deep = { begin_ps: 500_000, end_ps: 500_500 };
	l.show([0, 1], [], deep, 0, false);
	assert.equal(asked.length, 0, "nothing is asked for a screen without width");
	l.show([0, 1], [], deep, 1000, false);
	asked[0]?.answer();
	await turn();
	assert.equal(asked.length, 2);
	assert.equal(asked[1]?.url.searchParams.get("begin_ps"), "0");
	assert.equal(asked[1]?.url.searchParams.get("end_ps"), "1000000");
	asked[1]?.answer();
	await turn();
	assert.equal(asked.length, 2);
	assert.ok(m.whole(0) && m.whole(1));
	assert.equal(m.layers(0, deep)[0]?.resolution_ps, 0.5, "the screen keeps the fine answer");
	assert.deepEqual(log, ["changed", "idle", "changed"]);
	l.stop();
});

test("a server that never answers what was asked is not asked for ever", async () => {
	const asked = fake(true);
	const { l, m } = loader([]);
	for (let i = 0; i < 10; i++) {
		l.show([0, 1], [], m.all, 1000, false);
		asked[asked.length - 1]?.answer();
		await turn();
	}
	assert.equal(asked.length, 1);
	l.stop();
});

test("a failure is the server's sentence, and the next move tries again", async () => {
	const asked = fake();
	const log: string[] = [];
	const { l, m } = loader(log);
	l.show([0], [], m.all, 1000, false);
	asked[0]?.answer(false);
	await turn();
	assert.ok(log.includes("the file was taken away"));
	l.show([0], [], m.all, 1000, false);
	assert.equal(asked.length, 2);
	l.stop();
});

test("rows of one allocator, with the columns asked for", () => {
	const t = {
		name: "t",
		title: "",
		props: {},
		nrows: 3,
		cols: [
			{ id: "memory_id", label: "", type: "str" as const, unit: "" as const },
			{ id: "a", label: "", type: "i64" as const, unit: "" as const },
			{ id: "b", label: "", type: "i64" as const, unit: "" as const },
		],
		data: [
			["x", "y", "x"],
			[1, 2, 3],
			[4, 5, 6],
		],
	};
	assert.deepEqual(rowsOf(t, "x", ["b", "gone", "a"])?.data, [
		[4, 6],
		[1, 3],
	]);
	assert.equal(rowsOf(t, "z")?.nrows, 0);
	assert.equal(rowsOf(undefined, "x"), undefined);
});
