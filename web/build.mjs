/*
 * build.mjs - the page's only build step: bundle, minify, copy.
 *	node build.mjs                     web/dist/{index.html,app.js,slices.js,app.css,icon.svg}
 *	node build.mjs --pack OUT DIGEST   all of them in one file for the program, see scripts/page; DIGEST: of the sources
 *	node build.mjs --compare FILE      does FILE hold what the sources make?
 *	node build.mjs --tests             web/build/test/*.mjs, the pure modules' tests
 */
import { build } from "esbuild";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const common = { bundle: true, jsx: "automatic", jsxImportSource: "preact", logLevel: "warning" };
const LIMIT_BYTES = 200_000;
const TYPES = {
	".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
	".json": "application/json",
	".woff2": "font/woff2",
	".wasm": "application/wasm",
};

async function page(out) {
	rmSync(out, { recursive: true, force: true });
	mkdirSync(out, { recursive: true });
	await build({
		...common,
		absWorkingDir: here,
		entryPoints: { app: join(here, "src/main.tsx"), slices: join(here, "src/timeline/slices_worker.ts") },
		outdir: out,
		minify: true,
		target: ["es2021"],
		format: "iife",
		legalComments: "none",
	});
	for (const f of ["index.html", "icon.svg"]) copyFileSync(join(here, "src", f), join(out, f));
}

/* The files of the page as the server offers them, sorted. */
function built(dir) {
	return readdirSync(dir)
		.sort()
		.map((name) => {
			const type = TYPES[extname(name)];
			if (!type) throw new Error(`${name}: no content type is known for it, see TYPES in web/build.mjs`);
			return { path: name === "index.html" ? "/" : `/${name}`, type, bytes: readFileSync(join(dir, name)) };
		});
}

/* One file of all: text for scripts/embed-page, then each gzip'ed. */
function pack(files, digest) {
	const packed = files.map((f) => gzipSync(f.bytes, { level: 9 }));
	const rows = files.map((f, i) => `file ${f.path} ${packed[i].length} ${f.type}\n`);
	return Buffer.concat([Buffer.from(`stepscope page 1\nsources ${digest}\n${rows.join("")}\n`), ...packed]);
}

function unpack(bytes) {
	let at = bytes.indexOf("\n\n") + 2;
	const lines = bytes.toString("latin1", 0, at - 2).split("\n");
	if (at < 2 || lines[0] !== "stepscope page 1") throw new Error("no packed page");
	return lines
		.filter((line) => line.startsWith("file "))
		.map((line) => {
			const [, path, length, ...type] = line.split(" ");
			const begin = at;
			at += Number(length);
			return { path, type: type.join(" "), bytes: gunzipSync(bytes.subarray(begin, at)) };
		});
}

/* Names of the files that differ. Contents are compared, not the gzip'ed bytes: another zlib makes others of the same content. */
function differences(a, b) {
	const names = [...new Set([...a, ...b].map((f) => f.path))];
	const of = (files, name) => files.find((f) => f.path === name);
	return names.filter((name) => {
		const [x, y] = [of(a, name), of(b, name)];
		return !x || !y || x.type !== y.type || !x.bytes.equals(y.bytes);
	});
}

function store(out, files, digest) {
	const whole = pack(files, digest);
	if (whole.length > LIMIT_BYTES) throw new Error(`the page is of ${whole.length} bytes, over ${LIMIT_BYTES}`);
	if (existsSync(out)) {
		const old = readFileSync(out);
		const same = old.includes(`\nsources ${digest}\n`) && differences(unpack(old), files).length === 0;
		if (same) return console.log(`${out} is up to date`);
	}
	writeFileSync(`${out}.new`, whole);
	renameSync(`${out}.new`, out);
	console.log(`${out}: ${files.length} files, ${whole.length} bytes`);
}

function compare(file, files) {
	const differ = differences(unpack(readFileSync(file)), files);
	if (differ.length === 0) return;
	console.log(`${file}: the sources make another ${differ.join(", ")}; run ./dev page, then commit ${file}`);
	process.exitCode = 1;
}

async function tests(out) {
	rmSync(out, { recursive: true, force: true });
	const dir = join(here, "test");
	const entryPoints = readdirSync(dir)
		.filter((f) => f.endsWith(".test.ts"))
		.map((f) => join(dir, f));
	await build({
		...common,
		entryPoints,
		outdir: out,
		format: "esm",
		platform: "node",
		target: ["node18"],
		outExtension: { ".js": ".mjs" },
	});
}

const [what, file, digest] = process.argv.slice(2);
if (what === "--tests") await tests(join(here, "build/test"));
else {
	const dist = join(here, "dist");
	await page(dist);
	if (what === "--pack") store(file, built(dist), digest);
	else if (what === "--compare") compare(file, built(dist));
}
