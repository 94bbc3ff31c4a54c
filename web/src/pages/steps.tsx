/*
 * steps.tsx - the table of steps as the charts need it. The server names the columns to stack; what they are called is read off the table.
 */
import type { ComponentChildren } from "preact";
import { numbers, prop, propNumber, propText, strings } from "../api/table";
import type { TableData } from "../api/types";
import { count, time_ps } from "../base/format";
import { toolHref } from "../base/url";
import { stepColor } from "../chart/step_colors";
import type { Series } from "../chart/stacked";
import { Figure } from "../widgets/conclusion";
import { formatView } from "../timeline/viewport";
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

/* The steps that the server answers for: its own, or of a stored answer that it only repeats, those of the table. */
export function answeredSteps(t: TableData | undefined): { n: number; mean: string; deviation: string; id: string } | undefined {
	if (!t) return undefined;
	const own = propNumber(t, "step_count");
	const n = own ?? t.nrows;
	if (!n) return undefined;
	const [id, deviation] =
		own === undefined ? ["steptime_ms_average", "steptime_ms_standard_deviation"] : ["step_time_mean_ms", "step_time_deviation_ms"];
	return { n, id, mean: propText(t, id), deviation: n > 1 ? propText(t, deviation) : "" };
}

export function StepFigure({ t }: { t: TableData | undefined }): ComponentChildren {
	const steps = answeredSteps(t);
	if (!steps) return null;
	return (
		<Figure id={steps.id} value={steps.mean}>
			average step{steps.deviation && ` · σ ${steps.deviation}`} · {count(steps.n)} {steps.n === 1 ? "step" : "steps"}
		</Figure>
	);
}

/* The rows of the table are XProf's steps, which may be others. */
export const XPROF_STEPS =
	"XProf measures each step on the slowest device or host, counts of a device only what it runs or marks as the step, and leaves out the first and the last step that the program marks. The step time at the top is the mean over all whole steps, up to where the next one begins.";

/*
 * A step in the timeline, alone: "train 12", as the program marked it. A bare number is the timeline's where the server says so; else it
 * counts groups, which the timeline does not know: the step is its stretch then.
 */
export function stepHref(t: TableData, tools: readonly string[]): ((label: string) => string | undefined) | undefined {
	const begins = numbers(t, "begin_ps");
	const ends = numbers(t, "end_ps");
	if (begins && ends && tools.includes("trace_viewer@")) {
		const labels = stepLabels(t);
		return (label) => {
			const i = labels.indexOf(label);
			if (i < 0) return undefined;
			const [begin_ps, end_ps] = [begins[i] ?? 0, ends[i] ?? 0];
			const beside = (end_ps - begin_ps) / 4;
			return toolHref("trace_viewer@", {
				view: formatView({ begin_ps: begin_ps - beside, end_ps: end_ps + beside }),
				marks: formatView({ begin_ps, end_ps }),
			});
		};
	}
	const known = propText(t, "step_numbers") === "timeline";
	const marked = (label: string) => (known ? /(\d+)$/ : /^\D.* (\d+)$/).exec(label)?.[1];
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
			TensorCore idle time includes the host transfers, so the sum of the parts exceeds the step by their duration.
		</p>
	);
}
