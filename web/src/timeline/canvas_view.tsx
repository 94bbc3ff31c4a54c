/*
 * canvas_view.tsx - the timeline on the screen; the only file that owns canvases.
 *
 * Three of them: the head (map of the whole trace, ruler), the tracks, and above these an overlay with what follows the pointer, so that
 * moving the mouse redraws no slice. The gutter with the names is ordinary HTML in the same scrolling box.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FlowEnd } from "../api/types";
import { useSize } from "../base/dom";
import { counterText, exact_ps, time_ps } from "../base/format";
import { useStore } from "../base/store";
import { useTheme } from "../base/theme";
import { BandPictures } from "./bands";
import { Gutter, GUTTER_PX } from "./gutter";
import type { Hit } from "./hit_test";
import { layOut, visibleItems, type Layout } from "./layout";
import type { Loader } from "./loader";
import type { TimelineModel } from "./model";
import { HEAD_PX, Painter, parsePixel, type Frame, type Palette } from "./painter";
import { bindPointer } from "./pointer";
import type { TraceStore } from "./state";
import { approach, sameView } from "./viewport";

export interface TimelineProps {
	model: TimelineModel;
	loader: Loader;
	store: TraceStore;
	flowEnds: readonly FlowEnd[];
	exact: (event: number) => Promise<number>; /* the true duration of an event */
	onSelect(hit: Hit | undefined): void;
	onBlank?: (track: number, ps: number) => void;
}

function readPalette(el: Element, dark: boolean): Palette {
	const s = getComputedStyle(el);
	const v = (name: string) => s.getPropertyValue(name).trim();
	return {
		bg: v("--tl-bg"),
		band: v("--tl-band"),
		grid: v("--tl-grid"),
		line: v("--line-strong"),
		text: v("--text-2"),
		muted: v("--tl-map"),
		mutedText: v("--muted"),
		label: v("--tl-label"),
		accent: v("--accent"),
		wash: v("--accent-wash"),
		bgPixel: parsePixel(v("--tl-bg")),
		gridPixel: parsePixel(v("--tl-grid")),
		linePixel: parsePixel(v("--line-strong")),
		markPixel: parsePixel(v("--error")),
		dark,
	};
}

/* Gliding reaches its goal in about a tenth of a second; who wants no motion gets none. */
const GLIDE_MS = 38;
const CHUNK_PX = 200;

export function CanvasView({ model, loader, store, flowEnds, exact, onSelect, onBlank }: TimelineProps) {
	const [bodyRef, size] = useSize<HTMLDivElement>();
	const head = useRef<HTMLCanvasElement>(null);
	const main = useRef<HTMLCanvasElement>(null);
	const over = useRef<HTMLCanvasElement>(null);
	const dark = useTheme().dark;
	const closed = useStore(store, (s) => s.closed);
	const collapsed = useStore(store, (s) => s.collapsed);
	const pinned = useStore(store, (s) => s.pinned);
	const filter = useStore(store, (s) => s.filter);
	const order = useStore(store, (s) => s.order);
	const layout = useMemo(
		() => layOut(model.timeline.sections, { closed, collapsed, pinned, filter, order }),
		[model, closed, collapsed, pinned, filter, order],
	);
	const [chunk, setChunk] = useState(0);
	const width = Math.max(0, size.width - GUTTER_PX);

	const engine = useRef<Engine>();
	useEffect(() => {
		if (!head.current || !main.current || !over.current || !bodyRef.current) return;
		const e = new Engine(head.current, main.current, over.current, bodyRef.current, model, loader, store);
		engine.current = e;
		const unbind = bindPointer({
			store,
			model,
			layout: () => e.layout,
			body: bodyRef.current,
			area: over.current,
			head: head.current,
			select: (hit) => onSelectRef.current(hit),
			blank: (track, ps) => onBlankRef.current?.(track, ps),
		});
		return () => {
			unbind();
			e.stop();
		};
	}, [model, loader, store]);
	const onSelectRef = useRef(onSelect);
	onSelectRef.current = onSelect;
	const onBlankRef = useRef(onBlank);
	onBlankRef.current = onBlank;

	useEffect(() => {
		const e = engine.current;
		if (!e || !bodyRef.current) return;
		e.layout = layout;
		e.flowEnds = flowEnds;
		e.painter.resize(width, size.height, devicePixelRatio || 1);
		e.painter.setPalette(readPalette(bodyRef.current, dark));
		e.ask();
		e.invalidate();
	}, [layout, width, size.height, dark, flowEnds, model]);

	return (
		<div class="tl">
			<div class="tl-head">
				<div class="tl-corner" style={{ width: GUTTER_PX }}>
					<Corner store={store} model={model} />
				</div>
				<canvas ref={head} class="tl-head-canvas" height={HEAD_PX} aria-hidden="true" />
			</div>
			<div
				class="tl-body"
				ref={bodyRef}
				onScroll={(e) => {
					const top = e.currentTarget.scrollTop;
					setChunk(Math.floor(top / CHUNK_PX));
					engine.current?.scrolled();
				}}
			>
				<div class="tl-stick" style={{ left: GUTTER_PX }}>
					<canvas ref={main} class="tl-canvas" aria-hidden="true" />
					<canvas
						ref={over}
						class="tl-canvas tl-over"
						tabIndex={0}
						role="application"
						aria-label="Timeline. W and S zoom, A and D move, arrow keys go from event to event, question mark lists all keys."
					/>
					<Tooltip store={store} width={width} height={size.height} exact={exact} />
				</div>
				<div class="tl-space" style={{ height: Math.max(layout.height, 1) }}>
					<div class="tl-gutter" style={{ width: GUTTER_PX }}>
						<Gutter layout={layout} store={store} model={model} top={chunk * CHUNK_PX} height={size.height + CHUNK_PX} />
					</div>
				</div>
				{layout.items.length === 0 && (
					<p class="tl-none">{filter ? `No track matches “${filter}”.` : "This trace has no events."}</p>
				)}
			</div>
		</div>
	);
}

