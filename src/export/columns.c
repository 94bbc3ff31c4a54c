/* columns.c - see columns.h. */
#include "export/columns.h"

#include "base/buf.h"

#include <stdlib.h>

#define TRIED 4096u /* texts before it is known whether they repeat */

static bool put_run(struct ss_column *c, uint32_t n, uint8_t level, uint8_t repeat)
{
	struct ss_column_run *last = c->runs.n ? &c->runs.v[c->runs.n - 1] : NULL;
	c->nvalues += n;
	if (last && last->level == level && last->repeat == repeat) {
		last->n += n;
		return true;
	}
	return !n || ss_vec_push(&c->runs, (struct ss_column_run){ n, level, repeat });
}

bool ss_column_nulls(struct ss_column *c, uint32_t n)
{
	c->nnulls += n;
	return put_run(c, n, 0, 0);
}

bool ss_column_bits(struct ss_column *c, uint64_t bits)
{
	return put_run(c, 1, 1, 0) && ss_vec_push(&c->cells, bits);
}

uint64_t *ss_column_numbers(struct ss_column *c, uint32_t n)
{
	if (!ss_vec_reserve(&c->cells, c->cells.n + n) || !put_run(c, n, 1, 0))
		return NULL;
	c->cells.n += n;
	return c->cells.v + (c->cells.n - n);
}

/* Texts that do not repeat are not looked up any more. */
static void see_whether_they_repeat(struct ss_column *c)
{
	c->plain = c->form == SS_COLUMN_PLAIN ||
		   (c->form == SS_COLUMN_EITHER && c->texts.n >= TRIED && c->cells.n < 2 * (size_t)c->texts.n);
}

/* A copy with U+FFFD in place of the bytes that are not UTF-8. */
static struct ss_str utf8_copy(struct ss_arena *a, struct ss_str s)
{
	struct ss_buf b = { 0 };
	ss_buf_utf8(&b, s);
	return ss_buf_to_arena(&b, a);
}

static bool push_to_list(struct ss_column *c, struct ss_str s)
{
	if (!ss_vec_reserve(&c->list, c->list.n + s.n + 1) || !ss_vec_push(&c->ends, c->list.n + s.n))
		return false;
	memcpy(c->list.v + c->list.n, s.p, s.n);
	c->list.n += s.n;
	c->text_bytes += s.n;
	return ss_vec_push(&c->cells, c->texts.n + c->ends.n - 1);
}

static bool push_text(struct ss_column *c, struct ss_str s, bool stays)
{
	if (!c->cells.n)
		see_whether_they_repeat(c);
	uint32_t at = c->plain ? SS_NONE : ss_strmap_get(&c->texts, s);
	if (at == SS_NONE && !ss_utf8_valid(s)) {
		s = utf8_copy(&c->arena, s);
		stays = true;
		at = c->plain || !s.p ? SS_NONE : ss_strmap_get(&c->texts, s);
	}
	if (c->plain)
		return s.p && push_to_list(c, s);
	if (at == SS_NONE) {
		struct ss_str own = stays ? s : ss_arena_str(&c->arena, s);
		at = own.p ? ss_strmap_add(&c->texts, own) : SS_NONE;
		c->text_bytes += s.n;
		see_whether_they_repeat(c);
	}
	return at != SS_NONE && ss_vec_push(&c->cells, at);
}

bool ss_column_text(struct ss_column *c, struct ss_str s, bool stays)
{
	return push_text(c, s, stays) && put_run(c, 1, 1, 0);
}

bool ss_column_texts(struct ss_column *c, const struct ss_str *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!push_text(c, v[i], false) || !put_run(c, 1, 2, i > 0))
			return false;
	return n || put_run(c, 1, 1, 0);
}

struct ss_column_mark ss_column_mark(const struct ss_column *c, size_t at, bool null)
{
	return (struct ss_column_mark){ (uint32_t)at, (uint32_t)(c->cells.n - at), null };
}

static bool texts_again(struct ss_column *c, struct ss_column_mark m, uint32_t times)
{
	bool ok = true;
	for (uint32_t k = 0; ok && k < times; k++) {
		for (uint32_t i = 0; ok && i < m.n; i++)
			ok = ss_vec_push(&c->cells, c->cells.v[m.at + i]) && put_run(c, 1, 2, i > 0);
		ok = ok && (m.n || put_run(c, 1, 1, 0));
	}
	return ok;
}

bool ss_column_again(struct ss_column *c, struct ss_column_mark m, uint32_t times)
{
	if (m.null)
		return ss_column_nulls(c, times);
	if (c->kind == SS_COLUMN_TEXTS)
		return texts_again(c, m, times);
	uint64_t *to = ss_column_numbers(c, times);
	for (uint32_t k = 0; to && k < times; k++)
		to[k] = c->cells.v[m.at];
	return to;
}

void ss_column_forget(struct ss_column *c)
{
	c->runs.n = c->cells.n = c->list.n = c->ends.n = 0;
	c->nvalues = c->nnulls = c->text_bytes = 0;
	c->plain = false;
	ss_strmap_free(&c->texts);
	ss_arena_release(&c->arena);
}

void ss_column_free(struct ss_column *c)
{
	ss_column_forget(c);
	ss_vec_free(&c->runs);
	ss_vec_free(&c->cells);
	ss_vec_free(&c->list);
	ss_vec_free(&c->ends);
}
