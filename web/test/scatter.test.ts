import { test } from "node:test";
import assert from "node:assert/strict";
import { along, decades, logAxis, roofLine } from "../src/chart/scatter";

test("axes are whole decades around the values", () => {
	assert.deepEqual(logAxis([3, 250, 0, -1, NaN]), { from: 1, to: 1000 });
	assert.deepEqual(
		decades({ from: 0.1, to: 100 }).map((v) => Number(v.toPrecision(3))),
		[0.1, 1, 10, 100],
	);
	assert.equal(decades(logAxis([5])).length, 3);
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
