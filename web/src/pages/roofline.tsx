/*
 * roofline.tsx - how close program and operations come to the device's limits: a log-log plot of FLOP rate over operational intensity
 * under the roofs of compute and of each memory, and the table it is drawn from.
 */
import { useMemo, useState } from "preact/hooks";
import { useJson } from "../api/loadable";
import { column, numbers, propNumber, propText, strings, table, tableWith } from "../api/table";
import type { Result, TableData } from "../api/types";
import { css, nameColor } from "../base/color";
import { useSize } from "../base/dom";
import { count, percent, quantity, si, significant } from "../base/format";
import { useTheme } from "../base/theme";
import { adjust, useQuery } from "../base/url";
import { along, decades, logAxis, roofLine, type LogAxis, type Roof } from "../chart/scatter";
import { Grid } from "../widgets/grid";
import { Failure, Notes, Waiting } from "../widgets/notes";
import { allNotes } from "./overview";
import { csvAddress, type Session } from "./session";

export function RooflinePage({ session }: { session: Session }) {
	const { value, error, loading } = useJson<Result>(`api/tool/${encodeURIComponent(session.tool.name)}`, {
		run: session.run.run,
		host: session.host,
	});
	return (
		<div class="page">
			<h1 class="visually-hidden">{session.tool.title}</h1>
			{error && <Failure text={error} />}
			{!value && loading && <Waiting what="Reading the profile…" />}
			{value && <Roofline result={value} session={session} />}
		</div>
	);
}

/* GiB/s times FLOP/B is 1.0737 GFLOP/s. */
const GIB = 1.073741824;

const MEMORIES: readonly [id: string, label: string][] = [
	["peak_hbm_bw", "HBM"],
	["peak_cmem_read_bw", "CMEM read"],
	["peak_cmem_write_bw", "CMEM write"],
	["peak_vmem_read_bw", "VMEM read"],
	["peak_vmem_write_bw", "VMEM write"],
];

export function roofsOf(t: TableData): Roof[] {
	const flat = propNumber(t, "peak_flop_rate") ?? 0;
	if (!(flat > 0)) return [];
	return MEMORIES.flatMap(([id, label]) => {
		const bw = propNumber(t, id) ?? 0;
		return bw > 0 ? [{ label, slope: bw * GIB, flat }] : [];
	});
}

interface Point {
	row: number;
	x: number;
	y: number;
	share: number;
	name: string;
	category: string;
	program: boolean;
}

function pointsOf(t: TableData, step: string, category: string): Point[] {
	const steps = strings(t, "step") ?? [];
	const x = numbers(t, "operational_intensity") ?? [];
	const y = numbers(t, "measured_flop_rate") ?? [];
	const share = numbers(t, "total_self_time_percent") ?? [];
	const names = strings(t, "operation") ?? [];
	const kinds = strings(t, "category") ?? [];
	return steps.flatMap((s, row) => {
		const program = kinds[row] === "Program";
		if (s !== step || !(x[row]! > 0) || !(y[row]! > 0) || (category && kinds[row] !== category && !program)) return [];
		return [
			{
				row,
				x: x[row] ?? 0,
				y: y[row] ?? 0,
				share: share[row] ?? 0,
				name: names[row] ?? "",
				category: kinds[row] ?? "",
				program,
			},
		];
	});
}

function Roofline({ result, session }: { result: Result; session: Session }) {
	const t = table(result, "records") ?? tableWith(result, "operational_intensity", "measured_flop_rate");
	const steps = useMemo(() => [...new Set(strings(t, "step") ?? [])], [t]);
	const kinds = useMemo(() => [...new Set(strings(t, "category") ?? [])].filter((k) => k !== "Program"), [t]);
	const askedStep = useQuery("step");
	const step = steps.includes(askedStep) ? askedStep : (steps[0] ?? "");
	const category = useQuery("category");
	const [row, setRow] = useState<number | null>(null);
	const shown = useMemo(() => (t ? pointsOf(t, step, category) : []), [t, step, category]);
	const rows = useMemo(() => (t ? stepRows(t, step, category) : undefined), [t, step, category]);
	if (!t || !t.nrows)
		return (
			<>
				<Notes notes={allNotes(result)} />
				<p class="empty">No operation with known work was traced.</p>
			</>
		);
	const inStep = (strings(t, "step") ?? []).filter((s) => s === step).length;
	return (
		<>
			<Notes notes={allNotes(result)} />
			<Verdict t={t} step={step} />
			<div class="bar">
				<label class="field">
					Step
					<select class="select" value={step} onChange={(e) => adjust({ step: e.currentTarget.value })}>
						{steps.map((s) => (
							<option key={s} value={s}>
								{s}
							</option>
						))}
					</select>
				</label>
				<label class="field">
					Category
					<select
						class="select"
						value={category}
						onChange={(e) => adjust({ category: e.currentTarget.value || undefined })}
					>
						<option value="">all</option>
						{kinds.map((k) => (
							<option key={k} value={k}>
								{k}
							</option>
						))}
					</select>
				</label>
			</div>
			<div class="columns">
				<div class="column-side">
					<Limits t={t} />
					<OpCard t={t} row={row} />
				</div>
				<section class="card column-main" aria-label="Roofline">
					<h2>
						Roofline{" "}
						<span class="aim">
							{count(shown.length)} of {count(inStep)} rows do floating point work and move bytes
						</span>
					</h2>
					<Plot t={t} points={shown} row={row} onRow={setRow} />
				</section>
			</div>
			<section class="card" aria-label="Operations">
				<h2>Operations</h2>
				{rows && <Grid table={rows} maxRows={16} csv={csvAddress(session)} />}
			</section>
		</>
	);
}

