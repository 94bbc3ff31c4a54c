/*
 * input_pipeline.tsx - is the program input-bound, and why: the verdict, the device's side (steps and their waiting), the host's side
 * (where the input's time goes).
 */
import { useJson } from "../api/loadable";
import { column, numbers, prop, propNumber, propText, strings, table, tableWith } from "../api/table";
import type { Divisions, Result, TableData } from "../api/types";
import { count, percent, time_ps } from "../base/format";
import { useTheme } from "../base/theme";
import { momentHref, toolHref } from "../base/url";
import { css, pixel, oklchToRgb } from "../base/color";
import { RangeChart, Stacked } from "../chart/stacked";
import { Verdict } from "../widgets/conclusion";
import { Grid } from "../widgets/grid";
import { Hint } from "../widgets/hint";
import { Notes } from "../widgets/notes";
import { RichText } from "../widgets/rich_text";
import { allNotes, AnswerPage } from "./answer";
import { csvAddress, type Session } from "./session";
import { answeredSteps, averages, Overlap, PS_PER_MS, StepFigure, stepLabels, stepSeries, stepHref, XPROF_STEPS } from "./steps";

export function InputPipelinePage({ session }: { session: Session }) {
	return (
		<AnswerPage session={session}>{(result) => <InputPipeline result={result} session={session} />}</AnswerPage>
	);
}

function InputPipeline({ result, session }: { result: Result; session: Session }) {
	const steps = tableWith(result, "stepnum");
	const hostOps = tableWith(result, "opName", "category");
	const tips = result.tables.find((t) => t.cols.length === 1 && t.cols[0]?.id === "link");
	const cores = tableWith(result, "index") ?? table(result, "max_infeed_core");
	const measured = !!steps && steps.nrows > 0 && !!answeredSteps(steps);
	/* The sections are numbered as in the users' documents and in the server's sentences: this is the first. */
	return (
		<>
			<Notes notes={allNotes(result)} />
			<Verdict of={result.conclusion} tools={session.toolNames} label="1. Summary">
				<StepFigure t={steps} />
			</Verdict>
			{measured && <DeviceSide steps={steps} cores={cores} session={session} />}
			<HostSide ops={hostOps} tips={strings(tips, "link") ?? []} session={session} />
		</>
	);
}

/* ---- device side ---- */

function Statistics({ t, prefix, title, doc = "" }: { t: TableData; prefix: string; title: string; doc?: string }) {
	const rows = [
		["average", "Average"],
		["standard_deviation", "Standard deviation"],
		["minimum", "Minimum"],
		["maximum", "Maximum"],
	] as const;
	const found = rows.filter(([id]) => prop(t, `${prefix}_${id}`));
	if (!found.length) return null;
	return (
		<div class="metrics">
			<h3>
				<Hint text={doc}>{title}</Hint>
			</h3>
			<dl>
				{found.map(([id, label]) => (
					<div class="metric" key={id}>
						<dt>{label}</dt>
						<dd>
							<span class="metric-value" data-prop={`${prefix}_${id}`}>
								{propText(t, `${prefix}_${id}`)}
							</span>
						</dd>
					</div>
				))}
			</dl>
		</div>
	);
}

function DeviceSide({ steps, cores, session }: { steps: TableData; cores: TableData | undefined; session: Session }) {
	const dark = useTheme().dark;
	const series = stepSeries(steps, dark);
	const labels = stepLabels(steps);
	const average = numbers(steps, "infeedPercentAverage");
	const positive = (list: number[] | undefined) => (list ?? []).map((v) => (v < 1e-9 || Number.isNaN(v) ? 0 : v));
	const core = (cores?.cols ?? []).slice(1).map((_, i) => String(cores?.data[i + 1]?.[1] ?? ""));
	return (
		<section class="card" aria-label="Device side">
			<h2>Device side</h2>
			<div class="split">
				<div class="split-side">
					<Statistics t={steps} prefix="steptime_ms" title="Step time as XProf counts" doc={XPROF_STEPS} />
					<Statistics
						t={steps}
						prefix="infeed_percent"
						title="Waiting for input, share of the step"
						doc="For each step the core that waits longest is shown; the verdict uses the mean over all cores."
					/>
				</div>
				<div class="split-main">
					<Stacked
						labels={labels}
						series={series}
						ps_per_unit={PS_PER_MS}
						xTitle="Step"
						summary={averages(steps, series)}
						title="Step time by part, over the steps"
						hrefOf={stepHref(steps, session.toolNames)}
					/>
					<Overlap steps={steps} />
					{average && (
						<>
							<h3>
								<Hint text="Share of each step spent waiting for input: the line is the average over cores, the band reaches from the core that waits least to the one that waits most. A step takes as long as its slowest core.">
									Waiting for input across cores
								</Hint>
							</h3>
							<RangeChart
								labels={labels}
								average={positive(average)}
								least={positive(numbers(steps, "infeedPercentMin"))}
								most={positive(numbers(steps, "infeedPercentMax"))}
								xTitle="Step"
								title="Share of the step spent waiting for input"
							/>
						</>
					)}
					{core.some(Boolean) && <SlowCores labels={labels} core={core} />}
				</div>
			</div>
		</section>
	);
}

