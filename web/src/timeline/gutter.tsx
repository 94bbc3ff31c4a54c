/*
 * gutter.tsx - names of sections and tracks, left of the canvas and scrolling with it: buttons, so that keys and screen readers reach
 * them. Only what is near the screen exists.
 */
import { count } from "../base/format";
import { useStore } from "../base/store";
import { classes } from "../base/dom";
import type { Layout, SectionItem, TrackItem } from "./layout";
import { visibleItems } from "./layout";
import { toggled, togglePin, toggleSection, type TraceStore } from "./state";
import { Icon } from "../widgets/icon";

export const GUTTER_PX = 216;
const NEAR_PX = 400;

export function Gutter({
	layout,
	store,
	top,
	height,
}: {
	layout: Layout;
	store: TraceStore;
	top: number;
	height: number;
}) {
	const selected = useStore(store, (s) => s.selected?.track);
	const items = visibleItems(layout, top - NEAR_PX, height + 2 * NEAR_PX);
	return (
		<>
			{items.map((it) =>
				it.kind === "section" ? (
					<SectionName key={`s${it.pid}`} item={it} store={store} />
				) : (
					<TrackName key={`t${it.info.track}`} item={it} store={store} current={selected === it.info.track} />
				),
			)}
		</>
	);
}

/* "tf_Compute/4045682483762970090": what it is stands at the begin, which one at the end; the middle can go. */
const MOST_CHARS = 23;

export function shortName(name: string): string {
	return name.length <= MOST_CHARS ? name : `${name.slice(0, MOST_CHARS - 9)}…${name.slice(-8)}`;
}

function SectionName({ item, store }: { item: SectionItem; store: TraceStore }) {
	return (
		<button
			class="tl-section"
			style={{ top: item.y, height: item.h }}
			aria-expanded={item.open}
			title={item.name}
			onClick={() => toggleSection(store, item.pid)}
		>
			<Icon name={item.open ? "down" : "right"} />
			<span class="tl-section-name">{item.name}</span>
			<span class="tl-section-count">
				{count(item.tracks)} {item.tracks === 1 ? "track" : "tracks"}
			</span>
		</button>
	);
}

function TrackName({ item, store, current }: { item: TrackItem; store: TraceStore; current: boolean }) {
	const { info } = item;
	const folds = info.rows > 1 || info.kind === "counter";
	const fold = () => store.update({ collapsed: toggled(store.get().collapsed, info.track) });
	const name = <span class="tl-track-name">{shortName(info.name)}</span>;
	const tip = `${info.name} · ${count(info.events)} ${info.events === 1 ? "event" : "events"}`;
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
				aria-label={`${item.pinned ? "Unpin" : "Pin"} ${info.name}`}
				onClick={() => togglePin(store, info.track)}
			>
				<Icon name="pin" />
			</button>
		</div>
	);
}
