/*
 * counters.tsx - hardware counters as they were read: by unit and set, samples side by side.
 */
import { useMemo } from "preact/hooks";
import { column, strings } from "../api/table";
import type { Cell, TableData } from "../api/types";
import { classes } from "../base/dom";
import { count } from "../base/format";
import { adjust, useQuery } from "../base/url";
import { Verdict } from "../widgets/conclusion";
import { Grid } from "../widgets/grid";
import { wordsOf } from "../widgets/grid_model";
import { Notes } from "../widgets/notes";
import { AnswerPage } from "./answer";
import { csvAddress, type Session } from "./session";

const MOST_SIDE_BY_SIDE = 6;

export function CountersPage({ session }: { session: Session }) {
	return (
		<AnswerPage session={session} waiting="Reading the counters…" fill>
			{({ notes, conclusion, tables: [t] }) => (
				<>
					<Notes notes={notes} />
					<Verdict of={conclusion} tools={session.toolNames} />
					{t?.nrows ? <Counters t={t} session={session} /> : <p class="empty">No counter was read in this profile.</p>}
				</>
			)}
		</AnswerPage>
	);
}

interface Sample {
	name: string;
	rows: number[];
}

function samplesOf(t: TableData): Sample[] {
	const out = new Map<string, Sample>();
	const [host, chip, kernel, sample] = ["Host", "Chip", "Kernel", "Sample"].map((id) => strings(t, id) ?? []);
	for (let i = 0; i < t.nrows; i++) {
		const name = `${host?.[i]} chip ${chip?.[i]} ${kernel?.[i]} ${sample?.[i]}`;
		const s = out.get(name) ?? { name, rows: [] };
		out.set(name, s);
		s.rows.push(i);
	}
	return [...out.values()];
}

/* "hbm0.0.5_rd_req" counts at the unit "hbm0", whose kind is "hbm". */
export function unitOf(counter: string): string {
	return /^[a-z]+\d*/i.exec(counter)?.[0] ?? counter;
}

/* One row a counter, one column a sample: what differs is seen at once. */
function sideBySide(t: TableData, samples: readonly Sample[]): TableData {
	const value = column(t, "Value") ?? [];
	const name = strings(t, "Counter") ?? [];
	const rows = new Map<string, { at: number; values: Cell[] }>();
	samples.forEach((s, k) => {
		for (const i of s.rows) {
			const key = name[i] ?? "";
			const r = rows.get(key) ?? { at: i, values: samples.map(() => null) };
			rows.set(key, r);
			r.values[k] = value[i] ?? null;
		}
	});
	const list = [...rows];
	const text = (id: string) => list.map(([, r]) => column(t, id)?.[r.at] ?? null);
	const str = (id: string, label: string) => ({ id, label, type: "str" as const, unit: "" as const });
	return {
		...t,
		cols: [
			str("unit", "Unit"),
			str("Counter", "Counter"),
			...samples.map((s, k) => ({
				id: `value_${k}`,
				label: samples.length > 1 ? s.name : "Value",
				type: "i64" as const,
				unit: "count" as const,
			})),
			...samples.slice(0, 1).map(() => ({ id: "hex", label: "Value (hex)", type: "i64" as const, unit: "hex" as const })),
			str("Description", "Description"),
			str("Set", "Set"),
		],
		nrows: list.length,
		data: [
			list.map(([n]) => unitOf(n)),
			list.map(([n]) => n),
			...samples.map((_, k) => list.map(([, r]) => r.values[k] ?? null)),
			...samples.slice(0, 1).map(() => list.map(([, r]) => r.values[0] ?? null)),
			text("Description"),
			text("Set"),
		],
	};
}

function Counters({ t, session }: { t: TableData; session: Session }) {
	const filter = useQuery("filter");
	const asked = useQuery("sample");
	const samples = useMemo(() => samplesOf(t), [t]);
	const one = samples.find((s) => s.name === asked);
	const shown = useMemo(() => sideBySide(t, one ? [one] : samples.slice(0, MOST_SIDE_BY_SIDE)), [t, one]);
	return (
		<>
			<section class="card card-row" aria-label="Units and sets">
				<Pills title="Units" by="unit" names={strings(shown, "unit") ?? []} filter={filter} />
				<Pills title="Sets" by="set" names={(strings(shown, "Set") ?? []).flatMap((s) => s.split(" ").filter(Boolean))} filter={filter} />
			</section>
			<section class="card" aria-label="Counters">
				{samples.length > 1 && (
					<div class="bar">
						<label class="field">
							Samples
							<select class="select" value={one?.name ?? ""} onChange={(e) => adjust({ sample: e.currentTarget.value })}>
								<option value="">
									{samples.length > MOST_SIDE_BY_SIDE ? `the first ${MOST_SIDE_BY_SIDE} of ${samples.length}, side by side` : "all, side by side"}
								</option>
								{samples.map((s) => (
									<option key={s.name}>{s.name}</option>
								))}
							</select>
						</label>
					</div>
				)}
				<Grid table={shown} filter={filter} onFilter={(f) => adjust({ filter: f })} csv={csvAddress(session)} maxRows={30} />
			</section>
		</>
	);
}

/* What there is, with how many; a click filters the table by it. */
function Pills({ title, by, names, filter }: { title: string; by: string; names: readonly string[]; filter: string }) {
	const counts = new Map<string, number>();
	for (const n of names) counts.set(n, (counts.get(n) ?? 0) + 1);
	const own = wordsOf(filter).find((w) => w.startsWith(`${by}:`));
	const rest = wordsOf(filter).filter((w) => w !== own);
	if (counts.size < 2) return null;
	return (
		<div class="pills" role="group" aria-label={title}>
			<h2>{title}</h2>
			{[...counts].slice(0, 80).map(([n, k]) => {
				const word = `${by}:${n.toLowerCase()}`;
				return (
					<button
						key={n}
						class={classes("pill", own === word && "pill-on")}
						aria-pressed={own === word}
						onClick={() => adjust({ filter: [...rest, ...(own === word ? [] : [word])].join(" ") })}
					>
						{n} <span class="muted">{count(k)}</span>
					</button>
				);
			})}
		</div>
	);
}
