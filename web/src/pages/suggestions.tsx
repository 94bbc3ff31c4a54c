/*
 * suggestions.tsx - what to change first: each suggestion with what was found, the figures that prove it, and what to do, the one about
 * the largest share of the time on top.
 */
import { column, numbers, strings, table } from "../api/table";
import type { Result, TableData, Tool } from "../api/types";
import { percent } from "../base/format";
import { toolHref } from "../base/url";
import { Verdict } from "../widgets/conclusion";
import { filterFor } from "../widgets/grid_model";
import { Notes } from "../widgets/notes";
import { RichText } from "../widgets/rich_text";
import { AnswerPage } from "./answer";
import type { Session } from "./session";

export function SuggestionsPage({ session }: { session: Session }) {
	return (
		<AnswerPage session={session}>{(result) => <Suggestions result={result} session={session} />}</AnswerPage>
	);
}

function Suggestions({ result, session }: { result: Result; session: Session }) {
	const t = table(result, "suggestions");
	const titles = strings(t, "title") ?? [];
	if (!t?.nrows)
		return (
			<>
				<Verdict of={result.conclusion} tools={session.toolNames} />
				<Notes notes={result.notes.filter((n) => n.severity !== "info")} />
				<section class="card" aria-label="Where to look">
					<h2>Where to look all the same</h2>
					<ul class="tips">
						{session.tools
							.filter((x) => x.available && NEXT.includes(x.name))
							.map((x) => (
								<li key={x.name}>
									<a href={toolHref(x.name)}>{x.title}</a> <span class="muted">{x.summary}</span>
								</li>
							))}
					</ul>
				</section>
			</>
		);
	return (
		<>
			<Notes notes={result.notes} />
			<Verdict of={result.conclusion} tools={session.toolNames} />
			<ol class="suggestions">
				{titles.map((title, i) => (
					<Suggestion key={title} result={result} t={t} at={i} session={session} />
				))}
			</ol>
		</>
	);
}

const NEXT = ["overview_page", "op_profile", "roofline_model", "trace_viewer@"];

function Suggestion({ result, t, at, session }: { result: Result; t: TableData; at: number; session: Session }) {
	const advice = rowsFor(table(result, "advice"), at);
	const evidence = table(result, "evidence");
	const proof = rowsFor(evidence, at);
	const text = (x: TableData | undefined, id: string, row: number) => String(column(x, id)?.[row] ?? "");
	return (
		<li class="card" aria-label={text(t, "title", at)}>
			<header class="suggestion-head">
				<h2>
					<span class="suggestion-rank">{at + 1}</span> {text(t, "title", at)}
				</h2>
				<span class="spring" />
				<code class="muted">{text(t, "rule", at)}</code>
			</header>
			<p>
				<RichText text={text(t, "finding", at)} tools={session.toolNames} />
			</p>
			<div class="split suggestion-split">
				<div>
					<h3>Why</h3>
					<table class="plain-table">
						<thead>
							<tr>
								<th>Figure</th>
								<th class="num">Value</th>
								<th>Condition</th>
								<th>See</th>
							</tr>
						</thead>
						<tbody>
							{proof.map((r) => (
								<tr key={r}>
									<td>{text(evidence, "figure", r)}</td>
									<td class="num" data-evidence={r}>
										{percent(numbers(evidence, "percent")?.[r] ?? NaN)}
									</td>
									<td class="muted">{text(evidence, "condition", r)}</td>
									<td>
										<ToolLink name={text(evidence, "tool", r)} tools={session.tools} figure={text(evidence, "figure", r)} />
									</td>
								</tr>
							))}
						</tbody>
					</table>
					<Operations t={table(result, "operations")} at={at} session={session} />
					<HostWork t={table(result, "host_work")} at={at} session={session} />
				</div>
				<div>
					<h3>What to do</h3>
					<dl class="advice-list">
						{advice.map((r) => (
							<div key={r}>
								<dt>{text(table(result, "advice"), "title", r)}</dt>
								<dd>
									<RichText text={text(table(result, "advice"), "text", r)} tools={session.toolNames} />
								</dd>
							</div>
						))}
					</dl>
				</div>
			</div>
		</li>
	);
}

/* The largest operations of those that the figure sums up, each a link to what is known of it. */
function Operations({ t, at, session }: Part) {
	const link = session.toolNames.includes("hlo_stats");
	return (
		<Bars
			title="Largest operations"
			t={t}
			at={at}
			name="hlo_op_name"
			beside="category"
			href={(name) => (link ? toolHref("hlo_stats", { filter: filterFor("hlo_op_name", name) }) : undefined)}
		/>
	);
}

/* What the host did while nothing computed, each a search in the timeline. */
function HostWork({ t, at, session }: Part) {
	const timeline = session.tools.find((x) => x.kind === "timeline" && x.available);
	return (
		<Bars
			title="What the host did meanwhile"
			t={t}
			at={at}
			name="event"
			beside="caller"
			href={(name) => (timeline && !name.startsWith("(") ? toolHref(timeline.name, { q: name }) : undefined)}
		/>
	);
}

interface Part {
	t: TableData | undefined;
	at: number;
	session: Session;
}

/* The rows of a suggestion as bars of their share. */
function Bars({
	title,
	t,
	at,
	name,
	beside,
	href,
}: {
	title: string;
	t: TableData | undefined;
	at: number;
	name: string;
	beside: string;
	href: (name: string) => string | undefined;
}) {
	const rows = rowsFor(t, at);
	if (!rows.length) return null;
	return (
		<>
			<h3 class="suggestion-ops">{title}</h3>
			<ul class="bars" aria-label={title}>
				{rows.map((r) => {
					const text = String(column(t, name)?.[r] ?? "");
					const share = numbers(t, "percent")?.[r] ?? 0;
					const to = href(text);
					return (
						<li key={r} class="bars-row">
							<span class="bars-name" title={text}>
								{to ? <a href={to}>{text}</a> : text} <span class="muted">{String(column(t, beside)?.[r] ?? "")}</span>
							</span>
							<span class="bars-track">
								<span class="bars-fill" style={{ width: `${Math.min(100, share)}%` }} />
							</span>
							<span class="bars-value">{percent(share)}</span>
						</li>
					);
				})}
			</ul>
		</>
	);
}

function rowsFor(t: TableData | undefined, suggestion: number): number[] {
	return (numbers(t, "suggestion") ?? []).flatMap((s, i) => (s === suggestion ? [i] : []));
}

/* What the tool should open on to show the rows behind a figure that are not a few operations. */
const ROWS: readonly [RegExp, string, Record<string, string>][] = [
	[/debug printing/, "framework_op_stats", { filter: "debug_print" }],
	[/^Idle time of the device/, "framework_op_stats", { filter: "IDLE" }],
	[/barrier-cores/, "trace_viewer@", { q: "barrier-cores" }],
];

function ToolLink({ name, tools, figure }: { name: string; tools: readonly Tool[]; figure: string }) {
	const tool = tools.find((t) => t.name === name && t.available);
	if (!tool) return null;
	const extra = ROWS.find(([re, of]) => of === name && re.test(figure))?.[2] ?? {};
	return <a href={toolHref(tool.name, extra)}>{tool.title}</a>;
}
