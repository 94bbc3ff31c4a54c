/*
 * text_view.tsx - a text of any length, of which only the lines on the screen exist. Finds words in it.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { classes, useSettled, useSize } from "../base/dom";
import { count } from "../base/format";
import { CopyButton } from "./grid";
import { Icon } from "./icon";

const LINE_PX = 18;
const SPARE = 12;

export function TextView({ text, title, find = "" }: { text: string; title: string; find?: string }) {
	const lines = useMemo(() => text.split("\n"), [text]);
	const widest = useMemo(() => lines.reduce((m, l) => Math.max(m, l.length), 0), [lines]);
	const [word, setWord] = useState(find);
	const settled = useSettled(word, lines.length > 20000 ? 200 : 0).toLowerCase();
	const hits = useMemo(
		() => (settled ? lines.flatMap((l, i) => (l.toLowerCase().includes(settled) ? [i] : [])) : []),
		[lines, settled],
	);
	const [at, setAt] = useState(0);
	const [top, setTop] = useState(0);
	const [body, size] = useSize<HTMLDivElement>();
	const input = useRef<HTMLInputElement>(null);
	useEffect(() => setAt(0), [hits]);
	useEffect(() => {
		const line = hits[at];
		if (line !== undefined && body.current) body.current.scrollTop = Math.max(0, line * LINE_PX - size.height / 3);
	}, [hits, at, size.height > 0]);
	const step = (by: number) => hits.length && setAt((i) => (i + by + hits.length) % hits.length);
	const first = Math.max(0, Math.floor(top / LINE_PX) - SPARE);
	const last = Math.min(lines.length, Math.ceil((top + size.height) / LINE_PX) + SPARE);
	return (
		<div class="text-view">
			<div class="grid-bar">
				<label class="search-box">
					<Icon name="search" />
					<input
						ref={input}
						class="input"
						type="search"
						placeholder="Find in the text"
						aria-label="Find in the text"
						value={word}
						onInput={(e) => setWord(e.currentTarget.value)}
						onKeyDown={(e) => {
							if (e.key === "Enter") step(e.shiftKey ? -1 : 1);
						}}
					/>
				</label>
				<button class="button button-icon" aria-label="Previous line found" title="Previous (Shift Enter)" disabled={!hits.length} onClick={() => step(-1)}>
					<Icon name="up" />
				</button>
				<button class="button button-icon" aria-label="Next line found" title="Next (Enter)" disabled={!hits.length} onClick={() => step(1)}>
					<Icon name="down" />
				</button>
				<span class="muted" role="status">
					{settled ? (hits.length ? `${count(at + 1)} of ${count(hits.length)} lines` : "not found") : `${count(lines.length)} lines`}
				</span>
				<span class="spring" />
				<CopyButton text={() => text} title="Copy all of the text" />
			</div>
			<div
				class="text-body"
				ref={body}
				role="region"
				aria-label={title}
				tabIndex={0}
				onScroll={(e) => setTop(e.currentTarget.scrollTop)}
			>
				<div style={{ height: lines.length * LINE_PX, width: `${widest + 8}ch`, position: "relative" }}>
					{lines.slice(first, last).map((l, i) => (
						<div
							key={first + i}
							class={classes("text-line", hits[at] === first + i && "text-hit")}
							style={{ top: (first + i) * LINE_PX }}
						>
							<span class="text-number">{first + i + 1}</span>
							{l}
						</div>
					))}
				</div>
			</div>
		</div>
	);
}
