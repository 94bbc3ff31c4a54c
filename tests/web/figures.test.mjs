/*
 * figures.test.mjs - the pages of bars: requests to a served model, transfers between slices, hardware counters and what they say of units.
 */
import { test } from "node:test";
import assert from "node:assert/strict";
import { q, real } from "./lib.mjs";
import { format } from "./format.mjs";
import { cells, harness, inUrl, settled, tableOf } from "./harness.mjs";

const h = harness();
const skip = { skip: !real && "made-up answers have no such tables" };
const texts = (page, selector) => page.$$eval(selector, (l) => l.map((x) => x.textContent));
const ms = (v) => format.time_ps(v * 1e9);

test("inference: latency by percentile, parts, batches", skip, async () => {
	const { run, a } = await h.runWith("inference_profile", (x) => tableOf(x, "batches_0")?.nrows > 1);
	const t = tableOf(a, "requests_0");
	await h.visit({ run, tool: "inference_profile" }, {}, async (page) => {
		assert.equal(await page.textContent('[data-prop="averageLatencyMs"]'), ms(t.props.averageLatencyMs.value));
		assert.equal(await page.textContent('[data-prop="throughput"]'), format.significant(t.props.throughput.value, 4));
		const card = 'section[aria-label="Requests"]';
		assert.deepEqual(await texts(page, `${card} .parts-total`), cells(t, "latency_ms").map(ms));
		/* A bar's parts have the lengths of the table's columns, on one scale. */
		const widths = await page.$$eval(`${card} .parts-row:first-child .parts-part`, (l) => l.map((x) => [x.title.split(":")[0], parseFloat(x.style.width)]));
		const sum = widths.reduce((s, [, w]) => s + w, 0);
		const part = Object.fromEntries(widths);
		const all = ["host_preprocessing", "host_batch_formation", "host_runtime", "data_transfer_h2d", "device_compute", "data_transfer_d2h", "host_postprocess", "idle time"];
		const total = all.reduce((s, id) => s + (cells(t, id)[0] ?? 0), 0);
		assert.ok(Math.abs(part["Host preprocess"] / sum - cells(t, "host_preprocessing")[0] / total) < 1e-3);
		assert.deepEqual(await texts(page, 'section[aria-label="Batches"] .parts-total'), cells(tableOf(a, "batches_0"), "latency").map(ms));
		const label = t.cols.find((c) => c.id === "device_compute").label;
		await page.locator(card).getByLabel("Percentiles of").selectOption(label);
		await settled(page);
		assert.equal(inUrl(page, "request_column"), label);
	});
	await h.both({ run, tool: "inference_profile" }, "inference");
	const two = await h.runWith("inference_profile", (x) => tableOf(x, "models")?.nrows > 1);
	const names = cells(tableOf(two.a, "models"), "model_name");
	await h.visit({ run: two.run, tool: "inference_profile" }, {}, async (page) => {
		await page.getByLabel("Model").selectOption(names[1]);
		assert.equal(inUrl(page, "model"), names[1]);
		assert.equal(await page.textContent('[data-prop="throughput"]'), format.significant(tableOf(two.a, "requests_1").props.throughput.value, 4));
	});
});

test("megascale: the worst transfer, slack and stall, the trace", skip, async () => {
	const { run, a } = await h.runWith("megascale_stats", (x) => x.tables[0]?.nrows > 1, { host: "ALL_HOSTS" });
	const t = a.tables[0];
	const order = cells(t, "total_stall")
		.map((v, i) => [v, i])
		.sort((x, y) => y[0] - x[0] || x[1] - y[1])
		.map(([, i]) => i);
	await h.visit({ run, tool: "megascale_stats", host: "ALL_HOSTS" }, {}, async (page) => {
		assert.deepEqual(await texts(page, ".parts-label"), order.map((i) => cells(t, "rendezvous_name")[i]));
		assert.deepEqual(await texts(page, ".parts-total"), order.map((i) => ms(cells(t, "stall_duration")[i])));
		const href = await page.getAttribute('section[aria-label="Trace for Perfetto"] a', "href");
		const bytes = new Uint8Array(await (await fetch(h.server.base + href)).arrayBuffer());
		assert.ok(bytes.length > 100, "a trace");
		await page.locator(".grid-space a").first().click();
		await page.waitForSelector(".graph-node");
	});
	await h.both({ run, tool: "megascale_stats", host: "ALL_HOSTS" }, "megascale");
});

