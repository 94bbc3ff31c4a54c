/*
 * trace_viewer.tsx - the timeline with its tools: the bar above, the canvas, the pane with details below, the keys.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJson, type Params } from "../api/fetch";
import { useJson, type Loadable } from "../api/loadable";
import type { EventDetail, FoundNames, SearchHit, SearchResult, Steps, Timeline, TimelineWords } from "../api/types";
import { presence, reportGone } from "../api/presence";
import { saved } from "../api/saved";
import { count, significant, time_ps } from "../base/format";
import { useStore } from "../base/store";
import { adjust, query, useQuery, type Query } from "../base/url";
import { CanvasView } from "../timeline/canvas_view";
import { HelpSheet } from "../timeline/help";
import { closedAtFirst } from "../timeline/layout";
import { Loader } from "../timeline/loader";
import { TimelineModel } from "../timeline/model";
import { keepPlace } from "../timeline/history";
import { fitChosen, markHere, useKeys } from "../timeline/keys";
import { choose, placeOf, useHistory, useUrl } from "../timeline/place";
import { SliceSource, type ReadSlices } from "../timeline/slice_source";
import { Details, operationOf } from "../timeline/details";
import { askGap, type Where } from "../timeline/gap";
import { StepPicker } from "../timeline/steps";
import {
	createTraceStore,
	expression,
	toggleMark,
	TOOLS,
	type ToolMode,
	type TraceState,
	type TraceStore,
} from "../timeline/state";
import { clampView, fit, parseView, sameView, span } from "../timeline/viewport";
import { Icon, type IconName } from "../widgets/icon";
import { Failure, Notes, Waiting } from "../widgets/notes";
import { ofTimeline, type Session } from "./session";

export function TraceViewerPage({ session }: { session: Session }) {
	const clocks = useQuery("clocks") === "aligned" ? "aligned" : undefined;
	return <TraceOf key={clocks} session={clocks ? { ...session, clocks } : session} />;
}

/* Times of another clock are another place: what the URL says of the old ones goes. */
function chooseClocks(aligned: boolean): void {
	adjust({ clocks: aligned ? "aligned" : undefined, view: undefined, marks: undefined, gap: undefined, step: undefined });
}

function TraceOf({ session }: { session: Session }) {
	/* Started beside the first question, so that it is there when slices are asked for. */
	const source = useMemo(() => new SliceSource(), []);
	useEffect(() => () => source.stop(), [source]);
	const { value, error, loading } = useJson<Timeline>("api/timeline", ofTimeline(session));
	if (error)
		return (
			<div class="page">
				<h1>{session.tool.title}</h1>
				<Failure text={error} />
				{session.clocks && (
					<button class="button" onClick={() => chooseClocks(false)}>
						Show the clocks as recorded
					</button>
				)}
			</div>
		);
	if (!value)
		return loading ? (
			<div class="page">
				<Waiting what="Reading the trace…" />
			</div>
		) : null;
	return <TraceViewer timeline={value} session={session} read={source.read} />;
}

/* What the URL says about the view, once, when the page opens. */
function openTrace(timeline: Timeline, model: TimelineModel): TraceStore {
	const q = query.get();
	const asked = parseView(q["view"] ?? "");
	const store = createTraceStore(asked ? clampView(asked, model.all) : model.all, closedAtFirst(timeline.sections));
	store.update(placeOf(q));
	return store;
}

