/*
 * graph_picture.tsx - the drawing of a compiled program's instructions, with what each costs, as hlo_stats measured it.
 */
import { useCallback, useMemo } from "preact/hooks";
import { useJson } from "../api/loadable";
import { column, numbers, strings, table } from "../api/table";
import type { Result, TableData } from "../api/types";
import { classes } from "../base/dom";
import { quantity } from "../base/format";
import { GraphView, textWidth } from "../chart/graph_view";
import { layered, type Edge } from "../chart/layered";
import { hostFor } from "./choose";
import type { Session } from "./session";

export const EMPTY: Result = { tool: "", title: "", run: "", host: "", notes: [], tables: [] };

/* ---- what an instruction costs ---- */

export interface Costs {
	t: TableData;
	row: ReadonlyMap<string, number>; /* by instruction, in this program */
}

/* hlo_stats of the host whose program it is; the program's number stands at the end of its name. */
export function useCosts(session: Session, module: string, host: string): Costs | undefined {
	const stats = session.tools.find((t) => t.name === "hlo_stats" && t.available);
	const { value } = useJson<Result>(stats && host ? "api/tool/hlo_stats" : null, {
		run: session.run.run,
		host: stats ? hostFor(stats, host) : "",
	});
	return useMemo(() => {
		const t = table(value ?? EMPTY, "ops");
		const program = /\((\d+)\)$/.exec(module)?.[1];
		const names = strings(t, "hlo_op_name");
		const programs = strings(t, "program_id");
		if (!t || !names || !programs) return undefined;
		const row = new Map<string, number>();
		names.forEach((n, i) => {
			if (programs[i] === program && !row.has(n)) row.set(n, i);
		});
		return { t, row };
	}, [value, module]);
}

function cost(c: Costs | undefined, name: string, id: string): number | undefined {
	const row = c?.row.get(name);
	return row === undefined ? undefined : numbers(c?.t, id)?.[row];
}

export function costText(c: Costs | undefined, name: string, id: string): string {
	const v = cost(c, name, id);
	const unit = c?.t.cols.find((x) => x.id === id)?.unit ?? "";
	return v === undefined || Number.isNaN(v) ? "" : quantity(v, unit);
}

/* ---- the picture ---- */

interface Line {
	text: string;
	strong?: boolean;
	cost?: boolean;
}

const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const LINE_PX = 15;
const MOST_LETTERS = 56;

function cut(text: string): string {
	return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text;
}

/* A line each: a number (if there are several), a tab, a text; or only a text. */
function numbered(all: string, words: (n: string) => string): Line[] {
	return all
		.split("\n")
		.filter(Boolean)
		.map((l) => {
			const tab = l.indexOf("\t");
			return { text: tab < 0 ? l : `${words(l.slice(0, tab))} ${l.slice(tab + 1)}` };
		});
}

function nodeLines(nodes: TableData, i: number, costs: Costs | undefined): Line[] {
	const text = (id: string) => String(column(nodes, id)?.[i] ?? "");
	const time = costText(costs, text("name"), "total_self_time");
	const share = costText(costs, text("name"), "total_self_time_percent");
	return [
		{ text: text("title"), strong: true },
		{ text: text("opcode") },
		...numbered(text("subcomputations"), () => "does"),
		{ text: text("origin") && `from ${text("origin")}` },
		...numbered(text("attributes"), String),
		{ text: text("shape") },
		...numbered(text("inlined"), (n) => `operand${n && " "}${n} =`),
		...numbered(text("library"), String),
		{ text: text("backend_config") },
		{ text: time && `${time}, ${share}`, cost: true },
	].filter((l) => l.text);
}

export interface Graph {
	lines: Line[][];
	edges: Edge[];
	drawing: ReturnType<typeof layered>;
	names: string[]; /* of nodes, then of boxes */
}

export function draw(result: Result, costs: Costs | undefined): Graph {
	const nodes = table(result, "nodes");
	const boxes = table(result, "boxes");
	const list = table(result, "edges");
	const from = numbers(list, "from") ?? [];
	const to = numbers(list, "to") ?? [];
	const lines = nodes ? Array.from({ length: nodes.nrows }, (_, i) => nodeLines(nodes, i, costs)) : [];
	const width = (l: Line[]) =>
		Math.ceil(l.reduce((m, x) => Math.max(m, textWidth(cut(x.text), x.strong ? `600 ${FONT}` : FONT)), 60)) + 18;
	const edges = from.map((f, i) => ({ from: f, to: to[i] ?? 0 }));
	const box = numbers(nodes, "box") ?? [];
	const parent = numbers(boxes, "parent") ?? [];
	const names = [...(strings(nodes, "name") ?? []), ...(strings(boxes, "name") ?? [])];
	const drawing = layered(
		lines.map((l, i) => ({ w: width(l), h: l.length * LINE_PX + 9, box: box[i] ?? -1 })),
		parent.map((p, i) => ({
			w: width([{ text: boxTitle(boxes, i, costs), strong: true }]),
			h: 30,
			box: p,
		})),
		edges,
	);
	return { lines, edges, drawing, names };
}

