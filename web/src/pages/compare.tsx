/*
 * compare.tsx - two sides of runs beside each other: the verdict, where the difference is, the steps of both, what changed, and where
 * that is in the timelines and programs. Sides, rows, filter and choice stand in the URL: ?run=B&compare=N[,N]&with=B2[,B2]&by=op;
 * with &tool=NAME the tables of that tool (compare_tool.tsx).
 */
import { useJson } from "../api/loadable";
import { column, numbers, propNumber, strings, table } from "../api/table";
import type { Result, Run, Runs, TableData } from "../api/types";
import { time_ps } from "../base/format";
import { adjust, formatQuery, go, query, useQuery } from "../base/url";
import { Verdict } from "../widgets/conclusion";
import { Grid } from "../widgets/grid";
import { Failure, Notes, Waiting } from "../widgets/notes";
import { Graphs } from "./compare_graphs";
import { CompareTool, ToolChoice } from "./compare_tool";
import { histogram, stepPoints, waterfall, type Bar, type Points, type Side } from "./compare_model";
import { Timelines } from "./compare_timelines";

const VIEWS: readonly [by: string, table: string, label: string][] = [
	["op", "ops", "Operations"],
	["scope", "scopes", "Scopes"],
	["module", "modules", "Modules"],
	["kernel", "kernels", "Kernels"],
	["source", "sources", "Source lines"],
	["host", "host", "Functions of the host"],
	["memory", "memory", "Memory"],
];

export interface DiffResult extends Result {
	verdict: string;
	base: string[];
	new: string[];
}

const us = (v: number) => time_ps(v * 1e6);
const signed = (v: number) => (v > 0 ? `+${us(v)}` : us(v).replace(/^-/, "−"));
const list = (text: string) => text.split(",").filter(Boolean);

export function ComparePage({ runs, run }: { runs: Runs | undefined; run: string }) {
	const others = useQuery("compare");
	const more = useQuery("with");
	const tool = useQuery("tool");
	const base = [run, ...list(more)];
	const next = list(others);
	if (base.length === 1 && next.length === 1 && base[0] === next[0]) return <TwoSteps run={run} />;
	return (
		<div class="page">
			<header class="page-head">
				<div>
					<h1>Compare</h1>
					<p class="muted">What changed from the runs on the left to those on the right, and whether it is more than noise</p>
				</div>
				<ToolChoice run={run} tool={tool} />
			</header>
			<Sides runs={runs?.runs ?? []} base={base} next={next} tool={tool} />
			{tool ? <CompareTool base={base} next={next} tool={tool} /> : <Whole base={base} next={next} />}
		</div>
	);
}

/* A run beside itself: nothing differs but the steps that are looked at. */
function TwoSteps({ run }: { run: string }) {
	const { value, error, loading } = useJson<DiffResult>("api/diff", { base: run, new: run, by: "op" });
	return (
		<div class="page">
			<header class="page-head">
				<div>
					<h1>Two steps</h1>
					<p class="muted">Two steps of {run}, from the same begin</p>
				</div>
				<a class="button" href={formatQuery({ run, tool: "trace_viewer@" })}>
					Back to the timeline
				</a>
			</header>
			{error && <Failure text={error} />}
			{!value && loading && <Waiting what="Reading both…" />}
			{value && <Places result={value} by="op" runs={{ base: run, new: run }} />}
		</div>
	);
}

function Whole({ base, next }: { base: readonly string[]; next: readonly string[] }) {
	const by = useQuery("by") || "op";
	const { value, error, loading } = useJson<DiffResult>("api/diff", { base: base.join(","), new: next.join(","), by });
	if (error) return <Failure text={error} />;
	if (!value) return loading ? <Waiting what="Comparing…" /> : null;
	return (
		<>
			<Notes notes={value.notes} />
			<Verdict of={value.conclusion} tools={[]} />
			<Differences result={value} />
			<Steps result={value} />
			<Changes result={value} by={by} base={base[0] ?? ""} next={next[0] ?? ""} />
			<Places result={value} by={by} runs={{ base: base[0] ?? "", new: next[0] ?? "" }} />
			<Environment result={value} />
		</>
	);
}

/* The timelines of the first run of each side, and the programs around the chosen operation. */
function Places({ result, by, runs }: { result: DiffResult; by: string; runs: Readonly<Record<Side, string>> }) {
	const asked = useQuery("row");
	const steps = table(result, "steps");
	const ops = table(result, "ops");
	if (!steps || !ops) return null;
	const row = by === "op" && asked !== "" && Number(asked) < ops.nrows ? Number(asked) : null;
	return (
		<>
			<Timelines runs={runs} steps={steps} ops={ops} row={row} />
			{row !== null && <Graphs key={row} runs={runs} ops={ops} row={row} />}
		</>
	);
}

