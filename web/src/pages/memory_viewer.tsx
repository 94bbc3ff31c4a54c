/*
 * memory_viewer.tsx - the memory of a compiled program: its size over the program, the buffers of the peak in the order of coming and by
 * size, and what each of them is. Pointing at a buffer shows its life in the chart.
 */
import { useMemo, useState } from "preact/hooks";
import { column, numbers, propNumber, propText, strings, table } from "../api/table";
import type { Cell, Result, TableData } from "../api/types";
import { css, nameColor } from "../base/color";
import { bytes, count, significant } from "../base/format";
import { useTheme } from "../base/theme";
import { adjust, toolHref, useQuery } from "../base/url";
import { TimeChart } from "../chart/lines";
import { Figure, Verdict } from "../widgets/conclusion";
import { Grid } from "../widgets/grid";
import { filterFor } from "../widgets/grid_model";
import { Hint } from "../widgets/hint";
import { Failure, Notes, Waiting } from "../widgets/notes";
import { ToolLinks, type Way } from "../widgets/tool_links";
import { useResult } from "./answer";
import { blocksOf } from "./memory_blocks";
import { MemoryMap } from "./memory_map";
import { ProgramChoice, programsOf, shownHost } from "./programs";
import { csvAddress, type Session } from "./session";

const SPACES: readonly [string, string][] = [
	["0", "Main memory"],
	["1", "VMEM"],
	["2", "Sflag"],
	["3", "CMEM"],
	["4", "SMEM"],
	["5", "Host"],
	["6", "SparseCore"],
];

export function MemoryViewerPage({ session }: { session: Session }) {
	const module = useQuery("module_name");
	const program = useQuery("program_id");
	const space = useQuery("memory_space");
	const { value, error, loading } = useResult(session, {
		module_name: module,
		program_id: module ? "" : program,
		memory_space: space,
	});
	return (
		<div class="page">
			<h1 class="visually-hidden">{session.tool.title}</h1>
			{error && <Failure text={error} />}
			{(error || value) && (
				<Choices
					result={value}
					module={module || propText(table(value ?? EMPTY, "timeline"), "module")}
					space={space || "0"}
				/>
			)}
			{!value && loading && <Waiting what="Simulating the program's memory…" />}
			{value && <MemoryViewer result={value} session={session} />}
		</div>
	);
}

const EMPTY: Result = { tool: "", title: "", run: "", host: "", notes: [], tables: [] };

function Choices({ result, module, space }: { result: Result | undefined; module: string; space: string }) {
	return (
		<div class="bar">
			<ProgramChoice programs={programsOf(result)} name={module} host={shownHost(result)} />
			<label class="field">
				Memory
				<select
					class="select"
					value={space}
					onChange={(e) => adjust({ memory_space: e.currentTarget.value === "0" ? undefined : e.currentTarget.value })}
				>
					{SPACES.map(([v, label]) => (
						<option key={v} value={v}>
							{label}
						</option>
					))}
				</select>
			</label>
		</div>
	);
}

/* A buffer: a row of the table that it was pointed at in. */
interface Pointed {
	t: TableData;
	row: number;
}

const idOf = (p: Pointed | null): number => (p ? (numbers(p.t, "buffer_id")?.[p.row] ?? -1) : -1);

