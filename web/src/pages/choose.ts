/*
 * choose.ts - the tool and the host to show, from what the URL asks for and what there is.
 */
import { ALL_HOSTS, type Tool } from "../api/types";
import { naturally } from "../base/format";

/* As people count: all together, then host2 before host10. */
export function hostsInOrder(hosts: readonly string[]): string[] {
	return [...hosts].sort((a, b) => Number(b === ALL_HOSTS) - Number(a === ALL_HOSTS) || naturally(a, b));
}

export function hostFor(tool: Tool, asked: string): string {
	return asked && tool.hosts.includes(asked) ? asked : tool.preset_host;
}

export function toolFor(tools: readonly Tool[], asked: string): Tool | undefined {
	const first = (name: string) => tools.find((t) => t.name === name && t.available);
	return (
		tools.find((t) => t.name === asked) ??
		tools.find((t) => t.name === `${asked}@`) ??
		(asked
			? undefined
			: (first("overview_page") ?? first("graph_viewer") ?? tools.find((t) => t.available) ?? tools[0]))
	);
}

/* What tools are about, in the order of the menu; a tool that is not named here stands with the last group. */
const GROUPS: readonly [title: string, tools: readonly string[]][] = [
	["Summary", ["overview_page", "smart_suggestion", "end_to_end"]],
	[
		"Time",
		[
			"trace_viewer@",
			"trace_viewer",
			"input_pipeline_analyzer",
			"tf_data_bottleneck_analysis",
			"host_boundness",
			"step_breakdown",
			"critical_path",
			"what_if",
			"launches",
			"inference_profile",
		],
	],
	[
		"Operations",
		[
			"framework_op_stats",
			"op_profile",
			"flame_graph",
			"hlo_stats",
			"kernel_stats",
			"roofline_model",
			"operators",
			"modules",
			"kernel_sequences",
			"gpu_breakdown",
			"kernel_utilization",
			"utilization_viewer",
			"perf_counters",
			"event_stats",
		],
	],
	["Memory", ["memory_profile", "memory_snapshot", "memory_viewer", "memory_copies"]],
	["Program", ["graph_viewer", "hlo_query", "fusion_blockers", "tf_graph"]],
	["Hosts", ["pod_viewer", "stragglers", "host_steps", "collectives", "exposed_communication", "distributed", "megascale_stats", "plane_stats"]],
];

export interface MenuGroup {
	title: string;
	tools: Tool[];
}

export function menuGroups(tools: readonly Tool[]): MenuGroup[] {
	const groups = GROUPS.map(([title, names]) => ({ title, names, tools: [] as Tool[] }));
	for (const t of menuOrder(tools)) (groups.find((g) => g.names.includes(t.name)) ?? groups[groups.length - 1])?.tools.push(t);
	return groups.filter((g) => g.tools.length);
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
