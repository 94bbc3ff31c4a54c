/*
 * xprof_page.mjs - XProf's own page, from its wheel, against our server, in Chromium: every tool it offers, on several samples. What it draws
 * is there, nothing fails on the console or on the way.
 *	node xprof_page.mjs [SAMPLE,SAMPLE]
 *	XPROF_STATIC: the wheel's static folder, else that of the environment that scripts/bootstrap xprof makes
 *
 * The page loads a charts library from the network. Where there is none, charts_stand_in.js takes its place: it shows the tables.
 */
import { readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
process.env.STEPSCOPE ??= join(root, "build/stepscope");
const { startBrowser, startProgram } = await import("../web/lib.mjs");
const { servePage } = await import("./xprof_page_server.mjs");

const SAMPLES = process.argv[2]?.split(",") ?? ["synth_tpu1", "gpu_1080ti", "tf_inputbound_steps", "synth_counters_v7x", "synth_dcn_2hosts", "tpu_v6e_inference"];
const PATIENCE_MS = 30_000;

function staticFolder() {
	if (process.env.XPROF_STATIC) return process.env.XPROF_STATIC;
	const lib = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "stepscope/venv-xprof/lib");
	return join(lib, readdirSync(lib).find((d) => d.startsWith("python")), "site-packages/xprof/static");
}

/* What fails in this page with XProf's own server as well. */
const THEIR_OWN = [
	/f\.split is not a function/, // the address of the trace viewer
	/reading 'sampledTimelineSnapshots'/, // no memory activity in the profile
];

/* Offered by the server, unknown to the page: it shows "No profile data was found". */
const UNKNOWN_TO_IT = new Set(["kernel_utilization"]);

/* What a tool needs to be opened with, and what must be seen when it is there. */
const drawn = (n) => (f) => f.kinds.length >= n && f.rows > 0;
const TOOLS = {
	overview_page: { seen: (f) => /Average Step Time|Run Environment/.test(f.text) },
	"trace_viewer@": { seen: (f) => /pid \d+/.test(f.frames) },
	graph_viewer: { seen: (f) => f.svg > 0, node: true },
	op_profile: { seen: (f) => /100\.00%|\d%\s*►/.test(f.text), empty: (f) => /HLO OP NAME/i.test(f.text) },
	input_pipeline_analyzer: { seen: (f) => /Summary|input-bound/i.test(f.text) },
	memory_profile: { seen: (f) => f.rows > 0 || /memory/i.test(f.text) },
	memory_viewer: { seen: drawn(2) },
	megascale_stats: { seen: drawn(1), host: "ALL_HOSTS", unfold: "Megascale Stats (all hosts)" },
	roofline_model: { seen: (f) => drawn(1)(f) || /roofline/i.test(f.text) },
	kernel_stats: { seen: drawn(1) },
	perf_counters: { seen: drawn(1) },
	utilization_viewer: { seen: drawn(2) },
	framework_op_stats: { seen: drawn(1), empty: (f) => /Notes/.test(f.text) },
	hlo_stats: { seen: drawn(1), empty: (f) => f.kinds.length > 0 },
};

/* Profiles of hosts without traced devices have no operations of devices, and one of counters has none at all: then the page's frame is seen. */
const EMPTY = new Set([
	"tf_inputbound_steps op_profile",
	"tf_inputbound_steps hlo_stats",
	"synth_counters_v7x op_profile",
	"synth_counters_v7x framework_op_stats",
	"synth_counters_v7x hlo_stats",
]);

async function look(page) {
	const main = await page.evaluate(() => {
		const tables = [...document.querySelectorAll(".stand-in")];
		return {
			text: document.body.innerText,
			kinds: tables.map((t) => t.dataset.kind),
			rows: tables.reduce((s, t) => s + Number(t.dataset.rows), 0),
		};
	});
	let frames = "";
	let svg = 0;
	for (const f of page.frames().slice(1)) {
		frames += await f.evaluate(() => document.body?.textContent ?? "").catch(() => "");
		svg += await f.evaluate(() => document.querySelectorAll("svg .n").length).catch(() => 0);
	}
	return { ...main, frames, svg };
}

