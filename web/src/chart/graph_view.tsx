/*
 * graph_view.tsx - a drawing of nodes and edges that can be moved, zoomed, and walked by keys. What a node looks like is the caller's
 * business; only what is in and around the window exists in the document, and from far away nodes are without their text.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { classes, useSize } from "../base/dom";
import { curve, type Drawing, type Edge, type Place } from "./drawing";

export interface GraphViewProps {
	drawing: Drawing;
	title: string;
	start: number; /* what to begin with when not all fits, counted as `selected`; -1: the upper end */
	/* A node, or the number of nodes + a box. */
	selected: number | null;
	onSelect: (what: number | null) => void;
	onOpen?: (what: number) => void; /* double click, or Enter */
	nodeLabel: (node: number) => string; /* for who cannot see it, where its text is not drawn */
	nodeClass?: (node: number) => string;
	node: (node: number) => ComponentChildren; /* from 0, 0 to its size */
	box?: (box: number) => ComponentChildren;
	boxClass?: (box: number) => string;
	edgeClass?: (edge: number) => string;
	edgeTip?: (edge: number) => string;
	edgeText?: (edge: number) => string;
}

interface View {
	x: number; /* of the left upper corner, in the drawing */
	y: number;
	k: number;
}

const NOWHERE: View = { x: 0, y: 0, k: 1 };
const FAR = 0.3; /* nodes lose their text */
const LEAST_K = 0.02;
const MOST_K = 3;
const MARGIN = 24;

export function GraphView(props: GraphViewProps) {
	const { drawing, selected } = props;
	const [box, size] = useSize<HTMLDivElement>();
	const svg = useRef<SVGSVGElement>(null);
	const [view, setView] = useState<View | null>(null);
	const now = useRef({ view, size, drawing });
	now.current = { view, size, drawing };
	useEffect(() => {
		if (size.width) setView(firstView(drawing, size, props.start));
	}, [drawing, size.width > 0]);
	const zoom = (factor: number, px = size.width / 2, py = size.height / 2) => setView((v) => v && zoomed(v, factor, px, py));
	const fit = () => setView(fitted(drawing, size));
	useEffect(() => {
		const el = svg.current;
		if (!el) return;
		const wheel = (e: WheelEvent) => {
			e.preventDefault();
			const r = el.getBoundingClientRect();
			const lines = e.deltaMode === 1 ? 24 : 1;
			setView((v) => v && zoomed(v, Math.exp(-e.deltaY * lines * 0.0015), e.clientX - r.left, e.clientY - r.top));
		};
		el.addEventListener("wheel", wheel, { passive: false });
		return () => el.removeEventListener("wheel", wheel);
	}, [view !== null]);
	useEffect(() => {
		const p = selected === null ? undefined : drawing.nodes[selected];
		if (p) setView((v) => v && revealed(v, p, size));
	}, [selected]);
	const drag = useDrag(setView);
	const window = useWindow(view ?? NOWHERE, size);
	const keys = (e: KeyboardEvent) => {
		const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
		if (e.ctrlKey || e.metaKey || e.altKey) return;
		if (step && selected !== null && !e.shiftKey) {
			const next = neighbour(props, selected, step[0] ?? 0, step[1] ?? 0);
			if (next !== null) props.onSelect(next);
		} else if (step) setView((v) => v && { ...v, x: v.x + ((step[0] ?? 0) * 80) / v.k, y: v.y + ((step[1] ?? 0) * 80) / v.k });
		else if (e.key === "+" || e.key === "=") zoom(1.25);
		else if (e.key === "-") zoom(0.8);
		else if (e.key === "0") fit();
		else if (e.key === "Escape") props.onSelect(null);
		else if (e.key === "Enter" && selected !== null) props.onOpen?.(selected);
		else return;
		e.preventDefault();
	};
	return (
		<div class="graph" ref={box}>
			{view && (
				<svg
					ref={svg}
					class={classes("graph-svg", drag.moving && "graph-moving")}
					width={size.width}
					height={size.height}
					role="group"
					aria-label={`${props.title}. Arrows walk along edges, plus and minus zoom, 0 shows all.`}
					tabindex={0}
					onKeyDown={keys}
					{...drag.handlers}
				>
					<defs>
						<marker id="graph-tip" viewBox="0 0 8 6" markerWidth="8" markerHeight="6" refX="7" refY="3" orient="auto" markerUnits="userSpaceOnUse">
							<path d="M0 0L8 3L0 6z" />
						</marker>
					</defs>
					<g transform={`scale(${view.k}) translate(${-view.x} ${-view.y})`}>
						<Scene {...props} window={window} far={view.k < FAR} />
					</g>
				</svg>
			)}
			<div class="graph-buttons">
				<button class="button button-icon" title="Larger (+)" aria-label="Larger" onClick={() => zoom(1.3)}>
					+
				</button>
				<button class="button button-icon" title="Smaller (-)" aria-label="Smaller" onClick={() => zoom(1 / 1.3)}>
					−
				</button>
				<button class="button button-icon" title="Show all (0)" aria-label="Show all" onClick={fit}>
					<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
						<path d="M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10" />
					</svg>
				</button>
			</div>
		</div>
	);
}

