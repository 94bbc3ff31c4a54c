/*
 * pod_topology.tsx - where the cores are, host by host and chip by chip, coloured by the share of the step that one part takes; arrows
 * for what cores send to each other.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { classes } from "../base/dom";
import { ramp } from "../base/color";
import { time_ps } from "../base/format";
import { useTheme } from "../base/theme";
import { boxesOf, type Channel, type Core, type Place } from "./pod_model";

/* A pod of thousands of cores must still be seen as a whole. */
function cellPx(n: number): number {
	return n <= 64 ? 34 : n <= 256 ? 24 : n <= 1024 ? 16 : 10;
}

export interface TopologyProps {
	places: readonly Place[];
	cores: readonly Core[];
	part: string;
	pointed: number | null;
	kept: number | null;
	channels: readonly Channel[];
	onPoint: (core: number | null) => void;
	onKeep: (core: number) => void;
}

export function Topology(props: TopologyProps) {
	const { places, cores, part, pointed, kept } = props;
	const dark = useTheme().dark;
	const px = cellPx(places.length);
	const of = new Map(cores.map((c) => [c.id, c]));
	const box = useRef<HTMLDivElement>(null);
	return (
		<div class="topology" ref={box} style={{ "--cell": `${px}px` }} onPointerLeave={() => props.onPoint(null)}>
			{boxesOf(places).map((h) => (
				<div class="topology-host" key={`${h.host} ${h.chips[0]?.cores[0]?.core}`}>
					<div class="topology-name" title={h.host}>
						{h.host}
					</div>
					<div class="topology-chips">
						{h.chips.map((c) => (
							<div class="topology-chip" key={c.chip} title={`Chip ${c.chip}`}>
								{c.cores.map((p) => {
									const core = of.get(p.core);
									const share = core && core.total_us > 0 ? (core.parts[part] ?? 0) / core.total_us : NaN;
									return (
										<button
											key={p.core}
											class={classes("topology-core", (p.core === pointed || p.core === kept) && "topology-on")}
											data-core={p.core}
											style={{ background: Number.isFinite(share) ? ramp(share, dark) : undefined }}
											aria-pressed={p.core === kept}
											aria-label={`Core ${p.core} on chip ${p.chip}, ${h.host}: ${core ? time_ps((core.parts[part] ?? 0) * 1e6) : "no data"}`}
											onPointerEnter={() => props.onPoint(p.core)}
											onFocus={() => props.onPoint(p.core)}
											onClick={() => props.onKeep(p.core)}
										/>
									);
								})}
							</div>
						))}
					</div>
				</div>
			))}
			<Arrows box={box} channels={props.channels} px={px} />
		</div>
	);
}

interface Line {
	key: number;
	d: string;
}

/* From the middle of one core to that of the other, bent a little so that there and back are two lines. */
function Arrows({ box, channels, px }: { box: { current: HTMLDivElement | null }; channels: readonly Channel[]; px: number }) {
	const [lines, setLines] = useState<Line[]>([]);
	useEffect(() => {
		const el = box.current;
		if (!el) return;
		const measure = () => {
			const origin = el.getBoundingClientRect();
			const at = (core: number) => {
				const r = el.querySelector(`[data-core="${core}"]`)?.getBoundingClientRect();
				return r && { x: r.x + r.width / 2 - origin.x + el.scrollLeft, y: r.y + r.height / 2 - origin.y + el.scrollTop };
			};
			setLines(
				channels.flatMap((c) => {
					const a = at(c.from);
					const b = at(c.to);
					if (!a || !b) return [];
					const dx = b.x - a.x;
					const dy = b.y - a.y;
					const long = Math.hypot(dx, dy) || 1;
					/* It ends before the middle, so that the head is seen. */
					const end = { x: b.x - (dx / long) * px * 0.3, y: b.y - (dy / long) * px * 0.3 };
					const mid = { x: (a.x + end.x) / 2 - dy * 0.18, y: (a.y + end.y) / 2 + dx * 0.18 };
					return [{ key: c.row, d: `M${a.x} ${a.y}Q${mid.x} ${mid.y} ${end.x} ${end.y}` }];
				}),
			);
		};
		measure();
		const watch = new ResizeObserver(measure);
		watch.observe(el);
		return () => watch.disconnect();
	}, [channels, px]);
	if (!lines.length) return null;
	return (
		<svg class="topology-arrows" aria-hidden="true">
			<defs>
				<marker id="arrow-head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6" orient="auto">
					<path d="M0 0 8 4 0 8Z" />
				</marker>
			</defs>
			{lines.map((l) => (
				<g key={l.key}>
					<path class="arrow-ground" d={l.d} />
					<path class="arrow" d={l.d} marker-end="url(#arrow-head)" />
				</g>
			))}
		</svg>
	);
}

/* The colours' meaning, below the map. */
export function Scale({ label }: { label: string }) {
	const dark = useTheme().dark;
	const stops = Array.from({ length: 11 }, (_, i) => `${ramp(i / 10, dark)} ${i * 10}%`);
	return (
		<div class="scale" role="img" aria-label={`Colours: ${label} from 0 to 100 percent of the step`}>
			<span>0 %</span>
			<span class="scale-bar" style={{ background: `linear-gradient(90deg, ${stops.join(", ")})` }} />
			<span>100 % of the step</span>
		</div>
	);
}
