/*
 * memory_map.tsx - where each buffer of a program lies in memory and how long: program order from left to right as in the chart above it,
 * addresses from below. Drawn on a canvas, for there are tens of thousands of them.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { css, nameColor } from "../base/color";
import { classes, useSize } from "../base/dom";
import { bytes, count } from "../base/format";
import { useTheme } from "../base/theme";
import { adjust, useQuery } from "../base/url";
import { Icon } from "../widgets/icon";
import { around, blockAt, blocksNamed, extent, moved, zoomed, type Blocks, type Window } from "./memory_blocks";

/* The plot's edges, those of the chart above. */
const LEFT_PX = 70;
const RIGHT_PX = 8;
const BELOW_PX = 24;

interface MapProps {
	blocks: Blocks;
	last: number; /* the last point of the program */
	peak_at: number;
	shown: number; /* the buffer to point out; -1: none */
	onPoint: (row: number | null) => void;
	onKeep: (row: number | null) => void;
}

interface Place {
	width: number;
	height: number;
	w: Window;
}

const xOf = (p: Place, v: number) => LEFT_PX + ((v - p.w.x0) / (p.w.x1 - p.w.x0)) * (p.width - LEFT_PX - RIGHT_PX);
const yOf = (p: Place, v: number) => (1 - (v - p.w.y0) / (p.w.y1 - p.w.y0)) * (p.height - BELOW_PX);
const xAt = (p: Place, px: number) => p.w.x0 + ((px - LEFT_PX) / (p.width - LEFT_PX - RIGHT_PX)) * (p.w.x1 - p.w.x0);
const yAt = (p: Place, px: number) => p.w.y0 + (1 - px / (p.height - BELOW_PX)) * (p.w.y1 - p.w.y0);

export function MemoryMap(props: MapProps) {
	const { blocks } = props;
	const large = useQuery("view_memory_allocation_timeline") !== "";
	const all = useMemo(() => extent(blocks, props.last), [blocks, props.last]);
	const [w, setW] = useState<Window>(all);
	const [find, setFind] = useState("");
	const [at, setAt] = useState(0);
	const hits = useMemo(() => blocksNamed(blocks, find), [blocks, find]);
	useEffect(() => setW(all), [all]);
	const enlarge = (on: boolean) => adjust({ view_memory_allocation_timeline: on ? "1" : undefined });
	const go = (step: number) => {
		if (!hits.length) return;
		const next = (at + step + hits.length) % hits.length;
		setAt(next);
		setW(around(blocks, hits[next] ?? 0, all));
		props.onKeep(hits[next] ?? null);
	};
	return (
		<section
			class={classes("card", "map-card", large && "map-large")}
			aria-label="Allocations over the program"
			onKeyDown={(e) => {
				if (e.key === "Escape" && large) enlarge(false);
			}}
		>
			<div class="map-head">
				<h2>
					Allocations over the program <span class="aim">by address</span>
				</h2>
				<span class="spring" />
				<label class="search-box">
					<Icon name="search" />
					<input
						class="input input-small"
						type="search"
						placeholder="Find a buffer"
						aria-label="Find a buffer"
						value={find}
						onInput={(e) => {
							setFind(e.currentTarget.value);
							setAt(-1);
						}}
						onKeyDown={(e) => e.key === "Enter" && go(e.shiftKey ? -1 : 1)}
					/>
				</label>
				{find && (
					<span class="muted" role="status">
						{hits.length ? `${count(Math.max(0, at) + 1)} of ${count(hits.length)}` : "no match"}
					</span>
				)}
				<button
					class="button button-icon"
					title={large ? "As large as before (Escape)" : "As large as the window"}
					aria-label={large ? "Smaller panel" : "Larger panel"}
					aria-pressed={large}
					onClick={() => enlarge(!large)}
				>
					<Icon name={large ? "close" : "fit"} />
				</button>
			</div>
			<Canvas {...props} all={all} w={w} setW={setW} hits={find ? hits : undefined} large={large} />
		</section>
	);
}

