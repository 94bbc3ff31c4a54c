/*
 * op_card.tsx - what an operation is and how well it uses the device: the card beside the tree.
 */
import type { ComponentChildren } from "preact";
import { column, numbers } from "../api/table";
import type { Cell, TableData } from "../api/types";
import { heat } from "../base/color";
import { count, percent, quantity, time_ps } from "../base/format";
import { useTheme } from "../base/theme";
import { toolHref } from "../base/url";
import { filterFor } from "../widgets/grid_model";
import { Meter } from "../widgets/meter";
import { ToolLinks, type Way } from "../widgets/tool_links";
import { plainName, tensorsOf, type Tensor } from "./op_tree";
import type { Session } from "./session";

export function OpCard({ t, row, session }: { t: TableData; row: number | null; session: Session }) {
	const dark = useTheme().dark;
	if (row === null)
		return (
			<section class="card" aria-label="Operation">
				<h2>Operation</h2>
				<p class="muted">Point at a row to see what it is; click to keep it, or move with the arrow keys.</p>
			</section>
		);
	const cell = (id: string): Cell => column(t, id)?.[row] ?? null;
	const text = (id: string) => String(cell(id) ?? "");
	const num = (id: string) => numbers(t, id)?.[row] ?? NaN;
	const say = (id: string) => {
		const v = cell(id);
		return typeof v === "number" ? quantity(v, t.cols.find((c) => c.id === id)?.unit ?? "") : "";
	};
	const isOp = cell("is_op") === true;
	const inside = isOp && num("time_ps") === 0;
	const tensors = tensorsOf(text("layout"));
	const name = text("name");
	return (
		<section class="card op-card" aria-label="Operation" aria-live="polite">
			<header>
				<h2 class="wrap">{name}</h2>
				<p class="muted">{kindOf(t, row)}</p>
				{isOp && text("category") !== "IDLE" && (
					<Links name={plainName(name)} program={text("program_id")} session={session} />
				)}
			</header>
			{inside ? (
				<p class="muted">It runs inside the fusion above it and has no time of its own.</p>
			) : (
				<>
					<dl class="metrics">
						<Meter
							label="FLOPS utilization"
							id="own_flops_util"
							frac={num("own_flops_util")}
							doc="FLOP rate while it runs, of the device's peak."
							color={heat(num("own_flops_util") || 0, !dark)}
						/>
						<Meter
							label="HBM utilization"
							id="hbm_util"
							frac={num("hbm_util")}
							doc="Bandwidth to the device's memory while it runs, of the peak."
						/>
						{num("onchip_read_util") > 0 && <Meter label="On-chip read" frac={num("onchip_read_util")} />}
						{num("onchip_write_util") > 0 && <Meter label="On-chip write" frac={num("onchip_write_util")} />}
					</dl>
					<dl class="env">
						<Field name="Time">
							{time_ps(num("time_ps"))} <span class="muted">{percent(num("time_frac") * 100)} of all</span>
						</Field>
						{num("occurrences") > 0 && (
							<Field name="Runs">
								{count(num("occurrences"))} <span class="muted">of {time_ps(num("avg_ps"))} on average</span>
							</Field>
						)}
						{num("wasted_frac") > 0 && (
							<Field name="Wasted">
								{percent(num("wasted_frac") * 100)} <span class="muted">of all time, at most</span>
							</Field>
						)}
						{num("flop_rate") > 0 && <Field name="FLOP rate">{say("flop_rate")}</Field>}
						{num("hbm_bw") > 0 && <Field name="HBM">{say("hbm_bw")}</Field>}
					</dl>
				</>
			)}
			{tensors.length > 0 && <Layout tensors={tensors} filled={num("layout_filled")} />}
			{isOp && (text("provenance") || text("source_file")) && (
				<dl class="env">
					{text("provenance") && (
						<Field name="Framework op">
							{session.toolNames.includes("framework_op_stats") ? (
								<a href={toolHref("framework_op_stats", { filter: text("provenance").replace(/:[^:/]*$/, "") })}>
									{text("provenance")}
								</a>
							) : (
								text("provenance")
							)}
						</Field>
					)}
					{text("source_file") && (
						<Field name="Source">
							{text("source_file")}
							{num("source_line") > 0 && `:${num("source_line")}`}
						</Field>
					)}
				</dl>
			)}
			{text("source_stack").includes("\n") && (
				<details class="fold">
					<summary>Source stack</summary>
					<pre class="op-text">{text("source_stack")}</pre>
				</details>
			)}
			{isOp && text("expression") && (
				<details class="fold" open={text("expression").length < 400}>
					<summary>Expression</summary>
					<pre class="op-text">{text("expression")}</pre>
				</details>
			)}
		</section>
	);
}

function Field({ name, children }: { name: string; children: ComponentChildren }) {
	return (
		<div>
			<dt>{name}</dt>
			<dd class="wrap">{children}</dd>
		</div>
	);
}

function kindOf(t: TableData, row: number): string {
	const isOp = column(t, "is_op");
	if (isOp?.[row]) return String(column(t, "category")?.[row] ?? "");
	const parent = numbers(t, "parent") ?? [];
	const first = parent.indexOf(row);
	if (parent[row] === 0 && /\(\d+\)$/.test(String(column(t, "name")?.[row] ?? ""))) return "Program";
	return first >= 0 && isOp?.[first] ? "Category of operations" : "Scope";
}

/* Each dimension as a bar as long as its padded size is of its tile-filled self: how much of it is data. */
function Layout({ tensors, filled }: { tensors: readonly Tensor[]; filled: number }) {
	return (
		<div class="metrics">
			<h3>
				Layout{" "}
				<span class="aim">
					{filled >= 1 ? "fills its tiles exactly" : `the worst tensor is ${percent((1 - filled) * 100)} padding`}
				</span>
			</h3>
			{tensors.map((x) => (
				<div key={x.title} class="tensor">
					<div class="muted">
						<span class="upper">{x.title}</span> <code>{x.type}</code>
					</div>
					{x.dims.every((d) => d.padded === d.size) ? (
						<p class="dim-size">
							{x.dims.map((d) => count(d.size)).join(" × ")} <span class="muted">exact fit</span>
						</p>
					) : (
					<ul>
						{x.dims.map((d, i) => (
							<li key={i} class="dim">
								<span class="dim-name">{i === 0 ? "minor" : ""}</span>
								<span class="dim-bar" aria-hidden="true">
									<span class="dim-data" style={{ width: `${(d.size / Math.max(1, d.padded)) * 100}%` }} />
								</span>
								<span class="dim-size">
									{count(d.size)}
									<span class="muted">{d.padded > d.size ? ` padded to ${count(d.padded)}` : ""}</span>
								</span>
							</li>
						))}
					</ul>
					)}
				</div>
			))}
		</div>
	);
}

function Links({ name, program, session }: { name: string; program: string; session: Session }) {
	const ways: readonly Way[] = [
		["hlo_stats", "HLO stats", { filter: filterFor("hlo_op_name", name) }],
		["graph_viewer", "Graph", { node_name: name, program_id: program }],
		["memory_viewer", "Memory", { program_id: program }],
		["trace_viewer@", "Timeline", { q: name, find: "longest" }],
	];
	return <ToolLinks name={name} ways={ways} tools={session.toolNames} />;
}
