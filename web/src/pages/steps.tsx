/*
 * steps.tsx - the table of steps as the charts need it. The server names the columns to stack; what they are called is read off the table.
 */
import type { ComponentChildren } from "preact";
import { numbers, prop, propNumber, strings } from "../api/table";
import type { TableData } from "../api/types";
import { time_ps } from "../base/format";
import { toolHref } from "../base/url";
import { stepColor } from "../chart/step_colors";
import type { Series } from "../chart/stacked";
import { plainLabel } from "../widgets/grid_model";

export const PS_PER_MS = 1e9;

/* "stepnum,aMs,bMs, tooltip" -> aMs, bMs: what is not a number is not stacked. */
export function stackedIds(t: TableData): string[] {
	const listed = prop(t, "step_time_graph_column_ids")
		?.text.split(",")
		.map((s) => s.trim())
		.filter(Boolean);
	const ids = listed?.length
		? listed
		: t.cols.map((c) => c.id).filter((id) => /TimeMs$/.test(id) && id !== "stepTimeMs");
	return ids.filter((id) => t.cols.some((c) => c.id === id && (c.type === "f64" || c.type === "i64")));
}

export function stepSeries(t: TableData, dark: boolean): Series[] {
	return stackedIds(t).map((id, n) => ({
		id,
		label: plainLabel(t.cols.find((c) => c.id === id)?.label ?? id),
		color: stepColor(id, n, dark),
		values: (numbers(t, id) ?? []).map((v) => (Number.isFinite(v) ? v : 0)),
	}));
}

export function stepLabels(t: TableData): string[] {
	return strings(t, "stepnum") ?? Array.from({ length: t.nrows }, (_, i) => String(i));
}

/* A step in the timeline, alone: "train 12", as the program marked it. A bare number counts groups, which is not the step's own number. */
export function stepHref(t: TableData, tools: readonly string[]): ((label: string) => string | undefined) | undefined {
	const marked = (label: string) => /^\D.* (\d+)$/.exec(label)?.[1];
	if (!tools.includes("trace_viewer@") || !stepLabels(t).some(marked)) return undefined;
	return (label) => {
		const step = marked(label);
		return step && toolHref("trace_viewer@", { step });
	};
}

/* deviceComputeTimeMs -> device_compute_time_ms_avg, tcComputeTimeMs -> tc_compute_ms_average: the server's averages. */
export function averageOf(t: TableData, id: string): number | undefined {
	const snake = id
		.replace(/TimeMs$/, "")
		.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)
		.replace(/^(scv0|tc|host)(?=[a-z])/, "$1_")
		.replace(/__/g, "_");
	for (const name of [`${snake}_time_ms_avg`, `${snake}_ms_average`]) {
		const v = propNumber(t, name);
		if (v !== undefined) return v;
	}
	return undefined;
}

export function averages(t: TableData, series: readonly Series[]): string[] {
	return series.map((s) => {
		const v = averageOf(t, s.id);
		return v === undefined ? "" : time_ps(v * PS_PER_MS);
	});
}

/* XProf counts transfers between host and device as idle time of the device as well. */
export function Overlap({ steps }: { steps: TableData }): ComponentChildren {
	const some = (id: string) => (numbers(steps, id) ?? []).some((v) => v > 0);
	if (!some("hostTransferTimeMs") || !some("tcIdleTimeMs")) return null;
	return (
		<p class="muted">
			TensorCore idle holds the host transfers as well, so the parts together are longer than the step by their time.
		</p>
	);
}
