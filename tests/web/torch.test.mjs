/*
 * torch.test.mjs - pages of a trace of PyTorch in a real browser: rows of a tree have their own names, and a choice that was not made
 * says so.
 */
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { api, openPage, real, startBrowser, startProgram } from "./lib.mjs";

/* A layer inside of a layer, and an operator in it. */
const event = (cat, name, ts, dur, args) => ({ ph: "X", cat, name, pid: 1, tid: 1, ts, dur, args });
const trace = {
	schemaVersion: 1,
	traceEvents: [
		event("python_function", "nn.Module: Encoder_0", 100, 900, { "Python id": 1, "Python module id": 0 }),
		event("python_function", "nn.Module: Linear_0", 200, 400, { "Python id": 2, "Python parent id": 1, "Python module id": 0 }),
		event("cpu_op", "aten::linear", 250, 300, { "External id": 1 }),
	],
};
let server, browser, logdir;

before(async () => {
	logdir = mkdtempSync(join(tmpdir(), "stepscope-torch-"));
	mkdirSync(join(logdir, "run"));
	writeFileSync(join(logdir, "run", "toy.pt.trace.json"), JSON.stringify(trace));
	mkdirSync(join(logdir, "plain"));
	const operators = trace.traceEvents.filter((e) => e.cat === "cpu_op");
	writeFileSync(join(logdir, "plain", "toy.pt.trace.json"), JSON.stringify({ ...trace, traceEvents: operators }));
	server = await startProgram(logdir);
	browser = await startBrowser();
});

after(async () => {
	await browser?.close();
	await server?.stop();
	rmSync(logdir, { recursive: true, force: true });
});

async function visit(query, work) {
	const p = await openPage(browser, server.base, {});
	try {
		await p.page.goto(`${server.base}?${query}`);
		await p.page.waitForSelector(".grid-text");
		await work(p.page);
		assert.deepEqual(p.seen.errors, [], "errors on the console");
	} finally {
		await p.close();
	}
}

test("modules are offered where the trace has some", { skip: !real && "needs the program" }, async () => {
	const offered = async (run) =>
		Object.fromEntries((await api(server.base, `api/tools?run=${run}`)).tools.map((t) => [t.name, t.available]));
	const [some, none] = [await offered("run"), await offered("plain")];
	assert.deepEqual([some.modules, none.modules], [true, false]);
	assert.deepEqual([some.operators, none.operators], [true, true]);
});

test("a module below another is shown by its own name", { skip: !real && "needs the program" }, async () => {
	const t = (await api(server.base, "api/tool/modules?run=run")).tables[0];
	const column = (id) => t.data[t.cols.findIndex((c) => c.id === id)];
	const below = column("parent").findIndex((up) => up >= 0);
	assert.ok(below >= 0, "the sample has a module inside of another");
	const path = column("module")[below];
	assert.equal(path, "Encoder_0/Linear_0");
	await visit("run=run&tool=modules", async (page) => {
		const cell = page.locator(`.grid-cell[title="${path}"] .grid-text`).first();
		assert.equal(await cell.textContent(), "Linear_0");
	});
});

test("operators by stack are shown when they are asked for", { skip: !real && "needs the program" }, async () => {
	await visit("run=run&tool=operators", async (page) => {
		const by = page.locator("label.field", { hasText: "by" }).locator("select");
		assert.equal(await by.inputValue(), "");
		assert.equal(await page.locator("h2", { hasText: "Operators by stack" }).count(), 0);
		await by.selectOption("stack");
		await page.waitForFunction(() => [...document.querySelectorAll("h2, h3")].some((h) => h.textContent === "Operators by stack"));
		assert.ok(new URL(page.url()).searchParams.get("by") === "stack");
		await by.selectOption("");
		await page.waitForFunction(() => ![...document.querySelectorAll("h2, h3")].some((h) => h.textContent === "Operators by stack"));
	});
});