/* ---- what is drawn ---- */

interface Window {
	x0: number;
	y0: number;
	x1: number;
	y1: number;
}

/* The window and half of it on every side; it stays as long as the view is inside, so that moving draws nothing anew. */
function useWindow(v: View, size: { width: number; height: number }): Window {
	const last = useRef<Window & { k: number }>();
	const w = size.width / v.k;
	const h = size.height / v.k;
	const o = last.current;
	if (!o || v.x < o.x0 || v.y < o.y0 || v.x + w > o.x1 || v.y + h > o.y1 || v.k > o.k * 2)
		last.current = { x0: v.x - w / 2, y0: v.y - h / 2, x1: v.x + 1.5 * w, y1: v.y + 1.5 * h, k: v.k };
	return last.current as Window;
}

function meets(p: Place, w: Window): boolean {
	return p.x < w.x1 && p.x + p.w > w.x0 && p.y < w.y1 && p.y + p.h > w.y0;
}

function extent(way: readonly number[]): Place {
	let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
	for (let i = 0; i + 1 < way.length; i += 2) {
		x0 = Math.min(x0, way[i] ?? 0);
		x1 = Math.max(x1, way[i] ?? 0);
		y0 = Math.min(y0, way[i + 1] ?? 0);
		y1 = Math.max(y1, way[i + 1] ?? 0);
	}
	return { x: x0, y: y0, w: x1 - x0 + 1, h: y1 - y0 + 1 };
}

function Scene(props: GraphViewProps & { window: Window; far: boolean }) {
	const { drawing, window, far, selected } = props;
	const { edges } = drawing;
	const ways = useMemo(() => drawing.ways.map((w) => ({ d: w.length ? curve(w) : "", at: extent(w), way: w })), [drawing]);
	return useMemo(() => {
		const on = (e: Edge | undefined) => !!e && selected !== null && (e.from === selected || e.to === selected);
		return (
			<>
				{drawing.boxes.map(
					(p, i) =>
						meets(p, window) && (
							<g
								key={`b${i}`}
								class={classes("graph-box", selected === drawing.nodes.length + i && "graph-box-on", props.boxClass?.(i))}
								transform={`translate(${p.x} ${p.y})`}
								data-box={i}
								onClick={() => props.onSelect(drawing.nodes.length + i)}
								onDblClick={() => props.onOpen?.(drawing.nodes.length + i)}
							>
								<rect width={p.w} height={p.h} rx="8" />
								{!far && props.box?.(i)}
							</g>
						),
				)}
				{ways.map(
					({ d, at, way }, i) =>
						d &&
						meets(at, window) && (
							<g key={`e${i}`} class={classes("graph-edge", on(edges[i]) && "graph-edge-on", props.edgeClass?.(i))}>
								{props.edgeTip && !far && <title>{props.edgeTip(i)}</title>}
								<path d={d} marker-end="url(#graph-tip)" />
								{!far && props.edgeText?.(i) && (
									<text x={(way[way.length - 2] ?? 0) + 5} y={(way[way.length - 1] ?? 0) - 9}>
										{props.edgeText(i)}
									</text>
								)}
							</g>
						),
				)}
				{drawing.nodes.map(
					(p, i) =>
						meets(p, window) && (
							<g
								key={`n${i}`}
								class={classes("graph-node", selected === i && "graph-node-on", props.nodeClass?.(i))}
								transform={`translate(${p.x} ${p.y})`}
								role="button"
								tabindex={-1}
								aria-label={far ? props.nodeLabel(i) : undefined}
								aria-pressed={selected === i}
								data-node={i}
								onClick={() => props.onSelect(i)}
								onDblClick={() => props.onOpen?.(i)}
							>
								<rect width={p.w} height={p.h} rx="4" />
								{!far && props.node(i)}
							</g>
						),
				)}
			</>
		);
	}, [ways, window, far, selected, props.node]);
}

