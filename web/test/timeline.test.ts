import { test } from "node:test";
import assert from "node:assert/strict";
import { decoded, packed, random, type Plain } from "./helpers";
import { beginOf, decodeSlices, durOf, sliceAt, type TrackSlices } from "../src/api/slices";
import type { Section, Timeline } from "../src/api/types";
import { counterAt, rowsInBox, sliceUnder, snap, trackAt } from "../src/timeline/hit_test";
import { closedAtFirst, gapAt, layOut, movedBefore, NO_ORDER, placeOf, ROW_PX, SECTION_PX, visibleItems, type LayoutState } from "../src/timeline/layout";
import { TimelineModel } from "../src/timeline/model";
import { coveredColumns, fitText, Labels, rasterRow, stripedColumns } from "../src/timeline/raster";
import { ticks, tickStep } from "../src/timeline/ruler";
import { formatMarks, formatOrder, parseMarks, parseOrder, parsePins } from "../src/timeline/state";
import { approach, clampView, fit, formatView, panBy, parseView, reveal, span, zoomAt } from "../src/timeline/viewport";

const ALL = { begin_ps: 0, end_ps: 1_000_000 };

/* ---- viewport ---- */

test("zooming keeps the time under the pointer in its place", () => {
	const v = { begin_ps: 200_000, end_ps: 600_000 };
	const z = zoomAt(v, 2, 300_000, ALL);
	assert.equal(span(z), 200_000);
	assert.equal((300_000 - z.begin_ps) / span(z), (300_000 - v.begin_ps) / span(v));
});

test("no view leaves the trace", () => {
	const rnd = random(1);
	let v = ALL;
	for (let i = 0; i < 2000; i++) {
		v = rnd() < 0.5 ? zoomAt(v, 0.3 + rnd() * 3, rnd() * 1e6, ALL) : panBy(v, (rnd() - 0.5) * 1e6, ALL);
		assert.ok(v.begin_ps >= 0 && v.end_ps <= 1_000_000 + 1e-6 && span(v) >= 100 - 1e-6, JSON.stringify(v));
	}
	assert.deepEqual(clampView({ begin_ps: -5e6, end_ps: 9e6 }, ALL), ALL);
});

test("reveal moves only what is out of sight", () => {
	const v = { begin_ps: 100, end_ps: 1100 };
	assert.equal(reveal(v, 200, 300, ALL), v);
	const moved = reveal(v, 50_000, 50_010, ALL);
	assert.equal(span(moved), 1000);
	assert.ok(moved.begin_ps < 50_000 && moved.end_ps > 50_010);
	assert.ok(span(fit(10_000, 20_000, ALL)) > 10_000);
});

test("a glide lands", () => {
	let v = ALL;
	const goal = { begin_ps: 400_000, end_ps: 400_500 };
	let n = 0;
	while (v !== goal && n++ < 200) v = approach(v, goal, 0.35, 1000);
	assert.ok(n < 60, `${n} frames`);
});

test("views and marks survive the URL", () => {
	const v = { begin_ps: 12, end_ps: 9_007_199_254_740 };
	assert.deepEqual(parseView(formatView(v)), v);
	for (const bad of ["", "5", "9-3", "a-b", "1e3-4", "1-2-3"]) assert.equal(parseView(bad), undefined);
	const marks = [
		{ begin_ps: 1, end_ps: 5 },
		{ begin_ps: 7, end_ps: 7 },
	];
	assert.deepEqual(parseMarks(formatMarks(marks)), marks);
	assert.deepEqual(parseMarks("x,5-3,,1-2"), [{ begin_ps: 1, end_ps: 2 }]);
});

test("ruler lines stand apart and have names of their own", () => {
	for (const s of [100, 12_345, 9.9e6, 3e9, 5e14]) {
		const v = { begin_ps: s / 3, end_ps: s / 3 + s };
		const list = ticks(v, 1200).filter((t) => t.label);
		assert.ok(list.length >= 3 && list.length <= 13, `${s}: ${list.length}`);
		assert.equal(new Set(list.map((t) => t.label)).size, list.length);
		assert.ok((tickStep(v, 1200, 110) / s) * 1200 >= 110 - 1e-6 || tickStep(v, 1200, 110) === 1);
	}
});

