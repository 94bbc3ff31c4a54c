/*
 * tf_data.tsx - which tf.data pipeline is slowest, and which of its stages the program waits for: the verdict, the bottlenecks, all
 * pipelines, and the stages of one element as a graph. The slowest host, pipeline and element are shown first.
 */
import { useCallback, useMemo } from "preact/hooks";
import { column, numbers, strings, table } from "../api/table";
import type { Result, TableData } from "../api/types";
import { classes } from "../base/dom";
import { count, time_ps } from "../base/format";
import { adjust, momentHref, useQuery } from "../base/url";
import { drawing } from "../chart/drawing";
import { GraphView } from "../chart/graph_view";
import { Verdict } from "../widgets/conclusion";
import { Grid } from "../widgets/grid";
import { Notes } from "../widgets/notes";
import { RichText } from "../widgets/rich_text";
import { AnswerPage } from "./answer";
import { csvAddress, type Session } from "./session";

const MOST_RANKS = 1000;
const DRAWN = { drawing: "true" };

export function TfDataPage({ session }: { session: Session }) {
	return (
		<AnswerPage session={session} params={DRAWN} waiting="Following the elements through the pipelines…">
			{(result) => <TfData result={result} session={session} />}
		</AnswerPage>
	);
}

function TfData({ result, session }: { result: Result; session: Session }) {
	const slow = table(result, "bottlenecks");
	const all = table(result, "input_pipelines");
	const at = usePipeline(slow, all);
	return (
		<>
			<Notes notes={result.notes} />
			<Verdict of={result.conclusion} tools={session.toolNames} />
			{at >= 0 && <Pipeline key={at} result={result} at={at} session={session} />}
			{slow && slow.nrows > 0 && <Bottlenecks t={slow} session={session} />}
			{all && all.nrows > 0 && (
				<section class="card" aria-label="All input pipelines">
					<h2>
						All input pipelines <span class="aim">{count(all.nrows)}</span>
					</h2>
					<Grid
						table={{ ...all, cols: all.cols.filter((c) => c.id !== "id"), data: all.data.filter((_, i) => all.cols[i]?.id !== "id") }}
						maxRows={10}
						csv={csvAddress(session)}
						onRow={(row) => choose(all, row)}
					/>
					<p class="muted">A call counts as slow above 50 µs. Click a pipeline to see its stages.</p>
				</section>
			)}
		</>
	);
}

function cell(t: TableData | undefined, id: string, row: number): string {
	return String(column(t, id)?.[row] ?? "");
}

/* The row of the pipeline in the URL, else of the slowest. */
function usePipeline(slow: TableData | undefined, all: TableData | undefined): number {
	const host = useQuery("at_host") || cell(slow, "host", 0);
	const name = useQuery("pipeline") || cell(slow, "input_pipeline", 0);
	const hosts = strings(all, "host") ?? [];
	const names = strings(all, "input_pipeline") ?? [];
	const row = hosts.findIndex((h, i) => h === host && names[i] === name);
	return row >= 0 ? row : hosts.length ? 0 : -1;
}

function choose(t: TableData, row: number): void {
	adjust({ at_host: cell(t, "host", row), pipeline: cell(t, "input_pipeline", row), rank: undefined, stage: undefined });
}

