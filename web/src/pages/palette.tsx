/*
 * palette.tsx - Ctrl-K: one box that finds tools, hosts, steps, runs, operations by name, and what to look for in tables.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useJson } from "../api/loadable";
import { ALL_HOSTS, type FoundNames, type Run, type Steps, type Tool } from "../api/types";
import { count, time_ps } from "../base/format";
import { formatQuery, go, parseQuery } from "../base/url";
import { hostFor, hostsInOrder, menuOrder } from "./choose";

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
	const hosts = hostsInOrder(current?.hosts ?? []);
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

/* The steps of the run, from the first that is asked for on. */
function useSteps({ tools, run, host }: PaletteProps): Place[] {
	const timeline = tools.find((t) => t.name === "trace_viewer@" && t.available);
	const at = timeline && hostFor(timeline, host);
	const { value } = useJson<Steps>(timeline && at ? "api/timeline/steps" : null, { run, host: at });
	return useMemo(
		() =>
			(value?.steps ?? []).map((s, i) => ({
				kind: "step",
				title: `Step ${s.num}`,
				about: `${time_ps(s.end_ps - s.begin_ps)}${i === value?.slowest ? ", the slowest" : i === value?.median ? ", the median" : ""}`,
				href: formatQuery({ run, tool: "trace_viewer@", host: at, step: String(s.num) }),
			})),
		[value, run, at],
	);
}

const FEW = 8;
const TYPED_MS = 200;

/* Operations and other events of the timeline whose names have the text in them. */
function useNames({ tools, run, host }: PaletteProps, text: string): Place[] {
	const timeline = tools.find((t) => t.name === "trace_viewer@" && t.available);
	const at = timeline && hostFor(timeline, host);
	const [asked, ask] = useState("");
	useEffect(() => {
		const timer = setTimeout(() => ask(text), TYPED_MS);
		return () => clearTimeout(timer);
	}, [text]);
	const { value } = useJson<FoundNames>(at && asked.length > 1 && asked === text ? "api/timeline/names" : null, { run, host: at, q: asked, limit: FEW });
	return (asked === text && value ? value.names : []).map((n) => ({
		kind: "operation",
		title: n.name,
		about: `${n.count === 1 ? "once" : `${count(n.count)} times`}, ${time_ps(n.total_ps)}`,
		href: formatQuery({ run, tool: "trace_viewer@", host: at, q: n.name, find: "longest" }),
	}));
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
	const steps = useSteps(props);
	const names = useNames(props, text.trim());
	/* Steps are many: only who types of them sees them. */
	const list = [...matching(text.trim() ? [...places, ...steps] : places, text.trim()), ...names, ...(text.trim() ? searchesFor(props, text.trim()) : [])];
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
				aria-label="Go to a tool, a host, a step, a run, or an operation"
				placeholder="Tool, host, step, run, or an operation"
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
