/*
 * programs.test.mjs - the pages that draw graphs: a compiled program around an instruction, and the stages of a tf.data pipeline.
 */
import { test } from "node:test";
import assert from "node:assert/strict";
import { api, q, real, shot } from "./lib.mjs";
import { format } from "./format.mjs";
import { cells, harness, inUrl, settled, tableOf } from "./harness.mjs";

const h = harness();
const skip = { skip: !real && "made-up answers have no graphs" };
const drawn = (page) => page.$$eval(".graph-node .graph-title", (l) => l.map((x) => x.textContent));
const quantity = (t, id, row) => format.quantity(cells(t, id)[row], t.cols.find((c) => c.id === id).unit);

/* A program with measured instructions, around the one that takes most. */
async function measured() {
	for (const run of h.runs) {
		const graph = await h.answer("graph_viewer", run).catch(() => undefined);
		const stats = await h.answer("hlo_stats", run).catch(() => undefined);
		const ops = stats && tableOf(stats, "ops");
		if (!graph || !ops?.nrows) continue;
		const number = /\((\d+)\)$/.exec(tableOf(graph, "nodes").props.module.text)?.[1];
		const row = cells(ops, "program_id").indexOf(number);
		if (row >= 0) return { run, ops, row, name: cells(ops, "hlo_op_name")[row], program: number };
	}
	throw new Error("no run with a program and its measurements");
}

test("graph viewer: the neighbourhood, its costs, the card, and walking", skip, async () => {
	const { run, ops, row, name, program } = await measured();
	const ask = { node_name: name, program_id: program, graph_width: 2 };
	const a = await h.answer("graph_viewer", run, ask);
	const nodes = tableOf(a, "nodes");
	const edges = tableOf(a, "edges");
	await h.visit({ run, tool: "graph_viewer", ...ask }, {}, async (page) => {
		await page.click('[aria-label="Show all"]');
		await page.waitForFunction((n) => document.querySelectorAll(".graph-node").length === n, nodes.nrows);
		assert.deepEqual((await drawn(page)).sort(), [...cells(nodes, "title")].sort());
		assert.equal(await page.locator(".graph-edge").count(), edges.nrows);
		await page.waitForSelector('[data-fact="Self time"]');
		for (const [label, id] of [
			["Self time", "total_self_time"],
			["Share", "total_self_time_percent"],
			["Runs", "occurrences"],
		])
			assert.equal(await page.textContent(`[data-fact="${label}"]`), quantity(ops, id, row), label);
		assert.ok((await page.textContent(".verdict-text")).includes(name));
		/* Along an edge by key; the other end is in the URL and on the card. */
		const at = cells(nodes, "name").indexOf(name);
		const up = cells(edges, "to").indexOf(at);
		if (up >= 0) {
			await page.locator(".graph-svg").focus();
			await page.keyboard.press("ArrowUp");
			await page.waitForFunction((n) => document.querySelector(".graph-card h2").textContent !== n, name);
			const now = await page.textContent(".graph-card h2");
			assert.equal(inUrl(page, "op"), now);
			assert.ok(cells(edges, "to").some((t, i) => t === at && cells(nodes, "name")[cells(edges, "from")[i]] === now));
			await page.keyboard.press("Enter");
			await settled(page);
			await page.waitForFunction((n) => document.querySelector(".verdict-text").textContent.includes(`around '${n}' of`), now);
			assert.equal(inUrl(page, "node_name"), now);
		}
		await page.locator('.graph-ways a:has-text("Memory viewer")').waitFor();
	});
	await h.both({ run, tool: "graph_viewer", ...ask }, "graph_viewer");
});