function stepRows(t: TableData, step: string, category: string): TableData {
	const steps = strings(t, "step") ?? [];
	const kinds = strings(t, "category") ?? [];
	const rows = steps.flatMap((s, i) => (s === step && (!category || kinds[i] === category) ? [i] : []));
	return { ...t, nrows: rows.length, data: t.data.map((d) => rows.map((i) => d[i] ?? null)) };
}

function programRow(t: TableData, step: string): number {
	const steps = strings(t, "step") ?? [];
	return (strings(t, "category") ?? []).findIndex((c, i) => c === "Program" && steps[i] === step);
}

function Verdict({ t, step }: { t: TableData; step: string }) {
	const row = programRow(t, step);
	if (row < 0) return null;
	const bound = strings(t, "bound_by")?.[row] ?? "";
	const near = numbers(t, "roofline_efficiency")?.[row] ?? 0;
	const rate = numbers(t, "measured_flop_rate")?.[row] ?? 0;
	return (
		<section class="verdict" aria-label="Verdict">
			<div class="verdict-figure">
				<span class="verdict-number">{percent(near * 100)}</span>
				<span class="muted">of what the roofline allows</span>
			</div>
			<p class="verdict-text">
				The program computes at {quantity(rate, "gflop_per_s")} and is bound by{" "}
				<strong>{bound || "nothing that was measured"}</strong>.
			</p>
		</section>
	);
}

const LIMITS = [
	"device_type",
	"peak_flop_rate",
	"peak_hbm_bw",
	"peak_cmem_read_bw",
	"peak_cmem_write_bw",
	"peak_vmem_read_bw",
	"peak_vmem_write_bw",
	"hbm_ridge_point",
	"cmem_read_ridge_point",
	"cmem_write_ridge_point",
	"vmem_read_ridge_point",
	"vmem_write_ridge_point",
];

function labelOf(t: TableData, id: string): string {
	const label = t.props[id]?.label;
	return label && label !== id ? label : id.replace(/_/g, " ").replace(/\b([hcv])(mem|bm)\b/g, (m) => m.toUpperCase());
}

function Limits({ t }: { t: TableData }) {
	const list = LIMITS.filter((id) => propText(t, id) && t.props[id]?.value !== 0);
	return (
		<section class="card" aria-label="Limits of the device">
			<h2>Limits of the device</h2>
			<dl class="metrics">
				{list.map((id) => (
					<div class="metric" key={id}>
						<dt class="upper">{labelOf(t, id)}</dt>
						<dd>
							<span class="metric-value">{propText(t, id)}</span>
						</dd>
					</div>
				))}
			</dl>
		</section>
	);
}

const FIELDS: readonly [string, string][] = [
	["category", "Category"],
	["occurrences", "Runs"],
	["total_self_time", "Self time"],
	["total_self_time_percent", "Share"],
	["measured_flop_rate", "FLOP rate"],
	["operational_intensity", "Intensity"],
	["hbm_bw", "HBM"],
	["bound_by", "Bound by"],
	["roofline_efficiency", "Of the roof"],
];

function OpCard({ t, row }: { t: TableData; row: number | null }) {
	return (
		<section class="card" aria-label="Operation" aria-live="polite">
			<h2 class="wrap">{row === null ? "Operation" : String(column(t, "operation")?.[row] ?? "")}</h2>
			{row === null ? (
				<p class="muted">Point at a circle, or choose one, to see what it is.</p>
			) : (
				<dl class="env">
					{FIELDS.map(([id, label]) => {
						const v = column(t, id)?.[row];
						const unit = t.cols.find((c) => c.id === id)?.unit ?? "";
						const text = typeof v === "number" ? quantity(v, unit) : String(v ?? "");
						return (
							text && (
								<div key={id}>
									<dt>{label}</dt>
									<dd class="wrap">{text}</dd>
								</div>
							)
						);
					})}
				</dl>
			)}
		</section>
	);
}

