/*
 * answer.tsx - the frame of a page that shows one tool's answer: ask for it, wait, say what failed. And what the answer says besides its
 * numbers.
 */
import type { ComponentChildren } from "preact";
import { type Params } from "../api/fetch";
import { useJson, type Loadable } from "../api/loadable";
import { strings, table } from "../api/table";
import type { Note, Result } from "../api/types";
import { classes } from "../base/dom";
import { Failure, Waiting } from "../widgets/notes";
import type { Session } from "./session";

/* The answer of the session's tool, asked again whenever a parameter changes. */
export function useResult(session: Session, params: Params = {}): Loadable<Result> {
	return useJson<Result>(`api/tool/${encodeURIComponent(session.tool.name)}`, {
		run: session.run.run,
		host: session.host,
		...params,
	});
}

interface AnswerPage {
	session: Session;
	params?: Params;
	waiting?: string;
	fill?: boolean; // as high as the window: something inside scrolls instead of the page
	children: (result: Result) => ComponentChildren;
}

export function AnswerPage({ session, params, waiting = "Reading the profile…", fill = false, children }: AnswerPage) {
	const { value, error, loading } = useResult(session, params);
	return (
		<div class={classes("page", fill && "page-fill")}>
			<h1 class="visually-hidden">{session.tool.title}</h1>
			{error && <Failure text={error} />}
			{!value && loading && <Waiting what={waiting} />}
			{value && children(value)}
		</div>
	);
}

/* Rows of the table of diagnostics and the notes of the answer are one list to the reader; the same sentence stands once. */
export function allNotes(r: Result): Note[] {
	const t = table(r, "diagnostics");
	const texts = strings(t, "message") ?? [];
	const kinds = strings(t, "severity") ?? [];
	const out: Note[] = [...r.notes];
	texts.forEach((text, i) => {
		const kind = (kinds[i] ?? "").toLowerCase();
		const severity = kind.startsWith("err") ? "error" : kind.startsWith("warn") ? "warning" : "info";
		if (text && !out.some((n) => n.text === text)) out.push({ severity, text });
	});
	return out;
}