function Corner({ store, model }: { store: TraceStore; model: TimelineModel }) {
	const filter = useStore(store, (s) => s.filter);
	const anyOpen = useStore(store, (s) => model.timeline.sections.some((x) => !s.closed.has(x.pid)));
	const all = () => store.update({ closed: anyOpen ? new Set(model.timeline.sections.map((s) => s.pid)) : new Set() });
	return (
		<>
			<input
				class="input input-small"
				type="search"
				placeholder="Filter tracks"
				aria-label="Filter tracks"
				value={filter}
				onInput={(e) => store.update({ filter: e.currentTarget.value })}
			/>
			<button
				class="button button-small"
				onClick={all}
				title={anyOpen ? "Collapse all sections" : "Expand all sections"}
			>
				{anyOpen ? "Collapse" : "Expand"}
			</button>
		</>
	);
}

/* The pointer rests for so long before the program is asked for what the drawing rounds. */
const REST_MS = 60;

/* The drawing rounds durations to its ticks: a rounded one is said to be about so long, until the true one is here. */
function useDuration(h: Hit | undefined, exact: (event: number) => Promise<number>): string {
	const [known, setKnown] = useState<{ event: number; dur_ps: number }>();
	const event = h && h.value === undefined && h.tick_ps > 1 ? h.event : undefined;
	useEffect(() => {
		if (event === undefined) return;
		let wanted = true;
		const timer = setTimeout(
			() =>
				void exact(event).then(
					(dur_ps) => wanted && setKnown({ event, dur_ps }),
					() => undefined,
				),
			REST_MS,
		);
		return () => {
			wanted = false;
			clearTimeout(timer);
		};
	}, [event]);
	if (!h) return "";
	if (known && known.event === event) return exact_ps(known.dur_ps);
	if (event === undefined) return `${h.cut ? "over " : ""}${exact_ps(h.dur_ps)}`;
	return h.dur_ps <= h.tick_ps ? "shorter than a pixel" : `about ${time_ps(h.dur_ps)}`;
}

interface TooltipProps {
	store: TraceStore;
	width: number;
	height: number;
	exact: (event: number) => Promise<number>;
}

function Tooltip({ store, width, height, exact }: TooltipProps) {
	const h = useStore(store, (s) => s.hover);
	const duration = useDuration(h, exact);
	if (!h) return null;
	const right = h.x > width - 280;
	const below = h.y < height - 70;
	const at = {
		left: right ? "auto" : h.x + 14,
		right: right ? -width + (width - h.x) + 14 + "px" : "auto",
		top: below ? h.y + 18 : "auto",
		bottom: below ? "auto" : -h.y + 12 + "px",
	};
	return (
		<div class="tl-tip" style={at} role="presentation">
			<div class="tl-tip-name">{h.name}</div>
			<div class="tl-tip-time">
				{h.value !== undefined ? counterText(h.value, h.name) : duration}
			</div>
		</div>
	);
}

/* The frame loop. It runs only while something changes: a resting timeline costs nothing. */
class Engine {
	readonly painter: Painter;
	layout: Layout = { items: [], height: 0, byTrack: new Map(), closedIn: new Map() };
	flowEnds: readonly FlowEnd[] = [];
	private raf = 0;
	private dirty = 3; /* 1 tracks and head, 2 overlay */
	private moving = false;
	private rest: ReturnType<typeof setTimeout> | undefined;
	private lastFrame = 0;
	private readonly unsubscribe: () => void;
	private readonly bands: BandPictures;
	private readonly calm = matchMedia("(prefers-reduced-motion: reduce)");