function Bottlenecks({ t, session }: { t: TableData; session: Session }) {
	return (
		<section class="card" aria-label="Bottlenecks">
			<h2>
				Bottlenecks, slowest first <span class="aim">{count(t.nrows)}</span>
			</h2>
			<div class="scroll">
				<table class="plain-table">
					<thead>
						<tr>
							<th>Host</th>
							<th>Pipeline</th>
							<th class="num">Slowest element</th>
							<th>Bottleneck</th>
							<th class="num">Its own work</th>
							<th>What to do</th>
						</tr>
					</thead>
					<tbody>
						{Array.from({ length: Math.min(t.nrows, 200) }, (_, i) => (
							<tr key={i}>
								<td>{cell(t, "host", i)}</td>
								<td>
									<button class="link" onClick={() => choose(t, i)}>
										{cell(t, "input_pipeline", i)}
									</button>
								</td>
								<td class="num">{time_ps(numbers(t, "max_latency_ps")?.[i] ?? 0)}</td>
								<td>
									<details class="fold-name">
										<summary>{cell(t, "iterator_name", i)}</summary>
										<span class="wrap muted">{cell(t, "iterator_long_name", i)}</span>
									</details>
								</td>
								<td class="num">{time_ps(numbers(t, "iterator_latency_ps")?.[i] ?? 0)}</td>
								<td class="wide">
									<RichText text={cell(t, "suggestion", i)} tools={session.toolNames} />
								</td>
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</section>
	);
}

/* ---- one element of one pipeline ---- */

interface Stage {
	id: string;
	name: string;
	long: string;
	ahead: boolean;
	call: number; /* row in calls, -1: it did nothing for this element */
}

interface Element {
	stages: Stage[];
	ranks: { rank: number; ps: number }[];
}

/* What the stages, which are rows of their table, did for the element of this rank. */
function element(result: Result, host: string, root: string, rank: number, rows: readonly number[]): Element {
	const it = table(result, "iterators");
	const calls = table(result, "calls");
	const callOf = new Map<string, number>();
	const ranks: Element["ranks"] = [];
	const duration = numbers(calls, "duration_ps") ?? [];
	const [cHost, cPipe, cRank, cId] = [strings(calls, "host"), strings(calls, "pipeline_id"), numbers(calls, "rank"), strings(calls, "id")];
	for (let i = 0; i < (calls?.nrows ?? 0); i++) {
		if (cHost?.[i] !== host || cPipe?.[i] !== root) continue;
		if (cId?.[i] === root) ranks.push({ rank: cRank?.[i] ?? 0, ps: duration[i] ?? 0 });
		if (cRank?.[i] === rank) callOf.set(cId?.[i] ?? "", i);
	}
	const stages = rows.map((i) => ({
		id: cell(it, "id", i),
		name: cell(it, "name", i),
		long: cell(it, "long_name", i),
		ahead: column(it, "is_async")?.[i] === true,
		call: callOf.get(cell(it, "id", i)) ?? -1,
	}));
	return { stages, ranks };
}

const LINE_PX = 16;

/* Below the stage's name. */
function times(s: Stage, calls: TableData | undefined): string[] {
	const ps = (id: string) => time_ps(numbers(calls, id)?.[s.call] ?? 0);
	if (s.call < 0) return ["not called for this element"];
	return [
		`Start Time: ${ps("start_time_ps")}`,
		`Total Duration: ${ps("duration_ps")}`,
		`Self Duration: ${ps("self_time_ps")}`,
		`# Calls: ${count(numbers(calls, "calls")?.[s.call] ?? 0)}`,
	];
}

function Pipeline({ result, at, session }: { result: Result; at: number; session: Session }) {
	const all = table(result, "input_pipelines");
	const calls = table(result, "calls");
	const host = cell(all, "host", at);
	const rank = Number(useQuery("rank")) || 0;
	const long = useQuery("long") === "1";
	const chosen = useQuery("stage");
	/* Two pictures of each pipeline: with short names, and with long ones. */
	const picture = useMemo(() => drawing(result, 2 * at + (long ? 1 : 0)), [result, at, long]);
	const e = useMemo(() => element(result, host, cell(all, "id", at), rank, picture.rows), [result, at, rank, picture]);
	const texts = useMemo(() => e.stages.map((s, i) => [...(picture.lines[i] ?? []), ...times(s, calls)]), [e]);
	const is = (id: string, i: number) => column(calls, id)?.[e.stages[i]?.call ?? -1] === true;
	const worst = e.stages.findIndex((_, i) => is("is_bottleneck", i));
	const found = e.stages.findIndex((s) => s.id === chosen);
	const selected = found >= 0 ? found : worst >= 0 ? worst : null;
	const node = useCallback(
		(i: number) => {
			const { w, h } = picture.nodes[i] ?? { w: 0, h: 0 };
			const t = texts[i] ?? [];
			/* A stage that was not called leaves lines free. */
			const top = (h - t.length * LINE_PX) / 2 - 4;
			return t.map((text, k) => (
				<text
					key={k}
					class={k < (picture.lines[i]?.length ?? 0) ? "graph-title" : ""}
					x={w / 2}
					y={top + (k + 1) * LINE_PX}
					text-anchor="middle"
				>
					{text}
				</text>
			));
		},
		[picture, texts],
	);
	return (
		<section class="card" aria-label="Input pipeline graph">
			<div class="bar bar-tools">
				<h2>Input pipeline graph</h2>
				<Choices all={all} at={at} ranks={e.ranks} rank={rank} />
				<label class="check">
					<input type="checkbox" checked={long} onChange={(x) => adjust({ long: x.currentTarget.checked ? "1" : undefined })} />
					Long names
				</label>
			</div>
			<div class="graph-page tfd-page">
				<div class="graph-side-by">
					<GraphView
						drawing={picture}
						title={`Stages of ${cell(all, "input_pipeline", at)} on ${host}`}
						start={selected ?? 0}
						selected={selected}
						onSelect={(i) => adjust({ stage: i === null ? undefined : e.stages[i]?.id })}
						nodeLabel={(i) => (texts[i] ?? []).join(", ")}
						nodeClass={(i) => classes("tfd-node", is("is_blocking", i) && "tfd-critical", is("is_bottleneck", i) && "tfd-bottleneck")}
						node={node}
						edgeClass={(i) => {
							const edge = picture.edges[i];
							return edge && is("is_blocking", edge.from) && is("is_blocking", edge.to) ? "tfd-critical-edge" : "";
						}}
					/>
					<ul class="graph-legend" aria-label="Outlines">
						<li>
							<span class="graph-swatch tfd-swatch-bottleneck" />
							bottleneck
						</li>
						<li>
							<span class="graph-swatch tfd-swatch-critical" />
							critical path
						</li>
						<li>
							<span class="graph-swatch tfd-swatch-other" />
							not waited for
						</li>
					</ul>
				</div>
				<StageCard
					stage={selected === null ? undefined : e.stages[selected]}
					calls={calls}
					critical={selected !== null && is("is_blocking", selected)}
					worst={selected !== null && selected === worst}
					session={session}
				/>
			</div>
		</section>
	);
}

function Choices({ all, at, ranks, rank }: { all: TableData | undefined; at: number; ranks: Element["ranks"]; rank: number }) {
	const hosts = [...new Set(strings(all, "host") ?? [])];
	const host = cell(all, "host", at);
	const pipelines = (strings(all, "host") ?? []).flatMap((h, i) => (h === host ? [i] : []));
	return (
		<>
			<label class="field">
				Host
				<select
					class="select"
					value={host}
					onChange={(e) => all && choose(all, (strings(all, "host") ?? []).indexOf(e.currentTarget.value))}
				>
					{hosts.map((h) => (
						<option key={h}>{h}</option>
					))}
				</select>
			</label>
			<label class="field">
				Input pipeline
				<select class="select" value={String(at)} onChange={(e) => all && choose(all, Number(e.currentTarget.value))}>
					{pipelines.map((i) => (
						<option key={i} value={String(i)}>
							{cell(all, "input_pipeline", i)}
						</option>
					))}
				</select>
			</label>
			<label class="field" title="Elements of the pipeline, the slowest first">
				Rank
				<select
					class="select"
					value={String(rank)}
					onChange={(e) => adjust({ rank: e.currentTarget.value === "0" ? undefined : e.currentTarget.value })}
				>
					{ranks.slice(0, MOST_RANKS).map((r) => (
						<option key={r.rank} value={String(r.rank)}>
							{`${r.rank}: ${time_ps(r.ps)}`}
						</option>
					))}
				</select>
			</label>
		</>
	);
}

interface StageProps {
	stage: Stage | undefined;
	calls: TableData | undefined;
	critical: boolean;
	worst: boolean;
	session: Session;
}

function StageCard({ stage, calls, critical, worst, session }: StageProps) {
	if (!stage)
		return (
			<div class="tfd-card">
				<h3>Stage</h3>
				<p class="muted">Click a stage to see its long name and times.</p>
			</div>
		);
	const ps = (id: string) => time_ps(numbers(calls, id)?.[stage.call] ?? 0);
	const facts: [string, string][] = [
		["Role", worst ? "bottleneck: most work of its own on the critical path" : critical ? "on the critical path" : "not waited for"],
		["Runs", stage.ahead ? "ahead, on threads of its own" : "when it is asked"],
		...(stage.call < 0
			? []
			: ([
					["Start", ps("start_time_ps")],
					["Total", ps("duration_ps")],
					["Self", ps("self_time_ps")],
					["Calls", count(numbers(calls, "calls")?.[stage.call] ?? 0)],
				] as [string, string][])),
		["Long name", stage.long],
	];
	return (
		<div class="tfd-card" aria-live="polite">
			<h3>{stage.name}</h3>
			<dl class="env">
				{facts.map(([label, v]) => (
					<div key={label}>
						<dt>{label}</dt>
						<dd class="wrap" data-fact={label}>
							{v}
						</dd>
					</div>
				))}
			</dl>
			{session.toolNames.includes("trace_viewer@") && (
				<p>
					<a href={momentHref(stage.long)}>Find it in the timeline</a>
				</p>
			)}
		</div>
	);
}