/* ---- where one looks ---- */

type Size = { width: number; height: number };

function fitted(d: Drawing, s: Size): View {
	const k = Math.min(1.2, Math.max(LEAST_K, Math.min((s.width - 2 * MARGIN) / Math.max(1, d.w), (s.height - 2 * MARGIN) / Math.max(1, d.h))));
	return { k, x: d.w / 2 - s.width / 2 / k, y: d.h / 2 - s.height / 2 / k };
}

/* All of it where that can be read, else a part around the start. */
function firstView(d: Drawing, s: Size, start: number): View {
	const all = fitted(d, s);
	if (all.k >= 0.68) return all;
	const p = d.nodes[start] ?? d.boxes[start - d.nodes.length];
	if (!p) return { k: 0.9, x: d.w / 2 - s.width / 1.8, y: -MARGIN };
	/* A box rather whole; of what is higher than the window its upper end. */
	const k = Math.min(0.9, Math.max(0.75, (s.width - 2 * MARGIN) / p.w));
	const y = p.h * k > s.height - 2 * MARGIN ? p.y - MARGIN / k : p.y + p.h / 2 - s.height / 2 / k;
	return { k, x: p.x + p.w / 2 - s.width / 2 / k, y };
}

function zoomed(v: View, factor: number, px: number, py: number): View {
	const k = Math.min(MOST_K, Math.max(LEAST_K, v.k * factor));
	return { k, x: v.x + px / v.k - px / k, y: v.y + py / v.k - py / k };
}

/* Moved by no more than it takes to see the node. */
function revealed(v: View, p: Place, s: Size): View {
	const w = s.width / v.k;
	const h = s.height / v.k;
	const m = MARGIN / v.k;
	const into = (at: number, from: number, to: number, room: number) =>
		from < at + m ? from - m : to > at + room - m ? to - room + m : at;
	return { k: v.k, x: into(v.x, p.x, p.x + p.w, w), y: into(v.y, p.y, p.y + p.h, h) };
}

/* Along an edge upwards and downwards; sideways the nearest at about the same height. */
function neighbour({ drawing }: GraphViewProps, from: number, dx: number, dy: number): number | null {
	const a = drawing.nodes[from];
	if (!a) return null;
	let best: number | null = null;
	let least = Infinity;
	const consider = (i: number) => {
		const b = drawing.nodes[i];
		if (!b || i === from) return;
		const x = b.x + b.w / 2 - a.x - a.w / 2;
		const y = b.y + b.h / 2 - a.y - a.h / 2;
		if (dx && (x * dx <= 0 || Math.abs(y) > a.h + b.h)) return;
		const far = dx ? Math.abs(x) + 3 * Math.abs(y) : Math.abs(x) + Math.abs(y);
		if (far < least) {
			least = far;
			best = i;
		}
	};
	if (dx) drawing.nodes.forEach((_, i) => consider(i));
	else for (const e of drawing.edges) if ((dy > 0 ? e.from : e.to) === from) consider(dy > 0 ? e.to : e.from);
	return best;
}

function useDrag(setView: (f: (v: View | null) => View | null) => void) {
	const last = useRef<{ x: number; y: number; moved: boolean } | null>(null);
	const [moving, setMoving] = useState(false);
	const handlers = {
		onPointerDown(e: PointerEvent) {
			if (e.button === 0) last.current = { x: e.clientX, y: e.clientY, moved: false };
		},
		onPointerMove(e: PointerEvent & { currentTarget: SVGSVGElement }) {
			const l = last.current;
			if (!l) return;
			const dx = e.clientX - l.x;
			const dy = e.clientY - l.y;
			if (!l.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
			if (!l.moved) {
				e.currentTarget.setPointerCapture(e.pointerId);
				setMoving(true);
			}
			last.current = { x: e.clientX, y: e.clientY, moved: true };
			setView((v) => v && { ...v, x: v.x - dx / v.k, y: v.y - dy / v.k });
		},
		onPointerUp() {
			last.current = null;
			setMoving(false);
		},
		onPointerCancel() {
			last.current = null;
			setMoving(false);
		},
	};
	return { moving, handlers };
}
