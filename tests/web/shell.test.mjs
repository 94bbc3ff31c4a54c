/*
 * shell.test.mjs - the frame around the pages: the menu's groups, the command palette, and what happens when the program is gone.
 */
import { test } from "node:test";
import assert from "node:assert/strict";
import { real } from "./lib.mjs";
import { harness, inUrl, settled } from "./harness.mjs";

const h = harness();
const skip = { skip: !real && "made-up answers have few tools" };

test("the menu groups what has content, and Ctrl-K goes anywhere", skip, async () => {
	const { run } = await h.runWith("kernel_stats", (x) => x.tables[0]?.nrows > 0);
	await h.visit({ run, tool: "overview_page" }, {}, async (page) => {
		const groups = await page.locator(".nav-group h2").allTextContents();
		assert.deepEqual(groups.slice(0, 3), ["Summary", "Time", "Operations"]);
		await page.keyboard.press("Control+k");
		await page.fill(".palette input", "kernel st");
		assert.equal(await page.locator('.palette li[aria-selected="true"] span').first().textContent(), "Kernel stats");
		await page.keyboard.press("Enter");
		await settled(page);
		assert.equal(inUrl(page, "tool"), "kernel_stats");
		await page.keyboard.press("Control+k");
		await page.fill(".palette input", "gemm_of_nobody");
		await page.locator('.palette li:has-text("in kernel stats")').click();
		await page.waitForFunction(() => new URL(location.href).searchParams.get("filter") === "gemm_of_nobody");
	});
});

test("when the program is gone the page says so, and goes on when it is back", skip, async () => {
	const { run } = await h.runWith("framework_op_stats", (x) => x.tables[0]?.nrows > 0);
	const p = await h.browser.newPage();
	try {
		await p.goto(`${h.server.base}?run=${encodeURIComponent(run)}&tool=plane_stats`);
		await settled(p);
		await p.route("**/api/**", (r) => r.abort());
		await p.locator('.nav-item:has-text("Framework op stats")').first().click();
		await p.waitForSelector(".gone");
		await p.unroute("**/api/**");
		await p.waitForSelector(".gone", { state: "detached", timeout: 8000 });
		await p.waitForSelector(".grid-space .grid-row");
		assert.equal(inUrl(p, "tool"), "framework_op_stats");
	} finally {
		await p.close();
	}
});
