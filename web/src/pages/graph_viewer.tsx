/*
 * graph_viewer.tsx - a compiled program around one instruction: what feeds it, what uses its result, what is inside of fusions; what each
 * instruction costs, as hlo_stats measured it; the whole program as text.
 */
import { plainHtml } from "../base/html";
import { useMemo, useState } from "preact/hooks";
import { address } from "../api/fetch";
import { useJson, useText } from "../api/loadable";
import { column, numbers, propNumber, propText, strings, table } from "../api/table";
import type { Result } from "../api/types";
import { useSettled } from "../base/dom";
import { bytes, count } from "../base/format";
import { adjust, momentHref, query, toolHref, useQuery } from "../base/url";
import { useStore } from "../base/store";
import { Verdict } from "../widgets/conclusion";
import { Icon } from "../widgets/icon";
import { Failure, Notes, Waiting } from "../widgets/notes";
import { Suggest } from "../widgets/suggest";
import { TextView } from "../widgets/text_view";
import { ProgramChoice, programsOf, shownHost } from "./programs";
import { costText, draw, EMPTY, GraphPicture, useCosts, type Costs, type Graph } from "./graph_picture";
import type { Session } from "./session";

const TOOL = "graph_viewer";
const TEXTS: Readonly<Record<string, string>> = { short_txt: "Short text", long_txt: "Long text" };
const WIDTHS = ["1", "2", "3", "4", "5", "6", "8", "10"];

/* What the URL says about the program; the rest of it is about the picture. */
function useAsked(session: Session) {
	const q = useStore(query, (x) => x);
	return {
		run: session.run.run,
		host: session.host,
		module_name: q["module_name"],
		program_id: q["program_id"],
		node_name: q["node_name"],
	};
}

export function GraphViewerPage({ session }: { session: Session }) {
	const asked = useAsked(session);
	const type = useQuery("type");
	const width = useQuery("graph_width") || "2";
	const merged = useQuery("merge_fusion") === "true";
	const configs = useQuery("show_metadata") === "true";
	const { value, error, loading } = useJson<Result>(`api/tool/${TOOL}`, {
		...asked,
		drawing: "true",
		graph_width: width,
		merge_fusion: merged ? "true" : undefined,
		show_metadata: configs ? "true" : undefined,
	});
	/* The programs stand in every answer; without one, those of the root's. */
	const other = useJson<Result>(error ? `api/tool/${TOOL}` : null, { run: asked.run, host: asked.host, graph_width: 0 });
	const nodes = table(value ?? EMPTY, "nodes");
	const module = propText(nodes, "module") || asked.module_name || "";
	return (
		<div class="page page-fill">
			<h1 class="visually-hidden">{session.tool.title}</h1>
			<Controls
				result={value ?? other.value}
				module={module}
				root={propText(nodes, "node_name")}
				session={session}
				width={width}
			/>
			{error && <Failure text={error} />}
			{!value && loading && <Waiting what="Reading the program…" />}
			{type in TEXTS ? (
				<ProgramText session={session} module={module} type={type} />
			) : (
				value && <Neighbourhood result={value} session={session} module={module} merged={merged} />
			)}
		</div>
	);
}

/* ---- what to show ---- */

interface ControlsProps {
	result: Result | undefined;
	module: string;
	root: string;
	session: Session;
	width: string;
}

function Controls({ result, module, root, session, width }: ControlsProps) {
	const type = useQuery("type") || "graph";
	const merged = useQuery("merge_fusion") === "true";
	const configs = useQuery("show_metadata") === "true";
	const file = (t: string) => address(`api/tool/${TOOL}`, { run: session.run.run, host: session.host, module_name: module, type: t });
	return (
		<div class="bar bar-tools">
			<ProgramChoice programs={programsOf(result)} name={module} host={shownHost(result)} forget={["node_name", "op"]} />
			<OpSearch key={`${module} ${root}`} module={module} root={root} session={session} />
			<label class="field" title="Maximum distance from the instruction, along operands and users">
				Width
				<select class="select" value={width} onChange={(e) => adjust({ graph_width: e.currentTarget.value })}>
					{(WIDTHS.includes(width) ? WIDTHS : [width, ...WIDTHS]).map((w) => (
						<option key={w}>{w}</option>
					))}
				</select>
			</label>
			<label class="check" title="Draw the instructions inside of fusions">
				<input
					type="checkbox"
					checked={!merged}
					onChange={(e) => adjust({ merge_fusion: e.currentTarget.checked ? undefined : "true" })}
				/>
				Inside of fusions
			</label>
			<label class="check" title="Show the backend config of each instruction">
				<input
					type="checkbox"
					checked={configs}
					onChange={(e) => adjust({ show_metadata: e.currentTarget.checked ? "true" : undefined })}
				/>
				Configs
			</label>
			<span class="spring" />
			<div class="segmented segmented-words" role="group" aria-label="View">
				{[["graph", "Graph"] as const, ...Object.entries(TEXTS)].map(([t, label]) => (
					<button
						key={t}
						class="button"
						aria-pressed={type === t}
						onClick={() => adjust({ type: t === "graph" ? undefined : t })}
					>
						{label}
					</button>
				))}
			</div>
			<details class="menu">
				<summary class="button button-icon" aria-label="Save the program" title="Save the program">
					<Icon name="download" />
				</summary>
				<div class="menu-list">
					{[
						["short_txt", "Short text (.txt)"],
						["long_txt", "Long text (.txt)"],
						["pb", "Proto (.pb)"],
						["pbtxt", "Proto as text (.pbtxt)"],
					].map(([t = "", label]) => (
						<a key={t} class="menu-item" href={file(t)} download={`${module}.${t.replace(/^.*_/, "")}`}>
							{label}
						</a>
					))}
				</div>
			</details>
		</div>
	);
}

