/*
 * matrix.tsx - hosts and steps as a field of colours: a row for each host, a column for each step; more is darker. A click leads to the host's
 * step in the timeline. The table with the same figures stands below it, for keys and for readers.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { numbers, strings } from "../api/table";
import type { TableData, Tool } from "../api/types";
import { ramp } from "../base/color";
import { count, quantity } from "../base/format";
import { useTheme } from "../base/theme";
import { go, parseQuery, toolHref } from "../base/url";

export interface Field {
	hosts: string[];
	steps: number[];
	value: Float64Array; /* host by host; NaN: none */
	least: number;
	most: number;
}

/* Tables of step, host and one figure. */
export function isMatrix(t: TableData): boolean {
	return t.cols.length === 3 && t.cols[0]?.id === "step_num" && t.cols[1]?.id === "host" && t.cols[2]?.type === "f64";
}

export function fieldOf(t: TableData): Field {
	const [step, host, v] = [numbers(t, "step_num") ?? [], strings(t, "host") ?? [], numbers(t, t.cols[2]?.id ?? "") ?? []];
	const hosts = [...new Set(host)];
	const steps = [...new Set(step)].sort((a, b) => a - b);
	const [row, col] = [new Map(hosts.map((h, i) => [h, i])), new Map(steps.map((s, i) => [s, i]))];
	const out: Field = { hosts, steps, value: new Float64Array(hosts.length * steps.length).fill(NaN), least: Infinity, most: -Infinity };
	host.forEach((h, i) => {
		const x = v[i];
		if (typeof x !== "number") return;
		out.value[(row.get(h) ?? 0) * steps.length + (col.get(step[i] ?? 0) ?? 0)] = x;
		out.least = Math.min(out.least, x);
		out.most = Math.max(out.most, x);
	});
	return out;
}

const ROW_PX = 18;
const HIGH_PX = 420;

export function Matrix({ table, tools }: { table: TableData; tools: readonly Tool[] }) {
	const f = useMemo(() => fieldOf(table), [table]);
	const dark = useTheme().dark;
	const canvas = useRef<HTMLCanvasElement>(null);
	const [at, point] = useState<{ host: number; step: number } | undefined>();
	const high = Math.min(HIGH_PX, Math.max(ROW_PX, f.hosts.length * ROW_PX));
	const unit = table.cols[2]?.unit ?? "";
	const timeline = tools.find((t) => t.name === "trace_viewer@" && t.available);
	useEffect(() => {
		const c = canvas.current;
		const ctx = c?.getContext("2d");
		if (!c || !ctx) return;
		c.width = f.steps.length;
		c.height = f.hosts.length;
		const span = f.most - f.least;
		for (let i = 0; i < f.value.length; i++) {
			const v = f.value[i] ?? NaN;
			if (Number.isNaN(v)) continue;
			ctx.fillStyle = ramp(span > 0 ? (v - f.least) / span : 0, dark);
			ctx.fillRect(i % f.steps.length, Math.floor(i / f.steps.length), 1, 1);
		}
	}, [f, dark]);
	const under = (e: MouseEvent & { currentTarget: HTMLElement }) => {
		const r = e.currentTarget.getBoundingClientRect();
		const clip = (x: number, n: number) => Math.min(n - 1, Math.max(0, Math.floor(x * n)));
		return { step: clip((e.clientX - r.left) / r.width, f.steps.length), host: clip((e.clientY - r.top) / r.height, f.hosts.length) };
	};
	if (f.hosts.length < 2 || f.steps.length < 2) return null;
	const v = at && f.value[at.host * f.steps.length + at.step];
	const open = (host: string, step: number) =>
		timeline && go(parseQuery(toolHref("trace_viewer@", { step: String(step), ...(timeline.hosts.includes(host) && { host }) }).slice(1)));
	return (
		<div class="matrix">
			<p class="muted matrix-says" aria-live="off">
				{at
					? `${f.hosts[at.host]}, step ${f.steps[at.step]}: ${v === undefined || Number.isNaN(v) ? "not recorded" : quantity(v, unit)}`
					: `${count(f.hosts.length)} hosts down, ${count(f.steps.length)} steps across; from ${quantity(f.least, unit)} to ${quantity(f.most, unit)}${timeline ? ". Click for the step in the timeline" : ""}`}
			</p>
			<canvas
				ref={canvas}
				class="matrix-field"
				role="img"
				aria-label={`${table.cols[2]?.label ?? ""} of ${f.hosts.length} hosts and ${f.steps.length} steps; the table below has the figures`}
				style={{ height: high }}
				onPointerMove={(e) => point(under(e))}
				onPointerLeave={() => point(undefined)}
				onClick={(e) => {
					const u = under(e);
					open(f.hosts[u.host] ?? "", f.steps[u.step] ?? 0);
				}}
			/>
		</div>
	);
}