async function open(browser, base, standIn, run, tool, host, more) {
	const { unfold, seen, empty } = TOOLS[tool];
	const there = EMPTY.has(`${run.replace(/\/run$/, "")} ${tool}`) ? empty : seen;
	const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, locale: "en-US" });
	const page = await context.newPage();
	const bad = [];
	page.on("console", (m) => {
		if (m.type() === "error" && !THEIR_OWN.some((re) => re.test(m.text()))) bad.push(`console: ${m.text().slice(0, 300)}`);
	});
	page.on("pageerror", (e) => bad.push(`error: ${e.message}`));
	page.on("response", (r) => r.status() >= 400 && bad.push(`${r.status()} ${r.url()}`));
	/* What the page itself calls off when it goes elsewhere is no failure. */
	page.on("requestfailed", (r) => r.failure()?.errorText !== "net::ERR_ABORTED" && bad.push(`failed: ${r.url()} ${r.failure()?.errorText}`));
	await page.route("https://www.gstatic.com/charts/loader.js", (r) => r.fulfill({ contentType: "application/javascript", body: standIn }));
	await page.route(/fonts\.googleapis\.com/, (r) => r.fulfill({ contentType: "text/css", body: "" }));
	try {
		await page.goto(`${base}/data/plugin/profile/${tool}?${new URLSearchParams({ run, tag: tool, host, ...more })}`);
		if (unfold) await page.getByText(unfold).click({ timeout: PATIENCE_MS });
		const end = Date.now() + PATIENCE_MS;
		let found;
		do {
			await page.waitForTimeout(300);
			found = await look(page);
		} while (!there(found) && Date.now() < end);
		if (!there(found)) bad.push(`nothing is seen: ${found.text.replace(/\s+/g, " ").slice(0, 300)}`);
		/* What comes late may fail late. */
		await page.waitForTimeout(500);
	} finally {
		await context.close();
	}
	return bad;
}

const get = async (base, path) => {
	const res = await fetch(base + path);
	if (!res.ok) throw new Error(`${path}: ${res.status}`);
	return res.json();
};

/* The graph viewer shows nothing before it is told an instruction. */
async function instruction(base, run, host) {
	const a = await get(base, `api/tool/graph_viewer?${new URLSearchParams({ run, host, graph_width: "1" })}`);
	const t = a.tables[0];
	const names = t.data[t.cols.findIndex((c) => c.id === "name")];
	return { node_name: t.props.node_name.text || names[0], module_name: t.props.module.text };
}

let passed = 0;
let failed = 0;
const program = await startProgram(join(root, "tests/data/profiles"));
const front = await servePage(staticFolder(), program.base);
const browser = await startBrowser();
const standIn = readFileSync(join(here, "charts_stand_in.js"), "utf8");
try {
	const seen = new Set();
	for (const sample of SAMPLES) {
		const run = `${sample}/run`;
		const query = (o) => new URLSearchParams({ run, ...o });
		for (const tool of await get(program.base, `data/plugin/profile/run_tools?${query({})}`)) {
			if (UNKNOWN_TO_IT.has(tool)) continue;
			let bad;
			if (!TOOLS[tool]) bad = ["this test does not know the tool"];
			else {
				const hosts = await get(program.base, `data/plugin/profile/hosts?${query({ tag: tool })}`);
				const names = hosts.map((h) => h.hostname ?? h);
				const host = TOOLS[tool].host && names.includes(TOOLS[tool].host) ? TOOLS[tool].host : (names[0] ?? "");
				bad = await open(browser, front.base, standIn, run, tool, host, TOOLS[tool].node ? await instruction(program.base, run, host) : {});
			}
			seen.add(tool);
			if (bad.length) {
				failed++;
				console.log(`${sample} ${tool}:\n    ${[...new Set(bad)].join("\n    ")}`);
			} else passed++;
		}
	}
	for (const tool of process.argv[2] ? [] : Object.keys(TOOLS))
		if (!seen.has(tool)) {
			failed++;
			console.log(`${tool}: no sample offers it`);
		}
} finally {
	await browser.close();
	front.close();
	await program.stop();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
