/*
 * gap.tsx - why a device does nothing: the program's answer about one gap, and the way to the next one.
 */
import { getJson } from "../api/fetch";
import type { GapAnswer, SearchHit } from "../api/types";
import { exact_ps } from "../base/format";
import { useStore } from "../base/store";
import { ofTimeline, type Session } from "../pages/session";
import { keepPlace } from "./history";
import type { TimelineModel } from "./model";
import type { Selected, TraceStore } from "./state";
import { fit, reveal, span } from "./viewport";

export type Where = "here" | "next" | "previous";

/* A gap that is less than this share of the screen is passed over, and zoomed to where it is looked for itself. */
const SEEN = 1 / 400;

export async function askGap(
	store: TraceStore,
	model: TimelineModel,
	session: Session,
	where: Where,
	at?: { track: number | undefined; ps: number },
): Promise<void> {
	const st = store.get();
	const track = at ? at.track : (st.selected?.track ?? st.gapTrack);
	const from = st.gap?.gap ?? (where === "previous" ? { begin_ps: st.target.end_ps } : { begin_ps: st.target.begin_ps });
	/* The view follows the gaps: what counts as small is as before, until one zooms in further. */
	const kept_ps = st.gap && st.gapLeast_ps < span(st.target) / 4 ? st.gapLeast_ps : 0;
	const least_ps = kept_ps || Math.floor(span(st.target) * SEEN);
	const answer = await getJson<GapAnswer>("api/timeline/gap", {
		...ofTimeline(session),
		at_ps: Math.max(0, Math.floor(at?.ps ?? from.begin_ps)),
		where,
		...(track !== undefined && { track }),
		...(where !== "here" && { least_ps }),
	}).catch((e: Error) => void store.update({ error: e.message }));
	if (!answer) return;
	const { gap } = answer;
	/* A click beside everything is mostly none. */
	if (!gap && where === "here") return;
	const kept = gap ?? st.gap?.gap ?? null;
	const small = kept && kept.end_ps - kept.begin_ps < span(st.target) * SEEN;
	if (gap && where !== "here") keepPlace();
	const near = kept && (small ? fit(kept.begin_ps, kept.end_ps, model.room, 4) : reveal(st.target, kept.begin_ps, kept.end_ps, model.room));
	store.update({ gap: { ...answer, gap: kept }, gapLeast_ps: least_ps, gapTrack: track, selected: undefined, box: undefined, boxRows: "", ...(near && { target: near }) });
}

interface GapPaneProps {
	store: TraceStore;
	onGap(where: Where): void;
	onGo(to: Selected): void;
}

export function GapPane({ store, onGap, onGo }: GapPaneProps) {
	const answer = useStore(store, (s) => s.gap);
	if (!answer) return null;
	const { gap, conclusion } = answer;
	const ends: readonly [string, SearchHit | null][] = [
		["What ends it", answer.ended_by],
		["Its launch", answer.launch],
		["On the host", answer.host],
	];
	return (
		<div class="sums gap-pane" data-gap={gap ? `${gap.begin_ps}-${gap.end_ps}` : ""}>
			<div class="sums-head">
				<h2>{gap ? `Gap of ${exact_ps(gap.end_ps - gap.begin_ps)}` : "Gap"}</h2>
				<button class="button button-small" title="Previous gap (Shift+G)" onClick={() => onGap("previous")}>
					Previous
				</button>
				<button class="button button-small" title="Next gap (G)" onClick={() => onGap("next")}>
					Next
				</button>
			</div>
			{conclusion && (
				<div class="gap-text">
					<p>
						<strong>{conclusion.text}</strong>
					</p>
					{conclusion.more.map((s) => (
						<p key={s}>{s}</p>
					))}
				</div>
			)}
			<div class="event-links">
				{ends.map(
					([label, e]) =>
						e && (
							<button key={label} class="link" title={e.name} onClick={() => onGo(e)}>
								{label}
							</button>
						),
				)}
			</div>
		</div>
	);
}
