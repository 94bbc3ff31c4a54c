/*
 * history.tsx - the figures of runs over time, as `stepscope track` keeps them: each run leads to its profile, each change to the comparison
 * of the runs on its two sides.
 */
import { useJson } from "../api/loadable";
import { table } from "../api/table";
import type { Result, Run, Runs } from "../api/types";
import { bytes, time_ps } from "../base/format";
import { adjust, formatQuery, useQuery } from "../base/url";
import { Verdict } from "../widgets/conclusion";
import { Failure, Notes, Waiting } from "../widgets/notes";
import { levelsOf, runOf, seriesOf, type Change, type Series } from "./history_model";

const METRICS = ["step_time", "mean_step_time", "step_period", "steps_per_second", "peak_memory", "compute", "exposed_communication", "copies", "input", "host", "idle"];

export function HistoryPage({ runs }: { runs: Runs | undefined }) {
	const metric = useQuery("metric");
	const { value, error, loading } = useJson<Result>("api/track", { metric: metric || undefined });
	const figures = value && table(value, "figures");
	const series = figures ? seriesOf(figures, table(value, "changes")) : [];
	return (
		<div class="page">
			<header class="page-head">
				<div>
					<h1>History</h1>
					<p class="muted">Figures of runs over time, and when they changed</p>
				</div>
				<span class="spring" />
				<label class="field">
					<span>Metric</span>
					<select class="select" value={metric} onChange={(e) => adjust({ metric: e.currentTarget.value })}>
						<option value="">the usual ones</option>
						{METRICS.map((m) => (
							<option key={m}>{m}</option>
						))}
					</select>
				</label>
			</header>
			{error && <Failure text={error} />}
			{!value && loading && <Waiting what="Reading the history…" />}
			{value && (
				<>
					<Notes notes={value.notes} />
					<Verdict of={value.conclusion} tools={[]} />
					{!series.length && <p class="empty">The history holds no run.</p>}
					{series.map((s) => (
						<SeriesCard key={`${s.metric} ${s.about}`} series={s} runs={runs?.runs ?? []} />
					))}
				</>
			)}
		</div>
	);
}

function quantityOf(unit: string): (v: number) => string {
	if (unit === "us") return (v) => time_ps(v * 1e6);
	if (unit === "bytes") return bytes;
	return (v) => v.toPrecision(4);
}

const WIDE = 860;
const HEIGHT = 170;
const LEFT = 80;
const FOOT = 20;

function SeriesCard({ series, runs }: { series: Series; runs: readonly Run[] }) {
	const show = quantityOf(series.unit);
	const name = series.metric.replace(/_/g, " ");
	return (
		<section class="card" aria-label={`${name}, ${series.about}`}>
			<h2>{name}</h2>
			<p class="muted">{series.about}</p>
			<Chart series={series} runs={runs} show={show} name={name} />
			{series.changes.length > 0 && <Changes changes={series.changes} runs={runs} show={show} />}
		</section>
	);
}

interface ChartProps {
	series: Series;
	runs: readonly Run[];
	show: (v: number) => string;
	name: string;
}

function Chart({ series, runs, show, name }: ChartProps) {
	const { points } = series;
	const values = points.map((p) => p.value).filter(Number.isFinite);
	if (!values.length) return null;
	const lo = Math.min(...values);
	const hi = Math.max(...values);
	const room = (hi - lo || Math.abs(hi) || 1) * 0.08;
	const x = (i: number) => LEFT + ((i + 0.5) / points.length) * (WIDE - LEFT - 10);
	const y = (v: number) => 8 + ((hi + room - v) / (hi - lo + 2 * room)) * (HEIGHT - FOOT - 8);
	const levels = levelsOf(series);
	return (
		<div class="compare-scroll" tabIndex={0} role="group" aria-label={`Chart of ${name}`}>
			<svg
				class="compare-chart"
				viewBox={`0 0 ${WIDE} ${HEIGHT}`}
				width={WIDE}
				height={HEIGHT}
				role="group"
				aria-label={`${points.length} runs, ${name} between ${show(lo)} and ${show(hi)}, ${series.changes.length} changes`}
			>
				{[lo, hi].map((v) => (
					<text key={v} x={LEFT - 8} y={y(v) + 4} text-anchor="end" class="compare-quiet">
						{show(v)}
					</text>
				))}
				{levels.map((l) => (
					<line
						key={l.from}
						class={l.worse === null ? "history-level" : l.worse ? "history-level history-worse" : "history-level history-better"}
						x1={x(l.from - 0.5)}
						x2={x(l.to + 0.5)}
						y1={y(l.value)}
						y2={y(l.value)}
					/>
				))}
				{levels
					.filter((l) => l.from > 0)
					.map((l) => (
						<line key={l.from} class="history-cut" x1={x(l.from - 0.5)} x2={x(l.from - 0.5)} y1={4} y2={HEIGHT - FOOT} />
					))}
				{points.map((p, i) => {
					const run = runOf(runs, p.path);
					const text = `${p.time}: ${show(p.value)}${p.labels && `, ${p.labels}`} (${p.path})`;
					const dot = <circle cx={x(i)} cy={y(p.value)} r={3.5} class="compare-dot" />;
					if (!Number.isFinite(p.value)) return null;
					return run ? (
						<a key={p.run} href={formatQuery({ run })} aria-label={text}>
							<title>{text}</title>
							{dot}
						</a>
					) : (
						<g key={p.run}>
							<title>{text}</title>
							{dot}
						</g>
					);
				})}
				<text x={x(0)} y={HEIGHT - 4} class="compare-quiet">
					{points[0]?.time}
				</text>
				<text x={WIDE - 10} y={HEIGHT - 4} text-anchor="end" class="compare-quiet">
					{points.length > 1 ? points[points.length - 1]?.time : ""}
				</text>
			</svg>
		</div>
	);
}

function Changes({ changes, runs, show }: { changes: readonly Change[]; runs: readonly Run[]; show: (v: number) => string }) {
	return (
		<table class="compare-facts">
			<thead>
				<tr>
					<th scope="col">Since run</th>
					<th scope="col">Commit</th>
					<th scope="col">Before</th>
					<th scope="col">After</th>
					<th scope="col">Change</th>
					<th scope="col">The runs before and after it</th>
				</tr>
			</thead>
			<tbody>
				{changes.map((c) => {
					const base = runOf(runs, c.lastGood);
					const next = runOf(runs, c.path);
					return (
						<tr key={c.run}>
							<th scope="row">{c.run}</th>
							<td>{c.commit || "–"}</td>
							<td>{show(c.before)}</td>
							<td>{show(c.after)}</td>
							<td>
								{c.delta_frac > 0 ? "+" : "−"}
								{Math.abs(100 * c.delta_frac).toFixed(1)} %, {c.worse ? "worse" : "better"}
							</td>
							<td>
								{base && next ? (
									<a href={formatQuery({ run: base, compare: next })}>
										Compare {base} with {next}
									</a>
								) : (
									<code>
										stepscope diff {c.lastGood} {c.path}
									</code>
								)}
							</td>
						</tr>
					);
				})}
			</tbody>
		</table>
	);
}
