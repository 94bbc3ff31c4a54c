/*
 * loadable.ts - an answer that is on its way, here, or will not come. While a new one loads the old one stays visible.
 */
import { useEffect, useState } from "preact/hooks";
import { useStore } from "../base/store";
import { ApiError, getJson, getText, type Params } from "./fetch";
import { presence, reportGone } from "./presence";

export interface Loadable<T> {
	value: T | undefined;
	error: string | undefined;
	loading: boolean;
}

/* Asks again whenever route or params change; null asks nothing. */
export function useJson<T>(route: string | null, params: Params = {}): Loadable<T> {
	return useAnswer<T>(route, params, getJson);
}

export function useText(route: string | null, params: Params = {}): Loadable<string> {
	return useAnswer<string>(route, params, getText);
}

function useAnswer<T>(
	route: string | null,
	params: Params,
	get: (route: string, params?: Params, signal?: AbortSignal) => Promise<T>,
): Loadable<T> {
	const key = route === null ? "" : route + JSON.stringify(params);
	const [state, setState] = useState<Loadable<T> & { key: string }>({
		value: undefined,
		error: undefined,
		loading: route !== null,
		key,
	});
	const returns = useStore(presence, (p) => p.returns);
	useEffect(() => {
		if (route === null) {
			setState({ value: undefined, error: undefined, loading: false, key });
			return;
		}
		const stop = new AbortController();
		setState((s) => ({ value: s.value, error: undefined, loading: true, key: s.key }));
		get(route, params, stop.signal).then(
			(value) => setState({ value, error: undefined, loading: false, key }),
			(e: Error) => {
				if (stop.signal.aborted) return;
				if (!(e instanceof ApiError && e.unanswered)) {
					setState({ value: undefined, error: e.message, loading: false, key });
					return;
				}
				/* What is here stays; the page says that the program is gone, and this is asked again when it is back. */
				reportGone();
				setState((s) => ({ ...s, error: s.value === undefined ? e.message : undefined, loading: false }));
			},
		);
		return () => stop.abort();
	}, [key, returns]);
	return state;
}
