/*
 * memory_viewer.tsx - the memory of a compiled program: its size over the program, the buffers of the peak in the order of coming and by
 * size, and what each of them is. Pointing at a buffer shows its life in the chart.
 */
import { useMemo, useState } from "preact/hooks";
import { useJson } from "../api/loadable";
import { column, numbers, propNumber, propText, strings, table } from "../api/table";
import type { Cell, Result, TableData } from "../api/types";
import { css, nameColor } from "../base/color";
import { bytes, count, percent } from "../base/format";
import { useTheme } from "../base/theme";
import { adjust, toolHref, useQuery } from "../base/url";
import { TimeChart } from "../chart/lines";
import { Grid } from "../widgets/grid";
import { Hint } from "../widgets/hint";
import { Failure, Notes, Waiting } from "../widgets/notes";
import { csvAddress, type Session } from "./session";

const SPACES: readonly [string, string][] = [
	["0", "HBM"],
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
	const { value, error, loading } = useJson<Result>(`api/tool/${encodeURIComponent(session.tool.name)}`, {
		run: session.run.run,
		host: session.host,
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
					modules={strings(table(value ?? EMPTY, "modules"), "module_name") ?? []}
					module={module || propText(table(value ?? EMPTY, "timeline"), "module")}
					space={space || "0"}
				/>
			)}
			{!value && loading && <Waiting what="Playing the program's memory…" />}
			{value && <MemoryViewer result={value} session={session} />}
		</div>
	);
}

const EMPTY: Result = { tool: "", title: "", run: "", host: "", notes: [], tables: [] };

