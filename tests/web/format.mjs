/*
 * format.mjs - the page's own formatting of numbers, bundled for the tests, so that "equal to the server's" means: the same value, as
 * the page writes it.
 */
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const { build } = createRequire(join(root, "web/package.json"))("esbuild");
const file = join(root, "web/build/format.mjs");
mkdirSync(dirname(file), { recursive: true });
await build({
	entryPoints: [join(root, "web/src/base/format.ts")],
	outfile: file,
	format: "esm",
	bundle: true,
	logLevel: "error",
});
export const format = await import(pathToFileURL(file).href);

export function formatted(prop) {
	if (typeof prop.value === "number") return format.quantity(prop.value, prop.unit);
	return prop.text || (prop.value === null ? "" : String(prop.value));
}
