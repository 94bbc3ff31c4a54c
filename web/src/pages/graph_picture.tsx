/*
 * graph_picture.tsx - the drawing of a compiled program's instructions, with what each costs, as hlo_stats measured it.
 */
import { useCallback, useMemo } from "preact/hooks";
import { useJson } from "../api/loadable";
import { column, numbers, strings, table } from "../api/table";
import type { Result, TableData } from "../api/types";
import { classes } from "../base/dom";
import { quantity } from "../base/format";
import { drawing, type Drawing } from "../chart/drawing";
import { GraphView } from "../chart/graph_view";
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

const LINE_PX = 15;

export interface Graph {
	drawing: Drawing;
	names: string[]; /* of nodes, then of boxes */
}

export function draw(result: Result): Graph {
	const names = [...(strings(table(result, "nodes"), "name") ?? []), ...(strings(table(result, "boxes"), "name") ?? [])];
	return { drawing: drawing(result), names };
}

/* "12.3 ms, 4.5%"; empty where nothing was measured. */
function costLine(costs: Costs | undefined, name: string): string {
	const time = costText(costs, name, "total_self_time");
	return time && `${time}, ${costText(costs, name, "total_self_time_percent")}`;
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
	const lines = useMemo(
		() => graph.drawing.lines.map((l, i) => [...l, costLine(costs, graph.names[i] ?? "")].filter(Boolean)),
		[graph, costs],
	);
	const node = useCallback(
		(i: number) => {
			const { w, h } = graph.drawing.nodes[i] ?? { w: 0, h: 0 };
			const all = lines[i] ?? [];
			/* What was not measured leaves a line free. */
			const top = (h - all.length * LINE_PX) / 2 - 4.5;
			return all.map((l, k) => (
				<text
					key={k}
					class={classes(k === 0 && "graph-title", k >= (graph.drawing.lines[i]?.length ?? 0) && "graph-cost")}
					x={w / 2}
					y={top + (k + 1) * LINE_PX}
					text-anchor="middle"
				>
					{l}
				</text>
			));
		},
		[graph, lines],
	);
	const boxTitle = (i: number) =>
		[graph.drawing.titles[i], costText(costs, graph.names[graph.drawing.nodes.length + i] ?? "", "total_self_time")].filter(Boolean).join(" · ");
	const row = (edge: number) => graph.drawing.edges[edge]?.row ?? -1;
	const operand = numbers(list, "operand") ?? [];
	const tips = strings(list, "tip") ?? [];
	const edgeKind = strings(list, "kind") ?? [];
	const small = column(list, "small") ?? [];
	return (
		<div class="graph-side-by">
			<GraphView
				drawing={graph.drawing}
				title={title}
				start={start}
				selected={selected}
				onSelect={onSelect}
				onOpen={onOpen}
				nodeLabel={(i) => (lines[i] ?? []).join(", ")}
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
						{boxTitle(i)}
					</text>
				)}
				boxClass={(i) => classes(!!column(boxes, "fusion")?.[i] && "hlo-fusion", !!column(boxes, "root")?.[i] && "hlo-root-box")}
				edgeClass={(i) => classes(edgeKind[row(i)] !== "data" && "graph-edge-dashed", small[row(i)] === false && "graph-edge-large")}
				edgeTip={(i) => tips[row(i)] ?? ""}
				edgeText={(i) => ((operand[row(i)] ?? -1) >= 0 ? String(operand[row(i)]) : "")}
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
