/*
 * end_to_end.tsx - where the wall time of a whole program went: the stacked bar of its categories, and when each phase was.
 */
import { numbers, propNumber, propText, strings, table } from "../api/table";
import type { Result, TableData } from "../api/types";
import { time_ps } from "../base/format";
import { useTheme } from "../base/theme";
import { Figure, Verdict } from "../widgets/conclusion";
import { PartBars, partColor, type Part, type PartRow } from "../widgets/bars";
import { Grid } from "../widgets/grid";
import { Notes } from "../widgets/notes";
import { AnswerPage } from "./answer";
import { csvAddress, type Session } from "./session";

const PS = 1e9; /* in a millisecond */

export function EndToEndPage({ session }: { session: Session }) {
	return (
		<AnswerPage session={session} waiting="Reading the log…">
			{(result) => <Breakdown result={result} session={session} />}
		</AnswerPage>
	);
}

/* What trains, evaluates and predicts stands out; the start of the system is warm, gaps are grey. */
const HUES: Readonly<Record<string, number>> = {
	"init-system": 62,
	"model-fn": 95,
	"setup-infeed": 27,
	training: 152,
	eval: 250,
	predict: 305,
};

function ms(v: number): string {
	return time_ps(v * PS, 4);
}

function Breakdown({ result, session }: { result: Result; session: Session }) {
	const t = table(result, "breakdown");
	const phases = table(result, "phases");
	const files = strings(t, "file") ?? [];
	const names = strings(t, "category") ?? [];
	const values = numbers(t, "duration_ms") ?? [];
	const categories = [...new Set(names)];
	const parts: Part[] = categories.map((c) => ({ id: c, label: c, hue: HUES[c] ?? -1 }));
	const of = (file: string, category: string) => values[files.findIndex((f, i) => f === file && names[i] === category)] ?? 0;
	const each = [...new Set(files)];
	const rows: PartRow[] = each.map((file) => ({
		label: each.length > 1 ? file : "Program",
		doc: file,
		values: categories.map((c) => of(file, c)),
		texts: categories.map((c) => ms(of(file, c))),
		total: "",
	}));
	return (
		<>
			<Notes notes={result.notes} />
			<Verdict of={result.conclusion} tools={session.toolNames}>
				{propNumber(t, "training_ms") !== undefined && (
					<Figure id="training_ms" value={propText(t, "training_ms")}>
						training
					</Figure>
				)}
			</Verdict>
			<section class="card" aria-label="Runtime breakdown">
				<h2>Runtime breakdown</h2>
				<PartBars parts={parts} rows={rows} title="Runtime breakdown" />
				<p class="muted">
					Training is the whole session and includes the phases before it. Point at a part to see its duration.
				</p>
			</section>
			{phases && phases.nrows > 0 && each.map((file) => <Sessions key={file} t={phases} file={file} several={each.length > 1} />)}
			{t && (
				<section class="card" aria-label="Categories">
					<h2>Categories</h2>
					<Grid table={t} maxRows={12} csv={csvAddress(session)} />
				</section>
			)}
		</>
	);
}

/* When each session and phase was, on one scale. */
function Sessions({ t, file, several }: { t: TableData; file: string; several: boolean }) {
	const dark = useTheme().dark;
	const rows = (strings(t, "file") ?? []).flatMap((f, i) => (f === file ? [i] : []));
	const begin = numbers(t, "begin_ms") ?? [];
	const length = numbers(t, "duration_ms") ?? [];
	const session = strings(t, "session") ?? [];
	const phase = strings(t, "phase") ?? [];
	const end = rows.reduce((m, i) => Math.max(m, (begin[i] ?? 0) + (length[i] ?? 0) || 0), 0);
	const hue = (i: number) =>
		HUES[phase[i] === "whole session" ? (session[i] === "train" ? "training" : (session[i] ?? "")) : (phase[i] ?? "").replace("_", "-")] ?? -1;
	return (
		<section class="card" aria-label="Sessions and phases">
			<h2>Sessions and phases{several && ` of ${file}`}</h2>
			<ul class="e2e-rows">
				{rows.map((i) => (
					<li key={i} class="e2e-row">
						<span class={phase[i] === "whole session" ? "e2e-session" : "e2e-phase"}>
							{phase[i] === "whole session" ? session[i] : phase[i]}
						</span>
						<span class="e2e-track">
							{Number.isFinite(begin[i]) && Number.isFinite(length[i]) && (
								<span
									class="e2e-bar"
									title={`${session[i]} ${phase[i]}: from ${ms(begin[i] ?? 0)}, ${ms(length[i] ?? 0)}`}
									style={{
										left: `${(100 * (begin[i] ?? 0)) / (end || 1)}%`,
										width: `${(100 * (length[i] ?? 0)) / (end || 1)}%`,
										background: partColor(hue(i), dark),
									}}
								/>
							)}
						</span>
						<span class="e2e-length">{Number.isFinite(length[i]) ? ms(length[i] ?? 0) : "–"}</span>
					</li>
				))}
			</ul>
		</section>
	);
}
