/*
 * stacked.tsx - parts of a whole over steps: bars while each step can have one, areas when there are many. A thin layer over uPlot; what
 * is added up here is only where to draw.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { classes, useSize } from "../base/dom";
import { time_ps } from "../base/format";
import { useTheme } from "../base/theme";
import { go, parseQuery } from "../base/url";

export interface Series {
	id: string;
	label: string;
	color: string;
	values: readonly number[];
}

export interface StackedProps {
	labels: readonly string[]; /* of the steps */
	series: readonly Series[]; /* from the bottom up */
	ps_per_unit: number;
	height?: number;
	xTitle: string;
	summary?: readonly string[]; /* a value per series while nothing is pointed at */
	title: string;
	onPoint?: (i: number | null) => void;
	hrefOf?: ((label: string) => string | undefined) | undefined; /* where a click on a step leads */
}

const MOST_BARS = 120;

export function Stacked({ labels, series, ps_per_unit, height = 230, xTitle, summary, title, onPoint, hrefOf }: StackedProps) {
	const [box, size] = useSize<HTMLDivElement>();
	const host = useRef<HTMLDivElement>(null);
	const [at, setPointed] = useState<number | null>(null);
	const setAt = (i: number | null) => {
		setPointed(i);
		onPoint?.(i);
	};
	const dark = useTheme().dark;
	const shown = useMemo(() => series.filter((s) => s.values.some((v) => v > 0)), [series]);

	useEffect(() => {
		if (!host.current || size.width < 50 || !labels.length) return;
		const plot = new uPlot(
			options(labels, shown, ps_per_unit, size.width, height, xTitle, dark, setAt),
			stack(labels, shown),
			host.current,
		);
		return () => plot.destroy();
	}, [labels, shown, size.width, height, dark, ps_per_unit, xTitle]);

	const value = (s: Series, i: number) =>
		at !== null ? time_ps((s.values[at] ?? 0) * ps_per_unit) : (summary?.[series.indexOf(s)] ?? (i < 0 ? "" : ""));
	return (
		<div class="chart" role="img" aria-label={title}>
			<div
				class={classes("chart-box", hrefOf && "chart-leads")}
				ref={box}
				title={hrefOf && "Click a step to see it in the timeline"}
				onClick={() => {
					const href = at === null ? undefined : hrefOf?.(labels[at] ?? "");
					if (href) go(parseQuery(href.slice(1)));
				}}
			>
				<div ref={host} />
			</div>
			<div class="chart-legend">
				<div class="chart-at">{at !== null ? `${xTitle} ${labels[at] ?? ""}` : summary ? "Average" : "\u00a0"}</div>
				{[...shown].reverse().map((s, i) => (
					<div class="chart-key" key={s.id}>
						<span class="chart-dot" style={{ background: s.color }} />
						<span class="chart-name">{s.label}</span>
						<span class="chart-value">{value(s, i)}</span>
					</div>
				))}
			</div>
		</div>
	);
}

/* uPlot draws lines from their own value to zero: the upper ones first, so each shows only its part. */
function stack(labels: readonly string[], series: readonly Series[]): uPlot.AlignedData {
	const sums: number[][] = [];
	let below = labels.map(() => 0);
	for (const s of series) {
		below = below.map((b, i) => b + Math.max(0, s.values[i] ?? 0));
		sums.push(below);
	}
	return [labels.map((_, i) => i), ...sums.reverse()];
}

function options(
	labels: readonly string[],
	series: readonly Series[],
	ps_per_unit: number,
	width: number,
	height: number,
	xTitle: string,
	dark: boolean,
	hover: (i: number | null) => void,
): uPlot.Options {
	const bars = labels.length <= MOST_BARS;
	const muted = dark ? "#98a2b0" : "#667085";
	const grid = dark ? "#ffffff14" : "#0000000f";
	const font = "11px system-ui, sans-serif";
	const axis = { stroke: muted, font, grid: { stroke: grid, width: 1 }, ticks: { show: false } };
	const paths = bars ? uPlot.paths.bars?.({ size: [0.8, 48, 1], gap: 0 }) : undefined;
	return {
		width,
		height,
		legend: { show: false },
		padding: [8, 8, 0, 0],
		cursor: { y: false, drag: { setScale: false }, points: { show: false } },
		scales: {
			x: { time: false, range: bars ? () => [-0.6, labels.length - 0.4] : () => [0, labels.length - 1] },
			y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.06 : 1] },
		},
		axes: [
			{
				...axis,
				grid: { show: false },
				size: 20,
				label: xTitle,
				labelSize: 16,
				labelGap: 0,
				labelFont: font,
				gap: 4,
				incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000],
				values: (_u, at) => at.map((v) => (Number.isInteger(v) ? (labels[v] ?? "") : "")),
				space: 56,
			},
			{ ...axis, size: 62, gap: 4, values: (_u, at) => at.map((v) => (v === 0 ? "0" : time_ps(v * ps_per_unit))) },
		],
		series: [
			{},
			...[...series].reverse().map((s): uPlot.Series => ({
				label: s.label,
				stroke: s.color,
				fill: s.color,
				width: 0,
				points: { show: false },
				...(paths ? { paths } : {}),
			})),
		],
		hooks: { setCursor: [(u) => hover(u.cursor.idx ?? null)] },
	};
}

/* Lines over steps with a band from the least to the greatest: how much the cores differ. */
export function RangeChart({
	labels,
	average,
	least,
	most,
	height = 180,
	xTitle,
	title,
}: {
	labels: readonly string[];
	average: readonly number[];
	least: readonly number[];
	most: readonly number[];
	height?: number;
	xTitle: string;
	title: string;
}) {
	const [box, size] = useSize<HTMLDivElement>();
	const host = useRef<HTMLDivElement>(null);
	const dark = useTheme().dark;
	useEffect(() => {
		if (!host.current || size.width < 50 || !labels.length) return;
		const base = options(labels, [], 1, size.width, height, xTitle, dark, () => {});
		const red = dark ? "#f0796a" : "#cf4534";
		const plot = new uPlot(
			{
				...base,
				scales: {
					x: { time: false, range: () => [-0.6, labels.length - 0.4] },
					y: { range: (_u, _a, max) => [0, Math.max(1, max * 1.08)] },
				},
				axes: [base.axes?.[0] ?? {}, { ...base.axes?.[1], values: (_u, at) => at.map((v) => `${v}\u202f%`) }],
				series: [
					{},
					{ label: "most", stroke: red + "55", width: 1, points: { show: false } },
					{ label: "least", stroke: red + "55", width: 1, points: { show: false } },
					{ label: "average", stroke: red, width: 2, points: { show: labels.length < 60, size: 5, fill: red } },
				],
				bands: [{ series: [1, 2], fill: red + "2c" }],
			},
			[labels.map((_, i) => i), [...most], [...least], [...average]],
			host.current,
		);
		return () => plot.destroy();
	}, [labels, average, least, most, size.width, height, dark, xTitle]);
	return (
		<div class="chart chart-plain" role="img" aria-label={title}>
			<div class="chart-box" ref={box}>
				<div ref={host} />
			</div>
		</div>
	);
}
