/*
 * lines.tsx - quantities over time: stacked areas on the left axis, one line on the right. A thin layer over uPlot.
 */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { useSize } from "../base/dom";
import { apart } from "../base/format";
import { useTheme } from "../base/theme";

export interface Area {
	label: string;
	color: string;
	values: readonly number[];
}

/* A stretch of x to lay stress on, with a bar as high as a value of its own. */
export interface Span {
	begin: number;
	end: number;
	value: number;
	color: string;
}

export interface TimeChartProps {
	x: readonly number[]; /* ascending */
	areas: readonly Area[]; /* from the bottom up */
	line?: Area;
	xText: (v: number, digits?: number) => string;
	yText: (v: number) => string;
	lineText?: (v: number) => string;
	height?: number;
	onPoint: (index: number | null) => void;
	title: string;
	yIncrs?: number[]; /* distances that axis lines may have */
	mark?: number; /* an x to point out */
	lineOnLeft?: boolean; /* the line is measured like the areas */
	span?: Span | undefined;
}

/* Distances of labels between whole numbers. */
const WHOLE = Array.from({ length: 19 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat();

export function TimeChart(props: TimeChartProps) {
	const { x, areas, line, height = 260, title, mark, yIncrs } = props;
	const [box, size] = useSize<HTMLDivElement>();
	const host = useRef<HTMLDivElement>(null);
	const dark = useTheme().dark;
	const now = useRef(props);
	now.current = props;
	const plotRef = useRef<uPlot>();
	useEffect(() => plotRef.current?.redraw(false), [props.span?.begin, props.span?.end, props.span?.value, props.span?.color]);
	useEffect(() => {
		if (!host.current || size.width < 50 || !x.length) return;
		const right = line && !now.current.lineOnLeft;
		const font = "11px system-ui, sans-serif";
		const axis = {
			stroke: dark ? "#98a2b0" : "#667085",
			font,
			ticks: { show: false },
			grid: { stroke: dark ? "#ffffff14" : "#0000000f", width: 1 },
		};
		const step = uPlot.paths.stepped?.({ align: 1 });
		let below = x.map(() => 0);
		const sums = areas.map((a) => (below = below.map((b, i) => b + (a.values[i] ?? 0))));
		const opts: uPlot.Options = {
			width: size.width,
			height,
			padding: [8, right ? 0 : 8, 0, 0],
			legend: { show: false },
			cursor: { y: false, drag: { setScale: false }, points: { show: false } },
			scales: {
				x: { time: false },
				y: { range: (_u, _a, max) => [0, max > 0 ? max * 1.05 : 1] },
				r: { range: () => [0, 1] },
			},
			axes: [
				{
					...axis,
					grid: { show: false },
					size: 24,
					gap: 4,
					values: (_u, at) => apart(at, now.current.xText),
					space: 90,
					/* Between whole numbers, such as places in a program, stands no label. */
					...(x.every(Number.isInteger) ? { incrs: WHOLE } : {}),
				},
				{
					...axis,
					size: 70,
					gap: 4,
					values: (_u, at) => at.map((v) => now.current.yText(v)),
					...(yIncrs ? { incrs: yIncrs } : {}),
				},
				...(right
					? [
							{
								...axis,
								scale: "r",
								side: 1 as const,
								size: 52,
								gap: 4,
								grid: { show: false },
								values: (_u: uPlot, at: number[]) => at.map((v) => now.current.lineText?.(v) ?? String(v)),
							},
						]
					: []),
			],
			series: [
				{},
				...[...areas]
					.reverse()
					.map((a): uPlot.Series => ({
						label: a.label,
						stroke: a.color,
						fill: a.color,
						width: 0,
						points: { show: false },
						...(step ? { paths: step } : {}),
					})),
				...(line
					? [
							{
								label: line.label,
								scale: right ? "r" : "y",
								stroke: line.color,
								width: 1.5,
								points: { show: false },
								...(step ? { paths: step } : {}),
							},
						]
					: []),
			],
			hooks: {
				setCursor: [(u) => now.current.onPoint(u.cursor.idx ?? null)],
				draw: [
					(u) => {
						const stress = now.current.span;
						if (stress) drawSpan(u, stress, dark);
						if (mark === undefined) return;
						const px = Math.round(u.valToPos(mark, "x", true));
						u.ctx.fillStyle = dark ? "#e5e9ee" : "#1b2129";
						u.ctx.fillRect(px, u.bbox.top, 1, u.bbox.height);
					},
				],
			},
		};
		const plot = new uPlot(opts, [[...x], ...[...sums].reverse(), ...(line ? [[...line.values]] : [])], host.current);
		plotRef.current = plot;
		return () => {
			plotRef.current = undefined;
			plot.destroy();
		};
	}, [x, areas, line, size.width, height, dark, mark]);
	return (
		<div class="chart-box" ref={box} role="img" aria-label={title}>
			<div ref={host} />
		</div>
	);
}

function drawSpan(u: uPlot, s: Span, dark: boolean): void {
	const a = u.valToPos(s.begin, "x", true);
	const width = Math.max(2, u.valToPos(s.end, "x", true) - a);
	u.ctx.fillStyle = dark ? "#74b3f52e" : "#1f63b521";
	u.ctx.fillRect(a, u.bbox.top, width, u.bbox.height);
	const bottom = u.bbox.top + u.bbox.height;
	const height = Math.max(3, bottom - u.valToPos(s.value, "y", true));
	u.ctx.fillStyle = s.color;
	u.ctx.fillRect(a, bottom - height, width, height);
	u.ctx.strokeStyle = dark ? "#e5e9ee" : "#1b2129";
	u.ctx.strokeRect(a, bottom - height, width, height);
}