test("far from zero the ruler counts from a base that it names", () => {
	const v = { begin_ps: 9.71923e12, end_ps: 9.71923e12 + 400e6 };
	const labels = ticks(v, 1200).flatMap((t) => (t.label && t.ps >= v.begin_ps ? [t.label] : []));
	assert.ok(/^9\.719\d*.s \+ /.test(labels[0] ?? ""), labels[0]);
	assert.ok(labels.slice(1).every((l) => l.length < 10 && !l.includes("+")), labels.join());
	assert.equal(new Set(labels).size, labels.length);
});

/* ---- slices ---- */

const NESTED: Plain[] = [
	{ track: 3, row: 0, begin: 0, dur: 100, name: "outer", event: 10 },
	{ track: 3, row: 1, begin: 10, dur: 20, name: "a", event: 11 },
	{ track: 3, row: 1, begin: 40, dur: 20, name: "b", event: 12 },
	{ track: 3, row: 0, begin: 150, dur: 10, name: "outer", event: 20 },
	{ track: 5, row: 0, begin: 7, dur: 3, name: "a", event: 2 },
];

test("an answer is decoded by track and row", () => {
	const { tracks } = decoded(NESTED);
	assert.deepEqual(
		tracks.map((t) => t.track),
		[3, 5],
	);
	const t = tracks[0] as TrackSlices;
	assert.deepEqual([...t.rowFirst], [0, 2, 4]);
	assert.deepEqual([...t.begin], [0, 150, 10, 40]);
	assert.deepEqual([...t.event], [10, 20, 11, 12]);
	assert.deepEqual(
		[...t.name].map((k) => t.names[k]),
		["outer", "outer", "a", "b"],
	);
	assert.deepEqual([...(tracks[1] as TrackSlices).event], [2]);
});

test("an answer that is cut or foreign is refused", () => {
	const good = packed(NESTED);
	for (let n = 0; n < good.byteLength - 3; n++)
		assert.throws(() => decodeSlices(good.slice(0, n), 100), undefined, String(n));
	assert.throws(() => decodeSlices(new TextEncoder().encode("<html>not this</html>").buffer as ArrayBuffer, 100));
});

test("counters come with their track", () => {
	const { tracks } = decoded([], { counters: [{ track: 9, t_ps: [0, 10, 20], value: [1, 5, 2] }] });
	const t = tracks[0] as TrackSlices;
	assert.equal(t.track, 9);
	assert.equal(counterAt(t, "c", 15)?.value, 5);
	assert.equal(counterAt(t, "c", -1), undefined);
});

function tangle(seed: number, n: number): Plain[] {
	const rnd = random(seed);
	const out: Plain[] = [];
	let at = 0;
	for (let i = 0; i < n; i++) {
		at += Math.floor(rnd() * 6);
		const dur = 1 + Math.floor(rnd() * 9);
		out.push({ track: 0, row: 0, begin: at, dur, name: `n${i % 7}`, event: i });
		at += dur;
	}
	return out;
}

test("the slice at a time is found as a plain search finds it", () => {
	const list = tangle(3, 400);
	const t = decoded(list).tracks[0] as TrackSlices;
	for (let ps = 0; ps < 3000; ps += 0.7) {
		const want = list.find((s) => ps >= s.begin && ps < s.begin + s.dur);
		assert.equal(sliceUnder(t, 0, ps, 0)?.event, want?.event, String(ps));
	}
	assert.equal(sliceUnder(t, 1, 5, 10), undefined);
});

test("the pointer is kind to narrow slices, edges attract a measure", () => {
	const t = decoded([{ track: 0, row: 0, begin: 100, dur: 2, name: "x", event: 1 }]).tracks[0] as TrackSlices;
	assert.equal(sliceUnder(t, 0, 96, 3), undefined);
	assert.equal(sliceUnder(t, 0, 98, 3)?.event, 1);
	assert.equal(sliceUnder(t, 0, 104, 3)?.event, 1);
	assert.equal(snap(t, 0, 98.5, 3), 100);
	assert.equal(snap(t, 0, 101.6, 3), 102);
	assert.equal(snap(t, 0, 90, 3), 90);
});

/* ---- raster ---- */

