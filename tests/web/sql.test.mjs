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
		await page.waitForFunction(() => /rows/.test(document.querySelector(".sql-row .muted")?.textContent ?? ""));
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
