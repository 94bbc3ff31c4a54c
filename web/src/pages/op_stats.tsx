/*
 * op_stats.tsx - tables of operations and kernels: how the time is divided, then every row. Used by framework_op_stats, hlo_stats and
 * kernel_stats, which differ in the columns by which one divides.
 */
import { useMemo } from "preact/hooks";
import { useJson } from "../api/loadable";
import { numbers, strings } from "../api/table";
import type { Divisions, Result, TableData } from "../api/types";
import { adjust, toolHref, useQuery } from "../base/url";
import { Verdict } from "../widgets/conclusion";
import { Grid } from "../widgets/grid";
import { filterFor, wordsOf } from "../widgets/grid_model";
import { Failure, Notes, Waiting } from "../widgets/notes";
import { Shares } from "../widgets/shares";
import { AnswerPage } from "./answer";
import { csvAddress, type Session } from "./session";
import { PageHead } from "./table_page";

/* Divisions of the rows in which column `where` says `is`. */
interface Group {
	where?: string;
	is?: string;
	titles: Readonly<Record<string, string>>; /* by column */
}

interface Shape {
	name: string; /* column with the row's name */
	value: string; /* column by which rows are ranked */
	first: readonly string[]; /* columns that stand first: who, how much, why */
	groups: readonly Group[];
}

const SHAPES: Readonly<Record<string, Shape>> = {
	framework_op_stats: {
		name: "operation",
		value: "total_self_time",
		first: ["rank", "host_or_device", "type", "operation", "occurrences", "total_self_time", "avg_self_time", "total_time"],
		groups: [
			{ where: "host_or_device", is: "Device", titles: { type: "Device, by type", operation: "Device, by operation" } },
			{ where: "host_or_device", is: "Host", titles: { type: "Host, by type", operation: "Host, by operation" } },
		],
	},
	hlo_stats: {
		name: "hlo_op_name",
		value: "total_self_time",
		first: [
			"rank",
			"hlo_op_name",
			"category",
			"total_self_time",
			"total_self_time_percent",
			"occurrences",
			"bound_by",
			"tf_op_name",
			"avg_self_time",
			"hbm_bw",
			"model_flop_rate",
		],
		groups: [
			{
				titles: {
					category: "By category",
					hlo_op_name: "By operation",
					bound_by: "By bound",
					hlo_rematerialization: "Rematerialization",
				},
			},
		],
	},
	kernel_stats: {
		name: "kernel_name",
		value: "total_duration_us",
		first: [
			"rank",
			"kernel_name",
			"total_duration_us",
			"occurrences",
			"avg_duration_us",
			"op_name",
			"is_op_tensor_core_eligible",
			"is_kernel_using_tensor_core",
			"occupancy_pct",
			"min_duration_us",
			"max_duration_us",
		],
		groups: [
			{
				titles: {
					kernel_short: "By kernel",
					op_name: "By operation",
					is_kernel_using_tensor_core: "Tensor Cores used",
				},
			},
		],
	},
};

export function OpStatsPage({ session }: { session: Session }) {
	return (
		<AnswerPage session={session} fill>{(result) => <OpStats result={result} session={session} />}</AnswerPage>
	);
}

function OpStats({ result, session }: { result: Result; session: Session }) {
	const filter = useQuery("filter");
	const idle = useQuery("idle") !== "without";
	const shape = SHAPES[session.tool.name];
	/* Where the server sends two tables the second one leaves out idle time. */
	const tables = result.tables.filter((t) => t.cols.some((c) => c.id === shape?.name));
	const t = (idle ? tables[0] : tables[1]) ?? tables[0];
	const any = (numbers(t, shape?.value ?? "") ?? []).some((v) => v > 0);
	const shown = useMemo(() => t && inOrder(t, shape?.first ?? []), [t, shape]);
	const op = useQuery("op");
	const names = useMemo(() => strings(shown, shape?.name ?? "") ?? [], [shown, shape]);
	const kept = op ? names.indexOf(op) : -1;
	if (!t || !shown || !shape || !any)
		return (
			<>
				<Notes notes={result.notes} />
				<PageHead session={session} />
				<p class="empty">No operation was traced in this profile.</p>
			</>
		);
	return (
		<>
			<Notes notes={result.notes} />
			<Verdict of={result.conclusion} tools={session.toolNames} />
			<Divided t={t} at={result.tables.indexOf(t)} shape={shape} session={session} filter={filter} />
			<section class="card" aria-label="Operations">
				<h2 class="visually-hidden">Operations</h2>
				{tables.length > 1 && (
					<label class="check">
						<input
							type="checkbox"
							checked={idle}
							onChange={(e) => adjust({ idle: e.currentTarget.checked ? undefined : "without" })}
						/>
						Include idle time
					</label>
				)}
				<Grid
					table={shown}
					filter={filter}
					orderKey="order"
					csv={csvAddress(session, t.name)}
					onFilter={(f) => adjust({ filter: f })}
					link={(col, row) => linkOf(col, row, shown, session)}
					selected={kept < 0 ? null : kept}
					onRow={(row) => adjust({ op: row === kept ? undefined : names[row] })}
				/>
			</section>
		</>
	);
}

