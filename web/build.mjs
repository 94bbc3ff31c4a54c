/*
 * build.mjs - the page's only build step: bundle, minify, copy.
 *	node build.mjs            web/dist/{index.html,app.js,slices.js,app.css,icon.svg}
 *	node build.mjs --tests    web/build/test/*.mjs, the pure modules' tests
 */
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const common = { bundle: true, jsx: "automatic", jsxImportSource: "preact", logLevel: "warning" };

async function page(out) {
	rmSync(out, { recursive: true, force: true });
	mkdirSync(out, { recursive: true });
	await build({
		...common,
		entryPoints: { app: join(here, "src/main.tsx"), slices: join(here, "src/timeline/slices_worker.ts") },
		outdir: out,
		minify: true,
		target: ["es2021"],
		format: "iife",
		legalComments: "none",
	});
	for (const f of ["index.html", "icon.svg"]) copyFileSync(join(here, "src", f), join(out, f));
	let sum = 0;
	for (const f of readdirSync(out).sort()) {
		const gz = gzipSync(readFileSync(join(out, f)), { level: 9 }).length;
		sum += gz;
		console.log(`${f.padEnd(12)} ${gz.toString().padStart(7)} bytes gzip`);
	}
	console.log(`${"page".padEnd(12)} ${sum.toString().padStart(7)} bytes gzip`);
	if (sum > 400_000) throw new Error("the page is larger than 400 kB gzip");
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

if (process.argv.includes("--tests")) await tests(join(here, "build/test"));
else await page(join(here, "dist"));
