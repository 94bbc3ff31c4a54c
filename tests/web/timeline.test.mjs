/*
 * timeline.test.mjs - the trace viewer in a real browser: it draws, zooms, pans, selects, measures, marks, searches, and its URL holds the view.
 */
import { after, before, describe, test } from "node:test";
import assert from "node:assert/strict";
import { api, openPage, q, real, shot, startBrowser, startProgram, runsByName } from "./lib.mjs";
import { format } from "./format.mjs";
import { frames, settle } from "./harness.mjs";

let server;
let browser;
let trace; /* the run with the most events */

before(async () => {
	server = await startProgram();
	browser = await startBrowser();
	for (const r of await runsByName(server.base)) {
		const tool = (await api(server.base, `api/tools?${q({ run: r.run })}`)).tools.find(
			(t) => t.kind === "timeline" && t.available,
		);
		if (!tool) continue;
		const host = tool.hosts.includes("ALL_HOSTS") ? "ALL_HOSTS" : tool.hosts[0];
		const timeline = await api(server.base, `api/timeline?${q({ run: r.run, host })}`);
		if (!trace || timeline.events > trace.timeline.events) trace = { run: r.run, host, tool: tool.name, timeline };
	}
	assert.ok(trace, "a run with a timeline");
});

after(async () => {
	await browser?.close();
	await server?.stop();
});

const rest = settle;

async function open(work, extra = {}, options = {}) {
	const p = await openPage(browser, server.base, options);
	try {
		await p.page.goto(`${server.base}?${q({ run: trace.run, tool: trace.tool, host: trace.host, ...extra })}`);
		await p.page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0, undefined, {
			timeout: 20_000,
		});
		await rest(p.page);
		await work(p.page, p.seen);
		assert.deepEqual(p.seen.foreign, []);
		assert.deepEqual(p.seen.errors, []);
	} finally {
		await p.close();
	}
}

/* Pixels of the tracks that are not background. */
const inked = (page) =>
	page.evaluate(() => {
		const c = document.querySelector(".tl-canvas");
		const d = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
		const counts = new Map();
		for (const v of d) counts.set(v, (counts.get(v) ?? 0) + 1);
		const [background] = [...counts].sort((a, b) => b[1] - a[1])[0];
		return { ink: d.length - counts.get(background), colors: counts.size, all: d.length };
	});

const view = (page) => {
	const v = new URL(page.url()).searchParams.get("view");
	if (!v) return { begin: trace.timeline.begin_ps, end: trace.timeline.end_ps };
	const [begin, end] = v.split("-").map(Number);
	return { begin, end };
};

const length = (v) => v.end - v.begin;

/* A slice wide enough to be clicked, from the server's own answer for the whole trace. */
async function pick(page) {
	const box = await page.locator(".tl-over").boundingBox();
	for (let y = 40; y < box.height - 10; y += 9)
		for (let x = box.width * 0.15; x < box.width * 0.95; x += 37) {
			await page.mouse.move(box.x + x, box.y + y);
			await frames(page);
			const name = await page.evaluate(() =>
				document.querySelector(".tl-tip-time") ? document.querySelector(".tl-tip-name")?.textContent : undefined,
			);
			if (name) {
				await page.mouse.click(box.x + x, box.y + y);
				await frames(page);
				if (await page.$("[data-event=begin]")) return { x: box.x + x, y: box.y + y, name };
			}
		}
	throw new Error("no slice under the pointer anywhere");
}

test("it says what the trace comes to, and leads to the longest pause", async () => {
	const words = await api(server.base, `api/timeline/conclusion?${q({ run: trace.run, host: trace.host })}`);
	await open(async (page) => {
		await page.waitForSelector(".trace-says p");
		const said = await page.textContent(".trace-says p");
		for (const s of [words.conclusion.text, ...words.conclusion.more]) assert.ok(said.includes(s), s);
		assert.equal(await page.locator(".trace-says button").count(), words.pause ? 1 : 0);
		if (!words.pause) return;
		await page.click(".trace-says button");
		await rest(page);
		const [begin, end] = new URL(page.url()).searchParams.get("view").split("-").map(Number);
		assert.ok(end > begin && begin <= words.pause.begin_ps && end >= words.pause.end_ps, page.url());
		/* The pause is marked, and Back returns to what was seen before. */
		assert.equal(new URL(page.url()).searchParams.get("marks"), `${words.pause.begin_ps}-${words.pause.end_ps}`);
		await page.goBack();
		await page.waitForFunction(() => !new URL(location.href).searchParams.get("marks"));
		await rest(page);
		assert.notDeepEqual(view(page), { begin, end });
	});
});

