/*
 * memory_profile.tsx - memory of a device over time: the summary of the allocator chosen, its timeline, and what was allocated at the peak.
 */
import { useMemo, useState } from "preact/hooks";
import { column, numbers, strings, table } from "../api/table";
import type { Cell, Result, TableData } from "../api/types";
import { bytes, count, percent, time_ps } from "../base/format";
import { css, oklchToRgb, pixel } from "../base/color";
import { useTheme } from "../base/theme";
import { adjust, toolHref, useQuery } from "../base/url";
import { formatMarks } from "../timeline/state";
import { formatView } from "../timeline/viewport";
import { TimeChart } from "../chart/lines";
import { Figure, Verdict } from "../widgets/conclusion";
import { Grid } from "../widgets/grid";
import { Hint } from "../widgets/hint";
import { Notes } from "../widgets/notes";
import { AnswerPage } from "./answer";
import { rowsOf } from "./rows";
import { csvAddress, type Session } from "./session";

export function MemoryProfilePage({ session }: { session: Session }) {
	return (
		<AnswerPage session={session}>{(result) => <MemoryProfile result={result} session={session} />}</AnswerPage>
	);
}

const BREAKDOWN = [
	"tf_op",
	"allocation_bytes",
	"requested_bytes",
	"occurrences",
	"region_type",
	"data_type",
	"shape",
	"step",
	"made_up",
];

function MemoryProfile({ result, session }: { result: Result; session: Session }) {
	const allocators = table(result, "allocators");
	const ids = strings(allocators, "memory_id") ?? [];
	const asked = useQuery("memory");
	/* The one of which the conclusion speaks. */
	const peaks = numbers(allocators, "peak_bytes") ?? [];
	const highest = ids[peaks.indexOf(Math.max(...peaks.filter(Number.isFinite)))] ?? ids[0] ?? "";
	const id = ids.includes(asked) ? asked : highest;
	const timeline = useMemo(() => rowsOf(table(result, "timeline"), id), [result, id]);
	const breakdown = useMemo(() => rowsOf(table(result, "breakdown"), id, BREAKDOWN), [result, id]);
	if (!allocators || !ids.length)
		return (
			<>
				<Notes notes={result.notes} />
				<p class="empty">No allocator reported anything while this profile was taken.</p>
			</>
		);
	const more = MORE.flatMap((name) => {
		const of = rowsOf(table(result, name), id);
		return of && of.nrows > 0 ? [of] : [];
	});
	const at = ids.indexOf(id);
	const value = (col: string): Cell => column(allocators, col)?.[at] ?? null;
	const num = (col: string) => Number(value(col) ?? 0);
	return (
		<>
			<Notes notes={result.notes} />
			<Verdict of={result.conclusion} tools={session.toolNames}>
				<Figure id="peak_bytes" value={bytes(num("peak_bytes"))}>
					at the peak of {/^\d+$/.test(id) ? `memory ${id}` : id}
					{num("peak_time_ps") > 0 && session.toolNames.includes("trace_viewer@") && (
						<>
							{" "}
							<a href={peakHref(num("peak_time_ps"), (numbers(timeline, "time_ps") ?? []).reduce((a, b) => Math.max(a, b), 0))}>Show it in the timeline</a>
						</>
					)}
				</Figure>
				{ids.length > 1 && (
					<label class="field">
						Memory
						<select class="select" value={id} onChange={(e) => adjust({ memory: e.currentTarget.value })}>
							{ids.map((i) => (
								<option key={i} value={i}>
									{i}
								</option>
							))}
						</select>
					</label>
				)}
			</Verdict>
			<div class="columns">
				<div class="column-side">
					<SummaryCard num={num} />
				</div>
				<div class="column-main">
					{timeline && timeline.nrows > 0 && (
						<TimelineCard key={id} t={timeline} peak_ps={num("peak_time_ps")} />
					)}
				</div>
			</div>
			{breakdown && (
				<section class="card" aria-label="Memory at the peak">
					<h2>Memory at the peak</h2>
					<Grid
						table={breakdown}
						sort={{ col: "allocation_bytes", down: true }}
						maxRows={16}
						csv={csvAddress(session, breakdown.name)}
						link={(col, row) =>
							col === "tf_op" ? opHref(String(column(breakdown, "tf_op")?.[row] ?? ""), session) : undefined
						}
					/>
				</section>
			)}
			{more.map((of) => (
				<section class="card" key={of.name} aria-label={of.title}>
					<h2>{of.title}</h2>
					<Grid table={of} maxRows={16} csv={csvAddress(session, of.name)} />
				</section>
			))}
		</>
	);
}

/* Of traces of PyTorch alone. */
const MORE = ["holders", "steps", "operators"] as const;

function opHref(name: string, session: Session): string | undefined {
	return name && session.toolNames.includes("framework_op_stats")
		? toolHref("framework_op_stats", { filter: name })
		: undefined;
}

const FACTS: readonly [string, string, (v: number) => string, string][] = [
	["allocations", "Allocations", count, "Allocations during the profile."],
	["deallocations", "Deallocations", count, "Deallocations during the profile."],
	["capacity_bytes", "Capacity", bytes, "Stack, heap and free memory together."],
	["lifetime_peak_bytes", "Peak of the heap since start", bytes, "Peak use since the program started."],
	["peak_bytes", "Peak in the profile", bytes, "Greatest stack and heap together during the profile."],
	["peak_time_ps", "at", time_ps, "Since the start of the profile."],
	["stack_bytes", "Stack reserved", bytes, "Reserved by programs on the device, at the peak."],
	["heap_bytes", "Heap allocated", bytes, "Buffers in use, at the peak."],
	["free_bytes", "Free", bytes, "Neither reserved nor in use, at the peak."],
	[
		"fragmentation_frac",
		"Fragmentation",
		(v) => percent(v * 100),
		"Share of the free memory outside of its largest block. Lower is better.",
	],
];

