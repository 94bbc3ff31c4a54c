/*
 * run_facts.ts - device and step time of the runs on the screen: asked for one after the other, each once. What a run is on costs
 * nothing; its steps are in its events, so those of a large run wait until somebody asks. All of a run in a bucket does.
 */
import { useEffect, useState } from "preact/hooks";
import { getJson } from "../api/fetch";
import type { Run, RunFacts } from "../api/types";

const LARGE_BYTES = 200e6;

interface Known {
	facts?: RunFacts;
	error?: string;
}

/* By what the run is: a new recording under an old name is another one. */
const known = new Map<string, Known>();
const keyOf = (r: Run) => `${r.run} ${r.time_s} ${r.bytes}`;

/* One request at a time: the server has better things to do than a list. */
let last: Promise<unknown> = Promise.resolve();

function ask(run: Run, steps: boolean, wanted: () => boolean): Promise<Known | undefined> {
	const next = last.then(async () => {
		if (!wanted()) return undefined;
		try {
			return { facts: await getJson<RunFacts>("api/run", { run: run.run, steps: steps ? 1 : undefined }) };
		} catch (e) {
			return { error: (e as Error).message };
		}
	});
	last = next;
	return next;
}

export function useRunFacts(run: Run, row: { current: Element | null }, remote: boolean): Known & { measure?: (() => void) | undefined } {
	const [state, setState] = useState<Known>(known.get(keyOf(run)) ?? {});
	const large = run.bytes > LARGE_BYTES;
	const [asked, setAsked] = useState(false);
	useEffect(() => {
		const el = row.current;
		if (!el || state.facts?.steps !== undefined || state.error) return;
		let visible = false;
		let gone = false;
		const load = async () => {
			const steps = asked ? [true] : remote ? [] : large ? [false] : [false, true];
			for (const s of steps) {
				if (!s && state.facts) continue;
				const got = await ask(run, s, () => visible && !gone);
				if (!got || gone) return;
				known.set(keyOf(run), got);
				setState(got);
				if (got.error || got.facts?.steps !== undefined) return;
			}
		};
		const watch = new IntersectionObserver((list) => {
			const was = visible;
			visible = list.some((x) => x.isIntersecting);
			if (visible && !was) void load();
		});
		watch.observe(el);
		return () => {
			gone = true;
			watch.disconnect();
		};
	}, [run, asked, remote]);
	const open = !asked && (remote ? !state.facts : large && !!state.facts && state.facts.steps === undefined);
	return { ...state, measure: open ? () => setAsked(true) : undefined };
}