function TraceViewer({ timeline, session, read }: { timeline: Timeline; session: Session; read: ReadSlices }) {
	const of = useMemo(() => ofTimeline(session), [session.run.run, session.host, session.clocks]);
	const { model, store, loader } = useMemo(() => {
		const m = new TimelineModel(timeline);
		const s = openTrace(timeline, m);
		const l: Loader = new Loader(
			m,
			of,
			() => s.update({ version: s.get().version + 1, error: "" }),
			(text) => {
				s.update({ error: text });
				if (/does not answer/.test(text)) reportGone();
			},
			(busy) => s.update({ busy }),
			read,
		);
		return { model: m, store: s, loader: l };
	}, [timeline]);
	useEffect(() => () => loader.stop(), [loader]);
	const returns = useStore(presence, (p) => p.returns);
	useEffect(() => {
		if (!returns) return;
		store.update({ error: "" });
		loader.reset();
	}, [returns]);

	const [help, setHelp] = useState(false);
	const selected = useStore(store, (s) => s.selected?.event);
	const detail = useJson<EventDetail>(selected === undefined ? null : "api/timeline/event", {
		...of,
		event: selected ?? 0,
	});
	const search = useSearch(store, model, of);
	const flowMode = useStore(store, (s) => s.flows);
	useEffect(() => {
		loader.wantFlows = flowMode === "all" ? "1" : flowMode === "path" ? "path" : "";
		loader.flows = [];
		if (loader.wantFlows) loader.reset();
	}, [flowMode, loader]);
	useUrl(store, model);
	const follow = useFollow(store, model, session);
	useHistory(store, model, follow);
	useFirstSelection(store, model, session, follow);
	const gap = (where: Where, at?: { track: number | undefined; ps: number }) => void askGap(store, model, session, where, at);
	useKeys(store, model, search, () => setHelp((h) => !h), gap);
	const exact = useCallback(
		(event: number) => getJson<EventDetail>("api/timeline/event", { ...of, event }).then((d) => d.dur_ps),
		[of],
	);
	const current = detail.value?.event === selected ? detail.value : undefined;
	/* The operation that an event is goes along to other pages. */
	useEffect(() => {
		if (current) adjust({ op: operationOf(current) || undefined });
	}, [current]);
	/* The event's exact times replace those of the drawing. */
	useEffect(() => {
		const s = store.get().selected;
		if (current && s && s.event === current.event)
			store.update({
				selected: { ...s, begin_ps: current.begin_ps, dur_ps: current.dur_ps, row: current.row, track: current.track },
			});
	}, [current]);

	return (
		<div class="trace">
			<h1 class="visually-hidden">{session.tool.title}</h1>
			<TraceBar timeline={timeline} store={store} model={model} search={search} onHelp={() => setHelp(true)} session={session} />
			<TraceSays store={store} model={model} session={session} />
			<TraceNotes timeline={timeline} store={store} />
			<TraceClocks timeline={timeline} />
			<CanvasView
				model={model}
				loader={loader}
				store={store}
				flowEnds={current?.flows ?? NO_FLOWS}
				exact={exact}
				onSelect={(hit) =>
					store.update({
						gap: undefined,
						selected: hit && {
							track: hit.track,
							row: hit.row,
							event: hit.event,
							name: hit.name,
							begin_ps: hit.begin_ps,
							dur_ps: hit.dur_ps,
						},
						box: undefined,
						boxRows: "",
					})
				}
				onBlank={(track, ps) => gap("here", { track, ps })}
			/>
			<Details
				store={store}
				model={model}
				detail={detail as Loadable<EventDetail>}
				session={session}
				onGo={(to) => choose(store, model, to)}
				onFind={(name) => search.find(name)}
				onGap={gap}
			/>
			{help && <HelpSheet onClose={() => setHelp(false)} />}
		</div>
	);
}

const NO_FLOWS: readonly never[] = [];
/* Less than this share of the trace is a sliver of the screen. */
const MOSTLY = 0.6;

/* What the trace comes to, on one line whose place is kept; asked for once something is drawn. */
function TraceSays({ store, model, session }: { store: TraceStore; model: TimelineModel; session: Session }) {
	const drawn = useStore(store, (s) => s.version > 0);
	const { value } = useJson<TimelineWords>(drawn ? "api/timeline/conclusion" : null, ofTimeline(session));
	const of = value?.conclusion;
	const pause = value?.pause;
	/* Of a trace that is mostly something else one sees the devices' work first; the map shows the whole. */
	useEffect(() => {
		const s = store.get();
		const { work } = value ?? {};
		if (!work || query.get()["view"] || s.selected || !sameView(s.target, model.all)) return;
		if (work.end_ps - work.begin_ps < MOSTLY * span(model.all)) store.update({ target: fit(work.begin_ps, work.end_ps, model.all, 0.05) });
	}, [value]);
	const show = () => {
		if (!pause) return;
		const around = (pause.end_ps - pause.begin_ps) * 0.5;
		const marked = store.get().marks.some((m) => m.begin_ps === pause.begin_ps && m.end_ps === pause.end_ps);
		keepPlace();
		if (!marked) toggleMark(store, pause);
		store.update({ target: fit(pause.begin_ps - around, pause.end_ps + around, model.all) });
	};
	return (
		<section class="trace-says" aria-label="Verdict" title={of ? [of.text, ...of.more].join("\n") : undefined}>
			{of && (
				<p>
					<strong>{of.text}</strong> <span class="muted">{of.more.join(" ")}</span>
				</p>
			)}
			{pause && (
				<button class="link" onClick={show}>
					Show the longest pause
				</button>
			)}
		</section>
	);
}

/* ---- the URL ---- */

