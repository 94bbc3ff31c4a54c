/*
 * saved.test.mjs - the page as a file (`stepscope export --to html`), opened from the disk: it asks nobody for anything.
 */
import { test, before, after } from "node:test";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { real, startBrowser } from "./lib.mjs";
import { inUrl, settled, until } from "./harness.mjs";

const skip = { skip: !real && "made by the program alone" };
let browser, dir;
before(async () => {
	browser = await startBrowser();
	dir = mkdtempSync(join(tmpdir(), "saved-"));
});
after(async () => {
	await browser?.close();
	if (dir) rmSync(dir, { recursive: true });
});

function samples() {
	return readdirSync(process.env.LOGDIR).filter((n) => ["jax_mlp_train", "synth_tpu_3hosts", "gpu_mi300_gemm"].includes(n));
}

async function open(name, work) {
	const file = join(dir, `${name}.html`);
	const done = spawnSync(process.env.STEPSCOPE, ["export", join(process.env.LOGDIR, name), "--to", "html", "--output", file], { encoding: "utf8" });
	assert.equal(done.status, 0, done.stderr);
	assert.ok(statSync(file).size <= 10_000_000, `${statSync(file).size} bytes`);
	const page = await browser.newPage();
	const asked = [];
	const errors = [];
	page.on("request", (r) => asked.push(r.url()));
	page.on("pageerror", (e) => errors.push(String(e)));
	try {
		await page.goto(pathToFileURL(file).href);
		await settled(page);
		await work(page);
		const others = asked.filter((u) => !u.startsWith(pathToFileURL(file).href) && !u.startsWith("data:") && !u.startsWith("blob:"));
		assert.deepEqual(others, [], "requests");
		assert.deepEqual(errors, [], "errors");
	} finally {
		await page.close();
	}
}

test("a file holds verdict, tables and timeline", skip, async () => {
	assert.ok(samples().length > 1, "samples");
	for (const name of samples())
		await open(name, async (page) => {
			assert.match(await page.locator(".saved").textContent(), /A file made by stepscope/);
			assert.equal(await page.locator(".failure").count(), 0, "the overview");
			assert.ok((await page.locator("main").innerText()).length > 200, "the overview");
			await page.locator('.nav-item:has-text("Plane stats")').first().click();
			await settled(page);
			assert.equal(inUrl(page, "tool"), "plane_stats");
			assert.ok((await page.locator("main [role=row], main tr").count()) > 2, "rows");
			await page.locator('.nav-item:has-text("Flame graph")').first().click();
			await settled(page);
			assert.ok((await page.locator(".flame-box").count()) > 5, "boxes of the flame graph");
			await page.goBack();
			await settled(page);
			await page.goBack();
			await settled(page);
			await page.locator('.nav-item:has-text("Trace viewer")').first().click();
			await page.waitForSelector("main canvas");
			await page.waitForFunction(() => !document.querySelector(".busy"));
			assert.equal(await page.locator(".failure").count(), 0, "the timeline");
			const colours = () => page.evaluate(() => {
				const colours = new Set();
				for (const c of document.querySelectorAll("main canvas")) {
					const d = c.getContext("2d")?.getImageData(0, 0, c.width, c.height).data ?? [];
					for (let i = 0; i < d.length; i += 404) colours.add(`${d[i]},${d[i + 1]},${d[i + 2]}`);
				}
				return colours.size;
			});
			await until(page, colours, (n) => n > 4);
		});
});

test("a file says what it leaves out", skip, async () => {
	const sample = readdirSync(process.env.LOGDIR).filter((n) => n === "tpu_v6e_inference");
	assert.equal(sample.length, 1, "sample");
	await open(sample[0], async (page) => {
		assert.match(await page.locator(".saved").textContent(), /Left out for lack of room: the shortest events of the timeline\./);
	});
});
