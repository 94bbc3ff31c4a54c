/*
 * pod_model.ts - one step of a pod out of the server's tables: its cores with their parts, where they are, what they sent to each other.
 */
import { column, numbers, strings, table } from "../api/table";
import type { Column, Result, TableData } from "../api/types";

export interface Part {
	id: string;
	label: string;
	doc: string;
}

export interface Core {
	id: number;
	host: string;
	total_us: number;
	bottleneck: string;
	parts: Readonly<Record<string, number>>; /* us, by Part.id */
}

export interface Place {
	core: number;
	host: string;
	chip: number;
	core_on_chip: number;
	replica: number;
}

export interface Channel {
	row: number; /* in the table of channels */
	channel: number;
	from: number;
	to: number;
}

export interface HostBox {
	host: string;
	chips: { chip: number; cores: Place[] }[];
}

const PART = /_us$/;

/* The parts of a step are the columns in us behind "bottleneck". */
export function partsOf(t: TableData): Part[] {
	const from = t.cols.findIndex((c) => c.id === "bottleneck") + 1;
	return t.cols
		.slice(from)
		.filter((c: Column) => PART.test(c.id))
		.map((c) => ({ id: c.id, label: c.label, doc: c.doc ?? "" }));
}

export function coresOf(t: TableData, step: number): Core[] {
	const parts = partsOf(t).map((p) => ({ id: p.id, v: numbers(t, p.id) ?? [] }));
	const [id, total_us] = [numbers(t, "core_id"), numbers(t, "total_us")];
	const [host, bottleneck] = [strings(t, "host_name"), strings(t, "bottleneck")];
	return (numbers(t, "step_num") ?? []).flatMap((n, i) =>
		n === step
			? [
					{
						id: id?.[i] ?? 0,
						host: host?.[i] ?? "",
						total_us: total_us?.[i] ?? 0,
						bottleneck: bottleneck?.[i] ?? "",
						parts: Object.fromEntries(parts.map((p) => [p.id, p.v[i] ?? 0])),
					},
				]
			: [],
	);
}

/* Hosts by name, with a number where several have the same; a host without a name is "host". */
export function hostLabels(names: readonly string[]): string[] {
	const all = new Map<string, number>(), seen = new Map<string, number>();
	const add = (m: Map<string, number>, name: string) => m.set(name, (m.get(name) ?? 0) + 1).get(name) ?? 0;
	for (const name of names) add(all, name);
	return names.map((name) => {
		const nth = add(seen, name);
		return (name || "host") + ((all.get(name) ?? 0) > 1 ? ` (${nth})` : "");
	});
}

/* None where steps are those of whole hosts. */
export function placesOf(r: Result): Place[] {
	const t = table(r, "topology");
	const ids = numbers(t, "core_id") ?? [];
	const shown = new Set(numbers(table(r, "cores"), "core_id"));
	if (!ids.some((id) => shown.has(id))) return [];
	const host = strings(t, "host_name");
	const [chip, core_on_chip, replica] = [numbers(t, "global_chip_id"), numbers(t, "core_num"), numbers(t, "replica_id")];
	return ids.map((core, i) => ({
		core,
		host: host?.[i] ?? "",
		chip: chip?.[i] ?? 0,
		core_on_chip: core_on_chip?.[i] ?? 0,
		replica: replica?.[i] ?? -1,
	}));
}

/* Hosts in the order of the table, in them chips, in them cores. Hosts of one name are told apart by the thousands of their cores' numbers. */
export function boxesOf(places: readonly Place[]): HostBox[] {
	const hosts = new Map<string, HostBox>();
	for (const p of places) {
		const key = `${Math.floor(p.core / 1000)} ${p.host}`;
		const box = hosts.get(key) ?? { host: p.host, chips: [] };
		hosts.set(key, box);
		let chip = box.chips.find((c) => c.chip === p.chip);
		if (!chip) box.chips.push((chip = { chip: p.chip, cores: [] }));
		chip.cores.push(p);
	}
	return [...hosts.values()];
}

/* Rows of a table of one step, by a column, greatest first. */
export function rowsOfStep(t: TableData | undefined, step: number, by: string): number[] {
	const value = numbers(t, by) ?? [];
	const rows = (numbers(t, "step_num") ?? []).flatMap((n, i) => (n === step ? [i] : []));
	const of = (i: number) => (Number.isFinite(value[i]) ? (value[i] ?? 0) : -1);
	return rows.sort((a, b) => of(b) - of(a) || a - b);
}

export function channelAt(t: TableData | undefined, row: number): Channel {
	const at = (id: string) => Number(column(t, id)?.[row] ?? -1);
	return { row, channel: at("channel_id"), from: at("src_core"), to: at("dst_core") };
}
