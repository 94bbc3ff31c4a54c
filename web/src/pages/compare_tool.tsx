/*
 * compare_tool.tsx - the tables of one tool, of two sides: each row beside its partner, with the delta and, where there are repeated
 * samples, whether it is more than noise. Tool, figure and filter stand in the URL: ?run=B&compare=N&tool=hlo_stats&figure=avg_time.
 */
import { useJson } from "../api/loadable";
import { column, strings } from "../api/table";
import type { Result, TableData, Tool } from "../api/types";
import { adjust, go, query, useQuery } from "../base/url";
import { Verdict } from "../widgets/conclusion";
import { Grid } from "../widgets/grid";
import { Failure, Notes, Waiting } from "../widgets/notes";
import { menuGroups } from "./choose";
import { figuresOf, withFigure } from "./compare_model";

/* Has it tables of rows that another recording has as well? */
function isCompared(t: Tool): boolean {
	return t.available && (t.kind === "tables" || t.kind === "tree");
}

export function ToolChoice({ run, tool }: { run: string; tool: string }) {
	const { value } = useJson<{ tools: Tool[] }>("api/tools", { run });
	const tools = (value?.tools ?? []).filter(isCompared);
	if (!tools.length) return null;
	const choose = (name: string) => {
		const { run: base, with: more, compare } = query.get();
		go({ run: base, with: more, compare, tool: name });
	};
	return (
		<label class="field">
			<span>Show</span>
			<select class="select" value={tool} aria-label="What to compare" onChange={(e) => choose(e.currentTarget.value)}>
				<option value="">The whole comparison</option>
				{menuGroups(tools).map((g) => (
					<optgroup key={g.title} label={g.title}>
						{g.tools.map((t) => (
							<option key={t.name} value={t.name}>
								{t.title}
							</option>
						))}
					</optgroup>
				))}
			</select>
		</label>
	);
}

export function CompareTool({ base, next, tool }: { base: readonly string[]; next: readonly string[]; tool: string }) {
	const { value, error, loading } = useJson<Result>("api/diff", { base: base.join(","), new: next.join(","), tool });
	const filter = useQuery("filter");
	if (error) return <Failure text={error} />;
	if (!value) return loading ? <Waiting what="Comparing…" /> : null;
	const tables = value.tables.filter((t) => t.nrows > 0);
	return (
		<>
			<Notes notes={value.notes} />
			<Verdict of={value.conclusion} tools={[]} />
			{tables.map((t, i) => (
				<ComparedTable
					key={`${tool} ${t.name}`}
					table={t}
					filter={i === 0 ? filter : ""}
					{...(i === 0 ? { onFilter: (f: string) => adjust({ filter: f }) } : {})}
				/>
			))}
			{tables.length > 0 && (
				<p class="muted">
					Totals of a recording are divided by its steps; totals of operations are also divided by its devices. Rows have a
					verdict if there are repeated samples: steps for the time of operations, or several runs a side. The noise of rows
					without a verdict is not known.
				</p>
			)}
		</>
	);
}

function ComparedTable({ table, filter, onFilter }: { table: TableData; filter: string; onFilter?: (f: string) => void }) {
	const asked = useQuery("figure");
	const figures = figuresOf(table);
	const figure = figures.find((f) => f.id === asked)?.id ?? figures[0]?.id ?? "";
	const shown = withFigure(table, figure);
	return (
		<section class="card" aria-label={table.title || table.name}>
			<div class="bar">
				<h2>{table.title || table.name}</h2>
				{figures.length > 1 && (
					<label class="field">
						<span>figure</span>
						<select class="select" value={figure} onChange={(e) => adjust({ figure: e.currentTarget.value })}>
							{figures.map((f) => (
								<option key={f.id} value={f.id}>
									{f.label}
								</option>
							))}
						</select>
					</label>
				)}
			</div>
			<Grid
				key={figure}
				table={shown}
				filter={filter}
				maxRows={16}
				tint={(col, r) => tint(shown, col, r)}
				{...(onFilter ? { onFilter } : {})}
			/>
		</section>
	);
}

/* What is more than noise has a ground, and what only one side has. */
function tint(t: TableData, col: string, r: number): string | undefined {
	const verdict = strings(t, "verdict")?.[r];
	if (col === "on") return column(t, "on")?.[r] === "both" ? undefined : "var(--accent-wash)";
	if (!/^(delta|verdict)/.test(col) || (verdict !== "more" && verdict !== "less")) return undefined;
	return verdict === "more" ? "var(--error-bg)" : "var(--info-bg)";
}
