/*
 * harness.mjs - what tests of single pages share: a server and a browser, a page that must not fail or talk to others, the server's answers.
 */
import { after, before } from "node:test";
import assert from "node:assert/strict";
import { api, openPage, q, runsByName, shot, startBrowser, startProgram } from "./lib.mjs";

export const cells = (t, id) => t?.data[t.cols.findIndex((c) => c.id === id)] ?? [];
export const tableOf = (a, name) => a.tables.find((t) => t.name === name);
export const settled = (page) =>
	page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector(".waiting"), undefined, {
		timeout: 20_000,
	});

/* Every answer that was asked for is here, and the URL says what the page shows. */
export const settle = (page) => page.waitForFunction(() => Number(document.documentElement.dataset.pending ?? 0) === 0);

/* Asks again until the answer is good, and tells the last one if it never is. */
export const until = async (page, what, good) => {
	let last;
	for (const end = Date.now() + 30_000; Date.now() < end; await page.waitForTimeout(50)) {
		last = await what(page);
		if (good(last)) return last;
	}
	throw new Error(`still ${JSON.stringify(last)}`);
};

/* What the last input set off is drawn. */
export const frames = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/* `logdir`: another than that of all tests. */
export function harness(logdir) {
	const h = { server: undefined, browser: undefined, runs: [] };
	before(async () => {
		h.server = await startProgram(logdir);
		h.browser = await startBrowser();
		h.runs = (await runsByName(h.server.base)).map((r) => r.run);
	});
	after(async () => {
		await h.browser?.close();
		await h.server?.stop();
	});

	h.visit = async (params, options, work) => {
		const p = await openPage(h.browser, h.server.base, options);
		try {
			await p.page.goto(`${h.server.base}?${q(params)}`);
			await settled(p.page);
			await work(p.page, p.seen);
			assert.deepEqual(p.seen.foreign, [], "requests to other hosts");
			assert.deepEqual(p.seen.errors, [], "errors on the console");
		} finally {
			await p.close();
		}
	};
	h.answer = (tool, run, more = {}) => api(h.server.base, `api/tool/${tool}?${q({ run, ...more })}`);
	/* The first run, by name, whose answer passes. None is a failure: no test passes by having nothing to look at. */
	h.runWith = async (tool, test, more) => {
		for (const run of h.runs) {
			const a = await h.answer(tool, run, more).catch(() => undefined);
			if (a && test(a)) return { run, a };
		}
		throw new Error(`no run for ${tool}`);
	};
	h.both = async (params, name) => {
		for (const scheme of ["light", "dark"])
			await h.visit(params, { scheme }, async (page) => {
				await page.waitForTimeout(200);
				await shot(page, scheme === "dark" ? `${name}-dark` : name);
			});
	};
	return h;
}

/* The value of a query parameter of the page. */
export const inUrl = (page, name) => new URL(page.url()).searchParams.get(name);