test("perf counters: values, units and sets as filters", skip, async () => {
	const { run, a } = await h.runWith("perf_counters", (x) => x.tables[0]?.nrows > 10);
	const t = a.tables[0];
	await h.visit({ run, tool: "perf_counters" }, {}, async (page) => {
		assert.ok((await page.textContent(".verdict-text")).includes(a.conclusion.text));
		const row = () => texts(page, ".grid-space .grid-row:first-child .grid-cell");
		assert.deepEqual((await row()).slice(1, 4), [cells(t, "Counter")[0], format.count(cells(t, "Value")[0]), format.hex(cells(t, "Value")[0])]);
		const set = cells(t, "Set")[0].split(" ")[0];
		await page.locator(`.pill:has-text("${set}")`).first().click();
		assert.equal(inUrl(page, "filter"), `set:${set}`);
		const fit = cells(t, "Set").filter((s) => s.includes(set)).length;
		await page.waitForFunction((n) => document.querySelector(".grid-bar [role=status]").textContent.startsWith(n), format.count(fit));
	});
	await h.both({ run, tool: "perf_counters" }, "perf_counters");
});

test("utilization: every unit of every core, by family", skip, async () => {
	const { run, a } = await h.runWith("utilization_viewer", (x) => x.tables[0]?.nrows > 10);
	const t = a.tables[0];
	const first = (i) => ["host", "device", "sample"].every((id) => cells(t, id)[i] === cells(t, id)[0]);
	await h.visit({ run, tool: "utilization_viewer" }, {}, async (page) => {
		const shown = await texts(page, ".use-text");
		const all = cells(t, "utilization_frac").filter((_, i) => first(i));
		assert.equal(shown.length, all.length);
		assert.deepEqual([...shown].sort(), all.map((v) => format.percent(v * 100)).sort());
		const cell = await page.$$eval("tr", (l) => l.filter((r) => r.querySelector("th")?.textContent === "Scalar Unit").map((r) => r.querySelector(".use-text").textContent)[0]);
		assert.equal(cell, format.percent(cells(t, "utilization_frac")[cells(t, "name").indexOf("Scalar Unit")] * 100));
	});
	await h.both({ run, tool: "utilization_viewer" }, "utilization_viewer");
});

test("kernel utilization: types of numbers and units of a kernel", skip, async () => {
	const { run, a } = await h.runWith("kernel_utilization", (x) => tableOf(x, "kernels")?.nrows > 0);
	const metrics = tableOf(a, "metrics");
	await h.visit({ run, tool: "kernel_utilization" }, {}, async (page) => {
		const mine = cells(metrics, "percent").filter((_, i) => cells(metrics, "kernel")[i] < 4);
		assert.deepEqual((await texts(page, ".use-text")).sort(), mine.map((v) => format.percent(v)).sort());
	});
	await h.both({ run, tool: "kernel_utilization" }, "kernel_utilization");
});

test("a tool without data says so, and the address of the trace says why it failed", skip, async () => {
	const { run } = await h.runWith("megascale_stats", (x) => x.tables[0]?.nrows === 0);
	await h.visit({ run, tool: "megascale_stats" }, {}, async (page) => {
		assert.ok((await page.textContent("main")).length > 20);
	});
	const res = await fetch(`${h.server.base}data/plugin/profile/data?${q({ run: "no_such_run", tag: "megascale_stats", perfetto: "true" })}`);
	assert.ok(res.status >= 400);
});
