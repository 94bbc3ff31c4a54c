/*
 * rich_text.tsx - sentences from the server. Links in them (<a href>) become links if they lead to http or https; names of tools
 * become links to these tools; so do bare addresses. Nothing else in them is ever taken as HTML.
 */
import type { ComponentChildren } from "preact";
import { unescapeHtml } from "../base/html";
import { toolHref } from "../base/url";

export type Piece = { text: string; href?: string; tool?: string };

/* "see <a href="https://x">this</a>, then framework_op_stats" in pieces. */
export function pieces(text: string, tools: readonly string[]): Piece[] {
	const out: Piece[] = [];
	const anchor = /<a\s[^<>]*?href\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')[^<>]*>([^<>]*)<\/a>/gi;
	let at = 0;
	for (let m = anchor.exec(text); m; m = anchor.exec(text)) {
		out.push(...plain(text.slice(at, m.index), tools));
		const href = unescapeHtml(m[1] ?? m[2] ?? "");
		const label = unescapeHtml(m[3] ?? "");
		out.push(/^https?:\/\//i.test(href) ? { text: label, href } : { text: label });
		at = m.index + m[0].length;
	}
	out.push(...plain(text.slice(at), tools));
	return out;
}

function plain(text: string, tools: readonly string[]): Piece[] {
	const out: Piece[] = [];
	/* Not in a path such as docs/tools/overview_page.md. */
	const word = /https?:\/\/[^\s<>"']*[^\s<>"'.,;:)]|(?<![\w/])[a-z][a-z0-9]*(?:_[a-z0-9]+)+@?/g;
	let at = 0;
	for (let m = word.exec(text); m; m = word.exec(text)) {
		if (/^https?:/.test(m[0])) {
			if (m.index > at) out.push({ text: unescapeHtml(text.slice(at, m.index)) });
			out.push({ text: m[0], href: unescapeHtml(m[0]) });
			at = m.index + m[0].length;
			continue;
		}
		const name = tools.includes(m[0]) ? m[0] : tools.includes(`${m[0]}@`) ? `${m[0]}@` : undefined;
		if (!name) continue;
		if (m.index > at) out.push({ text: unescapeHtml(text.slice(at, m.index)) });
		out.push({ text: m[0], tool: name });
		at = m.index + m[0].length;
	}
	if (at < text.length) out.push({ text: unescapeHtml(text.slice(at)) });
	return out;
}

export function RichText({ text, tools }: { text: string; tools: readonly string[] }): ComponentChildren {
	return pieces(text, tools).map((p) =>
		p.href ? (
			<a href={p.href} target="_blank" rel="noopener noreferrer">
				{p.text}
			</a>
		) : p.tool ? (
			<a href={toolHref(p.tool)}>{p.text}</a>
		) : (
			p.text
		),
	);
}
