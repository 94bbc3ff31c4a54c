/*
 * xprof_page_server.mjs - XProf's own page, from its wheel, in front of our routes: its files are served from the folder given, what it asks
 * for beyond them is passed on to stepscope.
 *	node xprof_page_server.mjs STATIC http://127.0.0.1:6006/ [PORT]	to look at it by hand
 */
import { existsSync, readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { basename, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PREFIX = "/data/plugin/profile";
const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "application/javascript", ".wasm": "application/wasm" };
const ROUTES = new Set(["runs", "run_tools", "hosts", "data", "data_csv", "version", "module_list", "capture_profile", "config", "generate_cache"]);

/* As XProf routes: names of data first, then files by their last part, and the page itself for all places in it. */
export function servePage(folder, upstream, port = 0) {
	const server = createServer((req, res) => {
		const path = req.url.replace(/[?#].*$/, "").replace(/^\/+/, "/");
		const name = basename(path);
		const under = path.startsWith(`${PREFIX}/`) || path === PREFIX;
		if (ROUTES.has(name)) return pass(req, res, upstream);
		const file = join(folder, name);
		const isFile = extname(name) !== "" && existsSync(file);
		if (!isFile && !(path === "/" || (under && extname(name) === ""))) {
			res.writeHead(404, { "content-type": "text/plain" });
			return res.end("Not Found");
		}
		const what = isFile ? file : join(folder, "index.html");
		res.writeHead(200, { "content-type": TYPES[extname(what)] ?? "application/octet-stream" });
		res.end(readFileSync(what));
	});
	return new Promise((done) =>
		server.listen(port, "127.0.0.1", () => done({ base: `http://127.0.0.1:${server.address().port}`, close: () => server.close() })),
	);
}

function pass(req, res, upstream) {
	const to = new URL(upstream);
	/* The address goes on as it came: also how the page writes it is under test. */
	const out = request({ host: to.hostname, port: to.port, path: req.url, method: req.method, headers: { ...req.headers, host: to.host } }, (answer) => {
		res.writeHead(answer.statusCode, answer.headers);
		answer.pipe(res);
	});
	out.on("error", (e) => {
		if (!res.headersSent) res.writeHead(502, { "content-type": "text/plain" });
		res.end(String(e));
	});
	/* The page leaves: what it asked for need not be computed. */
	res.on("close", () => out.destroy());
	req.pipe(out);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const [folder, upstream, port] = process.argv.slice(2);
	const s = await servePage(folder, upstream, Number(port ?? 0));
	console.log(s.base);
}
