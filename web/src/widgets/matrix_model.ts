/* matrix_model.ts - a table of step, host and one figure as a field. */
import { numbers, strings } from "../api/table";
import type { TableData } from "../api/types";

export interface Field {
	hosts: string[];
	steps: { num: number; round: number }[]; /* round: of numbers that repeat; else 0 */
	value: Float64Array; /* host by host; NaN: none */
	least: number;
	most: number;
}

/* Tables of step, host, one figure, and the round where step numbers repeat. */
export function isMatrix(t: TableData): boolean {
	return t.cols.length === (t.cols[3]?.id === "round" ? 4 : 3) && t.cols[0]?.id === "step_num" && t.cols[1]?.id === "host" && t.cols[2]?.type === "f64";
}

export function fieldOf(t: TableData): Field {
	const [step, host, v] = [numbers(t, "step_num") ?? [], strings(t, "host") ?? [], numbers(t, t.cols[2]?.id ?? "") ?? []];
	const hosts = [...new Set(host)];
	const round = numbers(t, "round");
	const keyed = new Map(step.map((num, i) => [`${round?.[i] ?? 0} ${num}`, { num, round: round?.[i] ?? 0 }]));
	const steps = [...keyed.values()].sort((a, b) => a.round - b.round || a.num - b.num);
	const [row, col] = [new Map(hosts.map((h, i) => [h, i])), new Map(steps.map((s, i) => [`${s.round} ${s.num}`, i]))];
	const out: Field = { hosts, steps, value: new Float64Array(hosts.length * steps.length).fill(NaN), least: Infinity, most: -Infinity };
	host.forEach((h, i) => {
		const x = v[i];
		if (typeof x !== "number") return;
		out.value[(row.get(h) ?? 0) * steps.length + (col.get(`${round?.[i] ?? 0} ${step[i]}`) ?? 0)] = x;
		out.least = Math.min(out.least, x);
		out.most = Math.max(out.most, x);
	});
	return out;
}
