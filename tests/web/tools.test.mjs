/*
 * tools.test.mjs - pages of single tools in a real browser: their numbers are the server's, their controls do what they say, and their
 * state is in the URL.
 */
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { api, openPage, q, real, runsByName, shot, startBrowser, startProgram } from "./lib.mjs";
import { format } from "./format.mjs";

let server;
let browser;
let runs;

before(async () => {
	server = await startProgram();
	browser = await startBrowser();
	runs = (await runsByName(server.base)).map((r) => r.run);
});

after(async () => {
	await browser?.close();
	await server?.stop();
});

async function visit(params, options, work) {
	const p = await openPage(browser, server.base, options);
	try {
		await p.page.goto(`${server.base}?${q(params)}`);
		await settled(p.page);
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

const answer = (tool, run, more = {}) => api(server.base, `api/tool/${tool}?${q({ run, ...more })}`);
const cells = (t, id) => t?.data[t.cols.findIndex((c) => c.id === id)] ?? [];

/* The first run whose answer passes; tests of a tool that no run has fail, so that none passes by having nothing to look at. */
async function runWith(tool, test, more) {
	for (const run of runs) {
		const a = await answer(tool, run, more).catch(() => undefined);
		if (a && test(a)) return { run, a };
	}
	throw new Error(`no run for ${tool}`);
}

async function both(params, name) {
	for (const scheme of ["light", "dark"])
		await visit(params, { scheme }, async (page) => {
			await page.waitForTimeout(200);
			await shot(page, scheme === "dark" ? `${name}-dark` : name);
		});
}

/* ---- tables ---- */

test("the edge of a heading is dragged: the column has that width, its cells too, and a long name then has room", { skip: !real && "needs profiles" }, async () => {
	const { run } = await runWith("event_stats", (a) => a.tables[0].nrows > 10);
	await visit({ run, tool: "event_stats" }, { width: 1000 }, async (page) => {
		const widths = () =>
			page.evaluate(() => {
				const grid = document.querySelector(".grid-body");
				const of = (e) => e.getBoundingClientRect().width;
				return { head: of(grid.querySelector("[role=columnheader]")), cell: of(grid.querySelector(".grid-space .grid-cell")) };
			});
		const before = await widths();
		assert.ok(Math.abs(before.head - before.cell) <= 1, JSON.stringify(before));
		const drag = async (by) => {
			const box = await page.locator(".grid-width").first().boundingBox();
			const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
			await page.mouse.move(x, y);
			await page.mouse.down();
			await page.mouse.move(x + by, y, { steps: 4 });
			await page.mouse.up();
			return widths();
		};
		const wide = await drag(120);
		assert.ok(Math.abs(wide.head - before.head - 120) <= 2 && Math.abs(wide.cell - wide.head) <= 1, JSON.stringify({ before, wide }));
		const least = await drag(-2000);
		assert.ok(least.head >= 39 && least.head <= 41 && Math.abs(least.cell - least.head) <= 1, JSON.stringify(least));
	});
});

/* ---- op profile ---- */

test("op profile: tree, colours, card, controls", { skip: !real && "made-up answers have no tree" }, async () => {
	const timed = (a) => cells(a.tables[1], "own_flops_util").some((v) => v > 0) && a.tables[1].nrows > 10;
	const { run, a } = await runWith("op_profile", timed, { group_by: "category" });
	const t = a.tables[1];
	const name = (i) => cells(t, "name")[i];
	await visit({ run, tool: "op_profile", group_by: "category" }, {}, async (page) => {
		const root = await page.$$eval(".verdict [data-prop]", (l) => l.map((e) => [e.dataset.prop, e.textContent]));
		for (const [id, text] of root) assert.equal(text, format.percent(cells(t, id)[0] * 100), id);
		/* Categories first, largest first; each opens into its operations. */
		const rows = () => page.$$eval(".grid-space .grid-row", (l) => l.map((r) => r.querySelector(".grid-text").textContent));
		const top = cells(t, "parent").flatMap((p, i) => (p === 0 ? [i] : []));
		const firstKids = cells(t, "parent").flatMap((p, i) => (p === top[0] ? [i] : []));
		if (top.length >= 4) assert.deepEqual(await rows(), top.map(name));
		await page.locator(".grid-body").focus();
		await page.keyboard.press("ArrowDown");
		if (top.length >= 4) await page.keyboard.press("ArrowRight");
		await page.waitForFunction((n) => [...document.querySelectorAll(".grid-text")].some((e) => e.textContent === n), name(firstKids[0]));
		await page.keyboard.press("ArrowDown");
		const op = name(firstKids[0]);
		await page.waitForFunction((n) => document.querySelector(".op-card h2")?.textContent === n, op);
		assert.equal(new URL(page.url()).searchParams.get("op"), op);
		assert.equal(
			await page.textContent('.op-card [data-cell="own_flops_util"]'),
			format.percent(cells(t, "own_flops_util")[firstKids[0]] * 100),
		);
		assert.ok((await page.textContent(".op-card")).includes(cells(t, "expression")[firstKids[0]].slice(0, 60)));
		const links = await page.$$eval(".op-card .event-links a", (l) => l.map((x) => x.getAttribute("href")));
		assert.ok(links.some((h) => h.includes("tool=hlo_stats")));
		/* Grouping and idle time are asked for at the server, the rest is a matter of display. */
		await page.getByLabel("Exclude idle time").uncheck();
		await page.getByLabel("Group by").selectOption("program");
		await settled(page);
		const url = new URL(page.url()).searchParams;
		assert.equal(url.get("group_by"), null);
		assert.equal(url.get("idle"), "with");
		const b = (await answer("op_profile", run)).tables[0];
		const programs = cells(b, "parent").flatMap((p, i) => (p === 0 ? [cells(b, "name")[i]] : []));
		await page.waitForFunction((n) => document.querySelector(".grid-text")?.textContent === n, programs[0]);
		for (const n of programs) assert.ok((await rows()).includes(n), n);
	});
	await both({ run, tool: "op_profile", group_by: "category", op: name(t.props.largest_target.value) }, "op_profile");
});

/* No sample has a tensor with padding: the real answer gets one on its way to the page. */
test("op profile: how tensors fill their tiles", { skip: !real && "made-up answers have no layouts" }, async () => {
	const { run, a } = await runWith("op_profile", (x) => cells(x.tables[1], "layout").some((l) => l));
	const t = a.tables[1];
	const i = cells(t, "layout").findIndex((l) => l);
	const size = /(\d+)\/\1/.exec(cells(t, "layout")[i])[1];
	const p = await openPage(browser, server.base);
	try {
		await p.page.route("**/api/tool/op_profile*", async (route) => {
			const b = await (await route.fetch()).json();
			cells(b.tables[1], "layout")[i] += "; operand 9 bf16 3/128 16/16 5/8";
			cells(b.tables[1], "layout_filled")[i] = (3 / 128) * (5 / 8);
			await route.fulfill({ json: b });
		});
		await p.page.goto(`${server.base}?${q({ run, tool: "op_profile", op: cells(t, "name")[i] })}`);
		await settled(p.page);
		assert.ok((await p.page.textContent(".tensor >> nth=0")).replace(/,/g, "").includes(size));
		assert.deepEqual(await p.page.$$eval(".dim .dim-size", (l) => l.map((x) => x.textContent)), ["3 padded to 128", "16", "5 padded to 8"]);
		assert.match(await p.page.textContent(".op-card"), /98\.5\u202f% padding/);
		await shot(p.page, "op_profile-layout");
	} finally {
		await p.close();
	}
});

/* ---- pod viewer ---- */

test("pod viewer: step slider, heat map, channels, breakdown", { skip: !real && "made-up answers have no pod" }, async () => {
	const table = (a, name) => a.tables.find((t) => t.name === name);
	const { run, a } = await runWith("pod_viewer", (x) => table(x, "channels")?.nrows > 1 && table(x, "topology").nrows > 2);
	const steps = table(a, "steps");
	const cores = table(a, "cores");
	await visit({ run, tool: "pod_viewer" }, {}, async (page) => {
		assert.equal(await page.textContent('[data-prop="total_us"]'), format.quantity(cells(steps, "total_us")[0], "us"));
		const shown = await page.$$eval(".topology-core", (l) => l.map((e) => Number(e.dataset.core)));
		assert.deepEqual(shown, cells(table(a, "topology"), "core_id"));
		/* The slider, by keyboard, goes to the next step and into the URL. */
		await page.locator("#step").focus();
		await page.keyboard.press("ArrowRight");
		const step = cells(steps, "step_num")[1];
		await page.waitForFunction((s) => new URL(location.href).searchParams.get("step") === s, String(step));
		assert.equal(await page.textContent('[data-prop="total_us"]'), format.quantity(cells(steps, "total_us")[1], "us"));
		/* A core of that step. */
		const core = shown.at(-1);
		await page.locator(`[data-core="${core}"]`).click();
		const row = cells(cores, "core_id").findIndex((c, i) => c === core && cells(cores, "step_num")[i] === step);
		const parts = await page.$$eval("[data-part]", (l) => l.map((e) => [e.dataset.part, e.textContent]));
		assert.ok(parts.length > 1);
		for (const [id, text] of parts) assert.equal(text, format.quantity(cells(cores, id)[row], "us"), id);
		/* Channels: arrows for all transfers of one, its card from the longest. */
		const ch = table(a, "channels");
		const own = cells(ch, "step_num").flatMap((s, i) => (s === step ? [i] : []));
		await page.locator("label.field", { hasText: "Channel" }).locator("select").selectOption(String(cells(ch, "channel_id")[own[0]]));
		const same = own.filter((i) => cells(ch, "channel_id")[i] === cells(ch, "channel_id")[own[0]] && cells(ch, "src_core")[i] >= 0);
		await page.waitForFunction((n) => document.querySelectorAll(".topology-arrows .arrow").length === n, same.length);
		const worst = same.reduce((x, i) => (cells(ch, "latency_us")[i] > cells(ch, "latency_us")[x] ? i : x));
		assert.ok((await page.textContent('[aria-label="Details of the channel"]')).includes(format.quantity(cells(ch, "latency_us")[worst], "us")));
		assert.equal(await page.locator('[aria-label="Sends and receives"] .bars-row').count(), own.length);
		await shot(page, "pod_viewer");
	});
	await visit({ run, tool: "pod_viewer", part: "other_us", channel: String(cells(table(a, "channels"), "channel_id")[0]) }, { scheme: "dark" }, (page) =>
		shot(page, "pod_viewer-dark"),
	);
});

/* ---- suggestions ---- */

test("suggestions: ranked, with figures and where they come from", { skip: !real && "made-up answers suggest nothing" }, async () => {
	const table = (a, name) => a.tables.find((t) => t.name === name);
	const { run, a } = await runWith("smart_suggestion", (x) => table(x, "evidence")?.nrows > 1);
	const s = table(a, "suggestions");
	await visit({ run, tool: "smart_suggestion" }, {}, async (page) => {
		assert.ok((await page.textContent(".verdict-text")).includes(a.conclusion.text));
		const titles = await page.$$eval(".suggestions > li", (l) => l.map((x) => x.getAttribute("aria-label")));
		assert.deepEqual(titles, cells(s, "title"));
		const figures = await page.$$eval("[data-evidence]", (l) => l.map((x) => [Number(x.dataset.evidence), x.textContent]));
		assert.equal(figures.length, table(a, "evidence").nrows);
		for (const [row, text] of figures) assert.equal(text, cells(table(a, "evidence"), "value")[row]);
		await shot(page, "suggestions");
		const link = cells(table(a, "evidence"), "link").find((l) => l.includes("view="));
		await page.locator('.suggestion-split a[href*="view="]').first().click();
		await page.waitForSelector(".tl-body");
		assert.equal(new URL(page.url()).searchParams.get("view"), new URLSearchParams(link).get("view"));
	});
	await visit({ run, tool: "smart_suggestion" }, { scheme: "dark" }, (page) => shot(page, "suggestions-dark"));
});

test("the overview opens with the first suggestion", { skip: !real && "needs a profile" }, async () => {
	const table = (x, name) => x.tables.find((t) => t.name === name);
	const { run, a } = await runWith("smart_suggestion", (x) => table(x, "suggestions")?.nrows > 1);
	const o = await answer("overview_page", run);
	assert.equal(o.conclusion.text, cells(table(a, "suggestions"), "finding")[0]);
	await visit({ run, tool: "overview_page" }, {}, async (page) => {
		await page.waitForSelector(".verdict-text");
		const said = await page.locator(".verdict-text p").allTextContents();
		assert.equal(said.length, 1 + o.conclusion.more.length);
		assert.ok(said[0].startsWith(o.conclusion.text));
		await shot(page, "overview-finding");
	});
});

/* ---- tables ---- */

test("a kernel has a short name, its full one on hover and in the filter; empty columns are hidden; the order stands in the URL", { skip: !real && "made-up answers have no kernels" }, async () => {
	const col = (t, id) => cells(t, id);
	const { run, a } = await runWith("kernel_stats", (x) => x.tables[0]?.nrows > 3 && col(x.tables[0], "kernel_short").some((s, i) => s !== col(x.tables[0], "kernel_name")[i]));
	const t = a.tables[0];
	const at = col(t, "kernel_short").findIndex((s, i) => s !== col(t, "kernel_name")[i]);
	const full = col(t, "kernel_name")[at];
	await visit({ run, tool: "kernel_stats", filter: `kernel_name:"${full.split('"')[0]}"` }, {}, async (page) => {
		const cell = page.locator(".grid-space .grid-row").first().locator(".grid-frozen");
		assert.equal(await cell.textContent(), col(t, "kernel_short")[at]);
		assert.equal(await cell.getAttribute("title"), full);
		const heads = await page.locator(".grid-head .grid-label").allTextContents();
		const empty = t.cols.filter((c, k) => t.data[k].every((v) => v === null || v === ""));
		for (const c of empty) assert.ok(!heads.includes(c.label), c.label);
		await page.locator('.grid-head .grid-sort:has-text("Min Duration")').click();
		await page.waitForFunction(() => new URL(location.href).searchParams.get("order") === "-min_duration_us");
	});
	await visit({ run, tool: "kernel_stats", order: "min_duration_us" }, {}, async (page) => {
		assert.equal(await page.locator('.grid-head [aria-sort="ascending"]').count(), 1);
		const shown = await page.locator(".grid-space .grid-row").first().locator(".grid-frozen").getAttribute("title");
		const least = Math.min(...col(t, "min_duration_us"));
		assert.ok(col(t, "kernel_name").some((n, i) => n === shown && col(t, "min_duration_us")[i] === least), shown);
	});
});

/* ---- how totals are divided ---- */

test("shares are the server's sums, and a click filters by one", { skip: !real && "made-up answers have shares of their own" }, async () => {
	const { run, a } = await runWith("framework_op_stats", (x) => x.tables[0]?.nrows > 5);
	const t = a.tables[0];
	const side = ["Device", "Host"].find((s) => cells(t, "host_or_device").includes(s));
	const { unit, divisions } = await api(
		server.base,
		`api/shares?${q({ run, tool: "framework_op_stats", value: "total_self_time", name: "operation", by: "type", where: "host_or_device", is: side })}`,
	);
	/* The server's sums are those of the table's rows. */
	const sum = cells(t, "total_self_time").reduce((x, v, i) => x + (cells(t, "host_or_device")[i] === side && v > 0 ? v : 0), 0);
	assert.ok(Math.abs(divisions[0].total - sum) <= 1e-9 * sum);
	assert.ok(Math.abs(divisions[0].top.reduce((x, s) => x + s.sum, divisions[0].rest) - sum) <= 1e-9 * sum);
	await visit({ run, tool: "framework_op_stats" }, {}, async (page) => {
		await page.waitForSelector(".share");
		assert.ok((await page.textContent(".verdict-text")).includes(a.conclusion.text));
		const shown = await page.$$eval(".shares", (l) =>
			l.map((x) => [x.querySelector("h3").textContent, [...x.querySelectorAll(".share .chart-value")].map((v) => v.textContent)]),
		);
		const [title, values] = shown.find(([h]) => h.startsWith(`${side}, by type`));
		assert.ok(title.includes(format.quantity(divisions[0].total, unit)));
		assert.deepEqual(values, divisions[0].top.map((s) => format.percent(s.frac * 100)));
		await page.locator(".shares", { hasText: `${side}, by type` }).locator(".share").first().click();
		await page.waitForSelector('.share[aria-pressed="true"]');
		assert.ok(page.url().includes("filter=type:"));
	});
});

/* ---- start page ---- */

test("start page: device and step time of each run, once it is on the screen", { skip: !real && "made-up runs are large" }, async () => {
	await visit({ list: "all" }, {}, async (page, seen) => {
		await page.waitForSelector("[data-run]");
		const shown = await page.$$eval("[data-run]", (l) =>
			l.filter((x) => x.getBoundingClientRect().bottom < innerHeight).map((x) => x.dataset.run),
		);
		for (const run of shown.slice(0, 4)) {
			await page.waitForFunction((r) => !/…$/.test(document.querySelector(`[data-run="${r}"] td:nth-child(5)`).textContent.trim() || "…"), run);
			const f = await api(server.base, `api/run?${q({ run, steps: 1 })}`);
			const text = await page.textContent(`[data-run="${run}"]`);
			assert.ok(text.includes(f.device), text);
			/* When it was taken, where its own clock tells. */
			const at = Number(await page.getAttribute(`[data-run="${run}"] [data-recorded]`, "data-recorded"));
			if (f.recorded_s) assert.equal(at, f.recorded_s);
			else assert.match(text, /file written/);
			/* Its finding, also where it has no steps. */
			assert.ok(text.includes(f.limit ?? ""), `${run}: ${f.limit}`);
			assert.ok(text.includes(f.steps ? format.time_ps(f.step_ms * 1e9) : "no steps"), text);
		}
		if (real) {
			const asked = seen.requests.filter((u) => u.includes("/api/run?")).map((u) => new URL(u).searchParams.get("run"));
			const listed = await page.$$eval("[data-run]", (l) => l.map((x) => x.dataset.run));
			const hidden = listed.filter((r) => !shown.includes(r)).slice(2);
			for (const r of hidden) assert.ok(!asked.includes(r), `${r} is not on the screen`);
		}
		await page.waitForTimeout(1500);
		await shot(page, "start");
	});
});
