/*
 * stretches.test.mjs - a stretch of the timeline as a flame graph, and what closed sections show.
 */
import { test } from "node:test";
import assert from "node:assert/strict";
import { api, q, real, shot } from "./lib.mjs";
import { frames, harness, inUrl, settle, until } from "./harness.mjs";

const h = harness();
const tool = "trace_viewer@";
const options = { skip: !real && "made-up answers have no such routes" };
const run = "tpu_v6e_inference/run";
const drawn = (page) => page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0);

test("a closed section shows how busy it was, as the program counts it", options, async () => {
	const host = (await api(h.server.base, `api/tools?${q({ run })}`)).tools.find((t) => t.name === tool).hosts[0];
	const all = await api(h.server.base, `api/timeline?${q({ run, host })}`);
	const bands = await api(h.server.base, `api/timeline/bands?${q({ run, host, begin_ps: all.begin_ps, end_ps: all.end_ps, bins: 100 })}`);
	const of = bands.sections[0];
	assert.equal(bands.sections.length, all.sections.length);
	const busy = [...Buffer.from(of.busy, "hex")].map((v) => v / 255);
	const sum = busy.reduce((s, v) => s + v, 0) * ((all.end_ps - all.begin_ps) / 100);
	assert.ok(Math.abs(sum - of.busy_ps) < of.busy_ps * 0.02, `${sum} and ${of.busy_ps}`);
	await h.visit({ run, tool, view: `${all.begin_ps}-${all.end_ps}` }, {}, async (page) => {
		await drawn(page);
		await page.click(".tl-corner button");
		const idle = busy.findIndex((v, i) => v === 0 && busy[i + 1] === 0);
		const full = busy.findIndex((v, i) => v > 0.98 && busy[i + 1] > 0.98);
		assert.ok(idle >= 0 && full >= 0);
		/* The words come with the picture. */
		await page.waitForFunction(() => document.querySelector(".tl-section").title.includes("busy"));
		await frames(page);
		const [ground, color] = await page.evaluate((bins) => {
			const c = document.querySelector(".tl-canvas");
			const row = c.getContext("2d").getImageData(0, 12 * devicePixelRatio, c.width, 1).data;
			return bins.map((bin) => [...row.slice(Math.round(((bin + 0.9) / 100) * c.width) * 4).slice(0, 4)].join());
		}, [idle, full]);
		assert.notEqual(color, ground, "busy time has a colour, idle time stays empty");
		const tip = await page.getAttribute(".tl-section >> nth=0", "title");
		assert.match(tip, /busy [0-9.]+\u202f?\s?% of the time/);
		await shot(page, "bands");
	});
});

test("a frame is a flame graph of what lies in it, which opens as a page of its own", options, async () => {
	const { run: r } = await h.runWith("flame_graph", (a) => a.tables[0].nrows > 10);
	await h.visit({ run: r, tool }, {}, async (page) => {
		await drawn(page);
		const box = await page.locator(".tl-over").boundingBox();
		await page.mouse.move(box.x + box.width * 0.1, box.y + 30);
		await page.mouse.down();
		await page.mouse.move(box.x + box.width * 0.6, box.y + box.height - 20, { steps: 4 });
		await page.mouse.up();
		await page.getByRole("button", { name: "By stack" }).click();
		await page.waitForSelector(".stretch-flame .flame-box");
		const href = await page.getAttribute(".stretch-flame a:has-text('Open as a page')", "href");
		const asked = Object.fromEntries(new URLSearchParams(href));
		const answer = await h.answer("flame_graph", r, { host: asked.host, from: asked.from, to: asked.to, tracks: asked.tracks });
		const texts = await page.$$eval(".stretch-flame .flame-box", (l) => l.map((x) => x.title));
		const names = answer.tables[0].data[1];
		assert.ok(texts.length > 1 && texts.every((t) => names.some((n) => t.startsWith(`${n}:`))), texts[0]);
		await shot(page, "stretch-flame");
		const tops = () => page.$$eval(".stretch-flame .flame-box", (l) => l.map((x) => parseFloat(x.style.top)));
		const before = await tops();
		await page.getByRole("button", { name: "Roots below" }).click();
		await until(page, tops, (now) => now[0] > before[0] || now.length === 1);
		await page.click(".stretch-flame a:has-text('Open as a page')");
		await page.waitForSelector(".page .flame-box");
		assert.equal(inUrl(page, "from"), asked.from);
		await page.locator(".page .bar label.field:has-text('by') select").first().selectOption("category");
		assert.equal(inUrl(page, "by"), "category");
		await settle(page);
		assert.equal(await page.locator(".failure").count(), 0);
	});
});
