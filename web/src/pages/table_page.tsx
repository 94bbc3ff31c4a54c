/*
 * table_page.tsx - the page of any tool: its notes, the properties and the rows of each table. Parameters with a list of values become
 * selectors; they and the filter stand in the URL.
 */
import { propText } from "../api/table";
import type { Result, TableData, Tool } from "../api/types";
import { classes } from "../base/dom";
import { adjust, query, toolHref, useQuery } from "../base/url";
import { useStore } from "../base/store";
import { Flame } from "../chart/flame";
import { Verdict } from "../widgets/conclusion";
import { Matrix } from "../widgets/matrix";
import { isMatrix } from "../widgets/matrix_model";
import { Grid } from "../widgets/grid";
import { Icon } from "../widgets/icon";
import { Failure, Notes, Waiting } from "../widgets/notes";
import { RichText } from "../widgets/rich_text";
import { formatView } from "../timeline/viewport";
import { useResult } from "./answer";
import { programLink } from "./program_links";
import { ProgramChoice, programsOf, shownHost } from "./programs";
import { csvAddress, type Session } from "./session";

export function TablePage({ session }: { session: Session }) {
	const params = useStore(query, (q) => JSON.stringify(chosen(session.tool, q)));
	const { value, error, loading } = useResult(session, JSON.parse(params) as Record<string, string>);
	const long = value?.tables.filter((t) => t.nrows > 0).length === 1 && value.tables.some((t) => t.nrows > 12);
	return (
		<div class={classes("page", long && "page-fill")}>
			<PageHead session={session} />
			<ParamBar tool={session.tool} result={value} />
			{error && <Failure text={error} />}
			{!value && loading && <Waiting what="Reading the profile…" />}
			{value && <ResultView result={value} session={session} />}
		</div>
	);
}

export function PageHead({ session, children }: { session: Session; children?: preact.ComponentChildren }) {
	return (
		<header class="page-head">
			<div>
				<h1>{session.tool.title}</h1>
				<p class="muted">{session.tool.summary}</p>
			</div>
			{children}
		</header>
	);
}

function chosen(tool: Tool, q: Readonly<Record<string, string>>): Record<string, string> {
	const out: Record<string, string> = {};
	for (const p of tool.params ?? []) {
		const v = q[p.name];
		if (v) out[p.name] = v;
	}
	return out;
}

/* A list of numbers may be long. */
function shortValue(text: string): string {
	return text.length > 24 ? `${text.slice(0, 20)}…` : text;
}

/* Where a stretch of time was asked for: the same stretch of the timeline. */
function stretchHref(q: Readonly<Record<string, string>>): string | undefined {
	const [from, to] = [Number(q["from"] || NaN), Number(q["to"] || NaN)];
	return to > from ? toolHref("trace_viewer@", { view: formatView({ begin_ps: from * 1e9, end_ps: to * 1e9 }) }) : undefined;
}

/* What people write, and do not choose. */
const WRITTEN: readonly string[] = ["regex", "condition", "instruction", "edges"];

