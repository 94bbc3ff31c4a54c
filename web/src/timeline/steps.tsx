/*
 * steps.tsx - the steps of a trace: go to one, and see only it.
 */
import { useEffect } from "preact/hooks";
import { useJson } from "../api/loadable";
import type { Step, Steps } from "../api/types";
import { time_ps } from "../base/format";
import { useStore } from "../base/store";
import { formatQuery, go as visit, parseQuery, query, useQuery } from "../base/url";
import { ofTimeline, type Session } from "../pages/session";
import { keepPlace } from "./history";
import type { TimelineModel } from "./model";
import type { TraceStore } from "./state";

/* Not the number of a step. */
const BESIDE = "beside";

/* So many stand in the list one by one. */
const MOST = 400;

/* The view is bound to a step, or free again. */
export function isolate(store: TraceStore, model: TimelineModel, step: Step | undefined): void {
	model.room = step ? { begin_ps: step.begin_ps, end_ps: Math.max(step.end_ps, step.begin_ps + 1) } : model.all;
	store.update({ step: step?.num, target: model.room });
}

export function StepPicker({ store, model, session }: { store: TraceStore; model: TimelineModel; session: Session }) {
	const ready = useStore(store, (s) => s.version > 0 && !s.busy);
	const only = useStore(store, (s) => s.step);
	const asked = useQuery("step");
	const { value } = useJson<Steps>(ready || asked ? "api/timeline/steps" : null, ofTimeline(session));
	const steps = value?.steps ?? [];
	const go = (num: string) => isolate(store, model, steps.find((s) => String(s.num) === num));
	const jump = (num: string) => {
		keepPlace();
		go(num);
	};
	/* A link to a step; where it names a view as well that is a part of it. */
	useEffect(() => {
		if (!value || !asked || String(store.get().step) === asked) return;
		const { target, step } = store.get();
		const view = query.get()["view"];
		go(asked);
		if (view && step === undefined) store.update({ target });
	}, [value, asked]);
	if (!steps.length) return null;
	const text = (s: Step | undefined) => (s ? `${s.num}: ${time_ps(s.end_ps - s.begin_ps)}` : "");
	const [slowest, median] = [steps[value?.slowest ?? 0], steps[value?.median ?? 0]];
	const pair = steps.length > 2 && slowest && median && median !== slowest ? `${slowest.num},${median.num}` : "";
	return (
		<select
			class="select"
			aria-label="Step"
			title="See only one step ([ and ] go to the one before and after)"
			value={only === undefined ? "" : String(only)}
			data-steps={steps.length}
			onChange={(e) => {
				if (e.currentTarget.value === BESIDE) visit(parseQuery(formatQuery({ run: session.run.run, host: session.host, compare: session.run.run, step: pair }).slice(1)));
				else jump(e.currentTarget.value);
			}}
		>
			<option value="">All steps</option>
			{steps.length > 1 && slowest && <option value={slowest.num}>Slowest, step {text(slowest)}</option>}
			{steps.length > 2 && median && median !== slowest && <option value={median.num}>Median, step {text(median)}</option>}
			{pair && <option value={BESIDE}>Slowest beside the median</option>}
			{steps.slice(0, MOST).map((s) => (
				<option key={s.num} value={s.num}>
					Step {text(s)}
				</option>
			))}
		</select>
	);
}

/* The step before or after the one that is shown: by the list, which is there once steps are known. */
export function stepBy(by: 1 | -1): void {
	const list = document.querySelector<HTMLSelectElement>("select[data-steps]");
	if (!list) return;
	const nums = [...list.options].slice(1).filter((o) => o.text.startsWith("Step"));
	const at = nums.findIndex((o) => o.value === list.value);
	const next = nums[at < 0 ? (by > 0 ? 0 : nums.length - 1) : at + by];
	if (!next) return;
	list.value = next.value;
	list.dispatchEvent(new Event("change", { bubbles: true }));
}