/* Shows the event or the gap that an address names. */
function useFollow(store: TraceStore, model: TimelineModel, session: Session): (q: Query) => void {
	const of = ofTimeline(session);
	const asked = useRef(0);
	return ({ event, gap }) => {
		const mine = ++asked.current;
		const at = /^(\d+)(?:\.(\d+))?$/.exec(gap ?? "");
		if (at && !event) void askGap(store, model, session, "here", { ps: Number(at[1]), track: at[2] ? Number(at[2]) : undefined });
		if (!event || !/^\d+$/.test(event) || event === String(store.get().selected?.event)) return;
		getJson<EventDetail>("api/timeline/event", { ...of, event }).then(
			(d) => {
				const { selected, gap: shown } = store.get();
				if (mine !== asked.current || selected || shown) return; /* one is elsewhere by now */
				store.update({
					selected: {
						track: d.track,
						row: d.row,
						event: d.event,
						name: d.name,
						begin_ps: d.begin_ps,
						dur_ps: d.dur_ps,
					},
					wanted: { track: d.track, row: d.row },
				});
			},
			() => {
				/* a link to an event that is not here: the view is still right */
			},
		);
	};
}

function useFirstSelection(store: TraceStore, model: TimelineModel, session: Session, follow: (q: Query) => void): void {
	const of = ofTimeline(session);
	useEffect(() => {
		const { event, gap, find, q, op, view, step } = query.get();
		follow(query.get());
		if (op && !event && !q && !find && !view && !gap) void findLongest(op, step).then((e) => e && choose(store, model, e));
	}, [store]);
	/* A link to the longest of a name, also from the page itself. */
	const find = useQuery("find");
	useEffect(() => {
		const { event, q, step } = query.get();
		if (!find || !q || event) return;
		store.update({ query: q });
		void findLongest(q, step).then((e) => e && choose(store, model, e));
	}, [store, find]);
	/* The longest event of a name, of a step's where one is named; of none the longest of those that have it within theirs. */
	const findLongest = async (name: string, step = ""): Promise<EventDetail | undefined> => {
		const steps = step ? await getJson<Steps>("api/timeline/steps", of).catch(() => undefined) : undefined;
		const within = steps?.steps.find((s) => String(s.num) === step);
		const stretch = within && { begin_ps: within.begin_ps, end_ps: within.end_ps };
		for (const how of ["exact", "within"]) {
			const found = await getJson<FoundNames>("api/timeline/names", { ...of, q: name, how, limit: 1, ...stretch }).catch(() => undefined);
			const longest = found?.names[0];
			if (longest) return getJson<EventDetail>("api/timeline/event", { ...of, event: longest.event });
		}
		return undefined;
	};
}

/* ---- search ---- */

export interface Search {
	text: string;
	result: SearchResult | undefined;
	at: number; /* rank of the current hit, -1 before the first */
	busy: boolean;
	error: string;
	find(text: string): void;
	step(direction: 1 | -1): void;
}

function useSearch(store: TraceStore, model: TimelineModel, of: Params): Search {
	const text = useStore(store, (s) => s.query);
	const [state, setState] = useState<{
		result: SearchResult | undefined;
		at: number;
		busy: boolean;
		error: string;
		text: string;
	}>({ result: undefined, at: -1, busy: false, error: "", text: "" });
	const hit = useRef<SearchHit>();
	const stop = useRef<AbortController>();

	const ask = (params: Record<string, string | number>, then: (r: SearchResult) => void) => {
		stop.current?.abort();
		const mine = new AbortController();
		stop.current = mine;
		setState((s) => ({ ...s, busy: true }));
		getJson<SearchResult>(
			"api/timeline/search",
			{ ...of, q: store.get().query, limit: 1, ...params },
			mine.signal,
		).then(then, (e: Error) => {
			if (!mine.signal.aborted) setState((s) => ({ ...s, busy: false, error: e.message }));
		});
	};
	/* The count follows the typing; the view moves only when asked to. */
	useEffect(() => {
		hit.current = undefined;
		if (!text || expression(text) !== undefined) {
			stop.current?.abort();
			setState({ result: undefined, at: -1, busy: false, error: "", text });
			return;
		}
		const timer = setTimeout(
			() =>
				ask({ from_ps: Math.floor(store.get().view.begin_ps) }, (result) =>
					setState({ result, at: -1, busy: false, error: "", text }),
				),
			140,
		);
		return () => clearTimeout(timer);
	}, [text]);

	const step = (direction: 1 | -1) => {
		if (!store.get().query || expression(store.get().query) !== undefined) return;
		const from = hit.current;
		const params: Record<string, string | number> = from
			? direction > 0
				? { after: from.event }
				: { before: from.event }
			: { from_ps: Math.floor(store.get().view.begin_ps) };
		const take = (r: SearchResult): boolean => {
			const next = direction > 0 || !from ? r.hits[0] : r.hits[r.hits.length - 1];
			if (!next) return false;
			hit.current = next;
			setState({
				result: r,
				at: direction > 0 || !from ? r.rank : r.rank + r.hits.length - 1,
				busy: false,
				error: "",
				text: store.get().query,
			});
			choose(store, model, next);
			return true;
		};
		ask(params, (r) => {
			if (take(r)) return;
			/* At the end it goes on from the other end. */
			if (r.count > 0 && direction > 0) ask({ from_ps: Math.floor(model.all.begin_ps) }, (again) => void take(again));
			else setState((s) => ({ ...s, result: r, busy: false }));
		});
	};
	return { ...state, text, find: (q) => store.update({ query: q }), step };
}

