/*
 * audit.test.mjs - what no page may show, whatever it is of: each tool of one profile of each kind, in light and dark, in windows of
 * 1000, 1500 and 2560 pixels.
 *
 *	node --test tests/web/audit.test.mjs			each page once, scheme and width by turns
 *	AUDIT=. node --test tests/web/audit.test.mjs		each page in all six; of another expression, those whose name it finds
 *	AUDIT_OUT=DIR keeps pictures
 */
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { api, openPage, q, real, startBrowser, startProgram } from "./lib.mjs";

const data = join(dirname(fileURLToPath(import.meta.url)), "../data");
/* In two log directories: one with profiles of JAX and TensorFlow shows these alone. */
const KINDS = [
	{
		tpu: "profiles/tpu_v6e_inference",
		tpu_steps: "profiles/synth_tpu_3hosts",
		gpu: "profiles/gpu_1080ti",
		cpu: "profiles/jax_mlp_train",
		tensorflow: "profiles/tf_keras_fast",
		counters: "profiles/synth_counters_v7x",
	},
	{
		torch: "torch/ranks",
		nsys: "others/nsys",
		perfetto: "others/perfetto",
		rocm: "../fuzz/seeds/formats/rocpd.sqlite",
		torch_cpu: "torch/cpu_lstm.pt.trace.json.gz",
		memory: "memory/torch_snapshot",
		program: "hlo/train_step.pb",
	},
];
/* Kinds that are one file, and the name that it has in a log directory. */
const FILES = { program: "train_step.hlo.pb", rocm: "node4_results.db", torch_cpu: "lstm.pt.trace.json.gz" };
const NOT_OF_JAX = /^(torch|torch_cpu|nsys|perfetto|rocm)-/;
const SIGHTS = ["light", "dark"].flatMap((scheme) => [1000, 1500, 2560].map((width) => ({ scheme, width })));
const HEIGHT = 900;
const STAYS_MS = 10_000;
const only = process.env.AUDIT ? new RegExp(process.env.AUDIT) : undefined;
const pictures = process.env.AUDIT_OUT;

let root;
let servers = [];
let browser;

before(async () => {
	if (!real) return;
	root = mkdtempSync(join(tmpdir(), "stepscope-audit-"));
	for (const [i, kinds] of KINDS.entries())
		for (const [kind, from] of Object.entries(kinds)) {
			const to = join(root, String(i), kind);
			cpSync(join(data, from), FILES[kind] ? join(to, FILES[kind]) : to, { recursive: true });
		}
	if (pictures) mkdirSync(pictures, { recursive: true });
	servers = await Promise.all(KINDS.map((_, i) => startProgram(join(root, String(i)))));
	browser = await startBrowser();
});

after(async () => {
	await browser?.close();
	await Promise.all(servers.map((s) => s.stop()));
	if (root) rmSync(root, { recursive: true });
});