function MemoryViewer({ result, session }: { result: Result; session: Session }) {
	const timeline = table(result, "timeline");
	const peak = table(result, "peak");
	const blocks = table(result, "blocks");
	const [pointed, setPointed] = useState<Pointed | null>(null);
	const [kept, setKept] = useState<Pointed | null>(null);
	const shown = pointed ?? kept;
	const spans = useMemo(() => {
		const t = table(result, "spans");
		const ids = numbers(t, "buffer_id") ?? [];
		const begin = numbers(t, "begin") ?? [];
		const end = numbers(t, "end") ?? [];
		return new Map(ids.map((id, i) => [id, [begin[i] ?? 0, end[i] ?? 0] as const]));
	}, [result]);
	const map = useMemo(() => blocksOf(blocks), [blocks]);
	if (!timeline?.nrows)
		return (
			<>
				<Notes notes={result.notes} />
				<Verdict of={result.conclusion} tools={session.toolNames} />
				<p class="empty">The profile does not record how this memory is used over time.</p>
			</>
		);
	const last = timeline.nrows - 1;
	/* What is never reused lives from the begin to the end. */
	const life = shown ? (spans.get(idOf(shown)) ?? ([0, last] as const)) : undefined;
	const inPeak = { peak, onPoint: of(peak, setPointed), onKeep: of(peak, setKept), kept: rowIn(peak, kept) };
	return (
		<>
			<Notes notes={result.notes} />
			<Verdict of={result.conclusion} tools={session.toolNames}>
				<Figure id="peak_heap" value={bytes(propNumber(timeline, "peak_heap") ?? 0)}>
					at the peak of {propText(timeline, "module_name")}
				</Figure>
			</Verdict>
			<div class="columns columns-tall">
				<div class="column-side">
					<Facts t={timeline} />
					<BufferCard shown={shown} life={life} last={last} module={propText(timeline, "module")} session={session} />
				</div>
				<div class="column-main">
					<HeapChart t={timeline} life={life} shown={shown} />
					{map && (
						<MemoryMap
							blocks={map}
							last={last}
							peak_at={(propNumber(timeline, "peak_at") ?? 0) + 1}
							shown={idOf(shown)}
							onPoint={of(blocks, setPointed)}
							onKeep={of(blocks, setKept)}
						/>
					)}
					{peak && peak.nrows > 0 && (
						<section class="card" aria-label="Buffers at the peak">
							<h2>
								Buffers at the peak <span class="aim">{count(peak.nrows)}, each as wide as it is large</span>
							</h2>
							<Blocks title="By program order" {...inPeak} by="number" />
							<Blocks title="By size" {...inPeak} by="by_size" />
							<Blocks title="By padding" {...inPeak} by="padding" />
						</section>
					)}
				</div>
			</div>
			{peak && (
				<section class="card" aria-label="Table of buffers">
					<h2>Buffers at the peak</h2>
					<Grid
						table={columnsOf(peak, SHOWN)}
						sort={{ col: "size_bytes", down: true }}
						maxRows={16}
						onRow={of(peak, setKept)}
						selected={rowIn(peak, kept)}
						csv={csvAddress(session, peak.name)}
					/>
				</section>
			)}
		</>
	);
}

const of = (t: TableData | undefined, set: (p: Pointed | null) => void) => (row: number | null) =>
	set(t && row !== null ? { t, row } : null);

/* The same buffer in another table, if it is there. */
function rowIn(t: TableData | undefined, p: Pointed | null): number | null {
	const id = idOf(p);
	if (!t || !p) return null;
	const row = p.t === t ? p.row : id < 0 ? -1 : (numbers(t, "buffer_id")?.indexOf(id) ?? -1);
	return row < 0 ? null : row;
}

const SHOWN = [
	"name",
	"size_bytes",
	"unpadded_bytes",
	"padding_bytes",
	"expansion",
	"category",
	"shape",
	"op_name",
	"opcode",
	"source_file",
	"source_line",
];

/* What stands for many small ones has a label alone. */
function columnsOf(t: TableData, ids: readonly string[]): TableData {
	const at = ids.map((id) => t.cols.findIndex((c) => c.id === id)).filter((k) => k >= 0);
	const label = column(t, "label");
	const cells = (k: number) =>
		t.cols[k]?.id === "name" ? t.data[k]?.map((v, i) => v || (label?.[i] ?? "")) : t.data[k];
	return { ...t, cols: at.flatMap((k) => t.cols[k] ?? []), data: at.map((k) => cells(k) ?? []) };
}

const FACTS: readonly [string, string, string][] = [
	["peak_unpadded_heap", "Peak without padding", "The buffers alive at the peak, counted without padding."],
	[
		"total_buffer_allocation",
		"All allocations",
		"Sum of all allocations except thread-local ones. Fragmentation makes it larger than the peak.",
	],
	["indefinite_buffer_allocation", "Never reused", "Allocations that live as long as the program."],
	["entry_computation_parameters", "Parameters", "Allocations of the program's parameters."],
	["maybe_live_out", "Results", "Allocations of possible results."],
	["non_reusable", "Thread-local and tuples", "Allocations that are thread-local or tuples."],
];

