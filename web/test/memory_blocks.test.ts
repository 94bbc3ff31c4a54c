import { test } from "node:test";
import assert from "node:assert/strict";
import { around, blockAt, blocksNamed, extent, inside, moved, zoomed, type Blocks } from "../src/pages/memory_blocks";

/* An allocation of 100 bytes over 10 points, and two buffers in it, of which the second shares a part with the first. */
const b: Blocks = {
	n: 3,
	id: [-1, 7, 8],
	name: ["Temporary", "fusion.1", "Copy.2"],
	begin: [0, 2, 4],
	end: [10, 6, 9],
	offset: [0, 0, 50],
	size: [100, 60, 50],
};
const all = extent(b, 10);

test("the whole holds every block, and an empty program has a size", () => {
	assert.deepEqual(all, { x0: 0, x1: 10, y0: 0, y1: 100 });
	assert.deepEqual(extent({ ...b, n: 0 }, 0), { x0: 0, x1: 1, y0: 0, y1: 1 });
});

test("a point is in the buffer drawn last, else in the allocation", () => {
	assert.equal(blockAt(b, 3, 10), 1);
	assert.equal(blockAt(b, 5, 55), 2);
	assert.equal(blockAt(b, 1, 90), 0);
	assert.equal(blockAt(b, 11, 10), null);
});

test("names are found without regard to case; allocations have none", () => {
	assert.deepEqual(blocksNamed(b, " COPY "), [2]);
	assert.deepEqual(blocksNamed(b, "t"), []);
	assert.deepEqual(blocksNamed(b, ""), []);
});

test("a part zooms around a point, moves, and stays inside the whole", () => {
	assert.deepEqual(zoomed(all, all, 2, 5, 50), { x0: 2.5, x1: 7.5, y0: 25, y1: 75 });
	assert.deepEqual(zoomed(all, all, 0.5, 5, 50), all);
	assert.deepEqual(moved({ x0: 0, x1: 5, y0: 0, y1: 50 }, all, 99, 10), { x0: 5, x1: 10, y0: 10, y1: 60 });
	const near = zoomed(all, all, 1e9, 5, 50);
	assert.ok(Math.abs(near.x1 - near.x0 - 1) < 1e-9 && Math.abs(near.y1 - near.y0 - 16) < 1e-9, JSON.stringify(near));
	assert.deepEqual(inside(around(b, 1, all), all), around(b, 1, all));
	const w = around(b, 2, all);
	assert.ok(w.x0 <= 4 && w.x1 >= 9 && w.y0 <= 50 && w.y1 >= 100, JSON.stringify(w));
});
