/*
 * program_links.ts - from rows about a compiled program's instructions: a name leads to the instruction in the graph of the row's program, its
 * time to its longest execution in the timeline.
 */
import type { TableData, Tool } from "../api/types";
import { toolHref } from "../base/url";

/* Columns that name an instruction. */
const INSTRUCTIONS = new Set(["instruction", "producer", "consumer"]);
/* Columns with a time, and whose. */
const EXECUTED: Readonly<Record<string, string>> = {
	self_time_ps: "instruction",
	producer_ps: "producer",
	consumer_ps: "consumer",
};

export function programLink(table: TableData, tools: readonly Tool[]): ((col: string, row: number) => string | undefined) | undefined {
	const at = new Map(table.cols.map((c, i) => [c.id, table.data[i] ?? []]));
	if (!at.has("module") || ![...INSTRUCTIONS].some((id) => at.has(id))) return undefined;
	const offers = (name: string) => tools.some((t) => t.name === name && t.available);
	const [graph, timeline] = [offers("graph_viewer"), offers("trace_viewer@")];
	return (col, row) => {
		const value = at.get(col)?.[row];
		const module_name = String(at.get("module")?.[row] ?? "");
		if (INSTRUCTIONS.has(col)) return graph && value ? toolHref("graph_viewer", { module_name, node_name: String(value) }) : undefined;
		const whose = col === "occurrences" ? (at.has("consumer") ? "consumer" : "instruction") : EXECUTED[col];
		const name = at.get(whose ?? "")?.[row];
		return timeline && name && Number(value) > 0 ? toolHref("trace_viewer@", { q: String(name), find: "longest" }) : undefined;
	};
}
