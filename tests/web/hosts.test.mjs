/*
 * hosts.test.mjs - the trace viewer over several hosts: arrows to who waited at a collective, the critical path, and what would be gained.
 */
import { after, before, describe, test } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openPage, q, shot, startBrowser, startProgram } from "./lib.mjs";
import { until } from "./harness.mjs";

const logdir = join(dirname(fileURLToPath(import.meta.url)), "../data/hosts/slow_gpu");
/* The tracks of operations alone: arrows are drawn between what is in sight. */
const of = { run: "run", tool: "trace_viewer@", host: "ALL_HOSTS", tracks: "XLA Ops" };
let server;
let browser;

before(async () => {
	server = await startProgram(logdir);
	browser = await startBrowser();
});

after(async () => {
	await browser?.close();
	await server?.stop();
});

async function open(extra, work) {
	const p = await openPage(browser, server.base, { width: 1280, height: 900 });
	try {
		await p.page.goto(`${server.base}?${q({ ...of, ...extra })}`);
		await p.page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0, undefined, { timeout: 20_000 });
		await work(p.page);
		assert.deepEqual(p.seen.errors, []);
	} finally {
		await p.close();
	}
}

test("hosts stand in natural order, in the timeline and in the list of hosts", async () => {
	const scratch = mkdtempSync(join(tmpdir(), "stepscope-hosts-"));
	const run = join(scratch, "plugins", "profile", "run");
	mkdirSync(run, { recursive: true });
	for (const [from, to] of [["host0", "host10"], ["host1", "host2"], ["host2", "host3"]])
		copyFileSync(join(logdir, "plugins", "profile", "run", `${from}.xplane.pb`), join(run, `${to}.xplane.pb`));
	const other = await startProgram(scratch);
	const p = await openPage(browser, other.base, { width: 1280, height: 900 });
	try {
		await p.page.goto(`${other.base}?${q({ run: "run", tool: "trace_viewer@", host: "ALL_HOSTS" })}`);
		await p.page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0, undefined, { timeout: 20_000 });
		assert.deepEqual(await p.page.locator('select:has(> option[value="host10"]) > option').allTextContents(), ["All hosts", "host2", "host3", "host10"]);
		const names = await p.page.locator(".tl-section-name").allTextContents();
		const hosts = [...new Set(names.join(" ").match(/host(2|3|10)(?= )/g) ?? [])];
		assert.deepEqual(hosts, ["host2", "host3", "host10"], names.join("\n"));
		assert.deepEqual(p.seen.errors, []);
	} finally {
		await p.close();
		await other.stop();
		rmSync(scratch, { recursive: true });
	}
});

/* Pixels of the layer over the tracks. */
const over = (page) =>
	page.evaluate(() => {
		const c = document.querySelector(".tl-over");
		const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
		copy.drawImage(c, 0, 0);
		return copy.getImageData(0, 0, c.width, c.height).data.reduce((n, v, i) => n + (i % 4 === 3 && v > 0 ? 1 : 0), 0);
	});

describe("the overview of several hosts", () => {
	test("shows all, or the one that is chosen, and keeps it in the URL", async () => {
		const p = await openPage(browser, server.base, { width: 1280, height: 900 });
		const hosts = (page) => page.locator('dd[data-prop="host_count"]').innerText();
		try {
			await p.page.goto(`${server.base}?${q({ run: "run", tool: "overview_page" })}`);
			const select = p.page.locator("select", { hasText: "All hosts" });
			await select.waitFor();
			const names = await select.locator("option").allInnerTexts();
			assert.equal(names[0], "All hosts");
			assert.ok(names.length > 2, names.join());
			await until(p.page, hosts, (n) => n === String(names.length - 1));
			await select.selectOption(names[1]);
			await until(p.page, hosts, (n) => n === "1");
			assert.equal(new URL(p.page.url()).searchParams.get("host"), names[1]);
			assert.deepEqual(p.seen.errors, []);
		} finally {
			await p.close();
		}
	});
});

