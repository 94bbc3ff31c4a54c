/*
 * history.test.mjs - the history of runs: figures, change points, the ways to profiles and comparisons.
 */
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { api, openPage, out, real, startBrowser, startProgram } from "./lib.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const axe = readFileSync(createRequire(join(root, "web/package.json")).resolve("axe-core/axe.min.js"), "utf8");
const skip = !real && "made-up answers have no history";
let dir;
let server;
let browser;

/* Six runs of a program, then six of a slower one. A field that nobody knows makes copies other files with the same steps. */
function record(logs, history) {
	for (let i = 0; i < 12; i++) {
		const from = join(root, "tests/data/pairs", i < 6 ? "base" : "new", `plugins/profile/run${(i % 3) + 1}/host0.xplane.pb`);
		const to = join(logs, `plugins/profile/r${i}`);
		mkdirSync(to, { recursive: true });
		writeFileSync(join(to, "host0.xplane.pb"), Buffer.concat([readFileSync(from), Buffer.from([0x78, i])]));
		execFileSync(process.env.STEPSCOPE, ["track", "add", history, to, "--time", String(1000 + i), "--label", `commit=c${i}`], {
			stdio: ["ignore", "ignore", "pipe"],
		});
	}
}

before(async () => {
	if (!real) return;
	dir = mkdtempSync(join(tmpdir(), "history-"));
	record(join(dir, "logs"), join(dir, "history.db"));
	server = await startProgram(join(dir, "logs"), ["--history", join(dir, "history.db")]);
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

test("figures and changes are the program's", { skip }, async () => {
	const a = await api(server.base, "api/track");
	await at("", async (page) => {
		await page.getByRole("link", { name: "History" }).click();
		await page.waitForSelector(".history-worse", { state: "attached" });
		const step = page.locator('section[aria-label^="step time"]');
		assert.equal(await step.locator(".compare-dot").count(), 12);
		assert.equal(await step.locator(".history-level").count(), 2);
		assert.match(await step.innerText(), /c6/);
		assert.ok((await page.locator("main").innerText()).includes(a.conclusion.text));
		await page.screenshot({ path: join(out, "history.png"), fullPage: true });
	});
});

test("a run leads to its profile, a change to the comparison", { skip }, async () => {
	await at("?history=1", async (page) => {
		await page.waitForSelector(".history-worse", { state: "attached" });
		const step = page.locator('section[aria-label^="step time"]');
		assert.equal(await step.locator("a:has(.compare-dot)").nth(3).getAttribute("href"), "?run=r3");
		await step.getByRole("link", { name: "Compare r5 with r6" }).click();
		await page.waitForFunction(() => document.querySelector(".verdict-text")?.textContent?.includes("slower"));
		assert.match(page.url(), /run=r5&compare=r6/);
	});
});

test("a metric is chosen, and stands in the address", { skip }, async () => {
	await at("?history=1", async (page) => {
		await page.waitForSelector(".history-worse", { state: "attached" });
		await page.getByLabel("Metric").selectOption("compute");
		await page.waitForFunction(() => document.querySelector('section[aria-label^="compute"]') && location.search.includes("metric=compute"));
		assert.equal(await page.locator('section[aria-label^="step time"]').count(), 0);
	});
});

for (const scheme of ["light", "dark"])
	test(`no barrier is found, ${scheme}`, { skip }, async () => {
		await at(
			"?history=1",
			async (page) => {
				await page.waitForSelector(".history-worse", { state: "attached" });
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
