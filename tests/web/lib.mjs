/*
 * lib.mjs - a server, a browser, and pages that may talk to that server only.
 *
 * The server is the built program (STEPSCOPE, LOGDIR) or, without one, web/test/dev_server.mjs with made-up answers.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const { chromium, firefox } = createRequire(join(root, "web/package.json"))("playwright-core");

export const out = process.env.WEB_OUT ?? join(root, "build/web");
export const real = !!process.env.STEPSCOPE;
mkdirSync(out, { recursive: true });

function freePort() {
	return new Promise((done, fail) => {
		const s = createServer()
			.on("error", fail)
			.listen(0, "127.0.0.1", () => {
				const { port } = s.address();
				s.close(() => done(port));
			});
	});
}

async function answers(url, deadline) {
	while (Date.now() < deadline) {
		try {
			const res = await fetch(url);
			if (res.ok) return;
		} catch {
			/* not yet */
		}
		await new Promise((r) => setTimeout(r, 50));
	}
	throw new Error(`no answer from ${url}`);
}

export async function startProgram(logdir = process.env.LOGDIR, options = [], query = "") {
	if (!real) {
		const { startServer } = await import("../../web/test/dev_server.mjs");
		const s = await startServer(0, 200_000);
		return { base: `http://127.0.0.1:${s.port}/`, stop: async () => s.close() };
	}
	const port = await freePort();
	const child = spawn(process.env.STEPSCOPE, ["serve", "--logdir", logdir, "--port", String(port), ...options], {
		stdio: ["ignore", "ignore", "inherit"],
	});
	const gone = new Promise((done) => child.on("exit", done));
	const base = `http://127.0.0.1:${port}/`;
	await answers(`${base}api/runs${query}`, Date.now() + 20_000);
	return {
		base,
		async stop() {
			child.kill("SIGTERM");
			await gone;
		},
	};
}

const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

const FIREFOXES = ["/usr/bin/firefox-esr", "/usr/bin/firefox"];

/* The browser of the tests: Chromium, or with BROWSER=firefox the Firefox that is installed, by WebDriver BiDi. */
export const inFirefox = process.env.BROWSER === "firefox";

function startFirefox() {
	const executablePath = process.env.FIREFOX ?? FIREFOXES.find((p) => existsSync(p));
	if (!executablePath) throw new Error(`no Firefox found (looked for ${FIREFOXES.join(", ")})`);
	return firefox.launch({ executablePath, channel: "moz-firefox", headless: true, timeout: 60_000 });
}

export async function startBrowser() {
	if (inFirefox) return startFirefox();
	const executablePath = process.env.CHROMIUM ?? BROWSERS.find((p) => existsSync(p));
	if (!executablePath) throw new Error(`no Chromium found (looked for ${BROWSERS.join(", ")})`);
	return chromium.launch({
		executablePath,
		args: [
			"--headless",
			"--no-sandbox",
			"--disable-gpu",
			"--disable-quic",
			"--no-first-run",
			"--disable-background-networking",
			"--disable-component-update",
			"--disable-sync",
			"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		],
	});
}

/* SLOW=6: as on a machine that is busy with six other things, which finds tests that do not wait for what they look at. */
async function slow(context, page, rate) {
	if (inFirefox) return;
	const devtools = await context.newCDPSession(page);
	await devtools.send("Emulation.setCPUThrottlingRate", { rate });
}

/* A page with its own memory of what it asked for, what went wrong, and what must not have happened. */
export async function openPage(browser, base, { scheme = "light", width = 1280, height = 720 } = {}) {
	const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, locale: "en-US" });
	context.setDefaultTimeout(30_000);
	const page = await context.newPage();
	if (process.env.SLOW) await slow(context, page, Number(process.env.SLOW));
	const seen = { foreign: [], errors: [], requests: [] };
	await context.route("**/*", (route) => {
		const url = route.request().url();
		if (url.startsWith(base)) return route.continue();
		seen.foreign.push(url);
		return route.abort();
	});
	page.on("request", (r) => seen.requests.push(r.url()));
	page.on("pageerror", (e) => seen.errors.push(String(e)));
	page.on("console", (m) => {
		/* The page reads no canvas, tests do: Chromium warns of one that is read twice. */
		if (m.text().includes("willReadFrequently")) return;
		if (m.type() === "error" || m.type() === "warning") seen.errors.push(`${m.text()} ${m.location().url ?? ""}`);
	});
	return { page, seen, close: () => context.close() };
}

export async function api(base, path) {
	const res = await fetch(base + path);
	if (!res.ok) throw new Error(`${path}: ${res.status} ${await res.text()}`);
	return res.json();
}

/* All runs in the order of their names: which was written last says nothing, so no test may depend on it. */
export async function runsByName(base) {
	const { runs } = await api(base, "api/runs");
	return runs.sort((a, b) => (a.run < b.run ? -1 : 1));
}

/* The program that tests of the frame around the pages open: any run would do. */
export const anyRun = real ? "synth_tpu1/run" : undefined;

export const q = (params) => new URLSearchParams(params).toString();
/* In Firefox the driver would hide the caret by a style in the page, which the page's own policy forbids: an error on the console. */
export const shot = (page, name) => (inFirefox ? undefined : page.screenshot({ path: join(out, `${name}.png`) }));
