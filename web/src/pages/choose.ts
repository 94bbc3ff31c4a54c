/*
 * choose.ts - the tool and the host to show, from what the URL asks for and what there is.
 */
import { ALL_HOSTS, type Tool } from "../api/types";

/* Where a tool combines hosts that is what one wants first. */
export function hostFor(tool: Tool, asked: string): string {
	if (asked && tool.hosts.includes(asked)) return asked;
	return tool.hosts.includes(ALL_HOSTS) ? ALL_HOSTS : (tool.hosts[0] ?? "");
}

export function toolFor(tools: readonly Tool[], asked: string): Tool | undefined {
	return (
		tools.find((t) => t.name === asked) ??
		tools.find((t) => t.name === `${asked}@`) ??
		(asked
			? undefined
			: (tools.find((t) => t.name === "overview_page" && t.available) ?? tools.find((t) => t.available) ?? tools[0]))
	);
}

/* The menu: the answer first, then where it leads; what is not named here follows in the server's order. */
const FIRST = [
	"overview_page",
	"smart_suggestion",
	"input_pipeline_analyzer",
	"trace_viewer@",
	"framework_op_stats",
	"op_profile",
	"hlo_stats",
	"kernel_stats",
	"roofline_model",
	"memory_profile",
	"memory_viewer",
	"graph_viewer",
	"pod_viewer",
];

export function menuOrder(tools: readonly Tool[]): Tool[] {
	const rank = (t: Tool) => {
		const k = FIRST.indexOf(t.name);
		return k < 0 ? FIRST.length : k;
	};
	return tools
		.map((t, i) => ({ t, i }))
		.sort((a, b) => rank(a.t) - rank(b.t) || a.i - b.i)
		.map((x) => x.t);
}