/* Of a run with several measured programs: the operation that takes most, and the program whose operations do. */
async function severalPrograms() {
	for (const run of h.runs) {
		const ops = tableOf((await h.answer("hlo_stats", run).catch(() => undefined)) ?? { tables: [] }, "ops");
		const memory = await h.answer("memory_viewer", run).catch(() => undefined);
		if (!ops?.nrows || !memory || new Set(cells(ops, "program_id")).size < 2) continue;
		const time = cells(ops, "total_self_time");
		const row = time.indexOf(Math.max(...time));
		const of = new Map();
		cells(ops, "program_id").forEach((p, i) => of.set(p, (of.get(p) ?? 0) + time[i]));
		const busiest = [...of].sort((a, b) => b[1] - a[1])[0][0];
		if (cells(ops, "program_id")[row] === busiest) {
			const module = memory.tables.map((t) => t.props.module?.text).find(Boolean);
			assert.ok(module.endsWith(`(${busiest})`), `${module} instead of ${busiest}`);
			return { run, op: cells(ops, "hlo_op_name")[row], program: busiest, module };
		}
	}
	throw new Error("no run with several programs");
}

test("graph and memory viewer open on the busiest program, the graph around its longest operation", skip, async () => {
	const { run, op, program, module } = await severalPrograms();
	const name = module.replace(/\(\d+\)$/, "");
	await h.visit({ run, tool: "graph_viewer" }, {}, async (page) => {
		const said = await page.textContent(".verdict-text");
		assert.ok(said.includes(`'${op}'`) && said.includes(`(${program})`), said);
	});
	await h.visit({ run, tool: "memory_viewer" }, {}, async (page) => {
		await settled(page);
		const said = await page.textContent(".verdict-text");
		assert.ok(said.includes(`'${name}'`), said);
		assert.equal(await page.locator("main select").first().evaluate((e) => e.selectedOptions[0].textContent.trim()), module);
	});
});

test("graph viewer: moves, zooms, and draws no more than can be seen", skip, async () => {
	const wide = (a) => tableOf(a, "nodes").nrows > 30;
	const { run, a } = await h.runWith("graph_viewer", wide, { graph_width: 10 });
	await h.visit({ run, tool: "graph_viewer", graph_width: 10 }, {}, async (page) => {
		await page.waitForSelector(".graph-node");
		const place = () => page.getAttribute(".graph-svg > g", "transform");
		const first = await place();
		const box = await page.locator(".graph-svg").boundingBox();
		await page.mouse.move(box.x + 30, box.y + 30);
		await page.mouse.down();
		await page.mouse.move(box.x + 130, box.y + 90, { steps: 4 });
		await page.mouse.up();
		const second = await place();
		assert.notEqual(second, first);
		await page.mouse.wheel(0, -300);
		await page.waitForFunction((t) => document.querySelector(".graph-svg > g").getAttribute("transform") !== t, second);
		assert.ok((await page.locator(".graph-node").count()) <= tableOf(a, "nodes").nrows);
		await page.click('[aria-label="Show all"]');
		await page.waitForFunction((n) => document.querySelectorAll(".graph-node").length === n, tableOf(a, "nodes").nrows);
		await shot(page, "graph_viewer-all");
	});
});

test("graph viewer: search, fusions, and the program as text", skip, async () => {
	const fusion = (x) => tableOf(x, "boxes").nrows > 0 && cells(tableOf(x, "boxes"), "fusion").includes(true);
	const { run, a } = await h.runWith("graph_viewer", fusion, { graph_width: 3 });
	const module = tableOf(a, "nodes").props.module.text;
	const inside = cells(tableOf(a, "boxes"), "name")[cells(tableOf(a, "boxes"), "fusion").indexOf(true)];
	const found = tableOf(await h.answer("graph_viewer", run, { module_name: module, type: "names", find: inside }), "names");
	await h.visit({ run, tool: "graph_viewer", graph_width: 3 }, {}, async (page) => {
		await page.waitForSelector(".graph-box");
		await page.getByLabel("Inside of fusions").uncheck();
		await page.waitForFunction((n) => [...document.querySelectorAll(".graph-title")].some((e) => e.textContent === n), inside);
		assert.equal(inUrl(page, "merge_fusion"), "true");
		const box = page.getByRole("combobox", { name: "Instruction or computation" });
		await box.fill(inside);
		await page.waitForSelector(".suggest-item");
		assert.deepEqual(
			await page.$$eval(".suggest-item > :first-child", (l) => l.map((x) => x.textContent)),
			cells(found, "name").slice(0, 60),
		);
		await box.press("Enter");
		await settled(page);
		assert.equal(inUrl(page, "node_name"), cells(found, "name")[0]);
		for (const [label, type] of [
			["Short text", "short_txt"],
			["Long text", "long_txt"],
		]) {
			await page.getByRole("button", { name: label }).click();
			await page.waitForSelector(".text-line");
			assert.equal(inUrl(page, "type"), type);
			const text = await (await fetch(`${h.server.base}data/plugin/profile/data?${q({ run, tag: "graph_viewer", module_name: module, type })}`)).text();
			await page.getByLabel("Find in the text").fill("");
			await page.locator(".text-body").evaluate((e) => (e.scrollTop = 0));
			await page.waitForFunction((t) => document.querySelector(".text-line")?.textContent === `1${t}`, text.split("\n")[0]);
			await page.getByLabel("Find in the text").fill(inside);
			const lines = text.split("\n").filter((l) => l.toLowerCase().includes(inside.toLowerCase())).length;
			await page.waitForFunction((n) => document.querySelector(".text-view [role=status]").textContent === `1 of ${n} lines`, String(lines));
		}
		await shot(page, "graph_viewer-text");
	});
});

