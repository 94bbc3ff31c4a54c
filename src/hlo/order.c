/* order.c - post orders without recursion. */
#include "hlo/order.h"

#include "base/vec.h"

#include <stdlib.h>

enum { NEW, VISITING, VISITED };

struct sorter {
	const struct ss_hlo_module *m;
	struct ss_hlo_order *o;
	int64_t *instr_ids;	/* by instruction */
	uint8_t *state;		/* by instruction, then by computation */
	bool *used;		/* by instruction: is it an operand of another? */
	SS_VEC(uint32_t) stack;
};

struct by_key {
	int64_t key;
	uint32_t index;
	bool last;		/* behind all others */
};

static int by_key(const void *a, const void *b)
{
	const struct by_key *ka = a, *kb = b;
	if (ka->last != kb->last)
		return ka->last ? 1 : -1;
	return SS_CMP(ka->key, kb->key) ?: SS_CMP(ka->index, kb->index);
}

static bool in_computation(const struct ss_hlo_computation *c, uint32_t instr)
{
	return instr != SS_NONE && instr >= c->first && instr - c->first < c->ninstrs;
}

static int64_t id_of(struct ss_str body)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	int64_t id = 0;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_VAR(HLO_INSTRUCTION_ID))
			id = (int64_t)f.u;
	return id;
}

/* Mark what instructions use. Control predecessors are waited for, not used. */
static void mark_used(struct sorter *s)
{
	for (uint32_t i = 0; i < s->m->ninstrs; i++) {
		struct ss_hlo_ids it = ss_hlo_ids_of(s->m->instrs[i], HLO_INSTRUCTION_OPERAND_IDS);
		int64_t id;
		while (ss_hlo_ids_next(&it, &id)) {
			uint32_t at = ss_hlo_instr_by_id(s->m, id);
			if (at != SS_NONE)
				s->used[at] = true;
		}
	}
}

/* The ids of one kind go onto the stack as they stand. */
static bool push_ids(struct sorter *s, const struct ss_hlo_computation *c, uint32_t instr, uint32_t field)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(s->m->instrs[instr], field);
	int64_t id;
	while (ss_hlo_ids_next(&it, &id)) {
		uint32_t at = ss_hlo_instr_by_id(s->m, id);
		if (in_computation(c, at) && s->state[at] == NEW && !ss_vec_push(&s->stack, at))
			return false;
	}
	return true;
}

static void reverse(uint32_t *v, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t t = v[i];
		v[i] = v[n - 1 - i];
		v[n - 1 - i] = t;
	}
}

/* `root` and all it needs, what is needed first; the first operand comes off the stack first, after the control predecessors. */
static bool visit(struct sorter *s, const struct ss_hlo_computation *c, uint32_t root, uint32_t *out, uint32_t *n)
{
	if (!ss_vec_push(&s->stack, root))
		return false;
	while (s->stack.n) {
		uint32_t at = s->stack.v[s->stack.n - 1];
		if (s->state[at] != NEW) {
			s->stack.n--;
			if (s->state[at] == VISITING)
				out[(*n)++] = at;
			s->state[at] = VISITED;
			continue;
		}
		s->state[at] = VISITING;
		size_t before = s->stack.n;
		if (!push_ids(s, c, at, HLO_INSTRUCTION_OPERAND_IDS))
			return false;
		reverse(s->stack.v + before, s->stack.n - before);
		if (!push_ids(s, c, at, HLO_INSTRUCTION_CONTROL_IDS))
			return false;
	}
	return true;
}

static bool order_by_use(struct sorter *s, const struct ss_hlo_computation *c, uint32_t index)
{
	uint32_t *out = s->o->instrs + c->first, n = 0;
	struct by_key *keys = malloc(((size_t)c->ninstrs + 1) * sizeof(*keys));
	bool ok = keys != NULL;
	for (uint32_t i = 0; ok && i < c->ninstrs; i++)
		keys[i] = (struct by_key){ s->instr_ids[c->first + i], c->first + i, s->instr_ids[c->first + i] == c->root_id };
	if (ok)
		qsort(keys, c->ninstrs, sizeof(*keys), by_key);
	for (uint32_t i = 0; ok && i < c->ninstrs; i++)
		ok = s->used[keys[i].index] || visit(s, c, keys[i].index, out, &n);
	/* Instructions that are used only in circles. */
	for (uint32_t i = 0; ok && i < c->ninstrs; i++)
		ok = s->state[keys[i].index] != NEW || visit(s, c, keys[i].index, out, &n);
	s->o->nshown[index] = n;
	free(keys);
	return ok;
}

static struct ss_str find_schedule(const struct ss_hlo_module *m, bool *found)
{
	struct ss_pb c = ss_pb_of(m->body);
	struct ss_pb_field f;
	struct ss_str schedule = { "", 0 };
	*found = false;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(HLO_MODULE_SCHEDULE)) {
			schedule = f.bytes;
			*found = true;
		}
	return schedule;
}

bool ss_hlo_is_scheduled(const struct ss_hlo_module *m)
{
	bool found;
	find_schedule(m, &found);
	return found;
}

