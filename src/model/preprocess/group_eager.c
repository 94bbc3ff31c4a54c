/*
 * group_eager.c - which TensorFlow operations and kernels were run one by one, rather than as part
 * of a function.
 *
 * An operation is eager if the nearest EagerExecute around it, or around what caused it, did not
 * run a function (its stat is_func is there and 0). Profiles without EagerExecute, as JAX writes
 * them, need no search.
 */
#include "model/preprocess/group.h"

#include <stdlib.h>

enum { UNKNOWN = 0, NONE, FUNCTION, EAGER };

struct eager {
	struct ss_grouping *g;
	int8_t **state;		/* per line, per event; NULL: not found out yet */
};

static int8_t state_of_execute(const struct ss_forest_line *fl, uint32_t i)
{
	struct ss_xstat s;
	bool found = ss_xstats_find(ss_line_stats(fl->p, fl->l, i), SS_STAT_IS_FUNC, &s);
	return found && ss_xstat_int(&s) == 0 ? EAGER : FUNCTION;
}

static bool is_execute(const struct ss_forest_line *fl, uint32_t i)
{
	return ss_event_type_at(fl->reader->types, fl->p, fl->l->ev.meta[i]) == SS_EV_EAGER_EXECUTE;
}

static bool visit(void *arg, const struct ss_forest *f, struct ss_node n)
{
	const struct ss_forest_line *fl = &f->lines[n.line];
	if (!is_execute(fl, n.event))
		return false;
	*(int8_t *)arg = state_of_execute(fl, n.event);
	return true;
}

/* The number of events that caused this one, and one of them. */
static uint32_t count_causes(const struct ss_forest *f, struct ss_node n, size_t link, struct ss_node *cause)
{
	const struct ss_forest_line *fl = &f->lines[n.line];
	uint32_t causes = 0;
	for (; link < fl->in.n && fl->in.v[link].event == n.event; link++) {
		if (fl->in.v[link].link_group == SS_NONE)
			continue;
		const struct ss_link_group *b = &f->link_groups[fl->in.v[link].link_group];
		causes += b->nproducers;
		*cause = f->producers[b->first_producer];
	}
	return causes;
}

/*
 * What linked events say, and those around. A single cause on a line that was done before is known,
 * as that of a kernel mostly is; otherwise the nearest is searched.
 */
static bool state_by_links(struct eager *e, struct ss_node n, size_t link, int8_t around, int8_t *state,
			  struct ss_err *err)
{
	struct ss_node cause;
	bool found;
	uint32_t causes = count_causes(&e->g->forest, n, link, &cause);
	*state = around;
	if (!causes)
		return true;
	if (causes == 1 && cause.line != n.line && e->state[cause.line]) {
		if (e->state[cause.line][cause.event] != NONE)
			*state = e->state[cause.line][cause.event];
		return true;
	}
	*state = NONE;
	/* If the enclosing events give no answer, they need not be searched again. */
	if (around == NONE && causes == 1)
		n = cause;
	return ss_forest_ancestor(&e->g->forest, n, true, visit, state, &found, err);
}

static bool find_states(struct eager *e, uint32_t line, struct ss_err *err)
{
	struct ss_forest_line *fl = &e->g->forest.lines[line];
	struct ss_nest_walk w = { .line = fl };
	uint32_t n = fl->l->ev.n;
	int8_t *state = malloc((size_t)n + 1);
	size_t link = 0;
	bool ok = state || ss_fail_mem(err);
	for (uint32_t i = 0; ok && i < n; i++) {
		enum ss_nest_entered entered = ss_nest_walk_enter(&w, i);
		uint32_t parent = entered == SS_NEST_ENTERED ? ss_nest_walk_parent(&w) : SS_NONE;
		int8_t around = parent != SS_NONE ? state[parent] : NONE;
		while (link < fl->in.n && fl->in.v[link].event < i)
			link++;
		state[i] = around;
		if (entered == SS_NEST_NO_MEMORY)
			ok = ss_fail_mem(err);
		else if (is_execute(fl, i))
			state[i] = state_of_execute(fl, i);
		else if (link < fl->in.n && fl->in.v[link].event == i)
			ok = state_by_links(e, (struct ss_node){ line, i }, link, around, &state[i], err);
	}
	ss_vec_free(&w.open);
	e->state[line] = state;
	return ok;
}

/* Operations by their names, kernels by their links. */
static bool mark(struct eager *e, uint32_t line)
{
	const struct ss_forest_line *fl = &e->g->forest.lines[line];
	struct ss_line *l = fl->l;
	const int8_t *state = e->state[line];
	l->eager = malloc((size_t)l->ev.n + 1);
	if (!l->eager)
		return false;
	for (uint32_t i = 0; i < l->ev.n; i++) {
		enum ss_event_type t = ss_event_type_at(fl->reader->types, fl->p, l->ev.meta[i]);
		bool op = t == SS_EV_TF_OP_RUN || t == SS_EV_KERNEL_EXECUTE;
		l->eager[i] = op ? (state && state[i] == EAGER) : -1;
	}
	for (size_t k = 0; k < fl->in.n; k++)
		if (ss_event_link_kind_of(fl->in.v[k].key) == SS_EVENT_LINK_KERNEL) {
			uint32_t i = fl->in.v[k].event;
			l->eager[i] = state && state[i] == EAGER;
		}
	return true;
}

bool ss_group_eager(struct ss_grouping *g, struct ss_err *err)
{
	struct ss_forest *f = &g->forest;
	struct eager e = { .g = g };
	bool ok = true;
	e.state = calloc((size_t)f->nlines + 1, sizeof(*e.state));
	if (!e.state)
		return ss_fail_mem(err);
	/* Host lines first: kernels ask about their launches. */
	for (int device = 0; f->has_eager && device <= 1; device++)
		for (uint32_t i = 0; ok && i < f->nlines; i++)
			if (f->lines[i].is_nested && (f->lines[i].p->kind != SS_PLANE_HOST_CPU) == device)
				ok = find_states(&e, i, err);
	for (uint32_t i = 0; ok && i < f->nlines; i++)
		if (f->lines[i].has_ops)
			ok = mark(&e, i) || ss_fail_mem(err);
	for (uint32_t i = 0; i < f->nlines; i++)
		free(e.state[i]);
	free(e.state);
	return ok;
}
