/*
 * matrix.tsx - hosts and steps as a field of colours: a row for each host, a column for each step; more is darker. A click leads to the host's
 * step in the timeline. The table with the same figures stands below it, for keys and for readers.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TableData, Tool } from "../api/types";
import { ramp } from "../base/color";
import { count, quantity } from "../base/format";
import { useTheme } from "../base/theme";
import { go, parseQuery, toolHref } from "../base/url";
import { fieldOf, type Field } from "./matrix_model";

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
	const name = (s: Field["steps"][number] | undefined) => (s?.round ? `${s.num} of round ${s.round}` : `${s?.num}`);
	const open = (host: string, step: number) =>
		timeline && go(parseQuery(toolHref("trace_viewer@", { step: String(step), ...(timeline.hosts.includes(host) && { host }) }).slice(1)));
	return (
		<div class="matrix">
			<p class="muted matrix-says" aria-live="off">
				{at
					? `${f.hosts[at.host]}, step ${name(f.steps[at.step])}: ${v === undefined || Number.isNaN(v) ? "not recorded" : quantity(v, unit)}`
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
					open(f.hosts[u.host] ?? "", f.steps[u.step]?.num ?? 0);
				}}
			/>
		</div>
	);
}
