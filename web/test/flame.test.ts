/* Boxes of a tree: widths, what is above the focus, what is too narrow. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TableData } from "../src/api/types";
import { boxes, frameName, measures } from "../src/chart/flame_boxes";

const tree: TableData = {
	name: "modules",
	title: "Modules",
	props: {},
	nrows: 5,
	cols: [
		{ id: "module", label: "Module", type: "str", unit: "" },
		{ id: "parent", label: "Parent", type: "i64", unit: "" },
		{ id: "calls", label: "Calls", type: "i64", unit: "count" },
		{ id: "cpu_total_us", label: "CPU total", type: "f64", unit: "us" },
		{ id: "cpu_self_us", label: "CPU self", type: "f64", unit: "us" },
	],
	data: [
		["Net_0", "Net_0/A_0", "Net_0/B_0", "Net_0/B_0/C_0", "Other_0"],
		[-1, 0, 0, 2, -1],
		[1, 1, 1, 1, 1],
		[75, 20, 50, 49.99, 25],
		[5, 20, 0.01, 49.99, 25],
	],
};

test("a measure is a time or bytes with what is inside", () => {
	assert.deepEqual(
		measures(tree).map((c) => c.id),
		["cpu_total_us"],
	);
	assert.deepEqual(measures({ ...tree, cols: tree.cols.filter((c) => c.id !== "parent") }), []);
});

test("boxes lie inside of the one around them, the widest first", () => {
	const got = boxes(tree, "cpu_total_us", -1, 0.001);
	const of = (row: number) => got.list.find((b) => b.row === row);
	assert.equal(got.total, 100);
	assert.deepEqual([of(0)?.left, of(0)?.width, of(0)?.own], [0, 0.75, 5]);
	assert.deepEqual([of(4)?.left, of(4)?.width, of(4)?.depth], [0.75, 0.25, 0]);
	assert.deepEqual([of(2)?.left, of(2)?.width, of(2)?.depth], [0, 0.5, 1]);
	assert.deepEqual([of(1)?.left, of(1)?.depth], [0.5, 1]);
	assert.equal(got.depth, 3);
});

test("a row in focus is as wide as all, and so is what it is inside of", () => {
	const got = boxes(tree, "cpu_total_us", 2, 0.001);
	assert.deepEqual(
		got.list.map((b) => [b.row, b.depth, Math.round(b.width * 100)]),
		[
			[0, 0, 100],
			[2, 1, 100],
			[3, 2, 100],
		],
	);
});

test("boxes that cannot be seen are counted, and more inside than around stays inside", () => {
	const odd = { ...tree, data: [tree.data[0] ?? [], tree.data[1] ?? [], [], [10, 20, 20, 0.01, 0], []] };
	const got = boxes(odd, "cpu_total_us", -1, 0.01);
	assert.equal(got.hidden, 2);
	assert.ok(got.list.every((b) => b.left >= 0 && b.left + b.width <= 1 + 1e-9));
});

test("a frame is the last part of a path", () => {
	assert.equal(frameName(["Net_0", "Net_0/A_0"], [-1, 0], 1), "A_0");
	assert.equal(frameName(["a", "b"], [-1, 0], 1), "b");
});
