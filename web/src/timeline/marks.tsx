/*
 * marks.tsx - the marks of a trace and what the reader notes about them. They stand in the URL, and in a file if the reader saves one.
 */
import { useRef, useState } from "preact/hooks";
import { saveText } from "../base/dom";
import { time_ps } from "../base/format";
import { useStore } from "../base/store";
import { Icon } from "../widgets/icon";
import type { Session } from "../pages/session";
import type { TimelineModel } from "./model";
import { formatMarks, noteMark, parseMarks, toggleMark, type TraceStore } from "./state";
import { fit } from "./viewport";

/* A file of notes: what the URL holds, with the run that it is about. */
interface NotesFile {
	run: string;
	host: string;
	marks: { begin_ps: number; end_ps: number; note?: string }[];
}

function save(file: NotesFile): void {
	saveText(`${file.run.replace(/[^\w.-]+/g, "_")}.notes.json`, "application/json", `${JSON.stringify(file, null, "\t")}\n`);
}

export function MarksPane({ store, model, session }: { store: TraceStore; model: TimelineModel; session: Session }) {
	const marks = useStore(store, (s) => s.marks);
	const [error, fail] = useState("");
	const input = useRef<HTMLInputElement>(null);
	const read = async (file: File | undefined) => {
		try {
			const { marks: found } = JSON.parse((await file?.text()) ?? "") as NotesFile;
			/* By way of the URL's form, so that no more comes in than a link could bring. */
			const all = formatMarks([...store.get().marks, ...found.map((m) => ({ begin_ps: Math.round(m.begin_ps), end_ps: Math.round(m.end_ps), note: String(m.note ?? "") }))]);
			store.update({ marks: parseMarks([...new Set(all.split(","))].join(",")) });
			fail("");
		} catch {
			fail("This file holds no notes.");
		}
	};
	return (
		<div class="sums">
			<div class="sums-head">
				<h2>Notes</h2>
				<span class="muted">The address of this page holds the notes. {error}</span>
				<button class="button button-small" onClick={() => save({ run: session.run.run, host: session.host, marks: [...marks] })}>
					Save as a file
				</button>
				<button class="button button-small" onClick={() => input.current?.click()}>
					Read a file
				</button>
				<input ref={input} type="file" accept=".json" hidden onChange={(e) => void read(e.currentTarget.files?.[0])} />
			</div>
			<div class="names-list">
				<table class="plain-table">
					<tbody>
						{marks.map((m) => (
							<tr key={`${m.begin_ps}-${m.end_ps}`}>
								<td class="num">
									<button
										class="link"
										title="Go there"
										onClick={() => {
											const side = Math.max((m.end_ps - m.begin_ps) / 2, (model.all.end_ps - model.all.begin_ps) / 100);
											store.update({ target: fit(m.begin_ps - side, m.end_ps + side, model.room) });
										}}
									>
										{time_ps(m.begin_ps, 6)}
									</button>
								</td>
								<td class="num">{m.end_ps > m.begin_ps ? time_ps(m.end_ps - m.begin_ps) : "moment"}</td>
								<td class="notes-text">
									<input
										class="input"
										value={m.note ?? ""}
										maxLength={500}
										placeholder="What is seen here"
										aria-label={`Note at ${time_ps(m.begin_ps, 6)}`}
										onChange={(e) => noteMark(store, m, e.currentTarget.value)}
									/>
								</td>
								<td>
									<button class="button button-icon" aria-label={`Remove the mark at ${time_ps(m.begin_ps, 6)}`} title="Remove the mark" onClick={() => toggleMark(store, m)}>
										<Icon name="close" />
									</button>
								</td>
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</div>
	);
}
