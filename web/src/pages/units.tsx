/*
 * units.tsx - how busy each unit of a TPU was, from hardware counters: by chip (utilization_viewer) and by kernel (kernel_utilization).
 */
import { useMemo } from "preact/hooks";
import { numbers, strings, table } from "../api/table";
import type { Result, TableData } from "../api/types";
import { bytes, percent, si, time_ps } from "../base/format";
import { adjust, useQuery } from "../base/url";
import { Verdict } from "../widgets/conclusion";
import { PartBars, UseTable, type Part, type UseRow, type Utilization } from "../widgets/bars";
import { Grid } from "../widgets/grid";
import { Notes } from "../widgets/notes";
import { AnswerPage } from "./answer";
import { csvAddress, type Session } from "./session";

/* Units that belong together, as their names tell; the first that fits. */
const FAMILIES: readonly [string, RegExp][] = [
	["Memory and interconnect", /HBM|ICI/],
	["Matrix units", /MXU/],
	["Cross-lane units", /XLU/],
	["SparseCore", /^(TEC|SCS?\b)/],
	["Clock", /Clocks? Skipped/],
	["Scalar and vector units", /./],
];
const ORDER = ["Matrix units", "Memory and interconnect", "Scalar and vector units", "Cross-lane units", "Clock", "SparseCore"];

function familyOf(name: string): string {
	return FAMILIES.find(([, re]) => re.test(name))?.[0] ?? "";
}

/* Of a share of a sum both are bytes, but the server does not say so. */
function amount(v = 0, unit = ""): string {
	return unit === "bytes" ? bytes(v) : unit === "percent" ? si(v, "") : `${si(v, "")} ${unit}`;
}

/* ---- by chip ---- */

export function UtilizationPage({ session }: { session: Session }) {
	return (
		<AnswerPage session={session} waiting="Reading the counters…">
			{({ notes, conclusion, tables: [t] }) => (
				<>
					<Notes notes={notes} />
					<Verdict of={conclusion} tools={session.toolNames} />
					{t?.nrows ? <Chips t={t} session={session} /> : <p class="empty">No counter of a known chip was read.</p>}
				</>
			)}
		</AnswerPage>
	);
}

function sampleName(t: TableData, row: number): string {
	const at = (id: string) => numbers(t, id)?.[row] ?? 0;
	return `host ${at("host")}, device ${at("device")}, sample ${at("sample")}`;
}

function Chips({ t, session }: { t: TableData; session: Session }) {
	const asked = useQuery("sample");
	const groups = useMemo(() => {
		const out = new Map<string, number[]>();
		for (let i = 0; i < t.nrows; i++) {
			const name = sampleName(t, i);
			const list = out.get(name);
			if (list) list.push(i);
			else out.set(name, [i]);
		}
		return out;
	}, [t]);
	const names = [...groups.keys()];
	const chosen = groups.has(asked) ? asked : (names[0] ?? "");
	const rows = groups.get(chosen) ?? [];
	return (
		<>
			{names.length > 1 && (
				<div class="bar">
					<label class="field">
						Chip and sample
						<select class="select" value={chosen} onChange={(e) => adjust({ sample: e.currentTarget.value })}>
							{names.map((n) => (
								<option key={n}>{n}</option>
							))}
						</select>
					</label>
				</div>
			)}
			<div class="uses-grid">
				{byFamily(t, rows).map((f) => (
					<UseTable key={f.title} {...f} />
				))}
			</div>
			<section class="card" aria-label="All figures">
				<h2>All figures</h2>
				<Grid table={t} maxRows={12} csv={csvAddress(session)} />
			</section>
		</>
	);
}

/* A column for each core; a unit that stands twice with one core is shared, and its second line is the next core's. */
function byFamily(t: TableData, rows: readonly number[]): { title: string; columns: string[]; rows: UseRow[] }[] {
	const name = strings(t, "name") ?? [];
	const node = numbers(t, "node") ?? [];
	const frac = numbers(t, "utilization_frac") ?? [];
	const done = numbers(t, "achieved") ?? [];
	const peak = numbers(t, "peak") ?? [];
	const unit = strings(t, "unit") ?? [];
	const families = new Map<string, { width: number; rows: Map<string, (Utilization | undefined)[]> }>();
	for (const i of rows) {
		const title = familyOf(name[i] ?? "");
		const family = families.get(title) ?? { width: 0, rows: new Map() };
		families.set(title, family);
		const cells = family.rows.get(name[i] ?? "") ?? [];
		family.rows.set(name[i] ?? "", cells);
		let at = Math.min(63, Math.max(0, node[i] ?? 0));
		while (cells[at]) at++;
		family.width = Math.max(family.width, at + 1);
		cells[at] = { share: (frac[i] ?? 0) * 100, text: `${amount(done[i], unit[i])} of ${amount(peak[i], unit[i])}` };
	}
	return ORDER.flatMap((title) => {
		const f = families.get(title);
		if (!f) return [];
		return {
			title,
			columns: Array.from({ length: f.width }, (_, k) => `core ${k}`),
			rows: [...f.rows].map(([label, cells]) => ({ label, cells })),
		};
	});
}

