/*
 * html.ts - what a piece of HTML from the server says, as plain text. It is never shown as HTML.
 */
const ENTITIES: Record<string, string> = {
	amp: "&",
	lt: "<",
	gt: ">",
	quot: '"',
	"#39": "'",
	apos: "'",
	nbsp: "\u00a0",
};

export function unescapeHtml(text: string): string {
	return text.replace(/&(amp|lt|gt|quot|#39|apos|nbsp);/g, (m, name: string) => ENTITIES[name] ?? m);
}

/* Without its tags. */
export function plainHtml(text: string): string {
	return unescapeHtml(text.replace(/<[^<>]*>/g, "")).trim();
}