describe("a timeline of several hosts", () => {
	test("draws the critical path on request, and keeps it in the URL", async () => {
		await open({}, async (page) => {
			const before = await over(page);
			const answer = page.waitForResponse((r) => r.url().includes("/api/timeline/slices") && r.url().includes("flows=path"));
			await page.getByLabel("Flow arrows").selectOption("path");
			await answer;
			await page.waitForFunction(() => new URL(location.href).searchParams.get("arrows") === "path");
			await until(page, over, (n) => n > before + 500);
			await shot(page, "hosts-critical-path");
		});
		await open({ arrows: "path" }, async (page) => {
			await until(page, over, (n) => n > 500);
			assert.equal(await page.getByLabel("Flow arrows").inputValue(), "path");
		});
	});

	test("ties who came last to a collective to those who waited", async () => {
		await open({ arrows: "all" }, async (page) => {
			await until(page, over, (n) => n > 500);
			await shot(page, "hosts-arrows");
		});
	});

	test("aligns the hosts' clocks on request, says by how much, and keeps it in the URL", async () => {
		await open({}, async (page) => {
			assert.equal(await page.locator(".trace-clocks").count(), 0, "as recorded");
			const answer = page.waitForResponse((r) => r.url().includes("/api/timeline/slices") && r.url().includes("clocks=aligned"));
			await page.getByRole("button", { name: "Align clocks" }).click();
			await answer;
			const words = page.locator(".trace-clocks");
			await words.locator("summary").click();
			assert.match(await words.locator("summary").innerText(), /2 of 3 hosts are corrected, 'host1' most, by 57\.69 us \(uncertain by [\d.]+ ns\)/);
			const cells = await words.locator("tbody tr").evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.innerText)));
			assert.deepEqual(cells.map((r) => r.slice(0, 2)), [["host0", "as recorded"], ["host1", "corrected"], ["host2", "corrected"]]);
			assert.match(cells[1][2], /57\.7/);
			await shot(page, "hosts-clocks");
			assert.equal(new URL(page.url()).searchParams.get("clocks"), "aligned");
		});
		await open({ clocks: "aligned" }, async (page) => {
			const off = page.getByRole("button", { name: "Align clocks" });
			assert.equal(await off.getAttribute("aria-pressed"), "true");
			const asked = page.waitForRequest((r) => r.url().includes("/api/timeline/slices") && !r.url().includes("clocks="));
			await off.click();
			await asked;
			await page.waitForFunction(() => !new URL(location.href).searchParams.has("clocks"));
			assert.equal(await page.locator(".trace-clocks").count(), 0);
		});
	});

	test("leads from a host, and from a share of a step, to what would be gained", async () => {
		const table = async (tool, column, cell, says) => {
			const p = await openPage(browser, server.base, { width: 1280, height: 900 });
			try {
				await p.page.goto(`${server.base}?${q({ run: "run", tool })}`);
				const link = p.page.locator(`a[href*="tool=what_if"][href*="${column}"]`, { hasText: cell }).first();
				await link.click();
				await p.page.waitForFunction((text) => document.body.innerText.includes(text), says, { timeout: 20_000 });
				assert.equal(new URL(p.page.url()).searchParams.get("tool"), "what_if");
				assert.deepEqual(p.seen.errors, []);
			} finally {
				await p.close();
			}
		};
		await table("stragglers", "target_host=host2", "host2", "If 'host2' were like the other hosts, a step would take 827.9 us in place of 1.090 ms");
		await table("host_steps", "target_host=host1", "host1", "If 'host1' were like the other hosts, a step would take 1.089 ms in place of 1.090 ms");
		await table("exposed_communication", "scenario=free_communication", /./, "With communication that takes no time a step would take 665.6 us");
		await table("critical_path", "scenario=free_communication", "transfer", "With communication that takes no time a step would take 665.6 us");
	});

	test("says of an operation what would be gained if it were faster", async () => {
		await open({ event: "1" }, async (page) => {
			const link = page.getByRole("link", { name: "What if it took half the time?" });
			const op = new URL(await link.getAttribute("href"), page.url()).searchParams.get("op");
			await link.click();
			await page.waitForFunction((name) => document.body.innerText.includes("op_twice_as_fast") && document.body.innerText.includes(name), op);
		});
	});
});
