/*
 * inference.tsx - how long requests to a served model took, by percentile, and on what; how well batches were filled. One model at a time.
 */
import { numbers, propNumber, propText, strings, table } from "../api/table";
import type { Column, Result, TableData } from "../api/types";
import { count, percent, quantity, significant, time_ps } from "../base/format";
import { adjust, useQuery } from "../base/url";
import { Figure, Verdict } from "../widgets/conclusion";
import { PartBars, type Part, type PartRow } from "../widgets/bars";
import { Grid } from "../widgets/grid";
import { Notes } from "../widgets/notes";
import { AnswerPage } from "./answer";
import { csvAddress, type Session } from "./session";

const PS_PER_MS = 1e9;

/* In the order of a request's life. */
const PARTS: readonly Part[] = [
	{ id: "host_preprocessing", label: "Host preprocess", hue: 250 },
	{ id: "host_batch_formation", label: "Batch formation", hue: 305 },
	{ id: "host_runtime", label: "Host runtime", hue: 200 },
	{ id: "data_transfer_h2d", label: "To the device", hue: 62 },
	{ id: "device_compute", label: "Device compute", hue: 145 },
	{ id: "data_transfer_d2h", label: "From the device", hue: 90 },
	{ id: "host_postprocess", label: "Host postprocess", hue: 340 },
	{ id: "idle time", label: "Idle", hue: -1 },
];

export function InferencePage({ session }: { session: Session }) {
	const request = useQuery("request_column");
	const batch = useQuery("batch_column");
	return (
		<AnswerPage session={session} params={{ request_column: request, batch_column: batch }} waiting="Following the requests…">
			{(result) => <Inference result={result} session={session} />}
		</AnswerPage>
	);
}

function Inference({ result, session }: { result: Result; session: Session }) {
	const models = strings(table(result, "models"), "model_name") ?? [];
	const asked = useQuery("model");
	const at = Math.max(0, models.indexOf(asked));
	const requests = table(result, `requests_${at}`);
	const batches = table(result, `batches_${at}`);
	/* The last row is the mean over all; without requests it is alone, and zero. */
	const any = (requests?.nrows ?? 0) > 1;
	if (!any)
		return (
			<>
				<Notes notes={result.notes} />
				<p class="empty">No request to a served model was traced.</p>
			</>
		);
	return (
		<>
			<Notes notes={result.notes} />
			{models.length > 1 && (
				<div class="bar">
					<label class="field">
						Model
						<select class="select" value={models[at]} onChange={(e) => adjust({ model: e.currentTarget.value })}>
							{models.map((m) => (
								<option key={m}>{m}</option>
							))}
						</select>
					</label>
				</div>
			)}
			<Verdict of={at === 0 ? result.conclusion : null} tools={session.toolNames}>
				<Figure id="averageLatencyMs" value={propText(requests, "averageLatencyMs")}>
					average latency{models[at] && models[at] !== "ALL" ? ` of ${models[at]}` : ""}
				</Figure>
				<Figure id="throughput" value={significant(propNumber(requests, "throughput") ?? 0, 4)}>
					requests a second
				</Figure>
			</Verdict>
			<Ranked title="Requests" param="request_column" t={requests} latency="latency_ms" session={session} />
			{batches && <Ranked title="Batches" param="batch_column" t={batches} latency="latency" session={session} />}
			<Copied t={table(result, `patterns_${at}`)} />
		</>
	);
}

/* Which tensors were copied, the pattern that took longest first. */
function Copied({ t }: { t: TableData | undefined }) {
	if (!t?.nrows) return null;
	const patterns = strings(t, "tensor_pattern") ?? [];
	const counts = numbers(t, "count") ?? [];
	const times = strings(t, "percentile") ?? [];
	return (
		<section class="card" aria-label="Tensors copied">
			<h2>Tensors copied</h2>
			<dl class="env">
				{patterns.map((p, i) => (
					<div key={p}>
						<dt class="wrap">{p.split("<br>").join("; ")}</dt>
						<dd>
							{count(counts[i] ?? 0)} times <span class="muted">{(times[i] ?? "").split("<br>").join(", ")}</span>
						</dd>
					</div>
				))}
			</dl>
		</section>
	);
}

interface RankedProps {
	title: string;
	param: string;
	t: TableData | undefined;
	latency: string;
	session: Session;
}

function Ranked({ title, param, t, latency, session }: RankedProps) {
	const asked = useQuery(param);
	if (!t) return null;
	const columns = t.cols.filter((c) => c.type === "f64");
	const shown = without(t, "trace_viewer_url");
	const facts = Object.keys(t.props ?? {}).filter((id) => !/^(has|throughput$|averageLatency)/.test(id) && propText(t, id));
	return (
		<section class="card" aria-label={title}>
			<div class="bar bar-tools">
				<h2>{title}</h2>
				<label class="field" title="The percentiles are those of this column">
					Percentiles of
					<select
						class="select"
						value={asked || (columns.find((c) => c.id === latency)?.label ?? "")}
						onChange={(e) => adjust({ [param]: e.currentTarget.value })}
					>
						{columns.map((c) => (
							<option key={c.id}>{c.label}</option>
						))}
					</select>
				</label>
				{facts.map((id) => (
					<span key={id} class="muted">
						{t.props[id]?.label}: {propText(t, id)}
					</span>
				))}
			</div>
			<Breakdown t={t} latency={latency} title={title} />
			<Grid table={shown} maxRows={12} csv={csvAddress(session, t.name)} />
		</section>
	);
}

function without(t: TableData, id: string): TableData {
	const keep = t.cols.flatMap((c, k) => (c.id === id ? [] : [k]));
	return { ...t, cols: keep.map((k) => t.cols[k] as Column), data: keep.map((k) => t.data[k] ?? []) };
}

/* A bar for each row: of requests the kinds of work, of batches the compute and the rest. */
function Breakdown({ t, latency, title }: { t: TableData; latency: string; title: string }) {
	const batches = latency === "latency";
	const parts = batches ? [PARTS[4] as Part, { id: "rest", label: "Other", hue: -1 }] : PARTS;
	const total = numbers(t, latency) ?? [];
	const columns = parts.map((p) => numbers(t, p.id) ?? []);
	const efficiency = numbers(t, "batching_efficiency");
	/* What stands in no column of its own is the difference to the latency. */
	const value = (p: Part, k: number, row: number) =>
		p.id === "rest" ? Math.max(0, (total[row] ?? 0) - (columns[0]?.[row] ?? 0)) : (columns[k]?.[row] ?? 0);
	const rows: PartRow[] = (strings(t, "percentile") ?? []).map((p, row) => {
		const values = parts.map((x, k) => value(x, k, row));
		return {
			label: /^[\d.]+$/.test(p) ? `${significant(Number(p), 4)} %` : p,
			values,
			texts: values.map((v) => time_ps(v * PS_PER_MS)),
			total: time_ps((total[row] ?? 0) * PS_PER_MS),
			strong: !/^[\d.]/.test(p),
			doc: efficiency ? `${p}: ${percent((efficiency[row] ?? 0) * 100)} of the batch was filled` : p,
		};
	});
	if (!rows.some((r) => r.values.some((v) => v > 0)))
		return <p class="muted">The profile does not say what the {title.toLowerCase()} spent their {quantity(total[0] ?? 0, "ms")} on.</p>;
	return <PartBars parts={parts} rows={rows} title={`${title} by percentile`} />;
}
