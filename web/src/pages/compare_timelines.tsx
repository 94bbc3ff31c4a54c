/*
 * compare_timelines.tsx - the timelines of both sides under each other, a step of one aligned with a step of the other. They move and zoom
 * together. Which steps, and where in them, stands in the URL: step=3,5 and view=FROM-TO in picoseconds from the begin of the step.
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import { getJson } from "../api/fetch";
import { useJson } from "../api/loadable";
import type { EventDetail, TableData, Timeline } from "../api/types";
import { isTyping } from "../base/dom";
import { time_ps } from "../base/format";
import { adjust, formatQuery, query, useQuery } from "../base/url";
import { CanvasView } from "../timeline/canvas_view";
import { closedAtFirst } from "../timeline/layout";
import { Loader } from "../timeline/loader";
import { TimelineModel } from "../timeline/model";
import { SliceSource, type ReadSlices } from "../timeline/slice_source";
import { createTraceStore, type TraceStore } from "../timeline/state";
import { formatView, panBy, parseView, sameView, span, zoomAt, type View } from "../timeline/viewport";
import { Failure, Waiting } from "../widgets/notes";
import { alone, firstRunSteps, namesOfRow, rowOfName, type Side, type Step } from "./compare_model";

interface Trace {
	model: TimelineModel;
	store: TraceStore;
	loader: Loader;
}

export interface TimelinesProps {
	runs: Readonly<Record<Side, string>>;
	steps: TableData;
	ops: TableData;
	row: number | null; /* of ops, chosen */
}

const SIDES = ["base", "new"] as const;
/* A step with room on both sides. */
const MARGIN = 0.05;
const SETTLED_MS = 250;
const ZOOM = 1.5;
const PAN = 0.18;

export function Timelines({ runs, steps, ops, row }: TimelinesProps) {
	const source = useMemo(() => new SliceSource(), []);
	useEffect(() => () => source.stop(), [source]);
	const lists = useMemo(() => ({ base: firstRunSteps(steps, "base"), new: firstRunSteps(steps, "new") }), [steps]);
	const [askedBase = "", askedNew = ""] = useQuery("step").split(",");
	const chosen = { base: stepAt(lists.base, askedBase), new: stepAt(lists.new, askedNew) };
	const [traces, setTraces] = useState<Partial<Record<Side, Trace>>>({});
	useTied(traces, chosen);
	useChosen(traces, ops, row);
	const choose = (side: Side, step: Step) => {
		const next = { ...chosen, [side]: step };
		adjust({ step: SIDES.map((s) => String(next[s]?.num ?? "")).join(",") });
	};
	if (!chosen.base || !chosen.new) return null;
	return (
		<section class="card" aria-label="Timelines" onKeyDown={(e) => onKey(e, traces.base)}>
			<h2>Timelines</h2>
			<p class="muted">
				Both begin with the chosen step, and move and zoom together. Steps have the program's numbers; a device's own line may count
				otherwise. Operations without a partner on the other side are red.
				Click an operation to see where it is on both.
			</p>
			{SIDES.map((side) => (
				<div key={`${side} ${runs[side]}`} class="compare-timeline">
					<StepChoice side={side} run={runs[side]} steps={lists[side]} chosen={chosen[side]} onChoose={(s) => choose(side, s)} />
					<SideTimeline
						run={runs[side]}
						marked={alone(ops, side)}
						read={source.read}
						onReady={(t) => setTraces((was) => ({ ...was, [side]: t }))}
						onName={(name) => {
							const at = name === "" ? null : rowOfName(ops, side, name);
							adjust({ row: at === null ? undefined : String(at), by: undefined });
						}}
					/>
				</div>
			))}
		</section>
	);
}

function stepAt(steps: readonly Step[], asked: string): Step | undefined {
	return steps.find((s) => asked !== "" && s.num === Number(asked)) ?? steps[Math.min(1, steps.length - 1)];
}

/* ---- one side ---- */

function StepChoice({
	side,
	run,
	steps,
	chosen,
	onChoose,
}: {
	side: Side;
	run: string;
	steps: readonly Step[];
	chosen: Step | undefined;
	onChoose: (s: Step) => void;
}) {
	const at = steps.findIndex((s) => s === chosen);
	return (
		<div class="bar">
			<b>{side}</b>
			<a href={formatQuery({ run, tool: "trace_viewer@" })}>{run}</a>
			<label class="field">
				<span>step</span>
				<input
					type="range"
					min={0}
					max={steps.length - 1}
					value={at}
					aria-label={`Step of ${side}`}
					aria-valuetext={`step ${chosen?.num}`}
					onInput={(e) => {
						const s = steps[Number(e.currentTarget.value)];
						if (s) onChoose(s);
					}}
				/>
			</label>
			<span>
				{chosen?.num}, {time_ps((chosen?.us ?? 0) * 1e6)}
				{chosen?.outlier && <span class="muted"> (an outlier)</span>}
			</span>
		</div>
	);
}