test("pixels are those of a plain drawing of each slice", () => {
	const list = tangle(5, 300);
	const t = decoded(list).tracks[0] as TrackSlices;
	const colors = Uint32Array.from(t.names, (_, i) => i + 1);
	for (const view of [
		{ begin_ps: 0, end_ps: 2500 },
		{ begin_ps: 500, end_ps: 640 },
		{ begin_ps: 801.5, end_ps: 812.25 },
	]) {
		const width = 333;
		const px = { data: new Uint32Array(width * 3), width };
		rasterRow(px, width, t, 0, view, 0, width, colors, colors, null, 0);
		const want = new Uint32Array(width);
		for (const s of list) {
			const x0 = ((s.begin - view.begin_ps) / span(view)) * width;
			const a = Math.floor(x0);
			const b = Math.max(a + 1, Math.ceil(x0 + (s.dur / span(view)) * width - 0.5));
			for (let x = Math.max(0, a); x < Math.min(width, b); x++) want[x] = colors[t.names.indexOf(s.name)] as number;
		}
		assert.deepEqual(px.data.slice(width, 2 * width), want);
		assert.ok(
			px.data.slice(0, width).every((v) => v === 0) && px.data.slice(2 * width).every((v) => v === 0),
			"other rows stay untouched",
		);
	}
});

test("no frame asks for more names than it may draw", () => {
	const list = tangle(9, 2000).map((s, i) => ({ ...s, begin: i * 10, dur: 10 }));
	const t = decoded(list).tracks[0] as TrackSlices;
	const colors = new Uint32Array(t.names.length);
	const px = { data: new Uint32Array(64_000), width: 64_000 };
	const labels = new Labels(100);
	for (let frame = 0; frame < 30; frame++) {
		labels.reset(26);
		rasterRow(px, 0, t, 0, { begin_ps: 0, end_ps: 20_000 }, 0, px.width, colors, colors, labels, 9);
		assert.ok(labels.n <= 100);
	}
});

test("what a window does not cover is left to the whole picture", () => {
	const t = decoded(NESTED).tracks[0] as TrackSlices;
	assert.deepEqual(coveredColumns(t, { begin_ps: -1000, end_ps: 1000 }, 200), [100, 200]);
	assert.deepEqual(coveredColumns(t, { begin_ps: 5000, end_ps: 6000 }, 200), [0, 0]);
});

test("time that no answer covers is striped, and nothing else", () => {
	const t = decoded(NESTED).tracks[0] as TrackSlices;
	const all = (view: { begin_ps: number; end_ps: number }, layers: TrackSlices[]) => stripedColumns(layers, view, 200, 5);
	assert.deepEqual(all({ begin_ps: t.begin_ps, end_ps: t.end_ps }, [t]), []);
	/* Half of the view lies before the answer: every other five columns of that half. */
	const half = all({ begin_ps: -1000, end_ps: 1000 }, [t]);
	assert.deepEqual(half.slice(0, 6), [0, 1, 2, 3, 4, 10]);
	assert.equal(half.length, 50);
	assert.ok(half.every((x) => x < 100));
	assert.equal(all({ begin_ps: 0, end_ps: 1000 }, []).length, 100, "nothing is loaded yet");
});

test("names are cut to their room", () => {
	const widths = new Float32Array(128).fill(10);
	assert.equal(fitText("abcdef", 60, widths, 10), "abcdef");
	assert.equal(fitText("abcdef", 55, widths, 10), "abcd…");
	assert.equal(fitText("abcdef", 35, widths, 10), "");
	assert.equal(fitText("äöü", 30, widths, 10), "äöü");
});

/* ---- layout ---- */

function section(pid: number, n: number, rows = 2): Section {
	return {
		pid,
		name: `/device:${pid}`,
		kind: "device",
		tracks: Array.from({ length: n }, (_, i) => ({
			track: pid * 100 + i,
			tid: i,
			name: i % 2 ? "XLA Ops" : "Steps",
			kind: "slices" as const,
			rows: i % 2 ? rows : 1,
			events: 5,
		})),
	};
}

const OPEN: LayoutState = { closed: new Set(), collapsed: new Set(), pinned: [], filter: "", order: NO_ORDER };

