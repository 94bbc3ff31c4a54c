/*
 * stored.test.mjs - runs of older tools, whose answers were stored when they were taken: in the list like the others, with their pages.
 */
import { test } from "node:test";
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { api, q, real, shot } from "./lib.mjs";
import { format } from "./format.mjs";
import { harness } from "./harness.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const h = harness(join(root, "tests/data/legacy"));
const skip = { skip: !real && "made-up answers are not stored" };

test("the list shows device and step time of stored overviews", skip, async () => {
	await h.visit({ list: "all" }, {}, async (page) => {
		for (const run of ["tpu_v2/run", "demo/run"]) {
			const f = await api(h.server.base, `api/run?${q({ run, steps: 1 })}`);
			assert.ok(f.device && f.steps > 0 && f.cores > 1, JSON.stringify(f));
			await page.waitForFunction(
				([r, text]) => document.querySelector(`[data-run="${r}"]`)?.textContent.includes(text),
				[run, format.time_ps(f.step_ms * 1e9)],
			);
			assert.ok((await page.textContent(`[data-run="${run}"]`)).includes(`${f.device} × ${f.cores}`));
		}
		await page.locator('[data-run="tpu_v2/run"] a').click();
		await page.waitForSelector(".verdict-number");
		const f = await api(h.server.base, `api/run?${q({ run: "tpu_v2/run" })}`);
		assert.equal(await page.textContent(".verdict-number"), format.time_ps(f.step_ms * 1e9));
		await shot(page, "stored");
	});
});
