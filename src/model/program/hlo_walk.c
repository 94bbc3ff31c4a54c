/* hlo_walk.c - walks over a program's instructions. */
#include "model/program/hlo_walk.h"

/* ---- a module ---- */

static uint32_t count_called(const struct ss_hlo_module *m, uint32_t i, uint32_t *out)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(m->instrs[i], HLO_INSTRUCTION_CALLED_IDS);
	uint32_t n = 0;
	int64_t id;
	while (ss_hlo_ids_next(&it, &id)) {
		uint32_t c = ss_hlo_computation_by_id(m, id);
		if (c == SS_NONE)
			continue;
		if (out)
			out[n] = c;
		n++;
	}
	return n;
}

static bool tie_calls(struct ss_hlo_module_ties *t, struct ss_arena *arena)
{
	const struct ss_hlo_module *m = t->m;
	uint64_t total = 0;
	for (uint32_t i = 0; i < m->ninstrs; i++)
		total += count_called(m, i, NULL);
	t->called_first = SS_NEW_N(arena, uint32_t, (size_t)m->ninstrs + 1);
	t->callers_first = SS_NEW_N(arena, uint32_t, (size_t)m->ncomputations + 2);
	t->called = SS_NEW_N(arena, uint32_t, total + 1);
	t->callers = SS_NEW_N(arena, uint32_t, total + 1);
	if (total >= SS_NONE || !t->called_first || !t->callers_first || !t->called || !t->callers)
		return false;
	for (uint32_t i = 0; i < m->ninstrs; i++)
		t->called_first[i + 1] = t->called_first[i] + count_called(m, i, &t->called[t->called_first[i]]);
	/* Counted two places further, summed up, and filled one place further: then each stands where it begins. */
	for (uint32_t k = 0; k < total; k++)
		t->callers_first[t->called[k] + 2]++;
	for (uint32_t c = 0; c < m->ncomputations; c++)
		t->callers_first[c + 2] += t->callers_first[c + 1];
	for (uint32_t i = 0; i < m->ninstrs; i++)
		for (uint32_t k = t->called_first[i]; k < t->called_first[i + 1]; k++)
			t->callers[t->callers_first[t->called[k] + 1]++] = i;
	return true;
}

bool ss_hlo_module_ties_of(struct ss_hlo_module_ties *t, const struct ss_hlo_module *m, struct ss_arena *arena)
{
	*t = (struct ss_hlo_module_ties){ .m = m };
	return ss_hlo_links_of(&t->links, m, arena) && tie_calls(t, arena);
}

static struct ss_hlo_list piece(const uint32_t *list, const uint32_t *first, uint32_t i)
{
	return (struct ss_hlo_list){ list + first[i], first[i + 1] - first[i] };
}

static struct ss_hlo_list module_list(const void *graph, uint32_t of, enum ss_hlo_tie tie)
{
	const struct ss_hlo_module_ties *t = graph;
	switch (tie) {
	case SS_HLO_OPERANDS:
		return piece(t->links.operands, t->links.operand_first, of);
	case SS_HLO_USERS:
		return piece(t->links.users, t->links.user_first, of);
	case SS_HLO_CALLED:
		return piece(t->called, t->called_first, of);
	case SS_HLO_CALLERS:
		break;
	}
	return piece(t->callers, t->callers_first, of);
}

static struct ss_hlo_body module_body(const void *graph, uint32_t computation)
{
	const struct ss_hlo_module *m = ((const struct ss_hlo_module_ties *)graph)->m;
	const struct ss_hlo_computation *c = &m->computations[computation];
	return (struct ss_hlo_body){ c->first, c->ninstrs, ss_hlo_instr_by_id(m, c->root_id) };
}

static uint32_t module_computation(const void *graph, uint32_t instr)
{
	return ((const struct ss_hlo_module_ties *)graph)->links.computation[instr];
}

static bool module_is_parameter(const void *graph, uint32_t instr)
{
	struct ss_hlo_instr in;
	ss_hlo_instr_read(((const struct ss_hlo_module_ties *)graph)->m->instrs[instr], &in);
	return ss_str_is(in.opcode, "parameter");
}

