/*
 * flame.tsx - a table that is a tree as a flame graph that hangs down (an icicle graph): roots above, what is inside of a row below it; or
 * the other way round. What is longest stands left. A click on a box makes it as wide as all, a click on one above goes back.
 */
import { useMemo, useState } from "preact/hooks";
import { numbers, strings } from "../api/table";
import type { TableData } from "../api/types";
import { css, nameColor } from "../base/color";
import { classes } from "../base/dom";
import { count, percent, quantity } from "../base/format";
import { useTheme } from "../base/theme";
import { boxes, frameName, measures } from "./flame_boxes";

const LEAST = 0.001; /* of the width: narrower boxes cannot be seen */
const LEVEL_PX = 22;

export function Flame({ table }: { table: TableData }) {
	const choices = useMemo(() => measures(table).filter((c) => (numbers(table, c.id) ?? []).some((v) => v > 0)), [table]);
	const [asked, ask] = useState("");
	const [focus, look] = useState(-1);
	const [up, turn] = useState(false);
	const dark = useTheme().dark;
	const by = choices.find((c) => c.id === asked) ?? choices[0];
	const shown = useMemo(() => by && boxes(table, by.id, focus < table.nrows ? focus : -1, LEAST), [table, by, focus]);
	const names = strings(table, table.cols.find((c) => c.type === "str")?.id ?? "") ?? [];
	const parents = numbers(table, "parent") ?? [];
	if (!by || !shown?.list.length) return null;
	const above = (row: number) => focus >= 0 && row !== focus && shown.list.findIndex((b) => b.row === row) < shown.list.findIndex((b) => b.row === focus);
	return (
		<div class="flame">
			<div class="bar">
				{choices.length > 1 && (
					<label class="field">
						<span>Width</span>
						<select class="select" value={by.id} onChange={(e) => ask(e.currentTarget.value)}>
							{choices.map((c) => (
								<option key={c.id} value={c.id}>
									{c.label}
								</option>
							))}
						</select>
					</label>
				)}
				<button
					class="button button-small"
					aria-pressed={up}
					title={up ? "Roots below (a flame graph); press for roots above (an icicle graph)" : "Roots above (an icicle graph); press for roots below (a flame graph)"}
					onClick={() => turn(!up)}
				>
					Roots below
				</button>
				<button class="button button-small" disabled={focus < 0} onClick={() => look(-1)}>
					Show all
				</button>
				<span class="muted">
					{quantity(shown.total, by.unit)}
					{shown.hidden > 0 && `, ${count(shown.hidden)} too narrow to be drawn`}
				</span>
			</div>
			<div class="flame-boxes" role="group" aria-label={`${table.title || table.name} by ${by.label}`} style={{ height: `${shown.depth * LEVEL_PX}px` }}>
				{shown.list.map((b) => {
					const name = frameName(names, parents, b.row);
					const share = shown.total > 0 ? b.value / shown.total : 0;
					const text = `${names[b.row] ?? name}: ${quantity(b.value, by.unit)}${share <= 1 ? ` (${percent(share * 100)})` : ""}, ${quantity(b.own, by.unit)} of it its own`;
					return (
						<button
							key={b.row}
							class={classes("flame-box", above(b.row) && "flame-above")}
							title={text}
							aria-label={text}
							onClick={() => look(b.row === focus ? (parents[b.row] ?? -1) : b.row)}
							style={{
								left: `${b.left * 100}%`,
								width: `${b.width * 100}%`,
								top: `${(up ? shown.depth - 1 - b.depth : b.depth) * LEVEL_PX}px`,
								background: css(nameColor(name, dark)),
							}}
						>
							{b.width > 0.02 ? name : ""}
						</button>
					);
				})}
			</div>
		</div>
	);
}
