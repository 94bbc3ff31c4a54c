/*
 * moments.test.mjs - everything leads to the moment: gaps explained, steps alone, search as a list, links from tables and charts.
 */
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { api, inFirefox, q, real, shot } from "./lib.mjs";
import { cells, frames, harness, inUrl, settle, until } from "./harness.mjs";

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

test("Back and Forward show the event, the gap and the step of that place again", options, async () => {
	const { run: r, steps, found } = await run();
	await h.visit({ run: r, tool, event: String(found.names[0].event) }, {}, async (page) => {
		const place = async (wanted) => {
			const seen = await until(
				page,
				async () => ({
					event: inUrl(page, "event"),
					gap: inUrl(page, "gap"),
					step: inUrl(page, "step"),
					pane: await page.evaluate(() => document.querySelector(".event-name, [data-gap]")?.className ?? ""),
					alone: await page.evaluate(() => document.querySelector("select[data-steps]")?.value ?? ""),
				}),
				(s) => s.event === wanted.event && s.gap === wanted.gap && s.step === wanted.step && s.pane.includes(wanted.pane) && s.alone === (wanted.step ?? ""),
			);
			return seen;
		};
		await drawn(page);
		await page.waitForSelector(".event-name");
		await page.waitForSelector("select[data-steps]");
		await settle(page);
		const first = { event: String(found.names[0].event), gap: null, step: null, pane: "event-name" };
		await place(first);
		await page.locator(".tl-over").focus();
		await page.keyboard.press("ArrowRight");
		await page.waitForFunction((e) => new URLSearchParams(location.search).get("event") !== e, first.event);
		await settle(page);
		const second = { ...first, event: inUrl(page, "event") };
		await page.locator(".tl-over").focus();
		await page.keyboard.press("g");
		await page.waitForSelector("[data-gap]");
		await settle(page);
		const third = { event: null, gap: inUrl(page, "gap"), step: null, pane: "gap-pane" };
		await page.selectOption("select[data-steps]", String(steps.steps[1].num));
		await settle(page);
		const fourth = { ...third, step: String(steps.steps[1].num) };
		await place(fourth);
		for (const at of [third, second, first]) {
			await page.goBack();
			await place(at);
		}
		for (const at of [second, third, fourth]) {
			await page.goForward();
			await place(at);
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

/* The middle bar of the chart of steps, `from_foot` pixels above its foot, where each bar reaches. */
async function clickBar(page, from_foot) {
	await page.waitForSelector(".chart-leads .u-over");
	const box = await page.locator(".chart-leads .u-over").first().boundingBox();
	const [x, y] = [box.x + box.width / 2, box.y + box.height - from_foot];
	await page.mouse.move(x, y);
	await page.mouse.click(x, y);
	await drawn(page);
	await settle(page);
}

const chosenStep = (page) => page.waitForFunction(() => document.querySelector("select[data-steps]")?.value);

test("a step's bar leads to the step in the timeline", options, async () => {
	const { run: r } = await h.runWith("overview_page", (x) => x.tables.some((t) => /^train \d+$/.test(cells(t, "stepnum")[2])));
	await h.visit({ run: r, tool: "overview_page" }, {}, async (page) => {
		await clickBar(page, 100);
		await chosenStep(page);
		await settle(page);
		assert.equal(inUrl(page, "step"), await page.inputValue("select[data-steps]"));
	});
});

test("a bar of a bare number leads to that step of the timeline, where the server says that it is the program's own", options, async () => {
	const own = (t) => t.props?.step_numbers?.text === "timeline" && /^\d+$/.test(cells(t, "stepnum")[0]);
	const { run: r, a: value } = await h.runWith("overview_page", (x) => x.tables.some((t) => t.name === "steps" && t.nrows > 2 && own(t)));
	const nums = cells(value.tables.find((t) => t.name === "steps"), "stepnum");
	const { steps } = await api(h.server.base, `api/timeline/steps?${q({ run: r })}`);
	for (const n of nums) assert.ok(steps.some((s) => String(s.num) === n), `the timeline has no step ${n}`);
	await h.visit({ run: r, tool: "overview_page" }, {}, async (page) => {
		await clickBar(page, 5);
		await chosenStep(page);
		await settle(page);
		assert.ok(nums.includes(inUrl(page, "step")), inUrl(page, "step"));
	});
});

test("a bar of a step that the timeline does not number leads to its stretch, marked", options, async () => {
	for (const r of h.runs) {
		const a = await h.answer("overview_page", r).catch(() => undefined);
		const t = a?.tables.find((x) => x.name === "steps");
		if (!t?.nrows || !t.cols.some((c) => c.id === "begin_ps")) continue;
		await h.visit({ run: r, tool: "overview_page" }, {}, async (page) => {
			await clickBar(page, 5);
			const i = cells(t, "begin_ps").findIndex((b, k) => inUrl(page, "marks") === `${b}-${cells(t, "end_ps")[k]}`);
			assert.ok(i >= 0, inUrl(page, "marks"));
		});
		return;
	}
	assert.fail("no run with steps that the timeline does not number");
});

test("a search keeps a colour, in the picture and in the link", options, async () => {
	const { run: r, found } = await run();
	const name = found.names[0].name;
	await h.visit({ run: r, tool, q: name, list: "1" }, {}, async (page) => {
		await drawn(page);
		const colours = () => page.evaluate(() => {
			const c = document.querySelector(".tl-canvas");
			return [...new Set(new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer))];
		});
		await page.getByRole("button", { name: "Keep as a colour" }).click();
		await page.waitForSelector(`[data-paint="${name}"]`);
		await settle(page);
		assert.equal(inUrl(page, "paint"), name);
		const dot = await page.$eval(`[data-paint="${name}"] .chart-dot`, (x) => getComputedStyle(x).backgroundColor.match(/\d+/g).map(Number));
		await page.reload();
		await drawn(page);
		const pixel = (0xff000000 | (dot[2] << 16) | (dot[1] << 8) | dot[0]) >>> 0;
		await frames(page);
		assert.ok((await colours()).includes(pixel), "the events are drawn in it");
		await page.fill("#trace-search", name);
		await page.getByLabel(`Without the colour of ${name}`).click();
		await settle(page);
		assert.equal(inUrl(page, "paint"), null);
	});
});

/* What a button saves. Of Firefox the driver tells no downloads: there it is what the page hands over. */
async function savedFile(page, button) {
	if (!inFirefox) {
		const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
		return readFileSync(await file.path(), "utf8");
	}
	await page.evaluate(() => {
		const make = URL.createObjectURL.bind(URL);
		URL.createObjectURL = (blob) => {
			window.handed = blob.text();
			return make(blob);
		};
	});
	await button.click();
	return page.evaluate(() => window.handed);
}

test("a mark has a note, in the link and in a file when one saves it", options, async () => {
	const { run: r, steps } = await run();
	const step = steps.steps[1];
	const marks = `${step.begin_ps}-${step.end_ps}`;
	await h.visit({ run: r, tool, marks }, {}, async (page) => {
		await drawn(page);
		await page.getByRole("button", { name: "Notes" }).click();
		await page.locator(".notes-text input").fill("slow, why? 100 %");
		await page.locator(".notes-text input").blur();
		await settle(page);
		assert.equal(inUrl(page, "marks"), `${marks}~${encodeURIComponent("slow, why? 100 %")}`);
		await page.reload();
		await drawn(page);
		await page.getByRole("button", { name: "Notes" }).click();
		assert.equal(await page.locator(".notes-text input").inputValue(), "slow, why? 100 %");
		await shot(page, "notes");
		const saved = JSON.parse(await savedFile(page, page.getByRole("button", { name: "Save as a file" })));
		assert.deepEqual(saved.marks, [{ begin_ps: step.begin_ps, end_ps: step.end_ps, note: "slow, why? 100 %" }]);
		await page.locator('.notes-text input').first().waitFor();
		await page.setInputFiles('input[type="file"]', { name: "n.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify({ marks: [{ begin_ps: step.begin_ps, end_ps: step.begin_ps, note: "here" }] })) });
		await page.waitForFunction(() => document.querySelectorAll(".notes-text").length === 2);
		await page.setInputFiles('input[type="file"]', { name: "n.json", mimeType: "application/json", buffer: Buffer.from("[") });
		await page.getByText("This file holds no notes.").waitFor();
	});
});

test("the slowest step stands beside the median, aligned", options, async () => {
	const { run: r, steps } = await run();
	if (steps.slowest === steps.median) throw new Error("no run with a slowest step of its own");
	await h.visit({ run: r, tool }, {}, async (page) => {
		await drawn(page);
		await page.waitForSelector("select[data-steps]");
		await page.selectOption("select[data-steps]", { label: "Slowest beside the median" });
		await page.waitForSelector(".compare-canvas .tl-canvas");
		assert.equal(inUrl(page, "step"), `${steps.steps[steps.slowest].num},${steps.steps[steps.median].num}`);
		assert.equal(await page.locator(".compare-canvas").count(), 2);
		assert.equal(await page.textContent("main h1"), "Two steps");
		assert.equal(await page.locator(".verdict").count(), 0, "no change is judged");
		await shot(page, "slowest-median");
	});
});

test("the palette finds operations and steps, also from within the timeline", options, async () => {
	const { run: r, steps, found } = await run();
	await h.visit({ run: r, tool }, {}, async (page) => {
		await drawn(page);
		await page.keyboard.press("Control+k");
		await page.fill(".palette input", found.names[1].name);
		await page.locator('.palette li:has(.palette-kind:text-is("operation"))').first().click();
		await page.waitForFunction((n) => document.querySelector(".event-name")?.textContent === n, found.names[1].name);
		await page.keyboard.press("Control+k");
		const step = steps.steps[2].num;
		await page.fill(".palette input", `Step ${step}`);
		await page.locator(`.palette li:has(.palette-kind:text-is("step")) >> text="Step ${step}"`).first().click();
		await page.waitForFunction((n) => document.querySelector("select[data-steps]")?.value === n, String(step));
	});
});
