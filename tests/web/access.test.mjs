/*
 * access.test.mjs - axe-core's rules (WCAG 2.1 A and AA) on every kind of page, in light and dark: each tool in the first run that has
 * data for it, the texts of a program, and the start page.
 */
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { api, openPage, q, runsByName, startBrowser, startProgram } from "./lib.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const axe = readFileSync(createRequire(join(root, "web/package.json")).resolve("axe-core/axe.min.js"), "utf8");
let server;
let browser;

before(async () => {
	server = await startProgram();
	browser = await startBrowser();
});

after(async () => {
	await browser?.close();
	await server?.stop();
});

/* Where each tool has something to show. */
async function places() {
	const runs = await runsByName(server.base);
	const seen = new Map();
	for (const { run } of runs)
		for (const t of (await api(server.base, `api/tools?${q({ run })}`)).tools)
			if (t.available && !seen.has(t.name)) seen.set(t.name, { run, tool: t.name });
	const graph = seen.get("graph_viewer");
	return [
		"?list=all",
		"?run=no_such_run",
		...[...seen.values(), ...(graph ? [{ ...graph, type: "short_txt" }] : [])].map((x) => `?${q(x)}`),
	];
}

for (const scheme of ["light", "dark"])
	test(`no barrier is found, ${scheme}`, async () => {
		const all = [];
		const p = await openPage(browser, server.base, { scheme });
		try {
			for (const path of await places()) {
				await p.page.goto(server.base + path);
				await p.page.waitForFunction(() => document.querySelector("main") && !document.querySelector(".waiting"));
				await p.page.waitForTimeout(150);
				await p.page.evaluate(axe);
				const found = await p.page.evaluate(() =>
					window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }),
				);
				all.push(
					...found.violations.map(
						(v) =>
							`${path} ${v.id}: ${v.help}: ${v.nodes
								.slice(0, 3)
								.map((n) => `${n.html.slice(0, 160)} ${n.any.map((a) => a.message).join(" ")}`)
								.join(" | ")}`,
					),
				);
			}
			assert.deepEqual(all, []);
		} finally {
			await p.close();
		}
	});
