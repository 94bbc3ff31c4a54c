/*
 * overview.tsx - the first page of a profile: its answer in one sentence, then what it rests on.
 */
import { column, numbers, prop, propNumber, propText, strings, table } from "../api/table";
import { type Prop, type Result, type TableData } from "../api/types";
import { classes } from "../base/dom";
import { count, percent, quantity, time_ps } from "../base/format";
import { useTheme } from "../base/theme";
import { toolHref } from "../base/url";
import { stepColor } from "../chart/step_colors";
import { Stacked } from "../chart/stacked";
import { Verdict } from "../widgets/conclusion";
import { isPath } from "../widgets/grid";
import { plainLabel } from "../widgets/grid_model";
import { Hint } from "../widgets/hint";
import { Notes } from "../widgets/notes";
import { RichText } from "../widgets/rich_text";
import { allNotes, AnswerPage } from "./answer";
import type { Session } from "./session";
import { answeredSteps, averages, averageOf, Overlap, PS_PER_MS, stackedIds, StepFigure, stepLabels, stepSeries, stepHref, XPROF_STEPS } from "./steps";

export function OverviewPage({ session }: { session: Session }) {
	return (
		<AnswerPage session={session}>{(result) => <Overview result={result} session={session} />}</AnswerPage>
	);
}

function Overview({ result, session }: { result: Result; session: Session }) {
	const steps = table(result, "steps");
	const analysis = table(result, "analysis");
	const latency = table(result, "inference_latency");
	const hasSteps = !!steps && steps.nrows > 0 && !!answeredSteps(steps);
	return (
		<>
			<Notes notes={allNotes(result)} />
			<Answer result={result} session={session} />
			<div class="columns">
				<div class="column-side">
					<Summary result={result} />
					<Environment table={table(result, "run_environment")} session={session} />
				</div>
				<div class="column-main">
					{hasSteps && <StepGraph steps={steps} session={session} />}
					{latency && latency.nrows > 0 && <LatencyGraph t={latency} />}
					<TopOps t={analysis} session={session} />
					<Recommendation t={table(result, "recommendation")} session={session} />
				</div>
			</div>
		</>
	);
}

/* ---- the answer ---- */

function Answer({ result, session }: { result: Result; session: Session }) {
	return (
		<Verdict of={result.conclusion} tools={session.toolNames}>
			<StepFigure t={table(result, "steps")} />
		</Verdict>
	);
}

/* ---- performance summary ---- */

interface Metric {
	id: string;
	from: "analysis" | "steps";
	title: string;
	doc: string;
}