export function boxTitle(boxes: TableData | undefined, i: number, costs: Costs | undefined): string {
	const text = (id: string) => String(column(boxes, id)?.[i] ?? "");
	const time = costText(costs, text("name"), "total_self_time");
	const what = column(boxes, "fusion")?.[i] ? `${text("kind")} fusion`.trim() : text("computation");
	return [text("name"), what, time].filter(Boolean).join(" · ");
}

const CLASSES: readonly [string, string][] = [
	["heavy", "dots, convolutions"],
	["reduction", "reduction, gather, scatter"],
	["movement", "copies, transposes, slices"],
	["update", "broadcast, update"],
	["communication", "communication"],
	["control", "control, custom call"],
	["container", "fusion"],
	["parameter", "parameter"],
	["elementwise", "elementwise"],
];

export interface GraphPictureProps {
	result: Result;
	graph: Graph;
	costs: Costs | undefined;
	title: string;
	start: number;
	selected: number | null; /* a node, or the number of nodes + a box */
	marked?: ReadonlySet<string>; /* names of nodes to point out */
	onSelect: (what: number | null) => void;
	onOpen: (what: number) => void;
}

export function GraphPicture({ result, graph, costs, title, start, selected, marked, onSelect, onOpen }: GraphPictureProps) {
	const nodes = table(result, "nodes");
	const boxes = table(result, "boxes");
	const list = table(result, "edges");
	const state = strings(nodes, "state") ?? [];
	const kinds = strings(nodes, "class") ?? [];
	const node = useCallback(
		(i: number) => {
			const place = graph.drawing.nodes[i];
			return (graph.lines[i] ?? []).map((l, k) => (
				<text
					key={k}
					class={classes(l.strong && "graph-title", l.cost && "graph-cost")}
					x={(place?.w ?? 0) / 2}
					y={4 + (k + 1) * LINE_PX - 4}
					text-anchor="middle"
				>
					{cut(l.text)}
				</text>
			));
		},
		[graph],
	);
	const operand = numbers(list, "operand") ?? [];
	const tips = strings(list, "tip") ?? [];
	const edgeKind = strings(list, "kind") ?? [];
	const small = column(list, "small") ?? [];
	return (
		<div class="graph-side-by">
			<GraphView
				drawing={graph.drawing}
				edges={graph.edges}
				title={title}
				start={start}
				selected={selected}
				onSelect={onSelect}
				onOpen={onOpen}
				nodeLabel={(i) => (graph.lines[i] ?? []).map((l) => l.text).join(", ")}
				nodeClass={(i) =>
					classes(
						`hlo-${kinds[i] ?? ""}`,
						state[i] === "root" && "hlo-root",
						state[i]?.includes("omitted") && "hlo-omitted",
						marked?.has(graph.names[i] ?? "") && "hlo-marked",
					)
				}
				node={node}
				box={(i) => (
					<text class="graph-title" x={(graph.drawing.boxes[i]?.w ?? 0) / 2} y="19" text-anchor="middle">
						{boxTitle(boxes, i, costs)}
					</text>
				)}
				boxClass={(i) => classes(!!column(boxes, "fusion")?.[i] && "hlo-fusion", !!column(boxes, "root")?.[i] && "hlo-root-box")}
				edgeClass={(i) => classes(edgeKind[i] !== "data" && "graph-edge-dashed", small[i] === false && "graph-edge-large")}
				edgeTip={(i) => tips[i] ?? ""}
				edgeText={(i) => ((operand[i] ?? -1) >= 0 ? String(operand[i]) : "")}
			/>
			<ul class="graph-legend" aria-label="Colours">
				{CLASSES.filter(([id]) => kinds.includes(id)).map(([id, label]) => (
					<li key={id}>
						<span class={`graph-swatch hlo-swatch-${id}`} />
						{label}
					</li>
				))}
				<li class="muted">thick: large values · dashed: more beyond</li>
			</ul>
		</div>
	);
}