function ParamBar({ tool, result }: { tool: Tool; result: Result | undefined }) {
	const programs = programsOf(result);
	const q = useStore(query, (x) => x);
	const stretch = (tool.params ?? []).some((p) => p.name === "from") ? stretchHref(q) : undefined;
	const params = (tool.params ?? []).filter((p) => p.values.length > 1);
	const written = (tool.params ?? []).filter((p) => WRITTEN.includes(p.takes ?? ""));
	const choice = programs.length > 1 && (tool.params ?? []).some((p) => p.name === "module_name");
	const set = (tool.params ?? []).filter(
		(p) => p.values.length <= 1 && q[p.name] && !written.includes(p) && !(choice && p.name === "module_name"),
	);
	if (!params.length && !set.length && !written.length && !choice) return null;
	return (
		<div class="bar">
			{choice && (
				<ProgramChoice
					programs={programs}
					name={q["module_name"] ?? ""}
					host={shownHost(result)}
					label="program"
					none="default"
					forget={["instruction", "path_to"]}
				/>
			)}
			{params.map((p) => (
				<label key={p.name} class="field" title={p.doc}>
					<span>{p.name.replace(/_/g, " ")}</span>
					<select
						class="select"
						value={q[p.name] ?? p.preset ?? ""}
						onChange={(e) => adjust({ [p.name]: e.currentTarget.value || undefined })}
					>
						{!p.preset && <option value="">nothing more</option>}
						{p.values.map((v) => (
							<option key={v} value={v}>
								{v}
							</option>
						))}
					</select>
				</label>
			))}
			{written.map((p) => (
				<label key={p.name} class="field" title={p.doc}>
					<span>{p.name.replace(/_/g, " ")}</span>
					<input
						class="input"
						spellcheck={false}
						placeholder={p.preset ?? p.takes}
						value={q[p.name] ?? ""}
						onChange={(e) => adjust({ [p.name]: e.currentTarget.value || undefined })}
					/>
				</label>
			))}
			{set.map((p) => (
				<span key={p.name} class="chip" title={p.doc}>
					{p.name.replace(/_/g, " ")} <strong>{shortValue(q[p.name] ?? "")}</strong>
					<button class="button button-icon" aria-label={`Without ${p.name}`} title={`Without ${p.name}`} onClick={() => adjust({ [p.name]: undefined })}>
						<Icon name="close" />
					</button>
				</span>
			))}
			{stretch && <a href={stretch}>Show in the timeline</a>}
		</div>
	);
}

/* Of tables over many hosts: columns that name a host or an operation, and shares that would go. */
const OVER_HOSTS = new Set(["stragglers", "host_steps", "exposed_communication", "collectives", "critical_path"]);
const HOSTS = new Set(["host", "last_host", "top_last_host"]);
const SHARES: Readonly<Record<string, string>> = {
	exposed_wait_us: "free_communication",
	exposed_transfer_us: "free_communication",
	transfer_us: "free_communication",
	idle_input_us: "perfect_input",
};
const COLLECTIVE = /^(all-|reduce-scatter|ragged-all-|collective-|send|recv|nccl|rccl)/i;
const CATEGORIES: Readonly<Record<string, string>> = { transfer: "free_communication", input: "perfect_input" };

/* To what would be gained without it, or if it were like the others. */
export function whatIfLink(table: TableData, session: Pick<Session, "tool" | "toolNames">): ((col: string, row: number) => string | undefined) | undefined {
	if (!OVER_HOSTS.has(session.tool.name) || !session.toolNames.includes("what_if")) return undefined;
	const at = new Map(table.cols.map((c, i) => [c.id, table.data[i] ?? []]));
	return (col, row) => {
		const value = at.get(col)?.[row];
		const to = (scenario: string | undefined, more: Record<string, string> = {}) =>
			scenario ? toolHref("what_if", { scenario, ...more }) : undefined;
		if (HOSTS.has(col)) return value ? to("host_as_median", { target_host: String(value) }) : undefined;
		if (col === "op" && session.tool.name === "critical_path") {
			const op = String(value ?? "");
			if (COLLECTIVE.test(op)) return to("free_communication");
			if (op === "input") return to("perfect_input");
			return ["launch", "host", "idle", ""].includes(op) ? undefined : to("op_twice_as_fast", { op });
		}
		if (col === "category") return to(CATEGORIES[String(value)]);
		return Number(value) > 0 ? to(SHARES[col]) : undefined;
	};
}

/* What a change would gain, where the tool is about that; the instruction of a compiled program; else the moment. */
function linksOf(t: TableData, session: Session): (col: string, row: number) => string | undefined {
	const [whatIf, program] = [whatIfLink(t, session), programLink(t, session.tools)];
	return (col, row) => whatIf?.(col, row) ?? program?.(col, row) ?? momentOf(t, col, row, session);
}

