/*
 * shares.tsx - how a total is divided, as the server says: one bar, and its greatest parts by name. A click on a part filters the table
 * below by it.
 */
import type { Division } from "../api/types";
import { css, distinctColors } from "../base/color";
import { classes } from "../base/dom";
import { count, percent, quantity, type Unit } from "../base/format";
import { useTheme } from "../base/theme";

function othersText(n: number): string {
	return n === 1 ? "1 other" : `${count(n)} others`;
}

export interface SharesProps {
	division: Division;
	unit: Unit;
	title: string;
	chosen: string; /* in lower case, as filters are */
	onChoose: (name: string) => void;
}

export function Shares({ division, unit, title, chosen, onChoose }: SharesProps) {
	const dark = useTheme().dark;
	if (!(division.total > 0)) return null;
	const colors = distinctColors(division.top.map((x) => x.name), dark).map(css);
	const name = (n: string) => n || "(none)";
	const on = (n: string) => chosen !== "" && chosen === n.toLowerCase();
	return (
		<div class="shares">
			<h3>
				{title} <span class="aim">{quantity(division.total, unit)}</span>
			</h3>
			<div class="bucket-bar shares-bar" role="img" aria-label={title}>
				{division.top.map((x, i) => (
					<span
						key={x.name}
						title={`${name(x.name)}: ${percent(x.frac * 100)}`}
						style={{ flexGrow: x.sum, background: colors[i] }}
						onClick={() => onChoose(on(x.name) ? "" : x.name)}
					/>
				))}
				{division.rest > 0 && <span class="shares-rest" style={{ flexGrow: division.rest }} />}
			</div>
			<ul>
				{division.top.map((x, i) => (
					<li key={x.name}>
						<button
							class={classes("share", on(x.name) && "share-on")}
							aria-pressed={on(x.name)}
							title={`${name(x.name)}: ${quantity(x.sum, unit)}`}
							onClick={() => onChoose(on(x.name) ? "" : x.name)}
						>
							<span class="chart-dot" style={{ background: colors[i] }} />
							<span class={classes("chart-name", x.name.includes("/") && "cut-front")}>
								<bdi>{name(x.name)}</bdi>
							</span>
							<span class="chart-value">{percent(x.frac * 100)}</span>
						</button>
					</li>
				))}
				{division.groups > division.top.length && (
					<li class="share-others">
						<span class="chart-dot shares-rest" />
						<span class="chart-name">{othersText(division.groups - division.top.length)}</span>
						<span class="chart-value">{percent(division.rest_frac * 100)}</span>
					</li>
				)}
			</ul>
		</div>
	);
}