function OpSearch({ module, root, session }: { module: string; root: string; session: Session }) {
	const [typed, setTyped] = useState<string | null>(null);
	const find = useSettled(typed === null ? "" : typed.trim().replace(/^%/, ""), 120);
	const { value } = useJson<Result>(find ? `api/tool/${TOOL}` : null, {
		run: session.run.run,
		host: session.host,
		module_name: module,
		type: "names",
		find,
	});
	const t = find ? table(value ?? EMPTY, "names") : undefined;
	const names = strings(t, "name") ?? [];
	const about = strings(t, "op_name") ?? [];
	const shape = strings(t, "shape") ?? [];
	const all = propNumber(t, "count") ?? 0;
	const offers = useMemo(() => names.slice(0, 60).map((name, i) => ({ name, about: about[i] || shape[i] || "" })), [t]);
	return (
		<Suggest
			id="op"
			label="Instruction or computation"
			placeholder="Find an instruction"
			text={typed ?? root}
			onText={setTyped}
			offers={offers}
			more={all > offers.length ? `${count(offers.length)} of ${count(all)} shown` : ""}
			onChoose={(name) => {
				setTyped(null);
				adjust({ module_name: module, program_id: undefined, node_name: name.replace(/^%/, ""), op: undefined, type: undefined });
			}}
		/>
	);
}

function ProgramText({ session, module, type }: { session: Session; module: string; type: string }) {
	const configs = useQuery("show_metadata");
	const op = useQuery("op") || useQuery("node_name");
	const { value, error, loading } = useText(module ? `api/tool/${TOOL}` : null, {
		run: session.run.run,
		host: session.host,
		module_name: module,
		type,
		show_metadata: configs,
	});
	return (
		<section class="card" aria-label="The program as text">
			{error && <Failure text={error} />}
			{value === undefined && loading && <Waiting what="Printing the program…" />}
			{value !== undefined && <TextView key={type} text={value} title={`Text of ${module}`} find={op} />}
		</section>
	);
}

/* ---- the picture and the instruction beside it ---- */

interface PictureProps {
	result: Result;
	session: Session;
	module: string;
	merged: boolean;
}

function Neighbourhood({ result, session, module, merged }: PictureProps) {
	const costs = useCosts(session, module, shownHost(result));
	const nodes = table(result, "nodes");
	const graph = useMemo(() => draw(result), [result]);
	const op = useQuery("op");
	const root = propText(nodes, "node_name");
	const at = graph.names.indexOf(op || root);
	const selected = at < 0 ? null : at;
	const go = (name: string) => adjust({ module_name: module, program_id: undefined, node_name: name, op: undefined });
	return (
		<>
			<Notes notes={result.notes} />
			<Verdict of={result.conclusion} tools={session.toolNames} />
			<div class="graph-page">
				<GraphPicture
					result={result}
					graph={graph}
					costs={costs}
					title={`Graph around ${root || module}`}
					start={graph.names.indexOf(root)}
					selected={selected}
					onSelect={(w) => adjust({ op: w === null ? undefined : graph.names[w] })}
					onOpen={(w) => go(graph.names[w] ?? "")}
				/>
				<OpCard
					result={result}
					what={selected}
					graph={graph}
					costs={costs}
					session={session}
					module={module}
					merged={merged}
					onGo={go}
				/>
			</div>
		</>
	);
}

/* ---- one instruction ---- */

/* How the column defines it: shares of one thing differ by what they are of. */
function docOf(costs: Costs | undefined, label: string): string | undefined {
	const id = MEASURED.find(([, l]) => l === label)?.[0];
	return costs?.t.cols.find((c) => c.id === id)?.doc || undefined;
}

const MEASURED: readonly [string, string][] = [
	["total_self_time", "Self time"],
	["total_self_time_percent", "Share"],
	["avg_time", "Average run"],
	["occurrences", "Runs"],
	["model_flop_rate", "Model rate"],
	["hbm_bw", "HBM"],
	["measured_memory_bw", "Memory"],
];