interface CanvasProps extends MapProps {
	all: Window;
	w: Window;
	setW: (f: (w: Window) => Window) => void;
	hits: readonly number[] | undefined;
	large: boolean;
}

function Canvas(props: CanvasProps) {
	const { blocks, all, w, setW, hits, large } = props;
	const [box, size] = useSize<HTMLDivElement>();
	const canvas = useRef<HTMLCanvasElement>(null);
	const [tip, setTip] = useState<{ row: number; x: number; y: number } | null>(null);
	const { dark } = useTheme();
	const place: Place = { width: size.width, height: size.height, w };
	const now = useRef(place);
	now.current = place;
	useEffect(() => {
		if (size.width < 100 || !canvas.current) return;
		const next = requestAnimationFrame(() => canvas.current && draw(canvas.current, props, now.current, dark));
		return () => cancelAnimationFrame(next);
	}, [blocks, w, size.width, size.height, dark, props.shown, hits, props.peak_at]);
	useWheel(canvas, now, (f, x, y) => setW((v) => zoomed(v, all, f, x, y)), large);
	const point = (row: number | null, x = 0, y = 0) => {
		setTip(row === null ? null : { row, x, y });
		props.onPoint(row !== null && (blocks.id[row] ?? -1) >= 0 ? row : null);
	};
	const drag = useDrag(now, (dx, dy) => setW((v) => moved(v, all, dx, dy)), point, blocks, props.onKeep);
	const middle = (f: number) => setW((v) => zoomed(v, all, f, (v.x0 + v.x1) / 2, (v.y0 + v.y1) / 2));
	const keys = (e: KeyboardEvent) => {
		const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key];
		if (e.ctrlKey || e.metaKey || e.altKey) return;
		if (step) setW((v) => moved(v, all, ((step[0] ?? 0) * (v.x1 - v.x0)) / 8, ((step[1] ?? 0) * (v.y1 - v.y0)) / 8));
		else if (e.key === "+" || e.key === "=") middle(1.3);
		else if (e.key === "-") middle(1 / 1.3);
		else if (e.key === "0") setW(() => all);
		else return;
		e.preventDefault();
	};
	return (
		<div class="map" ref={box}>
			<canvas
				ref={canvas}
				class="map-canvas"
				role="application"
				tabIndex={0}
				aria-label={`Buffers over the program: ${count(blocks.n)} rectangles. Arrows move, plus and minus zoom, 0 shows all.`}
				onKeyDown={keys}
				onDblClick={() => tip && setW(() => around(blocks, tip.row, all))}
				{...drag}
			/>
			<div class="graph-buttons">
				<button class="button button-icon" title="Larger (+, or Ctrl and the wheel)" aria-label="Larger" onClick={() => middle(1.3)}>
					+
				</button>
				<button class="button button-icon" title="Smaller (-)" aria-label="Smaller" onClick={() => middle(1 / 1.3)}>
					−
				</button>
				<button class="button button-icon" title="Show all (0)" aria-label="Show all" onClick={() => setW(() => all)}>
					<Icon name="fit" />
				</button>
			</div>
			{tip && <Tip blocks={blocks} row={tip.row} x={tip.x} y={tip.y} room={size.width} />}
		</div>
	);
}

function Tip({ blocks, row, x, y, room }: { blocks: Blocks; row: number; x: number; y: number; room: number }) {
	const from = blocks.offset[row] ?? 0;
	return (
		<div class="tl-tip" style={x > room / 2 ? { right: room - x + 12, top: y + 12 } : { left: x + 12, top: y + 12 }}>
			<div class="tl-tip-name">
				{(blocks.id[row] ?? -1) < 0 ? `Allocation: ${blocks.name[row] ?? ""}` : blocks.name[row]}
			</div>
			<div class="tl-tip-time">
				{bytes(blocks.size[row] ?? 0)} at {bytes(from)} (0x{from.toString(16)})
			</div>
			<div class="tl-tip-time">
				points {count(blocks.begin[row] ?? 0)} to {count(blocks.end[row] ?? 0)}
			</div>
		</div>
	);
}

