/*
 * conclusion.tsx - what an answer comes to, in the server's sentences: the first is the answer, the others follow in gray.
 */
import type { ComponentChildren } from "preact";
import type { Conclusion } from "../api/types";
import { toolHref } from "../base/url";
import { RichText } from "./rich_text";

export function ConclusionText({ of, tools }: { of: Conclusion | null | undefined; tools: readonly string[] }) {
	if (!of) return null;
	const linked = of.see && tools.includes(of.see);
	return (
		<div class="verdict-text">
			<p>
				{of.more.length > 0 ? (
					<strong>
						<RichText text={of.text} tools={tools} />
					</strong>
				) : (
					<RichText text={of.text} tools={tools} />
				)}
				{linked && (
					<>
						{" "}
						<a href={toolHref(of.see)}>What to do</a>
					</>
				)}
			</p>
			{of.more.map((s) => (
				<p key={s} class="muted">
					<RichText text={s} tools={tools} />
				</p>
			))}
		</div>
	);
}

/* The answer above a page: figures of the answer's tables, then its sentences. */
export function Verdict({
	of,
	tools,
	label = "Verdict",
	children,
}: {
	of: Conclusion | null | undefined;
	tools: readonly string[];
	label?: string;
	children?: ComponentChildren;
}) {
	if (!of && !children) return null;
	return (
		<section class="verdict" aria-label={label}>
			{children}
			<ConclusionText of={of} tools={tools} />
		</section>
	);
}

/* A number of a table in large type, with what it is below. */
export function Figure({ id, value, children }: { id: string; value: string; children: ComponentChildren }) {
	return (
		<div class="verdict-figure">
			<span class="verdict-number" data-prop={id}>
				{value}
			</span>
			<span class="muted">{children}</span>
		</div>
	);
}