/* What is looked for first is seen without scrolling sideways; the rest keeps the server's order. */
function inOrder(t: TableData, first: readonly string[]): TableData {
	const at = t.cols.map((c, k) => [first.indexOf(c.id), k] as const);
	at.sort(([a, i], [b, k]) => (a < 0 ? first.length : a) - (b < 0 ? first.length : b) || i - k);
	return { ...t, cols: at.flatMap(([, k]) => t.cols[k] ?? []), data: at.map(([, k]) => t.data[k] ?? []) };
}

/*
 * An instruction stands in its program's graph, a kernel in the timeline; the operation of either has a row in another table, and an
 * operation of the device has instructions in HLO stats.
 */
function linkOf(col: string, row: number, t: TableData, session: Session): string | undefined {
	const cell = (id: string) => String(t.data[t.cols.findIndex((c) => c.id === id)]?.[row] ?? "");
	const name = cell(col);
	const to = (tool: string, extra: Record<string, string>) =>
		name && session.toolNames.includes(tool) ? toolHref(tool, extra) : undefined;
	switch (col) {
		case "hlo_op_name":
			return cell("program_id") ? to("graph_viewer", { node_name: name, program_id: cell("program_id") }) : undefined;
		case "op_name":
		case "tf_op_name":
			return to("framework_op_stats", { filter: name });
		case "kernel_name":
			return to("trace_viewer@", { q: name, find: "longest" });
		case "operation": {
			if (name === "IDLE") return undefined;
			const hlo = cell("host_or_device") === "Device" && to("hlo_stats", { filter: filterFor("tf_op_name", name) });
			return hlo || to("trace_viewer@", { q: name, find: "longest" });
		}
		default:
			return undefined;
	}
}

interface DividedProps {
	t: TableData;
	at: number; /* number of the table in the answer */
	shape: Shape;
	session: Session;
	filter: string;
}

/* How the time is divided: summed up by the server. */
function Divided(props: DividedProps) {
	const groups = props.shape.groups.map((g) => ({
		...g,
		by: Object.keys(g.titles).filter((id) => props.t.cols.some((c) => c.id === id)),
	}));
	return (
		<>
			<section class="card card-row" aria-label="How the time is divided">
				<h2 class="visually-hidden">How the time is divided</h2>
				{groups.map((g) => (
					<GroupShares key={g.is ?? ""} {...props} group={g} by={g.by} />
				))}
			</section>
		</>
	);
}

function useDivisions({ at, shape, session }: DividedProps, by: readonly string[], group?: Group) {
	return useJson<Divisions>("api/shares", {
		run: session.run.run,
		host: session.host,
		tool: session.tool.name,
		table: at,
		value: shape.value,
		name: shape.name,
		by: by.join(","),
		where: group?.where,
		is: group?.is,
	});
}

function GroupShares(props: DividedProps & { group: Group; by: readonly string[] }) {
	const { group, by, filter } = props;
	const { value, error } = useDivisions(props, by, group);
	const words = wordsOf(filter);
	const chosen = (id: string) => words.find((w) => w.startsWith(`${id}:`))?.slice(id.length + 1) ?? "";
	if (error) return <Failure text={error} />;
	if (!value) return <Waiting what="Dividing the time…" />;
	return (
		<>
			{value.divisions.map((d) => (
				<Shares
					key={d.by}
					division={d}
					unit={value.unit}
					title={group.titles[d.by] ?? d.by}
					chosen={chosen(d.by)}
					onChoose={(name) => adjust({ filter: name ? filterFor(d.by, name) : undefined })}
				/>
			))}
		</>
	);
}