test("a row of the HLO stats leads to its place in the graph", skip, async () => {
	const { run, name } = await measured();
	await h.visit({ run, tool: "hlo_stats" }, {}, async (page) => {
		await page.locator(`.grid-space a:text-is("${name}")`).first().click();
		await page.waitForSelector(".graph-node");
		assert.equal(inUrl(page, "tool"), "graph_viewer");
		assert.equal(await page.textContent(".graph-card h2"), name);
	});
});

/* ---- tf.data ---- */

test("pairs that are not fused lead to the program's graph and to the timeline", skip, async () => {
	const timed = (a) => cells(tableOf(a, "pairs"), "producer_ps").some((v) => v > 0);
	const { run, a } = await h.runWith("fusion_blockers", timed);
	const t = tableOf(a, "pairs");
	const row = cells(t, "producer_ps").findIndex((v) => v > 0);
	const [module, producer] = ["module", "producer"].map((id) => cells(t, id)[row]);
	await h.visit({ run, tool: "fusion_blockers" }, {}, async (page) => {
		assert.ok((await page.textContent(".verdict-text")).includes(a.conclusion.text));
		const links = (part) => page.$$eval(`.grid a[href*="${part}"]`, (l) => l.map((x) => new URL(x.href).searchParams).map((u) => Object.fromEntries(u)));
		const graphs = await links("tool=graph_viewer");
		assert.ok(graphs.some((u) => u.module_name === module && u.node_name === producer), JSON.stringify(graphs));
		const moments = await links("trace_viewer");
		assert.ok(moments.some((u) => u.q === producer && u.find === "longest"), JSON.stringify(moments));
		await page.click('.grid a[href*="tool=graph_viewer"]');
		await page.waitForSelector(".graph-node");
		assert.equal(inUrl(page, "module_name"), module);
	});
	await h.both({ run, tool: "fusion_blockers" }, "fusion-blockers");
});

test("HLO query: a program and expressions are asked for in the page, and stand in its address", skip, async () => {
	const { run, a } = await h.runWith("hlo_query", (x) => tableOf(x, "modules").nrows > 1 && tableOf(x, "instructions").nrows > 5);
	const program = cells(tableOf(a, "modules"), "module_name")[0];
	const count = (x) => `${tableOf(x, "instructions").nrows} rows`;
	const shown = (page, x) => page.waitForFunction((t) => [...document.querySelectorAll("section.card")].some((e) => e.textContent.includes(t)), count(x));
	await h.visit({ run, tool: "hlo_query" }, {}, async (page) => {
		assert.ok((await page.textContent(".verdict-text")).includes(a.conclusion.text));
		assert.equal(await page.locator('section[aria-label="Compiled programs"]').count(), 0);
		const field = (name, kind) => page.locator(`label.field:has(span:text-is("${name}")) ${kind}`);
		await field("program", "select").selectOption(program);
		await settled(page);
		const b = await h.answer("hlo_query", run, { module_name: program });
		await page.waitForFunction((t) => document.querySelector(".verdict-text").textContent.includes(t), b.conclusion.text);
		const opcode = cells(tableOf(b, "opcodes"), "opcode")[0];
		await field("opcode", "input").fill(`^${opcode}$`);
		await field("opcode", "input").press("Enter");
		await page.waitForFunction((t) => new URL(location.href).searchParams.get("opcode") === t, `^${opcode}$`);
		await settled(page);
		await shown(page, await h.answer("hlo_query", run, { module_name: program, opcode: `^${opcode}$` }));
		assert.equal(inUrl(page, "module_name"), program);
	});
	await h.both({ run, tool: "hlo_query" }, "hlo-query");
});