/* ---- sides ---- */

interface SidesProps {
	runs: readonly Run[];
	base: readonly string[];
	next: readonly string[];
	tool: string;
}

function Sides({ runs, base, next, tool }: SidesProps) {
	const set = (b: readonly string[], n: readonly string[]) =>
		b[0] && n[0] && go({ ...query.get(), run: b[0], with: b.slice(1).join(","), compare: n.join(",") });
	return (
		<div class="bar compare-sides">
			<SideRuns title="Base" names={base} runs={runs} onChange={(b) => set(b, next)} />
			<button class="button" onClick={() => set(next, base)} title="Swap base and new">
				Swap
			</button>
			<SideRuns title="New" names={next} runs={runs} onChange={(n) => set(base, n)} />
			<span class="spring" />
			<a class="button" href={formatQuery({ run: base[0], tool })}>
				Back to the run
			</a>
		</div>
	);
}

function SideRuns({
	title,
	names,
	runs,
	onChange,
}: {
	title: string;
	names: readonly string[];
	runs: readonly Run[];
	onChange: (names: string[]) => void;
}) {
	const left = runs.filter((r) => !names.includes(r.run) && r.hosts.length > 0);
	return (
		<span class="compare-side" role="group" aria-label={title}>
			<span class="muted">{title}</span>
			{names.map((n) => (
				<span class="compare-run" key={n}>
					<a href={formatQuery({ run: n })}>{n}</a>
					{names.length > 1 && (
						<button
							class="button button-icon"
							aria-label={`Leave ${n} out`}
							title={`Leave ${n} out`}
							onClick={() => onChange(names.filter((x) => x !== n))}
						>
							×
						</button>
					)}
				</span>
			))}
			{left.length > 0 && (
				<select
					class="select"
					value=""
					aria-label={`Add a run of the same program to ${title.toLowerCase()}`}
					onChange={(e) => onChange([...names, e.currentTarget.value])}
				>
					<option value="">Add a run…</option>
					{left.map((r) => (
						<option key={r.run} value={r.run}>
							{r.run}
						</option>
					))}
				</select>
			)}
		</span>
	);
}

/* ---- where the difference is ---- */

const ROW = 24;
const NAME = 190;
const WIDE = 860;
const TEXT = 210;

function Differences({ result }: { result: DiffResult }) {
	const t = table(result, "breakdown");
	if (!t || result.verdict === "not_comparable") return null;
	const bars = waterfall(t);
	const room = WIDE - NAME - TEXT;
	const lo = Math.min(...bars.map((b) => Math.min(b.from, b.to)));
	const hi = Math.max(...bars.map((b) => Math.max(b.from, b.to)));
	const pad = (hi - lo || 1) * 0.06;
	const x = (v: number) => NAME + ((v - lo + pad) / (hi - lo + 2 * pad)) * room;
	return (
		<section class="card" aria-label="Where the difference is">
			<h2>Where the difference is</h2>
			<p class="muted">
				Time from the begin of a step to the next, from base to new. Each bar begins where the bar above ended; pale bars
				are within the noise.
			</p>
			<div class="compare-scroll" tabIndex={0} role="group" aria-label="Waterfall">
				<svg
					class="compare-chart"
					viewBox={`0 0 ${WIDE} ${bars.length * ROW}`}
					width={WIDE}
					height={bars.length * ROW}
					role="img"
					aria-label={bars.map((b) => `${b.name}: ${barText(b)}`).join("; ")}
				>
					{bars.map((b, i) => (
						<g key={b.name} transform={`translate(0 ${i * ROW})`}>
							<text x={NAME - 10} y={ROW / 2 + 4} text-anchor="end" class="compare-name">
								{b.name.replace(/_/g, " ")}
							</text>
							{b.kind === "level" ? (
								<line x1={x(b.to)} x2={x(b.to)} y1={3} y2={ROW - 3} class="compare-level" />
							) : (
								<rect
									x={Math.min(x(b.from), x(b.to))}
									width={Math.max(1, Math.abs(x(b.to) - x(b.from)))}
									y={5}
									height={ROW - 10}
									class={`${b.to > b.from ? "compare-more" : "compare-less"}${b.significant ? "" : " compare-pale"}`}
								/>
							)}
							<text x={WIDE - TEXT + 10} y={ROW / 2 + 4} class={b.significant || b.kind === "level" ? "" : "compare-quiet"}>
								{barText(b)}
							</text>
						</g>
					))}
				</svg>
			</div>
		</section>
	);
}