const GROUPS: readonly { title: string; aim: string; metrics: readonly Metric[] }[] = [
	{
		title: "Device",
		aim: "higher is better",
		metrics: [
			{
				id: "device_duty_cycle_percent",
				from: "analysis",
				title: "Duty cycle",
				doc: "Share of the profiled time in which the device worked on the program: compute and communication, without waiting for input, output or the host.",
			},
			{
				id: "mxu_utilization_percent",
				from: "analysis",
				title: "Matrix unit utilization",
				doc: "Floating point operations done, as a share of what the matrix units could have done in the profiled time.",
			},
			{
				id: "flop_rate_utilization_relative_to_roofline",
				from: "analysis",
				title: "FLOP rate against the roofline",
				doc: "FLOP rate reached, as a share of the best that this program's operational intensity allows on this device.",
			},
			{
				id: "hbm_utilization_percent",
				from: "analysis",
				title: "Memory bandwidth utilization",
				doc: "Bytes moved to and from device memory, as a share of what its bandwidth allows in the profiled time.",
			},
			{
				id: "memory_bw_utilization_relative_to_hw_limit",
				from: "analysis",
				title: "Memory bandwidth against the limit",
				doc: "Memory bandwidth reached, as a share of the hardware's limit for this program.",
			},
			{
				id: "program_goodput_percent",
				from: "analysis",
				title: "Program goodput",
				doc: "Share of the time that went into steps that counted.",
			},
		],
	},
	{
		title: "Idle",
		aim: "lower is better",
		metrics: [
			{
				id: "device_idle_time_percent",
				from: "analysis",
				title: "Device idle",
				doc: "Share of a device's own time, from its first event to its last, in which it ran no operation. An operation that waits counts as one. The timeline says its share of the time between the first operation and the last of all devices.",
			},
			{
				id: "host_idle_time_percent",
				from: "analysis",
				title: "Host idle",
				doc: "Share of the profiled time in which the host ran no traced operation.",
			},
		],
	},
	{
		title: "Operations placed on",
		aim: "more on the device is better",
		metrics: [
			{
				id: "host_tf_op_percent",
				from: "analysis",
				title: "Host",
				doc: "Share of the framework's operations (by count) that ran on the host.",
			},
			{
				id: "device_tf_op_percent",
				from: "analysis",
				title: "Device",
				doc: "Share of the framework's operations (by count) that ran on the device.",
			},
		],
	},
	{
		title: "Eager execution",
		aim: "lower is better",
		metrics: [
			{
				id: "host_op_time_eager_percent",
				from: "analysis",
				title: "Host",
				doc: "Share of the host's operation time spent in operations run one by one instead of compiled together.",
			},
			{
				id: "device_op_time_eager_percent",
				from: "analysis",
				title: "Device",
				doc: "Share of the device's operation time spent in operations run one by one instead of compiled together.",
			},
		],
	},
	{
		title: "Compute precision",
		aim: "",
		metrics: [
			{
				id: "device_compute_16bit_percent",
				from: "analysis",
				title: "16 bit",
				doc: "Share of device compute time in 16-bit arithmetic.",
			},
			{
				id: "device_compute_32bit_percent",
				from: "analysis",
				title: "32 bit",
				doc: "Share of device compute time in 32-bit arithmetic. 16-bit arithmetic is faster on most accelerators.",
			},
		],
	},
];

function Summary({ result }: { result: Result }) {
	const analysis = table(result, "analysis");
	const steps = table(result, "steps");
	const shown = (m: Metric) => prop(m.from === "steps" ? steps : analysis, m.id) !== undefined;
	const groups = GROUPS.map((g) => ({ ...g, metrics: g.metrics.filter(shown) })).filter((g) => g.metrics.length);
	const remark = propText(analysis, "remark_text");
	const divided = steps && steps.nrows > 0 && answeredSteps(steps);
	if (!divided && !groups.length && !remark && !timeParts(steps).length) return null;
	return (
		<section class="card" aria-label="Performance summary">
			<h2>Performance summary</h2>
			<TimeParts steps={steps} />
			{divided && <Breakdown steps={steps} />}
			{groups.map((g) => (
				<div class="metrics" key={g.title}>
					<h3>
						{g.title} {g.aim && <span class="aim">{g.aim}</span>}
					</h3>
					<dl>
						{g.metrics.map((m) => (
							<MetricRow key={m.id} metric={m} p={prop(m.from === "steps" ? steps : analysis, m.id)} />
						))}
					</dl>
				</div>
			))}
			{remark && <p class="remark">{remark}</p>}
		</section>
	);
}

/* Of the attribution that the findings are made of; what each class is: docs/verdicts.md. */
const TIME_DOCS: Readonly<Record<string, string>> = {
	time_compute_percent: "A device, or a thread of a CPU program, ran an operation.",
	time_communication_percent: "A collective operation ran, and nothing computed.",
	time_copies_percent: "Data was copied between host and device or between memories, and nothing of the above.",
	time_callback_percent: "The compiled program was in Python.",
	time_input_percent: "The program waited for data.",
	time_compilation_percent: "The program was traced or compiled.",
	time_gc_percent: "Python collected garbage.",
	time_locks_percent: "The thread that starts the programs waited for another thread.",
	time_host_code_percent: "The thread that starts the programs was in the program's own functions or annotations.",
	time_launching_percent: "The framework started operations, kernels or programs.",
	time_sync_percent: "The host waited for a result, and nothing computed.",
	time_not_recorded_percent: "Nothing of this was recorded.",
	time_between_steps_percent: "Time that passed between the steps.",
};

