/*
 * page.test.mjs - the page in a real browser: what it shows is what the server says, nothing leaves the server, and the timeline does what
 * the documents promise. Every run of the log directory is opened with every tool.
 */
import { after, before, describe, test } from "node:test";
import assert from "node:assert/strict";
import { anyRun, api, openPage, q, real, runsByName, shot, startBrowser, startProgram } from "./lib.mjs";
import { format, formatted } from "./format.mjs";
import { until } from "./harness.mjs";

let server;
let browser;
let runs; /* by name */
let any;

before(async () => {
	server = await startProgram();
	browser = await startBrowser();
	runs = await runsByName(server.base);
	any = anyRun ?? runs[0]?.run;
	assert.ok(any, "the log directory holds runs");
});

after(async () => {
	await browser?.close();
	await server?.stop();
});

async function visit(path, options, work) {
	const p = await openPage(browser, server.base, options);
	try {
		await p.page.goto(server.base + path);
		await work(p.page, p.seen);
		assert.deepEqual(p.seen.foreign, [], "requests to other hosts");
		assert.deepEqual(p.seen.errors, [], "errors on the console");
	} finally {
		await p.close();
	}
}

const settled = (page) =>
	page.waitForFunction(() => document.querySelector("main") && !document.querySelector(".waiting"), undefined, {
		timeout: 20_000,
	});

async function toolsOf(run) {
	return (await api(server.base, `api/tools?${q({ run })}`)).tools;
}

function hostOf(tool) {
	return tool.hosts.includes("ALL_HOSTS") ? "ALL_HOSTS" : (tool.hosts[0] ?? "");
}

/* The run that shows most: steps and a device. */
async function richest() {
	let best;
	for (const r of runs) {
		const tool = (await toolsOf(r.run)).find((t) => t.name === "overview_page" && t.available);
		if (!tool) continue;
		const a = await api(server.base, `api/tool/overview_page?${q({ run: r.run, host: hostOf(tool) })}`);
		const rows = (name) => a.tables.find((t) => t.name === name)?.nrows ?? 0;
		const score = Math.min(rows("steps"), 20) + 3 * rows("analysis");
		if (!best || score > best.score) best = { run: r.run, host: hostOf(tool), answer: a, score };
	}
	assert.ok(best, "a run with an overview");
	return best;
}

/* ---- shell ---- */

describe("shell", () => {
	test("the start page lists every run", async () => {
		await visit("?list=all", {}, async (page) => {
			await page.waitForSelector(".runs-table");
			const names = await page.$$eval(".run-link", (a) => a.map((x) => x.textContent));
			const { runs: newestFirst } = await api(server.base, "api/runs");
			assert.deepEqual(
				names,
				newestFirst.map((r) => r.run),
			);
		});
	});

	test("run, tool and host are in the URL, and back goes back", async () => {
		const run = any;
		const tools = (await toolsOf(run)).filter((t) => t.available);
		await visit(`?${q({ run })}`, {}, async (page) => {
			await settled(page);
			await page.click(`.nav-item >> text="${tools[1].title}"`);
			await settled(page);
			assert.equal(new URL(page.url()).searchParams.get("tool"), tools[1].name);
			assert.equal(await page.textContent(".nav-on"), tools[1].title);
			await page.goBack();
			await settled(page);
			assert.equal(new URL(page.url()).searchParams.get("tool"), null);
		});
	});

	test("a failure is the server's own sentence", async () => {
		const p = await openPage(browser, server.base);
		try {
			await p.page.goto(`${server.base}?run=no_such_run`);
			const text = await p.page.textContent(".note-error");
			const res = await fetch(`${server.base}api/tools?run=no_such_run`);
			assert.ok(res.status >= 400);
			assert.equal(text.trim(), (await res.json()).error.text);
			await shot(p.page, "failure");
		} finally {
			await p.close();
		}
	});

	test("dark and light, by the system and by choice", async () => {
		await visit(`?${q({ run: any })}`, { scheme: "dark" }, async (page) => {
			await settled(page);
			const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
			assert.equal(await theme(), "dark");
			await page.click('[aria-label="Colours: system"]');
			assert.equal(await theme(), "light");
			await page.reload();
			await settled(page);
			assert.equal(await theme(), "light", "the choice is kept");
		});
	});

	test("every tool can be reached with the keyboard", async () => {
		await visit(`?${q({ run: any })}`, {}, async (page) => {
			await settled(page);
			const reached = new Set();
			for (let i = 0; i < 80; i++) {
				await page.keyboard.press("Tab");
				const t = await page.evaluate(() =>
					document.activeElement?.classList.contains("nav-item") ? document.activeElement.textContent : "",
				);
				if (t) reached.add(t);
			}
			for (const t of (await toolsOf(any)).filter((x) => x.available)) assert.ok(reached.has(t.title), t.title);
		});
	});
});

/* ---- every tool of every run ---- */

/*
 * Within one page, as a user goes from tool to tool: each place is asked of the server anew, but the script is not started each time.
 * Several pages at once, for most of the time goes into waiting.
 */
const AT_ONCE = 3;

