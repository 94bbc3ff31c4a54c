/*
 * details.tsx - the pane below the timeline: one event with all its arguments, or the sums over a frame of many.
 */
import { useMemo, useRef, useState } from "preact/hooks";
import { useJson, type Loadable } from "../api/loadable";
import type { EventDetail, FlowEnd, Summary, TableData } from "../api/types";
import { count, exact_ps, time_ps } from "../base/format";
import { classes } from "../base/dom";
import { useStore } from "../base/store";
import { toolHref } from "../base/url";
import { flameHref, StretchFlame } from "./stretch_flame";
import { Grid } from "../widgets/grid";
import { filterFor } from "../widgets/grid_model";
import { Icon } from "../widgets/icon";
import { Failure, Waiting } from "../widgets/notes";
import { ofTimeline, type Session } from "../pages/session";
import { GapPane, type Where } from "./gap";
import type { TimelineModel } from "./model";
import { MarksPane } from "./marks";
import { NamesPane } from "./names";
import type { Selected, TraceStore } from "./state";

const MIN_PX = 80;

export interface DetailsProps {
	store: TraceStore;
	model: TimelineModel;
	detail: Loadable<EventDetail>;
	session: Session;
	onGo(to: Selected): void;
	onFind(name: string): void;
	onGap(where: Where): void;
}

export function Details(props: DetailsProps) {
	const { store, model } = props;
	const selected = useStore(store, (s) => s.selected);
	const rows = useStore(store, (s) => s.boxRows);
	const box = useStore(store, (s) => s.box);
	const gap = useStore(store, (s) => s.gap);
	const list = useStore(store, (s) => s.list && s.query !== "");
	const [height, setHeight] = useState(220);
	const marks = useStore(store, (s) => s.marks.length > 0);
	const [noted, note] = useState(false);
	const nothing = !selected && !(box && rows) && !gap && !list;
	if (nothing && !(marks && noted))
		return (
			<div class="details details-none">
				{marks && (
					<button class="button button-small" onClick={() => note(true)}>
						Notes
					</button>
				)}
				<span class="muted">
					Click an event to see its details, drag a frame over events to see their sums, click a gap of a device to see what it
					waits for (<kbd>g</kbd> next gap). <kbd>w</kbd> <kbd>s</kbd> zoom,{" "}
					<kbd>a</kbd> <kbd>d</kbd> move, <kbd>?</kbd> all keys.
				</span>
			</div>
		);
	return (
		<section class="details" style={{ height }} aria-label="Details" aria-live="polite">
			<Handle height={height} onChange={setHeight} />
			<button
				class="button button-icon details-close"
				aria-label="Close the details"
				title="Close (Esc)"
				onClick={() => {
					note(false);
					store.update({ selected: undefined, box: undefined, boxRows: "", gap: undefined, list: false });
				}}
			>
				<Icon name="close" />
			</button>
			{selected ? (
				<EventPane {...props} selected={selected} />
			) : gap ? (
				<GapPane {...props} />
			) : box && rows ? (
				<SumPane {...props} begin_ps={box.begin_ps} end_ps={box.end_ps} rows={rows} />
			) : list ? (
				<NamesPane {...props} />
			) : (
				<MarksPane store={store} model={model} session={props.session} />
			)}
		</section>
	);
}

function Handle({ height, onChange }: { height: number; onChange: (h: number) => void }) {
	const from = useRef<{ y: number; h: number }>();
	const most = () => Math.max(MIN_PX, innerHeight * 0.7);
	const set = (h: number) => onChange(Math.min(most(), Math.max(MIN_PX, h)));
	return (
		<div
			class="details-handle"
			role="separator"
			aria-orientation="horizontal"
			aria-label="Height of the details"
			aria-valuenow={Math.round(height)}
			tabIndex={0}
			onKeyDown={(e) => {
				if (e.key !== "ArrowUp" && e.key !== "ArrowDown") return;
				e.preventDefault();
				e.stopPropagation();
				set(height + (e.key === "ArrowUp" ? 24 : -24));
			}}
			onPointerDown={(e) => {
				from.current = { y: e.clientY, h: height };
				e.currentTarget.setPointerCapture(e.pointerId);
			}}
			onPointerMove={(e) => {
				if (from.current) set(from.current.h + from.current.y - e.clientY);
			}}
			onPointerUp={() => {
				from.current = undefined;
			}}
		/>
	);
}

/* ---- one event ---- */

function placeOf(model: TimelineModel, track: number): { section: string; track: string } {
	for (const s of model.timeline.sections)
		for (const t of s.tracks) if (t.track === track) return { section: s.name, track: t.name };
	return { section: "", track: "" };
}

