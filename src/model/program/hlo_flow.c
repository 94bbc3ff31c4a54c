/* hlo_flow.c - values from where they are made to where they are taken. */
#include "model/program/hlo_flow.h"

#include "base/map.h"
#include "hlo/shape.h"

#include <stdlib.h>

#define MOST_DEPTH 16	/* elements of elements; tuples in tuples, of which the bytes count */
#define MOST_STEPS 1000 /* through elements and bitcasts */

enum look { MAKES, THROUGH, ELEMENT, TUPLE };

struct walk {
	const struct ss_hlo_module *m;
	const struct ss_hlo_links *l;
	struct ss_hlo_flow *to;
	uint8_t *look;		/* enum look, by instruction */
	int64_t *element;	/* by instruction: of the tuple that it takes */
	uint32_t *opened;	/* by tuple: the last consumer for which it was opened, + 1 */
	SS_VEC(uint32_t) open;	/* values of one operand */
	uint64_t budget;	/* tuples that nest in each other share it */
};

static enum look look_of(struct ss_str opcode)
{
	static const struct {
		const char *opcode;
		enum look look;
	} known[] = {
		{ "bitcast", THROUGH },	       { "domain", THROUGH },		{ "add-dependency", THROUGH },
		{ "opt-barrier", THROUGH },    { "get-tuple-element", ELEMENT }, { "tuple", TUPLE },
	};
	for (size_t i = 0; i < SS_COUNT(known); i++)
		if (ss_str_is(opcode, known[i].opcode))
			return known[i].look;
	return MAKES;
}

static uint32_t operands(const struct walk *w, uint32_t i)
{
	return w->l->operand_first[i + 1] - w->l->operand_first[i];
}

static uint32_t operand(const struct walk *w, uint32_t i, uint64_t k)
{
	return w->l->operands[w->l->operand_first[i] + k];
}

/* From *i to what makes it, or to a tuple that is taken whole; `path`: the elements of elements that are taken of that. */
static bool source(const struct walk *w, uint32_t *i, int64_t path[MOST_DEPTH], unsigned *depth)
{
	for (unsigned step = 0; step < MOST_STEPS; step++) {
		enum look look = w->look[*i];
		if (look == MAKES || (look == TUPLE && !*depth))
			return true;
		uint64_t k = look == TUPLE ? (uint64_t)path[--*depth] : 0;
		if (k >= operands(w, *i) || (look == ELEMENT && *depth == MOST_DEPTH))
			return false;
		if (look == ELEMENT)
			path[(*depth)++] = w->element[*i];
		*i = operand(w, *i, k);
	}
	return false;
}

static int64_t bytes_of(struct ss_str shape, unsigned depth)
{
	if (ss_hlo_shape_type(shape) != SS_HLO_TUPLE) {
		int64_t bytes = ss_hlo_shape_bytes(shape);
		return bytes > 0 ? bytes : 0;
	}
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	int64_t sum = 0;
	while (depth < MOST_DEPTH && ss_pb_next(&c, &f)) {
		int64_t bytes = f.key == PB_LEN(SHAPE_TUPLE_SHAPES) ? bytes_of(f.bytes, depth + 1) : 0;
		sum = sum > INT64_MAX - bytes ? INT64_MAX : sum + bytes;
	}
	return sum;
}

static bool emit(struct walk *w, uint32_t producer, uint32_t consumer, uint32_t value, const int64_t *path, unsigned depth)
{
	struct ss_hlo_instr in;
	uint64_t element = 0;
	ss_hlo_instr_read(w->m->instrs[value], &in);
	if (ss_hlo_shape_type(in.shape) == SS_HLO_TOKEN)
		return true;
	while (depth)
		element = ss_mix(element + 1, (uint64_t)path[--depth] + 1);
	return ss_vec_push(&w->to->v, ((struct ss_hlo_taken){ producer, consumer, value, element, bytes_of(in.shape, 0) }));
}

/* All values of one operand. */
static bool take(struct walk *w, uint32_t value, uint32_t consumer, uint32_t stamp)
{
	w->open.n = 0;
	if (!ss_vec_push(&w->open, value))
		return false;
	while (w->open.n && w->budget) {
		uint32_t at = w->open.v[--w->open.n], from = at;
		int64_t path[MOST_DEPTH];
		unsigned depth = 0;
		w->budget--;
		if (!source(w, &from, path, &depth)) {
			w->to->unresolved++;
		} else if (w->look[from] == MAKES) {
			if (!emit(w, from, consumer, at, path, depth))
				return false;
		} else if (w->opened[from] != stamp) {
			w->opened[from] = stamp;
			for (uint32_t k = operands(w, from); k--;)
				if (!ss_vec_push(&w->open, operand(w, from, k)))
					return false;
		}
	}
	w->to->unresolved += w->open.n;
	return true;
}

/* The values that an operation takes; for a computation's root also its own value or elements. */
static bool take_all(struct walk *w, uint32_t i, bool root)
{
	for (uint32_t k = 0; w->look[i] == MAKES && k < operands(w, i); k++)
		if (!take(w, operand(w, i, k), i, 2 * i + 1))
			return false;
	return !root || take(w, i, SS_NONE, 2 * i + 2);
}

static int by_ends(const void *p, const void *q)
{
	const struct ss_hlo_taken *a = p, *b = q;
	return SS_CMP(a->producer, b->producer) ?: SS_CMP(a->consumer, b->consumer) ?:
	       SS_CMP(a->element, b->element) ?: SS_CMP(a->value, b->value);
}

static void keep_once(struct ss_hlo_flow *f)
{
	size_t n = 0;
	if (f->v.n)
		qsort(f->v.v, f->v.n, sizeof(*f->v.v), by_ends);
	for (size_t i = 0; i < f->v.n; i++) {
		const struct ss_hlo_taken *last = n ? &f->v.v[n - 1] : NULL, *t = &f->v.v[i];
		if (!last || last->producer != t->producer || last->consumer != t->consumer || last->element != t->element)
			f->v.v[n++] = *t;
	}
	f->v.n = n;
}

static void look_at_all(struct walk *w)
{
	for (uint32_t i = 0; i < w->m->ninstrs; i++) {
		struct ss_hlo_instr in;
		ss_hlo_instr_read(w->m->instrs[i], &in);
		w->look[i] = (uint8_t)look_of(in.opcode);
		w->element[i] = in.tuple_index;
	}
}

bool ss_hlo_flow_of(struct ss_hlo_flow *f, const struct ss_hlo_module *m, const struct ss_hlo_links *l, const bool *skip,
		    struct ss_arena *arena)
{
	struct walk w = { .m = m, .l = l, .to = f, .budget = 64 * (uint64_t)m->ninstrs + 1000000 };
	w.look = SS_NEW_N(arena, uint8_t, m->ninstrs + 1);
	w.element = SS_NEW_N(arena, int64_t, m->ninstrs + 1);
	w.opened = SS_NEW_N(arena, uint32_t, m->ninstrs + 1);
	*f = (struct ss_hlo_flow){ .unresolved = 0 };
	bool ok = w.look && w.element && w.opened;
	if (ok)
		look_at_all(&w);
	for (uint32_t i = 0; ok && i < m->ninstrs; i++) {
		uint32_t c = l->computation[i];
		ok = skip[c] || take_all(&w, i, ss_hlo_instr_by_id(m, m->computations[c].root_id) == i);
	}
	ss_vec_free(&w.open);
	keep_once(f);
	return ok;
}

void ss_hlo_flow_free(struct ss_hlo_flow *f)
{
	ss_vec_free(&f->v);
}