function SummaryCard({ num }: { num: (col: string) => number }) {
	return (
		<section class="card" aria-label="Summary">
			<h2>Summary</h2>
			<div class="metrics">
				<dl>
					{FACTS.map(([id, label, text, doc]) => (
						<div class="metric" key={id}>
							<dt>
								<Hint text={doc}>{label}</Hint>
							</dt>
							<dd>
								<span class="metric-value" data-memory={id}>
									{text(num(id))}
								</span>
							</dd>
						</div>
					))}
				</dl>
			</div>
		</section>
	);
}

const PARTS: readonly [string, string, readonly [number, number, number]][] = [
	["stack_bytes", "Stack", [0.64, 0.16, 27]],
	["heap_bytes", "Heap", [0.74, 0.13, 70]],
	["free_bytes", "Free", [0.86, 0.05, 152]],
];

const POWERS = Array.from({ length: 48 }, (_, i) => 2 ** i);

/* What ran around the peak, which is marked: a fiftieth of the recording. */
function peakHref(peak_ps: number, end_ps: number): string {
	const side = Math.max(end_ps, peak_ps) / 100;
	return toolHref("trace_viewer@", {
		view: formatView({ begin_ps: Math.max(0, peak_ps - side), end_ps: peak_ps + side }),
		marks: formatMarks([{ begin_ps: peak_ps, end_ps: peak_ps }]),
	});
}

function TimelineCard({ t, peak_ps }: { t: TableData; peak_ps: number }) {
	const dark = useTheme().dark;
	const [free, setFree] = useState(false);
	const [at, setAt] = useState<number | null>(null);
	const order = useMemo(() => {
		const time = numbers(t, "time_ps") ?? [];
		return time.map((_, i) => i).sort((a, b) => (time[a] ?? 0) - (time[b] ?? 0));
	}, [t]);
	const series = useMemo(() => {
		const pick = (id: string) => {
			const v = numbers(t, id) ?? [];
			return order.map((i) => v[i] ?? 0);
		};
		const tone = ([l, c, h]: readonly [number, number, number]) => css(pixel(...oklchToRgb(dark ? l - 0.16 : l, c, h)));
		return {
			x: pick("time_ps"),
			areas: PARTS.filter(([id]) => free || id !== "free_bytes").map(([id, label, color]) => ({
				label,
				color: tone(color),
				values: pick(id),
			})),
			line: { label: "Fragmentation", color: dark ? "#b9a4f0" : "#6d4fc4", values: pick("fragmentation_frac") },
		};
	}, [t, order, dark, free]);
	const row = at === null ? undefined : order[at];
	const cell = (id: string) => (row === undefined ? "" : String(column(t, id)?.[row] ?? ""));
	const size = (id: string) => (row === undefined ? "" : bytes(Number(column(t, id)?.[row] ?? 0)));
	return (
		<section class="card" aria-label="Memory over time">
			<h2>
				Memory over time
				<label class="check more">
					<input type="checkbox" checked={free} onChange={(e) => setFree(e.currentTarget.checked)} />
					Free memory
				</label>
			</h2>
			<div class="chart">
				<TimeChart
					{...series}
					xText={(v, digits) => time_ps(v, digits)}
					yText={(v) => (v === 0 ? "0" : bytes(v))}
					lineText={(v) => percent(v * 100)}
					onPoint={setAt}
					mark={peak_ps}
					yIncrs={POWERS}
					title="Stack, heap and free memory over time, and fragmentation"
				/>
				<div class="chart-legend">
					<div class="chart-at">{row === undefined ? "Point at a time" : time_ps(Number(cell("time_ps")), 5)}</div>
					{[...series.areas].reverse().map((a) => (
						<div class="chart-key" key={a.label}>
							<span class="chart-dot" style={{ background: a.color }} />
							<span class="chart-name">{a.label}</span>
							<span class="chart-value">{at === null ? "" : bytes(a.values[at] ?? 0)}</span>
						</div>
					))}
					<div class="chart-key">
						<span class="chart-dot" style={{ background: series.line.color }} />
						<span class="chart-name">Fragmentation</span>
						<span class="chart-value">{at === null ? "" : percent((series.line.values[at] ?? 0) * 100)}</span>
					</div>
					{row !== undefined && (
						<dl class="env pop">
							<div>
								<dt>Event</dt>
								<dd>{cell("activity").toLowerCase()}</dd>
							</div>
							<div>
								<dt>Requested</dt>
								<dd>{size("requested_bytes")}</dd>
							</div>
							<div>
								<dt>Allocated</dt>
								<dd>{size("allocation_bytes")}</dd>
							</div>
							<div>
								<dt>In use</dt>
								<dd>{bytes(Number(cell("stack_bytes")) + Number(cell("heap_bytes")))}</dd>
							</div>
							<div>
								<dt>Op</dt>
								<dd class="wrap">{cell("tf_op")}</dd>
							</div>
							<div>
								<dt>Step</dt>
								<dd>{cell("step")}</dd>
							</div>
							<div>
								<dt>Region</dt>
								<dd>{cell("region_type")}</dd>
							</div>
							<div>
								<dt>Type</dt>
								<dd>
									{cell("data_type")} {cell("shape")}
								</dd>
							</div>
						</dl>
					)}
				</div>
			</div>
		</section>
	);
}
