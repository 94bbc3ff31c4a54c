/*
 * pod_viewer.tsx - one step on every core of all hosts: which core is slower than the others and on what, what the cores send to each
 * other, and how long they wait for each other.
 */
import { useMemo, useState } from "preact/hooks";
import { column, numbers, propText, strings, table } from "../api/table";
import type { Cell, Result, TableData } from "../api/types";
import { bytes, count, quantity, time_ps } from "../base/format";
import { useTheme } from "../base/theme";
import { adjust, toolHref, useQuery } from "../base/url";
import { Stacked } from "../chart/stacked";
import { stepColor } from "../chart/step_colors";
import { Figure, Verdict } from "../widgets/conclusion";
import { filterFor } from "../widgets/grid_model";
import { Icon } from "../widgets/icon";
import { Notes } from "../widgets/notes";
import { allNotes, AnswerPage } from "./answer";
import { channelAt, coresOf, hostLabels, partsOf, placesOf, rowsOfStep, type Core, type Part, type Place } from "./pod_model";
import { Scale, Topology } from "./pod_topology";
import type { Session } from "./session";

const PS_PER_US = 1e6;
const us = (v: number) => time_ps(v * PS_PER_US);

export function PodViewerPage({ session }: { session: Session }) {
	return (
		<AnswerPage session={session}>{(result) => <PodViewer result={result} session={session} />}</AnswerPage>
	);
}

function PodViewer({ result, session }: { result: Result; session: Session }) {
	const steps = table(result, "steps");
	const cores = table(result, "cores");
	const nums = numbers(steps, "step_num") ?? [];
	const asked = useQuery("step");
	if (!steps?.nrows || !cores?.nrows) {
		const notes = allNotes(result); /* they say how this framework marks its steps */
		return (
			<>
				<Notes notes={notes} />
				<p class="empty">No step was measured on any core{notes.length ? "." : ": the program has to mark its steps."}</p>
			</>
		);
	}
	const at = Math.max(0, asked === "" ? 0 : nums.indexOf(Number(asked)));
	return (
		<>
			<Notes notes={allNotes(result)} />
			<Step key={session.run.run} result={result} steps={steps} cores={cores} at={at} session={session} />
		</>
	);
}

interface StepProps {
	result: Result;
	steps: TableData;
	cores: TableData;
	at: number;
	session: Session;
}