async function goTo(page, path) {
	await page.evaluate(async (p) => {
		history.pushState(null, "", p);
		dispatchEvent(new PopStateEvent("popstate"));
		await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
	}, path);
	await settled(page);
}

describe("every run opens with every tool", () => {
	test("no error, no foreign request, no endless wait", async () => {
		const places = [];
		for (const r of runs)
			for (const t of (await toolsOf(r.run)).filter((x) => x.available)) places.push({ run: r.run, tool: t.name, kind: t.kind });
		let opened = 0;
		const walk = (mine) =>
			visit("?list=all", {}, async (page, seen) => {
				for (const { run, tool, kind } of mine) {
					const where = `${run} ${tool}`;
					await goTo(page, `?${q({ run, tool })}`);
					await page.waitForFunction((t) => document.querySelector(".nav-on")?.getAttribute("href").includes(`tool=${t}`), tool);
					await settled(page);
					if (kind === "timeline") await page.waitForSelector(".tl-over");
					assert.equal(await page.evaluate(() => document.querySelector(".note-error[role=alert]")?.textContent ?? null), null, where);
					assert.deepEqual(seen.errors, [], where);
					opened++;
				}
			});
		/* A run's tools stay together: the page that opened it knows it. */
		const share = Math.ceil(places.length / AT_ONCE);
		await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => walk(places.slice(i * share, (i + 1) * share))));
		assert.equal(opened, places.length);
		console.log(`# page ${opened} places opened`);
	});
});

/* ---- overview ---- */

describe("overview", () => {
	test("its numbers are the server's", async () => {
		const { run, host, answer } = await richest();
		const find = (name) => answer.tables.find((t) => t.name === name);
		await visit(`?${q({ run, tool: "overview_page", host })}`, {}, async (page) => {
			await settled(page);
			const shown = await page.$$eval("[data-prop]", (list) => list.map((e) => [e.dataset.prop, e.textContent]));
			assert.ok(shown.length >= 4, `only ${shown.length} numbers shown`);
			for (const [id, text] of shown) {
				const p = answer.tables.map((t) => t.props?.[id]).find(Boolean);
				if (!p && id === "host_count") continue;
				assert.ok(p, id);
				if (id === "is_training") assert.equal(text, { true: "yes", false: "no" }[p.text] ?? p.text);
				else assert.equal(text, formatted(p), id);
			}
			const a = find("analysis");
			if (a?.nrows) {
				const k = a.cols.findIndex((c) => c.id === "operation");
				const s = a.cols.findIndex((c) => c.id === "selfTimePercent");
				assert.deepEqual(
					await page.$$eval(".top-ops tbody td:first-child", (l) => l.map((x) => x.textContent)),
					a.data[k],
				);
				const shares = await page.$$eval("[data-op]", (l) => l.map((x) => x.textContent));
				a.data[s].forEach((v, i) =>
					assert.equal(shares[i], formatted({ value: a.cols[s].unit === "percent" ? v : v * 100, unit: "percent" })),
				);
			}
			const steps = find("steps");
			const parts = Object.entries(steps?.props ?? {}).filter(([id]) => /^time_.*_percent$/.test(id));
			parts.sort((x, y) => y[1].value - x[1].value);
			assert.deepEqual(
				shown.map(([id]) => id).filter((id) => /^time_.*_percent$/.test(id)),
				parts.map(([id]) => id),
				"all parts of the time are shown, the largest first",
			);
			if (steps?.nrows) assert.ok(await page.$(".chart canvas"), "the step-time graph is drawn");
			await shot(page, "overview");
		});
		await visit(`?${q({ run, tool: "overview_page", host })}`, { scheme: "dark" }, async (page) => {
			await settled(page);
			await shot(page, "overview-dark");
		});
	});

	test("a top operation leads to its row in the table of operations", async () => {
		const { run, answer } = await richest();
		const a = answer.tables.find((t) => t.name === "analysis");
		if (!a?.nrows) return;
		await visit(`?${q({ run, tool: "overview_page" })}`, {}, async (page) => {
			await settled(page);
			const link = page.locator(".top-ops tbody a").first();
			const name = await link.textContent();
			await link.click();
			await page.waitForSelector(".grid-row[aria-rowindex]");
			assert.equal(new URL(page.url()).searchParams.get("tool"), "framework_op_stats");
			assert.ok(
				(await page.$$eval(".grid-space .grid-row", (l) => l.map((x) => x.textContent))).some((t) => t.includes(name)),
			);
			await shot(page, "framework_op_stats");
		});
	});

	test("explanations appear on focus", async () => {
		const { run } = await richest();
		await visit(`?${q({ run, tool: "overview_page" })}`, {}, async (page) => {
			await settled(page);
			const hint = page.locator(".hint").first();
			await hint.focus();
			assert.ok(await hint.locator(".hint-text").isVisible());
		});
	});
});

/* ---- input pipeline ---- */

