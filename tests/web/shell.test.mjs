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
		await p.waitForSelector(".gone", { state: "detached" });
		await p.waitForSelector(".grid-space .grid-row");
		assert.equal(inUrl(p, "tool"), "framework_op_stats");
	} finally {
		await p.close();
	}
});

test("a file that is being fetched is told, and asked for until it is there", skip, async () => {
	const { run } = await h.runWith("framework_op_stats", (x) => x.tables[0]?.nrows > 0);
	const p = await h.browser.newPage();
	const text = `'s3://b/l/${run}/vm.xplane.pb' (812.4 MiB) is being fetched: try again in a moment`;
	let fetched = false;
	try {
		await p.route("**/api/tool/framework_op_stats*", (r) =>
			fetched
				? r.continue()
				: r.fulfill({ status: 503, contentType: "application/json", body: JSON.stringify({ error: { status: 503, text, fetching: true } }) }),
		);
		await p.goto(`${h.server.base}?run=${encodeURIComponent(run)}&tool=framework_op_stats`);
		await p.waitForSelector(`.gone:has-text("is being fetched")`, { timeout: 60_000 });
		assert.equal(await p.locator(".note-error").count(), 0);
		fetched = true;
		await p.waitForSelector(".gone", { state: "detached", timeout: 60_000 });
		await settled(p);
		await p.waitForSelector("[role=grid], table", { timeout: 60_000 });
	} finally {
		await p.close();
	}
});

test("the list of runs in a bucket fetches none of them", skip, async () => {
	const p = await h.browser.newPage();
	const asked = [];
	try {
		await p.route("**/api/runs*", async (route) => {
			const answer = await (await route.fetch()).json();
			const bucket = { objects: 12, files: 8, requests: 3, lists: 2, fetched_files: 1, cached_files: 0, fetched_bytes: 2_500_000 };
			const skipped = [{ path: answer.logdir, why: "is shown as it was: the credentials have expired" }];
			await route.fulfill({ json: { ...answer, bucket, skipped } });
		});
		p.on("request", (r) => r.url().includes("/api/run?") && asked.push(r.url()));
		await p.goto(h.server.base);
		await p.waitForSelector("[data-bucket]", { timeout: 60_000 });
		assert.match(await p.locator("[data-bucket]").textContent(), /^12\sobjects.*3 requests, 2\.38\sMiB fetched/);
		assert.match(await p.locator(".note-error").textContent(), /is shown as it was: the credentials have expired/);
		const measure = p.locator(".runs-table button", { hasText: "measure" });
		assert.equal(await measure.count(), await p.locator(".runs-table tbody tr").count());
		assert.deepEqual(asked, []);
		await measure.first().click();
		await p.waitForSelector(".runs-table [data-step], .runs-table .muted:has-text('no steps'), .runs-table .run-bad", { timeout: 60_000 });
		assert.equal(asked.length, 1);
	} finally {
		await p.close();
	}
});

test("the table of runs stays in its card at any width", skip, async () => {
	for (const width of [1280, 1000, 815, 480])
		await h.visit({}, { width, height: 800 }, async (page) => {
			await page.locator(".runs-table tbody tr").first().waitFor();
			const out = await page.evaluate(() => {
				/* What is wider scrolls within the card. */
				const frame = (e) => (e.matches(".card") || getComputedStyle(e).overflowX === "auto" ? e : frame(e.parentElement));
				const table = document.querySelector(".runs-table"), box = frame(table);
				return {
					window: document.documentElement.scrollWidth - innerWidth,
					card: box.getBoundingClientRect().right - table.closest(".card").getBoundingClientRect().right,
					cut: box.matches(".card") ? table.getBoundingClientRect().right - box.getBoundingClientRect().right : 0,
				};
			});
			assert.ok(out.window <= 0 && out.card <= 0 && out.cut <= 0, `${width}: ${JSON.stringify(out)}`);
		});
});
