import assert from "node:assert/strict";
import { test } from "node:test";
import { filled, tableOf, viewOf } from "../src/pages/sql_model";
import { sortRows } from "../src/widgets/grid_model";

test("rows become a table by column, with units from the names", () => {
	const t = tableOf({ columns: ["name", "sum_ps", "start_ns", "mixed"], rows: [["a", 5, 7, 1], ["b", null, 8, "x"]], truncated: false });
	assert.deepEqual(t.cols.map((c) => c.unit), ["", "ps", "", ""]);
	assert.deepEqual(t.data, [["a", "b"], [5, null], [7, 8], [1, "x"]]);
	assert.equal(t.nrows, 2);
	assert.equal(tableOf({ columns: ["x_ps"], rows: [], truncated: false }).nrows, 0);
});

test("integers beyond 2^53 stay exact, and in their order", () => {
	const t = tableOf({ columns: ["id", "n"], rows: [["-6054235170256671229", 1], [7, 2], ["9007199254740993", 3], ["-9007199254740995", 4]], truncated: false });
	assert.deepEqual(t.cols.map((c) => c.type), ["str", "f64"]);
	assert.deepEqual(t.data[0], ["-6054235170256671229", "7", "9007199254740993", "-9007199254740995"]);
	assert.deepEqual([...sortRows(t, Uint32Array.from([0, 1, 2, 3]), { col: "id", down: false })], [0, 3, 1, 2]);
	assert.equal(viewOf({ start_ps: "9007199254740993", dur_ps: 4e6 }, 0), "9007199252740992-9007199260740992");
});

test("a question with a name has its values in it", () => {
	assert.equal(filled({ sql: "SELECT :a, :b, ':c', x::d", values: { a: "12", b: "it's" } }), "SELECT 12, 'it''s', ':c', x::d");
});

test("a row with a start is a stretch of the timeline, with a margin", () => {
	assert.equal(viewOf({ start_ps: 1e6, dur_ps: 4e6 }, 1e7), "9000000-17000000");
	assert.equal(viewOf({ start_ps: 1e6, end_ps: 5e6 }, 1e7), "9000000-17000000");
	assert.equal(viewOf({ ps: 0 }, 0), "0-1500000");
	assert.equal(viewOf({ start_ps: "x" }, 0), undefined);
	assert.equal(viewOf({ name: "x" }, 0), undefined);
});
