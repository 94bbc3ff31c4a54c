/*
 * pending.ts - what is under way: answers that are waited for, and changes that are not in the URL yet. A test waits until nothing is, and
 * not for a time.
 */
let count = 0;

export function pending(change: 1 | -1): void {
	count += change;
	if (typeof document !== "undefined") document.documentElement.dataset["pending"] = String(count);
}
