/*
 * store.ts - one value that many components read.
 * State lives in exactly one place: in the URL (url.ts), in a store, or in the component that alone uses it.
 */
import { useEffect, useState } from "preact/hooks";

export interface Store<T> {
	get(): T;
	set(next: T): void;
	update(patch: Partial<T>): void;
	subscribe(fn: () => void): () => void;
}

export function createStore<T>(initial: T): Store<T> {
	let value = initial;
	const listeners = new Set<() => void>();
	const set = (next: T) => {
		if (Object.is(next, value)) return;
		value = next;
		for (const fn of [...listeners]) fn();
	};
	return {
		get: () => value,
		set,
		update: (patch) => set({ ...value, ...patch }),
		subscribe(fn) {
			listeners.add(fn);
			return () => listeners.delete(fn);
		},
	};
}

/* Renders again only when what `pick` takes out of the store has changed. */
export function useStore<T, S>(store: Store<T>, pick: (value: T) => S): S {
	const [, render] = useState({});
	const now = pick(store.get());
	useEffect(() => {
		let last = now;
		const check = () => {
			const next = pick(store.get());
			if (Object.is(next, last)) return;
			last = next;
			render({});
		};
		check();
		return store.subscribe(check);
	}, [store]);
	return now;
}