function barText(b: Bar): string {
	if (b.kind === "level") return us(b.to);
	return `${signed(b.to - b.from)} (${us(b.base)} → ${us(b.next)})`;
}

/* ---- steps ---- */

const HEIGHT = 54;

function Steps({ result }: { result: DiffResult }) {
	const t = table(result, "steps");
	const metrics = table(result, "metrics");
	const at = strings(metrics, "metric")?.indexOf("step_time") ?? -1;
	const means = [numbers(metrics, "base")?.[at] ?? NaN, numbers(metrics, "new")?.[at] ?? NaN];
	const band = propNumber(metrics, "band_frac") ?? 0;
	const sides = t ? ["base", "new"].map((s) => stepPoints(t, s)) : [];
	const all = sides.flatMap((s) => s.map((p) => p.us));
	if (!all.length) return null;
	const lo = Math.min(...all);
	const hi = Math.max(...all);
	const pad = (hi - lo || hi || 1) * 0.04;
	const x = (v: number) => NAME + ((v - lo + pad) / (hi - lo + 2 * pad)) * (WIDE - NAME - 20);
	const [b = NaN] = means;
	const [low = NaN, high = NaN] = ["ci_low", "ci_high"].map((c) => b + (numbers(metrics, c)?.[at] ?? NaN));
	return (
		<section class="card" aria-label="Steps">
			<h2>Steps</h2>
			<p class="muted">
				Each dot is a step; hollow dots are outliers; the line is the mean of the other steps. Both distributions are drawn
				above: base filled, new as a line. The band around base is the difference between recordings of an unchanged program;
				the bracket at new is the interval of its mean.
			</p>
			<div class="compare-scroll" tabIndex={0} role="group" aria-label="Steps of both sides">
				<svg
					class="compare-chart"
					viewBox={`0 0 ${WIDE} ${3 * HEIGHT + 20}`}
					width={WIDE}
					height={3 * HEIGHT + 20}
					role="img"
					aria-label={`Steps take ${us(means[0] ?? NaN)} in base and ${us(means[1] ?? NaN)} in new, between ${us(lo)} and ${us(hi)}`}
				>
					{band > 0 && Number.isFinite(b) && (
						<rect
							x={Math.max(NAME, x(b * (1 - band)))}
							width={Math.max(1, Math.min(WIDE, x(b * (1 + band))) - Math.max(NAME, x(b * (1 - band))))}
							y={0}
							height={3 * HEIGHT}
							class="compare-band"
						/>
					)}
					<Distributions sides={sides} lo={lo} hi={hi} x={x} />
					{Number.isFinite(low) && Number.isFinite(high) && (
						<path
							class="compare-interval"
							d={bracket(x(low), x(high))}
							data-low={low}
							data-high={high}
						/>
					)}
					{sides.map((points, i) => (
						<StepRow key={i} y={(i + 1) * HEIGHT} name={i ? "new" : "base"} points={points} mean={means[i] ?? NaN} x={x} />
					))}
					<text x={x(lo)} y={3 * HEIGHT + 14} text-anchor="middle" class="compare-quiet">
						{us(lo)}
					</text>
					<text x={x(hi)} y={3 * HEIGHT + 14} text-anchor="middle" class="compare-quiet">
						{us(hi)}
					</text>
				</svg>
			</div>
		</section>
	);
}

/* Open at an end that lies beyond the chart. */
function bracket(low: number, high: number): string {
	const y = 2 * HEIGHT + 2;
	const [from, to] = [Math.max(low, NAME), Math.min(high, WIDE)];
	return `M${from} ${y + (low < NAME ? 0 : 6)}V${y}H${to}V${y + (high > WIDE ? 0 : 6)}`;
}

const BINS = 40;

/* How many steps take how long, of both sides over each other. */
function Distributions({ sides, lo, hi, x }: { sides: readonly Points[]; lo: number; hi: number; x: (v: number) => number }) {
	const shares = sides.map((s) => histogram(s, lo, hi, BINS));
	const most = Math.max(...shares.flat(), 1e-9);
	const path = (v: readonly number[]) => {
		const y = (share: number) => HEIGHT - 4 - (share / most) * (HEIGHT - 10);
		const at = (i: number) => x(lo + ((hi - lo) * i) / BINS);
		return `M${at(0)} ${y(0)}${v.map((s, i) => `V${y(s)}H${at(i + 1)}`).join("")}V${y(0)}`;
	};
	return (
		<>
			<text x={NAME - 10} y={HEIGHT / 2 + 4} text-anchor="end" class="compare-name">
				distribution
			</text>
			{shares.map((v, i) => (
				<path key={i} d={path(v)} class={i ? "compare-dist-new" : "compare-dist-base"} />
			))}
		</>
	);
}