	constructor(
		head: HTMLCanvasElement,
		main: HTMLCanvasElement,
		over: HTMLCanvasElement,
		private readonly body: HTMLElement,
		private readonly model: TimelineModel,
		private readonly loader: Loader,
		private readonly store: TraceStore,
	) {
		this.bands = new BandPictures(model, loader.of, (whole) => {
			if (store.get().bands !== whole) store.update({ bands: whole });
			this.invalidate(1);
		});
		this.painter = new Painter(head, main, over, () => document.createElement("canvas"));
		let old = store.get();
		this.unsubscribe = store.subscribe(() => {
			const now = store.get();
			const was = old;
			old = now;
			const goes = !sameView(now.target, was.target);
			if (goes || !sameView(now.view, was.view)) this.moved();
			/* What the view is gliding to is asked for at once; nobody waits for what lies between. */
			if (goes) this.ask();
			const tracks =
				now.view !== was.view ||
				now.query !== was.query ||
				now.paints !== was.paints ||
				now.version !== was.version ||
				now.marks !== was.marks ||
				now.measure !== was.measure ||
				now.gap !== was.gap;
			const overlay =
				tracks ||
				now.hover !== was.hover ||
				now.selected !== was.selected ||
				now.box !== was.box ||
				now.flows !== was.flows;
			if (now.wanted && now.wanted !== was.wanted) this.scrollTo(now.wanted.track, now.wanted.row);
			if (overlay || !sameView(now.view, now.target)) this.invalidate(tracks ? 3 : 2);
		});
	}

	private moved(): void {
		/* What was under the pointer is not there any more. */
		if (!this.moving && this.store.get().hover) this.store.update({ hover: undefined });
		this.moving = true;
		clearTimeout(this.rest);
		this.rest = setTimeout(() => {
			this.moving = false;
			this.invalidate();
			this.ask();
		}, 120);
	}

	scrolled(): void {
		this.moved();
		this.invalidate();
		this.ask();
	}

	/* Tells the loader what is on the screen, and what is near it. */
	ask(): void {
		const { top, height } = { top: this.body.scrollTop, height: this.body.clientHeight };
		if (visibleItems(this.layout, top, height).some((it) => it.kind === "section" && !it.open)) this.bands.show(this.store.get().target);
		const tracksIn = (y: number, h: number) =>
			visibleItems(this.layout, y, h).flatMap((it) => (it.kind === "track" ? [it.info.track] : []));
		const seen = tracksIn(top, height);
		const others = tracksIn(top - height * 3, height * 7).filter((t) => !seen.includes(t));
		const width_px = Math.round(this.painter.width * this.painter.dpr);
		this.loader.show(seen, others, this.store.get().target, width_px, this.moving);
	}

	private scrollTo(track: number, row: number): void {
		const it = this.layout.byTrack.get(track);
		if (!it) return;
		const y = it.y + row * it.rowH;
		const { scrollTop, clientHeight } = this.body;
		if (y < scrollTop + 8 || y + it.rowH > scrollTop + clientHeight - 8)
			this.body.scrollTop = Math.max(0, y - clientHeight / 2);
	}

	invalidate(what = 3): void {
		this.dirty |= what;
		if (!this.raf) this.raf = requestAnimationFrame((t) => this.frame(t));
	}

	private frame(now: number): void {
		this.raf = 0;
		const st = this.store.get();
		if (!sameView(st.view, st.target)) {
			const dt = Math.min(50, Math.max(8, now - this.lastFrame));
			const share = this.calm.matches ? 1 : 1 - Math.exp(-dt / GLIDE_MS);
			this.store.update({ view: approach(st.view, st.target, share, this.painter.width) });
		}
		this.lastFrame = now;
		const f: Frame = {
			bands: this.bands,
			state: this.store.get(),
			layout: this.layout,
			model: this.model,
			top: this.body.scrollTop,
			flows: this.loader.flows,
			selectedFlows: this.flowEnds,
			moving: this.moving,
		};
		if (this.dirty & 1) {
			this.painter.drawMain(f);
			this.painter.drawHead(f);
		}
		this.painter.drawOver(f);
		/* What a test reads: how much this frame drew. */
		this.body.dataset["drawn"] = String(this.painter.drawn);
		this.dirty = 0;
		if (!sameView(f.state.view, f.state.target)) this.invalidate();
	}

	stop(): void {
		cancelAnimationFrame(this.raf);
		clearTimeout(this.rest);
		this.bands.stop();
		this.unsubscribe();
	}
}
