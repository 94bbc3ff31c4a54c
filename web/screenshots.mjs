/*
 * screenshots.mjs - pictures of every page over the sample profiles, for the documents; in dark those that show most colours.
 *	STEPSCOPE=build/stepscope node web/screenshots.mjs [docs/screenshots] [NAME...]	only those whose name holds NAME
 *	DARK=1 takes all of them in dark as well, WIDTH and HEIGHT another size
 * WebP, which Chromium itself writes: a third of a PNG of the same page.
 */
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openPage, q, startBrowser, startProgram } from "../tests/web/lib.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const [folder = join(root, "docs/screenshots"), ...only] = process.argv.slice(2);
const COLORS = Number(process.env.COLORS ?? 64);
const APART = 120; /* least square of the distance of two colours */
const SIZE = { width: Number(process.env.WIDTH ?? 1280), height: Number(process.env.HEIGHT ?? 720) };

/* By name: what the URL says, what is done before the picture is taken, its height, in dark as well. */
const PAGES = {
	start: { at: { list: "all" }, wait_ms: 2500 },
	overview: { dark: true, at: { run: "tf_inputbound_steps/run" } },
	"overview-tpu": { at: { run: "tpu_v6e_inference/run" } },
	suggestions: { at: { run: "tpu_v6e_inference/run", tool: "smart_suggestion" } },
	input_pipeline: { at: { run: "tf_inputbound_steps/run", tool: "input_pipeline_analyzer" } },
	trace_viewer: { dark: true, at: { run: "jax_mlp_train/run", tool: "trace_viewer@" }, act: selectInTrace },
	framework_op_stats: { at: { run: "tf_keras_fast/run", tool: "framework_op_stats" } },
	op_profile: { dark: true, at: { run: "synth_tpu1/run", tool: "op_profile", group_by: "category", op: "fusion.1" } },
	hlo_stats: { dark: true, at: { run: "synth_tpu1/run", tool: "hlo_stats" } },
	kernel_stats: { at: { run: "gpu_mi300_conv/run", tool: "kernel_stats" } },
	roofline: { dark: true, at: { run: "synth_tpu1/run", tool: "roofline_model" }, act: (page) => page.hover(".point >> nth=-1") },
	memory_profile: { at: { run: "tf_keras_fast/run", tool: "memory_profile" } },
	memory_viewer: { dark: true, at: { run: "jax_mlp_train/run", tool: "memory_viewer" }, height: 1000, act: (page) => page.hover(".block >> nth=1") },
	memory_allocations: { at: { run: "jax_mlp_train/run", tool: "memory_viewer", view_memory_allocation_timeline: 1 } },
	graph_viewer: { dark: true, at: { run: "synth_tpu1/run", tool: "graph_viewer" } },
	pod_viewer: { dark: true, at: { run: "synth_tpu_pipeline/run", tool: "pod_viewer" }, act: (page) => page.hover(".topology-core >> nth=1") },
	tf_data: { at: { run: "tf_inputbound_steps/run", tool: "tf_data_bottleneck_analysis" } },
	inference: { at: { run: "synth_tpu_serving/run", tool: "inference_profile" } },
	megascale: { at: { run: "synth_dcn_2hosts/run", tool: "megascale_stats", host: "ALL_HOSTS" } },
	perf_counters: { at: { run: "synth_counters_v7x/run", tool: "perf_counters" } },
	utilization_viewer: { at: { run: "synth_counters_v6e/run", tool: "utilization_viewer" } },
	kernel_utilization: { at: { run: "synth_counters_v7x/run", tool: "kernel_utilization" } },
	tf_graph: { at: { run: "tf1_mnist/run", tool: "tf_graph", color: "tpu" } },
	torch_operators: { at: { run: "torch_mi250", tool: "operators" } },
	end_to_end: { at: { run: "end_to_end/run", tool: "end_to_end" } },
	stored: { at: { run: "tpu_v2/run" } },
};

async function selectInTrace(page) {
	await page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0);
	await page.mouse.move(800, 300);
	for (let i = 0; i < 4; i++) await page.keyboard.press("w");
	await page.waitForTimeout(900);
	for (let y = 170; y < 600; y += 18) {
		await page.mouse.click(800, y);
		await page.waitForTimeout(60);
		if (await page.$(".event-name")) break;
	}
}

/*
 * Chromium's own encoder, without loss, of a picture with fewer colours: the most frequent ones that differ, and each pixel the
 * nearest of them. Letters stay sharp, where a lossy encoder blurs them.
 */
