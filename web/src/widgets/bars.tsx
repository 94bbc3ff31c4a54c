/*
 * bars.tsx - quantities side by side: a bar of parts for each row, all on one scale; and shares of what was possible, a column for each
 * unit that has them.
 */
import { css, oklchToRgb, pixel } from "../base/color";
import { classes } from "../base/dom";
import { percent } from "../base/format";
import { useTheme } from "../base/theme";

export interface Part {
	id: string;
	label: string;
	hue: number; /* degrees; -1: grey */
}

export interface PartRow {
	label: string;
	doc?: string;
	values: readonly number[]; /* of each part */
	texts: readonly string[]; /* the same as words */
	total: string;
	strong?: boolean;
}

export function partColor(hue: number, dark: boolean): string {
	return css(pixel(...oklchToRgb(dark ? 0.58 : 0.7, hue < 0 ? 0.01 : 0.12, Math.max(0, hue))));
}

export function PartBars({ parts, rows, title }: { parts: readonly Part[]; rows: readonly PartRow[]; title: string }) {
	const dark = useTheme().dark;
	const sum = (r: PartRow) => r.values.reduce((a, v) => a + (v > 0 ? v : 0), 0);
	const most = rows.reduce((m, r) => Math.max(m, sum(r)), 0);
	const used = parts.map((_, k) => rows.some((r) => (r.values[k] ?? 0) > 0));
	return (
		<div class="parts">
			<ul class="parts-keys" aria-label="Parts">
				{parts.map(
					(p, k) =>
						used[k] && (
							<li key={p.id}>
								<span class="chart-dot" style={{ background: partColor(p.hue, dark) }} />
								{p.label}
							</li>
						),
				)}
			</ul>
			<ul class="parts-rows" aria-label={title} tabIndex={0}>
				{rows.map((r, i) => (
					<li key={i} class={classes("parts-row", r.strong && "parts-strong")}>
						<span class="parts-label" title={r.doc ?? r.label}>
							{r.label}
						</span>
						<span class="parts-track">
							{parts.map(
								(p, k) =>
									(r.values[k] ?? 0) > 0 && (
										<span
											key={p.id}
											class="parts-part"
											title={`${p.label}: ${r.texts[k] ?? ""}`}
											style={{ width: `${(100 * (r.values[k] ?? 0)) / (most || 1)}%`, background: partColor(p.hue, dark) }}
										/>
									),
							)}
						</span>
						<span class="parts-total">{r.total}</span>
					</li>
				))}
			</ul>
		</div>
	);
}

export interface Utilization {
	share: number; /* of what was possible, in percent; above 100 the counters cannot be right */
	text: string; /* what was done of what was possible */
}

export interface UseRow {
	label: string;
	cells: readonly (Utilization | undefined)[];
}

/* Above 100 % is said, not cut: counters of one sample are read one after the other. */
export function UseTable({ title, columns, rows }: { title: string; columns: readonly string[]; rows: readonly UseRow[] }) {
	return (
		<section class="card uses" aria-label={title}>
			<div class="scroll" tabIndex={0} role="region" aria-label={`${title}, table`}>
				<table class="uses-table">
					<thead>
						<tr>
							<th scope="col">{title}</th>
							{columns.map((c) => (
								<th key={c} scope="col">
									{c}
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{rows.map((r) => (
							<tr key={r.label}>
								<th scope="row">{r.label}</th>
								{columns.map((c, k) => {
									const u = r.cells[k];
									return (
										<td key={c} title={u?.text}>
											{u && (
												<span class={classes("use", u.share > 100.05 && "use-over")}>
													<span class="use-track">
														<span class="use-fill" style={{ width: `${Math.min(100, Math.max(0, u.share))}%` }} />
													</span>
													<span class="use-text">{percent(u.share)}</span>
												</span>
											)}
										</td>
									);
								})}
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</section>
	);
}
