/* columns.c - see columns.h. */
#include "export/columns.h"

#include <stdlib.h>

bool ss_column_null(struct ss_column *c)
{
	c->nnulls++;
	return ss_vec_push(&c->levels, 0) &&
	       (c->kind != SS_COLUMN_TEXTS || ss_vec_push(&c->repeats, 0));
}

bool ss_column_bits(struct ss_column *c, uint64_t bits)
{
	return ss_vec_push(&c->levels, 1) && ss_vec_push(&c->cells, bits);
}

static bool push_text(struct ss_column *c, struct ss_str s)
{
	uint32_t at = ss_strmap_get(&c->texts, s);
	if (at == SS_NONE) {
		struct ss_str own = ss_arena_str(&c->arena, s);
		at = own.p ? ss_strmap_add(&c->texts, own) : SS_NONE;
	}
	return at != SS_NONE && ss_vec_push(&c->cells, at);
}

bool ss_column_text(struct ss_column *c, struct ss_str s)
{
	return push_text(c, s) && ss_vec_push(&c->levels, 1);
}

bool ss_column_texts(struct ss_column *c, const struct ss_str *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!push_text(c, v[i]) || !ss_vec_push(&c->levels, 2) ||
		    !ss_vec_push(&c->repeats, i > 0))
			return false;
	return n || (ss_vec_push(&c->levels, 1) && ss_vec_push(&c->repeats, 0));
}

void ss_column_forget(struct ss_column *c)
{
	c->levels.n = c->repeats.n = c->cells.n = 0;
	c->nnulls = 0;
	ss_strmap_free(&c->texts);
	ss_arena_release(&c->arena);
}

void ss_column_free(struct ss_column *c)
{
	ss_column_forget(c);
	ss_vec_free(&c->levels);
	ss_vec_free(&c->repeats);
	ss_vec_free(&c->cells);
}
