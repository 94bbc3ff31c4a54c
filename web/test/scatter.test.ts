import { test } from "node:test";
import assert from "node:assert/strict";
import { along, logAxis, moveAxis, roofLine, ticks, zoomAxis } from "../src/chart/scatter";

test("axes are whole decades around the values", () => {
	assert.deepEqual(logAxis([3, 250, 0, -1, NaN]), { from: 1, to: 1000 });
	assert.deepEqual(
		ticks({ from: 0.1, to: 100 }).map((v) => Number(v.toPrecision(3))),
		[0.1, 1, 10, 100],
	);
	assert.equal(ticks(logAxis([5])).length, 3);
	assert.equal(along({ from: 1, to: 100 }, 10), 0.5);
});

test("a roof climbs to its ridge and stays level", () => {
	const x = { from: 0.1, to: 1000 };
	const y = { from: 1, to: 10_000 };
	assert.deepEqual(roofLine({ label: "", slope: 10, flat: 1000 }, x, y), [
		[0.1, 1],
		[100, 1000],
		[1000, 1000],
	]);
	assert.deepEqual(roofLine({ label: "", slope: 1, flat: 1e6 }, x, y), [
		[1, 1],
		[1000, 1000],
	]);
	assert.deepEqual(roofLine({ label: "", slope: 0, flat: 50 }, x, y), [
		[0.1, 50],
		[1000, 50],
	]);
});

test("closer up the grid is finer", () => {
	const at = (from: number, to: number) => ticks({ from, to }).map((v) => Number(v.toPrecision(3)));
	assert.deepEqual(at(1.5, 30), [2, 5, 10, 20]);
	assert.deepEqual(at(2.1, 2.5), [2.1, 2.2, 2.3, 2.4, 2.5]);
	assert.ok(at(100, 105).length >= 3);
});

test("an axis zooms around a point and stays inside the whole", () => {
	const all = { from: 1, to: 10_000 };
	const near = (a: { from: number; to: number }, from: number, to: number) =>
		assert.ok(Math.abs(a.from / from - 1) < 1e-9 && Math.abs(a.to / to - 1) < 1e-9, JSON.stringify(a));
	near(zoomAxis(all, all, 2, 0.5), 10, 1000);
	near(zoomAxis(all, all, 2, 0), 1, 100);
	near(zoomAxis({ from: 10, to: 1000 }, all, 0.1, 0.5), 1, 10_000);
	near(moveAxis({ from: 10, to: 1000 }, all, 0.5), 100, 10_000);
	near(moveAxis({ from: 10, to: 1000 }, all, 9), 100, 10_000);
	near(moveAxis({ from: 10, to: 1000 }, all, -9), 1, 100);
});
