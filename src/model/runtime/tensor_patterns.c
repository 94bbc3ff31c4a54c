/* tensor_patterns.c - see tensor_patterns.h. */
#include "model/runtime/tensor_patterns.h"

#include <stdlib.h>
#include <string.h>

/* Longer shapes are cut: a pattern is for reading. */
#define LONGEST_TEXT 512u

/* Index of the text; SS_NONE when memory is out. Where there is no room for a new one *cut is set. */
static uint32_t intern(struct ss_tensors *t, struct ss_strmap *map, struct ss_str text, bool *cut)
{
	uint32_t i = ss_strmap_get(map, text);
	if (i != SS_NONE)
		return i;
	*cut = text.n > t->room;
	if (*cut)
		return 0;
	t->room -= text.n;
	struct ss_str kept = ss_arena_str(t->arena, text);
	return kept.p ? ss_strmap_add(map, kept) : SS_NONE;
}

static size_t append(char *to, size_t at, struct ss_str s)
{
	size_t n = s.n < LONGEST_TEXT - at ? s.n : LONGEST_TEXT - at;
	if (n)
		memcpy(to + at, s.p, n);
	return at + n;
}

bool ss_tensors_add(struct ss_tensors *t, uint32_t group, struct ss_str kind, struct ss_str shape, struct ss_str layout,
		    uint64_t dur_ps)
{
	const struct ss_str parts[] = { kind, SS_STR(" "), shape, SS_STR(" "), layout };
	char text[LONGEST_TEXT];
	size_t n = 0;
	bool cut = false;
	for (size_t i = 0; i < SS_COUNT(parts); i++)
		n = append(text, n, parts[i]);
	uint32_t id = intern(t, &t->texts, (struct ss_str){ text, n }, &cut);
	t->ncut += cut;
	return cut || (id != SS_NONE && ss_vec_push(&t->v, ((struct ss_tensor){ group, id, dur_ps })));
}

struct named {
	struct ss_str text;
	uint32_t id;
};

static int by_text(const void *a, const void *b)
{
	return ss_str_cmp(((const struct named *)a)->text, ((const struct named *)b)->text);
}

/* The number of a tensor's text becomes its place in the alphabet: *order has the texts by that. */
static bool rank_texts(struct ss_tensors *t, struct named **order)
{
	uint32_t n = t->texts.n;
	uint32_t *rank = malloc(((size_t)n + 1) * sizeof(*rank));
	*order = malloc(((size_t)n + 1) * sizeof(**order));
	bool ok = rank && *order;
	for (uint32_t i = 0; ok && i < n; i++)
		(*order)[i] = (struct named){ t->texts.keys[i], i };
	if (ok && n)
		qsort(*order, n, sizeof(**order), by_text);
	for (uint32_t i = 0; ok && i < n; i++)
		rank[(*order)[i].id] = i;
	for (size_t i = 0; ok && i < t->v.n; i++)
		t->v.v[i].text = rank[t->v.v[i].text];
	free(rank);
	return ok;
}

static int by_group(const void *a, const void *b)
{
	const struct ss_tensor *x = a, *y = b;
	return SS_CMP(x->group, y->group) ?: SS_CMP(x->text, y->text);
}

struct chars {
	char *p;
	size_t n, cap;
};

static bool put(struct chars *c, struct ss_str s)
{
	if (!ss_grow((void **)&c->p, &c->cap, c->n + s.n + 1, 1))
		return false;
	if (s.n)
		memcpy(c->p + c->n, s.p, s.n);
	c->n += s.n;
	return true;
}

/* The pattern of the tensors [from, to), which are of one group. */
static bool join_group(struct ss_tensors *t, const struct named *order, size_t from, size_t to, struct chars *text,
		       ss_tensors_found *found, void *arg)
{
	uint64_t dur_ps = 0;
	bool cut = false;
	text->n = 0;
	for (size_t i = from; i < to; i++) {
		if (text->n > t->room) {
			t->ncut++;
			return true;
		}
		if ((i > from && !put(text, SS_STR("<br>"))) || !put(text, order[t->v.v[i].text].text))
			return false;
		dur_ps += t->v.v[i].dur_ps;
	}
	uint32_t pattern = intern(t, &t->patterns, (struct ss_str){ text->p, text->n }, &cut);
	t->ncut += cut;
	if (!cut && pattern != SS_NONE)
		found(arg, t->v.v[from].group, pattern, dur_ps);
	return pattern != SS_NONE;
}

bool ss_tensors_join(struct ss_tensors *t, ss_tensors_found *found, void *arg)
{
	struct named *order = NULL;
	struct chars text = { 0 };
	bool ok = rank_texts(t, &order);
	if (ok && t->v.n)
		qsort(t->v.v, t->v.n, sizeof(*t->v.v), by_group);
	for (size_t from = 0, to; ok && from < t->v.n; from = to) {
		for (to = from + 1; to < t->v.n && t->v.v[to].group == t->v.v[from].group;)
			to++;
		ok = join_group(t, order, from, to, &text, found, arg);
	}
	free(order);
	free(text.p);
	return ok;
}

void ss_tensors_free(struct ss_tensors *t)
{
	ss_vec_free(&t->v);
	ss_strmap_free(&t->texts);
	ss_strmap_free(&t->patterns);
}
