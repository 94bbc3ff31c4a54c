/*
 * sql_model.ts - rows of a query as a table, questions with a name, and where in the timeline a row is.
 */
import type { Cell, TableData } from "../api/types";

export interface Rows {
	columns: string[];
	rows: Cell[][];
	truncated: boolean;
}

export interface Question {
	name: string;
	doc: string;
	sql: string;
	values: Record<string, string>;
}

export const FIRST =
	"SELECT plane, name, COUNT(*) AS n, SUM(dur_ps) AS sum_ps, MIN(start_ps) AS start_ps\nFROM events GROUP BY plane, name ORDER BY sum_ps DESC LIMIT 50";

const UNITS: readonly [end: string, unit: string][] = [
	["_ps", "ps"],
	["_ns", "ns"],
	["_us", "us"],
	["_ms", "ms"],
	["bytes", "bytes"],
];

/* An integer that no number of this language holds exactly comes as text. */
const isLong = (v: Cell) => typeof v === "string" && /^-?\d{16,}$/.test(v);

/* The rows by column, as the tables of tools are. Points of absolute time and integers beyond 2^53 stay as they are, to the last digit. */
export function tableOf({ columns, rows }: Rows): TableData {
	const data = columns.map((_, i) => rows.map((r) => r[i] ?? null));
	data.forEach((cells, i) => {
		if (cells.some(isLong)) data[i] = cells.map((v) => (typeof v === "number" ? String(v) : v));
	});
	const cols = columns.map((id, i) => {
		const number = data[i]?.every((v) => v === null || typeof v === "number") && data[i]?.some((v) => v !== null);
		const unit = number && !/^(start|end)_ns$/.test(id) ? (UNITS.find(([end]) => id.endsWith(end))?.[1] ?? "") : "";
		return { id, label: id, type: number ? "f64" : "str", unit };
	});
	return { name: "rows", title: "Rows", props: {}, cols, nrows: rows.length, data } as TableData;
}

/* A question with a name, its parameters filled in. */
export function filled({ sql, values }: Pick<Question, "sql" | "values">): string {
	const value = (v: string) => (/^-?\d+(\.\d+)?$/.test(v) ? v : `'${v.replace(/'/g, "''")}'`);
	return sql.replace(/:([a-z_]+)/g, (whole, name: string) => (name in values ? value(values[name] ?? "") : whole));
}

/* The stretch of the timeline that a row is about; it begins `origin_ps` after the timeline's zero. */
export function viewOf(row: Readonly<Record<string, Cell>>, origin_ps: number): string | undefined {
	const number = (v: Cell | undefined) => (typeof v === "number" ? v : v && isLong(v) ? Number(v) : undefined);
	const start = number(row["start_ps"] ?? row["ps"]);
	if (start === undefined) return undefined;
	const end = number(row["end_ps"]) ?? start + (number(row["dur_ps"]) ?? 1e6);
	const side = Math.max(1e3, (end - start) / 2);
	return `${Math.max(0, Math.round(start + origin_ps - side))}-${Math.round(end + origin_ps + side)}`;
}