function StepRow({
	y,
	name,
	points,
	mean,
	x,
}: {
	y: number;
	name: string;
	points: Points;
	mean: number;
	x: (v: number) => number;
}) {
	return (
		<g transform={`translate(0 ${y})`}>
			<text x={NAME - 10} y={HEIGHT / 2 + 4} text-anchor="end" class="compare-name">
				{name}, {us(mean)}
			</text>
			{points.map((p, i) => (
				<circle
					key={i}
					cx={x(p.us)}
					cy={HEIGHT / 2 + (((i * 7) % 11) - 5) * 3}
					r={3}
					class={p.outlier ? "compare-dot compare-outlier" : "compare-dot"}
				>
					<title>{`run ${p.run + 1}, step ${p.step}: ${us(p.us)}`}</title>
				</circle>
			))}
			{Number.isFinite(mean) && <line x1={x(mean)} x2={x(mean)} y1={4} y2={HEIGHT - 4} class="compare-level" />}
		</g>
	);
}

/* ---- what changed ---- */

function Changes({ result, by, base, next }: { result: DiffResult; by: string; base: string; next: string }) {
	const filter = useQuery("filter");
	const row = useQuery("row");
	const t = table(result, VIEWS.find(([v]) => v === by)?.[1] ?? "ops");
	const chosen = t && row !== "" && Number(row) < t.nrows ? Number(row) : null;
	return (
		<section class="card" aria-label="What changed">
			<div class="bar">
				<h2>What changed</h2>
				<label class="field">
					<span>by</span>
					<select class="select" value={by} onChange={(e) => adjust({ by: e.currentTarget.value, row: "", filter: "" })}>
						{VIEWS.map(([v, , label]) => (
							<option key={v} value={v}>
								{label}
							</option>
						))}
					</select>
				</label>
				{t && chosen !== null && by === "op" && <Profiles t={t} row={chosen} base={base} next={next} />}
			</div>
			{t && (
				<Grid
					key={t.name}
					table={t}
					filter={filter}
					onFilter={(f) => adjust({ filter: f })}
					selected={chosen}
					onRow={(r) => adjust({ row: String(r) })}
					tint={(col, r) => tint(t, col, r)}
				/>
			)}
		</section>
	);
}

/* Deltas that are more than noise have a ground: what grew, and what fell. */
function tint(t: TableData, col: string, r: number): string | undefined {
	if (!col.startsWith("delta") || column(t, "significant")?.[r] !== true) return undefined;
	const delta = numbers(t, "delta_us")?.[r] ?? 0;
	return delta > 0 ? "var(--error-bg)" : "var(--info-bg)";
}

function Profiles({ t, row, base, next }: { t: TableData; row: number; base: string; next: string }) {
	const link = (run: string, col: string, label: string) => {
		const name = (strings(t, col)?.[row] ?? "").split(" + ")[0] ?? "";
		return name ? (
			<a class="button" href={formatQuery({ run, tool: "op_profile", filter: name })}>
				{label}: {name}
			</a>
		) : null;
	};
	return (
		<>
			{link(base, "base_name", "In base")}
			{link(next, "new_name", "In new")}
		</>
	);
}

/* ---- environment ---- */

function Environment({ result }: { result: DiffResult }) {
	const t = table(result, "environment");
	const differs = column(t, "differs") ?? [];
	const [keys, base, next, effect] = ["key", "base", "new", "effect"].map((c) => strings(t, c) ?? []);
	const rows = differs.map((d, i) => (d === true ? i : -1)).filter((i) => i >= 0);
	return (
		<section class="card" aria-label="Environment">
			<h2>Environment</h2>
			{rows.length === 0 ? (
				<p class="muted">No recorded setting differs: devices, options and the program’s parameters are the same.</p>
			) : (
				<table class="compare-facts">
					<thead>
						<tr>
							<th scope="col">What</th>
							<th scope="col">Base</th>
							<th scope="col">New</th>
							<th scope="col">Effect</th>
						</tr>
					</thead>
					<tbody>
						{rows.map((i) => (
							<tr key={i}>
								<th scope="row">{keys?.[i]?.replace(/_/g, " ")}</th>
								<td>{base?.[i] || "–"}</td>
								<td>{next?.[i] || "–"}</td>
								<td>{effect?.[i]}</td>
							</tr>
						))}
					</tbody>
				</table>
			)}
		</section>
	);
}