/* Runs in the page. */
function faults() {
	const found = [];
	const say = (what, e) => found.push(`${what}: ${(e.className && e.className.baseVal === undefined && e.className) || e.tagName} "${e.textContent.trim().slice(0, 80)}"`);
	const seen = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
	const titled = (e) => e.closest("[title]") !== null || e.closest("[aria-label]") !== null || e.querySelector("[title]") !== null;

	if (document.documentElement.scrollWidth > innerWidth) {
		found.push(`wider than the window: ${document.documentElement.scrollWidth} of ${innerWidth}`);
		for (const e of document.querySelectorAll("main *"))
			if (seen(e) && e.getBoundingClientRect().right > innerWidth + 1) {
				say("beyond the window", e);
				break;
			}
	}

	/* Text: words of programming languages for "nothing", and letters that are cut without a way to read them. */
	const texts = [];
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;
		if (walk.currentNode.data.trim() && !e.closest("script, style, option, [hidden]") && seen(e)) texts.push(walk.currentNode);
	}
	const nothing = /\b(NaN|undefined|null|Infinity|INVALID|Invalid Date)\b|\[object |\(null\)/;
	for (const t of texts) if (nothing.test(t.data)) say("no word for a reader", t.parentElement);
	/* A sentence about a share of 0.0% tells nothing, or calls nothing what there is a little of. */
	for (const t of texts) if (/(^|[^\d.,])0\.0 ?%/.test(t.data)) say("a share of nothing", t.parentElement);
	for (const e of document.querySelectorAll("main [title], header [title], nav [title]")) if (nothing.test(e.title)) say("no word for a reader, on hover", e);
	for (const e of new Set(texts.map((t) => t.parentElement))) {
		const style = getComputedStyle(e);
		const cut = style.overflowX !== "visible" && style.textOverflow === "ellipsis" && e.scrollWidth > e.clientWidth + 1;
		if (cut && e.clientWidth > 0 && !titled(e)) say("cut", e);
	}

	/* A name of a few letters has room, and no text runs over its neighbour. */
	for (const e of document.querySelectorAll(".grid-cell .grid-text"))
		if (seen(e) && e.textContent.length <= 16 && e.scrollWidth > e.clientWidth + 1) say("a short text is cut", e);
	for (const e of document.querySelectorAll("main dl *, main .bar *, main .grid-bar *"))
		if (seen(e) && getComputedStyle(e).overflowX === "visible" && e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 2) say("runs over its box", e);
	for (const e of document.querySelectorAll("main .runs-table"))
		if (seen(e) && e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right + 1) say("a table beyond its card", e.parentElement);
	for (const e of document.querySelectorAll(".blocks .block"))
		if (seen(e) && e.textContent && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).textOverflow !== "ellipsis") say("cut without a sign of it", e);
	/* The answer has the width that there is, and the figure is on the first screen. */
	for (const e of document.querySelectorAll(".verdict-text")) {
		const lines = e.clientHeight / parseFloat(getComputedStyle(e).lineHeight);
		if (seen(e) && lines > 4 && e.clientWidth < 420 && e.parentElement.clientWidth > 600) say("a verdict is squeezed beside its figures", e);
	}
	for (const e of document.querySelectorAll(".columns-tall > .column-main"))
		if (seen(e) && scrollY === 0 && e.getBoundingClientRect().top > innerHeight / 2) say("the figure begins in the lower half of the window", e);
	/* No place is kept for a figure that there is none of. */
	for (const e of document.querySelectorAll("main .columns")) {
		const right = Math.max(...[...e.children].map((c) => c.getBoundingClientRect().right));
		if (seen(e) && right < e.getBoundingClientRect().right - 100) say("an empty place beside it", e);
	}
	/* What there is none of needs no heading, and nothing to filter and to save. */
	for (const e of document.querySelectorAll(".grid-none")) if (/^No rows/.test(e.textContent)) say("a table without rows", e.closest("section") ?? e);
	for (const e of document.querySelectorAll("main section.card")) if (seen(e) && e.children.length < 2 && e.querySelector("h2:not(.visually-hidden)")) say("a card with a heading alone", e);
	for (const e of document.querySelectorAll("main section.card dl")) if (seen(e) && !e.textContent.trim()) say("a list of nothing", e.parentElement);

	/* What the program numbers itself has no number of the system's. */
	for (const e of document.querySelectorAll(".tl-track-name")) if (/\b10737418\d\d\b/.test(e.textContent)) say("a made-up number", e);
	for (const e of document.querySelectorAll(".tl-track-name, .tl-section-name, main h1, main h2, th")) if (seen(e) && !e.textContent.trim()) say("no name", e.parentElement);
	for (const e of document.querySelectorAll("input[placeholder]")) {
		const box = e.getBoundingClientRect();
		const pen = document.createElement("canvas").getContext("2d");
		const style = getComputedStyle(e);
		pen.font = style.font;
		const room = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
		if (box.width > 0 && !e.value && pen.measureText(e.placeholder).width > room + 1) found.push(`cut: placeholder "${e.placeholder}"`);
	}

	/* Contrast as WCAG 2.1 counts it: 4.5, of large text 3. */
	const parse = (c) => {
		const m = c.match(/rgba?\(([^)]+)\)/);
		return m ? m[1].split(/[ ,/]+/).map(Number) : null;
	};
	const over = (top, below) => {
		const a = top[3] ?? 1;
		return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a));
	};
	const behind = (e) => {
		const layers = [];
		for (let n = e; n; n = n.parentElement) {
			const style = getComputedStyle(n);
			if (style.backgroundImage !== "none") return null;
			const c = parse(style.backgroundColor);
			if (!c) return null;
			if ((c[3] ?? 1) > 0) layers.push(c);
			if ((c[3] ?? 1) === 1) break;
		}
		return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
	};
	const light = (c) => {
		const [r, g, b] = c.map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	for (const e of new Set(texts.map((t) => t.parentElement))) {
		if (e.closest("svg, :disabled, [aria-disabled=true]")) continue;
		const style = getComputedStyle(e);
		const below = behind(e);
		const color = parse(style.color);
		if (!below || !color) continue;
		const [a, b] = [light(over(color, below)), light(below)].sort((x, y) => y - x);
		const size = parseFloat(style.fontSize);
		const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
		const ratio = (a + 0.05) / (b + 0.05);
		if (ratio < (large ? 3 : 4.5)) say(`contrast ${ratio.toFixed(2)}`, e);
	}

	/* A chart with axes has something between them: more colours than its ground and the lines of its grid. */
	for (const plot of document.querySelectorAll(".uplot")) {
		if (!seen(plot)) continue;
		const canvas = plot.querySelector("canvas");
		const area = plot.querySelector(".u-over").getBoundingClientRect();
		const at = canvas.getBoundingClientRect();
		const scale = canvas.width / at.width;
		const [w, h] = [Math.floor(area.width * scale), Math.floor(area.height * scale)];
		if (!w || !h) continue;
		const p = canvas.getContext("2d").getImageData((area.left - at.left) * scale, (area.top - at.top) * scale, w, h).data;
		const colors = new Set();
		for (let i = 0; i < p.length && colors.size < 4; i += 4) colors.add((p[i] << 16) | (p[i + 1] << 8) | p[i + 2] | (p[i + 3] << 24));
		if (colors.size < 3) say("an empty chart", plot.closest("section") ?? plot);
	}
	return found;
}

