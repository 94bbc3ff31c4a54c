import { test } from "node:test";
import assert from "node:assert/strict";
import type { Result, TableData } from "../src/api/types";
import { propNumber, propText, table, tableWith } from "../src/api/table";
import {
	columnViews,
	emptyColumns,
	filterFor,
	filterRows,
	plainLabel,
	sortRows,
	toText,
	Tree,
	wordsOf,
} from "../src/widgets/grid_model";
import { fieldOf, isMatrix } from "../src/widgets/matrix_model";
import { pieces } from "../src/widgets/rich_text";
import { averageOf, stackedIds } from "../src/pages/steps";
import { boxesOf, coresOf, hostLabels, placesOf } from "../src/pages/pod_model";
import { hostFor, hostsInOrder, menuOrder, toolFor } from "../src/pages/choose";
// @ts-expect-error made-up answers are plain JavaScript
import { overviewAnswer, opStatsAnswer, tools } from "./fixtures.mjs";

const T: TableData = {
	name: "t",
	title: "T",
	props: {},
	nrows: 4,
	cols: [
		{ id: "op", label: "Op", type: "str", unit: "" },
		{ id: "us", label: "Time (us)", type: "f64", unit: "us" },
		{ id: "kind", label: "Kind", type: "str", unit: "" },
	],
	data: [
		["fusion.10", "fusion.9", "copy", ""],
		[5, 1, null, 3],
		["Device", "Host", "Device", "Host"],
	],
};

test("rows are filtered by words and by column", () => {
	assert.deepEqual([...filterRows(T, "")], [0, 1, 2, 3]);
	assert.deepEqual([...filterRows(T, "FUSION")], [0, 1]);
	assert.deepEqual([...filterRows(T, "device fusion")], [0]);
	assert.deepEqual([...filterRows(T, "kind:host")], [1, 3]);
	assert.deepEqual([...filterRows(T, "nothing:at")], []);
});

test("a filter made for a value finds it, blanks and all", () => {
	assert.deepEqual(wordsOf('type:"two words" x "a b'), ["type:two words", "x", "a b"]);
	const t = { ...T, data: [["two words", "two", "words two", "x"], T.data[1] ?? [], T.data[2] ?? []] };
	assert.deepEqual([...filterRows(t, filterFor("op", "two words"))], [0]);
	assert.equal(filterFor("op", "plain"), "op:plain");
});

test("sorting is stable, knows numbers in names, and puts empty cells last", () => {
	const all = filterRows(T, "");
	assert.deepEqual([...sortRows(T, all, { col: "op", down: false })], [2, 1, 0, 3]);
	assert.deepEqual([...sortRows(T, all, { col: "us", down: true })], [0, 3, 1, 2]);
	assert.deepEqual([...sortRows(T, all, { col: "us", down: false })], [1, 3, 0, 2]);
	assert.deepEqual([...sortRows(T, all, { col: "kind", down: false })], [0, 2, 1, 3]);
	assert.equal(sortRows(T, all, undefined), all);
});

test("labels do not repeat the unit, cells agree on one", () => {
	for (const [from, to] of [
		["Total time (us)", "Total time"],
		["TensorCore idle (in ms)", "TensorCore idle"],
		["Time (%)", "Time"],
		["#Occurrences", "#Occurrences"],
		["Normalized FLOP Rate (FLOPs/s)", "Normalized FLOP Rate"],
		["f(x)", "f(x)"],
	] as const)
		assert.equal(plainLabel(from), to);
	const v = columnViews(T);
	assert.equal(v[1]?.unit, "µs");
	assert.equal(v[1]?.text(0), "5.000");
	assert.equal(v[1]?.text(2), "");
	assert.equal(toText(T, v, filterRows(T, "copy")), "Op\tTime (us)\tKind\ncopy\t\tDevice\n");
});

