/*
 * selection.test.mjs - one selection on all pages: an event leads to its operation everywhere, and rows, findings, peaks and cells lead back.
 */
import { test } from "node:test";
import assert from "node:assert/strict";
import { api, q, real, shot } from "./lib.mjs";
import { format } from "./format.mjs";
import { cells, harness, inUrl, settle, settled, tableOf } from "./harness.mjs";

const h = harness();
const tool = "trace_viewer@";
const options = { skip: !real && "made-up answers have no such routes" };
const run = "synth_tpu1/run";
const op = "fusion.1";
const nav = (page, title) => page.locator(`.nav-item:text-is("${title}")`).first();
const chosen = (page) => page.locator('main .grid-row[aria-selected="true"]').first();
const opened = (page, name) => page.waitForFunction((n) => document.querySelector(".event-name")?.textContent === n, name);

test("an event leads to its instruction, profile row, statistics, roofline point and framework op", options, async () => {
	await h.visit({ run, tool, op }, {}, async (page) => {
		await opened(page, op);
		await page.waitForSelector("[data-event=self]");
		await settle(page);
		assert.equal(inUrl(page, "op"), op);
		const here = page.url();
		const follow = async (label, check) => {
			await page.goto(here);
			await opened(page, op);
			await page.locator(`.event-links a:text-is("${label}")`).click();
			await settled(page);
			await check();
		};
		await follow("Graph", async () => {
			await page.waitForFunction((name) => document.querySelector("main").innerText.includes(name), op);
			assert.equal(inUrl(page, "node_name"), op);
		});
		await follow("Op profile", async () => assert.ok((await chosen(page).textContent()).includes(op)));
		await follow("HLO op stats", async () => assert.ok((await chosen(page).textContent()).includes(op)));
		await follow("Roofline", async () => {
			await page.waitForSelector(`[aria-label="Operation"] h2:text-is("${op}")`);
			assert.ok((await chosen(page).textContent()).includes(op));
		});
		await follow("Framework op stats", async () => assert.ok((await page.locator("main .grid-space .grid-row").count()) > 0));
		await follow("Flame graph", async () => assert.ok((await page.locator(".flame-box").count()) > 0));
	});
});

test("the menu takes the operation along, from the timeline and back to it", options, async () => {
	await h.visit({ run, tool, op }, {}, async (page) => {
		await opened(page, op);
		await settle(page);
		await nav(page, "Roofline").click();
		await page.waitForSelector(`[aria-label="Operation"] h2:text-is("${op}")`);
		await nav(page, "HLO op stats").click();
		await settled(page);
		assert.ok((await chosen(page).textContent()).includes(op));
		/* Another is chosen there. */
		await page.locator('main .grid-row[aria-selected="false"]', { has: page.locator('a:text-is("fusion.2")') }).first().click({ position: { x: 4, y: 4 } });
		await page.waitForFunction(() => new URL(location.href).searchParams.get("op") === "fusion.2");
		await nav(page, "Trace viewer").click();
		await opened(page, "fusion.2");
		await settle(page);
		assert.ok(inUrl(page, "event"));
		await shot(page, "selection");
	});
});

test("a kernel leads to its statistics and back", options, async () => {
	const { run: r, a } = await h.runWith("kernel_stats", (x) => x.tables[0].nrows > 1);
	const name = cells(a.tables[0], "kernel_name")[0];
	await h.visit({ run: r, tool, op: name }, {}, async (page) => {
		await opened(page, name);
		await page.locator('.event-links a:text-is("Kernel stats")').click();
		await settled(page);
		await page.waitForSelector('main .grid-row[aria-selected="true"]');
		assert.equal(inUrl(page, "op"), name);
		await nav(page, "Trace viewer").click();
		await opened(page, name);
	});
});

/* A kernel whose launch was recorded: the first of a run that tells it. */
async function launchedKernel(fits = () => true) {
	for (const run of h.runs) {
		const a = await h.answer("kernel_stats", run).catch(() => undefined);
		const name = a && cells(a.tables[0], "kernel_name")[0];
		if (!name) continue;
		let found;
		await h.visit({ run, tool, op: name }, {}, async (page) => {
			await opened(page, name);
			await settle(page);
			const host = inUrl(page, "host");
			const event = await api(h.server.base, `api/timeline/event?${q({ run, event: inUrl(page, "event"), ...(host && { host }) })}`);
			const launch = event.flows.find((f) => f.direction === "in");
			if (launch && fits(event, launch)) found = { run, name, event, launch };
		});
		if (found) return found;
	}
	throw new Error("no run with a kernel and its launch");
}

