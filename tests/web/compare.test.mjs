/*
 * compare.test.mjs - two sides of runs beside each other: verdict, charts, tables, sides; all of it in the address.
 */
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { api, openPage, out, real, startBrowser, startProgram } from "./lib.mjs";
import { frames, settle, until } from "./harness.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const axe = readFileSync(createRequire(join(root, "web/package.json")).resolve("axe-core/axe.min.js"), "utf8");
const skip = !real && "made-up answers compare nothing";
const base = [1, 2, 3].map((i) => `base/run${i}`);
const next = [1, 2, 3].map((i) => `new/run${i}`);
let dir;
let server;
let browser;

before(async () => {
	if (!real) return;
	dir = mkdtempSync(join(tmpdir(), "compare-"));
	cpSync(join(root, "tests/data/pairs"), dir, { recursive: true });
	for (const name of ["synth_tpu_infeed", "synth_tpu1", "jax_mlp_train"])
		cpSync(join(root, "tests/data/profiles", name), join(dir, name), { recursive: true });
	server = await startProgram(dir);
	browser = await startBrowser();
});

after(async () => {
	await browser?.close();
	await server?.stop();
	if (dir) rmSync(dir, { recursive: true });
});

async function at(query, look, options = {}) {
	const p = await openPage(browser, server.base, options);
	try {
		await p.page.goto(server.base + query);
		await look(p.page);
	} finally {
		await p.close?.();
	}
}

const all = `?run=${base[0]}&with=${base.slice(1)}&compare=${next}`;

test("three runs a side: verdict, charts and rows are the program's", { skip }, async () => {
	const a = await api(server.base, `api/diff?base=${base}&new=${next}`);
	await at(all, async (page) => {
		await page.waitForSelector(".compare-chart");
		const text = await page.locator("main").innerText();
		assert.ok(text.includes(a.conclusion.text), text.slice(0, 300));
		assert.equal(await page.locator(".compare-more:not(.compare-pale)").count(), 1, "one part grew");
		const steps = a.tables.find((t) => t.name === "steps").nrows;
		assert.equal(await page.locator(".compare-dot").count(), steps);
		assert.match(await page.locator(".grid-space .grid-row").first().innerText(), /fusion\.3/);
		await page.screenshot({ path: join(out, "compare.png"), fullPage: true });
	});
});

test("what is chosen stands in the address", { skip }, async () => {
	await at(all, async (page) => {
		await page.waitForSelector(".grid-body");
		await page.selectOption('section[aria-label="What changed"] select', "scope");
		await page.waitForFunction(() => location.search.includes("by=scope"));
		await page.waitForFunction(() => document.querySelector(".grid-space")?.textContent?.includes("jit(train)/grads"));
		await page.fill('input[aria-label="Filter rows"]', "update");
		await page.waitForFunction(() => location.search.includes("filter=update"));
		await page.getByRole("button", { name: "Swap" }).click();
		await page.waitForFunction(() => location.search.includes("run=new/run1"));
		await page.waitForFunction(() => document.querySelector(".verdict-text")?.textContent?.includes("faster"));
		await page.getByRole("button", { name: "Leave base/run3 out" }).click();
		await page.waitForFunction(() => location.search.includes("compare=base/run1,base/run2") && !location.search.includes("run3&"));
		await page.reload();
		await page.waitForFunction(() => document.querySelector(".grid-space")?.textContent?.includes("update"));
	});
});

/* Pixels of the timelines in the colour that marks what one side alone has: of base, of new; -1: it has no size yet. */
const marked = (page) =>
	page.evaluate(() =>
		[...document.querySelectorAll(".compare-canvas")].map((box) => {
			const c = box.querySelector(".tl-canvas");
			if (!c.width || !c.height) return -1;
			const style = getComputedStyle(document.documentElement).getPropertyValue("--error");
			const [r, g, b] = style.trim().match(/[0-9a-f]{2}/gi).map((x) => parseInt(x, 16));
			const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
			let n = 0;
			for (let i = 0; i < d.length; i += 4) n += d[i] === r && d[i + 1] === g && d[i + 2] === b;
			return n;
		}),
	);

const pictures = (page) =>
	page.evaluate(() => [...document.querySelectorAll(".compare-canvas .tl-canvas:not(.tl-over)")].map((c) => (c.width && c.height ? c.toDataURL() : "")));
/* Both sides are drawn: an empty picture takes a tenth of that. */
const bothDrawn = (page) => until(page, pictures, (v) => v.length === 2 && v.every((p) => p.length > 4000));

test("timelines: what one side alone has is marked there", { skip }, async () => {
	await at("?run=synth_tpu_infeed/run&compare=synth_tpu1/run", async (page) => {
		const [base, other] = await until(page, marked, ([b]) => b > 50);
		assert.equal(other, 0, `${base} pixels in base, ${other} in new`);
	});
	await at(`?run=${base[0]}&compare=${next[0]}`, async (page) => {
		await bothDrawn(page);
		await settle(page);
		await frames(page);
		assert.deepEqual(await marked(page), [0, 0], "every operation has a partner");
	});
});

