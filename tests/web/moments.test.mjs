/*
 * moments.test.mjs - everything leads to the moment: gaps explained, steps alone, search as a list, links from tables and charts.
 */
import { test } from "node:test";
import assert from "node:assert/strict";
import { api, q, real, shot } from "./lib.mjs";
import { cells, harness, inUrl, settle } from "./harness.mjs";

const h = harness();
const tool = "trace_viewer@";
const options = { skip: !real && "made-up answers have no such routes" };

/* A run with steps, gaps between its work, and many names. */
async function run() {
	for (const r of h.runs) {
		const steps = await api(h.server.base, `api/timeline/steps?${q({ run: r })}`).catch(() => undefined);
		if (!steps || steps.steps.length < 4 || steps.source !== "marked") continue;
		const found = await api(h.server.base, `api/timeline/names?${q({ run: r, q: "fusion" })}`);
		if (found.nnames > 2) return { run: r, steps, found };
	}
	throw new Error("no run with steps and fusions");
}

const drawn = (page) => page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0);

test("G goes from gap to gap, each explained in the server's words, and a link shows it again", options, async () => {
	const { run: r } = await run();
	await h.visit({ run: r, tool }, {}, async (page) => {
		await drawn(page);
		await page.locator(".tl-over").focus();
		await page.keyboard.press("g");
		await page.waitForSelector("[data-gap]");
		await settle(page);
		const first = inUrl(page, "gap");
		const asked = await api(h.server.base, `api/timeline/gap?${q({ run: r, at_ps: first.split(".")[0] })}`);
		const text = await page.textContent(".gap-text");
		for (const s of [asked.conclusion.text, ...asked.conclusion.more]) assert.ok(text.includes(s), `${s} in ${text}`);
		await shot(page, "gap");
		await page.keyboard.press("g");
		await settle(page);
		assert.ok(Number(inUrl(page, "gap").split(".")[0]) > Number(first.split(".")[0]));
		await page.keyboard.press("Shift+G");
		await settle(page);
		assert.equal(inUrl(page, "gap"), first);
		await page.reload();
		await page.waitForSelector(`[data-gap^="${first.split(".")[0]}-"]`);
		if (asked.ended_by) {
			await page.click(`.gap-pane .link[title="${asked.ended_by.name}"]`);
			await page.waitForSelector(".event-name");
			await settle(page);
			assert.equal(inUrl(page, "event"), String(asked.ended_by.event));
		}
	});
});

test("a step is seen alone: zooming out stays in it, the keys go to its neighbours", options, async () => {
	const { run: r, steps } = await run();
	const slowest = steps.steps[steps.slowest];
	await h.visit({ run: r, tool }, {}, async (page) => {
		await drawn(page);
		await page.waitForSelector("select[data-steps]");
		await page.selectOption("select[data-steps]", String(slowest.num));
		await settle(page);
		assert.equal(inUrl(page, "step"), String(slowest.num));
		await page.locator(".tl-over").focus();
		await page.keyboard.press("w");
		await settle(page);
		const [begin, end] = inUrl(page, "view").split("-").map(Number);
		assert.ok(begin >= slowest.begin_ps && end <= slowest.end_ps && end > begin);
		for (let i = 0; i < 6; i++) await page.keyboard.press("s");
		await settle(page);
		assert.equal(inUrl(page, "view"), null, "the whole step, and no more");
		await shot(page, "step");
		await page.keyboard.press("[");
		await settle(page);
		assert.equal(inUrl(page, "step"), String(steps.steps[steps.slowest - 1].num));
		await page.reload();
		await page.waitForFunction((n) => document.querySelector("select[data-steps]")?.value === n, inUrl(page, "step"));
	});
});

test("search is a list of names with the server's figures, by text and by expression", options, async () => {
	const { run: r, found } = await run();
	await h.visit({ run: r, tool, q: "fusion", list: "1" }, {}, async (page) => {
		await drawn(page);
		await page.waitForSelector(".names-list tbody tr");
		const names = await page.$$eval(".names-list tbody tr", (rows) => rows.map((x) => x.dataset.name));
		assert.deepEqual(names, found.names.map((n) => n.name));
		await shot(page, "names");
		const expression = `^${found.names[0].name.replace(/\./g, "\\.")}$`;
		await page.fill("#trace-search", `/${expression}/`);
		await page.waitForFunction(() => document.querySelectorAll(".names-list tbody tr").length === 1);
		const one = await api(h.server.base, `api/timeline/names?${q({ run: r, q: expression, how: "regex" })}`);
		assert.equal(one.nnames, 1);
		await page.click(".names-name .link");
		await settle(page);
		assert.equal(inUrl(page, "event"), String(found.names[0].event));
	});
});

test("a name in a table leads to its longest event", options, async () => {
	const { run: r, found } = await run();
	await h.visit({ run: r, tool, q: found.names[0].name, find: "longest" }, {}, async (page) => {
		await page.waitForSelector(".event-name");
		assert.equal(await page.textContent(".event-name"), found.names[0].name);
		await settle(page);
		assert.equal(inUrl(page, "event"), String(found.names[0].event));
		assert.equal(inUrl(page, "find"), null);
	});
});

test("a step's bar leads to the step in the timeline", options, async () => {
	const { run: r } = await h.runWith("overview_page", (x) => x.tables.some((t) => /^train \d+$/.test(cells(t, "stepnum")[2])));
	await h.visit({ run: r, tool: "overview_page" }, {}, async (page) => {
		await page.waitForSelector(".chart-leads .u-over");
		const box = await page.locator(".chart-leads .u-over").first().boundingBox();
		await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
		await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
		await drawn(page);
		await page.waitForFunction(() => document.querySelector("select[data-steps]")?.value);
		assert.equal(inUrl(page, "step"), await page.inputValue("select[data-steps]"));
	});
});
