/*
 * url.ts - the part of the state that a colleague should see from a link: run, tool, host, and what each page adds
 * (the timeline's window, a table's filter). Everything is in the query; empty values are left out.
 */
import { createStore, useStore } from "./store";

export type Query = Readonly<Record<string, string>>;

export function parseQuery(search: string): Query {
	const out: Record<string, string> = {};
	for (const [k, v] of new URLSearchParams(search)) out[k] = v;
	return out;
}

/* Order is fixed for the three that every link has, so that equal states are equal links. */
export function formatQuery(q: Readonly<Record<string, string | undefined>>): string {
	const first = ["run", "tool", "host"];
	const keys = [
		...first,
		...Object.keys(q)
			.filter((k) => !first.includes(k))
			.sort(),
	];
	const parts: string[] = [];
	for (const k of keys) {
		const v = q[k];
		/* Names of hosts, ops and modules stay readable in the address bar. */
		if (v)
			parts.push(
				`${encodeURIComponent(k)}=${encodeURIComponent(v).replace(/%2C/g, ",").replace(/%2F/g, "/").replace(/%40/g, "@").replace(/%3A/g, ":")}`,
			);
	}
	return parts.length ? `?${parts.join("&")}` : "";
}

const inBrowser = typeof location !== "undefined";

export const query = createStore<Query>(inBrowser ? parseQuery(location.search) : {});

if (inBrowser) addEventListener("popstate", () => query.set(parseQuery(location.search)));

/* A new place: a step in the browser's history. */
export function go(next: Readonly<Record<string, string | undefined>>): void {
	history.pushState(null, "", formatQuery(next) || location.pathname);
	query.set(parseQuery(location.search));
}

/* The same place, adjusted (a zoom, a filter): no step in the history. */
export function adjust(patch: Readonly<Record<string, string | undefined>>): void {
	const text = formatQuery({ ...query.get(), ...patch });
	if (text === location.search) return;
	history.replaceState(null, "", text || location.pathname);
	query.set(parseQuery(location.search));
}

export function useQuery(key: string): string {
	return useStore(query, (q) => q[key] ?? "");
}

/* A link to a tool of the run and host now shown, with what that page should open on. */
export function toolHref(tool: string, extra: Readonly<Record<string, string | undefined>> = {}): string {
	const { run, host } = query.get();
	return formatQuery({ run, tool, host, ...extra });
}

/*
 * The operation that is looked at: `op` in the URL, on every page the same. What leads to another tool takes it along; graph viewer draws
 * what is around it.
 */
export function withOperation(tool: string): Record<string, string> {
	const { op } = query.get();
	return op ? { op, ...(tool === "graph_viewer" && { node_name: op }) } : {};
}

/* The moment of a name in the timeline: its longest event, all of its name in colour. */
export function momentHref(name: string): string {
	return toolHref("trace_viewer@", { q: name, find: "longest" });
}

/* Plain left clicks on our own links move within the page; everything else is the browser's business. */
export function followLink(e: MouseEvent): void {
	if (e.defaultPrevented || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
	const a = (e.target as Element | null)?.closest("a");
	const href = a?.getAttribute("href");
	if (!a || href == null || a.target || a.hasAttribute("download") || !(href.startsWith("?") || href === "./")) return;
	e.preventDefault();
	go(parseQuery(href.slice(href.indexOf("?") + 1)));
}