/* Sequences of the schedule, by the id of their computation. */
static void take_schedule(struct sorter *s)
{
	bool found;
	struct ss_pb c = ss_pb_of(find_schedule(s->m, &found));
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		uint64_t key;
		struct ss_str sequence;
		if (f.key != PB_LEN(SCHEDULE_SEQUENCES) || !ss_pb_map_entry(f.bytes, &key, &sequence))
			continue;
		uint32_t at = ss_hlo_computation_by_id(s->m, (int64_t)key);
		if (at == SS_NONE || s->o->nshown[at])
			continue;
		const struct ss_hlo_computation *comp = &s->m->computations[at];
		struct ss_hlo_ids it = ss_hlo_ids_of(sequence, SEQUENCE_INSTRUCTION_IDS);
		int64_t id;
		while (s->o->nshown[at] < comp->ninstrs && ss_hlo_ids_next(&it, &id)) {
			uint32_t instr = ss_hlo_instr_by_id(s->m, id);
			if (in_computation(comp, instr))
				s->o->instrs[comp->first + s->o->nshown[at]++] = instr;
		}
	}
}

/* A place on the way through the calls: the next instruction to look at. */
struct place {
	uint32_t computation, instr;
	struct ss_hlo_ids called;
};

static struct place begin_at(const struct sorter *s, uint32_t computation)
{
	const struct ss_hlo_computation *c = &s->m->computations[computation];
	struct ss_str none = { "", 0 };
	return (struct place){ computation, c->first, ss_hlo_ids_of(none, HLO_INSTRUCTION_CALLED_IDS) };
}

/* Callees in the order of their calls, then the computation itself. */
static bool visit_calls(struct sorter *s, uint32_t root, uint32_t *n)
{
	SS_VEC(struct place) way = { 0 };
	uint8_t *state = s->state + s->m->ninstrs;
	bool ok = ss_vec_push(&way, begin_at(s, root));
	state[root] = VISITED;
	while (ok && way.n) {
		struct place *p = &way.v[way.n - 1];
		const struct ss_hlo_computation *c = &s->m->computations[p->computation];
		int64_t id;
		if (ss_hlo_ids_next(&p->called, &id)) {
			uint32_t at = ss_hlo_computation_by_id(s->m, id);
			if (at != SS_NONE && state[at] == NEW) {
				state[at] = VISITED;
				ok = ss_vec_push(&way, begin_at(s, at));
			}
		} else if (p->instr - c->first < c->ninstrs) {
			p->called = ss_hlo_ids_of(s->m->instrs[p->instr++], HLO_INSTRUCTION_CALLED_IDS);
		} else {
			s->o->computations[(*n)++] = p->computation;
			way.n--;
		}
	}
	ss_vec_free(&way);
	return ok;
}

static bool order_computations(struct sorter *s)
{
	const struct ss_hlo_module *m = s->m;
	struct by_key *keys = malloc(((size_t)m->ncomputations + 1) * sizeof(*keys));
	bool *called = calloc((size_t)m->ncomputations + 1, sizeof(*called));
	uint32_t n = 0;
	bool ok = keys && called;
	for (uint32_t i = 0; ok && i < m->ncomputations; i++)
		keys[i] = (struct by_key){ m->computations[i].id, i, false };
	for (uint32_t i = 0; ok && i < m->ninstrs; i++) {
		struct ss_hlo_ids it = ss_hlo_ids_of(m->instrs[i], HLO_INSTRUCTION_CALLED_IDS);
		int64_t id;
		while (ss_hlo_ids_next(&it, &id)) {
			uint32_t at = ss_hlo_computation_by_id(m, id);
			if (at != SS_NONE)
				called[at] = true;
		}
	}
	if (ok)
		qsort(keys, m->ncomputations, sizeof(*keys), by_key);
	uint8_t *state = s->state + m->ninstrs;
	for (uint32_t i = 0; ok && i < m->ncomputations; i++)
		ok = called[keys[i].index] || visit_calls(s, keys[i].index, &n);
	for (uint32_t i = 0; ok && i < m->ncomputations; i++)
		ok = state[keys[i].index] != NEW || visit_calls(s, keys[i].index, &n);
	free(keys);
	free(called);
	return ok;
}

static bool order(struct ss_hlo_order *o, const struct ss_hlo_module *m, bool scheduled, struct ss_arena *arena, struct ss_err *err)
{
	struct sorter s = { .m = m, .o = o };
	o->computations = SS_NEW_N(arena, uint32_t, m->ncomputations);
	o->instrs = SS_NEW_N(arena, uint32_t, m->ninstrs);
	o->nshown = SS_NEW_N(arena, uint32_t, m->ncomputations);
	s.instr_ids = calloc((size_t)m->ninstrs + 1, sizeof(*s.instr_ids));
	s.state = calloc((size_t)m->ninstrs + m->ncomputations + 1, 1);
	s.used = calloc((size_t)m->ninstrs + 1, sizeof(*s.used));
	bool ok = o->computations && o->instrs && o->nshown && s.instr_ids && s.state && s.used;
	for (uint32_t i = 0; ok && i < m->ninstrs; i++)
		s.instr_ids[i] = id_of(m->instrs[i]);
	if (ok) {
		mark_used(&s);
		if (scheduled)
			take_schedule(&s);
	}
	for (uint32_t i = 0; ok && i < m->ncomputations; i++)
		ok = o->nshown[i] || order_by_use(&s, &m->computations[i], i);
	ok = ok && order_computations(&s);
	ss_vec_free(&s.stack);
	free(s.instr_ids);
	free(s.state);
	free(s.used);
	return ok || ss_fail_mem(err);
}

bool ss_hlo_order_of(struct ss_hlo_order *o, const struct ss_hlo_module *m, struct ss_arena *arena, struct ss_err *err)
{
	return order(o, m, true, arena, err);
}

bool ss_hlo_order_by_use(struct ss_hlo_order *o, const struct ss_hlo_module *m, struct ss_arena *arena, struct ss_err *err)
{
	return order(o, m, false, arena, err);
}