/* Each moment of the steps, and between them, is of one class: the parts make 100%. */
const timeParts = (steps: TableData | undefined) =>
	Object.keys(TIME_DOCS)
		.map((id) => ({ id, p: prop(steps, id) }))
		.filter((part): part is { id: string; p: Prop } => typeof part.p?.value === "number")
		.sort((a, b) => (b.p.value as number) - (a.p.value as number));

function TimeParts({ steps }: { steps: TableData | undefined }) {
	const parts = timeParts(steps);
	if (!parts.length) return null;
	return (
		<div class="metrics">
			<h3>
				Where the time goes <span class="aim">each moment once</span>
			</h3>
			<dl>
				{parts.map(({ id, p }) => (
					<MetricRow
						key={id}
						metric={{ id, from: "steps", title: p.label.split(": ").pop() ?? p.label, doc: TIME_DOCS[id] ?? "" }}
						p={p}
					/>
				))}
			</dl>
		</div>
	);
}

function MetricRow({ metric, p }: { metric: Metric; p: Prop | undefined }) {
	if (!p) return null;
	const share =
		typeof p.value === "number"
			? p.unit === "frac"
				? p.value
				: p.unit === "percent"
					? p.value / 100
					: NaN
			: parseFloat(p.text) / 100;
	return (
		<div class="metric">
			<dt>
				<Hint text={metric.doc}>{metric.title}</Hint>
			</dt>
			<dd>
				<span class="meter" aria-hidden="true">
					<span class="meter-fill" style={{ width: `${Math.max(0, Math.min(1, share || 0)) * 100}%` }} />
				</span>
				<span class="metric-value" data-prop={metric.id}>
					{typeof p.value === "number" ? quantity(p.value, p.unit) : p.text}
				</span>
			</dd>
		</div>
	);
}

const PART_DOCS: Readonly<Record<string, string>> = {
	deviceComputeTimeMs: "The device computed.",
	deviceToDeviceTimeMs: "Data moved between devices.",
	deviceCollectivesTimeMs: "Devices took part in collective communication, or waited for each other in it.",
	hostComputeTimeMs: "The host computed while the device had nothing to do.",
	kernelLaunchTimeMs: "The host prepared or launched kernels while the device waited for them.",
	infeedTimeMs: "Waiting for input, and moving it to the device.",
	outfeedTimeMs: "Moving results back.",
	compileTimeMs: "Compiling kernels.",
	otherTimeMs: "All other time, Python included.",
	tcComputeTimeMs: "The TensorCores computed.",
	tcInfeedTimeMs: "The slowest TensorCore waited for input.",
	tcOutfeedTimeMs: "TensorCores handed results out.",
	tcIdleTimeMs: "TensorCores had nothing to run; transfers between host and device count here as well.",
	hostTransferTimeMs: "Transfers between host and device. They are a part of the idle time as well.",
	scv0ComputeTimeMs: "SparseCores computed.",
	scv0InfeedTimeMs: "SparseCores waited for input.",
};

/* How an average step is made up, by the server's averages: each part with its share as a bar. */
function Breakdown({ steps }: { steps: TableData }) {
	const dark = useTheme().dark;
	const parts = stackedIds(steps)
		.map((id, n) => ({ id, n, ms: averageOf(steps, id) }))
		.filter((p): p is { id: string; n: number; ms: number } => p.ms !== undefined);
	const whole = propNumber(steps, "steptime_ms_average") ?? 0;
	if (!parts.length) return null;
	return (
		<div class="metrics">
			<h3>
				<Hint text={XPROF_STEPS}>Average step as XProf counts</Hint>{" "}
				<span class="aim">
					{propText(steps, "steptime_ms_average")}, {count(steps.nrows)} {steps.nrows === 1 ? "step" : "steps"},{" "}
					{propText(steps, "steptime_ms_minimum")} to {propText(steps, "steptime_ms_maximum")}
				</span>
			</h3>
			<dl>
				{parts
					.filter((p) => p.ms > 0)
					.map((p) => (
						<div class="metric" key={p.id}>
							<dt>
								<Hint text={PART_DOCS[p.id] ?? ""}>
									{plainLabel(steps.cols.find((c) => c.id === p.id)?.label ?? p.id)}
								</Hint>
							</dt>
							<dd>
								<span class="meter" aria-hidden="true">
									<span
										class="meter-fill"
										style={{
											width: `${whole > 0 ? Math.min(1, p.ms / whole) * 100 : 0}%`,
											background: stepColor(p.id, p.n, dark),
										}}
									/>
								</span>
								<span class="metric-value" data-part={p.id}>
									{time_ps(p.ms * PS_PER_MS)}
								</span>
							</dd>
						</div>
					))}
			</dl>
		</div>
	);
}