test("what was moved stands where it was put, the rest in the server's order", () => {
	const l = layOut([section(1, 3), section(2, 2)], {
		...OPEN,
		order: { sections: [2], tracks: new Map([[1, [102, 100, 7]]]) },
	});
	const ids = l.items.map((x) => (x.kind === "section" ? x.pid : x.info.track));
	assert.deepEqual(ids, [2, 200, 201, 1, 102, 100, 101]);
	assert.deepEqual(movedBefore([1, 2, 3], 3, 1), [3, 1, 2]);
	assert.deepEqual(movedBefore([1, 2, 3], 1, undefined), [2, 3, 1]);
	assert.deepEqual(movedBefore([1, 2, 3], 2, 2), [1, 2, 3]);
	/* Dropped above the middle of a track: before it; below all: last. Other sections' tracks do not matter. */
	const second = l.items[5]!;
	const first = l.items[4]!;
	assert.equal(gapAt(l, second, first.y + 1).before, 102);
	assert.equal(gapAt(l, second, 0).before, 102);
	assert.equal(gapAt(l, second, l.height + 50).before, undefined);
	assert.equal(gapAt(l, l.items[3]!, 0).before, 2);
});

test("order and pins go through the URL", () => {
	const order = { sections: [1001, 1000], tracks: new Map([[1001, [4, 3]], [7, [9]]]) };
	assert.equal(formatOrder(order), "1001.1000_1001:4.3_7:9");
	assert.deepEqual(parseOrder(formatOrder(order)), order);
	assert.equal(formatOrder(parseOrder("")), "");
	assert.deepEqual(parseOrder("x_<script>_3:1.x.2").tracks, new Map());
	assert.deepEqual(parsePins("3.3.x.12"), [3, 12]);
});

test("sections and tracks lie below each other without overlap", () => {
	const l = layOut([section(1, 4, 5), section(2, 3)], OPEN);
	let y = 0;
	for (const it of l.items) {
		assert.ok(it.y >= y);
		y = it.y + it.h;
	}
	assert.ok(l.height >= y);
	assert.equal(l.byTrack.get(101)?.h, 5 * ROW_PX);
	assert.equal(l.items[0]?.h, SECTION_PX);
});

test("closing, collapsing, pinning and filtering", () => {
	const s = [section(1, 4, 5), section(2, 3)];
	assert.equal(layOut(s, { ...OPEN, closed: new Set([1]) }).byTrack.has(101), false);
	assert.equal(layOut(s, { ...OPEN, collapsed: new Set([101]) }).byTrack.get(101)?.h, ROW_PX);
	const pinned = layOut(s, { ...OPEN, pinned: [201] });
	assert.equal(pinned.items[1]?.kind === "track" && pinned.items[1].info.track, 201);
	assert.equal(pinned.items.filter((i) => i.kind === "track" && i.info.track === 201).length, 1);
	const found = layOut(s, { ...OPEN, closed: new Set([2]), filter: "device:2 steps" });
	assert.deepEqual(
		found.items.map((i) => (i.kind === "track" ? i.info.track : -i.pid)),
		[-2, 200, 202],
	);
	assert.deepEqual([...closedAtFirst([section(1, 500), section(2, 300), section(3, 2)])], [2, 3]);
});

test("an arrow to a track of a closed section leads to the section's band", () => {
	const s = [section(1, 4, 5), section(2, 3)];
	const open = layOut(s, OPEN), closed = layOut(s, { ...OPEN, closed: new Set([2]) });
	const track = open.byTrack.get(201);
	assert.deepEqual(placeOf(open, { track: 201, row: 0 }), { y: track?.y, h: track?.rowH });
	const band = closed.items.find((i) => i.kind === "section" && i.pid === 2);
	assert.equal(placeOf(closed, { track: 201, row: 0 })?.y, band?.y);
	assert.equal(placeOf(closed, { track: 201, row: 3 })?.h, SECTION_PX);
	assert.equal(placeOf(layOut(s, { ...OPEN, filter: "device:1" }), { track: 201, row: 0 }), undefined, "the filter leaves it out");
});

test("what is visible is what a plain search finds", () => {
	const l = layOut([section(1, 40, 3), section(2, 40, 9)], OPEN);
	for (let top = -50; top < l.height; top += 37) {
		const want = l.items.filter((i) => i.y + i.h >= top && i.y <= top + 300);
		assert.deepEqual(visibleItems(l, top, 300), want);
	}
});

test("rows under the pointer and inside a frame", () => {
	const l = layOut([section(1, 4, 5)], OPEN);
	const it = l.byTrack.get(101);
	assert.ok(it);
	const at = trackAt(l, it.y + ROW_PX * 2.5);
	assert.equal(at?.item.info.track, 101);
	assert.equal(at?.row, 2);
	assert.equal(trackAt(l, it.y - 2), undefined);
	assert.equal(rowsInBox(l, { begin_ps: 0, end_ps: 1, y0: it.y + ROW_PX * 1.2, y1: it.y + ROW_PX * 3.5 }), "101:1-3");
	assert.equal(rowsInBox(l, { begin_ps: 0, end_ps: 1, y0: 0, y1: 4 }), "");
});