/* ---- the bar ---- */

/* The hosts of an answer are told apart by thousands. */
function hostsOf(timeline: Timeline): number {
	return new Set(timeline.sections.map((s) => Math.floor(s.pid / 1000))).size;
}

const SIGNS: Readonly<Record<ToolMode, IconName>> = { 1: "select", 2: "pan", 3: "zoom", 4: "measure" };
const FLOWS: readonly { value: TraceState["flows"]; label: string }[] = [
	{ value: "selected", label: "Flows of selection" },
	{ value: "all", label: "All flows" },
	{ value: "path", label: "Critical path" },
	{ value: "none", label: "No flows" },
];

function TraceBar({
	timeline,
	store,
	model,
	search,
	onHelp,
	session,
}: {
	timeline: Timeline;
	store: TraceStore;
	model: TimelineModel;
	search: Search;
	onHelp: () => void;
	session: Session;
}) {
	const mode = useStore(store, (s) => s.mode);
	const flows = useStore(store, (s) => s.flows);
	const busy = useStore(store, (s) => s.busy);
	return (
		<div class="trace-bar" role="toolbar" aria-label="Timeline tools">
			<div class="segmented">
				{TOOLS.map((t) => (
					<button
						key={t.mode}
						class="button"
						aria-pressed={mode === t.mode}
						title={`${t.name} (${t.mode}): ${t.hint}`}
						aria-label={t.name}
						onClick={() => store.update({ mode: t.mode })}
					>
						<Icon name={SIGNS[t.mode]} />
					</button>
				))}
			</div>
			<button
				class="button"
				title="Zoom to the selection, or to the whole trace (f)"
				onClick={() => fitChosen(store, model)}
			>
				<Icon name="fit" />
				<span class="bar-word">Fit</span>
			</button>
			<button
				class="button"
				title="Mark the selection, or the time under the pointer (m)"
				onClick={() => markHere(store)}
			>
				<Icon name="mark" />
				<span class="bar-word">Mark</span>
			</button>
			<select
				class="select"
				aria-label="Flow arrows"
				value={flows}
				onChange={(e) => store.update({ flows: e.currentTarget.value as TraceState["flows"] })}
			>
				{FLOWS.filter((f) => f.value !== "path" || session.toolNames.includes("critical_path")).map((f) => (
					<option key={f.value} value={f.value}>
						{f.label}
					</option>
				))}
			</select>
			<StepPicker store={store} model={model} session={session} />
			{(timeline.clocks?.hosts.length ?? hostsOf(timeline)) > 1 && !saved && (
				<button
					class="button"
					aria-pressed={session.clocks === "aligned"}
					title="Show the hosts' times on one clock, computed from the collectives that they leave together"
					onClick={() => chooseClocks(!session.clocks)}
				>
					Align clocks
				</button>
			)}
			<ExportLink store={store} session={session} />
			<span class="spring" />
			<div class="trace-end">
				<SearchBox search={search} store={store} />
				<button class="button button-icon" title="Keys (?)" aria-label="Keys" onClick={onHelp}>
					<Icon name="help" />
				</button>
			</div>
			{busy && (
				<span class="trace-busy" role="status">
					<span class="visually-hidden">Reading the trace</span>
				</span>
			)}
		</div>
	);
}