test("input pipeline: verdict, device side and host side", async () => {
	for (const r of runs) {
		const tool = (await toolsOf(r.run)).find((t) => t.name === "input_pipeline_analyzer" && t.available);
		if (!tool) continue;
		const a = await api(server.base, `api/tool/${tool.name}?${q({ run: r.run, host: hostOf(tool) })}`);
		const ops = a.tables.find((t) => t.cols.some((c) => c.id === "opName"));
		if (!ops?.nrows) continue;
		await visit(`?${q({ run: r.run, tool: tool.name })}`, {}, async (page) => {
			await settled(page);
			for (const [id, text] of await page.$$eval("[data-prop]", (list) =>
				list.map((e) => [e.dataset.prop, e.textContent]),
			))
				assert.equal(text, formatted(a.tables.map((t) => t.props?.[id]).find(Boolean)), id);
			assert.ok((await page.textContent(".verdict-text")).length > 20);
			/* Each category's share of all five. */
			const us = a.tables.flatMap((t) => Object.entries(t.props ?? {})).filter(([id]) => /_us$/.test(id));
			await page.waitForFunction(() => [...document.querySelectorAll("[data-share]")].every((e) => e.textContent));
			const shown = await page.$$eval("[data-share]", (l) => l.map((e) => [e.dataset.share, e.textContent]));
			assert.equal(shown.length, 5);
			/* XProf writes a picosecond where there is nothing. */
			const of = (id) => (us.find(([k]) => k === id)[1].value > 1e-6 ? us.find(([k]) => k === id)[1].value : 0);
			const total = shown.reduce((x, [id]) => x + of(id), 0);
			for (const [id, text] of shown) assert.equal(text, format.percent((of(id) / total) * 100), id);
			await shot(page, "input_pipeline");
			await page.locator("text=Input operations").scrollIntoViewIfNeeded();
			await shot(page, "input_pipeline-host");
		});
		return;
	}
});

/* ---- tables ---- */

/* A tool whose first table has at least ten rows and a column of names. */
async function tableTool() {
	for (const r of runs)
		for (const tool of (await toolsOf(r.run)).filter(
			(t) =>
				t.available &&
				t.kind === "tables" &&
				["framework_op_stats", "plane_stats", "utilization_viewer"].includes(t.name),
		)) {
			const a = await api(server.base, `api/tool/${tool.name}?${q({ run: r.run, host: hostOf(tool) })}`);
			const t = a.tables[0];
			const k = t?.cols.findIndex((c) => c.type === "str" && ["operation", "name", "plane"].includes(c.id)) ?? -1;
			if (k >= 0 && t.nrows >= 10) return { run: r.run, tool, t, k };
		}
	throw new Error("no tool with a table to sort");
}

test("tables sort, filter and scroll without losing rows", async () => {
	const { run, tool, t, k } = await tableTool();
	await visit(`?${q({ run, tool: tool.name })}`, {}, async (page) => {
		await settled(page);
		await page.waitForSelector(".grid-space .grid-row");
		const cells = () => page.$$eval(".grid-space .grid-row:first-child .grid-cell", (l) => l.map((x) => x.textContent));
		assert.equal((await cells())[k], t.data[k][0]);
		await page.locator(".grid-head .grid-sort").nth(k).click();
		const sorted = [...t.data[k]].filter(Boolean).sort(new Intl.Collator("en", { numeric: true }).compare);
		assert.equal((await cells())[k], sorted[0]);
		const last = sorted[sorted.length - 1];
		await page.fill('[aria-label="Filter rows"]', last);
		await until(page, cells, (row) => row[k]?.includes(last) && page.url().includes("filter="));
		const csv = await page.getAttribute("a[download]", "href");
		if (real) assert.ok((await (await fetch(server.base + csv)).text()).split("\n").length > t.nrows);
	});
});

/* ---- the page's weight and speed ---- */

/* The machine may be busy with other things: of a few tries the best counts, which is what the page itself needs. */
async function firstPaint() {
	let best = Infinity;
	for (let i = 0; i < 20 && best > 200; i++)
		await visit(`?${q({ run: any })}`, {}, async (page) => {
			await settled(page);
			const paint = await page.evaluate(
				() => performance.getEntriesByType("paint").find((e) => e.name === "first-contentful-paint")?.startTime ?? -1,
			);
			assert.ok(paint > 0, "something was painted");
			best = Math.min(best, paint);
		});
	return best;
}

test("the page is small, and the first paint waits for no data", async () => {
	await visit(`?${q({ run: any })}`, {}, async (page, seen) => {
		await settled(page);
		let bytes = 0;
		for (const url of new Set(seen.requests.filter((u) => /\/(app\.js|app\.css|icon\.svg)?(\?.*)?$/.test(u)))) {
			const res = await fetch(url, { headers: { "accept-encoding": "gzip" } });
			bytes += Number(res.headers.get("content-length") ?? 0) || (await res.arrayBuffer()).byteLength;
		}
		const paint = await firstPaint();
		console.log(`# page ${bytes} bytes on the wire, first contentful paint ${paint.toFixed(0)} ms`);
		assert.ok(bytes > 20_000 && bytes < 400_000);
		// The best of twenty is below 200 ms on an idle machine; 324 ms were seen on a busy one.
		assert.ok(paint <= 1500, `first paint after ${paint} ms`);
	});
});