struct ss_hlo_walk ss_hlo_walk_of(const struct ss_hlo_module_ties *t)
{
	return (struct ss_hlo_walk){ t, t->m->ninstrs, t->m->ncomputations, module_list, module_body, module_computation,
				     module_is_parameter };
}

/* ---- near ---- */

static void reach_one(struct ss_hlo_near *near, uint32_t instr, uint32_t distance)
{
	if (near->distance[instr] != SS_NONE)
		return;
	near->distance[instr] = distance;
	near->order[near->n++] = instr;
}

static void reach_all(struct ss_hlo_near *near, struct ss_hlo_list l, uint32_t distance)
{
	for (uint32_t k = 0; k < l.n; k++)
		reach_one(near, l.v[k], distance);
}

/* `entered`, by computation: its parameters were reached before, and no later. */
static void reach_called(struct ss_hlo_near *near, const struct ss_hlo_walk *w, uint32_t at, uint32_t distance, unsigned direction,
			 bool *entered)
{
	struct ss_hlo_list called = w->list(w->graph, at, SS_HLO_CALLED);
	for (uint32_t k = 0; k < called.n; k++) {
		struct ss_hlo_body b = w->body(w->graph, called.v[k]);
		if (direction & SS_HLO_UP && b.root != SS_NONE)
			reach_one(near, b.root, distance);
		for (uint32_t p = b.first; direction & SS_HLO_DOWN && !entered[called.v[k]] && p < b.first + b.n; p++)
			if (w->is_parameter(w->graph, p))
				reach_one(near, p, distance);
		entered[called.v[k]] = true;
	}
}

bool ss_hlo_near_of(struct ss_hlo_near *near, const struct ss_hlo_walk *w, uint32_t centre, uint32_t radius, unsigned direction,
		    bool into_calls, struct ss_arena *arena)
{
	bool *entered = SS_NEW_N(arena, bool, (size_t)w->ncomputations + 1);
	*near = (struct ss_hlo_near){ .order = SS_NEW_N(arena, uint32_t, w->ninstrs),
				      .distance = SS_NEW_N(arena, uint32_t, w->ninstrs) };
	if (!near->order || !near->distance || !entered)
		return false;
	memset(near->distance, 0xff, w->ninstrs * sizeof(*near->distance));
	reach_one(near, centre, 0);
	for (uint32_t head = 0; head < near->n; head++) {
		uint32_t at = near->order[head], next = near->distance[at] + 1;
		if (near->distance[at] >= radius)
			continue;
		if (direction & SS_HLO_UP)
			reach_all(near, w->list(w->graph, at, SS_HLO_OPERANDS), next);
		if (direction & SS_HLO_DOWN)
			reach_all(near, w->list(w->graph, at, SS_HLO_USERS), next);
		if (into_calls)
			reach_called(near, w, at, next, direction, entered);
	}
	return true;
}

/* ---- path ---- */

struct search {
	const struct ss_hlo_walk *w;
	struct ss_hlo_step *by; /* how each instruction was reached: `instr` is the one before */
	uint32_t *depth, *queue, tail; /* depth SS_NONE: not reached */
	bool *entered, *left; /* by computation: all its parameters, all its callers have been reached */
};

static void go(struct search *s, uint32_t from, uint32_t to, enum ss_hlo_relation relation, uint32_t of)
{
	if (s->depth[to] != SS_NONE)
		return;
	s->by[to] = (struct ss_hlo_step){ from, relation, of };
	s->depth[to] = s->depth[from] + 1;
	s->queue[s->tail++] = to;
}

static void go_each(struct search *s, uint32_t from, struct ss_hlo_list to, enum ss_hlo_relation relation)
{
	for (uint32_t k = 0; k < to.n; k++)
		go(s, from, to.v[k], relation, 0);
}