/* Zooms with Ctrl, and without where the page has nothing to scroll. */
function useWheel(
	canvas: { current: HTMLCanvasElement | null },
	now: { current: Place },
	zoom: (factor: number, x: number, y: number) => void,
	large: boolean,
) {
	useEffect(() => {
		const el = canvas.current;
		if (!el) return;
		const wheel = (e: WheelEvent) => {
			if (!large && !e.ctrlKey && !e.metaKey) return;
			e.preventDefault();
			const r = el.getBoundingClientRect();
			const lines = e.deltaMode === 1 ? 24 : 1;
			const d = Math.max(-240, Math.min(240, e.deltaY * lines));
			zoom(Math.exp(-d * 0.0015), xAt(now.current, e.clientX - r.left), yAt(now.current, e.clientY - r.top));
		};
		el.addEventListener("wheel", wheel, { passive: false });
		return () => el.removeEventListener("wheel", wheel);
	}, [large]);
}

function useDrag(
	now: { current: Place },
	move: (dx: number, dy: number) => void,
	point: (row: number | null, x?: number, y?: number) => void,
	blocks: Blocks,
	keep: (row: number | null) => void,
) {
	const last = useRef<{ x: number; y: number; moved: boolean } | null>(null);
	const rowAt = (e: PointerEvent) => {
		const p = now.current;
		return e.offsetX < LEFT_PX || e.offsetY > p.height - BELOW_PX
			? null
			: blockAt(blocks, xAt(p, e.offsetX), yAt(p, e.offsetY));
	};
	return {
		onPointerDown(e: PointerEvent) {
			if (e.button === 0) last.current = { x: e.clientX, y: e.clientY, moved: false };
		},
		onPointerMove(e: PointerEvent & { currentTarget: HTMLCanvasElement }) {
			const l = last.current;
			if (!l) return point(rowAt(e), e.offsetX, e.offsetY);
			const [dx, dy] = [e.clientX - l.x, e.clientY - l.y];
			if (!l.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
			if (!l.moved) e.currentTarget.setPointerCapture(e.pointerId);
			const { w, width, height } = now.current;
			last.current = { x: e.clientX, y: e.clientY, moved: true };
			move((-dx * (w.x1 - w.x0)) / (width - LEFT_PX - RIGHT_PX), (dy * (w.y1 - w.y0)) / (height - BELOW_PX));
			point(null);
		},
		onPointerUp(e: PointerEvent) {
			const row = last.current && !last.current.moved ? rowAt(e) : undefined;
			if (row !== undefined) keep(row !== null && (blocks.id[row] ?? -1) >= 0 ? row : null);
			last.current = null;
		},
		onPointerCancel() {
			last.current = null;
		},
		onPointerLeave() {
			if (!last.current) point(null);
		},
	};
}

/* ---- drawing ---- */

function draw(canvas: HTMLCanvasElement, props: CanvasProps, p: Place, dark: boolean): void {
	const scale = devicePixelRatio || 1;
	canvas.width = Math.round(p.width * scale);
	canvas.height = Math.round(p.height * scale);
	const c = canvas.getContext("2d");
	if (!c) return;
	const style = getComputedStyle(canvas);
	const color = (name: string) => style.getPropertyValue(name);
	c.scale(scale, scale);
	c.font = "11px system-ui, sans-serif";
	axes(c, p, color("--muted"), color("--line"));
	c.save();
	c.beginPath();
	c.rect(LEFT_PX, 0, p.width - LEFT_PX - RIGHT_PX, p.height - BELOW_PX);
	c.clip();
	rectangles(c, props, p, dark, color);
	const peak = Math.round(xOf(p, props.peak_at));
	c.fillStyle = color("--text");
	c.fillRect(peak, 0, 1, p.height);
	c.restore();
}

function rectangles(c: CanvasRenderingContext2D, props: CanvasProps, p: Place, dark: boolean, color: (name: string) => string) {
	const { blocks: b, hits, shown } = props;
	const found = hits && new Set(hits);
	const label = color("--tl-label");
	let on: [number, number, number, number] | undefined;
	let drawn = 0;
	for (let i = 0; i < b.n; i++) {
		const from = b.offset[i] ?? 0;
		const x = xOf(p, b.begin[i] ?? 0);
		const y = yOf(p, from + (b.size[i] ?? 0));
		const w = xOf(p, b.end[i] ?? 0) - x;
		const h = yOf(p, from) - y;
		if (x > p.width || x + w < LEFT_PX || y > p.height || y + h < 0) continue;
		const allocation = (b.id[i] ?? -1) < 0;
		if (b.id[i] === shown && !allocation) on = [x, y, w, h];
		/* What is less than half a pixel either way cannot be seen for its neighbours. */
		if (w < 0.5 && h < 0.5) continue;
		drawn++;
		c.globalAlpha = found && !found.has(i) && !allocation ? 0.2 : 1;
		c.fillStyle = allocation ? color("--hover") : css(nameColor(b.name[i] ?? "", dark));
		c.fillRect(x, y, Math.max(0.7, w - (w > 3 ? 0.6 : 0)), Math.max(0.7, h - (h > 3 ? 0.6 : 0)));
		if (!allocation && w > 44 && h >= 14) {
			c.fillStyle = label;
			words(c, b.name[i] ?? "", Math.max(x, LEFT_PX) + 4, y + Math.min(h / 2, 12) + 4, Math.min(w, x + w - LEFT_PX) - 8);
		}
	}
	c.globalAlpha = 1;
	if (on) {
		c.strokeStyle = color("--text");
		c.lineWidth = 2;
		c.strokeRect(on[0] - 1, on[1] - 1, Math.max(3, on[2] + 1), Math.max(3, on[3] + 1));
	}
	c.canvas.dataset["drawn"] = String(drawn);
}

/* As much of a name as there is room for. */
function words(c: CanvasRenderingContext2D, text: string, x: number, y: number, room: number): void {
	const most = Math.floor(room / 5.6);
	if (most < 3) return;
	let cut = text.slice(0, most);
	while (cut.length > 2 && c.measureText(cut).width > room) cut = cut.slice(0, -1);
	c.fillText(cut.length < text.length ? `${cut.slice(0, -1)}…` : cut, x, y);
}

/* A distance between lines of an axis: a power of two for bytes, 1, 2 or 5 times a power of ten for points. */
function distance(length: number, most: number, base2: boolean): number {
	const least = length / Math.max(1, most);
	if (base2) return 2 ** Math.max(0, Math.ceil(Math.log2(least)));
	const ten = 10 ** Math.max(0, Math.floor(Math.log10(least)));
	return [1, 2, 5, 10].map((k) => k * ten).find((d) => d >= least) ?? 10 * ten;
}

function axes(c: CanvasRenderingContext2D, p: Place, ink: string, line: string): void {
	const dy = distance(p.w.y1 - p.w.y0, p.height / 40, true);
	c.textAlign = "right";
	c.textBaseline = "middle";
	for (let v = Math.ceil(p.w.y0 / dy) * dy; v <= p.w.y1; v += dy) {
		const y = yOf(p, v);
		c.fillStyle = line;
		c.fillRect(LEFT_PX, Math.round(y), p.width - LEFT_PX - RIGHT_PX, 1);
		c.fillStyle = ink;
		c.fillText(v === 0 ? "0" : bytes(v), LEFT_PX - 6, Math.max(7, y));
	}
	const dx = distance(p.w.x1 - p.w.x0, p.width / 90, false);
	c.textAlign = "center";
	for (let v = Math.ceil(p.w.x0 / dx) * dx; v <= p.w.x1; v += dx)
		c.fillText(count(v), Math.min(Math.max(xOf(p, v), LEFT_PX + 4), p.width - 20), p.height - 11);
	c.textAlign = "left";
	c.textBaseline = "alphabetic";
}
