/*
 * rows.ts - parts of tables.
 */
import { strings } from "../api/table";
import type { TableData } from "../api/types";

/* The rows of one allocator, as a table of its own. */
export function rowsOf(t: TableData | undefined, id: string, only?: readonly string[]): TableData | undefined {
	const ids = strings(t, "memory_id");
	if (!t || !ids) return undefined;
	const rows = ids.flatMap((v, i) => (v === id ? [i] : []));
	const all = t.cols.map((c, k) => ({ c, k }));
	const cols = only ? only.flatMap((name) => all.filter(({ c }) => c.id === name)) : all;
	return {
		...t,
		cols: cols.map(({ c }) => c),
		nrows: rows.length,
		data: cols.map(({ k }) => rows.map((i) => t.data[k]?.[i] ?? null)),
	};
}
