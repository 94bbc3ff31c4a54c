/*
 * memory.test.mjs - the pages of memory and of limits: a program's buffers over its order and its addresses, what allocators did, and the
 * roofline.
 */
import { test } from "node:test";
import assert from "node:assert/strict";
import { api, q, real } from "./lib.mjs";
import { format } from "./format.mjs";
import { cells, harness, inUrl, settled, tableOf } from "./harness.mjs";

const h = harness();
const skip = { skip: !real && "made-up answers have no such tables" };
const field = (page, id) => page.textContent(`[data-field="${id}"]`);

test("memory viewer: peak, buffers, and the nine fields of one", skip, async () => {
	const { run, a } = await h.runWith("memory_viewer", (x) => tableOf(x, "peak")?.nrows > 3 && tableOf(x, "blocks").nrows > 5);
	const peak = tableOf(a, "peak");
	const props = tableOf(a, "timeline").props;
	await h.visit({ run, tool: "memory_viewer" }, {}, async (page) => {
		for (const [id, text] of await page.$$eval("[data-prop]", (l) => l.map((e) => [e.dataset.prop, e.textContent])))
			assert.equal(text, format.bytes(props[id].value), id);
		const row = cells(peak, "by_size").indexOf(0);
		assert.ok((await page.textContent(".verdict-text")).includes(cells(peak, "name")[row]));
		/* By size: the largest stands first; pointing fills the card. */
		const blocks = page.locator('[aria-label="Buffers at the peak, by size"] .block');
		assert.equal(await blocks.count(), peak.nrows);
		await blocks.first().hover();
		for (const id of ["size_bytes", "unpadded_bytes", "padding_bytes"]) assert.equal(await field(page, id), format.bytes(cells(peak, id)[row]), id);
		assert.equal(await field(page, "expansion"), `${format.significant(cells(peak, "expansion")[row])} ×`);
		for (const id of ["opcode", "shape", "category"]) assert.equal(await field(page, id), cells(peak, id)[row], id);
		assert.equal(await page.textContent('section[aria-label="Buffer"] h2'), ` ${cells(peak, "name")[row]}`);
		const links = await page.$$eval('section[aria-label="Buffer"] .event-links a', (l) => l.map((x) => x.textContent));
		assert.ok(links.includes("Graph"), links.join());
	});
	await h.both({ run, tool: "memory_viewer" }, "memory_viewer");
});

test("memory viewer: allocations over the program", skip, async () => {
	const { run, a } = await h.runWith("memory_viewer", (x) => tableOf(x, "blocks")?.nrows > 5);
	const t = tableOf(a, "blocks");
	const life = tableOf(a, "spans");
	const drawn = (page) => page.evaluate(() => Number(document.querySelector(".map-canvas").dataset.drawn));
	await h.visit({ run, tool: "memory_viewer" }, {}, async (page) => {
		await page.waitForFunction(() => Number(document.querySelector(".map-canvas")?.dataset.drawn) > 0);
		const all = await drawn(page);
		assert.ok(all <= t.nrows);
		/* Found by name, kept, and shown in the card with its life and its address. */
		const at = cells(t, "buffer_id").findIndex((id) => id >= 0);
		const name = cells(t, "name")[at];
		await page.fill('[aria-label="Find a buffer"]', name);
		await page.press('[aria-label="Find a buffer"]', "Enter");
		await page.waitForSelector('[data-field="offset_bytes"]');
		const id = cells(t, "buffer_id")[cells(t, "name").findIndex((n, i) => cells(t, "buffer_id")[i] >= 0 && n.toLowerCase().includes(name.toLowerCase()))];
		const span = cells(life, "buffer_id").indexOf(id);
		const text = await field(page, "life");
		for (const side of ["begin", "end"]) assert.ok(text.includes(format.count(cells(life, side)[span])), text);
		/* Zoomed to it, with the next frame, which may come later than the card; 0 shows all. */
		await page.waitForFunction((n) => Number(document.querySelector(".map-canvas").dataset.drawn) < n, all);
		await page.locator(".map-canvas").focus();
		await page.keyboard.press("0");
		await page.waitForFunction((n) => Number(document.querySelector(".map-canvas").dataset.drawn) === n, all);
		/* As large as the window, by a link, and back. */
		const large = (is) => page.waitForFunction((v) => new URLSearchParams(location.search).get("view_memory_allocation_timeline") === v, is);
		await page.click('[aria-label="Larger panel"]');
		await large("1");
		const box = await page.locator(".map-card").boundingBox();
		assert.deepEqual([box.width, box.height], [1280, 720]);
		await page.keyboard.press("Escape");
		await large(null);
	});
	await h.both({ run, tool: "memory_viewer", view_memory_allocation_timeline: 1 }, "memory_viewer-allocations");
});