test("a kernel leads to its launch with the delay between them, and the launch back to it", options, async () => {
	const { run: r, name, event, launch } = await launchedKernel();
	const after = event.begin_ps - launch.begin_ps - launch.dur_ps;
	const delay = after >= 0 ? `${format.time_ps(after)} after its end` : `${format.time_ps(event.begin_ps - launch.begin_ps)} after its begin`;
	await h.visit({ run: r, tool, op: name }, {}, async (page) => {
		await opened(page, name);
		const flow = (direction, to) => page.locator(".event-flows li", { hasText: direction }).filter({ has: page.locator(`button:text-is("${to}")`) }).first();
		assert.ok((await flow("from", launch.name).textContent()).endsWith(`this begins ${delay}`));
		await flow("from", launch.name).locator("button").click();
		await opened(page, launch.name);
		await page.waitForFunction((id) => new URL(location.href).searchParams.get("event") === id, String(launch.event));
		assert.ok((await flow("to", name).textContent()).endsWith(`it begins ${delay}`));
		await flow("to", name).locator("button").click();
		await opened(page, name);
	});
});

/* Runs in the page: is anything drawn over the trace? */
function isInked() {
	const c = document.querySelector("canvas.tl-over");
	const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
	copy.drawImage(c, 0, 0);
	return copy.getImageData(0, 0, c.width, c.height).data.some((v, i) => i % 4 === 3 && v > 0);
}

test("all flows are drawn in the whole trace, before anybody zooms", options, async () => {
	/* Both ends on the screen. */
	const { run: r } = await launchedKernel((event, launch) => Math.max(event.track, launch.track) < 12);
	await h.visit({ run: r, tool }, {}, async (page) => {
		await page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0);
		await settle(page);
		assert.equal(await page.evaluate(isInked), false, "nothing over the trace before");
		await page.locator("select", { has: page.locator("option", { hasText: "All flows" }) }).selectOption({ label: "All flows" });
		await settle(page);
		await page.waitForFunction(isInked);
		assert.equal(inUrl(page, "arrows"), "all");
		assert.ok(!inUrl(page, "view"), "the whole trace");
	});
});

test("a collective's row leads to it in its step", options, async () => {
	const { run: r, a } = await h.runWith("collectives", (x) => (tableOf(x, "collectives")?.nrows ?? 0) > 2);
	const t = tableOf(a, "collectives");
	const [name, step] = [cells(t, "op")[2], cells(t, "step_num")[2]];
	await h.visit({ run: r, tool: "collectives" }, {}, async (page) => {
		const link = page.locator(`main a[href*="step=${step}"][href*="q=${encodeURIComponent(name)}"]`).first();
		await link.click();
		await opened(page, name);
		await settle(page);
		const { steps } = await api(h.server.base, `api/timeline/steps?${q({ run: r, ...(inUrl(page, "host") && { host: inUrl(page, "host") }) })}`);
		const within = steps.find((s) => s.num === step);
		const e = await api(h.server.base, `api/timeline/event?${q({ run: r, event: inUrl(page, "event"), ...(inUrl(page, "host") && { host: inUrl(page, "host") }) })}`);
		assert.ok(e.begin_ps >= within.begin_ps && e.begin_ps <= within.end_ps, `${e.begin_ps} in ${JSON.stringify(within)}`);
	});
});

test("a finding's evidence, a memory's peak and a host's step lead to their moment", options, async () => {
	const found = await h.runWith("smart_suggestion", (x) => cells(tableOf(x, "evidence"), "link").some((l) => /tool=trace_viewer%?(40|@).*(view|q)=/.test(l)));
	await h.visit({ run: found.run, tool: "smart_suggestion" }, {}, async (page) => {
		await page.locator('.suggestions a[href*="trace_viewer"][href*="view="], .suggestions a[href*="trace_viewer"][href*="q="]').first().click();
		await page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0);
		await settle(page);
		assert.ok(inUrl(page, "view") || inUrl(page, "q"));
	});
	const memory = await h.runWith("memory_profile", (x) => x.tables.some((t) => Number(cells(t, "peak_time_ps")[0]) > 0));
	await h.visit({ run: memory.run, tool: "memory_profile" }, {}, async (page) => {
		await page.locator('main a:text-is("Show it in the timeline")').click();
		await page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0);
		await settle(page);
		const peak = Number(inUrl(page, "marks").split("-")[0]);
		assert.ok(memory.a.tables.some((t) => cells(t, "peak_time_ps").includes(peak)));
		const [begin, end] = inUrl(page, "view").split("-").map(Number);
		assert.ok(begin <= peak && peak <= end);
	});
	const hosts = await h.runWith("host_steps", (x) => new Set(cells(tableOf(x, "matrix"), "host")).size > 2);
	const t = tableOf(hosts.a, "matrix");
	const [rows, steps] = [[...new Set(cells(t, "host"))], [...new Set(cells(t, "step_num"))].sort((a, b) => a - b)];
	await h.visit({ run: hosts.run, tool: "host_steps" }, {}, async (page) => {
		const box = await page.locator(".matrix-field").boundingBox();
		await page.mouse.click(box.x + (1.5 / steps.length) * box.width, box.y + (1.5 / rows.length) * box.height);
		await page.waitForFunction(() => document.querySelector("select[data-steps]")?.value);
		assert.equal(await page.inputValue("select[data-steps]"), String(steps[1]));
		assert.equal(inUrl(page, "host"), rows[1]);
	});
});
