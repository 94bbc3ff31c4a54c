/*
 * table.ts - reading a result: tables by name, columns and properties by id. A missing one is undefined, never a guess.
 */
import type { Cell, Column, Prop, Result, TableData } from "./types";
import { quantity } from "../base/format";

export function table(r: Result, name: string): TableData | undefined {
	return r.tables.find((t) => t.name === name);
}

/* The table that has these columns, whatever it is called. */
export function tableWith(r: Result, ...ids: string[]): TableData | undefined {
	return r.tables.find((t) => ids.every((id) => t.cols.some((c) => c.id === id)));
}

export function colIndex(t: TableData | undefined, id: string): number {
	return t ? t.cols.findIndex((c) => c.id === id) : -1;
}

export function column(t: TableData | undefined, id: string): Cell[] | undefined {
	return t?.data[colIndex(t, id)];
}

export function numbers(t: TableData | undefined, id: string): number[] | undefined {
	return column(t, id)?.map((v) => (typeof v === "number" ? v : NaN));
}

export function strings(t: TableData | undefined, id: string): string[] | undefined {
	return column(t, id)?.map((v) => (v === null ? "" : String(v)));
}

export function prop(t: TableData | undefined, id: string): Prop | undefined {
	return t?.props?.[id];
}

/* The property as words: its number with its unit, or its text. Empty when absent or empty. */
export function propText(t: TableData | undefined, id: string): string {
	const p = prop(t, id);
	if (!p) return "";
	if (typeof p.value === "number") return quantity(p.value, p.unit);
	return p.text || (p.value === null ? "" : String(p.value));
}

export function propNumber(t: TableData | undefined, id: string): number | undefined {
	const p = prop(t, id);
	if (!p) return undefined;
	if (typeof p.value === "number") return p.value;
	const n = parseFloat(p.text);
	return Number.isFinite(n) ? n : undefined;
}

export function isNumeric(c: Column): boolean {
	return c.type === "f64" || c.type === "i64";
}