/* Which core waited longest, as runs of steps: "steps 0 to 4: host0:1". */
function SlowCores({ labels, core }: { labels: readonly string[]; core: readonly string[] }) {
	const runs: { from: number; to: number; core: string }[] = [];
	core.forEach((c, i) => {
		const last = runs[runs.length - 1];
		if (last && last.core === c) last.to = i;
		else runs.push({ from: i, to: i, core: c });
	});
	return (
		<details class="fold">
			<summary>Core that waited longest, by step</summary>
			<ul class="runs">
				{runs.slice(0, 200).map((r) => (
					<li key={r.from}>
						<span class="muted">
							{r.from === r.to
								? `step ${labels[r.from] ?? r.from}`
								: `steps ${labels[r.from] ?? r.from} to ${labels[r.to] ?? r.to}`}
						</span>{" "}
						{r.core}
					</li>
				))}
			</ul>
		</details>
	);
}

/* ---- host side ---- */

const BUCKETS: readonly { id: string; title: string; doc: string; hue: number }[] = [
	{
		id: "demanded_file_read_us",
		title: "Reading files on demand",
		doc: "Reading from files without caching, prefetching or interleaving: the program waits for it.",
		hue: 27,
	},
	{
		id: "advanced_file_read_us",
		title: "Reading files in advance",
		doc: "Reading from files with caching, prefetching or interleaving.",
		hue: 62,
	},
	{
		id: "preprocessing_us",
		title: "Preprocessing",
		doc: "Operations on the data, such as decoding of images.",
		hue: 250,
	},
	{
		id: "enqueue_us",
		title: "Enqueuing for the device",
		doc: "Putting data into the queue from which the device takes it.",
		hue: 305,
	},
	{
		id: "unclassified_nonequeue_us",
		title: "Other reading or processing",
		doc: "Input work that is not done by tf.data.",
		hue: 180,
	},
];

function HostSide({ ops, tips, session }: { ops: TableData | undefined; tips: readonly string[]; session: Session }) {
	const dark = useTheme().dark;
	const { value } = useJson<Divisions>(ops ? "api/shares" : null, {
		run: session.run.run,
		host: session.host,
		tool: session.tool.name,
		props: BUCKETS.map((b) => b.id).join(","),
	});
	const shares = value?.divisions[0];
	const parts = BUCKETS.map((b) => ({
		...b,
		us: propNumber(ops, b.id) ?? 0,
		frac: shares?.top.find((x) => x.name === b.id)?.frac ?? 0,
	}));
	if (!ops || (ops.nrows === 0 && parts.every((x) => x.us === 0)))
		return (
			<section class="card" aria-label="Host side">
				<h2>Host side</h2>
				<p class="empty">
					No input operation was traced on the host, so the input time cannot be broken down. Input pipelines made with
					tf.data are traced.
				</p>
			</section>
		);
	return (
		<section class="card" aria-label="Host side">
			<h2>Host side</h2>
			<div class="buckets">
				<div class="bucket-bar" role="img" aria-label="Input time by category">
					{parts
						.filter((p) => p.frac > 0)
						.map((p) => (
							<span
								key={p.id}
								title={`${p.title}: ${time_ps(p.us * 1e6)}, ${percent(p.frac * 100)}`}
								style={{ flexGrow: p.frac, background: tone(p.hue, dark) }}
							/>
						))}
				</div>
				<dl class="bucket-list">
					{parts.map((p) => (
						<div key={p.id}>
							<dt>
								<span class="chart-dot" style={{ background: tone(p.hue, dark) }} />
								<Hint text={p.doc}>{p.title}</Hint>
							</dt>
							<dd>
								<span data-prop={p.id}>{time_ps(p.us * 1e6)}</span>{" "}
								<span class="muted" data-share={p.id}>
									{shares ? percent(p.frac * 100) : ""}
								</span>
							</dd>
						</div>
					))}
				</dl>
			</div>
			{session.toolNames.includes("tf_data_bottleneck_analysis") && (
				<p>
					The stage of the pipeline for which the program waits:{" "}
					<a href={toolHref("tf_data_bottleneck_analysis")}>tf.data graph with its critical path</a>.
				</p>
			)}
			{tips.length > 0 && (
				<>
					<h3>What can be changed</h3>
					<ul class="advice">
						{tips.map((t) => (
							<li key={t}>
								<RichText text={t} tools={session.toolNames} />
							</li>
						))}
					</ul>
				</>
			)}
			{ops.nrows > 0 && (
				<>
					<h3>
						Input operations <span class="aim">{count(ops.nrows)}</span>
					</h3>
					<Grid
						table={ops}
						maxRows={14}
						csv={csvAddress(session, ops.name)}
						link={(col, row) =>
							col === "opName" && session.toolNames.includes("trace_viewer@")
								? momentHref(String(column(ops, col)?.[row] ?? ""))
								: undefined
						}
					/>
				</>
			)}
		</section>
	);
}

function tone(hue: number, dark: boolean): string {
	return css(pixel(...oklchToRgb(dark ? 0.6 : 0.68, 0.13, hue)));
}