/* ---- model ---- */

function meta(): Timeline {
	return {
		begin_ps: 0,
		end_ps: 1_000_000,
		start_unix_ns: null,
		events: 9,
		dropped: 0,
		sections: [section(1, 2)],
		notes: [],
	};
}

/* An answer as a server would give it to a request. */
function reply(
	m: TimelineModel,
	w: { tracks: number[]; begin_ps: number; end_ps: number; width_px: number },
	complete = false,
): void {
	const a = decoded(
		w.tracks.map((track) => ({ track, row: 0, begin: 0, dur: 5, name: "x", event: track })),
		{
			begin_ps: w.begin_ps,
			end_ps: w.end_ps,
			tick_ps: Math.max(1, Math.floor((w.end_ps - w.begin_ps) / w.width_px / 8)),
		},
		w.width_px,
	);
	for (const t of a.tracks) t.complete = complete;
	m.accept(a.tracks);
}

test("first the whole, then what a zoom needs, then nothing", () => {
	const m = new TimelineModel(meta());
	const first = m.want([100, 101], m.all, 1000, true);
	assert.deepEqual(first, { tracks: [100, 101], begin_ps: 0, end_ps: 1_000_000, width_px: 1000, urgent: true });
	reply(m, first);
	assert.equal(m.want([100, 101], m.all, 1000, true), undefined);
	const near = { begin_ps: 400_000, end_ps: 410_000 };
	const second = m.want([100, 101], near, 1000, false);
	assert.ok(second?.urgent);
	assert.ok(second.begin_ps <= 390_000 && second.end_ps >= 420_000);
	assert.equal(m.layers(100, near).length, 1, "the whole stays until the window is here");
	reply(m, second);
	assert.equal(m.want([100, 101], near, 1000, true), undefined);
	assert.equal(m.layers(100, near).length, 1);
	assert.equal(m.layers(100, { begin_ps: 380_000, end_ps: 410_000 }).length, 2);
});

test("moving sideways asks before the edge is reached, and only when it rests", () => {
	const m = new TimelineModel(meta());
	reply(m, m.want([100], m.all, 1000, true) as never);
	const near = { begin_ps: 400_000, end_ps: 410_000 };
	reply(m, m.want([100], near, 1000, true) as never);
	const moved = panBy(near, 8000, m.all);
	assert.equal(m.want([100], moved, 1000, false), undefined);
	assert.equal(m.want([100], moved, 1000, true)?.urgent, false);
	assert.equal(m.want([100], panBy(near, 15_000, m.all), 1000, false)?.urgent, true);
});

test("a track that is complete is not asked for again until its ticks are too coarse", () => {
	const m = new TimelineModel(meta());
	reply(m, m.want([100], m.all, 1000, true) as never, true);
	assert.equal(m.want([100], { begin_ps: 400_000, end_ps: 700_000 }, 1000, true), undefined);
	assert.ok(m.want([100], { begin_ps: 400_000, end_ps: 401_000 }, 1000, true));
});

test("a request under way is kept as long as it serves", () => {
	const m = new TimelineModel(meta());
	const w = { tracks: [100, 101], begin_ps: 0, end_ps: 300_000, width_px: 3000, urgent: true };
	assert.ok(m.serves(w, [100], { begin_ps: 100_000, end_ps: 200_000 }, 1000));
	assert.ok(!m.serves(w, [100], { begin_ps: 100_000, end_ps: 110_000 }, 1000), "too coarse");
	assert.ok(!m.serves(w, [100], { begin_ps: 250_000, end_ps: 350_000 }, 1000), "elsewhere");
	assert.ok(!m.serves(w, [102], { begin_ps: 100_000, end_ps: 200_000 }, 1000), "other tracks");
});

test("times of slices come back in picoseconds", () => {
	const t = decoded(NESTED, { origin_ps: 5000, tick_ps: 8 }).tracks[0] as TrackSlices;
	assert.equal(beginOf(t, 1), 5000 + 150 * 8);
	assert.equal(durOf(t, 1), 80);
	assert.equal(sliceAt(t, 0, 5000 + 151 * 8), 1);
});
