/*
 * history.ts - jumps within the timeline as steps in the browser's history: Back returns to what was on the screen before.
 */

let writePlace: (() => void) | undefined;

/* What writes to the address where the timeline is; undefined: there is none. */
export function placeWriter(write: (() => void) | undefined): void {
	writePlace = write;
}

/* Before a jump. */
export function keepPlace(): void {
	writePlace?.();
	history.pushState(null, "", location.href);
}
