/*
 * events.test.mjs - the pages of files that stand beside profiles: the TensorFlow graph and the end-to-end breakdown.
 */
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { real } from "./lib.mjs";
import { cells, harness, inUrl, tableOf } from "./harness.mjs";
import { format } from "./format.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const h = harness(join(root, "tests/data/events"));
const skip = { skip: !real && "made-up answers have no event files" };
const titles = (page) => page.$$eval(".graph-node .graph-title", (l) => l.map((x) => x.textContent).sort());
const fact = (page, label) => page.textContent(`.tf-card [data-fact="${label}"]`);

test("TF graph: scopes, compatibility, attributes, walking", skip, async () => {
	const run = "tf1_mnist/run";
	const a = await h.answer("tf_graph", run, { scope: "/" });
	const scopes = tableOf(a, "scopes");
	await h.visit({ run, tool: "tf_graph" }, {}, async (page) => {
		await page.waitForSelector(".graph-node");
		assert.deepEqual(await titles(page), [...cells(tableOf(a, "children"), "label")].sort());
		assert.equal(await page.textContent('[data-prop="score"]'), `${scopes.props.score.value} %`);
		for (const [label, id] of [
			["Compatible", "compatible"],
			["Incompatible", "incompatible"],
			["Not judged", "not_judged"],
		])
			assert.equal(await fact(page, label), format.count(cells(scopes, id)[0]), label);
		/* A node of two colours: what a TPU runs and what not. */
		assert.equal(await page.locator("rect.tpu-bad").count(), 0);
		await page.click('button:has-text("TPU compatibility")');
		await page.waitForSelector("rect.tpu-bad");
		const [good, bad] = await page.$$eval(".graph-node", (l) =>
			["tpu-good", "tpu-bad"].map((c) => {
				const tower = l.find((n) => n.querySelector(".graph-title").textContent === "tower");
				return Number(tower.querySelector(`rect.${c}`).getAttribute("width"));
			}),
		);
		const tower = cells(scopes, "scope").indexOf("tower");
		const want = cells(scopes, "incompatible")[tower] / cells(scopes, "ops")[tower];
		assert.ok(Math.abs(bad / (good + bad) - want) < 0.01, `${bad} of ${good + bad}`);
		/* From the list to the operation in its scope. */
		const bads = tableOf(a, "incompatible");
		const at = cells(bads, "node").indexOf("tower/odd_ops/hash");
		await page.click('.tf-bad button:has-text("tower/odd_ops/hash")');
		await page.waitForSelector('section[aria-label="Operation"] .tf-attributes dd');
		assert.equal(inUrl(page, "scope"), cells(bads, "scope")[at]);
		assert.equal(inUrl(page, "node"), "tower/odd_ops/hash");
		assert.equal(await fact(page, "Operator"), cells(bads, "op")[at]);
		const one = await h.answer("tf_graph", run, { node: "tower/odd_ops/hash" });
		const shown = await page.$$eval(".tf-attributes dd", (l) => l.map((x) => x.textContent));
		assert.deepEqual(shown, cells(tableOf(one, "attributes"), "value"));
		/* Along an input, and back up the path. */
		await page.click('.graph-links button:has-text("tower/odd_ops/to_string")');
		await page.waitForFunction(() => document.querySelector('section[aria-label="Operation"] h2')?.textContent === "tower/odd_ops/to_string");
		await page.click('.tf-path button:has-text("tower")');
		await page.waitForFunction(() => new URL(location.href).searchParams.get("scope") === "tower");
	});
	await h.both({ run, tool: "tf_graph", color: "tpu" }, "tf-graph");
});

test("the layers of a model of Keras, without a judgement on TPUs", skip, async () => {
	const run = "keras_model/run";
	const a = await h.answer("tf_graph", run, { scope: "two_towers" });
	const links = tableOf(a, "links");
	const names = cells(tableOf(a, "children"), "label");
	const tied = cells(links, "from").map((f, i) => `${names[f]} > ${names[cells(links, "to")[i]]}`);
	for (const edge of ["left > a_dense", "a_dense > tower", "b_dense > tower", "tower > join", "join > stack", "reshape > mha", "r2 > mha", "relu > head"])
		assert.ok(tied.includes(edge), `${edge} is not among ${tied.join(", ")}`);
	await h.visit({ run, tool: "tf_graph", scope: "two_towers" }, {}, async (page) => {
		await page.waitForSelector(".graph-node");
		assert.deepEqual(await titles(page), [...names].sort());
		assert.equal(await page.locator('button:has-text("TPU compatibility")').count(), 0);
		assert.match(await page.textContent(".verdict-text"), /This scope has 16 layers/);
		await page.locator(".graph-node", { hasText: "mha" }).click();
		await page.waitForSelector('section[aria-label="Layer"] .tf-attributes dd');
		assert.equal(await fact(page, "Class"), "MultiHeadAttention");
	});
	await h.both({ run, tool: "tf_graph", scope: "two_towers" }, "tf-graph-layers");
});

test("end to end: the bar and the phases", skip, async () => {
	const run = "end_to_end/run";
	const a = await h.answer("end_to_end", run);
	const t = tableOf(a, "breakdown");
	const phases = tableOf(a, "phases");
	await h.visit({ run, tool: "end_to_end" }, {}, async (page) => {
		const widths = await page.$$eval(".parts-part", (l) => l.map((e) => parseFloat(e.style.width)));
		const some = cells(t, "bar_frac").filter((v) => v > 0);
		assert.equal(widths.length, some.length);
		widths.forEach((w, i) => assert.ok(Math.abs(w - 100 * some[i]) < 0.1, `${w} for ${some[i]}`));
		assert.equal(await page.locator(".e2e-bar").count(), phases.nrows);
		assert.ok((await page.textContent(".verdict-text")).includes(a.conclusion.text));
	});
	await h.both({ run, tool: "end_to_end" }, "end-to-end");
});

test("no barrier is found in either", skip, async () => {
	const axe = readFileSync(createRequire(join(root, "web/package.json")).resolve("axe-core/axe.min.js"), "utf8");
	for (const scheme of ["light", "dark"])
		for (const at of [
			{ run: "tf1_mnist/run", tool: "tf_graph", scope: "tower/odd_ops", node: "tower/odd_ops/hash", color: "tpu" },
			{ run: "end_to_end/run", tool: "end_to_end" },
		])
			await h.visit(at, { scheme }, async (page) => {
				await page.waitForTimeout(300);
				await page.evaluate(axe);
				const found = await page.evaluate(() =>
					window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }),
				);
				assert.deepEqual(
					found.violations.map((v) => `${at.tool} ${scheme} ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`),
					[],
				);
			});
});
