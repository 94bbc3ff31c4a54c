/*
 * suggestions.tsx - what to change first: each suggestion with what was found, the figures that prove it, and what to do, the one about
 * the largest share of the time on top.
 */
import { column, numbers, strings, table } from "../api/table";
import type { Result, TableData, Tool } from "../api/types";
import { toolHref } from "../base/url";
import { Verdict } from "../widgets/conclusion";
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
					<h2>Where to look instead</h2>
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
								<th>Host</th>
								<th>See</th>
							</tr>
						</thead>
						<tbody>
							{proof.map((r) => (
								<tr key={r}>
									<td>{text(evidence, "figure", r)}</td>
									<td class="num" data-evidence={r}>
										{text(evidence, "value", r)}
									</td>
									<td class="muted">{text(evidence, "host", r)}</td>
									<td>
										<ProofLink link={text(evidence, "link", r)} tools={session.tools} />
									</td>
								</tr>
							))}
						</tbody>
					</table>
				</div>
				<div>
					<h3>What to do</h3>
					<ul class="advice-list">
						{advice.map((r) => (
							<li key={r}>
								<RichText text={text(table(result, "advice"), "text", r)} tools={session.toolNames} />
							</li>
						))}
					</ul>
				</div>
			</div>
		</li>
	);
}

function rowsFor(t: TableData | undefined, suggestion: number): number[] {
	return (numbers(t, "suggestion") ?? []).flatMap((s, i) => (s === suggestion ? [i] : []));
}

/* The evidence's own query: the tool, the host, and of the timeline the stretch of time. */
function ProofLink({ link, tools }: { link: string; tools: readonly Tool[] }) {
	const { tool: name = "", ...more } = Object.fromEntries(new URLSearchParams(link));
	const tool = tools.find((t) => t.name === name && t.available);
	return tool ? <a href={toolHref(tool.name, more)}>{tool.title}</a> : null;
}
