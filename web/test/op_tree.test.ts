/* op_tree.test.ts - which rows of the tree are shown, and tensors out of a layout's text. */
import { test } from "node:test";
import assert from "node:assert/strict";
import type { TableData } from "../src/api/types";
import { plainName, shownTree, tensorsOf } from "../src/pages/op_tree";

function tree(rows: [parent: number, name: string, op: boolean, time: number, children: number][]): TableData {
	const col = (id: string, type: "i64" | "f64" | "str" | "bool") => ({ id, label: id, type, unit: "" as const });
	return {
		name: "t",
		title: "",
		props: {},
		cols: [col("parent", "i64"), col("name", "str"), col("is_op", "bool"), col("time_ps", "f64"), col("children", "i64")],
		nrows: rows.length,
		data: [0, 1, 2, 3, 4].map((k) => rows.map((r) => r[k] as number | string | boolean)),
	};
}

const T = tree([
	[-1, "root", false, 100, 2],
	[0, "fusion", false, 90, 5],
	[1, "a", true, 50, 1],
	[2, "inside", true, 0, 0],
	[1, "b", true, 30, 0],
	[1, "c", true, 10, 0],
	[0, "copy", false, 10, 1],
	[6, "d", true, 10, 0],
]);
const names = (most: number, share: number, down = true) => {
	const s = shownTree(T, { col: "time_ps", down }, { most, share });
	return { names: s.table.data[1], parents: s.table.data[0], rows: s.row };
};

test("the root is not shown, and all others are under their parents", () => {
	const s = names(100, 1);
	assert.deepEqual(s.names, ["fusion", "a", "inside", "b", "c", "2 more", "copy", "d"]);
	assert.deepEqual(s.parents, [-1, 0, 1, 0, 0, 0, -1, 6]);
	assert.deepEqual(s.rows, [1, 2, 3, 4, 5, -1, 6, 7]);
});

test("only the first operations of a category, categories all", () => {
	assert.deepEqual(names(1, 1).names, ["fusion", "a", "inside", "4 more", "copy", "d"]);
	assert.deepEqual(names(100, 0.5).names, ["fusion", "a", "inside", "4 more", "copy", "d"]);
	assert.deepEqual(names(100, 1, false).names, ["copy", "d", "fusion", "c", "b", "a", "inside", "2 more"]);
});

test("names without what is said about copies", () => {
	assert.equal(plainName("fusion.2 and its duplicate(s)"), "fusion.2");
	assert.equal(plainName("fusion.2"), "fusion.2");
});

test("tensors of a layout", () => {
	assert.deepEqual(tensorsOf("result f32 3/128 16/16; operand 1 bf16 64/128"), [
		{
			title: "result",
			type: "f32",
			dims: [
				{ size: 3, padded: 128 },
				{ size: 16, padded: 16 },
			],
		},
		{ title: "operand 1", type: "bf16", dims: [{ size: 64, padded: 128 }] },
	]);
	assert.deepEqual(tensorsOf(""), []);
	assert.deepEqual(tensorsOf("nonsense; result f32"), []);
});
