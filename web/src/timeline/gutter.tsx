/*
 * gutter.tsx - names of sections and tracks, left of the canvas and scrolling with it: buttons, so that keys and screen readers reach
 * them. Only what is near the screen exists. Names can be dragged to another place among their like, or moved by Alt and an arrow.
 */
import type { ComponentChildren, RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Bands } from "../api/types";
import { count, percent, time_ps } from "../base/format";
import { useStore } from "../base/store";
import { classes } from "../base/dom";
import { gapAt, itemId, PINNED_PID, visibleItems, type Gap, type Item, type Layout, type SectionItem, type TrackItem } from "./layout";
import { moveItem, stepItem, toggled, togglePin, toggleSection, type TraceStore } from "./state";
import type { TimelineModel } from "./model";
import { Icon } from "../widgets/icon";

export const GUTTER_PX = 216;
const NEAR_PX = 400;

export function Gutter({
	layout,
	store,
	model,
	top,
	height,
}: {
	layout: Layout;
	store: TraceStore;
	model: TimelineModel;
	top: number;
	height: number;
}) {
	const selected = useStore(store, (s) => s.selected?.track);
	const items = visibleItems(layout, top - NEAR_PX, height + 2 * NEAR_PX);
	const origin = useRef<HTMLSpanElement>(null);
	const [gap, setGap] = useState<Gap | undefined>(undefined);
	return (
		<>
			<span ref={origin} class="tl-origin" />
			{items.map((it) => (
				<Movable
					key={it.kind === "section" ? `s${it.pid}` : `t${it.info.track}`}
					item={it}
					layout={layout}
					store={store}
					origin={origin}
					onGap={setGap}
				>
					{it.kind === "section" ? (
						<SectionName item={it} store={store} model={model} />
					) : (
						<TrackName item={it} store={store} current={selected === it.info.track} />
					)}
				</Movable>
			))}
			{gap && <div class="tl-gap" style={{ top: gap.y - 3 }} />}
		</>
	);
}

/* A press that moves is a drag, one that does not is a click. */
const DRAG_PX = 5;

interface MovableProps {
	item: Item;
	layout: Layout;
	store: TraceStore;
	origin: RefObject<HTMLSpanElement>;
	onGap: (gap: Gap | undefined) => void;
	children: ComponentChildren;
}

function Movable({ item, layout, store, origin, onGap, children }: MovableProps) {
	const drag = useRef<{ y: number; gap: Gap | undefined; moved: boolean } | null>(null);
	if (item.kind === "section" && item.pid === PINNED_PID) return <>{children}</>;
	const at = (e: PointerEvent) => gapAt(layout, item, e.clientY - (origin.current?.getBoundingClientRect().top ?? 0));
	const end = (drop: boolean) => {
		const d = drag.current;
		onGap(undefined);
		if (!d?.moved) return void (drag.current = null);
		if (drop && d.gap && d.gap.before !== itemId(item)) moveItem(store, layout, item, d.gap.before);
		/* The click that follows is not one; if none comes the next press is. */
		setTimeout(() => (drag.current = null));
	};
	return (
		<div
			class="tl-movable"
			onPointerDown={(e) => {
				if (e.button === 0) drag.current = { y: e.clientY, gap: undefined, moved: false };
			}}
			onPointerMove={(e) => {
				const d = drag.current;
				if (!d || !(e.buttons & 1)) return;
				if (!d.moved && Math.abs(e.clientY - d.y) < DRAG_PX) return;
				if (!d.moved) e.currentTarget.setPointerCapture(e.pointerId);
				d.moved = true;
				d.gap = at(e);
				onGap(d.gap);
			}}
			onPointerUp={() => end(true)}
			onPointerCancel={() => end(false)}
			onClickCapture={(e) => {
				if (drag.current?.moved) e.stopPropagation();
			}}
			onKeyDown={(e) => {
				if (!e.altKey || (e.key !== "ArrowUp" && e.key !== "ArrowDown")) return;
				e.preventDefault();
				e.stopPropagation();
				const name = e.target as HTMLElement;
				/* Moving an element in the document takes the focus from it. */
				if (stepItem(store, layout, item, e.key === "ArrowUp" ? -1 : 1))
					requestAnimationFrame(() => {
						name.focus();
						name.scrollIntoView({ block: "nearest" });
					});
			}}
		>
			{children}
		</div>
	);
}

/* "tf_Compute/4045682483762970090": what it is stands at the begin, which one at the end; the middle can go. */
const MOST_CHARS = 23;

export function shortName(name: string): string {
	return name.length <= MOST_CHARS ? name : `${name.slice(0, MOST_CHARS - 9)}…${name.slice(-8)}`;
}

/* What the band of a closed section says, in words. */
function bandText(of: Bands["sections"][number]): string {
	const share = percent(of.busy_frac * 100);
	if (of.own_ps === undefined) return of.threads ? `${share} of the time of its ${count(of.threads)} threads is in an event` : "";
	return `busy ${share} of the time`;
}

function slowestText(of: Bands["sections"][number]): string {
	return `The slowest device of its kind: ${time_ps(of.own_ps ?? 0)} of work without communication and waiting for input; the median is ${time_ps(of.median_own_ps ?? 0)}`;
}

function SectionName({ item, store, model }: { item: SectionItem; store: TraceStore; model: TimelineModel }) {
	const bands = useStore(store, (s) => s.bands);
	const of = bands?.sections[model.timeline.sections.findIndex((s) => s.pid === item.pid)];
	return (
		<button
			class="tl-section"
			style={{ top: item.y, height: item.h }}
			aria-expanded={item.open}
			title={[item.name, of && bandText(of), of?.slowest && slowestText(of)].filter(Boolean).join("\n")}
			data-slowest={of?.slowest}
			onClick={() => toggleSection(store, item.pid)}
		>
			<Icon name={item.open ? "down" : "right"} />
			<span class="tl-section-name">{item.name}</span>
			<span class="tl-section-count">
				{of?.slowest ? (
					<strong>slowest</strong>
				) : (
					<>
						{count(item.tracks)} {item.tracks === 1 ? "track" : "tracks"}
					</>
				)}
			</span>
		</button>
	);
}

function TrackName({ item, store, current }: { item: TrackItem; store: TraceStore; current: boolean }) {
	const { info } = item;
	const folds = info.rows > 1 || info.kind === "counter";
	const fold = () => store.update({ collapsed: toggled(store.get().collapsed, info.track) });
	const title = info.name || `thread ${info.tid}`;
	const name = <span class="tl-track-name">{shortName(title)}</span>;
	const tip = `${title} · ${count(info.events)} ${info.events === 1 ? "event" : "events"}`;
	return (
		<div class={classes("tl-track", current && "tl-track-on")} style={{ top: item.y, height: item.h }}>
			{folds ? (
				<button class="tl-fold" aria-expanded={!item.collapsed} title={tip} onClick={fold}>
					<Icon name={item.collapsed ? "right" : "down"} />
					{name}
				</button>
			) : (
				<span class="tl-fold" title={tip}>
					<span class="tl-nofold" />
					{name}
				</span>
			)}
			<button
				class="tl-pin"
				aria-pressed={item.pinned}
				title={item.pinned ? "Unpin" : "Pin to the top"}
				aria-label={`${item.pinned ? "Unpin" : "Pin"} ${title}`}
				onClick={() => togglePin(store, info.track)}
			>
				<Icon name="pin" />
			</button>
		</div>
	);
}
