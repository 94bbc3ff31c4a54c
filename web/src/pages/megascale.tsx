/*
 * megascale.tsx - transfers between the slices of a multislice job: how long the device waited for each although the network had the
 * time in between, and which bandwidth would have been enough.
 */
import { address } from "../api/fetch";
import { numbers, strings } from "../api/table";
import { ALL_HOSTS, type TableData } from "../api/types";
import { count, time_ps } from "../base/format";
import { toolHref } from "../base/url";
import { Verdict } from "../widgets/conclusion";
import { PartBars, type Part } from "../widgets/bars";
import { Grid } from "../widgets/grid";
import { Notes } from "../widgets/notes";
import { AnswerPage } from "./answer";
import { csvAddress, type Session } from "./session";

const PS_PER_MS = 1e9;
const MOST_BARS = 40;

const PARTS: readonly Part[] = [
	{ id: "slack_time", label: "Slack: hidden behind other work", hue: -1 },
	{ id: "send_stall", label: "send", hue: 62 },
	{ id: "send_done_stall", label: "send-done", hue: 30 },
	{ id: "recv_stall", label: "recv", hue: 250 },
	{ id: "recv_done_stall", label: "recv-done", hue: 305 },
];

export function MegascalePage({ session }: { session: Session }) {
	return (
		<AnswerPage session={session} waiting="Pairing sends and receives…">
			{({ notes, conclusion, tables: [t] }) => (
				<>
					<Notes notes={t?.nrows ? notes : notes.filter((n) => n.severity !== "info")} />
					<Verdict of={conclusion} tools={session.toolNames} />
					{t?.nrows ? <Transfers t={t} session={session} /> : <p class="empty">The profile holds no transfers between slices.</p>}
					<Trace session={session} />
				</>
			)}
		</AnswerPage>
	);
}

/* Rows by what can be won. */
function ranked(t: TableData): number[] {
	const total = numbers(t, "total_stall") ?? [];
	return total.map((_, i) => i).sort((a, b) => (total[b] ?? 0) - (total[a] ?? 0) || a - b);
}

function Transfers({ t, session }: { t: TableData; session: Session }) {
	const rows = ranked(t);
	const columns = PARTS.map((p) => numbers(t, p.id) ?? []);
	const names = strings(t, "rendezvous_name") ?? [];
	const types = strings(t, "transfer_type") ?? [];
	const stall = numbers(t, "stall_duration") ?? [];
	const bars = rows.slice(0, MOST_BARS).map((i) => {
		const values = columns.map((c) => c[i] ?? 0);
		return {
			label: names[i] ?? "",
			doc: `${names[i] ?? ""}: ${types[i] ?? ""}`,
			values,
			texts: values.map((v) => time_ps(v * PS_PER_MS)),
			total: time_ps((stall[i] ?? 0) * PS_PER_MS),
		};
	});
	return (
		<>
			<section class="card" aria-label="Slack and stall">
				<h2>
					Slack and stall of a transfer <span class="aim">means; the number is the stall</span>
				</h2>
				<PartBars parts={PARTS} rows={bars} title="Slack and stall by transfer" />
				{rows.length > MOST_BARS && <p class="muted">The {MOST_BARS} with the most stall; all of them stand below.</p>}
			</section>
			<section class="card" aria-label="Transfers">
				<h2>
					Transfers <span class="aim">{count(t.nrows)}</span>
				</h2>
				<Grid
					table={t}
					sort={{ col: "total_stall", down: true }}
					maxRows={20}
					csv={csvAddress(session)}
					link={(col, row) => linkOf(col, row, t, session)}
				/>
			</section>
		</>
	);
}

function linkOf(col: string, row: number, t: TableData, session: Session): string | undefined {
	if (col !== "recv_op_name" && col !== "send_op_name") return undefined;
	const name = strings(t, col)?.[row];
	if (!name) return undefined;
	if (session.toolNames.includes("graph_viewer")) return toolHref("graph_viewer", { node_name: name });
	return session.toolNames.includes("hlo_stats") ? toolHref("hlo_stats", { filter: `hlo_op_name:${name}` }) : undefined;
}

/* A file for another program: nothing is opened elsewhere. */
function Trace({ session }: { session: Session }) {
	const hosts = session.tool.hosts.filter((h) => h !== ALL_HOSTS);
	return (
		<section class="card" aria-label="Trace for Perfetto">
			<h2>Trace for Perfetto</h2>
			<p class="says">
				Every transfer with its network activity, steps and arrows from send to receive, as a file that Perfetto opens (trace of one
				host).
			</p>
			<div class="bar">
				{hosts.slice(0, 64).map((h) => (
					<a
						key={h}
						class="button"
						download={`${h}.megascale.perfetto-trace.gz`}
						href={address("data/plugin/profile/data", { tag: session.tool.name, run: session.run.run, host: h, perfetto: "true" })}
					>
						{h}
					</a>
				))}
			</div>
		</section>
	);
}
