/*
 * stretch_flame.tsx - what lies in a stretch of the timeline as a flame graph: the tool flame_graph with the stretch and the tracks.
 */
import { useState } from "preact/hooks";
import { useJson } from "../api/loadable";
import type { Result } from "../api/types";
import { toolHref } from "../base/url";
import { Flame } from "../chart/flame";
import { Verdict } from "../widgets/conclusion";
import { Failure, Notes, Waiting } from "../widgets/notes";
import type { Session } from "../pages/session";

const BY = [
	["stack", "Call stack, or program and name scope"],
	["source", "Lines of the program's text"],
	["category", "HLO category"],
] as const;

function params(session: Session, begin_ps: number, end_ps: number, tracks: string) {
	return { host: session.host, clocks: session.clocks, from: (Math.floor(begin_ps) / 1e9).toFixed(9), to: (Math.ceil(end_ps) / 1e9).toFixed(9), tracks };
}

/* The same as a page of its own. */
export function flameHref(session: Session, begin_ps: number, end_ps: number, tracks: string): string {
	return toolHref("flame_graph", params(session, begin_ps, end_ps, tracks));
}

export function StretchFlame({ session, begin_ps, end_ps, tracks }: { session: Session; begin_ps: number; end_ps: number; tracks: string }) {
	const [by, choose] = useState("stack");
	const asked = params(session, begin_ps, end_ps, tracks);
	const { value, error, loading } = useJson<Result>("api/tool/flame_graph", { run: session.run.run, by, ...asked });
	const table = value?.tables[0];
	return (
		<div class="stretch-flame">
			<div class="bar">
				<label class="field">
					<span>Devices by</span>
					<select class="select" value={by} onChange={(e) => choose(e.currentTarget.value)}>
						{BY.map(([id, text]) => (
							<option key={id} value={id}>
								{text}
							</option>
						))}
					</select>
				</label>
				<a href={toolHref("flame_graph", { by: by === "stack" ? undefined : by, ...asked })}>Open as a page</a>
			</div>
			{error && <Failure text={error} />}
			{!value && loading && <Waiting what="Adding up…" />}
			{value && <Notes notes={value.notes} />}
			{value && <Verdict of={value.conclusion} tools={session.toolNames} />}
			{table && <Flame table={table} />}
		</div>
	);
}
