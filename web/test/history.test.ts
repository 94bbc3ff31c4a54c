import { test } from "node:test";
import assert from "node:assert/strict";
import { levelsOf, runOf, seriesOf } from "../src/pages/history_model";
import type { Run, TableData } from "../src/api/types";

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

test("series are told apart by metric and program, levels by changes", () => {
	const figures = tableOf(
		["run", "series", "metric", "unit", "value"],
		[
			[1, "a", "step_time", "us", 5],
			[2, "a", "step_time", "us", 7],
			[4, "a", "step_time", "us", 7],
			[3, "b", "step_time", "us", 9],
		],
	);
	const changes = tableOf(["series", "metric", "run", "before", "after", "worse"], [["a", "step_time", 2, 5, 7, true]]);
	const [a, b] = seriesOf(figures, changes);
	assert.deepEqual(a?.points.map((p) => p.value), [5, 7, 7]);
	assert.deepEqual(levelsOf(a!), [
		{ from: 0, to: 0, value: 5, worse: null },
		{ from: 1, to: 2, value: 7, worse: true },
	]);
	assert.equal(b?.changes.length, 0);
	assert.deepEqual(levelsOf(b!), []);
});

test("a path of the history means a run, or none", () => {
	const runs = ["/srv/logs/plugins/profile/r1", "/srv/logs/plugins/profile/r10"].map(
		(path): Run => ({ run: path.split("/").pop() ?? "", path, time_s: 0, bytes: 0, hosts: [] }),
	);
	assert.equal(runOf(runs, "/srv/logs/plugins/profile/r1"), "r1");
	assert.equal(runOf(runs, "./plugins/profile/r10/"), "r10");
	assert.equal(runOf(runs, "/srv/logs/plugins/profile/r1/host0.xplane.pb"), "r1");
	assert.equal(runOf(runs, "logs/plugins/profile/r10/host0.xplane.pb"), "r10");
	assert.equal(runOf(runs, "/srv/logs"), undefined);
	assert.equal(runOf(runs, "elsewhere/r1"), undefined);
	assert.equal(runOf(runs, ""), undefined);
});