function EventPane({ selected, detail, model, session, onGo, onFind }: DetailsProps & { selected: Selected }) {
	const d = detail.value?.event === selected.event ? detail.value : undefined;
	const place = placeOf(model, selected.track);
	const start = model.timeline.start_unix_ns;
	const name = d?.name ?? selected.name;
	return (
		<div class="event">
			<div class="event-main">
				<h2 class="event-name">{name}</h2>
				<dl class="env">
					<div>
						<dt>Start</dt>
						<dd data-event="begin">{exact_ps(d?.begin_ps ?? selected.begin_ps)}</dd>
					</div>
					<div>
						<dt>Duration</dt>
						<dd data-event="dur">{exact_ps(d?.dur_ps ?? selected.dur_ps)}</dd>
					</div>
					{d && (
						<div>
							<dt>Self time</dt>
							<dd data-event="self">
								{exact_ps(d.self_ps)}
								{d.dur_ps > 0 && <span class="muted"> {percentOf(d.self_ps, d.dur_ps)}</span>}
							</dd>
						</div>
					)}
					{start !== null && start > 0 && (
						<div>
							<dt>Clock</dt>
							<dd>
								{new Date(start / 1e6 + (d?.begin_ps ?? selected.begin_ps) / 1e9)
									.toISOString()
									.replace("T", " ")
									.replace("Z", " UTC")}
							</dd>
						</div>
					)}
					<div>
						<dt>Track</dt>
						<dd>{place.track}</dd>
					</div>
					<div>
						<dt>Section</dt>
						<dd>{place.section}</dd>
					</div>
				</dl>
				<div class="event-links">
					<button class="link" onClick={() => onFind(name)}>
						Find all of this name
					</button>
					{d && d.dur_ps > 0 && session.toolNames.includes("flame_graph") && (
						<a href={flameHref(session, d.begin_ps, d.begin_ps + d.dur_ps, String(d.track))} title="What its time is made of, by stack">
							Flame graph
						</a>
					)}
					{d && waysOf(d, session).map((w) => <a key={w.label} href={w.href}>{w.label}</a>)}
				</div>
			</div>
			<div class="event-args">
				{detail.error && <Failure text={detail.error} />}
				{!d && detail.loading && <Waiting what="Reading the event…" />}
				{d && <Args d={d} />}
			</div>
			{d && d.flows.length > 0 && (
				<div class="event-flows">
					<h3>Flows</h3>
					<Flows of={d} onGo={onGo} model={model} />
				</div>
			)}
		</div>
	);
}

function percentOf(part: number, whole: number): string {
	return `${((part / whole) * 100).toFixed(1)}\u202f%`;
}

/* The instruction, or the kernel, that an event is: what the page's other tools know it by. "" where it is neither. */
export function operationOf(d: EventDetail): string {
	return instructionOf(d) || (isKernel(d) ? d.name : "");
}

function argOf(d: EventDetail, ...names: string[]): string {
	return String(d.args.find((a) => names.includes(a.name))?.value ?? "");
}

function instructionOf(d: EventDetail): string {
	return argOf(d, "hlo_op", "HLO Op", "long_name") ? argOf(d, "hlo_op", "HLO Op") || d.name : "";
}

function isKernel(d: EventDetail): boolean {
	return argOf(d, "grid", "kernel_details", "block", "registers per thread") !== "";
}

/* Where else the operation of an event is shown: its instruction, its rows in the tables, its program's memory. */
function waysOf(d: EventDetail, session: Session): { label: string; href: string }[] {
	const arg = (...names: string[]) => argOf(d, ...names);
	const hlo = instructionOf(d);
	const program = arg("program_id", "hlo_program_id").replace(/,/g, "");
	const op = opName(d, "");
	const kernel = isKernel(d);
	const ways: [tool: string, label: string, wanted: string, extra: Record<string, string>][] = [
		["graph_viewer", "Graph", hlo, program ? { node_name: hlo, op: hlo, program_id: program } : { node_name: hlo, op: hlo }],
		["op_profile", "Op profile", hlo, { op: hlo, filter: hlo }],
		["hlo_stats", "HLO op stats", hlo, { op: hlo, filter: filterFor("hlo_op_name", hlo) }],
		["roofline_model", "Roofline", hlo, { op: hlo }],
		["what_if", "What if it took half the time?", hlo || (kernel ? d.name : ""), { op: hlo || d.name }],
		["framework_op_stats", "Framework op stats", op || d.name, { filter: op || d.name }],
		["kernel_stats", "Kernel stats", kernel ? d.name : "", { op: d.name, filter: filterFor("kernel_name", d.name) }],
	];
	return ways.flatMap(([tool, label, wanted, extra]) => (wanted && session.toolNames.includes(tool) ? [{ label, href: toolHref(tool, extra) }] : []));
}

/* The framework's name of the operation where the event carries one: "jit(f)/dense/dot_general:" without the type. */
function opName(d: EventDetail | undefined, name: string): string {
	const v = d?.args.find((a) => a.name === "tf_op" || a.name === "op_name" || a.name === "name")?.value;
	return (v ? String(v) : name).replace(/:[^:/]*$/, "");
}

const LONG = 160;