/* ---- charts ---- */

function StepGraph({ steps, session }: { steps: TableData; session: Session }) {
	const dark = useTheme().dark;
	const series = stepSeries(steps, dark);
	return (
		<section class="card" aria-label="Step-time graph">
			<h2>
				<Hint text={XPROF_STEPS}>Step time as XProf counts</Hint>
			</h2>
			<Stacked
				labels={stepLabels(steps)}
				series={series}
				ps_per_unit={PS_PER_MS}
				xTitle="Step"
				summary={averages(steps, series)}
				title="Step time by part, over the steps"
				hrefOf={stepHref(steps, session.toolNames)}
			/>
			<Overlap steps={steps} />
		</section>
	);
}

function LatencyGraph({ t }: { t: TableData }) {
	const dark = useTheme().dark;
	const ids = ["hostTimeMs", "deviceTimeMs", "communicationTimeMs"];
	const series = ids.map((id, n) => ({
		id,
		label: plainLabel(t.cols.find((c) => c.id === id)?.label ?? id),
		color: stepColor(id, n, dark),
		values: numbers(t, id) ?? [],
	}));
	return (
		<section class="card" aria-label="Latency of inference sessions">
			<h2>Latency of inference sessions</h2>
			<Stacked
				labels={strings(t, "percentile") ?? []}
				series={series}
				ps_per_unit={PS_PER_MS}
				xTitle="Percentile"
				title="Latency by percentile"
			/>
		</section>
	);
}

/* ---- top operations ---- */

function TopOps({ t, session }: { t: TableData | undefined; session: Session }) {
	const names = strings(t, "operation") ?? [];
	if (!t || !names.length)
		return (
			<section class="card" aria-label="Top operations">
				<h2>Top operations on the device</h2>
				<p class="empty">No operation of a framework was recorded on a device.</p>
			</section>
		);
	const self = numbers(t, "selfTimePercent") ?? [];
	const sum = numbers(t, "cumulativeTimePercent") ?? [];
	const rate = numbers(t, "flopRate") ?? [];
	const category = strings(t, "category") ?? [];
	const eligible = column(t, "tcEligibility");
	const used = column(t, "tcUtilization");
	const most = Math.max(...self, 1e-9);
	const scale = t.cols.find((c) => c.id === "selfTimePercent")?.unit === "percent" ? 1 : 100;
	const rateUnit = t.cols.find((c) => c.id === "flopRate")?.unit || "gflop_per_s";
	const linked = session.toolNames.includes("framework_op_stats");
	return (
		<section class="card" aria-label="Top operations">
			<h2>
				Top operations on the device{" "}
				{linked && (
					<a class="more" href={toolHref("framework_op_stats")}>
						all operations
					</a>
				)}
			</h2>
			<table class="plain-table top-ops">
				<thead>
					<tr>
						<th>Operation</th>
						<th>Category</th>
						<th class="num">Self time</th>
						<th class="num">Cumulative</th>
						<th class="num">FLOP rate</th>
						{eligible && <th>Tensor Cores</th>}
					</tr>
				</thead>
				<tbody>
					{names.map((name, i) => (
						<tr key={`${name}${i}`}>
							<td class={classes("cut", isPath(name) && "cut-front")} title={name}>
								{linked ? (
									<a href={toolHref("framework_op_stats", { filter: name })}>
										<bdi>{name}</bdi>
									</a>
								) : (
									<bdi>{name}</bdi>
								)}
							</td>
							<td class="cut cut-short" title={category[i]}>
								{category[i]}
							</td>
							<td class="num share-cell">
								<span class="share-bar" style={{ width: `${((self[i] ?? 0) / most) * 100}%` }} />
								<span data-op={i}>{percent((self[i] ?? 0) * scale)}</span>
							</td>
							<td class="num">{percent((sum[i] ?? 0) * scale)}</td>
							<td class="num">{Number.isFinite(rate[i]) ? quantity(rate[i] ?? 0, rateUnit) : "–"}</td>
							{eligible && <td>{used?.[i] ? "used" : eligible[i] ? "eligible, not used" : "–"}</td>}
						</tr>
					))}
				</tbody>
			</table>
		</section>
	);
}

