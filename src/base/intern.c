/* intern.c - see intern.h. */
#include "base/intern.h"

#include "base/assert.h"

static struct ss_arena *arena_of(struct ss_intern *k)
{
	return k->into ? k->into : &k->arena;
}

struct ss_str ss_intern_str(struct ss_intern *k, struct ss_str s)
{
	ss_assert(s.p || !s.n);
	if (!k->copies)
		return s;
	if (!s.n)
		return SS_STR("");
	uint32_t i = ss_strmap_get(&k->known, s);
	if (i != SS_NONE)
		return k->known.keys[i];
	struct ss_str copy = ss_arena_str(arena_of(k), s);
	if (copy.p && ss_strmap_add(&k->known, copy) != SS_NONE)
		return copy;
	k->no_memory = true;
	return SS_STR("");
}

void *ss_intern_copy(struct ss_intern *k, const void *from, size_t n, size_t size)
{
	void *to = ss_arena_zalloc(arena_of(k), n + 1, size);
	if (!to)
		k->no_memory = true;
	else if (n)
		memcpy(to, from, n * size);
	return to;
}

void ss_intern_release(struct ss_intern *k)
{
	ss_strmap_free(&k->known);
	ss_arena_release(&k->arena);
	*k = (struct ss_intern){ 0 };
}
