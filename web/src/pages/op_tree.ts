/*
 * op_tree.ts - which rows of the server's tree of operations the page shows: without the root, and below each category only the first
 * so many of the order chosen, with a line that says how many are left out.
 */
import type { Cell, Column, TableData } from "../api/types";
import type { Sort } from "../widgets/grid_model";

/* What is seen, in this order; what follows can be filtered by, but stands in the card only. */
export const SEEN = ["name", "time_frac", "wasted_frac", "own_flops_util", "hbm_util", "provenance"] as const;
const SEARCHED = ["category", "expression", "source_file"] as const;

const LABELS: Readonly<Record<string, string>> = {
	name: "Operation",
	time_frac: "Time",
	wasted_frac: "Wasted",
	own_flops_util: "FLOPS",
	hbm_util: "HBM",
};

export interface Shown {
	table: TableData;
	row: readonly number[]; /* of each row of `table` in the server's; -1: a line about what is left out */
}

export interface Limits {
	most: number; /* children of one node */
	share: number; /* stop when so much of the parent's time is listed: 0.9, or 1 for all */
}

export function shownTree(t: TableData, sort: Sort, limits: Limits): Shown {
	const at = (id: string) => t.cols.findIndex((c) => c.id === id);
	const col = (id: string): readonly Cell[] => t.data[at(id)] ?? [];
	const parent = col("parent");
	/* Stored op profiles of the first years tell shares only. */
	const ps = col("time_ps");
	const time = ps.some((v) => v) ? ps : col("time_frac");
	const total = col("children");
	const isOp = col("is_op");
	const key = col(sort.col);
	const kids: number[][] = parent.map(() => []);
	parent.forEach((p, i) => {
		if (typeof p === "number" && p >= 0 && p < i) kids[p]?.push(i);
	});
	const row: number[] = [];
	const up: number[] = [];
	const left: string[] = [];
	const num = (v: Cell | undefined) => (typeof v === "number" ? v : -Infinity);
	const walk = (node: number, shownParent: number) => {
		const list = [...(kids[node] ?? [])];
		list.sort((a, b) => (sort.down ? 1 : -1) * (num(key[b]) - num(key[a])) || a - b);
		/* Programs, scopes and categories are few and say where one is: all of them stay. */
		const cut = !isOp[node] && list.every((k) => isOp[k]);
		let listed = 0;
		let n = 0;
		for (const k of list) {
			if (cut && (n >= limits.most || (limits.share < 1 && n > 0 && listed >= limits.share * num(time[node])))) break;
			n++;
			listed += Math.max(0, num(time[k]));
			row.push(k);
			up.push(shownParent);
			left.push("");
			walk(k, row.length - 1);
		}
		const missing = Math.max(list.length, num(total[node])) - n;
		if (node !== 0 && missing > 0) {
			row.push(-1);
			up.push(shownParent);
			left.push(`${missing} more`);
		}
	};
	if (t.nrows) walk(0, -1);
	const cols: Column[] = [{ id: "parent", label: "", type: "i64", unit: "" }];
	const data: Cell[][] = [up];
	for (const id of [...SEEN, ...SEARCHED]) {
		const c = t.cols[at(id)];
		if (!c) continue;
		const seen = (SEEN as readonly string[]).includes(id);
		cols.push({ ...c, label: LABELS[id] ?? c.label, ...(seen ? {} : { role: "tooltip" }) });
		data.push(row.map((r, i) => (r >= 0 ? (col(id)[r] ?? null) : id === "name" ? (left[i] ?? null) : null)));
	}
	return { table: { name: t.name, title: "Operations", props: {}, cols, nrows: row.length, data }, row };
}

/* "fusion.2 and its duplicate(s)" is called fusion.2 everywhere else. */
export function plainName(name: string): string {
	return name.replace(/ and its duplicate\(s\)$/, "");
}

export interface Tensor {
	title: string;
	type: string;
	dims: { size: number; padded: number }[]; /* minor first */
}

/* "result f32 3/128 16/16; operand 1 bf16 64/128" */
export function tensorsOf(layout: string): Tensor[] {
	return layout.split("; ").flatMap((part) => {
		const m = /^((?:result|operand)(?: \d+)?) (\S+)((?: \d+\/\d+)+)$/.exec(part);
		if (!m) return [];
		const dims = (m[3] ?? "")
			.trim()
			.split(" ")
			.map((d) => {
				const [size = 0, padded = 0] = d.split("/").map(Number);
				return { size, padded };
			});
		return [{ title: m[1] ?? "", type: m[2] ?? "", dims }];
	});
}
