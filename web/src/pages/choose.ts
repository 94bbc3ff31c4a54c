/*
 * choose.ts - the tool and the host to show, from what the URL asks for and what there is.
 */
import { ALL_HOSTS, type Tool } from "../api/types";

/* Where a tool combines hosts that is what one wants first. */
export function hostFor(tool: Tool, asked: string): string {
	if (asked && tool.hosts.includes(asked)) return asked;
	return tool.hosts.includes(ALL_HOSTS) ? ALL_HOSTS : tool.hosts[0] ?? "";
}

export function toolFor(tools: readonly Tool[], asked: string): Tool | undefined {
	return tools.find((t) => t.name === asked) ?? tools.find((t) => t.name === `${asked}@`) ??
		(asked ? undefined : tools.find((t) => t.name === "overview_page" && t.available) ?? tools.find((t) => t.available) ?? tools[0]);
}
