/*
 * names.tsx - search as a list: each name that matches with its durations and when it ran. "/…/" is a regular expression.
 */
import { getJson } from "../api/fetch";
import { useJson } from "../api/loadable";
import type { EventDetail, FoundNames } from "../api/types";
import { count, time_ps } from "../base/format";
import { useStore } from "../base/store";
import { css, paintColor } from "../base/color";
import { useTheme } from "../base/theme";
import { Icon } from "../widgets/icon";
import { Failure, Waiting } from "../widgets/notes";
import { ofTimeline, type Session } from "../pages/session";
import type { TimelineModel } from "./model";
import { expression, MOST_PAINTS, togglePaint, type Selected, type TraceStore } from "./state";

interface NamesPaneProps {
	store: TraceStore;
	model: TimelineModel;
	session: Session;
	onGo(to: Selected): void;
	onFind(name: string): void;
}

/* The tracks that the filter leaves; undefined: all. */
function tracksOf(model: TimelineModel, filter: string): string | undefined {
	const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
	if (!words.length) return undefined;
	const named = model.timeline.sections.flatMap((s) =>
		s.tracks.filter((t) => words.every((w) => `${s.name} ${t.name}`.toLowerCase().includes(w))).map((t) => t.track),
	);
	return named.join(",");
}

export function NamesPane({ store, model, session, onGo, onFind }: NamesPaneProps) {
	const text = useStore(store, (s) => s.query);
	const filter = useStore(store, (s) => s.filter);
	const of = ofTimeline(session);
	const regex = expression(text);
	const tracks = tracksOf(model, filter);
	const { value, error, loading } = useJson<FoundNames>(text && tracks !== "" ? "api/timeline/names" : null, {
		...of,
		q: regex ?? text,
		...(regex !== undefined && { how: "regex" }),
		...(tracks && { tracks }),
	});
	const go = (event: number) => getJson<EventDetail>("api/timeline/event", { ...of, event }).then(onGo);
	return (
		<div class="sums names">
			<div class="sums-head">
				<h2>{value ? `${count(value.nnames)} ${value.nnames === 1 ? "name" : "names"}` : "Names"}</h2>
				<span class="muted">
					{value && `${count(value.count)} events`}
					{filter && ` in tracks that match “${filter}”`}
					{value && value.nnames > value.names.length && ` · the first ${count(value.names.length)}`}
				</span>
			</div>
			<Paints store={store} />
			{error && <Failure text={error} />}
			{!value && loading && <Waiting what="Searching…" />}
			{value && value.names.length > 0 && (
				<div class="names-list">
					<table class="plain-table">
						<thead>
							<tr>
								<th>Name</th>
								<th class="num">Count</th>
								<th class="num" title="Sum of whole durations">Total</th>
								<th class="num" title="Median duration, accurate to one part in a thousand">p50</th>
								<th class="num" title="99th percentile of the durations, accurate to one part in a thousand">p99</th>
								<th class="num">Longest</th>
								<th title="How many begin in each of 60 equal parts of the trace">When</th>
							</tr>
						</thead>
						<tbody>
							{value.names.map((n) => (
								<tr key={n.name} data-name={n.name}>
									<td class="names-name">
										<button class="link" title={`${n.name}\nGo to the longest`} onClick={() => void go(n.event)}>
											{n.short ?? n.name}
										</button>
									</td>
									<td class="num">{count(n.count)}</td>
									<td class="num">{time_ps(n.total_ps)}</td>
									<td class="num">{time_ps(n.p50_ps)}</td>
									<td class="num">{time_ps(n.p99_ps)}</td>
									<td class="num">{time_ps(n.max_ps)}</td>
									<td>
										<When bins={n.when} />
										<button class="link" title="Search for this name alone" onClick={() => onFind(n.name)}>
											only
										</button>
									</td>
								</tr>
							))}
						</tbody>
					</table>
				</div>
			)}
		</div>
	);
}

/* The searches that have a colour, and the one that may get one. */
function Paints({ store }: { store: TraceStore }) {
	const text = useStore(store, (s) => s.query);
	const paints = useStore(store, (s) => s.paints);
	const dark = useTheme().dark;
	return (
		<div class="paints">
			{text && !paints.includes(text) && (
				<button
					class="button button-small"
					disabled={paints.length >= MOST_PAINTS}
					title={paints.length >= MOST_PAINTS ? `At most ${MOST_PAINTS} searches have a colour` : "Events that match keep a colour of their own, also when something else is searched for"}
					onClick={() => togglePaint(store, text)}
				>
					Keep as a colour
				</button>
			)}
			{paints.map((p, i) => (
				<span key={p} class="chip" data-paint={p}>
					<span class="chart-dot" style={{ background: css(paintColor(i, dark)) }} />
					<button class="link" title="Search for it" onClick={() => store.update({ query: p })}>
						{p}
					</button>
					<button class="button button-icon" aria-label={`Without the colour of ${p}`} title="Take its colour away" onClick={() => togglePaint(store, p)}>
						<Icon name="close" />
					</button>
				</span>
			))}
		</div>
	);
}

function When({ bins }: { bins: readonly number[] }) {
	const most = Math.max(1, ...bins);
	const d = bins.map((v, i) => (v ? `M${i * 2 + 1} 14v${-Math.max(1, (13 * v) / most).toFixed(1)}` : "")).join("");
	return (
		<svg class="when" viewBox={`0 0 ${bins.length * 2} 14`} width={bins.length * 2} height="14" aria-hidden="true">
			<path d={d} />
		</svg>
	);
}
