/*
 * dev_server.mjs - serves web/dist and made-up answers on 127.0.0.1, with the headers of the real server. For work on the page alone.
 *	node test/dev_server.mjs [port] [events]
 */
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as fx from "./fixtures.mjs";

const dist = join(dirname(fileURLToPath(import.meta.url)), "../dist");
const FILES = {
	"/": ["index.html", "text/html"],
	"/app.js": ["app.js", "text/javascript"],
	"/slices.js": ["slices.js", "text/javascript"],
	"/app.css": ["app.css", "text/css"],
	"/icon.svg": ["icon.svg", "image/svg+xml"],
};

class Refusal extends Error {
	constructor(status, text) {
		super(text);
		this.status = status;
	}
}

function answer(path, q, tl) {
	const whole = (k) => (q.get(k) === null ? undefined : Number(q.get(k)));
	const run = q.get("run");
	const host = q.get("host") ?? "host0";
	if (path === "/api/runs") return fx.runs;
	if (path.startsWith("/api/") && !fx.runs.runs.some((r) => r.run === run))
		throw new Refusal(
			404,
			`run '${run}' is not in this log directory (it holds: ${fx.runs.runs.map((r) => r.run).join(", ")})`,
		);
	switch (path) {
		case "/api/run":
			return fx.runAnswer(q.get("steps") === "1");
		case "/api/shares":
			return fx.sharesAnswer(q.get("props") ? fx.inputAnswer(run, host) : fx.opStatsAnswer(run, host), q);
		case "/api/tools":
			return { tools: fx.tools };
		case "/api/tool/overview_page":
			return fx.overviewAnswer(run, host);
		case "/api/tool/input_pipeline_analyzer":
			return fx.inputAnswer(run, host);
		case "/api/tool/framework_op_stats":
			return fx.opStatsAnswer(run, host);
		case "/api/timeline":
			return fx.timelineAnswer(tl);
		case "/api/timeline/conclusion":
			return { conclusion: { text: "The devices work for 63.1% of the time.", more: [], mood: "plain", see: "" }, pause: null };
		case "/api/timeline/slices": {
			const wanted = q.get("tracks") ? new Set(q.get("tracks").split(",").map(Number)) : undefined;
			return fx.slicesAnswer(tl, whole("begin_ps"), whole("end_ps"), whole("width_px"), wanted);
		}
		case "/api/timeline/event": {
			const e = fx.eventAnswer(tl, whole("event"));
			if (!e) throw new Refusal(404, `there is no event ${q.get("event")} here`);
			return e;
		}
		case "/api/timeline/search":
			return fx.searchAnswer(tl, q.get("q") ?? "", {
				after: whole("after"),
				before: whole("before"),
				from_ps: whole("from_ps"),
				limit: whole("limit"),
			});
		case "/api/timeline/summary":
			return fx.summaryAnswer(tl, whole("begin_ps"), whole("end_ps"), q.get("rows"), whole("limit"));
		default:
			throw new Refusal(404, `there is nothing at ${path}`);
	}
}

export function startServer(port = 0, events = 1_000_000) {
	const tl = fx.makeTimeline(events);
	const server = createServer((req, res) => {
		const url = new URL(req.url, "http://x");
		const head = {
			"content-security-policy": "default-src 'self'",
			"cache-control": "no-store",
			"x-content-type-options": "nosniff",
		};
		const send = (status, type, body) => {
			const zip = /gzip/.test(req.headers["accept-encoding"] ?? "") && body.length > 512;
			const bytes = zip ? gzipSync(body, { level: 3 }) : body;
			res.writeHead(status, {
				...head,
				"content-type": type,
				"content-length": bytes.length,
				...(zip ? { "content-encoding": "gzip" } : {}),
			});
			res.end(bytes);
		};
		try {
			const file = FILES[url.pathname];
			if (file) return send(200, `${file[1]}; charset=utf-8`, readFileSync(join(dist, file[0])));
			const a = answer(url.pathname, url.searchParams, tl);
			if (a instanceof ArrayBuffer) return send(200, "application/octet-stream", Buffer.from(a));
			return send(200, "application/json; charset=utf-8", Buffer.from(JSON.stringify(a)));
		} catch (e) {
			const status = e instanceof Refusal ? e.status : 500;
			return send(
				status,
				"application/json; charset=utf-8",
				Buffer.from(JSON.stringify({ error: { status, text: e.message } })),
			);
		}
	});
	return new Promise((done) =>
		server.listen(port, "127.0.0.1", () => done({ port: server.address().port, close: () => server.close() })),
	);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const s = await startServer(Number(process.argv[2] ?? 6016), Number(process.argv[3] ?? 1_000_000));
	console.log(`http://127.0.0.1:${s.port}/`);
}
