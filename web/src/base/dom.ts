/*
 * dom.ts - the few things that several components do with the document.
 */
import { useEffect, useRef, useState } from "preact/hooks";

export function classes(...names: (string | false | null | undefined)[]): string {
	return names.filter(Boolean).join(" ");
}

/* The element's size in CSS pixels, kept up to date. */
export function useSize<T extends HTMLElement>(): [{ current: T | null }, { width: number; height: number }] {
	const ref = useRef<T | null>(null);
	const [size, setSize] = useState({ width: 0, height: 0 });
	useEffect(() => {
		const el = ref.current;
		if (!el) return;
		const measure = () =>
			setSize((old) => {
				const width = el.clientWidth;
				const height = el.clientHeight;
				return old.width === width && old.height === height ? old : { width, height };
			});
		measure();
		const watch = new ResizeObserver(measure);
		watch.observe(el);
		return () => watch.disconnect();
	}, []);
	return [ref, size];
}

/* Keys belong to a text field while one has the focus. */
export function isTyping(e: Event): boolean {
	const t = e.target;
	return t instanceof HTMLInputElement
		? !["checkbox", "radio", "button"].includes(t.type)
		: t instanceof HTMLTextAreaElement || t instanceof HTMLSelectElement;
}

/* A value that follows the input only after it rested. */
export function useSettled<T>(value: T, ms: number): T {
	const [settled, set] = useState(value);
	useEffect(() => {
		const t = setTimeout(() => set(value), ms);
		return () => clearTimeout(t);
	}, [value, ms]);
	return settled;
}

/* Hands a text to the browser to save. It may read the text some time after the click, so that stays for a while. */
export function saveText(name: string, type: string, text: string): void {
	const a = document.createElement("a");
	a.href = URL.createObjectURL(new Blob([text], { type }));
	a.download = name;
	a.click();
	setTimeout(() => URL.revokeObjectURL(a.href), 10_000);
}
