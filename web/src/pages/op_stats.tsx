/*
 * op_stats.tsx - tables of operations and kernels: how the time is divided, then every row. Used by framework_op_stats, hlo_stats and
 * kernel_stats, which differ in the columns by which one divides.
 */
import { useJson } from "../api/loadable";
import { numbers, strings } from "../api/table";
import type { Result, TableData } from "../api/types";
import { percent, quantity } from "../base/format";
import { adjust, toolHref, useQuery } from "../base/url";
import { Grid } from "../widgets/grid";
import { filterFor, wordsOf } from "../widgets/grid_model";
import { Failure, Notes, Waiting } from "../widgets/notes";
import { Shares } from "../widgets/shares";
import { csvAddress, type Session } from "./session";
import { PageHead } from "./table_page";

interface Division {
	title: string;
	by: string;
	value: string;
	where?: readonly [string, string];
}

interface Shape {
	name: string; /* column with the row's name */
	value: string; /* column by which rows are ranked */
	divisions: readonly Division[];
}

const SHAPES: Readonly<Record<string, Shape>> = {
	framework_op_stats: {
		name: "operation",
		value: "total_self_time",
		divisions: [
			{ title: "Device, by type", by: "type", value: "total_self_time", where: ["host_or_device", "Device"] },
			{ title: "Device, by operation", by: "operation", value: "total_self_time", where: ["host_or_device", "Device"] },
			{ title: "Host, by type", by: "type", value: "total_self_time", where: ["host_or_device", "Host"] },
			{ title: "Host, by operation", by: "operation", value: "total_self_time", where: ["host_or_device", "Host"] },
		],
	},
	hlo_stats: {
		name: "hlo_op_name",
		value: "total_self_time",
		divisions: [
			{ title: "By category", by: "category", value: "total_self_time" },
			{ title: "By operation", by: "hlo_op_name", value: "total_self_time" },
			{ title: "By bound", by: "bound_by", value: "total_self_time" },
			{ title: "Rematerialization", by: "hlo_rematerialization", value: "total_self_time" },
		],
	},
	kernel_stats: {
		name: "kernel_name",
		value: "total_duration_us",
		divisions: [
			{ title: "By kernel", by: "kernel_name", value: "total_duration_us" },
			{ title: "By operation", by: "op_name", value: "total_duration_us" },
			{ title: "Tensor Cores used", by: "is_kernel_using_tensor_core", value: "total_duration_us" },
		],
	},
};

export function OpStatsPage({ session }: { session: Session }) {
	const { value, error, loading } = useJson<Result>(`api/tool/${encodeURIComponent(session.tool.name)}`, {
		run: session.run.run,
		host: session.host,
	});
	return (
		<div class="page page-fill">
			<h1 class="visually-hidden">{session.tool.title}</h1>
			{error && <Failure text={error} />}
			{!value && loading && <Waiting what="Reading the profile…" />}
			{value && <OpStats result={value} session={session} />}
		</div>
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
	if (!t || !shape || !any)
		return (
			<>
				<Notes notes={result.notes} />
				<PageHead session={session} />
				<p class="empty">No operation was traced in this profile.</p>
			</>
		);
	const words = wordsOf(filter);
	const divisions = shape.divisions.filter((d) => t.cols.some((c) => c.id === d.by));
	const chosen = (d: Division) => {
		const own = words.find((w) => w.startsWith(`${d.by}:`))?.slice(d.by.length + 1);
		return own === undefined ? "" : ((strings(t, d.by) ?? []).find((n) => n.toLowerCase() === own) ?? "");
	};
	return (
		<>
			<Notes notes={result.notes} />
			<Verdict t={t} shape={shape} />
			<section class="card card-row" aria-label="How the time is divided">
				<h2 class="visually-hidden">How the time is divided</h2>
				{divisions.map((d) => (
					<Shares
						key={d.title}
						table={t}
						{...d}
						where={d.where}
						chosen={chosen(d)}
						onChoose={(name) => adjust({ filter: name ? filterFor(d.by, name) : undefined })}
					/>
				))}
			</section>
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
					table={t}
					filter={filter}
					csv={csvAddress(session)}
					onFilter={(f) => adjust({ filter: f })}
					link={(col, row) => linkOf(col, row, t, session)}
				/>
			</section>
		</>
	);
}

/* A kernel's or instruction's operation stands in another table; an instruction stands in its program's graph. */
function linkOf(col: string, row: number, t: TableData, session: Session): string | undefined {
	const cell = (id: string) => String(t.data[t.cols.findIndex((c) => c.id === id)]?.[row] ?? "");
	if (col === "hlo_op_name" && cell("program_id") && session.toolNames.includes("graph_viewer"))
		return toolHref("graph_viewer", { node_name: cell(col), program_id: cell("program_id") });
	if ((col !== "op_name" && col !== "tf_op_name") || !session.toolNames.includes("framework_op_stats")) return undefined;
	return cell(col) ? toolHref("framework_op_stats", { filter: cell(col) }) : undefined;
}

/* The row that takes most, in one sentence. */
function Verdict({ t, shape }: { t: TableData; shape: Shape }) {
	const v = numbers(t, shape.value) ?? [];
	const names = strings(t, shape.name) ?? [];
	const unit = t.cols.find((c) => c.id === shape.value)?.unit ?? "";
	let best = -1;
	let sum = 0;
	v.forEach((x, i) => {
		sum += x > 0 ? x : 0;
		if (!/^idle$/i.test(names[i] ?? "") && (best < 0 || x > (v[best] ?? 0))) best = i;
	});
	if (best < 0 || !(sum > 0)) return null;
	return (
		<section class="verdict" aria-label="Verdict">
			<p class="verdict-text">
				<strong>{names[best]}</strong> takes the most time: {quantity(v[best] ?? 0, unit)},{" "}
				{percent(((v[best] ?? 0) / sum) * 100)} of all.
			</p>
		</section>
	);
}
