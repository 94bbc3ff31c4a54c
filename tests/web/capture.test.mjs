/*
 * capture.test.mjs - taking a profile from the page: refused, broken off, taken and opened. The profiled program is a stand-in that
 * sends a sample (tests/interop/profiler_peer.c).
 */
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { api, openPage, real, shot, startBrowser, startProgram } from "./lib.mjs";

const sample = real && join(process.env.LOGDIR, "synth_tpu_infeed");
const peers = [];
let server;
let browser;
let logdir;

/* A program to be profiled; its address. */
async function startPeer(...how) {
	const program = join(dirname(process.env.STEPSCOPE), "tests/profiler_peer");
	const child = spawn(program, [profileOf(sample), ...how], { stdio: ["pipe", "pipe", "inherit"] });
	peers.push(child);
	const port = await new Promise((done) => child.stdout.once("data", (d) => done(parseInt(d, 10))));
	return `127.0.0.1:${port}`;
}

function profileOf(folder) {
	const file = readdirSync(folder, { recursive: true }).find((f) => f.endsWith(".xplane.pb"));
	return join(folder, file);
}

const runsIn = (dir) => readdirSync(join(dir, "plugins/profile")).sort();

before(async () => {
	if (!real) return;
	logdir = mkdtempSync(join(tmpdir(), "stepscope-capture-"));
	mkdirSync(join(logdir, "plugins/profile/first"), { recursive: true });
	cpSync(profileOf(sample), join(logdir, "plugins/profile/first/h.xplane.pb"));
	server = await startProgram(logdir, ["--allow-capture"]);
	browser = await startBrowser();
});

after(async () => {
	for (const p of peers) p.stdin.end();
	await browser?.close();
	await server?.stop();
	if (logdir) rmSync(logdir, { recursive: true });
});

async function openDialog() {
	const view = await openPage(browser, server.base);
	await view.page.goto(`${server.base}?list=all`);
	await view.page.getByRole("button", { name: "Capture a profile" }).click();
	await view.page.getByRole("dialog").waitFor();
	return view;
}

async function ask(page, address, duration_ms) {
	await page.fill("[name=service_addr]", address);
	await page.fill("[name=duration]", String(duration_ms));
	if (!(await page.isVisible("[name=num_retry]"))) await page.click("summary");
	await page.fill("[name=num_retry]", "0");
	await page.getByRole("button", { name: "Capture", exact: true }).click();
}

if (real) {
	test("a profile is taken from the page, after one that cannot be and one that is broken off", async () => {
		assert.ok(existsSync(sample));
		const { page, seen, close } = await openDialog();
		await shot(page, "capture");
		await ask(page, "127.0.0.1:1", 100);
		await page.getByText("Connection refused").waitFor();
		await ask(page, await startPeer("slow"), 30_000);
		await page.getByText(/ s of 30\.0 s/).waitFor();
		await shot(page, "capture-progress");
		await page.getByRole("button", { name: "Cancel" }).click();
		await page.getByRole("button", { name: "Capture", exact: true }).waitFor();
		assert.equal(await page.inputValue("[name=duration]"), "30000");
		/* Until the server has put it away. */
		for (const end = Date.now() + 15_000; runsIn(logdir).length !== 1 && Date.now() < end; ) await page.waitForTimeout(50);
		assert.deepEqual(runsIn(logdir), ["first"]);
		const good = await startPeer();
		await ask(page, `${good},127.0.0.1:1`, 50);
		await page.getByText(/Not in the run: 127\.0\.0\.1:1: UNAVAILABLE/).waitFor();
		await shot(page, "capture-partial");
		const partial = runsIn(logdir).filter((r) => r !== "first");
		assert.equal(partial.length, 1);
		rmSync(join(logdir, "plugins/profile", partial[0]), { recursive: true });
		await ask(page, good, 100);
		await page.waitForURL(/\?run=/);
		const made = runsIn(logdir).filter((r) => r !== "first");
		assert.equal(made.length, 1);
		assert.ok(page.url().includes(encodeURIComponent(made[0])));
		await page.locator("main").getByText("145 µs").first().waitFor(); /* a step of the sample */
		assert.deepEqual(seen.foreign, []);
		assert.deepEqual(
			seen.errors.filter((e) => !e.includes("status of 500")),
			[],
		);
		await close();
	});

	test("a token in the address opens the page, and goes out of it", async () => {
		const file = join(logdir, "token");
		writeFileSync(file, "secret-7\n");
		const shut = await startProgram(logdir, ["--token-file", file], "?token=secret-7");
		const { page, seen, close } = await openPage(browser, shut.base);
		assert.equal((await page.goto(shut.base)).status(), 401);
		seen.errors.length = 0;
		await page.goto(`${shut.base}?token=secret-7`);
		await page.locator("main :text('Step time'):visible").first().waitFor();
		assert.ok(!page.url().includes("secret"));
		assert.equal(await page.evaluate(() => document.cookie), "");
		assert.deepEqual(seen.errors, []);
		await close();
		await shut.stop();
	});

	test("without leave the page does not offer it, and the server refuses", async () => {
		const shut = await startProgram(logdir);
		const { page, close } = await openPage(browser, shut.base);
		await page.goto(`${shut.base}?list=all`);
		await page.getByRole("heading", { name: "Profiles" }).waitFor();
		assert.equal(await page.getByRole("button", { name: "Capture a profile" }).count(), 0);
		assert.equal((await api(shut.base, "api/runs")).capture, undefined);
		const res = await fetch(`${shut.base}data/plugin/profile/capture_profile?service_addr=127.0.0.1:1`);
		assert.equal(res.status, 501);
		await close();
		await shut.stop();
	});
}
