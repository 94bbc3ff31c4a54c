/*
 * help.tsx - all keys on one sheet.
 */
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../widgets/icon";

const KEYS: readonly { title: string; rows: readonly [string[], string][] }[] = [
	{
		title: "Move",
		rows: [
			[["w", "s"], "Zoom in, zoom out at the pointer"],
			[["a", "d"], "Move left, right"],
			[["Shift"], "With these four: larger steps"],
			[["f"], "Zoom to the selection"],
			[["0"], "The whole trace"],
			[["Ctrl", "wheel"], "Zoom; also a pinch on a trackpad, or the wheel over the ruler"],
			[["wheel"], "Scroll the tracks"],
			[["Shift", "wheel"], "Move left, right"],
			[["Alt", "↑", "↓"], "Move the track or section whose name has the focus; or drag the name"],
		],
	},
	{
		title: "Tools",
		rows: [
			[["1"], "Select: click an event, or drag a frame over many"],
			[["2"], "Pan: drag; Shift and drag does it with every tool"],
			[["3"], "Zoom: drag a stretch; click to zoom in, Alt and click to zoom out"],
			[["4"], "Measure: drag between edges"],
		],
	},
	{
		title: "Events",
		rows: [
			[["←", "→"], "Previous, next event of the row"],
			[["↑", "↓"], "The event above, below"],
			[["m"], "Mark the selection or the time under the pointer; again to remove"],
			[["g"], "The next gap: what the device waits for"],
			[["Shift", "g"], "The gap before"],
			[["["], "The step before, alone"],
			[["]"], "The step after, alone"],
			[["Esc"], "Clear the selection"],
			[["double click"], "Zoom to an event"],
		],
	},
	{
		title: "Search",
		rows: [
			[["/"], "Search event names in the whole trace"],
			[["n"], "Next match (Enter in the box)"],
			[["Shift", "n"], "Previous match"],
			[["?"], "This sheet"],
			[["Ctrl", "k"], "Go to a tool, a host, a run, or search"],
		],
	},
];

export function HelpSheet({ onClose }: { onClose: () => void }) {
	const ref = useRef<HTMLDialogElement>(null);
	useEffect(() => {
		ref.current?.showModal();
	}, []);
	return (
		<dialog
			class="sheet"
			ref={ref}
			aria-label="Keys"
			onClose={onClose}
			onClick={(e) => {
				if (e.target === ref.current) ref.current?.close();
			}}
			onKeyDown={(e) => {
				e.stopPropagation();
				if (e.key === "?") ref.current?.close();
			}}
		>
			<div class="sheet-head">
				<h2>Keys</h2>
				<button class="button button-icon" aria-label="Close" onClick={() => ref.current?.close()}>
					<Icon name="close" />
				</button>
			</div>
			<div class="sheet-body">
				{KEYS.map((g) => (
					<section key={g.title}>
						<h3>{g.title}</h3>
						<dl>
							{g.rows.map(([keys, text]) => (
								<div key={text}>
									<dt>
										{keys.map((k) => (
											<kbd key={k}>{k}</kbd>
										))}
									</dt>
									<dd>{text}</dd>
								</div>
							))}
						</dl>
					</section>
				))}
			</div>
		</dialog>
	);
}