async function webp(page, png) {
	const encoded = await page.evaluate(
		async ([b64, most, apart]) => {
			const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${b64}`)).blob());
			const canvas = new OffscreenCanvas(image.width, image.height);
			const c = canvas.getContext("2d");
			c.drawImage(image, 0, 0);
			const all = c.getImageData(0, 0, image.width, image.height);
			const pixels = new Uint32Array(all.data.buffer);
			const times = new Map();
			for (const p of pixels) times.set(p, (times.get(p) ?? 0) + 1);
			const far = (a, b) => [0, 8, 16].reduce((s, k) => s + (((a >>> k) & 255) - ((b >>> k) & 255)) ** 2, 0);
			const kept = [];
			for (const [p] of [...times].sort((x, y) => y[1] - x[1])) {
				if (kept.length === most) break;
				if (kept.every((k) => far(k, p) >= apart)) kept.push(p);
			}
			const nearest = new Map();
			for (const p of times.keys()) nearest.set(p, kept.reduce((best, k) => (far(k, p) < far(best, p) ? k : best)));
			for (let i = 0; i < pixels.length; i++) pixels[i] = nearest.get(pixels[i]);
			c.putImageData(all, 0, 0);
			const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: "image/webp", quality: 1 })).arrayBuffer());
			let s = "";
			for (const b of bytes) s += String.fromCharCode(b);
			return btoa(s);
		},
		[png.toString("base64"), COLORS, APART],
	);
	return Buffer.from(encoded, "base64");
}

/* All samples in one log directory, recorded at one time in the order of their names. */
function collect() {
	const logs = join(tmpdir(), "stepscope-samples"); /* the start page shows it: always the same */
	rmSync(logs, { recursive: true, force: true });
	for (const kind of ["profiles", "events", "legacy"])
		for (const name of readdirSync(join(root, "tests/data", kind))) if (!name.includes(".")) cpSync(join(root, "tests/data", kind, name), join(logs, name), { recursive: true });
	cpSync(join(root, "tests/data/torch/mi250_toy.pt.trace.json.gz"), join(logs, "torch_mi250/toy.pt.trace.json.gz"));
	for (const e of readdirSync(logs, { recursive: true, withFileTypes: true })) if (e.isFile()) utimesSync(join(e.parentPath ?? e.path, e.name), 1.79e9, 1.79e9);
	return { logs, drop: () => rmSync(logs, { recursive: true }) };
}

async function startPeer(file) {
	const child = spawn(join(dirname(process.env.STEPSCOPE), "tests/profiler_peer"), [file], { stdio: ["pipe", "pipe", "inherit"] });
	const port = await new Promise((done) => child.stdout.once("data", (d) => done(parseInt(d, 10))));
	return { child, address: `127.0.0.1:${port}` };
}

/* The page of `stepscope monitor` over three programs, of which one is slow, and one that is not there. */
async function monitor(logs) {
	const file = (run) => join(logs, run, "plugins/profile/run/vm.xplane.pb");
	const peers = [];
	for (const run of ["tf_inputbound_steps", "tf_keras_fast", "tf_inputbound_steps"]) peers.push(await startPeer(file(run)));
	const targets = [...peers.map((p) => p.address), "127.0.0.1:9"].join();
	const child = spawn(process.env.STEPSCOPE, ["monitor", "-a", targets, "-i", "1", "-d", "10", "--http", "0", "--http_link", "http://127.0.0.1:6006/"], {
		stdio: ["ignore", "ignore", "pipe"],
	});
	const base = await new Promise((done) => child.stderr.on("data", (d) => (/http:\S+\//.exec(d) ? done(/http:\S+?\/(?= |$)/.exec(d)[0]) : 0)));
	await new Promise((r) => setTimeout(r, 9000));
	return {
		base,
		stop: () => {
			child.kill("SIGINT");
			for (const p of peers) p.child.stdin.end();
		},
	};
}

async function take(browser, base, name, page) {
	for (const scheme of page.dark || process.env.DARK ? ["light", "dark"] : ["light"]) {
		const p = await openPage(browser, base, { ...SIZE, height: page.height ?? SIZE.height, scheme });
		await p.page.goto(page.at ? `${base}?${q(page.at)}` : base);
		if (page.at) await p.page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector(".waiting"));
		await page.act?.(p.page);
		await p.page.waitForTimeout(page.wait_ms ?? 500);
		const png = await p.page.screenshot();
		await p.page.goto("about:blank");
		const file = join(folder, `${name}${scheme === "dark" ? "-dark" : ""}.webp`);
		const bytes = await webp(p.page, png);
		writeFileSync(file, bytes);
		console.log(`${file} ${bytes.length} bytes${p.seen.errors.length ? ` ${p.seen.errors}` : ""}`);
		await p.close();
	}
}

mkdirSync(folder, { recursive: true });
const samples = collect();
const server = await startProgram(samples.logs);
const browser = await startBrowser();
const wanted = (name) => !only.length || only.some((o) => name.includes(o));
try {
	for (const [name, page] of Object.entries(PAGES)) if (wanted(name)) await take(browser, server.base, name, page);
	if (wanted("monitor") && existsSync(join(dirname(process.env.STEPSCOPE), "tests/profiler_peer"))) {
		const m = await monitor(samples.logs);
		await take(browser, m.base, "monitor", { dark: true });
		m.stop();
	}
} finally {
	await browser.close();
	await server.stop();
	samples.drop();
}
