/*
 * compare_graphs.tsx - the compiled programs of both sides around the chosen operation, beside each other.
 */
import { useMemo, useState } from "preact/hooks";
import { useJson } from "../api/loadable";
import { propText, strings, table } from "../api/table";
import type { Result, TableData, Tool } from "../api/types";
import { formatQuery } from "../base/url";
import { Failure, Waiting } from "../widgets/notes";
import { hostFor } from "./choose";
import { alone, type Side } from "./compare_model";
import { draw, EMPTY, GraphPicture, useCosts } from "./graph_picture";
import { shownHost } from "./programs";
import type { Session } from "./session";

const TOOL = "graph_viewer";

export interface GraphsProps {
	runs: Readonly<Record<Side, string>>;
	ops: TableData;
	row: number;
}

export function Graphs({ runs, ops, row }: GraphsProps) {
	const module = strings(ops, "module")?.[row] ?? "";
	return (
		<section class="card" aria-label="Programs">
			<h2>Programs around the chosen operation</h2>
			<div class="compare-graphs">
				{(["base", "new"] as const).map((side) => (
					<div key={side} class="compare-graph">
						<SideGraph
							side={side}
							run={runs[side]}
							module={module}
							name={(strings(ops, `${side}_name`)?.[row] ?? "").split(" + ")[0] ?? ""}
							marked={alone(ops, side)}
						/>
					</div>
				))}
			</div>
			<p class="muted">Instructions without a partner on the other side have a dashed frame.</p>
		</section>
	);
}

interface SideProps {
	side: Side;
	run: string;
	module: string;
	name: string;
	marked: ReadonlySet<string>;
}

function SideGraph(props: SideProps) {
	const { side, run, name } = props;
	const { value } = useJson<{ tools: Tool[] }>("api/tools", { run });
	const tool = value?.tools.find((t) => t.name === TOOL);
	if (!name) return <p class="empty">{side} does not have this operation.</p>;
	if (!value || !tool) return value ? null : <Waiting what="Opening the run…" />;
	if (!tool.available) return <p class="empty">The recording of {side} holds no program.</p>;
	const toolNames = value.tools.filter((t) => t.available).map((t) => t.name);
	const session: Session = {
		run: { run, path: "", time_s: 0, bytes: 0, hosts: [] },
		tool,
		host: hostFor(tool, ""),
		tools: value.tools,
		toolNames,
	};
	return <InProgram {...props} session={session} />;
}

/* Of the programs of that name the first: its number differs from run to run. */
function programOf(programs: readonly string[], module: string): string | undefined {
	return programs.find((p) => p === module || p.replace(/\(\d+\)$/, "") === module) ?? programs[0];
}

function InProgram({ side, run, module, name, marked, session }: SideProps & { session: Session }) {
	const asked = { run, host: session.host };
	const list = useJson<Result>(`api/tool/${TOOL}`, { ...asked, graph_width: 0 });
	const program = programOf(strings(table(list.value ?? EMPTY, "modules"), "module_name") ?? [], module);
	const { value, error, loading } = useJson<Result>(program ? `api/tool/${TOOL}` : null, {
		...asked,
		module_name: program,
		node_name: name,
		drawing: "true",
		graph_width: 1,
		merge_fusion: "true",
	});
	const costs = useCosts(session, program ?? "", shownHost(value));
	const result = value ?? EMPTY;
	const graph = useMemo(() => draw(result), [result]);
	const [selected, select] = useState<number | null>(null);
	const root = propText(table(result, "nodes"), "node_name");
	const there = formatQuery({ run, tool: TOOL, module_name: program, node_name: name });
	if (list.error || error) return <Failure text={list.error || error || ""} />;
	if (!value) return loading || list.loading ? <Waiting what="Reading the program…" /> : null;
	return (
		<>
			<div class="bar">
				<b>{side}</b>
				<a href={there}>
					{name} in {program}
				</a>
			</div>
			<GraphPicture
				result={result}
				graph={graph}
				costs={costs}
				title={`Graph of ${side} around ${name}`}
				start={graph.names.indexOf(root)}
				selected={selected ?? graph.names.indexOf(root)}
				marked={marked}
				onSelect={select}
				onOpen={() => location.assign(there)}
			/>
		</>
	);
}
