/*
 * saved.ts - the page as a file (`stepscope export --to html`): the answers stand in it, compressed, under the address that would be
 * asked. There is no server; what the file leaves out is said.
 */
import type { Params } from "./fetch";

interface Saved {
	run: string;
	width_px: number; /* of each window of the timeline */
	windows: [begin_ps: number, end_ps: number][];
	left_out: string[];
	answers: Record<string, string>;
}

function read(): Saved | undefined {
	const text = typeof document === "undefined" ? undefined : document.getElementById("saved")?.textContent;
	return text ? (JSON.parse(text) as Saved) : undefined;
}

export const saved = read();

function keyOf(route: string, params: Params): string {
	const parts = Object.entries(params)
		.filter(([, v]) => v !== undefined && v !== "")
		.map(([k, v]) => `${k}=${String(v)}`)
		.sort();
	return decodeURIComponent(route) + (parts.length ? `?${parts.join("&")}` : "");
}

/* The coarsest window that is as sharp as asked around the middle of the time asked for; else the sharpest. */
export function bestWindow(file: Saved, begin_ps: number, end_ps: number, width_px: number): [number, number] | undefined {
	const third = (end_ps - begin_ps) / 3;
	const around = file.windows.filter(([b, e]) => b <= begin_ps + third && e >= end_ps - third);
	const sharp = around.filter(([b, e]) => (e - b) / file.width_px <= (end_ps - begin_ps) / width_px);
	const length = ([b, e]: [number, number]) => e - b;
	const aside = ([b, e]: [number, number]) => Math.abs(b + e - begin_ps - end_ps);
	const by = (list: [number, number][], sign: number) =>
		[...list].sort((x, y) => sign * (length(x) - length(y)) || aside(x) - aside(y))[0];
	return sharp.length ? by(sharp, -1) : by(around, 1);
}

/* The answer as a server would give it; undefined: it is not in the file. */
export function savedAnswer(file: Saved, route: string, params: Params): Response | undefined {
	const text = file.answers[keyOf(route, params)];
	if (text === undefined) return undefined;
	const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
	return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}
