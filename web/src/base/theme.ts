/*
 * theme.ts - light, dark, or as the system says. The choice is kept in this browser; "system" keeps nothing.
 * The page sets data-theme on <html>, the style sheet does the rest; canvases ask isDark() and draw again.
 */
import { createStore, useStore } from "./store";

export type Choice = "system" | "light" | "dark";

const KEY = "stepscope.theme";
const media = matchMedia("(prefers-color-scheme: dark)");

function read(): Choice {
	try {
		const v = localStorage.getItem(KEY);
		return v === "light" || v === "dark" ? v : "system";
	} catch {
		return "system"; /* storage may be forbidden: the page works without */
	}
}

function resolve(choice: Choice): boolean {
	return choice === "dark" || (choice === "system" && media.matches);
}

const store = createStore({ choice: read(), dark: resolve(read()) });

function apply(choice: Choice): void {
	const dark = resolve(choice);
	document.documentElement.dataset["theme"] = dark ? "dark" : "light";
	store.set({ choice, dark });
}

export function startTheme(): void {
	apply(read());
	media.addEventListener("change", () => apply(store.get().choice));
}

export function chooseTheme(choice: Choice): void {
	try {
		if (choice === "system") localStorage.removeItem(KEY);
		else localStorage.setItem(KEY, choice);
	} catch {
		/* not kept, still applied */
	}
	apply(choice);
}

export const useTheme = () => useStore(store, (s) => s);