function Step({ result, steps, cores: all, at, session }: StepProps) {
	const dark = useTheme().dark;
	const step = numbers(steps, "step_num")?.[at] ?? 0;
	const cores = useMemo(() => coresOf(all, step), [all, step]);
	const parts = useMemo(() => partsOf(all), [all]);
	const places = useMemo(() => placesOf(result), [result]);
	const channels = table(result, "channels");
	/* The parts of a stored pod are others. */
	const usual = parts.some((p) => p.id === "device_compute_us") ? "device_compute_us" : (parts[0]?.id ?? "");
	const part = useQuery("part") || usual;
	const keptCore = useQuery("core");
	const kept = keptCore === "" ? null : Number(keptCore);
	const [pointed, setPointed] = useState<number | null>(null);
	const [pointedRow, setPointedRow] = useState<number | null>(null);
	const channel = useQuery("channel");
	const rows = useMemo(() => rowsOfStep(channels, step, "latency_us"), [channels, step]);
	const ids = useMemo(() => [...new Set(rows.map((r) => channelAt(channels, r).channel))].sort((a, b) => a - b), [rows]);
	const arrows = useMemo(
		() =>
			pointedRow !== null
				? [channelAt(channels, pointedRow)]
				: channel === ""
					? []
					: rows.map((r) => channelAt(channels, r)).filter((c) => String(c.channel) === channel),
		[channels, rows, channel, pointedRow],
	);
	const series = useMemo(
		() =>
			parts.map((p, n) => ({
				id: p.id,
				label: p.label,
				color: stepColor(p.id, n, dark),
				values: cores.map((c) => c.parts[p.id] ?? 0),
			})),
		[parts, cores, dark],
	);
	const labels = useMemo(() => {
		const hosts = hostLabels(cores.map((c) => c.host));
		return cores.map((c, i) => coreLabel(c, hosts[i] ?? "", places));
	}, [cores, places]);
	const shown = pointed ?? kept;
	return (
		<>
			<Verdict of={result.conclusion} tools={session.toolNames}>
				<Figure id="total_us" value={us(numbers(steps, "total_us")?.[at] ?? 0)}>
					step {step}: mostly {(strings(steps, "bottleneck")?.[at] ?? "").toLowerCase()}
				</Figure>
			</Verdict>
			{steps.nrows > 1 && <StepSlider steps={steps} at={at} />}
			<div class="columns">
				<div class="column-side">
					<CoreCard core={cores.find((c) => c.id === shown)} label={labels[cores.findIndex((c) => c.id === shown)] ?? ""} parts={parts} place={places.find((p) => p.core === shown)} map={places.length > 0} />
					{rows.length > 0 && <ChannelCard t={channels} row={pointedRow ?? firstOf(rows, channels, channel)} session={session} />}
				</div>
				<div class="column-main">
					{places.length > 0 && (
						<section class="card" aria-label="Topology">
							<div class="bar bar-controls">
								<h2>
									{propText(all, "device_type") || "Topology"} <span class="aim">{count(places.length)} cores</span>
								</h2>
								<span class="spring" />
								<label class="field">
									Share of
									<select
										class="select"
										value={part}
										onChange={(e) => adjust({ part: e.currentTarget.value === usual ? undefined : e.currentTarget.value })}
									>
										{parts.map((p) => (
											<option key={p.id} value={p.id}>
												{p.label}
											</option>
										))}
									</select>
								</label>
								{ids.length > 0 && (
									<label class="field">
										Channel
										<select class="select" value={channel} onChange={(e) => adjust({ channel: e.currentTarget.value || undefined })}>
											<option value="">none</option>
											{ids.map((c) => (
												<option key={c} value={String(c)}>
													{c}
												</option>
											))}
										</select>
									</label>
								)}
							</div>
							<Topology
								places={places}
								cores={cores}
								part={part}
								pointed={pointed}
								kept={kept}
								channels={arrows}
								onPoint={setPointed}
								onKeep={(c) => adjust({ core: c === kept ? undefined : String(c) })}
							/>
							<Scale label={parts.find((p) => p.id === part)?.label ?? ""} />
						</section>
					)}
					<section class="card" aria-label="Step breakdown">
						<h2>Step breakdown by {places.length ? "core" : "host"}</h2>
						<Stacked
							labels={labels}
							series={series}
							ps_per_unit={PS_PER_US}
							xTitle={places.length ? "Chip:core" : "Host"}
							title={`Parts of step ${step} on each core`}
							onPoint={(i) => setPointed(i === null ? null : (cores[i]?.id ?? null))}
						/>
					</section>
					{rows.length > 0 && (
						<Transfers t={channels} rows={rows} pointed={pointedRow} onPoint={setPointedRow} places={places} />
					)}
					<Collectives t={table(result, "collectives")} step={step} session={session} places={places} />
				</div>
			</div>
		</>
	);
}

function firstOf(rows: readonly number[], t: TableData | undefined, channel: string): number | null {
	return rows.find((r) => String(channelAt(t, r).channel) === channel) ?? null;
}

/* As the documents call them: chip and core on it; where nothing is known of places the host stands for its devices. */
function coreLabel(c: Core, host: string, places: readonly Place[]): string {
	const p = places.find((x) => x.core === c.id);
	return p ? (p.chip < 0 ? String(c.id) : `${p.chip}:${p.core_on_chip}`) : host;
}

function coreName(id: number, places: readonly Place[]): string {
	const p = places.find((x) => x.core === id);
	return id < 0 ? "unknown" : p && p.chip >= 0 ? `chip ${p.chip}, core ${p.core_on_chip}` : `core ${id}`;
}