test("the hover tells an event's true duration, whatever the drawing rounds it to", async () => {
	await open(async (page) => {
		const box = await page.locator(".tl-over").boundingBox();
		let seen = 0;
		for (let y = 40; y < box.height - 10 && seen < 5; y += 9)
			for (let x = box.width * 0.15; x < box.width * 0.95 && seen < 5; x += 61) {
				await page.mouse.move(box.x + x, box.y + y);
				await frames(page);
				if (!(await page.$(".tl-tip-time"))) continue;
				await page.waitForFunction(() => !/about|pixel/.test(document.querySelector(".tl-tip-time")?.textContent ?? ""));
				const told = await page.textContent(".tl-tip-time");
				await page.mouse.click(box.x + x, box.y + y);
				await frames(page);
				if (!(await page.$("[data-event=begin]"))) continue;
				await page.waitForSelector("[data-event=self]");
				assert.equal(told, await page.textContent("[data-event=dur]"));
				await page.keyboard.press("Escape");
				seen++;
			}
		assert.ok(seen >= 3, `${seen} events`);
	});
});

describe("timeline", () => {
	test("is asked for once, while the page's script is still on its way", { skip: !real && "made-up answers come without the header" }, async () => {
		const p = await openPage(browser, server.base);
		const asked = [];
		p.page.on("request", (r) => {
			const { pathname, searchParams } = new URL(r.url());
			if (pathname === "/api/timeline" || pathname === "/api/tools") asked.push(`${pathname} ${searchParams.get("host") ?? ""}`);
		});
		try {
			await p.page.goto(`${server.base}?${q({ run: trace.run, tool: trace.tool, host: trace.host })}`);
			await p.page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0);
			assert.equal(asked[0], `/api/timeline ${trace.host}`, "before the script asks anything");
			assert.equal(asked.filter((a) => a.startsWith("/api/timeline")).length, 1, "the script uses that answer");
		} finally {
			await p.close();
		}
	});

	test("draws the trace, in light and dark", async () => {
		for (const scheme of ["light", "dark"])
			await open(
				async (page) => {
					const i = await inked(page);
					assert.ok(i.ink > i.all / 500, `${i.ink} of ${i.all} pixels`);
					assert.ok(i.colors > 4);
					const sections = await page.$$eval(".tl-section-name", (l) => l.map((x) => x.textContent));
					assert.equal(sections[0], trace.timeline.sections[0].name);
					await shot(page, `trace-${scheme}`);
				},
				{},
				{ scheme },
			);
	});

	test("what is not loaded yet is striped; what is loaded is not", async () => {
		const p = await openPage(browser, server.base);
		let held = [];
		try {
			let hold = true;
			await p.page.route("**/slices?*", (route) => (hold ? held.push(route) : route.continue()));
			await p.page.goto(`${server.base}?${q({ run: trace.run, tool: trace.tool, host: trace.host })}`);
			await p.page.waitForSelector(".tl-over");
			/* Each stripe is three pixels wide, over the whole width. */
			await p.page.waitForFunction(() => {
				const c = document.querySelector(".tl-canvas");
				if (!c.width || !c.height) return false;
				const pixels = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
				for (let y = 0; y < c.height; y++) {
					let n = 0;
					for (let x = 1; x < c.width; x++) n += pixels[y * c.width + x] !== pixels[y * c.width + x - 1];
					if (n > c.width / 4 && n < c.width / 2) return true;
				}
				return false;
			});
			assert.ok(held.length > 0, "nothing was asked for");
			hold = false;
			for (const route of held.splice(0)) await route.continue();
			await p.page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0);
			await rest(p.page);
			await frames(p.page);
			/* Some row is idle somewhere: there the ground is plain. */
			const plain = await p.page.evaluate(() => {
				const c = document.querySelector(".tl-canvas");
				const pixels = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
				let longest = 0;
				for (let y = 0; y < c.height; y++)
					for (let x = 1, n = 0; x < c.width; x++) {
						n = pixels[y * c.width + x] === pixels[y * c.width + x - 1] ? n + 1 : 0;
						longest = Math.max(longest, n);
					}
				return longest;
			});
			assert.ok(plain > 20, `${plain} pixels of one colour`);
			assert.deepEqual(p.seen.errors, []);
		} finally {
			await Promise.all(held.map((r) => r.abort().catch(() => undefined)));
			await p.close();
		}
	});

	test("keys zoom and pan, and the view is in the URL", async () => {
		await open(async (page) => {
			const whole = view(page);
			await page.keyboard.press("w");
			await page.keyboard.press("w");
			await rest(page);
			const near = view(page);
			assert.ok(Math.abs(length(near) / length(whole) - 1 / 2.25) < 0.01);
			await page.keyboard.press("d");
			await rest(page);
			const right = view(page);
			assert.ok(right.begin > near.begin && Math.abs(length(right) - length(near)) < 10);
			await page.keyboard.press("a");
			await page.keyboard.press("s");
			await rest(page);
			assert.ok(length(view(page)) > length(near));
			await page.keyboard.press("0");
			await rest(page);
			assert.equal(new URL(page.url()).searchParams.get("view"), null);
		});
	});

	test("a link shows the same view", async () => {
		const t = trace.timeline;
		const at = Math.round(t.begin_ps + (t.end_ps - t.begin_ps) * 0.4);
		const end = Math.round(at + (t.end_ps - t.begin_ps) * 0.1);
		await open(
			async (page) => {
				await page.keyboard.press("d");
				await rest(page);
				const v = view(page);
				assert.ok(Math.abs(length(v) - (end - at)) < 10);
			},
			{ view: `${at}-${end}` },
		);
	});

	test("the wheel zooms with ctrl, at the pointer", async () => {
		await open(async (page) => {
			const box = await page.locator(".tl-over").boundingBox();
			await page.mouse.move(box.x + box.width / 4, box.y + 60);
			await page.keyboard.down("Control");
			await page.mouse.wheel(0, -300);
			await page.keyboard.up("Control");
			await rest(page);
			const whole = { begin: trace.timeline.begin_ps, end: trace.timeline.end_ps };
			const v = view(page);
			assert.ok(length(v) < length(whole) * 0.8);
			const fixed = whole.begin + length(whole) / 4;
			assert.ok(Math.abs((fixed - v.begin) / length(v) - 0.25) < 0.01, "the time under the pointer stays there");
		});
	});

	test("dragging with the pan tool moves the trace", async () => {
		await open(async (page) => {
			for (const k of ["w", "w", "w"]) await page.keyboard.press(k);
			await rest(page);
			const from = view(page);
			await page.keyboard.press("2");
			const box = await page.locator(".tl-over").boundingBox();
			await page.mouse.move(box.x + 500, box.y + 50);
			await page.mouse.down();
			await page.mouse.move(box.x + 400, box.y + 50, { steps: 5 });
			await page.mouse.up();
			await rest(page);
			const to = view(page);
			assert.ok(Math.abs((to.begin - from.begin) / length(from) - 100 / box.width) < 0.01);
		});
	});

	test("a click selects, and the details are the server's", async () => {
		await open(async (page) => {
			const { name } = await pick(page);
			await rest(page);
			/* The chosen event alone is framed. */
			assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector(".tl-over")).outlineStyle), "none");
			const event = new URL(page.url()).searchParams.get("event");
			const e = await api(server.base, `api/timeline/event?${q({ run: trace.run, host: trace.host, event })}`);
			assert.equal(e.name, name);
			assert.equal(await page.textContent(".event-name"), e.name);
			assert.equal(await page.textContent("[data-event=begin]"), format.exact_ps(e.begin_ps));
			assert.equal(await page.textContent("[data-event=dur]"), format.exact_ps(e.dur_ps));
			assert.deepEqual(
				await page.$$eval(".args th", (l) => l.map((x) => x.textContent)),
				e.args.map((a) => a.name),
			);
			await page.keyboard.press("f");
			await rest(page);
			const v = view(page);
			assert.ok(v.begin <= e.begin_ps && v.end >= e.begin_ps + e.dur_ps);
			await shot(page, "trace-selected");
			await page.keyboard.press("Escape");
			assert.equal(await page.$("[data-event=begin]"), null);
		});
	});

	test("a frame over many shows the server's sums", async () => {
		await open(async (page, seen) => {
			const box = await page.locator(".tl-over").boundingBox();
			await page.mouse.move(box.x + 20, box.y + 26);
			await page.mouse.down();
			await page.mouse.move(box.x + box.width - 20, box.y + Math.min(box.height - 6, 400), { steps: 6 });
			await page.mouse.up();
			await page.waitForSelector(".sums .grid-space .grid-row");
			const url = seen.requests.filter((u) => u.includes("/api/timeline/summary")).pop();
			const sum = await (await fetch(url)).json();
			assert.equal(
				await page.textContent(".sums h2"),
				`${format.count(sum.count)} ${sum.count === 1 ? "event" : "events"}`,
			);
			const first = await page.$$eval(".sums .grid-space .grid-row:first-child .grid-cell", (l) =>
				l.map((x) => x.textContent),
			);
			assert.equal(first[0], sum.names[0].name);
			assert.equal(first[1], format.count(sum.names[0].count));
			await shot(page, "trace-frame");
		});
	});

	test("search counts over the whole trace and goes from hit to hit", async () => {
		const event = (
			await api(server.base, `api/timeline/search?${q({ run: trace.run, host: trace.host, q: "a", limit: 1 })}`)
		).hits[0];
		const word = event.name.slice(0, 12);
		const all = await api(
			server.base,
			`api/timeline/search?${q({ run: trace.run, host: trace.host, q: word, limit: 3 })}`,
		);
		await open(async (page) => {
			await page.keyboard.press("/");
			await page.keyboard.type(word);
			await page.waitForFunction(
				(n) => document.querySelector(".search-count")?.textContent === n,
				`${format.count(all.count)} found`,
			);
			const selected = () => new URL(page.url()).searchParams.get("event");
			for (let i = 0; i < Math.min(3, all.hits.length); i++) {
				await page.keyboard.press("Enter");
				await page.waitForFunction(
					(n) => document.querySelector(".search-count")?.textContent === n,
					`${format.count(i + 1)} of ${format.count(all.count)}`,
				);
				await rest(page);
				assert.equal(selected(), String(all.hits[i].event));
			}
			if (all.hits.length > 1) {
				await page.keyboard.press("Shift+Enter");
				await rest(page);
				assert.equal(selected(), String(all.hits[Math.min(3, all.hits.length) - 2].event));
			}
			await shot(page, "trace-search");
		});
	});

	test("measuring and marking", async () => {
		await open(async (page) => {
			await page.keyboard.press("4");
			const box = await page.locator(".tl-over").boundingBox();
			await page.mouse.move(box.x + 300, box.y + 30);
			await page.mouse.down();
			await page.mouse.move(box.x + 620, box.y + 30, { steps: 4 });
			await page.mouse.up();
			await page.keyboard.press("m");
			await rest(page);
			const marks = new URL(page.url()).searchParams.get("marks");
			const [a, b] = marks.split("-").map(Number);
			const per = (trace.timeline.end_ps - trace.timeline.begin_ps) / box.width;
			assert.ok(Math.abs((b - a) / per - 320) < 20, `${(b - a) / per} pixels`);
			await shot(page, "trace-measure");
			await page.keyboard.press("m");
			await rest(page);
			assert.equal(new URL(page.url()).searchParams.get("marks"), null, "the same again takes it away");
		});
	});

	test("sections close, tracks are filtered and pinned, the keys are explained", async () => {
		await open(async (page) => {
			const tracks = () => page.$$eval(".tl-track", (l) => l.length);
			const before = await tracks();
			await page.click(".tl-section");
			assert.ok((await tracks()) < before || trace.timeline.sections.length > 1);
			assert.equal(await page.getAttribute(".tl-section", "aria-expanded"), "false");
			await page.click(".tl-section");
			const name = trace.timeline.sections[0].tracks[0].name;
			await page.fill('[aria-label="Filter tracks"]', name);
			await rest(page);
			for (const t of await page.$$eval(".tl-track-name", (l) => l.map((x) => x.textContent)))
				assert.ok(
					name
						.toLowerCase()
						.split(/\s+/)
						.every(
							(w) =>
								t.toLowerCase().includes(w) || trace.timeline.sections.some((s) => s.name.toLowerCase().includes(w)),
						),
				);
			await page.fill('[aria-label="Filter tracks"]', "");
			await page.locator(".tl-track").first().hover();
			await page.locator(".tl-pin").first().click();
			assert.equal(await page.textContent(".tl-section-name"), "Pinned");
			await page.locator(".tl-over").focus();
			await page.keyboard.press("?");
			await page.waitForSelector("dialog.sheet[open]");
			await shot(page, "trace-keys");
			await page.keyboard.press("Escape");
			await page.waitForSelector("dialog.sheet", { state: "detached" });
		});
	});

	test("tracks and sections are moved by dragging and by keys, and a link keeps it", async () => {
		await open(async (page) => {
			const names = () => page.$$eval(".tl-track", (l) => l.map((x) => x.querySelector(".tl-fold").title));
			/* Two tracks of one section that lie below each other on the screen. */
			const pair = await page.evaluate(() => {
				const rows = [...document.querySelectorAll(".tl-section, .tl-track")].sort(
					(a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top,
				);
				const at = rows.findIndex((r, i) => r.matches(".tl-track") && rows[i + 1]?.matches(".tl-track") && rows[i + 1].getBoundingClientRect().bottom < innerHeight);
				return rows.slice(at, at + 2).map((r) => {
					const b = r.querySelector(".tl-fold").getBoundingClientRect();
					return { title: r.querySelector(".tl-fold").title, x: b.x + 30, y: b.y + b.height / 2, top: r.getBoundingClientRect().top };
				});
			});
			const [a, b] = pair;
			const before = await names();
			assert.ok(before.indexOf(a.title) < before.indexOf(b.title));
			await page.mouse.move(b.x, b.y);
			await page.mouse.down();
			await page.mouse.move(b.x, b.y - 10, { steps: 3 });
			await page.mouse.move(b.x, a.top + 1, { steps: 3 });
			assert.ok(await page.$(".tl-gap"), "where it will stand is shown");
			await page.mouse.up();
			assert.equal(await page.$(".tl-gap"), null);
			const tops = async () => Object.fromEntries(await page.$$eval(".tl-track", (l) => l.map((x) => [x.querySelector(".tl-fold").title, parseFloat(x.style.top)])));
			let t = await tops();
			assert.ok(t[b.title] < t[a.title], "dragged above");
			await page.waitForFunction(() => new URL(location.href).searchParams.get("order"));
			await page.reload();
			await page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0);
			t = await tops();
			assert.ok(t[b.title] < t[a.title], "the link keeps it");
			await page.evaluate((title) => [...document.querySelectorAll(".tl-track")].find((x) => x.querySelector(".tl-fold").title === title).querySelector(".tl-pin").focus(), b.title);
			await page.keyboard.press("Alt+ArrowDown");
			t = await tops();
			assert.ok(t[a.title] < t[b.title], "moved down by keys");
			await page.waitForFunction(() => document.activeElement.classList.contains("tl-pin"));
			const sections = () => page.$$eval(".tl-section-name", (l) => l.map((x) => [parseFloat(x.parentElement.style.top), x.textContent]).sort((p, q) => p[0] - q[0]).map((x) => x[1]));
			const s = await sections();
			if (s.length > 1) {
				await page.locator(".tl-section", { hasText: s[0] }).first().focus();
				await page.keyboard.press("Alt+ArrowDown");
				assert.equal((await sections())[0], s[1]);
			}
		});
	});

	test("a server that goes away is said, and the picture stays", async () => {
		const p = await openPage(browser, server.base);
		try {
			await p.page.goto(`${server.base}?${q({ run: trace.run, tool: trace.tool, host: trace.host })}`);
			await p.page.waitForFunction(() => Number(document.querySelector(".tl-body")?.dataset.drawn ?? 0) > 0);
			await rest(p.page);
			await p.page.route("**/api/**", (r) => r.abort());
			await p.page.keyboard.press("/");
			await p.page.keyboard.type("zzz");
			await p.page.waitForFunction(() => document.querySelector(".search-count")?.textContent === "failed");
			assert.ok((await inked(p.page)).ink > 0);
		} finally {
			await p.close();
		}
	});
});

test("in a narrow window no button of the timeline stands on a row of its own", async () => {
	for (const width of [1000, 1100, 1280])
		await open(
			async (page) => {
				const alone = await page.$$eval(".trace-bar button, .trace-bar select", (all) => {
					const middles = all.map((e) => e.getBoundingClientRect()).filter((b) => b.width).map((b) => b.top + b.height / 2);
					return middles.filter((y) => middles.filter((other) => Math.abs(other - y) < 10).length < 2).length;
				});
				assert.equal(alone, 0, `${width} pixels`);
			},
			{},
			{ width },
		);
});