/* ---- by kernel ---- */

const TYPES: readonly Part[] = [
	{ id: "BF16", label: "bfloat16", hue: 250 },
	{ id: "FP8", label: "8-bit float", hue: 145 },
	{ id: "Int8", label: "int8", hue: 62 },
	{ id: "Int4", label: "int4", hue: 305 },
];
const MOST_KERNELS = 4;

export function KernelUtilizationPage({ session }: { session: Session }) {
	return (
		<AnswerPage session={session} waiting="Reading the counters…">
			{(result) => (
				<>
					<Notes notes={result.notes} />
					<Verdict of={result.conclusion} tools={session.toolNames} />
					{table(result, "kernels")?.nrows ? (
						<Kernels result={result} session={session} />
					) : (
						<p class="empty">No counter of a known chip was read while a kernel ran.</p>
					)}
				</>
			)}
		</AnswerPage>
	);
}

function Kernels({ result, session }: { result: Result; session: Session }) {
	const devices = table(result, "devices");
	const kernels = table(result, "kernels") as TableData;
	const metrics = table(result, "metrics");
	const asked = useQuery("device");
	const ids = numbers(devices, "device_id") ?? [];
	const types = strings(devices, "device_type") ?? [];
	const of = numbers(kernels, "device") ?? [];
	const device = Math.max(0, ids.findIndex((id) => String(id) === asked), asked ? 0 : (of[0] ?? 0));
	const mine = of.flatMap((d, i) => (d === device ? [i] : []));
	const label = (i: number) => strings(kernels, "line")?.[i] || strings(kernels, "kernel_name")?.[i] || "";
	const duration = numbers(kernels, "duration_us") ?? [];
	return (
		<>
			{ids.length > 1 && (
				<div class="bar">
					<label class="field">
						Device
						<select class="select" value={String(ids[device])} onChange={(e) => adjust({ device: e.currentTarget.value })}>
							{ids.map((id, i) => (
								<option key={id} value={String(id)}>{`${id}: ${types[i] ?? ""}`}</option>
							))}
						</select>
					</label>
				</div>
			)}
			<section class="card" aria-label="Types of numbers in the matrix units">
				<h2>
					Types of numbers in the matrix units <span class="aim">share of the cycles; the number is the kernel's duration</span>
				</h2>
				<PartBars
					parts={TYPES}
					title="Types of numbers by kernel"
					rows={mine.map((i) => {
						const values = TYPES.map((p) => numbers(kernels, p.id)?.[i] ?? 0);
						return { label: label(i), values, texts: values.map((v) => percent(v)), total: time_ps((duration[i] ?? 0) * 1e6) };
					})}
				/>
			</section>
			<div class="uses-grid">
				{metrics && kernelFamilies(metrics, mine.slice(0, MOST_KERNELS), label).map((f) => <UseTable key={f.title} {...f} />)}
			</div>
			{mine.length > MOST_KERNELS && <p class="muted">The first {MOST_KERNELS} kernels; all of them stand in the table.</p>}
			<section class="card" aria-label="Kernels">
				<h2>Kernels</h2>
				<Grid table={kernels} maxRows={12} csv={csvAddress(session, kernels.name)} />
			</section>
		</>
	);
}

function kernelFamilies(metrics: TableData, kernels: readonly number[], label: (i: number) => string) {
	const name = strings(metrics, "name") ?? [];
	const of = numbers(metrics, "kernel") ?? [];
	const value = numbers(metrics, "percent") ?? [];
	const families = new Map<string, Map<string, (Utilization | undefined)[]>>();
	for (let i = 0; i < metrics.nrows; i++) {
		const k = kernels.indexOf(of[i] ?? -1);
		if (k < 0) continue;
		const title = familyOf(name[i] ?? "");
		const rows = families.get(title) ?? new Map<string, (Utilization | undefined)[]>();
		families.set(title, rows);
		const cells = rows.get(name[i] ?? "") ?? [];
		rows.set(name[i] ?? "", cells);
		cells[k] = { share: value[i] ?? 0, text: `${name[i]} of ${label(kernels[k] ?? 0)}` };
	}
	return ORDER.flatMap((title) => {
		const rows = families.get(title);
		if (!rows) return [];
		return { title, columns: kernels.map((k) => label(k)), rows: [...rows].map(([l, cells]) => ({ label: l, cells })) };
	});
}
