/* folded.c - stacks as lines of text: frames with ';' between, a blank, ns of the last frame itself. */
#include "base/buf.h"
#include "export/stacks.h"

#include <stdlib.h>

static void put_frame(struct ss_out *o, struct ss_str s)
{
	struct ss_buf b = { 0 };
	ss_buf_utf8(&b, s);
	for (size_t i = 0; i < b.n; i++)
		ss_out_char(o, b.p[i] == ';' ? ':' : (unsigned char)b.p[i] < ' ' ? ' ' : b.p[i]);
	o->no_memory = o->no_memory || b.no_memory;
	ss_buf_free(&b);
}

static void put_stack(struct ss_out *o, const struct ss_stack_tree *s, uint32_t at)
{
	uint32_t path[SS_STACK_DEPTH], n = 0;
	for (uint32_t k = at; k != SS_NONE; k = s->v.v[k].parent)
		path[n++] = k;
	while (n-- > 0) {
		put_frame(o, s->frames.keys[s->v.v[path[n]].frame]);
		if (n)
			ss_out_char(o, ';');
	}
	ss_out_char(o, ' ');
	ss_out_i64(o, s->v.v[at].self_ps / 1000);
	ss_out_char(o, '\n');
}

static bool sort_lines(struct ss_out *text, struct ss_out *o)
{
	struct ss_str rest = { text->buf, text->n }, *lines;
	size_t n = 0, k = 0;
	for (size_t i = 0; i < rest.n; i++)
		n += rest.p[i] == '\n';
	lines = malloc((n + 1) * sizeof(*lines));
	while (lines && rest.n) {
		size_t end = ss_str_chr(rest, '\n');
		lines[k++] = ss_str_sub(rest, 0, end + 1);
		rest = ss_str_sub(rest, end + 1, rest.n);
	}
	if (lines && k)
		qsort(lines, k, sizeof(*lines), ss_cmp_str);
	for (size_t i = 0; lines && i < k; i++)
		ss_out_str(o, lines[i]);
	free(lines);
	return lines;
}

/* A viewer of stacks has no place for what takes no time. */
static void lose(struct ss_export *x, uint64_t n)
{
	x->nevents -= n;
	ss_export_lose(x, n, "stacks with less than a ns of self time");
}

static bool write(struct ss_export *x, struct ss_out *o, struct ss_err *err)
{
	struct ss_stack_tree s;
	struct ss_out text;
	bool ok = ss_stacks_of(&s, x);
	ss_out_init(&text, NULL, NULL);
	for (uint32_t i = 0; ok && i < s.v.n; i++)
		if (s.v.v[i].self_ps > 999)
			put_stack(&text, &s, i);
		else
			lose(x, s.v.v[i].count);
	ok = ok && !text.no_memory && (!text.n || sort_lines(&text, o));
	ss_out_free(&text);
	ss_stack_tree_free(&s);
	return ok || ss_fail_mem(err);
}

const struct ss_export_format ss_export_folded = {
	.name = "folded",
	.doc = "stacks as text, for flamegraph.pl and speedscope",
	.omits = SS_STACKS_OMIT,
	.write = write,
};
