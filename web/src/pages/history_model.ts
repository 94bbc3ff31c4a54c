/*
 * history_model.ts - the tables of a history as the page draws them: a series for each metric and program, with the levels that the
 * server found.
 */
import { column, numbers, strings } from "../api/table";
import type { Run, TableData } from "../api/types";

export interface Point {
	run: number;
	time: string;
	value: number;
	labels: string;
	path: string;
}

export interface Change {
	run: number; /* the first of the new level */
	before: number;
	after: number;
	delta_frac: number;
	worse: boolean;
	commit: string;
	lastGood: string;
	path: string;
}

export interface Series {
	metric: string;
	unit: string;
	about: string;
	points: Point[];
	changes: Change[];
}

export function seriesOf(figures: TableData, changes: TableData | undefined): Series[] {
	const text = (t: TableData | undefined, id: string, i: number) => strings(t, id)?.[i] ?? "";
	const value = (t: TableData | undefined, id: string, i: number) => numbers(t, id)?.[i] ?? NaN;
	const out = new Map<string, Series>();
	const key = (t: TableData, i: number) => `${text(t, "metric", i)}\n${text(t, "series", i)}`;
	for (let i = 0; i < figures.nrows; i++) {
		const k = key(figures, i);
		let s = out.get(k);
		if (!s) {
			s = { metric: text(figures, "metric", i), unit: text(figures, "unit", i), about: text(figures, "series", i), points: [], changes: [] };
			out.set(k, s);
		}
		s.points.push({
			run: value(figures, "run", i),
			time: text(figures, "time", i),
			value: value(figures, "value", i),
			labels: text(figures, "labels", i),
			path: text(figures, "path", i),
		});
	}
	for (let i = 0; changes && i < changes.nrows; i++)
		out.get(key(changes, i))?.changes.push({
			run: value(changes, "run", i),
			before: value(changes, "before", i),
			after: value(changes, "after", i),
			delta_frac: value(changes, "delta_frac", i),
			worse: column(changes, "worse")?.[i] === true,
			commit: text(changes, "label_commit", i),
			lastGood: text(changes, "last_good", i),
			path: text(changes, "path", i),
		});
	return [...out.values()];
}

export interface Level {
	from: number; /* index of the first run */
	to: number; /* of the last */
	value: number;
	worse: boolean | null; /* than the level before; null: there is none */
}

/* The means between the changes; without a change there is no level to draw. */
export function levelsOf(s: Series): Level[] {
	const at = s.changes
		.map((c) => ({ c, i: s.points.findIndex((p) => p.run === c.run) }))
		.filter((x) => x.i > 0)
		.sort((a, b) => a.i - b.i);
	const out: Level[] = [];
	at.forEach(({ c, i }, k) => {
		if (k === 0) out.push({ from: 0, to: i - 1, value: c.before, worse: null });
		out.push({ from: i, to: (at[k + 1]?.i ?? s.points.length) - 1, value: c.after, worse: c.worse });
	});
	return out;
}

/* The run below the log directory that a path of the history means; undefined unless it is one alone. */
export function runOf(runs: readonly Run[], path: string): string | undefined {
	const p = path.replace(/\/+$/, "").replace(/^(\.\/)+/, "");
	if (!p) return undefined;
	const found = runs.filter((r) => {
		const whole = `/${r.path.replace(/^\/+/, "")}/`;
		const part = p.startsWith("/") ? `${p}/` : `/${p}/`;
		return p.startsWith("/") ? whole.startsWith(part) || part.startsWith(whole) : whole.includes(part) || holds(whole, p);
	});
	return found.length === 1 ? found[0]?.run : undefined;
}

/* A file of the run: its folder ends the run's path. */
function holds(whole: string, p: string): boolean {
	const slash = p.lastIndexOf("/");
	return p.endsWith(".pb") && slash > 0 && whole.endsWith(`/${p.slice(0, slash)}/`);
}
