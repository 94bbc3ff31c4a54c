/*
 * palette.tsx - Ctrl-K: one box that finds tools, hosts, runs, and what to look for in operations and in the timeline.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ALL_HOSTS, type Run, type Tool } from "../api/types";
import { formatQuery, go, parseQuery } from "../base/url";
import { menuOrder } from "./choose";

export interface Place {
	kind: string;
	title: string;
	about: string;
	href: string;
}

interface PaletteProps {
	tools: readonly Tool[];
	runs: readonly Run[];
	run: string;
	host: string;
	current: Tool | undefined;
}

const MOST = 40;

/* Every word occurs somewhere; titles that begin with the text come first. */
export function matching(places: readonly Place[], text: string): Place[] {
	const words = text.toLowerCase().split(/\s+/).filter(Boolean);
	const fit = places.filter((p) => words.every((w) => `${p.title} ${p.about} ${p.kind}`.toLowerCase().includes(w)));
	const rank = (p: Place) => (p.title.toLowerCase().startsWith(text.toLowerCase()) ? 0 : p.title.toLowerCase().includes(text.toLowerCase()) ? 1 : 2);
	return fit.map((p, i) => ({ p, i })).sort((a, b) => rank(a.p) - rank(b.p) || a.i - b.i).map((x) => x.p).slice(0, MOST);
}

function placesOf({ tools, runs, run, host, current }: PaletteProps): Place[] {
	const there = menuOrder(tools).filter((t) => t.available);
	const hosts = current?.hosts ?? [];
	return [
		...there.map((t) => ({ kind: "tool", title: t.title, about: t.summary, href: formatQuery({ run, tool: t.name, host }) })),
		...hosts.map((h) => ({
			kind: "host",
			title: h === ALL_HOSTS ? "All hosts" : h,
			about: `${current?.title ?? ""} of this host`,
			href: formatQuery({ run, tool: current?.name, host: h }),
		})),
		...runs.filter((r) => r.run !== run).map((r) => ({ kind: "run", title: r.run, about: r.path, href: formatQuery({ run: r.run }) })),
		{ kind: "page", title: "All runs", about: "The list of the profiles in this log directory", href: "?list=all" },
	];
}

/* Where the text itself can be looked for. */
function searchesFor({ tools, run, host }: PaletteProps, text: string): Place[] {
	const has = (name: string) => tools.some((t) => t.name === name && t.available);
	const ways: readonly [string, string, Record<string, string>][] = [
		["trace_viewer@", "in the timeline", { q: text }],
		["framework_op_stats", "in framework op stats", { filter: text }],
		["hlo_stats", "in HLO op stats", { filter: text }],
		["kernel_stats", "in kernel stats", { filter: text }],
	];
	return ways
		.filter(([tool]) => has(tool))
		.map(([tool, where, extra]) => ({ kind: "search", title: `“${text}” ${where}`, about: "", href: formatQuery({ run, tool, host, ...extra }) }));
}

export function CommandPalette(props: PaletteProps) {
	const [open, setOpen] = useState(false);
	useEffect(() => {
		const key = (e: KeyboardEvent) => {
			if (!(e.ctrlKey || e.metaKey) || e.key.toLowerCase() !== "k") return;
			e.preventDefault();
			setOpen((o) => !o);
		};
		addEventListener("keydown", key);
		return () => removeEventListener("keydown", key);
	}, []);
	return open ? <Palette {...props} onClose={() => setOpen(false)} /> : null;
}

function Palette({ onClose, ...props }: PaletteProps & { onClose: () => void }) {
	const ref = useRef<HTMLDialogElement>(null);
	const [text, setText] = useState("");
	const [at, setAt] = useState(0);
	useEffect(() => {
		ref.current?.showModal();
	}, []);
	const places = useMemo(() => placesOf(props), [props.tools, props.runs, props.current]);
	const list = [...matching(places, text.trim()), ...(text.trim() ? searchesFor(props, text.trim()) : [])];
	const chosen = Math.min(at, list.length - 1);
	const take = (p: Place | undefined) => {
		if (!p) return;
		onClose();
		go(parseQuery(p.href.slice(1)));
	};
	const onKey = (e: KeyboardEvent) => {
		if (e.key === "Enter") take(list[chosen]);
		else if (e.key === "ArrowDown") setAt(Math.min(list.length - 1, chosen + 1));
		else if (e.key === "ArrowUp") setAt(Math.max(0, chosen - 1));
		else return;
		e.preventDefault();
	};
	return (
		<dialog class="palette" ref={ref} aria-label="Go to" onClose={onClose} onClick={(e) => e.target === ref.current && onClose()}>
			<input
				type="text"
				role="combobox"
				aria-expanded="true"
				aria-controls="palette-list"
				aria-activedescendant={list.length ? `palette-${chosen}` : undefined}
				aria-label="Go to a tool, a host, a run, or search for an operation"
				placeholder="Tool, host, run, or an operation to search for"
				value={text}
				onInput={(e) => {
					setText(e.currentTarget.value);
					setAt(0);
				}}
				onKeyDown={onKey}
			/>
			<ul id="palette-list" role="listbox" aria-label="Places">
				{list.map((p, i) => (
					<li key={`${p.kind} ${p.href}`} id={`palette-${i}`} role="option" aria-selected={i === chosen} onClick={() => take(p)}>
						<span>{p.title}</span>
						<span class="muted">{p.about}</span>
						<span class="palette-kind">{p.kind}</span>
					</li>
				))}
			</ul>
		</dialog>
	);
}