test("a column is as wide as what stands in it, in the fonts of the page", () => {
	const t: TableData = {
		name: "t",
		title: "T",
		props: {},
		nrows: 2,
		cols: [
			{ id: "device", label: "Device", type: "str", unit: "" },
			{ id: "wait", label: "Waits for the host (us)", type: "f64", unit: "us" },
		],
		data: [
			["/device:GPU:0", "/host:CPU"],
			[1.5, 20],
		],
	};
	const wide = 11; /* of each letter */
	const v = columnViews(t, (text) => text.length * wide);
	assert.ok((v[0]?.width_px ?? 0) >= "/device:GPU:0".length * wide + 20, `${v[0]?.width_px}`);
	assert.equal(v[1]?.width_px, 220, "no number needs more");
	assert.ok((columnViews(t, (text) => text.length * 6)[1]?.width_px ?? 0) >= "Waits for the host µs".length * 6 + 20);
});

test("of texts with equally many letters the widest has room", () => {
	const col = { id: "kind", label: "Kind", type: "str", unit: "", doc: "" } as const;
	const t: TableData = { name: "t", title: "T", props: {}, cols: [col], nrows: 3, data: [["kernel", "memcpy", "memset"]] };
	const pen = (text: string) => [...text].reduce((sum, c) => sum + (c === "m" ? 14 : 7), 0);
	assert.ok((columnViews(t, pen)[0]?.width_px ?? 0) >= pen("memcpy") + 20);
});

test("hosts are listed as people count them", () => {
	assert.deepEqual(hostsInOrder(["host0", "host1", "host10", "host2", "ALL_HOSTS"]), ["ALL_HOSTS", "host0", "host1", "host2", "host10"]);
});

test("hosts of one name are told apart, and one without a name is named", () => {
	assert.deepEqual(hostLabels(["vm", "vm", "other"]), ["vm (1)", "vm (2)", "other"]);
	assert.deepEqual(hostLabels([""]), ["host"]);
});

test("of numbers of things a negative one is none: its cell is empty, and a column of them has no content", () => {
	const t: TableData = {
		name: "t",
		title: "T",
		props: {},
		nrows: 2,
		cols: [
			{ id: "device", label: "Device", type: "i64", unit: "", role: "id" },
			{ id: "last", label: "Last", type: "i64", unit: "", role: "id" },
			{ id: "delta", label: "Delta", type: "i64", unit: "" },
			{ id: "kernels", label: "Kernels", type: "i64", unit: "", role: "part" },
			{ id: "host", label: "Host", type: "i64", unit: "", role: "part" },
		],
		data: [
			[-1, 0],
			[-1, -1],
			[-1, -1],
			[0, 0],
			[0, 1],
		],
	};
	const v = columnViews(t);
	assert.deepEqual(v.map((c) => [c.text(0), c.text(1)]).slice(0, 3), [
		["", "0"],
		["", ""],
		["−1", "−1"],
	]);
	assert.deepEqual([...emptyColumns(t)], ["last", "kernels"]);
});

test("a copy names the unit of its full values", () => {
	const col = (id: string, unit: TableData["cols"][number]["unit"], label = id) => ({ id, label, type: "f64" as const, unit });
	const t: TableData = {
		name: "t",
		title: "T",
		props: {},
		nrows: 1,
		cols: [col("Total", "ps"), col("Share", "frac"), col("Calls", "count"), col("t", "us", "Time (us)")],
		data: [[94_140_000_000], [0.25], [2], [3]],
	};
	assert.equal(toText(t, columnViews(t), Uint32Array.of(0)), "Total (ps)\tShare (fraction)\tCalls\tTime (us)\n94140000000\t0.25\t2\t3\n");
});

test("a hundred thousand rows are filtered and sorted", () => {
	const t = table(opStatsAnswer("r", "h", 100_000) as Result, "ops") as TableData;
	const rows = sortRows(t, filterRows(t, "softmax"), { col: "total_self_time", down: true });
	assert.equal(rows.length, 10_000);
	const k = t.cols.findIndex((c) => c.id === "total_self_time");
	for (let i = 1; i < rows.length; i++)
		assert.ok((t.data[k]?.[rows[i] ?? 0] as number) <= (t.data[k]?.[rows[i - 1] ?? 0] as number));
});

