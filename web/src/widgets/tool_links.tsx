/*
 * tool_links.tsx - the ways from a name to what other tools know of it, those tools that the profile has.
 */
import { toolHref } from "../base/url";

export type Way = readonly [tool: string, label: string, params: Record<string, string>];

export function ToolLinks({ name, ways, tools }: { name: string; ways: readonly Way[]; tools: readonly string[] }) {
	const there = ways.filter(([tool]) => tools.includes(tool));
	if (!name || !there.length) return null;
	return (
		<nav class="event-links" aria-label={`${name} in other tools`}>
			{there.map(([tool, label, params]) => (
				<a key={tool} href={toolHref(tool, params)}>
					{label}
				</a>
			))}
		</nav>
	);
}
