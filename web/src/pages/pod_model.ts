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
	const nums = numbers(t, "step_num") ?? [];
	const parts = partsOf(t).map((p) => ({ id: p.id, v: numbers(t, p.id) ?? [] }));
	return nums.flatMap((n, i) =>
		n === step
			? [
					{
						id: numbers(t, "core_id")?.[i] ?? 0,
						host: strings(t, "host_name")?.[i] ?? "",
						total_us: numbers(t, "total_us")?.[i] ?? 0,
						bottleneck: strings(t, "bottleneck")?.[i] ?? "",
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
	return ids.map((core, i) => ({
		core,
		host: strings(t, "host_name")?.[i] ?? "",
		chip: numbers(t, "global_chip_id")?.[i] ?? 0,
		core_on_chip: numbers(t, "core_num")?.[i] ?? 0,
		replica: numbers(t, "replica_id")?.[i] ?? -1,
	}));
}

/* Hosts in the order of their cores, in them chips, in them cores. */
export function boxesOf(places: readonly Place[]): HostBox[] {
	const hosts: HostBox[] = [];
	for (const p of places) {
		/* Hosts of one name are told apart by the thousands of their cores' numbers. */
		let box = hosts.find((h) => h.host === p.host && sameHost(h.chips[0]?.cores[0]?.core ?? -1, p.core));
		if (!box) hosts.push((box = { host: p.host, chips: [] }));
		let chip = box.chips.find((c) => c.chip === p.chip);
		if (!chip) box.chips.push((chip = { chip: p.chip, cores: [] }));
		chip.cores.push(p);
	}
	return hosts;
}

function sameHost(a: number, b: number): boolean {
	return Math.floor(a / 1000) === Math.floor(b / 1000);
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