function Choices({ modules, module, space }: { modules: readonly string[]; module: string; space: string }) {
	const names = modules.includes(module) || !module ? modules : [module, ...modules];
	return (
		<div class="bar">
			<label class="field">
				Program
				<select class="select" value={module} onChange={(e) => adjust({ module_name: e.currentTarget.value })}>
					{names.map((m) => (
						<option key={m} value={m}>
							{m}
						</option>
					))}
				</select>
			</label>
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

function MemoryViewer({ result, session }: { result: Result; session: Session }) {
	const timeline = table(result, "timeline");
	const peak = table(result, "peak");
	const [row, setRow] = useState<number | null>(null);
	const [kept, setKept] = useState<number | null>(null);
	const shown = row ?? kept;
	const spans = useMemo(() => {
		const t = table(result, "spans");
		const ids = numbers(t, "buffer_id") ?? [];
		const begin = numbers(t, "begin") ?? [];
		const end = numbers(t, "end") ?? [];
		return new Map(ids.map((id, i) => [id, [begin[i] ?? 0, end[i] ?? 0] as const]));
	}, [result]);
	const id = shown === null ? undefined : numbers(peak, "buffer_id")?.[shown];
	const last = (numbers(timeline, "order")?.length ?? 1) - 1;
	/* What is never reused lives from the begin to the end. */
	const span = id === undefined ? undefined : (spans.get(id) ?? ([0, last] as const));
	if (!timeline?.nrows)
		return (
			<>
				<Notes notes={result.notes} />
				<p class="empty">This program uses no memory of this kind.</p>
			</>
		);
	return (
		<>
			<Notes notes={result.notes} />
			<Verdict t={timeline} />
			<div class="columns">
				<div class="column-side">
					<Facts t={timeline} />
					<BufferCard peak={peak} row={shown} module={propText(timeline, "module")} session={session} />
				</div>
				<div class="column-main">
					<HeapChart t={timeline} span={span} />
					{peak && peak.nrows > 0 && (
						<section class="card" aria-label="Buffers at the peak">
							<h2>
								Buffers at the peak <span class="aim">{count(peak.nrows)}</span>
							</h2>
							<Blocks
								title="In the order of coming"
								peak={peak}
								by="number"
								onPoint={setRow}
								onKeep={setKept}
								kept={kept}
							/>
							<Blocks title="By size" peak={peak} by="by_size" onPoint={setRow} onKeep={setKept} kept={kept} />
						</section>
					)}
				</div>
			</div>
			{peak && (
				<section class="card" aria-label="Table of buffers">
					<h2>Buffers</h2>
					<Grid
						table={columnsOf(peak, SHOWN)}
						sort={{ col: "size_bytes", down: true }}
						maxRows={16}
						onRow={setKept}
						csv={csvAddress(session)}
					/>
				</section>
			)}
		</>
	);
}

const SHOWN = [
	"name",
	"size_bytes",
	"unpadded_bytes",
	"category",
	"shape",
	"op_name",
	"opcode",
	"source_file",
	"source_line",
];

function columnsOf(t: TableData, ids: readonly string[]): TableData {
	const at = ids.map((id) => t.cols.findIndex((c) => c.id === id)).filter((k) => k >= 0);
	return { ...t, cols: at.flatMap((k) => t.cols[k] ?? []), data: at.map((k) => t.data[k] ?? []) };
}

function Verdict({ t }: { t: TableData }) {
	const peak = propNumber(t, "peak_heap") ?? 0;
	const plain = propNumber(t, "peak_unpadded_heap") ?? peak;
	const lost = peak > 0 ? (peak - plain) / peak : 0;
	const total = propNumber(t, "total_buffer_allocation") ?? peak;
	return (
		<section class="verdict" aria-label="Verdict">
			<div class="verdict-figure">
				<span class="verdict-number" data-prop="peak_heap">
					{bytes(peak)}
				</span>
				<span class="muted">at the peak of {propText(t, "module_name")}</span>
			</div>
			<p class="verdict-text">
				{lost > 0.0005
					? `Padding costs ${bytes(peak - plain)} of it (${percent(lost * 100)}).`
					: "Padding costs nothing."}{" "}
				{total > peak * 1.001
					? `The program allocates ${bytes(total)}, ${percent(((total - peak) / peak) * 100)} above the peak.`
					: "The program allocates no more than that."}
			</p>
		</section>
	);
}

const FACTS: readonly [string, string, string][] = [
	["peak_unpadded_heap", "Peak without padding", "The buffers alive at the peak, counted without padding."],
	[
		"total_buffer_allocation",
		"All allocations",
		"Sum of all allocations but thread-local ones. Above the peak by fragmentation.",
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
function HeapChart({ t, span }: { t: TableData; span: readonly [number, number] | undefined }) {
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
	return (
		<section class="card" aria-label="Heap over the program">
			<h2>Heap over the program</h2>
			<div class="chart">
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
					<div class="chart-at">{at === null ? "Program order" : `at ${count(series.x[at] ?? 0)}`}</div>
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
					{name && <p class="muted wrap">{name}</p>}
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
	peak: TableData;
	by: "number" | "by_size";
	kept: number | null;
	onPoint: (row: number | null) => void;
	onKeep: (row: number | null) => void;
}) {
	const dark = useTheme().dark;
	const size = numbers(peak, "size_bytes") ?? [];
	const rank = numbers(peak, by) ?? [];
	const names = strings(peak, "name") ?? [];
	const order = size.map((_, i) => i).sort((a, b) => (rank[a] ?? a) - (rank[b] ?? b));
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

const FIELDS: readonly [string, string][] = [
	["size_bytes", "Size"],
	["unpadded_bytes", "Unpadded"],
	["shape", "Shape"],
	["category", "Kind"],
	["instruction", "Instruction"],
	["opcode", "Opcode"],
	["op_name", "Framework op"],
	["source_file", "Source"],
];

interface BufferProps {
	peak: TableData | undefined;
	row: number | null;
	module: string;
	session: Session;
}

function BufferCard({ peak, row, module, session }: BufferProps) {
	const cell = (id: string): Cell => (row === null ? null : (column(peak, id)?.[row] ?? null));
	const text = (id: string) => {
		const v = cell(id);
		if (typeof v === "number") return bytes(v);
		const line = id === "source_file" && v && Number(cell("source_line")) > 0 ? `:${String(cell("source_line"))}` : "";
		return v === null ? "" : String(v) + line;
	};
	return (
		<section class="card" aria-label="Buffer" aria-live="polite">
			<h2 class="wrap">{row === null ? "Buffer" : String(cell("name"))}</h2>
			{row === null ? (
				<p class="muted">Point at a buffer to see what it is and when it lives; click to keep it.</p>
			) : (
				<dl class="env">
					{FIELDS.map(
						([id, label]) =>
							text(id) && (
								<div key={id}>
									<dt>{label}</dt>
									<dd class="wrap">
										{id === "instruction" && session.toolNames.includes("graph_viewer") ? (
											<a href={toolHref("graph_viewer", { module_name: module, node_name: text(id) })}>
												{text(id)}
											</a>
										) : (
											text(id)
										)}
									</dd>
								</div>
							),
					)}
				</dl>
			)}
		</section>
	);
}
