/*
 * sql.tsx - questions in SQL about the run, and their rows as a table. A row with a time leads into the timeline. The query stands in
 * the URL: ?run=R&sql=SELECT….
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import { postJson } from "../api/fetch";
import { useJson } from "../api/loadable";
import type { Timeline, Tool } from "../api/types";
import { count } from "../base/format";
import { formatQuery, go, useQuery } from "../base/url";
import { Grid } from "../widgets/grid";
import { Failure, Waiting } from "../widgets/notes";
import { hostFor } from "./choose";
import { FIRST, filled, tableOf, viewOf, type Question, type Rows } from "./sql_model";

function useRows(run: string, query: string) {
	const [state, setState] = useState<{ value?: Rows; error?: string; loading: boolean }>({ loading: false });
	useEffect(() => {
		const stop = new AbortController();
		setState({ loading: true });
		postJson<Rows>("api/sql", { run, integers: "text" }, query, stop.signal).then(
			(value) => setState({ value, loading: false }),
			(e: Error) => stop.signal.aborted || setState({ error: e.message, loading: false }),
		);
		return () => stop.abort();
	}, [run, query]);
	return state;
}

/* Where the first event stands in the timeline. */
function useOrigin(run: string, tools: readonly Tool[]) {
	const tool = tools.find((t) => t.name === "trace_viewer@" && t.available);
	const host = tool ? hostFor(tool, "") : "";
	const { value } = useJson<Timeline>(tool ? "api/timeline" : null, { run, host });
	return value && { host, origin_ps: value.begin_ps };
}

export function SqlPage({ run, tools }: { run: string; tools: readonly Tool[] }) {
	const query = useQuery("sql");
	const [text, setText] = useState(query || FIRST);
	useEffect(() => setText(query || FIRST), [query]);
	const { value, error, loading } = useRows(run, query || FIRST);
	const saved = useJson<{ questions: Question[] }>("api/sql").value?.questions ?? [];
	const origin = useOrigin(run, tools);
	const table = useMemo(() => value && tableOf(value), [value]);
	const ask = (sql: string) => go({ run, sql });
	const link = (col: string, row: number) => {
		if (!table || !origin || !["start_ps", "ps", "name"].includes(col)) return undefined;
		const cells = Object.fromEntries(table.cols.map((c, i) => [c.id, table.data[i]?.[row] ?? null]));
		const view = viewOf(cells, origin.origin_ps);
		return view && formatQuery({ run, tool: "trace_viewer@", host: origin.host, view });
	};
	return (
		<div class="page">
			<header class="page-head">
				<div>
					<h1>SQL</h1>
					<p class="muted">
						One SELECT over events, steps, stats, programs and the tables of all tools. An underlined start is a link into the timeline.
					</p>
				</div>
			</header>
			<form
				class="sql"
				onSubmit={(e) => {
					e.preventDefault();
					ask(text);
				}}
			>
				<textarea
					class="sql-text"
					aria-label="Query"
					rows={5}
					spellcheck={false}
					value={text}
					onInput={(e) => setText(e.currentTarget.value)}
					onKeyDown={(e) => e.key === "Enter" && (e.ctrlKey || e.metaKey) && ask(text)}
				/>
				<div class="sql-row">
					<button class="button" type="submit" title="Ctrl-Enter">
						Ask
					</button>
					<select
						class="select"
						aria-label="Questions with a name"
						value=""
						onChange={(e) => {
							const q = saved.find((s) => s.name === e.currentTarget.value);
							if (q) ask(filled(q));
						}}
					>
						<option value="">Questions with a name…</option>
						{saved.map((s) => (
							<option key={s.name} value={s.name} title={s.doc}>
								{s.name}
							</option>
						))}
					</select>
					{value && (
						<span class="muted">
							{count(value.rows.length)} {value.rows.length === 1 ? "row" : "rows"}
							{value.truncated && "; there are more"}
						</span>
					)}
				</div>
			</form>
			{error && <Failure text={error} />}
			{loading && !value && <Waiting what="Asking…" />}
			{table && <Grid key={query} table={table} link={link} save={`${run}-sql`} whole />}
		</div>
	);
}
