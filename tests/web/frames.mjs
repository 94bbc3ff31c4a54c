/*
 * frames.mjs - how smooth the timeline is: frames a second while panning and zooming, beside the frames of the resting page in the same
 * run; from key press to new pixels; bytes and time of the first picture. Software drawing, 1920 x 1080.
 *	node tests/web/frames.mjs [RUN]		with STEPSCOPE and LOGDIR as in lib.mjs; otherwise a million made-up events
 */
import { api, openPage, q, startBrowser, startProgram, real } from "./lib.mjs";

async function server() {
	if (real) return startProgram();
	const { startServer } = await import("../../web/test/dev_server.mjs");
	const s = await startServer(0, Number(process.env.EVENTS ?? 1_000_000));
	return { base: `http://127.0.0.1:${s.port}/`, stop: async () => s.close() };
}

/* Runs `act` for a while and reports the times between frames. */
async function frames(page, name, act, ms = 4000) {
	await page.evaluate(() => {
		const f = (window.frameTimes = []);
		window.frameOn = true;
		let last = performance.now();
		const tick = () => {
			const now = performance.now();
			f.push(now - last);
			last = now;
			if (window.frameOn) requestAnimationFrame(tick);
		};
		requestAnimationFrame(tick);
	});
	await act(Date.now() + ms);
	const f = await page.evaluate(() => {
		window.frameOn = false;
		return window.frameTimes.slice(1);
	});
	f.sort((a, b) => a - b);
	const at = (p) => (f[Math.min(f.length - 1, Math.floor(f.length * p))] ?? 0).toFixed(1).padStart(6);
	const sum = f.reduce((a, b) => a + b, 0);
	const drawn = await page.evaluate(() => document.querySelector(".tl-body").dataset.drawn);
	console.log(
		`${name.padEnd(16)} ${((f.length / sum) * 1000).toFixed(1).padStart(5)} frames/s   between frames, ms: p50${at(0.5)}  p95${at(0.95)}  p99${at(0.99)}  max${at(1)}   ${drawn} slices in the last`,
	);
}

/* From the key event to the end of the frame that first shows its effect. */
async function latency(page, keys) {
	await page.evaluate(() => {
		window.keyTimes = [];
		addEventListener(
			"keydown",
			(e) => {
				requestAnimationFrame(() => requestAnimationFrame(() => window.keyTimes.push(performance.now() - e.timeStamp)));
			},
			true,
		);
	});
	for (const k of keys) {
		await page.keyboard.press(k);
		await page.waitForTimeout(170);
	}
	const t = (await page.evaluate(() => window.keyTimes)).sort((a, b) => a - b);
	console.log(
		`key to pixels    p50 ${t[t.length >> 1].toFixed(0)} ms, p95 ${t[Math.floor(t.length * 0.95)].toFixed(0)} ms (until the frame after the key's own has begun)`,
	);
}

const s = await server();
const browser = await startBrowser();
try {
	const runs = (await api(s.base, "api/runs")).runs;
	let best;
	for (const r of runs.filter((x) => !process.argv[2] || x.run === process.argv[2])) {
		const tool = (await api(s.base, `api/tools?${q({ run: r.run })}`)).tools.find(
			(t) => t.kind === "timeline" && t.available,
		);
		if (!tool) continue;
		const host = tool.hosts.includes("ALL_HOSTS") ? "ALL_HOSTS" : tool.hosts[0];
		const { events } = await api(s.base, `api/timeline?${q({ run: r.run, host })}`);
		if (!best || events > best.events) best = { run: r.run, tool: tool.name, host, events };
	}
	const p = await openPage(browser, s.base, { width: 1920, height: 1080 });
	const { page } = p;
	const wire = new Map();
	page.on("response", async (r) => {
		if (r.url().includes("/api/timeline")) wire.set(r.url(), (await r.request().sizes()).responseBodySize);
	});
	const begin = Date.now();
	await page.goto(`${s.base}?${q({ run: best.run, tool: best.tool, host: best.host })}`);
	await page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0, undefined, {
		polling: "raf",
	});
	const first = Date.now() - begin;
	await page.waitForTimeout(1500);
	console.log(
		`${best.run}: ${best.events} events; first picture after ${first} ms, ${[...wire.values()].reduce((a, b) => a + b, 0)} bytes in ${wire.size} answers`,
	);
	await frames(page, "resting", () => page.waitForTimeout(4000));
	await page.mouse.move(1100, 500);
	for (let i = 0; i < 5; i++) {
		await page.keyboard.press("w");
		await page.waitForTimeout(200);
	}
	await page.waitForTimeout(800);
	const keys = (list, gap) => async (end) => {
		for (let i = 0; Date.now() < end; i++) {
			await page.keyboard.press(list[i % list.length]);
			await page.waitForTimeout(gap);
		}
	};
	await frames(page, "panning, keys", keys("dddddddd" + "aaaaaaaa", 50));
	await frames(page, "zooming, keys", keys("wwwwww" + "ssssss", 60));
	await page.keyboard.press("2");
	await frames(page, "dragging", async (end) => {
		await page.mouse.move(1100, 500);
		await page.mouse.down();
		for (let i = 0; Date.now() < end; i++) {
			await page.mouse.move(1100 + 400 * Math.sin(i / 12), 500 + 60 * Math.cos(i / 9));
			await page.waitForTimeout(8);
		}
		await page.mouse.up();
	});
	await page.keyboard.press("0");
	await page.waitForTimeout(800);
	await frames(page, "the whole, zoom", keys("ws", 50));
	await latency(page, "wwwssswwwsssdddaaadddaaa");
	await p.close();
} finally {
	await browser.close();
	await s.stop();
}
