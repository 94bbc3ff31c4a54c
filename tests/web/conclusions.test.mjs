/*
 * conclusions.test.mjs - a page shows what the program concludes, word for word, and judges nothing itself.
 */
import { test } from "node:test";
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { api, q, real } from "./lib.mjs";
import { format } from "./format.mjs";
import { harness, settled } from "./harness.mjs";

const SOURCES = join(dirname(fileURLToPath(import.meta.url)), "../../web/src");
const h = harness();

test("each page shows the conclusion of its tool", { skip: !real && "made-up answers conclude nothing" }, async () => {
	const shown = new Set();
	for (const run of h.runs) {
		const { tools } = await api(h.server.base, `api/tools?${q({ run })}`);
		for (const t of tools) {
			if (!t.available || t.kind === "timeline" || shown.has(t.name)) continue;
			const host = t.hosts.includes("ALL_HOSTS") ? "ALL_HOSTS" : (t.hosts[0] ?? "");
			const a = await h.answer(t.name, run, { host }).catch(() => undefined);
			if (!a?.conclusion) continue;
			shown.add(t.name);
			await h.visit({ run, tool: t.name, host }, {}, async (page) => {
				await page.waitForSelector(".verdict-text").catch(() => assert.fail(`${t.name} of ${run} shows no conclusion`));
				const said = (await page.locator(".verdict-text p").allTextContents()).map((s) => s.replace(/\s+/g, " ").trim());
				/* The graph's page asks for another width than the tool's own. */
				if (t.name === "graph_viewer") return assert.match(said[0], /^The graph shows \d+ instructions? (around|of) /);
				const want = [a.conclusion.text, ...a.conclusion.more].map((s) => s.replace(/\s+/g, " ").trim());
				want.forEach((w, i) => assert.ok(said[i]?.startsWith(w), `${t.name} of ${run}: "${said[i]}" for "${w}"`));
			});
		}
	}
	assert.ok(shown.size >= 25, `tools shown: ${[...shown].sort()}`);
});

/* What a sentence or a share of the page's own would look like in its source. */
const FORBIDDEN = [
	[/\bpercent\([^}]* \/ [^}/]/, "divides for a percentage"],
	[/class="verdict-text"/, "writes a verdict"],
	[/\b(adviceFor|Advice)\b/, "gives advice"],
	[/\/[^/\n]*(bound|compute|hbm|memory|infeed|collective|idle)[^/\n]*\/i?\.test\(/i, "reads a meaning out of a label"],
];

function sources(dir) {
	return readdirSync(dir, { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? sources(join(dir, e.name)) : /\.tsx?$/.test(e.name) ? [join(dir, e.name)] : []));
}

function faults(text) {
	return text.split("\n").flatMap((line) => FORBIDDEN.filter(([re]) => re.test(line)).map(([, what]) => `${what}: ${line.trim()}`));
}

test("no page computes a share or composes a verdict", () => {
	const found = sources(SOURCES)
		.filter((f) => /\/(pages|chart|timeline|widgets)\//.test(f) && !f.endsWith("widgets/conclusion.tsx"))
		.flatMap((f) => faults(readFileSync(f, "utf8")).map((x) => `${f.slice(SOURCES.length + 1)} ${x}`));
	assert.deepEqual(found, []);
	/* The check itself finds what it is for. */
	for (const bad of ["{percent((v / core.total_us) * 100)}", "<p class=\"verdict-text\">", "if (/hbm|memory/i.test(bound)) return 1;", "<Advice full />"])
		assert.equal(faults(bad).length, 1, bad);
});

test("the step time at the top is the one of the list, and there is none where steps are unsure", { skip: !real && "made-up answers have no verdict" }, async () => {
	const listed = h.runs.filter((r) => /jax_2proc|jax_mlp_train|gpu_mi300_gemm|synth_tpu_3hosts/.test(r));
	assert.equal(listed.length, 4);
	for (const run of listed)
		for (const tool of ["overview_page", "input_pipeline_analyzer"]) {
			const f = await api(h.server.base, `api/run?${q({ run, steps: 1 })}`);
			await h.visit({ run, tool }, {}, async (page) => {
				await settled(page);
				const shown = await page.$$eval(".verdict-figure", (l) => l.map((e) => e.textContent));
				assert.equal(shown.length, f.steps ? 1 : 0, run);
				if (!f.steps) {
					assert.equal(await page.locator('[aria-label="Step-time graph"]').count(), 0);
					return;
				}
				assert.ok(shown[0].startsWith(format.quantity(f.step_ms, "ms")), `${shown[0]} ${f.step_ms}`);
				assert.ok(shown[0].endsWith(`${f.steps} steps`), shown[0]);
			});
		}
});