/* ---- the plot ---- */

const HEIGHT = 380;
const LEFT = 80;
const BOTTOM = 40;

function Plot({
	t,
	points,
	row,
	onRow,
}: {
	t: TableData;
	points: readonly Point[];
	row: number | null;
	onRow: (row: number | null) => void;
}) {
	const [box, size] = useSize<HTMLDivElement>();
	const dark = useTheme().dark;
	const roofs = useMemo(() => roofsOf(t), [t]);
	const x = useMemo(() => logAxis([...points.map((p) => p.x), ...roofs.map((r) => r.flat / r.slope)]), [points, roofs]);
	const y = useMemo(() => logAxis([...points.map((p) => p.y), ...roofs.map((r) => r.flat)]), [points, roofs]);
	const width = size.width;
	const px = (v: number) => LEFT + along(x, v) * (width - LEFT - 22);
	const py = (v: number) => HEIGHT - BOTTOM - along(y, v) * (HEIGHT - BOTTOM - 12);
	/* Great ones first, so that small ones stay reachable. */
	const order = [...points].sort((a, b) => b.share - a.share);
	return (
		<div class="plot" ref={box}>
			{width > 100 && (
				<svg width={width} height={HEIGHT} role="group" aria-label="FLOP rate over operational intensity">
					<Axes x={x} y={y} px={px} py={py} width={width} />
					{roofs.map((r, i) => (
						<RoofShape key={r.label} roof={r} at={i} x={x} y={y} px={px} py={py} />
					))}
					{order.map((p) => (
						<g
							key={p.row}
							class={p.row === row ? "point point-on" : "point"}
							tabIndex={0}
							role="button"
							aria-label={`${p.name}: ${quantity(p.y, "gflop_per_s")}`}
							onPointerEnter={() => onRow(p.row)}
							onFocus={() => onRow(p.row)}
						>
							{p.program ? (
								<path d={diamond(px(p.x), py(p.y), 8)} class="point-program" />
							) : (
								<circle
									cx={px(p.x)}
									cy={py(p.y)}
									r={4 + Math.sqrt(Math.max(0, p.share)) * 16}
									fill={css(nameColor(p.category, dark))}
								/>
							)}
							<title>{p.name}</title>
						</g>
					))}
				</svg>
			)}
		</div>
	);
}

function diamond(x: number, y: number, r: number): string {
	return `M${x} ${y - r}L${x + r} ${y}L${x} ${y + r}L${x - r} ${y}Z`;
}

type Place = (v: number) => number;

function Axes({ x, y, px, py, width }: { x: LogAxis; y: LogAxis; px: Place; py: Place; width: number }) {
	return (
		<g class="axes">
			{decades(x).map((v) => (
				<g key={v}>
					<line x1={px(v)} x2={px(v)} y1={12} y2={HEIGHT - BOTTOM} />
					<text x={px(v)} y={HEIGHT - BOTTOM + 15} text-anchor="middle">
						{v >= 1e5 || v < 1e-3 ? `1e${Math.round(Math.log10(v))}` : significant(v, 1)}
					</text>
				</g>
			))}
			{decades(y).map((v) => (
				<g key={v}>
					<line x1={LEFT} x2={width - 22} y1={py(v)} y2={py(v)} />
					<text x={LEFT - 6} y={py(v) + 4} text-anchor="end">
						{si(v * 1e9, "FLOP/s", 1)}
					</text>
				</g>
			))}
			<text x={(LEFT + width) / 2} y={HEIGHT - 6} text-anchor="middle">
				Operational intensity, FLOP per byte
			</text>
		</g>
	);
}

function RoofShape({
	roof,
	at: n,
	x,
	y,
	px,
	py,
}: {
	roof: Roof;
	at: number;
	x: LogAxis;
	y: LogAxis;
	px: Place;
	py: Place;
}) {
	const line = roofLine(roof, x, y);
	const first = line[0];
	const second = line[1];
	if (!first || !second) return null;
	const d = line.map(([a, b], i) => `${i ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join("");
	/* The name stands along the slope, a little above it; each further along than the one before. */
	const share = 0.3 + 0.2 * (n % 4);
	const at = 10 ** (Math.log10(first[0]) * (1 - share) + Math.log10(second[0]) * share);
	return (
		<g class="roof">
			<path d={d} />
			<text x={px(at)} y={py(Math.min(roof.flat, at * roof.slope)) - 6} text-anchor="end">
				{roof.label}
			</text>
		</g>
	);
}