function StepSlider({ steps, at }: { steps: TableData; at: number }) {
	const nums = numbers(steps, "step_num") ?? [];
	const to = (i: number) => adjust({ step: String(nums[Math.min(nums.length - 1, Math.max(0, i))] ?? 0) });
	return (
		<div class="step-slider">
			<label for="step">Step</label>
			<button class="button button-icon" aria-label="Previous step" disabled={at === 0} onClick={() => to(at - 1)}>
				<Icon name="left" />
			</button>
			<input
				id="step"
				type="range"
				min={0}
				max={nums.length - 1}
				value={at}
				aria-valuetext={`step ${nums[at] ?? 0}`}
				onInput={(e) => to(Number(e.currentTarget.value))}
			/>
			<button class="button button-icon" aria-label="Next step" disabled={at === nums.length - 1} onClick={() => to(at + 1)}>
				<Icon name="right" />
			</button>
			<output for="step">
				<strong>{nums[at]}</strong>{" "}
				<span class="muted">
					of {nums[0]} to {nums[nums.length - 1]}
				</span>
			</output>
		</div>
	);
}

interface CoreCardProps {
	core: Core | undefined;
	label: string;
	parts: readonly Part[];
	place: Place | undefined;
	map: boolean; /* there is a map of cores */
}

function CoreCard({ core, label, parts, place, map }: CoreCardProps) {
	const dark = useTheme().dark;
	if (!core)
		return (
			<section class="card" aria-label="Details of the core">
				<h2>{map ? "Core" : "Host"}</h2>
				<p class="muted">
					{map
						? "Point at a core, in the map or in the chart, to see what it did; click in the map to keep it."
						: "Point at a bar of the chart to see what the host's devices did."}
				</p>
			</section>
		);
	return (
		<section class="card" aria-label="Details of the core" aria-live="polite">
			<h2 class="wrap">{map ? `Core ${core.id}` : label}</h2>
			<dl class="env">
				{map && (
					<div>
						<dt>Host</dt>
						<dd class="wrap">{core.host}</dd>
					</div>
				)}
				{place && place.chip >= 0 && (
					<div>
						<dt>Place</dt>
						<dd>
							chip {place.chip}, core {place.core_on_chip}
							{place.replica >= 0 && <span class="muted"> replica {place.replica}</span>}
						</dd>
					</div>
				)}
				<div>
					<dt>Step</dt>
					<dd>{us(core.total_us)}</dd>
				</div>
				<div>
					<dt>Bottleneck</dt>
					<dd>{core.bottleneck}</dd>
				</div>
			</dl>
			<dl class="metrics">
				{parts.map((p, n) => {
					const v = core.parts[p.id] ?? 0;
					return (
						v > 0 && (
							<div class="metric" key={p.id} title={p.doc}>
								<dt class="part-name">
									<span class="chart-dot" style={{ background: stepColor(p.id, n, dark) }} /> {p.label}
								</dt>
								<dd>
									<span data-part={p.id}>{us(v)}</span>
								</dd>
							</div>
						)
					);
				})}
			</dl>
		</section>
	);
}

function ChannelCard({ t, row, session }: { t: TableData | undefined; row: number | null; session: Session }) {
	if (row === null)
		return (
			<section class="card" aria-label="Details of the channel">
				<h2>Channel</h2>
				<p class="muted">Point at a bar of “Sends and receives”, or choose a channel, to see it in the map.</p>
			</section>
		);
	const cell = (id: string): Cell => column(t, id)?.[row] ?? null;
	const say = (id: string) => {
		const v = cell(id);
		return typeof v === "number" ? quantity(v, t?.cols.find((c) => c.id === id)?.unit ?? "") : "–";
	};
	const fields: [string, string][] = [
		["Data", cell("bytes") === 0 ? "–" : bytes(Number(cell("bytes")))],
		["Latency", say("latency_us")],
		["Bandwidth", say("bandwidth")],
		["Send delay", say("send_delay_us")],
	];
	return (
		<section class="card" aria-label="Details of the channel" aria-live="polite">
			<h2>Channel {String(cell("channel_id"))}</h2>
			<p>
				Core {Number(cell("src_core")) < 0 ? "unknown" : String(cell("src_core"))} → core {String(cell("dst_core"))}
			</p>
			<dl class="env">
				{fields.map(([k, v]) => (
					<div key={k}>
						<dt>{k}</dt>
						<dd>{v}</dd>
					</div>
				))}
				<div>
					<dt>Operations</dt>
					<dd class="wrap">
						{["send_op", "recv_op"].map((id) => cell(id) && <OpLink key={id} name={String(cell(id))} session={session} />)}
					</dd>
				</div>
			</dl>
		</section>
	);
}