function Facts({ t }: { t: TableData }) {
	return (
		<section class="card" aria-label="Summary">
			<h2>Summary</h2>
			<div class="metrics">
				<dl>
					{FACTS.filter(([id]) => propText(t, id)).map(([id, label, doc]) => (
						<div class="metric" key={id}>
							<dt>
								<Hint text={doc}>{label}</Hint>
							</dt>
							<dd>
								<span class="metric-value" data-prop={id}>
									{propText(t, id)}
								</span>
							</dd>
						</div>
					))}
				</dl>
			</div>
		</section>
	);
}

const POWERS = Array.from({ length: 48 }, (_, i) => 2 ** i);

/* Sizes stand before each event: what event `peak_at` reached is seen at the next point. */
function HeapChart({ t, life, shown }: { t: TableData; life: readonly [number, number] | undefined; shown: Pointed | null }) {
	const dark = useTheme().dark;
	const [at, setAt] = useState<number | null>(null);
	const series = useMemo(
		() => ({
			x: numbers(t, "order") ?? [],
			areas: [{ label: "Heap", color: dark ? "#3c6ea5" : "#8fb6e3", values: numbers(t, "heap_bytes") ?? [] }],
			line: {
				label: "Without padding",
				color: dark ? "#e8a13c" : "#c06a00",
				values: numbers(t, "unpadded_bytes") ?? [],
			},
		}),
		[t, dark],
	);
	const name = at === null ? "" : (strings(t, "instruction")?.[at] ?? "");
	const span =
		life && shown
			? {
					begin: life[0],
					end: life[1],
					value: numbers(shown.t, "size_bytes")?.[shown.row] ?? 0,
					color: css(nameColor(strings(shown.t, "name")?.[shown.row] ?? "", dark)),
				}
			: undefined;
	return (
		<section class="card" aria-label="Heap over the program">
			<h2>
				Heap over the program <span class="aim">the line is the peak</span>
			</h2>
			<div class="chart chart-under">
				<TimeChart
					{...series}
					lineOnLeft
					xText={(v) => count(Math.round(v))}
					yText={(v) => (v === 0 ? "0" : bytes(v))}
					yIncrs={POWERS}
					onPoint={setAt}
					height={220}
					mark={(propNumber(t, "peak_at") ?? 0) + 1}
					span={span}
					title="Size of the heap over the program's order"
				/>
				<div class="chart-legend">
					<div class="chart-at">{at === null ? "Program order" : `at point ${count(series.x[at] ?? 0)}`}</div>
					{[series.areas[0], series.line].map(
						(a) =>
							a && (
								<div class="chart-key" key={a.label}>
									<span class="chart-dot" style={{ background: a.color }} />
									<span class="chart-name">{a.label}</span>
									<span class="chart-value">{at === null ? "" : bytes(a.values[at] ?? 0)}</span>
								</div>
							),
					)}
					{name && <div class="chart-key muted">{name}</div>}
				</div>
			</div>
		</section>
	);
}

/* Buffers as blocks as wide as they are large. */
function Blocks({
	title,
	peak,
	by,
	kept,
	onPoint,
	onKeep,
}: {
	title: string;
	peak: TableData | undefined;
	by: "number" | "by_size" | "padding";
	kept: number | null;
	onPoint: (row: number | null) => void;
	onKeep: (row: number | null) => void;
}) {
	const dark = useTheme().dark;
	const labels = strings(peak, "label") ?? [];
	const names = (strings(peak, "name") ?? []).map((n, i) => n || (labels[i] ?? ""));
	const size = numbers(peak, by === "padding" ? "padding_bytes" : "size_bytes") ?? [];
	const rank = by === "padding" ? size.map((v) => -v) : (numbers(peak, by) ?? []);
	const order = size
		.map((_, i) => i)
		.filter((i) => by !== "padding" || (size[i] ?? 0) > 0)
		.sort((a, b) => (rank[a] ?? a) - (rank[b] ?? b) || a - b);
	if (!order.length) return null;
	return (
		<div>
			<h3>{title}</h3>
			<div
				class="blocks"
				role="img"
				aria-label={`Buffers at the peak, ${title.toLowerCase()}`}
				onPointerLeave={() => onPoint(null)}
			>
				{order.map((i) => (
					<span
						key={i}
						class={kept === i ? "block block-on" : "block"}
						title={`${names[i] ?? ""}: ${bytes(size[i] ?? 0)}`}
						style={{ flexGrow: Math.max(1, size[i] ?? 0), background: css(nameColor(names[i] ?? "", dark)) }}
						onPointerEnter={() => onPoint(i)}
						onClick={() => onKeep(kept === i ? null : i)}
					>
						{names[i]}
					</span>
				))}
			</div>
		</div>
	);
}