test("only links to the web and to tools come out of the server's sentences", () => {
	const names = ["framework_op_stats", "trace_viewer@"];
	assert.deepEqual(
		pieces(`see <a href="https://x.org/a?b=1&amp;c" target="_blank">this &amp; that</a>, trace_viewer (top)`, names),
		[
			{ text: "see " },
			{ text: "this & that", href: "https://x.org/a?b=1&c" },
			{ text: ", " },
			{ text: "trace_viewer", tool: "trace_viewer@" },
			{ text: " (top)" },
		],
	);
	assert.deepEqual(pieces(`<a href="javascript:alert(1)">x</a>`, names), [{ text: "x" }]);
	assert.deepEqual(pieces("<img src=x onerror=y> <b>bold</b>", names), [{ text: "<img src=x onerror=y> <b>bold</b>" }]);
	assert.deepEqual(pieces("no_such_tool here", names), [{ text: "no_such_tool here" }]);
	assert.deepEqual(pieces("docs/tools/trace_viewer.md", names), [{ text: "docs/tools/trace_viewer.md" }]);
});

test("a result is read by names, and what is absent stays absent", () => {
	const r = overviewAnswer("r", "h") as Result;
	const steps = table(r, "steps") as TableData;
	assert.equal(propText(steps, "no_such"), "");
	assert.equal(propNumber(steps, "no_such"), undefined);
	assert.equal(propNumber({ ...steps, props: { x: { label: "", unit: "", value: null, text: "12.5%" } } }, "x"), 12.5);
	assert.equal(tableWith(r, "percentile")?.name, "inference_latency");
	assert.deepEqual(stackedIds(steps), [
		"tcComputeTimeMs",
		"tcInfeedTimeMs",
		"tcOutfeedTimeMs",
		"tcIdleTimeMs",
		"hostTransferTimeMs",
	]);
	for (const id of stackedIds(steps)) assert.ok(averageOf(steps, id) !== undefined, id);
});

test("averages of steps are found for every kind of device", () => {
	const props: TableData["props"] = {};
	const pairs: [string, string][] = [
		["deviceComputeTimeMs", "device_compute_time_ms_avg"],
		["kernelLaunchTimeMs", "kernel_launch_time_ms_avg"],
		["infeedTimeMs", "infeed_time_ms_avg"],
		["otherTimeMs", "other_time_ms_avg"],
		["deviceToDeviceTimeMs", "device_to_device_time_ms_avg"],
		["hostComputeTimeMs", "host_compute_time_ms_avg"],
		["scv0ComputeTimeMs", "scv0_compute_ms_average"],
		["hostTransferTimeMs", "host_transfer_ms_average"],
		["tcIdleTimeMs", "tc_idle_ms_average"],
	];
	pairs.forEach(([, p], i) => {
		props[p] = { label: "", unit: "ms", value: i + 1, text: "" };
	});
	const t: TableData = { name: "steps", title: "", cols: [], nrows: 0, data: [], props };
	pairs.forEach(([id], i) => assert.equal(averageOf(t, id), i + 1, id));
});

test("the menu begins with the answer and forgets no tool", () => {
	const names = (list: { name: string }[]) => list.map((t) => t.name);
	const some = ["zeta", "trace_viewer@", "overview_page", "alpha"].map((name) => ({ ...tools[0], name }));
	assert.deepEqual(names(menuOrder(some)), ["overview_page", "trace_viewer@", "zeta", "alpha"]);
});

test("tool and host are those asked for, or sensible ones", () => {
	assert.equal(toolFor(tools, "")?.name, "overview_page");
	assert.equal(toolFor(tools, "trace_viewer")?.name, "trace_viewer@");
	assert.equal(toolFor(tools, "nonsense"), undefined);
	assert.equal(hostFor(tools[0], "host0"), "host0");
	assert.equal(hostFor(tools[0], "gone"), "ALL_HOSTS");
	assert.equal(hostFor({ ...tools[0], preset_host: "host0" }, ""), "host0");
	assert.equal(hostFor({ ...tools[0], preset_host: "host0" }, "ALL_HOSTS"), "ALL_HOSTS");
	assert.equal(hostFor(tools[3], ""), "host0");
});

const FOREST: TableData = {
	name: "t",
	title: "",
	props: {},
	nrows: 7,
	cols: [
		{ id: "parent", label: "", type: "i64", unit: "" },
		{ id: "name", label: "Name", type: "str", unit: "" },
		{ id: "us", label: "", type: "f64", unit: "us" },
	],
	data: [
		[-1, 0, 0, 1, -1, 6, 5],
		["root", "b", "a", "leaf", "other", "loop1", "loop2"],
		[9, 1, 2, 1, 3, 0, 0],
	],
};

