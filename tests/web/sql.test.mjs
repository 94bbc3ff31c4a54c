/*
 * sql.test.mjs - questions in SQL on the page: a query, its rows, what is wrong with one, a question with a name, and from a row into the timeline.
 */
import { test } from "node:test";
import assert from "node:assert/strict";
import { real } from "./lib.mjs";
import { harness, inUrl, settled } from "./harness.mjs";

const h = harness();
const skip = { skip: !real && "asked of the program alone" };

test("a query gives rows, and a row leads into the timeline", skip, async () => {
	const run = h.runs.find((r) => r.startsWith("jax_mlp_train"));
	await h.visit({ run }, {}, async (page) => {
		await page.locator('.nav-item:has-text("SQL")').click();
		await page.waitForSelector(".sql-row .muted");
		assert.match(await page.locator(".sql-row .muted").textContent(), /50 rows/);
		await page.fill(".sql-text", "SELECT name, start_ps, dur_ps FROM events WHERE name = 'train' ORDER BY start_ps LIMIT 3");
		await page.keyboard.press("Control+Enter");
		await page.waitForFunction(() => /^3 rows/.test(document.querySelector(".sql-row .muted")?.textContent ?? ""));
		assert.match(inUrl(page, "sql"), /'train'/);
		await page.locator('main a:has-text("train")').first().click();
		await page.waitForSelector("main canvas");
		assert.equal(inUrl(page, "tool"), "trace_viewer@");
		const [begin, end] = inUrl(page, "view").split("-").map(Number);
		const answer = await fetch(`${h.server.base}api/timeline/search?run=${encodeURIComponent(run)}&q=train`).then((r) => r.json());
		const begins = [...JSON.stringify(answer).matchAll(/"begin_ps":(\d+)/g)].map((m) => Number(m[1]));
		assert.ok(begins.some((b) => b >= begin && b <= end), `${begins} in ${begin} to ${end}`);
		await page.goBack();
		await settled(page);
		await page.selectOption('select[aria-label="Questions with a name"]', "contents");
		await page.waitForFunction(() => /^1 row$/.test(document.querySelector(".sql-row .muted")?.textContent ?? ""));
		assert.doesNotMatch(inUrl(page, "sql"), /'train'/);
	});
});

test("what is wrong with a query is said", skip, async () => {
	const run = h.runs.find((r) => r.startsWith("jax_mlp_train"));
	const p = await h.browser.newPage();
	try {
		await p.goto(`${h.server.base}?run=${encodeURIComponent(run)}&sql=${encodeURIComponent("DROP TABLE events")}`);
		await p.waitForSelector("main .failure, main [role=alert]");
		assert.match(await p.locator("main").innerText(), /may only read/);
	} finally {
		await p.close();
	}
});

test("values are shown and saved as they are", skip, async () => {
	const run = h.runs.find((r) => r.startsWith("jax_2proc"));
	const sql =
		"SELECT line_id, 1310492000 AS start_ps, NULL AS none, '' AS blank, fmt_ps(22140000000) AS told, 2.5 AS share FROM lines WHERE line = 'python' AND line_id < 0";
	await h.visit({ run, sql }, { width: 1600 }, async (page) => {
		await page.waitForSelector(".grid-space .grid-row");
		assert.equal(await page.locator(".sql-row .muted").textContent(), "1 row");
		const row = page.locator(".grid-space .grid-row").first();
		const cells = await row.locator(".grid-text").allTextContents();
		assert.deepEqual(cells, ["-6054235170256671229", "1.310", "", "", "22.14 ms", "2.500"]);
		const head = await page.locator(".grid-head").innerText();
		assert.match(head, /start_ps\s+ms/);
		const cut = await row.locator(".grid-cell").evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent));
		assert.deepEqual(cut, []);
		const [saved] = await Promise.all([page.waitForEvent("download"), page.locator("button", { hasText: "CSV" }).click()]);
		const text = await (await import("node:fs/promises")).readFile(await saved.path(), "utf8");
		assert.match(text, /"-6054235170256671229","1310492000","","","22.14 ms","2.5"/);
	});
});