/* Of the buffer: size, what padding makes of it, what it is and where it comes from. */
const FIELDS: readonly [string, string][] = [
	["opcode", "Category"],
	["size_bytes", "Size"],
	["unpadded_bytes", "Unpadded size"],
	["expansion", "Expansion"],
	["padding_bytes", "Extra memory"],
	["shape", "Shape"],
	["op_name", "Framework op"],
	["category", "Allocation type"],
	["offset_bytes", "Address"],
	["source_file", "Source"],
];

interface BufferProps {
	shown: Pointed | null;
	life: readonly [number, number] | undefined;
	last: number;
	module: string;
	session: Session;
}

function BufferCard({ shown, life, last, module, session }: BufferProps) {
	const dark = useTheme().dark;
	if (!shown)
		return (
			<section class="card card-stays" aria-label="Buffer" aria-live="polite">
				<h2>Buffer</h2>
				<p class="muted">Point at a buffer to see what it is and when it lives; click to keep it.</p>
			</section>
		);
	const cell = (id: string): Cell => column(shown.t, id)?.[shown.row] ?? null;
	const text = (id: string) => {
		const v = cell(id);
		if (id === "expansion") return typeof v === "number" ? `${significant(v)} ×` : "";
		if (typeof v === "number") return bytes(v);
		const line = id === "source_file" && v && Number(cell("source_line")) > 0 ? `:${String(cell("source_line"))}` : "";
		return v === null ? "" : String(v) + line;
	};
	const name = String(cell("name") || cell("label") || "");
	/* Without the place in its tuple. */
	const plain = String(cell("instruction") || name.replace(/\{[\d,]*\}$/, ""));
	const stack = String(cell("source_stack") ?? "");
	const op = text("op_name");
	return (
		<section class="card card-stays" aria-label="Buffer" aria-live="polite">
			<header>
				<h2 class="wrap">
					<span class="chart-dot" style={{ background: css(nameColor(name, dark)) }} /> {name}
				</h2>
				{idOf(shown) >= 0 && <Ways name={plain} module={module} session={session} />}
			</header>
			<dl class="env">
				{FIELDS.map(
					([id, label]) =>
						text(id) && (
							<div key={id}>
								<dt>{label}</dt>
								<dd class="wrap" data-field={id}>
									{id === "op_name" && session.toolNames.includes("framework_op_stats") ? (
										<a href={toolHref("framework_op_stats", { filter: op })}>{op}</a>
									) : (
										text(id)
									)}
								</dd>
							</div>
						),
				)}
				{life && (
					<div>
						<dt>Lives</dt>
						<dd data-field="life">
							{life[0] <= 0 && life[1] >= last
								? "as long as the program"
								: `from point ${count(life[0])} to ${count(life[1])} of ${count(last)}`}
						</dd>
					</div>
				)}
			</dl>
			{stack.includes("\n") && (
				<details class="fold">
					<summary>Source stack</summary>
					<pre class="op-text">{stack}</pre>
				</details>
			)}
		</section>
	);
}

function Ways({ name, module, session }: { name: string; module: string; session: Session }) {
	const ways: readonly Way[] = [
		["graph_viewer", "Graph", { module_name: module, node_name: name }],
		["op_profile", "Op profile", { op: name }],
		["hlo_stats", "HLO stats", { filter: filterFor("hlo_op_name", name) }],
	];
	return <ToolLinks name={name} ways={ways} tools={session.toolNames} />;
}