function OpLink({ name, session }: { name: string; session: Session }) {
	if (!session.toolNames.includes("op_profile")) return <span>{name} </span>;
	return (
		<>
			<a href={toolHref("op_profile", { op: name, filter: name })}>{name}</a>{" "}
		</>
	);
}

/* ---- bars ---- */

const MOST_BARS = 24;

interface TransfersProps {
	t: TableData | undefined;
	rows: readonly number[];
	pointed: number | null;
	onPoint: (row: number | null) => void;
	places: readonly Place[];
}

function Transfers({ t, rows, pointed, onPoint, places }: TransfersProps) {
	const v = numbers(t, "latency_us") ?? [];
	const most = Math.max(...rows.map((r) => v[r] || 0), 1e-9);
	return (
		<section class="card" aria-label="Sends and receives">
			<h2>
				Sends and receives <span class="aim">latency, longest first: {count(rows.length)} in this step</span>
			</h2>
			<ul class="bars" onPointerLeave={() => onPoint(null)}>
				{rows.slice(0, MOST_BARS).map((r) => {
					const c = channelAt(t, r);
					return (
						<li key={r}>
							<button
								class={r === pointed ? "bars-row bars-on" : "bars-row"}
								onPointerEnter={() => onPoint(r)}
								onFocus={() => onPoint(r)}
								onClick={() => adjust({ channel: String(c.channel) })}
							>
								<span class="bars-name">
									channel {c.channel}: {coreName(c.from, places)} → {coreName(c.to, places)}
								</span>
								<span class="bars-track">
									<span class="bars-fill" style={{ width: `${((v[r] || 0) / most) * 100}%` }} />
								</span>
								<span class="bars-value">{Number.isFinite(v[r]) ? us(v[r] ?? 0) : "–"}</span>
							</button>
						</li>
					);
				})}
			</ul>
		</section>
	);
}

function Collectives({
	t,
	step,
	session,
	places,
}: {
	t: TableData | undefined;
	step: number;
	session: Session;
	places: readonly Place[];
}) {
	const rows = rowsOfStep(t, step, "most_us");
	if (!rows.length) return null;
	const num = (id: string, r: number) => numbers(t, id)?.[r] ?? 0;
	const most = Math.max(...rows.map((r) => num("most_us", r)), 1e-9);
	return (
		<section class="card" aria-label="All-reduce">
			<h2>
				All-reduce and other collectives{" "}
				<span class="aim">
					<span class="chart-dot bars-fill" /> communication <span class="chart-dot bars-wait" /> waiting for the last core
				</span>
			</h2>
			<ul class="bars">
				{rows.slice(0, MOST_BARS).map((r) => {
					const name = String(column(t, "hlo_op_name")?.[r] ?? "");
					return (
						<li key={r} class="bars-row" title={`${count(num("cores", r))} cores; ${coreName(num("last_core", r), places)} came last`}>
							<span class="bars-name">
								{name && session.toolNames.includes("hlo_stats") ? (
									<a href={toolHref("hlo_stats", { filter: filterFor("hlo_op_name", name) })}>{name}</a>
								) : (
									name || `collective ${num("collective_id", r)}`
								)}{" "}
								<span class="muted">{count(num("cores", r))} cores</span>
							</span>
							<span class="bars-track">
								<span class="bars-fill" style={{ width: `${(num("least_us", r) / most) * 100}%` }} />
								<span class="bars-wait" style={{ width: `${(num("waiting_us", r) / most) * 100}%` }} />
							</span>
							<span class="bars-value">
								{us(num("least_us", r))} <span class="muted">+ {us(num("waiting_us", r))}</span>
							</span>
						</li>
					);
				})}
			</ul>
		</section>
	);
}