/* The visible range as Chrome trace JSON, by the route that XProf's clients use too. */
function ExportLink({ store, session }: { store: TraceStore; session: Session }) {
	const save = () => {
		const v = store.get().target;
		const q = new URLSearchParams({
			run: session.run.run,
			tag: "trace_viewer@",
			host: session.host,
			start_time_ms: String(v.begin_ps / 1e9),
			end_time_ms: String(v.end_ps / 1e9),
			resolution: "0",
			...(session.clocks && { clocks: session.clocks }),
		});
		const a = document.createElement("a");
		a.href = `data/plugin/profile/data?${q.toString()}`;
		a.download = `${session.run.run}.${session.host}.trace.json`;
		a.click();
	};
	return (
		<button class="button" title="Save the visible range as Chrome trace JSON" onClick={save}>
			<Icon name="download" />
			<span class="bar-word">Export</span>
		</button>
	);
}

function SearchBox({ search, store }: { search: Search; store: TraceStore }) {
	const { result, at } = search;
	const list = useStore(store, (s) => s.list);
	const regex = expression(search.text) !== undefined;
	useEffect(() => {
		if (regex) store.update({ list: true });
	}, [regex]);
	const found = regex
		? ""
		: search.error
		? "failed"
		: !search.text
			? ""
			: !result
				? "…"
				: at >= 0
					? `${count(at + 1)} of ${count(result.count)}`
					: `${count(result.count)} found`;
	return (
		<div class="trace-search" role="search">
			<label class="search-box">
				<Icon name="search" />
				<input
					id="trace-search"
					class="input"
					type="search"
					placeholder="Search the whole trace"
					title="A part of a name, or a regular expression: /^fusion\\.[0-9]+$/"
					aria-label="Search event names in the whole trace"
					value={search.text}
					onInput={(e) => search.find(e.currentTarget.value)}
					onKeyDown={(e) => {
						if (e.key === "Enter") {
							e.preventDefault();
							search.step(e.shiftKey ? -1 : 1);
						} else if (e.key === "Escape") {
							search.find("");
							e.currentTarget.blur();
						}
					}}
				/>
			</label>
			<span class="search-count" role="status" title={search.error}>
				{found}
			</span>
			<button
				class="button"
				disabled={!search.text}
				aria-pressed={list}
				title="List the names that match, with their durations"
				onClick={() => store.update({ list: !list, selected: undefined, gap: undefined })}
			>
				List
			</button>
			<button
				class="button button-icon"
				disabled={!search.text || regex}
				title="Previous match (Shift+N)"
				aria-label="Previous match"
				onClick={() => search.step(-1)}
			>
				<Icon name="left" />
			</button>
			<button
				class="button button-icon"
				disabled={!search.text || regex}
				title="Next match (N)"
				aria-label="Next match"
				onClick={() => search.step(1)}
			>
				<Icon name="right" />
			</button>
		</div>
	);
}

/* Whose clock was corrected by how much, and how sure that is. */
function TraceClocks({ timeline }: { timeline: Timeline }) {
	const { clocks } = timeline;
	if (!clocks) return null;
	const us = (v: number | null) => (v === null ? "unknown" : time_ps(v * 1e6));
	return (
		<details class="trace-clocks">
			<summary>{clocks.text}</summary>
			<table>
				<thead>
					<tr>
						<th>Host</th>
						<th>Clock</th>
						<th class="number">Ahead by</th>
						<th class="number">Uncertain by</th>
						<th class="number">Drift (ppm)</th>
					</tr>
				</thead>
				<tbody>
					{clocks.hosts.map((h) => (
						<tr key={h.host}>
							<td>{h.host}</td>
							<td>{h.corrected ? "corrected" : h.state === "unknown" ? "unknown, as recorded" : "as recorded"}</td>
							<td class="number">{us(h.offset_us)}</td>
							<td class="number">{us(h.uncertainty_us)}</td>
							<td class="number">{h.drift_ppm === null ? "unknown" : significant(h.drift_ppm)}</td>
						</tr>
					))}
				</tbody>
			</table>
		</details>
	);
}

function TraceNotes({ timeline, store }: { timeline: Timeline; store: TraceStore }) {
	const error = useStore(store, (s) => s.error);
	const [closed, setClosed] = useState(false);
	const { notes } = timeline;
	if (!error && (closed || !notes.length)) return null;
	return (
		<div class="trace-notes">
			{error && <Failure text={error} />}
			{!closed && notes.length > 0 && (
				<>
					<Notes notes={notes} />
					<button
						class="button button-icon"
						aria-label="Hide the notes"
						title="Hide the notes"
						onClick={() => setClosed(true)}
					>
						<Icon name="close" />
					</button>
				</>
			)}
		</div>
	);
}