interface CardProps {
	result: Result;
	what: number | null;
	graph: Graph;
	costs: Costs | undefined;
	session: Session;
	module: string;
	merged: boolean;
	onGo: (name: string) => void;
}

function OpCard({ result, what, graph, costs, session, module, merged, onGo }: CardProps) {
	const nodes = table(result, "nodes");
	const boxes = table(result, "boxes");
	if (what === null)
		return (
			<section class="card graph-card" aria-label="Instruction">
				<h2>Instruction</h2>
				<p class="muted">Click an instruction to see its details and its cost. Double-click it to see its neighbours.</p>
			</section>
		);
	const isBox = what >= graph.drawing.nodes.length;
	const t = isBox ? boxes : nodes;
	const row = isBox ? what - graph.drawing.nodes.length : what;
	const text = (id: string) => String(column(t, id)?.[row] ?? "");
	const name = graph.names[what] ?? "";
	const stat = (id: string) => String((costs && column(costs.t, id)?.[costs.row.get(name) ?? -1]) ?? "");
	const opName = text("op_name") || stat("tf_op_name");
	const program = /\((\d+)\)$/.exec(module)?.[1];
	const has = (tool: string) => session.toolNames.includes(tool);
	const size = numbers(t, "result_bytes")?.[row];
	const facts: [string, preact.ComponentChildren][] = [
		["Kind", isBox ? boxKind(text) : text("opcode") || name.replace(/[.\d]+$/, "")],
		["Shape", text("shape")],
		["Result", size ? bytes(size) : ""],
		["Computation", text("computation")],
		...MEASURED.map(([id, label]): [string, string] => [label, costText(costs, name, id)]),
		["Bound by", stat("bound_by")],
		[
			"Framework op",
			opName && has("framework_op_stats") ? <a href={toolHref("framework_op_stats", { filter: opName })}>{opName}</a> : opName,
		],
		["Source", text("source") || plainHtml(stat("source_info"))],
	];
	return (
		<section class="card graph-card" aria-label="Instruction" aria-live="polite">
			<h2 class="wrap">{name}</h2>
			<div class="bar">
				<button class="button" onClick={() => onGo(name)}>
					Centre here
				</button>
				{!isBox && merged && text("class") === "container" && (
					<button class="button" onClick={() => adjust({ merge_fusion: undefined, node_name: name, graph_width: "1", op: undefined })}>
						Show its inside
					</button>
				)}
			</div>
			<dl class="env">
				{facts.map(
					([label, v]) =>
						v && (
							<div key={label}>
								<dt title={docOf(costs, label)}>{label}</dt>
								<dd class="wrap" data-fact={label}>
									{v}
								</dd>
							</div>
						),
				)}
			</dl>
			{!isBox && <Links what={what} graph={graph} />}
			{(text("expression") || stat("hlo_op_expression")) && (
				<details class="fold">
					<summary>Whole instruction</summary>
					<pre class="graph-text">{text("expression") || stat("hlo_op_expression")}</pre>
				</details>
			)}
			{text("source_stack") && (
				<details class="fold">
					<summary>Source stack</summary>
					<pre class="graph-text">{text("source_stack")}</pre>
				</details>
			)}
			<p class="graph-ways">
				{has("hlo_stats") && costs?.row.has(name) && <a href={toolHref("hlo_stats", { filter: `hlo_op_name:${name}` })}>HLO stats</a>}
				{has("op_profile") && costs?.row.has(name) && <a href={toolHref("op_profile", { filter: name, op: name })}>Op profile</a>}
				{has("memory_viewer") && <a href={toolHref("memory_viewer", { module_name: module })}>Memory viewer</a>}
				{has("trace_viewer@") && program && <a href={momentHref(name)}>Timeline</a>}
			</p>
		</section>
	);
}

function boxKind(text: (id: string) => string): string {
	return text("kind") ? `${text("kind")} fusion` : "called computation";
}

/* Operands and users that are drawn, as ways to walk. */
function Links({ what, graph }: { what: number; graph: Graph }) {
	const ends = (mine: "from" | "to", other: "from" | "to") => [
		...new Set(graph.drawing.edges.filter((e) => e[mine] === what).map((e) => graph.names[e[other]] ?? "")),
	];
	return (
		<>
			{(
				[
					["Operands", ends("to", "from")],
					["Users", ends("from", "to")],
				] as const
			).map(
				([label, names]) =>
					names.length > 0 && (
						<div key={label}>
							<h3>{label}</h3>
							<ul class="graph-links">
								{names.slice(0, 20).map((n) => (
									<li key={n}>
										<button class="link" onClick={() => adjust({ op: n })}>
											{n}
										</button>
									</li>
								))}
							</ul>
						</div>
					),
			)}
		</>
	);
}
