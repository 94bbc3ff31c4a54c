/*
 * shares.tsx - how a total is divided: one bar, and its greatest parts by name. A click on a part filters the table below by it.
 */
import { css, nameColor } from "../base/color";
import { classes } from "../base/dom";
import { count, percent, quantity, type Unit } from "../base/format";
import { useTheme } from "../base/theme";
import type { TableData } from "../api/types";
import { shares } from "./grid_model";

const MOST = 6;

export interface SharesProps {
	table: TableData;
	title: string;
	by: string;
	value: string;
	where?: readonly [string, string] | undefined;
	chosen: string;
	onChoose: (name: string) => void;
}

export function Shares({ table, title, by, value, where, chosen, onChoose }: SharesProps) {
	const dark = useTheme().dark;
	const s = shares(table, by, value, where, MOST);
	if (!(s.total > 0)) return null;
	const unit: Unit = table.cols.find((c) => c.id === value)?.unit ?? "";
	const color = (name: string) => css(nameColor(name, dark));
	const name = (n: string) => n || "(none)";
	return (
		<div class="shares">
			<h3>
				{title} <span class="aim">{quantity(s.total, unit)}</span>
			</h3>
			<div class="bucket-bar shares-bar" role="img" aria-label={title}>
				{s.top.map((x) => (
					<span
						key={x.name}
						title={`${name(x.name)}: ${percent((x.sum / s.total) * 100)}`}
						style={{ flexGrow: x.sum, background: color(x.name) }}
					/>
				))}
				{s.rest > 0 && <span class="shares-rest" style={{ flexGrow: s.rest }} />}
			</div>
			<ul>
				{s.top.map((x) => (
					<li key={x.name}>
						<button
							class={classes("share", chosen === x.name && "share-on")}
							aria-pressed={chosen === x.name}
							title={`${name(x.name)}: ${quantity(x.sum, unit)}`}
							onClick={() => onChoose(chosen === x.name ? "" : x.name)}
						>
							<span class="chart-dot" style={{ background: color(x.name) }} />
							<span class={classes("chart-name", x.name.includes("/") && "cut-front")}>
								<bdi>{name(x.name)}</bdi>
							</span>
							<span class="chart-value">{percent((x.sum / s.total) * 100)}</span>
						</button>
					</li>
				))}
				{s.groups > MOST && (
					<li class="share-others">
						<span class="chart-dot shares-rest" />
						<span class="chart-name">{count(s.groups - MOST)} others</span>
						<span class="chart-value">{percent((s.rest / s.total) * 100)}</span>
					</li>
				)}
			</ul>
		</div>
	);
}
