/*
 * presence.ts - is the program there? When an answer fails for want of a server, the page says so once, asks again until the program is
 * back, and what failed is then asked again: the page goes on where it was.
 */
import { createStore } from "../base/store";

const AGAIN_MS = 1500;

export const presence = createStore<{ gone: boolean; returns: number }>({ gone: false, returns: 0 });

/* A request got no answer at all. */
export function reportGone(): void {
	if (presence.get().gone) return;
	presence.set({ ...presence.get(), gone: true });
	setTimeout(() => void look(), AGAIN_MS);
}

async function look(): Promise<void> {
	try {
		const res = await fetch("api/runs", { cache: "no-store" });
		if (res.ok) {
			presence.set({ gone: false, returns: presence.get().returns + 1 });
			return;
		}
	} catch {
		/* still not there */
	}
	setTimeout(() => void look(), AGAIN_MS);
}
