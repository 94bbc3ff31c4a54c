/*
 * session.ts - what every page is told: the run, the host, the tools there are, and the answer's address.
 */
import type { Run, Tool } from "../api/types";

export interface Session {
	run: Run;
	tool: Tool;
	host: string;
	tools: readonly Tool[];
	toolNames: readonly string[];
	clocks?: "aligned"; /* of a timeline whose hosts are on one clock */
}

/* What a request about a timeline names. */
export function ofTimeline(s: Session): { run: string; host: string; clocks: "aligned" | undefined } {
	return { run: s.run.run, host: s.host, clocks: s.clocks };
}

/* XProf's route, because that is what a script would fetch as well. */
/* Of the first table, or of the one that is named. */
export function csvAddress(s: Session, table = ""): string {
	const q = new URLSearchParams({ run: s.run.run, tag: s.tool.name, host: s.host, ...(table && { table }) });
	return `data/plugin/profile/data_csv?${q.toString()}`;
}