function ResultView({ result, session }: { result: Result; session: Session }) {
	const filter = useQuery("filter");
	/* Programs stand in the choice above. */
	const choice = session.tool.params?.some((p) => p.name === "module_name");
	const facts = (t: TableData) => Object.keys(t.props ?? {}).length > 0;
	const all = result.tables.filter((t) => (t.nrows > 0 || t.cols.length > 0 || facts(t)) && !(choice && t.name === "modules"));
	const tables = all.filter((t) => t.nrows > 0 || facts(t));
	const empty = all.filter((t) => !tables.includes(t));
	return (
		<>
			<Notes notes={result.notes} />
			<Verdict of={result.conclusion} tools={session.toolNames} />
			{!all.length && <p class="empty">This profile has nothing for {session.tool.title} to show.</p>}
			{tables.map((t) => (
				<section class="card" key={t.name} aria-label={t.title || t.name}>
					{(all.length > 1 || facts(t)) && <h2>{t.title || t.name}</h2>}
					<Props table={t} tools={session.toolNames} />
					<Flame table={t} />
					{isMatrix(t) && <Matrix table={t} tools={session.tools} />}
					{t.nrows > 0 && (
						<Grid
							table={t}
							filter={t === all[0] ? filter : ""}
							orderKey={t === all[0] ? "order" : `order_${t.name}`}
							csv={csvAddress(session, t === all[0] ? "" : t.name)}
							maxRows={tables.length > 1 ? 16 : 24}
							link={linksOf(t, session)}
							{...(t === all[0] ? { onFilter: (f: string) => adjust({ filter: f }) } : {})}
						/>
					)}
				</section>
			))}
			{empty.length > 0 && <p class="empty">No rows: {empty.map((t) => t.title || t.name).join(", ")}</p>}
		</>
	);
}

/* Columns whose cells lead to their moment. */
const NAMES = ["op", "kernel_name", "operation", "step_num", "host"];

/*
 * Where a row happened: the operation's longest event, in the row's step and on its host where it names them; of a row without an operation the
 * step, or the host. Of a graph of stacks nothing: its names are parts of stacks.
 */
function momentOf(t: TableData, col: string, row: number, session: Session): string | undefined {
	const timeline = session.tools.find((x) => x.name === "trace_viewer@" && x.available);
	if (timeline && col === "begin_ps") return viewOf(t, row, timeline.hosts);
	if (!timeline || !NAMES.includes(col) || t.cols.some((c) => c.id === "parent")) return undefined;
	const cell = (id: string) => String(t.data[t.cols.findIndex((c) => c.id === id)]?.[row] ?? "");
	const name = cell("op") || cell("kernel_name") || cell("operation");
	const host = cell("host") || cell("last_host") || cell("group_host");
	/* -1: the recording does not tell. */
	const step = Number(cell("step_num") || -1) >= 0 ? cell("step_num") : "";
	const at: { host?: string; step?: string } = { ...(timeline.hosts.includes(host) && { host }), ...(step && { step }) };
	if (col === "op" || col === "kernel_name" || col === "operation")
		return name && name !== "idle" ? toolHref("trace_viewer@", { ...at, q: name, find: "longest" }) : undefined;
	if (col === "step_num" && at.step) return toolHref("trace_viewer@", at);
	return col === "host" && at.host ? toolHref("trace_viewer@", at) : undefined;
}

/* An event one by one: where it is. Times count from the begin of its host's session. */
function viewOf(t: TableData, row: number, hosts: readonly string[]): string | undefined {
	const at = (id: string) => t.data[t.cols.findIndex((c) => c.id === id)]?.[row];
	const [from, length, host] = [at("begin_ps"), at("dur_ps") ?? at("span_ps"), at("host")];
	if (typeof from !== "number" || typeof length !== "number" || typeof host !== "string" || !hosts.includes(host) || from < 0) return undefined;
	const long = Math.max(length, 1e3);
	return toolHref("trace_viewer@", { host, view: formatView({ begin_ps: Math.max(from - long, 0), end_ps: from + 2 * long }) });
}

export function Props({ table, tools }: { table: TableData; tools: readonly string[] }) {
	const list = Object.entries(table.props ?? {}).filter(([id]) => propText(table, id) !== "");
	if (!list.length) return null;
	return (
		<dl class="facts">
			{list.map(([id, p]) => (
				<div class={classes("fact", propText(table, id).length > 60 && "fact-long")} key={id}>
					<dt>{p.label && p.label !== id ? p.label : id.replace(/_/g, " ")}</dt>
					<dd>
						<RichText text={propText(table, id)} tools={tools} />
					</dd>
				</div>
			))}
		</dl>
	);
}
