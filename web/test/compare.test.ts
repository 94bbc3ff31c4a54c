import { test } from "node:test";
import assert from "node:assert/strict";
import { alone, firstRunSteps, histogram, namesOfRow, rowOfName, stepPoints, waterfall } from "../src/pages/compare_model";
import type { TableData } from "../src/api/types";

function tableOf(ids: string[], rows: (string | number | boolean)[][]): TableData {
	return {
		name: "t",
		title: "",
		props: {},
		cols: ids.map((id) => ({ id, label: id, type: "f64", unit: "" })),
		nrows: rows.length,
		data: ids.map((_, c) => rows.map((r) => r[c] ?? null)),
	};
}

test("each bar of the waterfall begins where the last ended", () => {
	const t = tableOf(
		["component", "base_us", "new_us", "significant"],
		[
			["compute", 100, 130, true],
			["copies", 0, 0, false],
			["host", 50, 45, false],
		],
	);
	const bars = waterfall(t);
	assert.deepEqual(
		bars.map((b) => [b.name, b.from, b.to, b.significant]),
		[
			["base", 150, 150, true],
			["compute", 150, 180, true],
			["host", 180, 175, false],
			["new", 175, 175, true],
		],
	);
});

test("of very many steps some are drawn, and all outliers", () => {
	const rows = Array.from({ length: 10000 }, (_, i) => ["base", i, 0, 5, i === 7777]);
	const points = stepPoints(tableOf(["side", "step", "run", "duration_us", "outlier"], rows), "base");
	assert.ok(points.length <= 2001 && points.some((p) => p.step === 7777 && p.outlier));
	assert.equal(stepPoints(tableOf(["side"], []), "new").length, 0);
});

test("distributions are shares of a side's steps", () => {
	const points = [10, 10, 14, 20].map((us, step) => ({ us, run: 0, step, outlier: false }));
	assert.deepEqual(histogram(points, 10, 20, 2), [0.75, 0.25]);
	assert.deepEqual(histogram(points.slice(0, 2), 10, 10, 3), [1, 0, 0]);
});

test("the timeline of a side shows its first run", () => {
	const t = tableOf(
		["side", "run", "step", "begin_us", "duration_us", "outlier"],
		[
			["base", 0, 4, 1.5, 10, false],
			["base", 1, 4, 2.5, 10, false],
			["new", 0, 9, 3, 12, true],
		],
	);
	assert.deepEqual(firstRunSteps(t, "base"), [{ num: 4, begin_ps: 1.5e6, us: 10, outlier: false }]);
	assert.deepEqual(firstRunSteps(t, "new"), [{ num: 9, begin_ps: 3e6, us: 12, outlier: true }]);
});

test("events find their row, and rows their events", () => {
	const t = tableOf(
		["match", "base_name", "new_name", "base_path", "new_path"],
		[
			["split", "fusion.3", "fusion.3 + fusion.31", "a/dot", "a/dot + a/tanh"],
			["added", "", "sort.1", "", "a/sort"],
			["removed", "fusion.9", "", "", ""],
		],
	);
	assert.deepEqual([...namesOfRow(t, "new", 0)], ["fusion.3", "fusion.31", "a/dot", "a/tanh"]);
	assert.deepEqual([...namesOfRow(t, "base", 1)], []);
	assert.equal(rowOfName(t, "new", "fusion.31"), 0);
	assert.equal(rowOfName(t, "base", "fusion.31"), null);
	assert.deepEqual([...alone(t, "base")], ["fusion.9"]);
	assert.deepEqual([...alone(t, "new")], ["sort.1"]);
});