test("tf.data: the slowest element's stages, its critical path and bottleneck", skip, async () => {
	const { run, a } = await h.runWith("tf_data_bottleneck_analysis", (x) => tableOf(x, "bottlenecks")?.nrows > 0);
	const slow = tableOf(a, "bottlenecks");
	const calls = tableOf(a, "calls");
	const all = tableOf(a, "input_pipelines");
	const host = cells(slow, "host")[0];
	const id = cells(all, "id").find((_, i) => cells(all, "host")[i] === host && cells(all, "input_pipeline")[i] === cells(slow, "input_pipeline")[0]);
	const mine = (rank) =>
		cells(calls, "rank").flatMap((r, i) => (r === rank && cells(calls, "host")[i] === host && cells(calls, "pipeline_id")[i] === id ? [i] : []));
	const count = (rank, col) => mine(rank).filter((i) => cells(calls, col)[i]).length;
	await h.visit({ run, tool: "tf_data_bottleneck_analysis" }, {}, async (page) => {
		assert.ok((await page.textContent(".verdict-text")).includes(a.conclusion.text));
		assert.ok(a.conclusion.text.includes(cells(slow, "iterator_name")[0]));
		await page.click('[aria-label="Show all"]');
		assert.equal(await page.locator(".tfd-critical").count(), count(0, "is_blocking"));
		assert.equal(await page.locator(".tfd-bottleneck").count(), count(0, "is_bottleneck"));
		const worst = mine(0).find((i) => cells(calls, "is_bottleneck")[i]);
		assert.equal(await page.textContent('[data-fact="Self"]'), quantity(calls, "self_time_ps", worst));
		assert.equal(await page.textContent('[data-fact="Long name"]'), cells(slow, "iterator_long_name")[0]);
		await page.getByLabel("Long names").check();
		await page.waitForFunction(() => [...document.querySelectorAll(".tfd-node text")].some((t) => t.textContent.startsWith("Iterator::")));
		if (mine(1).length) {
			await page.getByLabel("Rank").selectOption("1");
			assert.equal(inUrl(page, "rank"), "1");
			await page.waitForFunction((n) => document.querySelectorAll(".tfd-critical").length === n, count(1, "is_blocking"));
		}
	});
	await h.both({ run, tool: "tf_data_bottleneck_analysis" }, "tf_data");
	/* The other host, where there is one. */
	const two = await h.runWith("tf_data_bottleneck_analysis", (x) => new Set(cells(tableOf(x, "input_pipelines"), "host")).size > 1, { host: "ALL_HOSTS" });
	await h.visit({ run: two.run, tool: "tf_data_bottleneck_analysis", host: "ALL_HOSTS" }, {}, async (page) => {
		const other = cells(tableOf(two.a, "bottlenecks"), "host")[1];
		await page.locator('section[aria-label="Input pipeline graph"] select').first().selectOption(other);
		await page.waitForFunction((n) => document.querySelector(".graph-svg")?.getAttribute("aria-label").includes(n), other);
		assert.equal(inUrl(page, "at_host"), other);
	});
});

test("the input pipeline analyzer leads to the tf.data graph", skip, async () => {
	const { run } = await h.runWith("tf_data_bottleneck_analysis", (x) => tableOf(x, "bottlenecks")?.nrows > 0);
	await h.visit({ run, tool: "input_pipeline_analyzer" }, {}, async (page) => {
		await page.click('a:has-text("tf.data graph")');
		await page.waitForSelector(".tfd-node");
	});
	assert.ok((await api(h.server.base, `api/tools?${q({ run })}`)).tools.some((t) => t.name === "tf_data_bottleneck_analysis" && t.available));
});
