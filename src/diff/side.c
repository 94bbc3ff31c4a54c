/* side.c - see side.h. */
#include "diff/side.h"

#include <stdlib.h>

/* Equal on two runs of one program. */
static uint64_t key_of(const struct ss_diff_op *o)
{
	uint64_t h = ss_mix(ss_str_hash(o->name), ss_str_hash(o->path));
	h = ss_mix(h, ss_mix(ss_str_hash(o->opcode), ss_str_hash(o->shape)));
	return ss_mix(h, ss_mix(ss_str_hash(o->module), (uint64_t)o->component + 1));
}

/* The n-th of equal operations of a run is the n-th of another: `nth` counts them. */
static uint32_t number(struct ss_u64map *known, struct ss_u64map *nth, uint64_t key, uint32_t next)
{
	uint32_t n = ss_u64map_get(nth, key);
	n = n == SS_NONE ? 0 : n;
	if (!ss_u64map_put(nth, key, n + 1))
		return SS_NONE;
	return ss_u64map_add(known, ss_mix(key, n + 1), next);
}

/* A number for each operation or function of each run: where it stands on the side. */
struct places {
	uint32_t *v;
	size_t *first; /* by run */
	size_t n;
};

static bool places_init(struct places *p, const struct ss_diff_side *s, bool functions)
{
	p->first = calloc(s->n + 1, sizeof(*p->first));
	for (size_t i = 0; p->first && i < s->n; i++) {
		p->first[i] = p->n;
		p->n += functions ? s->runs[i].functions.n : s->runs[i].ops.n;
	}
	p->v = calloc(p->n + 1, sizeof(*p->v));
	return p->first && p->v;
}

static void places_free(struct places *p)
{
	free(p->v);
	free(p->first);
}

static bool place_ops(struct ss_diff_side *s, struct places *p)
{
	struct ss_u64map known = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < s->n; i++) {
		struct ss_u64map nth = { 0 };
		for (size_t k = 0; ok && k < s->runs[i].ops.n; k++) {
			const struct ss_diff_op *o = &s->runs[i].ops.v[k];
			uint32_t at = number(&known, &nth, key_of(o), (uint32_t)s->ops.n);
			ok = at != SS_NONE && (at < s->ops.n || ss_vec_push(&s->ops, ((struct ss_side_op){ .op = o })));
			p->v[p->first[i] + k] = at;
		}
		ss_u64map_free(&nth);
	}
	ss_u64map_free(&known);
	return ok;
}

static bool place_functions(struct ss_diff_side *s, struct places *p)
{
	struct ss_u64map known = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < s->n; i++)
		for (size_t k = 0; ok && k < s->runs[i].functions.n; k++) {
			struct ss_str name = s->runs[i].functions.v[k].name;
			uint32_t at = ss_u64map_add(&known, ss_str_hash(name), (uint32_t)s->functions.n);
			ok = at != SS_NONE && (at < s->functions.n ||
					       ss_vec_push(&s->functions, ((struct ss_side_function){ .name = name })));
			p->v[p->first[i] + k] = at;
		}
	ss_u64map_free(&known);
	return ok;
}

/* An operation that is not in a run takes no time there, and that is certain. */
static struct ss_sample *samples(const struct ss_diff_side *s, size_t rows)
{
	struct ss_sample *v = calloc(rows * s->n + 1, sizeof(*v));
	for (size_t i = 0; v && i < s->n; i++)
		for (size_t k = 0; k < rows; k++) {
			v[k * s->n + i].n = s->runs[i].step.n;
			v[k * s->n + i].df = s->runs[i].step.df;
		}
	return v;
}

static void fill_ops(struct ss_diff_side *s, const struct places *p)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->runs[i].ops.n; k++) {
			const struct ss_diff_op *o = &s->runs[i].ops.v[k];
			uint32_t at = p->v[p->first[i] + k];
			s->op_us[at * s->n + i] = o->us;
			s->ops.v[at].us += o->us.mean / (double)s->n;
			s->ops.v[at].calls += o->calls / (double)s->n;
		}
}

static void fill_functions(struct ss_diff_side *s, const struct places *p)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->runs[i].functions.n; k++) {
			const struct ss_diff_function *f = &s->runs[i].functions.v[k];
			uint32_t at = p->v[p->first[i] + k];
			s->function_us[at * s->n + i] = f->us;
			s->functions.v[at].us += f->us.mean / (double)s->n;
			s->functions.v[at].calls += f->calls / (double)s->n;
		}
}

bool ss_diff_side_make(struct ss_diff_side *s)
{
	struct places ops = { 0 }, functions = { 0 };
	bool ok = places_init(&ops, s, false) && places_init(&functions, s, true) && place_ops(s, &ops) &&
		  place_functions(s, &functions);
	s->op_us = ok ? samples(s, s->ops.n) : NULL;
	s->function_us = ok ? samples(s, s->functions.n) : NULL;
	ok = s->op_us && s->function_us;
	if (ok) {
		fill_ops(s, &ops);
		fill_functions(s, &functions);
	}
	places_free(&ops);
	places_free(&functions);
	return ok;
}

void ss_diff_side_free(struct ss_diff_side *s)
{
	ss_vec_free(&s->ops);
	ss_vec_free(&s->functions);
	free(s->op_us);
	free(s->function_us);
	s->op_us = s->function_us = NULL;
}