static void enter(struct search *s, uint32_t from, uint32_t computation)
{
	struct ss_hlo_body b = s->w->body(s->w->graph, computation);
	for (uint32_t p = b.first; !s->entered[computation] && p < b.first + b.n; p++)
		if (s->w->is_parameter(s->w->graph, p))
			go(s, from, p, SS_HLO_PARAMETER_OF, computation);
	s->entered[computation] = true;
	if (b.root != SS_NONE)
		go(s, from, b.root, SS_HLO_RESULT_OF, computation);
}

static void leave(struct search *s, uint32_t from, uint32_t computation, enum ss_hlo_relation relation)
{
	if (!s->left[computation])
		go_each(s, from, s->w->list(s->w->graph, computation, SS_HLO_CALLERS), relation);
	s->left[computation] = true;
}

static void expand(struct search *s, uint32_t at, unsigned direction)
{
	const struct ss_hlo_walk *w = s->w;
	uint32_t c = w->computation(w->graph, at);
	bool root = w->body(w->graph, c).root == at;
	if (direction & SS_HLO_DOWN) {
		struct ss_hlo_list called = w->list(w->graph, at, SS_HLO_CALLED);
		go_each(s, at, w->list(w->graph, at, SS_HLO_USERS), SS_HLO_USED_BY);
		for (uint32_t k = 0; k < called.n; k++)
			enter(s, at, called.v[k]);
		if (root)
			leave(s, at, c, SS_HLO_RETURNS_TO);
	}
	if (direction & SS_HLO_UP) {
		go_each(s, at, w->list(w->graph, at, SS_HLO_OPERANDS), SS_HLO_OPERAND);
		if (root || w->is_parameter(w->graph, at))
			leave(s, at, c, SS_HLO_CALLED_FROM);
	}
}

static bool reach(struct search *s, uint32_t from, uint32_t to, unsigned direction, uint32_t most)
{
	memset(s->depth, 0xff, s->w->ninstrs * sizeof(*s->depth));
	memset(s->entered, 0, s->w->ncomputations * sizeof(*s->entered));
	memset(s->left, 0, s->w->ncomputations * sizeof(*s->left));
	s->tail = 0;
	s->by[from] = (struct ss_hlo_step){ .instr = from, .relation = SS_HLO_START };
	s->depth[from] = 0;
	s->queue[s->tail++] = from;
	for (uint32_t head = 0; head < s->tail && s->depth[to] == SS_NONE; head++)
		if (s->depth[s->queue[head]] < most)
			expand(s, s->queue[head], direction);
	return s->depth[to] != SS_NONE;
}

bool ss_hlo_path_of(struct ss_hlo_path *path, const struct ss_hlo_walk *w, uint32_t from, uint32_t to, uint32_t most,
		    struct ss_arena *arena)
{
	static const unsigned directions[] = { SS_HLO_DOWN, SS_HLO_UP, SS_HLO_DOWN | SS_HLO_UP };
	struct search s = { .w = w,
			    .by = SS_NEW_N(arena, struct ss_hlo_step, w->ninstrs),
			    .depth = SS_NEW_N(arena, uint32_t, w->ninstrs),
			    .queue = SS_NEW_N(arena, uint32_t, w->ninstrs),
			    .entered = SS_NEW_N(arena, bool, (size_t)w->ncomputations + 1),
			    .left = SS_NEW_N(arena, bool, (size_t)w->ncomputations + 1) };
	size_t i = 0;
	*path = (struct ss_hlo_path){ .n = 0 };
	if (!s.by || !s.depth || !s.queue || !s.entered || !s.left)
		return false;
	while (i < SS_COUNT(directions) && !reach(&s, from, to, directions[i], most))
		i++;
	if (i == SS_COUNT(directions))
		return true;
	path->n = s.depth[to] + 1;
	path->direction = directions[i];
	path->v = SS_NEW_N(arena, struct ss_hlo_step, path->n);
	if (!path->v)
		return false;
	for (uint32_t k = path->n, at = to; k-- > 0; at = s.by[at].instr)
		path->v[k] = (struct ss_hlo_step){ at, s.by[at].relation, s.by[at].of };
	return true;
}
