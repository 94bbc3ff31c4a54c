/*
 * places_live.mjs - the page where people are, in Chromium: a tab of a real TensorBoard, and in a notebook behind a real Jupyter server with
 * jupyter-server-proxy, below the prefixes of JupyterHub and SageMaker and under another name than localhost. `%load_ext stepscope` in IPython.
 * The environment is that of `scripts/bootstrap places`. Screenshots go to build/web.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const { chromium } = createRequire(join(root, "web/package.json"))("playwright-core");
const venv = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "stepscope/venv-places/bin");
const out = join(root, "build/web");
const profiles = join(root, "tests/data/profiles/tf_inputbound_steps");
const place = mkdtempSync(join(tmpdir(), "places-"));
const PATIENCE_MS = 90_000;
const env = { ...process.env, PYTHONPATH: place, STEPSCOPE_PROGRAM: join(root, "build/stepscope"), STEPSCOPE_LIBRARY: join(root, "build/libstepscope.so.0"), IPYTHONDIR: join(place, "ipython"),
	JUPYTER_CONFIG_DIR: place, JUPYTER_DATA_DIR: place, JUPYTER_RUNTIME_DIR: place };
let passed = 0;
let failed = 0;

function check(what, good, shown = "") {
	if (good) passed++;
	else {
		failed++;
		console.log(`FAILED ${what}: ${String(shown).slice(-900)}`);
	}
}

/* The package as a wheel installs it: with its entry points. */
function install() {
	const entries = spawnSync("python3", ["-c", "import wheel; print(wheel.ENTRY_POINTS)"], { cwd: join(root, "packaging"), encoding: "utf8" }).stdout;
	symlinkSync(join(root, "python/stepscope"), join(place, "stepscope"));
	mkdirSync(join(place, "stepscope-0.dist-info"));
	writeFileSync(join(place, "stepscope-0.dist-info/METADATA"), "Metadata-Version: 2.1\nName: stepscope\nVersion: 0\n");
	writeFileSync(join(place, "stepscope-0.dist-info/entry_points.txt"), entries);
}

function freePort() {
	return new Promise((done) => {
		const s = createServer().listen(0, "127.0.0.1", () => {
			const { port } = s.address();
			s.close(() => done(port));
		});
	});
}

const children = [];
function start(...command) {
	const child = spawn(command[0], command.slice(1), { env, cwd: place, stdio: ["pipe", "pipe", "pipe"] });
	child.said = "";
	for (const stream of [child.stdout, child.stderr]) stream.on("data", (d) => (child.said += d));
	children.push(child);
	return child;
}

async function until(what, ask) {
	for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await new Promise((r) => setTimeout(r, 200))) {
		const got = await Promise.resolve().then(ask).catch(() => null);
		if (got) return got;
	}
	throw new Error(`${what} did not happen`);
}

/* A frame of our page that shows an overview, by a part of its address. */
function shown(page, part) {
	return until(`the page at ${part}`, async () => {
		for (const frame of page.frames())
			if (frame.url().includes(part) && /Where the time of a step goes|of the time/.test(await frame.locator("body").innerText())) return frame;
		return null;
	});
}

async function tensorboard(browser) {
	const port = await freePort();
	const child = start(join(venv, "tensorboard"), "--logdir", profiles, "--port", String(port), "--path_prefix", "/tb", "--load_fast=false");
	const base = `http://localhost:${port}/tb/`;
	await until("TensorBoard", async () => (await fetch(base)).ok).catch((e) => check(String(e), false, child.said));
	const listing = await until("the plugin is active", async () => {
		const all = await (await fetch(`${base}data/plugins_listing`)).json();
		return all.stepscope?.enabled && all.stepscope;
	});
	check("TensorBoard lists the plugin", listing.tab_name === "stepscope", JSON.stringify(listing));
	const page = await browser.newPage();
	await page.goto(`${base}#stepscope`);
	const frame = await shown(page, "/tb/data/plugin/stepscope/page/");
	check("a tab of TensorBoard", frame, child.said);
	await page.screenshot({ path: join(out, "tensorboard.png") });
	const refused = await fetch(`${base}data/plugin/stepscope/page/generate_cache`, { method: "POST", headers: { Origin: "http://evil.example" } });
	check("another site may not post", refused.status === 403, refused.status);
	await page.close();
}