test("memory profile: summary, time, what is there at the peak", skip, async () => {
	const { run, a } = await h.runWith("memory_profile", (x) => tableOf(x, "allocators")?.nrows > 1);
	const all = tableOf(a, "allocators");
	const say = { capacity_bytes: format.bytes, peak_bytes: format.bytes, stack_bytes: format.bytes, heap_bytes: format.bytes, free_bytes: format.bytes, allocations: format.count, deallocations: format.count, peak_time_ps: format.time_ps };
	const summary = async (page, row) => {
		for (const [id, as] of Object.entries(say)) assert.equal(await page.textContent(`[data-memory="${id}"]`), as(cells(all, id)[row]), id);
		assert.equal(await page.textContent('[data-memory="fragmentation_frac"]'), format.percent(cells(all, "fragmentation_frac")[row] * 100));
	};
	await h.visit({ run, tool: "memory_profile" }, {}, async (page) => {
		await summary(page, 0);
		await page.locator(".verdict select").selectOption(cells(all, "memory_id")[1]);
		assert.equal(inUrl(page, "memory"), cells(all, "memory_id")[1]);
		await summary(page, 1);
		const mine = cells(tableOf(a, "breakdown"), "memory_id").filter((m) => m === cells(all, "memory_id")[1]).length;
		assert.ok((await page.textContent('section[aria-label="Memory at the peak"] [role=status]')).startsWith(format.count(mine)));
	});
	const named = await h.runWith("memory_profile", (x) => cells(tableOf(x, "breakdown"), "tf_op").some((n) => n.includes("/")));
	await h.visit({ run: named.run, tool: "memory_profile" }, {}, async (page) => {
		await page.locator('section[aria-label="Memory at the peak"] .grid-space a').first().click();
		await settled(page);
		assert.equal(inUrl(page, "tool"), "framework_op_stats");
	});
	await h.both({ run: named.run, tool: "memory_profile" }, "memory_profile");
});

test("roofline: points, zoom, and the table they are drawn from", skip, async () => {
	const works = (t) => cells(t, "step").filter((s, i) => s === "Total" && cells(t, "include_infeed_outfeed")[i] && cells(t, "operational_intensity")[i] > 0 && cells(t, "measured_flop_rate")[i] > 0).length;
	const { run, a } = await h.runWith("roofline_model", (x) => x.tables.some((t) => t.cols.some((c) => c.id === "measured_flop_rate") && works(t) > 5));
	const t = a.tables.find((x) => x.cols.some((c) => c.id === "measured_flop_rate"));
	await h.visit({ run, tool: "roofline_model" }, {}, async (page) => {
		assert.ok((await page.textContent(".verdict-text")).includes(a.conclusion.text));
		assert.equal(await page.locator(".point").count(), works(t));
		const grid = (same, text) =>
			page.waitForFunction(([s, t]) => ([...document.querySelectorAll(".axes text")].map((x) => x.textContent).join() === t) === s, [same, text]);
		const before = await page.$$eval(".axes text", (l) => l.map((x) => x.textContent).join());
		await page.locator(".plot > svg").focus();
		for (let i = 0; i < 3; i++) await page.keyboard.press("+");
		await grid(false, before);
		await page.click('.plot [aria-label="Show all"]');
		await grid(true, before);
		/* A row of the table points at its circle, and the other way round; a click keeps it. */
		const name = cells(t, "operation").find((n, i) => cells(t, "step")[i] === "Total" && cells(t, "category")[i] !== "Program");
		const row = page.locator(".grid-space .grid-row", { hasText: name }).first();
		await row.locator(".grid-cell").first().click();
		await page.waitForFunction((n) => document.querySelector('section[aria-label="Operation"] h2')?.textContent === n, name);
		const i = cells(t, "operation").findIndex((n, k) => n === name && cells(t, "step")[k] === "Total");
		assert.equal(await field(page, "total_self_time"), format.quantity(cells(t, "total_self_time")[i], t.cols.find((c) => c.id === "total_self_time").unit));
		const kinds = [...new Set(cells(t, "category"))].filter((c) => c !== "Program");
		await page.locator("label.field", { hasText: "Category" }).locator("select").selectOption(kinds[0]);
		assert.equal(inUrl(page, "category"), kinds[0]);
	});
	await h.both({ run, tool: "roofline_model" }, "roofline");
});

test("roofline: each operation stands once, with or without infeed and outfeed", skip, async () => {
	const feeds = (x) => tableOf(x, "records")?.nrows && cells(tableOf(x, "records"), "include_infeed_outfeed").includes(false);
	const { run, a } = await h.runWith("roofline_model", feeds);
	const t = tableOf(a, "records");
	const rows = (fed) => cells(t, "step").filter((s, i) => s === "Total" && cells(t, "include_infeed_outfeed")[i] === fed).length;
	assert.ok(rows(false) > 0 && rows(false) < rows(true));
	await h.visit({ run, tool: "roofline_model" }, {}, async (page) => {
		const shown = (n) => page.waitForFunction((n) => document.querySelector('section[aria-label="Operations"] .grid-bar').textContent.includes(`${n} row`), n);
		await shown(rows(true));
		await page.locator("main > .bar, .bar").getByLabel("With infeed and outfeed").first().uncheck();
		await shown(rows(false));
		assert.equal(inUrl(page, "infeed"), "no");
	});
});

test("what is not known of an operation is not shown as 0", skip, async () => {
	/* Its largest operation is a call of a library, whose cost nobody knows. */
	const run = h.runs.find((r) => r.startsWith("gpu_mi300_gemm"));
	const t = tableOf(await h.answer("hlo_stats", run), "ops");
	assert.equal(cells(t, "hbm_bw")[0], null);
	await h.visit({ run, tool: "graph_viewer", node_name: cells(t, "hlo_op_name")[0], program_id: cells(t, "program_id")[0] }, {}, async (page) => {
		await page.waitForSelector('[data-fact="Self time"]');
		for (const fact of ["Model rate", "HBM", "Memory"]) assert.equal(await page.locator(`[data-fact="${fact}"]`).count(), 0, fact);
	});
	const profile = await h.answer("op_profile", run);
	assert.ok(![profile.conclusion.text, ...profile.conclusion.more].some((s) => s.includes("peak FLOP rate")), "the peak is judged by 6 % of the time");
});
