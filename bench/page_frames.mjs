/*
 * page_frames.mjs - how smooth the timeline is: times between frames while panning, zooming and dragging, beside those of a page that
 * fills one rectangle a frame in the same run; from key press to new pixels; time and bytes of the first picture. Headless Chromium,
 * software drawing, 1920 x 1080.
 *	STEPSCOPE=build/stepscope LOGDIR=DIR node bench/page_frames.mjs [RUN]	the run with the most events, or the one named
 *	EVENTS=N node bench/page_frames.mjs					made-up events
 * A profile of any size: bench/gen_xspace DIR/plugins/profile/run/host.xplane.pb 20000000
 * The last line says what of the aims was missed; the exit status is 1 then. A p99 counts as missed when it is above 16.7 ms and above that
 * of the one rectangle as well: to be faster than the least that a page can draw cannot be asked. On a busy machine a low nice value is
 * not enough: browsers run in sessions of their own, whose place in the queue /proc/PID/autogroup says.
 */
import { execFileSync } from "node:child_process";
import { api, openPage, q, startBrowser, startProgram, real } from "../tests/web/lib.mjs";

async function server() {
	if (real) return startProgram();
	const { startServer } = await import("../web/test/dev_server.mjs");
	const s = await startServer(0, Number(process.env.EVENTS ?? 1_000_000));
	return { base: `http://127.0.0.1:${s.port}/`, stop: async () => s.close() };
}

const figures = { width: 16 };
const ms = (v) => v.toFixed(1).padStart(6);

/* Processor time of the page's main thread so far, in seconds: what a frame costs, however busy the machine is. */
async function threadSeconds(cdp) {
	const { metrics } = await cdp.send("Performance.getMetrics");
	return metrics.find((m) => m.name === "TaskDuration")?.value ?? 0;
}

/* When the browser showed a frame, in ms, while `act` ran: a page can only tell when it was asked for one. */
async function shownFrames(browser, act) {
	const cdp = await browser.newBrowserCDPSession();
	const at_ms = [];
	cdp.on("Tracing.dataCollected", ({ value }) => {
		for (const e of value) if (e.name === "Display::FrameDisplayed") at_ms.push(e.ts / 1000);
	});
	await cdp.send("Tracing.start", { traceConfig: { includedCategories: ["viz"], excludedCategories: ["*"] }, transferMode: "ReportEvents" });
	await act();
	const complete = new Promise((done) => cdp.once("Tracing.tracingComplete", done));
	await cdp.send("Tracing.end");
	await complete;
	await cdp.detach();
	return at_ms.sort((a, b) => a - b);
}

/* Runs `act` for a while and reports the times between frames that are shown. */
async function frames(page, cdp, name, act, during_ms = 4000) {
	const before = await threadSeconds(cdp);
	const shown_ms = await shownFrames(page.context().browser(), () => act(Date.now() + during_ms));
	const cpu_s = (await threadSeconds(cdp)) - before;
	const f = shown_ms.slice(1).map((t, i) => t - shown_ms[i]);
	f.sort((a, b) => a - b);
	const sum = f.reduce((a, b) => a + b, 0);
	const at = (p) => f[Math.min(f.length - 1, Math.floor(f.length * p))] ?? 0;
	const drawn = await page.evaluate(() => document.querySelector(".tl-body")?.dataset.drawn);
	const fps = (f.length / sum) * 1000;
	console.log(
		`${name.padEnd(figures.width)} ${fps.toFixed(1).padStart(5)} frames/s   between frames, ms: p50${ms(at(0.5))}  p95${ms(at(0.95))}  p99${ms(at(0.99))}  max${ms(at(1))}   main thread ${((cpu_s * 1000) / Math.max(1, f.length)).toFixed(1)} ms a frame${drawn ? `   ${drawn} slices in the last` : ""}`,
	);
	return { name, fps, p99_ms: at(0.99) };
}

/* A page that fills one rectangle a frame and does nothing on the same keys: what browser and machine need alone. */
async function leastFrames(browser, base) {
	const p = await openPage(browser, base, { width: 1920, height: 1080 });
	await p.page.goto("about:blank");
	await p.page.evaluate(() => {
		document.body.innerHTML = '<canvas width="1900" height="1000"></canvas>';
		const c = document.querySelector("canvas").getContext("2d");
		let i = 0;
		const draw = () => {
			c.fillStyle = i++ % 2 ? "#123" : "#321";
			c.fillRect(0, 0, 1900, 1000);
			requestAnimationFrame(draw);
		};
		draw();
	});
	const cdp = await p.page.context().newCDPSession(p.page);
	await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
	const least = await frames(p.page, cdp, "one rectangle", press(p.page, "ddddddddaaaaaaaa", 50));
	await p.close();
	return least;
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
	const p95_ms = t[Math.floor(t.length * 0.95)];
	console.log(
		`${"key to pixels".padEnd(figures.width)} p50 ${t[t.length >> 1].toFixed(0)} ms, p95 ${p95_ms.toFixed(0)} ms (until the frame after the key's own has begun)`,
	);
	return p95_ms;
}

/*
 * The host of a virtual machine takes back memory that nobody used for seconds, and takes 1 to 1.5 ms for each megabyte to give it
 * again: more than the program takes to fill it. So as much as program and browser need was in use a moment ago.
 */