test("a tree opens by row, sorts among siblings, and a filter opens what it finds", () => {
	const t = new Tree(FOREST);
	const names = (open: number[], filter = "", sort?: { col: string; down: boolean }) =>
		[...t.visible(filter, sort, new Set(open)).rows].map((r) => String(FOREST.data[1]?.[r]));
	assert.deepEqual(names([]).slice(0, 2), ["root", "other"]);
	assert.deepEqual(names([0]).slice(0, 4), ["root", "b", "a", "other"]);
	assert.deepEqual(names([0], "", { col: "name", down: false }).slice(-3), ["root", "a", "b"]);
	assert.deepEqual(names([], "leaf"), ["root", "b", "leaf"]);
	assert.deepEqual([...t.visible("leaf", undefined, new Set()).depth], [0, 1, 2]);
	assert.ok(names([0, 1, 4, 5, 6]).length <= 8, "rows that contain themselves do not hang the page");
	assert.ok(names([5, 6]).includes("loop1") || names([5, 6]).includes("loop2"));
});

test("a step whose number repeats has a column for each round", () => {
	const t: TableData = {
		name: "matrix",
		title: "Steps by Host",
		props: {},
		nrows: 4,
		cols: [
			{ id: "step_num", label: "Step", type: "i64", unit: "" },
			{ id: "host", label: "Host", type: "str", unit: "" },
			{ id: "step_us", label: "Step (us)", type: "f64", unit: "us" },
			{ id: "round", label: "Round", type: "i64", unit: "" },
		],
		data: [
			[7, 8, 7, 7],
			["a", "a", "a", "b"],
			[1, 2, 3, 4],
			[0, 0, 1, 1],
		],
	};
	assert.ok(isMatrix(t));
	const f = fieldOf(t);
	assert.deepEqual(f.steps, [
		{ num: 7, round: 0 },
		{ num: 8, round: 0 },
		{ num: 7, round: 1 },
	]);
	assert.deepEqual([...f.value], [1, 2, 3, NaN, NaN, 4]);
	const plain: TableData = { ...t, cols: t.cols.slice(0, 3), data: t.data.slice(0, 3) };
	assert.ok(isMatrix(plain));
	assert.deepEqual(fieldOf(plain).steps.map((s) => s.num), [7, 8]);
});

test("a pod of many cores is read once, row by row", () => {
	const n = 20_000;
	const ids = Array.from({ length: n }, (_, i) => 1000 * i + 2);
	const of = (name: string, columns: Record<string, (string | number)[]>): TableData => ({
		name,
		title: name,
		props: {},
		nrows: n,
		cols: Object.entries(columns).map(([id, v]) => ({ id, label: id, type: typeof v[0] === "string" ? "str" : "f64", unit: "" })),
		data: Object.values(columns),
	});
	const host_name = ids.map((_, i) => `host${i}`);
	const fill = (v: number) => ids.map(() => v);
	const cores = of("cores", { step_num: fill(10), core_id: ids, host_name, total_us: fill(5), bottleneck: ids.map(() => "Device compute"), device_compute_us: fill(4) });
	const topology = of("topology", { core_id: ids, host_name, global_chip_id: ids, local_chip_id: fill(0), core_num: fill(0), device_ordinal: fill(0), replica_id: fill(-1) });
	const begin = performance.now();
	const places = placesOf({ tables: [cores, topology] } as unknown as Result);
	const boxes = boxesOf(places);
	const shown = coresOf(cores, 10);
	/* Column by column for each row it took more than 10 s. */
	assert.ok(performance.now() - begin < 2000);
	assert.equal(boxes.length, n);
	assert.deepEqual(boxes[1], { host: "host1", chips: [{ chip: 1002, cores: [{ core: 1002, host: "host1", chip: 1002, core_on_chip: 0, replica: -1 }] }] });
	assert.deepEqual(shown[1], { id: 1002, host: "host1", total_us: 5, bottleneck: "Device compute", parts: { device_compute_us: 4 } });
});