function Args({ d }: { d: EventDetail }) {
	if (!d.args.length) return <p class="muted">No arguments.</p>;
	return (
		<table class="plain-table args">
			<tbody>
				{d.args.map((a, i) => (
					<tr key={`${a.name}${i}`}>
						<th scope="row">{a.name}</th>
						<td>
							<ArgValue value={a.value} />
						</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

function ArgValue({ value }: { value: string | number }) {
	const [open, setOpen] = useState(false);
	if (typeof value === "number") return <>{count(value)}</>;
	if (value.length <= LONG || open) return <span class="arg-text">{value}</span>;
	return (
		<span class="arg-text">
			{value.slice(0, LONG)}…{" "}
			<button class="link" onClick={() => setOpen(true)}>
				all {count(value.length)} characters
			</button>
		</span>
	);
}

/* What lies between the end of the cause and the begin of what it started: the delay of a launch. */
function delayText(f: FlowEnd, of: EventDetail): string {
	const [cause, effect] = f.direction === "in" ? [f, of] : [of, f];
	const ps = effect.begin_ps - (cause.begin_ps + cause.dur_ps);
	return ps >= 0 ? `${time_ps(ps)} after its end` : `${time_ps(effect.begin_ps - cause.begin_ps)} after its begin`;
}

function Flows({
	of,
	onGo,
	model,
}: {
	of: EventDetail;
	onGo: (to: Selected) => void;
	model: TimelineModel;
}) {
	const { flows } = of;
	return (
		<ul>
			{flows.slice(0, 100).map((f) => (
				<li key={`${f.direction}${f.event}`}>
					<span class="muted">{f.direction === "in" ? "from" : "to"}</span>{" "}
					<button class="link" onClick={() => onGo(f)}>
						{f.name}
					</button>
					<span class="muted">
						{" "}
						{placeOf(model, f.track).track}, at {time_ps(f.begin_ps, 6)}; {f.direction === "in" ? "this begins" : "it begins"} {delayText(f, of)}
					</span>
				</li>
			))}
			{flows.length > 100 && <li class="muted">and {count(flows.length - 100)} more</li>}
		</ul>
	);
}

/* ---- many ---- */

function summaryTable(s: Summary): TableData {
	const cols = [
		{ id: "name", label: "Name", type: "str", unit: "", doc: "Name of the events" },
		{ id: "short", label: "Short name", type: "str", unit: "", role: "short:name" },
		{ id: "count", label: "Count", type: "i64", unit: "count", doc: "Events of this name that overlap the frame" },
		{ id: "total_ps", label: "Total", type: "f64", unit: "ps", doc: "Sum of the parts of their durations that lie in the frame" },
		{ id: "avg_ps", label: "Average", type: "f64", unit: "ps", doc: "Total divided by count" },
		{
			id: "self_ps",
			label: "Self",
			type: "f64",
			unit: "ps",
			doc: "The sum without nested events",
		},
		{ id: "min_ps", label: "Shortest", type: "f64", unit: "ps", doc: "Whole duration of the shortest" },
		{ id: "max_ps", label: "Longest", type: "f64", unit: "ps", doc: "Whole duration of the longest" },
	] satisfies TableData["cols"];
	return {
		name: "summary",
		title: "Selected events",
		props: {},
		cols,
		nrows: s.names.length,
		data: cols.map((c) => s.names.map((n) => n[c.id as keyof typeof n] ?? "")),
	};
}

function SumPane({
	begin_ps,
	end_ps,
	rows,
	session,
	onFind,
}: DetailsProps & { begin_ps: number; end_ps: number; rows: string }) {
	const { value, error, loading } = useJson<Summary>("api/timeline/summary", {
		...ofTimeline(session),
		begin_ps: Math.floor(begin_ps),
		end_ps: Math.ceil(end_ps),
		rows,
		limit: 1000,
	});
	const table = useMemo(() => value && summaryTable(value), [value]);
	const [flame, show] = useState(false);
	return (
		<div class={classes("sums", flame && "sums-flame")}>
			<div class="sums-head">
				<span class="sums-views" role="group" aria-label="View">
					<button class="button button-small" aria-pressed={!flame} onClick={() => show(false)}>
						By name
					</button>
					<button class="button button-small" aria-pressed={flame} onClick={() => show(true)} title="What lies in the frame as a flame graph">
						By stack
					</button>
				</span>
				<h2>{value ? `${count(value.count)} ${value.count === 1 ? "event" : "events"}` : "Selection"}</h2>
				<span class="muted">
					{time_ps(end_ps - begin_ps)} selected
					{value && (
						<>
							{" "}
							· total {time_ps(value.total_ps)} · self {time_ps(value.self_ps)}
						</>
					)}
					{value && value.nnames > value.names.length && (
						<>
							{" "}
							· the first {count(value.names.length)} of {count(value.nnames)} names
						</>
					)}
				</span>
			</div>
			{flame && <StretchFlame session={session} begin_ps={begin_ps} end_ps={end_ps} tracks={rows.replace(/:[^,]*/g, "")} />}
			{error && <Failure text={error} />}
			{!value && loading && <Waiting what="Adding up…" />}
			{!flame && table && value && <Grid table={table} save="selection.csv" maxRows={1000} onRow={(i) => onFind(value.names[i]?.name ?? "")} />}
		</div>
	);
}
