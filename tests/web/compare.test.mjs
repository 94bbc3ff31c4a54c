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