test("timelines: steps and stretch stand in the address, and both sides move", { skip }, async () => {
	const at_ = (page) => page.evaluate(() => [...document.querySelectorAll(".compare-canvas .tl-over")].map((o) => o.width > 0));
	await at(`?run=${base[0]}&compare=${next[0]}&step=3,5`, async (page) => {
		await until(page, at_, (v) => v.length === 2 && v.every(Boolean));
		assert.equal(await page.getByLabel("Step of base").inputValue(), "3");
		await page.getByLabel("Step of new").fill("7");
		await page.waitForFunction(() => location.search.includes("step=3,7"));
		const before = await bothDrawn(page);
		await page.locator(".compare-canvas .tl-over").first().focus();
		await page.keyboard.press("w");
		await page.waitForFunction(() => /view=-?\d+-/.test(location.search));
		await until(page, pictures, (v) => v.every((p, i) => p !== before[i]));
		const [, from, to] = /view=(-?\d+)-(-?\d+)/.exec(page.url()).map(Number);
		const d = (await api(server.base, `api/diff?base=${base[0]}&new=${next[0]}`)).tables.find((t) => t.name === "steps").data;
		assert.ok(from > 0 && to < d[4][3] * 1e6 && to > from, "part of the step: " + page.url());
		await page.reload();
		await page.waitForSelector(".compare-canvas");
		assert.ok(page.url().includes("step=3,7") && page.url().includes("view="), page.url());
	});
});

test("a chosen operation is found in both programs", { skip }, async () => {
	const ops = (await api(server.base, "api/diff?base=jax_mlp_train/run&new=jax_mlp_train/run")).tables.find((t) => t.name === "ops");
	const row = ops.data[ops.cols.findIndex((c) => c.id === "module")].findIndex((m) => m !== "");
	await at(`?run=jax_mlp_train/run&compare=jax_mlp_train/run&row=${row}`, async (page) => {
		const names = await until(
			page,
			(p) => p.evaluate(() => [...document.querySelectorAll(".compare-graph .graph-title")].map((t) => t.textContent)),
			(v) => v.length >= 2,
		);
		assert.ok(names.includes(ops.data[1][row]), `${ops.data[1][row]} is not among ${names}`);
	});
});

test("the menu of a run leads to it, and a run that is not there is said", { skip }, async () => {
	await at(`?run=${base[0]}`, async (page) => {
		await page.getByLabel("Compare with").selectOption(next[0]);
		await page.waitForFunction(() => document.querySelector(".verdict-text")?.textContent?.includes("slower"));
		await page.waitForFunction(() => document.querySelector(".notes")?.textContent?.includes("each side is one run"));
	});
	await at(`?run=${base[0]}&compare=none`, async (page) => {
		await page.waitForFunction(() => document.querySelector("main")?.textContent?.includes("there is no run 'none'"));
	});
});

test("the tables of a tool have both sides, the delta and a verdict, and its page leads there", { skip }, async () => {
	const a = await api(server.base, `api/diff?base=${base}&new=${next}&tool=hlo_stats`);
	const rows = a.tables.find((t) => t.name === "ops");
	const verdicts = rows.data[rows.cols.findIndex((c) => c.id === "verdict")];
	assert.equal(verdicts.filter((v) => v === "more").length, 1);
	await at(`${all}&tool=hlo_stats`, async (page) => {
		await page.waitForSelector('section[aria-label="HLO operations"] .grid-row');
		const first = await page.locator(".grid-space .grid-row").first().innerText();
		assert.match(first, /fusion\.3[\s\S]*more/);
		await page.selectOption('section[aria-label="HLO operations"] .bar select', "occurrences");
		await page.waitForFunction(() => location.search.includes("figure=occurrences"));
		await page.waitForFunction(() => !document.querySelector(".grid-space")?.textContent?.includes("no change"));
		await page.getByLabel("What to compare").selectOption("");
		await page.waitForSelector(".compare-chart");
	});
	await at(`?run=${base[0]}&tool=hlo_stats`, async (page) => {
		await page.getByLabel("Compare with").selectOption(next[0]);
		await page.waitForFunction(() => location.search.includes("tool=hlo_stats") && location.search.includes("compare="));
		await page.waitForSelector('section[aria-label="HLO operations"] .grid-row');
	});
});

for (const scheme of ["light", "dark"])
	test(`no barrier is found, ${scheme}`, { skip }, async () => {
		await at(
			all,
			async (page) => {
				await page.waitForSelector(".compare-chart");
				await page.evaluate(axe);
				const found = await page.evaluate(() =>
					window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }),
				);
				assert.deepEqual(
					found.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 2).map((n) => n.html)}`),
					[],
				);
			},
			{ scheme },
		);
	});