/* ---- what to do ---- */

function Recommendation({ t, session }: { t: TableData | undefined; session: Session }) {
	if (!t) return null;
	const kinds = strings(t, "tip_type") ?? [];
	const links = strings(t, "link") ?? [];
	const titles = strings(t, "description") ?? [];
	const beside = propText(t, "non_bottleneck_tip_types")
		.split(",")
		.map((s) => s.trim());
	const groups = new Map<string, { kind: string; links: string[] }>();
	links.forEach((link, i) => {
		const title = titles[i] || kinds[i] || "";
		const g = groups.get(title) ?? { kind: kinds[i] ?? "", links: [] };
		g.links.push(link);
		groups.set(title, g);
	});
	/* What lies off the bottleneck comes last. */
	const order = [...groups].sort(([, a], [, b]) => rank(a.kind, beside) - rank(b.kind, beside));
	if (!order.length) return null;
	return (
		<section class="card" aria-label="Recommendation">
			<h2>What to do next</h2>
			<div class="tips">
				{order.map(([title, g]) => (
					<div key={title} class={rank(g.kind, beside) > 2 ? "tip-group tip-off" : "tip-group"}>
						<h3>{title}</h3>
						<ul>
							{g.links.map((l) => (
								<li key={l}>
									<RichText text={l} tools={session.toolNames} />
								</li>
							))}
						</ul>
					</div>
				))}
			</div>
		</section>
	);
}

function rank(kind: string, beside: readonly string[]): number {
	if (beside.includes(kind)) return 3;
	return kind === "host" || kind === "device" || kind === "inference" ? 0 : kind === "doc" ? 1 : 2;
}

/* ---- where it ran ---- */

function Environment({ table: t, session }: { table: TableData | undefined; session: Session }) {
	const { run } = session;
	const facts: [string, string, string][] = [
		["device_type", "Device type", propText(t, "device_type")],
		/* CPUs have none. */
		["device_core_count", "Device cores", propNumber(t, "device_core_count") ? propText(t, "device_core_count") : ""],
		["host_count", "Hosts", propText(t, "host_count")],
		["task_count", "Tasks", propText(t, "task_count")],
		["is_training", "Training", { true: "yes", false: "no" }[propText(t, "is_training")] ?? propText(t, "is_training")],
		["batch_size", "Batch size", propText(t, "batch_size")],
		["profile_start_time", "Profile start", propText(t, "profile_start_time")],
		["profile_duration_ms", "Profile length", propText(t, "profile_duration_ms")],
	];
	const host = strings(t, "host_id") ?? [];
	const command = strings(t, "command_line") ?? [];
	return (
		<section class="card" aria-label="Run environment">
			<h2>Run environment</h2>
			<dl class="env">
				{facts
					.filter(([, , v]) => v)
					.map(([id, label, v]) => (
						<div key={id}>
							<dt>{label}</dt>
							<dd data-prop={id}>
								{id === "host_count" && run.hosts.length > 1 && session.toolNames.includes("host_steps") ? (
									<a href={toolHref("host_steps")} title="Every host and step">
										{v}
									</a>
								) : (
									v
								)}
							</dd>
						</div>
					))}
			</dl>
			{command.some(Boolean) && (
				<ul class="commands">
					{command.map((c, i) => (
						<li key={i}>
							<span class="muted">{host[i]}</span> <code>{c}</code>
						</li>
					))}
				</ul>
			)}
		</section>
	);
}
