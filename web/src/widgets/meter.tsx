/*
 * meter.tsx - a share as a bar and a number, with an explanation of what it is a share of.
 */
import { percent } from "../base/format";
import { Hint } from "./hint";

export function Meter({
	label,
	frac,
	doc,
	color,
	id,
}: {
	label: string;
	frac: number | undefined; /* 0..1; undefined or NaN: not known */
	doc?: string;
	color?: string | undefined;
	id?: string; /* for the tests: which number this is */
}) {
	const known = frac !== undefined && Number.isFinite(frac);
	return (
		<div class="metric">
			<dt>
				<Hint text={doc ?? ""}>{label}</Hint>
			</dt>
			<dd>
				<span class="meter" aria-hidden="true">
					<span
						class="meter-fill"
						style={{ width: `${known ? Math.min(100, Math.max(0, frac * 100)) : 0}%`, background: color }}
					/>
				</span>
				<span class="metric-value" data-cell={id}>
					{known ? percent(frac * 100) : "–"}
				</span>
			</dd>
		</div>
	);
}
