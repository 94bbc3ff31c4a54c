import { test } from "node:test";
import assert from "node:assert/strict";
import { stepPoints, waterfall } from "../src/pages/compare_model";
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