interface SideProps {
	run: string;
	marked: ReadonlySet<string>;
	read: ReadSlices;
	onReady: (t: Trace | undefined) => void;
	onName: (name: string) => void; /* of the event that was clicked; "": beside events */
}

function SideTimeline(props: SideProps) {
	const { value, error, loading } = useJson<Timeline>("api/timeline", { run: props.run });
	if (error) return <Failure text={error} />;
	if (!value) return loading ? <Waiting what="Reading the trace…" /> : null;
	return <Opened timeline={value} {...props} />;
}

function Opened({ timeline, run, marked, read, onReady, onName }: SideProps & { timeline: Timeline }) {
	const trace = useMemo<Trace>(() => {
		const model = new TimelineModel(timeline);
		const store = createTraceStore(model.all, closedAtFirst(timeline.sections));
		const loader = new Loader(
			model,
			{ run },
			() => store.update({ version: store.get().version + 1, error: "" }),
			(text) => store.update({ error: text }),
			(busy) => store.update({ busy }),
			read,
		);
		return { model, store, loader };
	}, [timeline]);
	useEffect(() => {
		onReady(trace);
		return () => {
			onReady(undefined);
			trace.loader.stop();
		};
	}, [trace]);
	useEffect(() => trace.store.update({ marked }), [trace, marked]);
	return (
		<div class="compare-canvas">
			<CanvasView
				model={trace.model}
				loader={trace.loader}
				store={trace.store}
				flowEnds={NO_FLOWS}
				exact={(event) => getJson<EventDetail>("api/timeline/event", { run, event }).then((d) => d.dur_ps)}
				onSelect={(hit) => onName(hit?.name ?? "")}
			/>
		</div>
	);
}

const NO_FLOWS: readonly never[] = [];

/* ---- both ---- */

function shifted(v: View, by_ps: number): View {
	return { begin_ps: v.begin_ps + by_ps, end_ps: v.end_ps + by_ps };
}

/* Where one side looks the other looks, counted from the begin of their steps. */
function useTied(traces: Partial<Record<Side, Trace>>, chosen: Readonly<Record<Side, Step | undefined>>): void {
	const { base, new: next } = traces;
	const from = chosen.base?.begin_ps ?? 0;
	const to = chosen.new?.begin_ps ?? 0;
	useEffect(() => {
		if (!base || !next) return;
		const asked = parseView(query.get()["view"] ?? "");
		const longest = Math.round(Math.max(chosen.base?.us ?? 0, chosen.new?.us ?? 0) * 1e6);
		const room = Math.round(longest * MARGIN);
		const first = asked ?? { begin_ps: -room, end_ps: longest + room };
		let tied = false;
		let timer: ReturnType<typeof setTimeout> | undefined;
		const follow = (a: Trace, b: Trace, aBegin: number, bBegin: number) => () => {
			if (tied) return;
			const at = shifted(a.store.get().target, -aBegin);
			const there = shifted(at, bBegin);
			if (sameView(there, b.store.get().target)) return;
			tied = true;
			b.store.update({ target: there });
			tied = false;
			clearTimeout(timer);
			timer = setTimeout(() => adjust({ view: formatView(at) }), SETTLED_MS);
		};
		base.store.update({ view: shifted(first, from), target: shifted(first, from) });
		next.store.update({ view: shifted(first, to), target: shifted(first, to) });
		const stops = [base.store.subscribe(follow(base, next, from, to)), next.store.subscribe(follow(next, base, to, from))];
		return () => {
			clearTimeout(timer);
			for (const stop of stops) stop();
		};
	}, [base, next, from, to]);
}

/* The events of the chosen row stay, the others step back. */
function useChosen(traces: Partial<Record<Side, Trace>>, ops: TableData, row: number | null): void {
	useEffect(() => {
		for (const side of SIDES) traces[side]?.store.update({ only: row === null ? new Set() : namesOfRow(ops, side, row) });
	}, [traces.base, traces.new, ops, row]);
}

/* The keys of the trace viewer that move. */
function onKey(e: KeyboardEvent, trace: Trace | undefined): void {
	if (!trace || e.ctrlKey || e.metaKey || e.altKey || isTyping(e)) return;
	const { target } = trace.store.get();
	const { all } = trace.model;
	const middle = (target.begin_ps + target.end_ps) / 2;
	const to: Record<string, () => View> = {
		w: () => zoomAt(target, ZOOM, middle, all),
		s: () => zoomAt(target, 1 / ZOOM, middle, all),
		a: () => panBy(target, -span(target) * PAN, all),
		d: () => panBy(target, span(target) * PAN, all),
	};
	const make = to[e.key.toLowerCase()];
	if (!make) return;
	trace.store.update({ target: make() });
	e.preventDefault();
}
