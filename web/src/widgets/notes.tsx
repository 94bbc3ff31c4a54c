/*
 * notes.tsx - what the server says besides the numbers: errors first. Long lists fold after three.
 */
import { useState } from "preact/hooks";
import type { Note } from "../api/types";
import { Icon } from "./icon";

const ORDER = { error: 0, warning: 1, info: 2 };

export function Notes({ notes }: { notes: readonly Note[] }) {
	const [all, setAll] = useState(false);
	if (!notes.length) return null;
	const sorted = [...notes].sort((a, b) => ORDER[a.severity] - ORDER[b.severity]);
	const shown = all ? sorted : sorted.slice(0, 3);
	return (
		<div class="notes" role="status">
			{shown.map((n) => (
				<p class={`note note-${n.severity}`} key={n.text}>
					<Icon name={n.severity === "info" ? "info" : "warn"} />
					<span class="visually-hidden">{n.severity}: </span>
					<span>{n.text}</span>
				</p>
			))}
			{sorted.length > shown.length && (
				<button class="link" onClick={() => setAll(true)}>
					{sorted.length - shown.length} more
				</button>
			)}
		</div>
	);
}

/* A failure where an answer should be: the server's sentence. */
export function Failure({ text }: { text: string }) {
	return (
		<div class="notes">
			<p class="note note-error" role="alert">
				<Icon name="warn" />
				<span>{text}</span>
			</p>
		</div>
	);
}

/* Shown only when waiting takes long enough to be noticed. */
export function Waiting({ what }: { what: string }) {
	return (
		<p class="waiting" role="status">
			<span class="waiting-bar" />
			{what}
		</p>
	);
}
