/*
 * hint.tsx - a word with an explanation on hover and on focus.
 */
import type { ComponentChildren } from "preact";

export function Hint({ text, children }: { text: string; children: ComponentChildren }) {
	if (!text) return <>{children}</>;
	return (
		<span class="hint" tabIndex={0}>
			{children}
			<span class="hint-text" role="tooltip">
				{text}
			</span>
		</span>
	);
}