function useMemory(bytes) {
	execFileSync(process.execPath, ["-e", `for (let n = 0; n < ${bytes}; n += 1 << 28) (globalThis.kept ??= []).push(Buffer.alloc(1 << 28, 1))`]);
}

/* Until slices are drawn. The page tells it: to ask it in each frame would make it draw frames that nobody needs. */
async function drawn(page) {
	await page.evaluate(
		() =>
			new Promise((done) => {
				const look = () => {
					if (Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) === 0) return;
					observer.disconnect();
					done();
				};
				const observer = new MutationObserver(look);
				observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ["data-drawn"] });
				look();
			}),
	);
}

/* A page that knows nothing yet, until there is something to see: script, layout and slices all come over the wire. */
async function firstPicture(browser, url, isCold) {
	const p = await openPage(browser, new URL(url).origin + "/", { width: 1920, height: 1080 });
	const wire = new Map();
	p.page.on("response", async (r) => {
		if (r.url().includes("/api/timeline")) wire.set(r.url(), (await r.request().sizes()).responseBodySize);
	});
	if (isCold) useMemory(3 * 2 ** 30);
	const begin = Date.now();
	await p.page.goto(url);
	await drawn(p.page);
	const took_ms = Date.now() - begin;
	await p.page.waitForTimeout(1500);
	const bytes = [...wire.values()].reduce((a, b) => a + b, 0);
	console.log(`${`first, ${isCold ? "cold" : "warm"}`.padEnd(figures.width)} ${took_ms} ms, ${bytes} bytes in ${wire.size} answers`);
	return { ...p, took_ms, bytes };
}

async function largest(base) {
	let best;
	for (const r of (await api(base, "api/runs")).runs.filter((x) => !process.argv[2] || x.run === process.argv[2])) {
		const tool = (await api(base, `api/tools?${q({ run: r.run })}`)).tools.find((t) => t.kind === "timeline" && t.available);
		const size = r.bytes;
		if (tool && (!best || size > best.size))
			best = { run: r.run, tool: tool.name, host: tool.hosts.includes("ALL_HOSTS") ? "ALL_HOSTS" : tool.hosts[0], size };
	}
	if (!best) throw new Error("no run with a timeline");
	return best;
}

const press = (page, list, gap) => async (end) => {
	for (let i = 0; Date.now() < end; i++) {
		await page.keyboard.press(list[i % list.length]);
		await page.waitForTimeout(gap);
	}
};

async function move(page, cdp) {
	await page.mouse.move(1100, 500);
	for (let i = 0; i < 5; i++) {
		await page.keyboard.press("w");
		await page.waitForTimeout(200);
	}
	await page.waitForTimeout(800);
	const out = [await frames(page, cdp, "panning, keys", press(page, "ddddddddaaaaaaaa", 50))];
	out.push(await frames(page, cdp, "zooming, keys", press(page, "wwwwwwssssss", 60)));
	await page.keyboard.press("2");
	out.push(
		await frames(page, cdp, "dragging", async (end) => {
			await page.mouse.move(1100, 500);
			await page.mouse.down();
			for (let i = 0; Date.now() < end; i++) {
				/* Not awaited: the browser answers once a frame, and a frame without a move shows nothing new. */
				page.mouse.move(1100 + 400 * Math.sin(i / 24), 500 + 60 * Math.cos(i / 18));
				await page.waitForTimeout(8);
			}
			await page.mouse.up();
		}),
	);
	await page.keyboard.press("0");
	await page.waitForTimeout(800);
	out.push(await frames(page, cdp, "the whole, zoom", press(page, "ws", 50)));
	return out;
}

const s = await server();
const browser = await startBrowser();
const missed = [];
const aim = (ok, text) => ok || missed.push(text);
try {
	const best = await largest(s.base);
	const url = `${s.base}?${q({ run: best.run, tool: best.tool, host: best.host })}`;
	/* A browser goes on starting for seconds after its first window is there: 0.6 s of CPU for parts of its own that no page needs. */
	await new Promise((done) => setTimeout(done, 5000));
	const cold = await firstPicture(browser, url, true);
	await cold.close();
	const p = await firstPicture(browser, url, false);
	const { page } = p;
	const { events } = await api(s.base, `api/timeline?${q({ run: best.run, host: best.host })}`);
	console.log(`${"events".padEnd(figures.width)} ${events} in ${best.run}`);
	const cdp = await page.context().newCDPSession(page);
	await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
	const least = await leastFrames(browser, s.base);
	for (const f of await move(page, cdp))
		aim(f.p99_ms <= Math.max(16.7, least.p99_ms), `${f.name}: p99 ${f.p99_ms.toFixed(1)} ms, one rectangle ${least.p99_ms.toFixed(1)} ms`);
	const key_ms = await latency(page, "wwwssswwwsssdddaaadddaaa");
	aim(cold.took_ms <= 1500, `first picture on a cold server ${cold.took_ms} ms, not 1500`);
	aim(p.took_ms <= 1000, `first picture on a warm server ${p.took_ms} ms, not 1000`);
	aim(p.bytes <= 300_000, `${p.bytes} bytes for the first picture, not 300,000`);
	aim(key_ms <= 50, `key to pixels ${key_ms.toFixed(0)} ms, not 50`);
	await p.close();
} finally {
	await browser.close();
	await s.stop();
}
console.log(missed.length ? `missed: ${missed.join("; ")}` : "all aims met");
process.exitCode = missed.length ? 1 : 0;