async function jupyter(browser, prefix, name) {
	const port = await freePort();
	start(join(venv, "jupyter-server"), "--allow-root", "--no-browser", `--ServerApp.port=${port}`, `--ServerApp.base_url=${prefix}`,
		"--IdentityProvider.token=", "--ServerApp.allow_remote_access=True", `--ServerApp.root_dir=${place}`);
	const kernel = start(join(venv, "python"), "-c",
		`import stepscope, sys\nprint(stepscope.show(${JSON.stringify(profiles)})._repr_html_() + "<!-- end -->", flush=True)\nsys.stdin.read()`);
	const cell = await until("a cell's output", () => kernel.said.includes("<!-- end -->") && kernel.said);
	await until("Jupyter", async () => (await fetch(`http://127.0.0.1:${port}${prefix}api`)).ok);
	const page = await browser.newPage();
	await page.goto(`http://${name}:${port}${prefix}nothing`); // its answers to programs allow no scripts
	await page.setContent(`<body data-base-url="${prefix}">${cell}</body>`);
	const frame = await shown(page, `http://${name}:${port}${prefix}proxy/`);
	check(`in a notebook at ${name}${prefix}`, frame && !frame.url().includes("token"), frame?.url());
	if (name !== "localhost") await page.screenshot({ path: join(out, "notebook.png") });
	const number = /proxy\/(\d+)/.exec(frame.url())[1];
	check("without the token nothing is answered", (await fetch(`http://127.0.0.1:${number}/api/runs`)).status === 401);
	await page.close();
	kernel.stdin.end();
	await until("the server ends with Python", () => fetch(`http://127.0.0.1:${number}/`).then(() => false, () => true));
	check("the server ends with Python", true);
}

/* Where Jupyter has no proxy, the port itself is shown. */
async function direct(browser) {
	const kernel = start(join(venv, "python"), "-c",
		`import stepscope, sys\nprint(stepscope.show(${JSON.stringify(profiles)})._repr_html_() + "<!-- end -->", flush=True)\nsys.stdin.read()`);
	const cell = await until("a cell's output", () => kernel.said.includes("<!-- end -->") && kernel.said);
	const { createServer: http } = await import("node:http");
	const site = http((_, res) => res.writeHead(404, { "Content-Type": "text/html" }).end("<p>nothing</p>")).listen(0, "127.0.0.1");
	await new Promise((done) => site.on("listening", done));
	const page = await browser.newPage();
	await page.goto(`http://localhost:${site.address().port}/`);
	await page.setContent(`<body data-base-url="/">${cell}</body>`);
	check("in a notebook without a proxy", await shown(page, `http://localhost:${/proxy\/(\d+)\//.exec(cell)[1]}/`));
	await page.close();
	site.close();
	kernel.stdin.end();
}

function ipython() {
	const cell = "get_ipython().run_line_magic('load_ext', 'stepscope'); print(repr(get_ipython().run_line_magic('stepscope', '" + profiles + "')))";
	const done = spawnSync(join(venv, "ipython"), ["--colors=NoColor", "-c", cell], { env, encoding: "utf8" });
	check("%load_ext stepscope", /^stepscope: .*tf_inputbound_steps at http:\/\/127\.0\.0\.1:\d+\/\?token=/m.test(done.stdout), done.stdout + done.stderr);
	const wrong = spawnSync(join(venv, "python"), ["-c", "import stepscope; stepscope.show('/nowhere')"], { env, encoding: "utf8" });
	check("a path that is not there is said", /RuntimeError: .*\/nowhere/.test(wrong.stderr), wrong.stderr);
}

mkdirSync(out, { recursive: true });
install();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
	args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--host-resolver-rules=MAP hub.example 127.0.0.1"] });
try {
	ipython();
	await tensorboard(browser);
	await jupyter(browser, "/user/ann/", "hub.example");
	await jupyter(browser, "/jupyter/default/", "localhost");
	await direct(browser);
} catch (e) {
	check(String(e.stack ?? e), false);
} finally {
	await browser.close();
	for (const child of children) child.kill("SIGTERM");
	rmSync(place, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
