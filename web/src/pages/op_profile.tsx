/*
 * op_profile.tsx - where the device's time goes, as a tree that opens from programs and categories to operations and to what is fused
 * into them, coloured by how well they use the device, and a card that says all about one of them.
 */
import { useMemo, useState } from "preact/hooks";
import { numbers, propText, strings } from "../api/table";
import type { Result, TableData } from "../api/types";
import { heat } from "../base/color";
import { percent } from "../base/format";
import { useTheme } from "../base/theme";
import { adjust, toolHref, useQuery } from "../base/url";
import { Figure, Verdict } from "../widgets/conclusion";
import { Grid } from "../widgets/grid";
import type { Sort } from "../widgets/grid_model";
import { Failure, Notes, Waiting } from "../widgets/notes";
import { useResult } from "./answer";
import { OpCard } from "./op_card";
import { SEEN, shownTree } from "./op_tree";
import { csvAddress, type Session } from "./session";
import { PageHead } from "./table_page";

const GROUPS = ["program", "category", "provenance"] as const;
const ORDERS: readonly [string, string][] = [
	["time_frac", "time"],
	["wasted_frac", "wasted time"],
	["own_flops_util", "FLOPS utilization"],
	["hbm_util", "HBM utilization"],
	["occurrences", "runs"],
];
const MOST = ["10", "20", "30", "50", "100"] as const;

export function OpProfilePage({ session }: { session: Session }) {
	const group = useQuery("group_by") || "program";
	const { value, error, loading } = useResult(session, { group_by: group });
	return (
		<div class="page page-fill">
			{!(value && isEmpty(value)) && <h1 class="visually-hidden">{session.tool.title}</h1>}
			{error && <Failure text={error} />}
			{!value && loading && <Waiting what="Reading the profile…" />}
			{value && <OpProfile result={value} session={session} group={group} />}
		</div>
	);
}

function isEmpty(r: Result): boolean {
	return !r.tables.some((t) => (numbers(t, "time_ps") ?? []).some((v) => v > 0));
}

function OpProfile({ result, session, group }: { result: Result; session: Session; group: string }) {
	const idle = useQuery("idle") === "with";
	const t = result.tables[idle ? 0 : 1] ?? result.tables[0];
	/* Stored op profiles of the first years tell shares of the time only. */
	const any = ["time_ps", "time_frac"].some((id) => (numbers(t, id) ?? []).some((v) => v > 0));
	if (!t || !any)
		return (
			<>
				<Notes notes={result.notes} />
				<PageHead session={session} />
				<p class="empty">
					No operation of XLA was traced on a device
					{propText(result.tables[0], "device_type") === "CPU_ONLY" ? ": this profile has none, only CPUs." : "."}{" "}
					{session.toolNames.includes("framework_op_stats") && (
						<>
							What the host did is in <a href={toolHref("framework_op_stats")}>framework op stats</a>.
						</>
					)}
				</p>
			</>
		);
	return (
		<>
			<Notes notes={result.notes} />
			<Verdict of={result.conclusion} tools={session.toolNames}>
				<Used t={t} id="own_flops_util" what="of the peak FLOP rate" />
				<Used t={t} id="hbm_util" what="of the bandwidth of the memory" />
			</Verdict>
			<Explorer key={t.name} t={t} session={session} group={group} idle={idle} />
		</>
	);
}

/* Of the whole tree; nothing where it is not known. */
function Used({ t, id, what }: { t: TableData; id: string; what: string }) {
	const v = numbers(t, id)?.[0] ?? 0;
	if (!(v > 0)) return null;
	return (
		<Figure id={id} value={percent(v * 100)}>
			{what}
		</Figure>
	);
}