/* Within one server, pages change as by a click. */
async function goTo(page, place) {
	const path = `?${q(place.params)}`;
	if (!page.url().startsWith(place.base)) await page.goto(place.base + path);
	else
		await page.evaluate(async (p) => {
			history.pushState(null, "", p);
			dispatchEvent(new PopStateEvent("popstate"));
			await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		}, path);
	if (place.params.tool)
		await page.waitForFunction((t) => document.querySelector(".nav-on")?.getAttribute("href").includes(`tool=${t}`), place.params.tool);
	await settled(page);
	if (place.timeline) await page.waitForSelector(".tl-over");
}

const settled = (page) =>
	page.waitForFunction(
		() => document.querySelector("main") && !document.querySelector(".waiting") && Number(document.documentElement.dataset.pending ?? 0) === 0,
		undefined,
		{ timeout: 30_000 },
	);

async function places() {
	const all = [];
	for (const [i, { base }] of servers.entries()) {
		const runs = (await api(base, "api/runs")).runs.map((r) => r.run);
		all.push({ name: `start${i}`, base, params: { list: "all" } });
		for (const kind of Object.keys(KINDS[i])) {
			const run = runs.find((r) => r === kind || r.startsWith(`${kind}/`));
			assert.ok(run, `no run for ${kind}: ${runs}`);
			const open = (await api(base, `api/tools?${q({ run })}`)).tools.filter((t) => t.available);
			assert.ok(open.length > 0, `${kind} has no tool`);
			/* A program that nobody ran has nothing to say of time. */
			if (kind === "program") {
				const names = open.map((t) => t.name);
				assert.ok(names.includes("graph_viewer") && names.includes("memory_viewer"), `${names}`);
				for (const t of ["overview_page", "trace_viewer@", "event_stats"]) assert.ok(!names.includes(t), `a program alone has ${t}`);
			}
			for (const t of open)
				all.push({ name: `${kind}-${t.name.replace("@", "")}`, base, params: { run, tool: t.name }, timeline: t.kind === "timeline" });
		}
	}
	return all;
}

async function audit(p, place, sight) {
	const { page, seen } = p;
	await goTo(page, place);
	await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
	if (pictures) await page.screenshot({ path: join(pictures, `${place.name}-${sight.scheme}-${sight.width}.png`) });
	/* Parts that follow their own answers may still be on their way: a fault is what stays. */
	let there = await page.evaluate(faults);
	for (const end = Date.now() + STAYS_MS; there.length && Date.now() < end; there = await page.evaluate(faults)) await page.waitForTimeout(100);
	if (NOT_OF_JAX.test(place.name) && (await page.textContent("main")).match(/\bjax\.|StepTraceAnnotation|Keras/)) there.push("advice for another framework");
	const found = [...there, ...seen.errors.splice(0)];
	return [...new Set(found)].slice(0, 8).map((f) => `${place.name} ${sight.scheme} ${sight.width}: ${f}`);
}

for (const [k, sight] of SIGHTS.entries())
	test(`no page is cut, unreadable, empty or says nothing in words: ${sight.scheme}, ${sight.width} pixels`, { skip: !real && "needs profiles" }, async () => {
		const found = [];
		let looked = 0;
		const all = [...(await places()).entries()].filter(([i, place]) => (only ? only.test(place.name) : i % SIGHTS.length === k)).map(([, place]) => place);
		for (const { base } of servers) {
			const p = await openPage(browser, base, { ...sight, height: HEIGHT });
			try {
				for (const place of all.filter((x) => x.base === base)) {
					found.push(...(await audit(p, place, sight)));
					looked++;
				}
				assert.deepEqual(p.seen.foreign, [], "requests to other hosts");
			} finally {
				await p.close();
			}
		}
		assert.ok(looked > 0 && looked === all.length);
		assert.deepEqual(found, []);
	});
