import assert from "node:assert/strict";
import { test } from "node:test";
import { bestWindow, savedAnswer } from "../src/api/saved";

const file = { run: "r", width_px: 100, windows: [[0, 1000], [0, 250], [125, 375], [250, 500]] as [number, number][], left_out: [], answers: {} };

test("the window of a file that is as sharp as the screen, or the sharpest around it", () => {
	assert.deepEqual(bestWindow(file, 0, 1000, 100), [0, 1000]);
	assert.deepEqual(bestWindow(file, 150, 210, 24), [0, 250]);
	assert.deepEqual(bestWindow(file, 260, 380, 1000), [250, 500]);
	assert.deepEqual(bestWindow(file, 0, 1000, 5000), [0, 1000]);
	assert.equal(bestWindow({ ...file, windows: [] }, 0, 1, 1), undefined);
});

test("an answer is found under its address, whatever the order of the parameters", async () => {
	const text = Buffer.from(await new Response(new Blob(["{}"]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer()).toString("base64");
	const some = { ...file, answers: { "api/tool/a@?host=h&run=x y": text } };
	assert.equal(await savedAnswer(some, "api/tool/a%40", { run: "x y", host: "h", more: undefined, none: "" })?.text(), "{}");
	assert.equal(savedAnswer(some, "api/tool/b", {}), undefined);
});