function Explorer({ t, session, group, idle }: { t: TableData; session: Session; group: string; idle: boolean }) {
	const dark = useTheme().dark;
	const filter = useQuery("filter");
	const asked = useQuery("sort");
	const most = useQuery("most") || "20";
	const top90 = useQuery("top") === "90";
	const op = useQuery("op");
	const order = ORDERS.some(([id]) => id === asked) ? asked : "time_frac";
	const [sort, setSort] = useState<Sort>({ col: order, down: true });
	const shown = useMemo(
		() => shownTree(t, { col: order, down: true }, { most: Number(most) || 20, share: top90 ? 0.9 : 1 }),
		[t, order, most, top90],
	);
	const [pointed, setPointed] = useState<number | null>(null);
	/* The operation in the URL, whatever its row is in this grouping. */
	const kept = useMemo(() => {
		const names = strings(t, "name") ?? [];
		const row = op ? names.indexOf(op) : -1;
		return row > 0 ? row : null;
	}, [t, op]);
	const names = strings(t, "name") ?? [];
	const flops = shown.table.data[1 + SEEN.indexOf("own_flops_util")] ?? [];
	const hbm = shown.table.data[1 + SEEN.indexOf("hbm_util")] ?? [];
	const tint = (col: string, row: number) => {
		const v = col === "own_flops_util" ? flops[row] : col === "hbm_util" && typeof flops[row] === "number" ? hbm[row] : null;
		return typeof v === "number" ? heat(v, dark) : undefined;
	};
	const selected = kept === null ? null : shown.row.indexOf(kept);
	return (
		<>
			<ControlPanel group={group} order={order} most={most} top90={top90} idle={idle} onOrder={(col) => setSort({ col, down: true })} />
			<div class="columns ops-columns">
				<div class="column-side">
					<OpCard t={t} row={pointed ?? kept} session={session} />
				</div>
				<section class="card column-main" aria-label="Operations">
					<h2 class="visually-hidden">Operations</h2>
					<Grid
						table={shown.table}
						filter={filter}
						onFilter={(f) => adjust({ filter: f })}
						sort={sort}
						onSort={(s) => s && setSort(s)}
						maxRows={100}
						csv={csvAddress(session, t.name)}
						tint={tint}
						selected={selected}
						onPoint={(row) => setPointed(row === null ? null : validRow(shown.row[row]))}
						onRow={(row) => {
							const r = validRow(shown.row[row]);
							const name = r === null ? undefined : names[r];
							adjust({ op: name === op ? undefined : name });
						}}
					/>
				</section>
			</div>
		</>
	);
}

function validRow(row: number | undefined): number | null {
	return row === undefined || row < 0 ? null : row;
}

function ControlPanel({
	group,
	order,
	most,
	top90,
	idle,
	onOrder,
}: {
	group: string;
	order: string;
	most: string;
	top90: boolean;
	idle: boolean;
	onOrder: (col: string) => void;
}) {
	return (
		<div class="bar bar-controls" role="group" aria-label="What is shown">
			<label class="field">
				Group by
				<select
					class="select"
					value={group}
					onChange={(e) => adjust({ group_by: e.currentTarget.value === "program" ? undefined : e.currentTarget.value })}
				>
					{GROUPS.map((g) => (
						<option key={g} value={g}>
							{g}
						</option>
					))}
				</select>
			</label>
			<label class="field">
				Sort by
				<select
					class="select"
					value={order}
					onChange={(e) => {
						const v = e.currentTarget.value;
						onOrder(v);
						adjust({ sort: v === "time_frac" ? undefined : v });
					}}
				>
					{ORDERS.map(([id, label]) => (
						<option key={id} value={id}>
							{label}
						</option>
					))}
				</select>
			</label>
			<label class="field">
				Ops of a category
				<select
					class="select"
					value={most}
					onChange={(e) => adjust({ most: e.currentTarget.value === "20" ? undefined : e.currentTarget.value })}
				>
					{MOST.map((n) => (
						<option key={n} value={n}>
							{n}
						</option>
					))}
				</select>
			</label>
			<label class="check">
				<input
					type="checkbox"
					checked={top90}
					onChange={(e) => adjust({ top: e.currentTarget.checked ? "90" : undefined })}
				/>
				Only the operations that take 90 % of the time
			</label>
			<label class="check">
				<input
					type="checkbox"
					checked={!idle}
					onChange={(e) => adjust({ idle: e.currentTarget.checked ? undefined : "with" })}
				/>
				Exclude idle time
			</label>
		</div>
	);
}
