/* skeleton_model.c - see skeleton_column.h: what a packed skeleton's next value is expected to be. */
#include "model/cluster/skeleton_column.h"

#include <stdlib.h>

static uint64_t twin_key(const struct ss_skel_op *o)
{
	return ss_mix(ss_str_hash(o->name), o->program_id ^ (uint64_t)o->kind << 56);
}

/* Starts and dones bear the name of their collective. Operations that collide are guessed worse. */
static bool find_twins(struct ss_skel_model *m, const struct ss_skeleton *s)
{
	struct ss_u64map starts = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < s->ops.n; i++)
		if (s->ops.v[i].cls == SS_SPAN_COMM)
			ok = ss_u64map_add(&starts, twin_key(&s->ops.v[i]), (uint32_t)i) != SS_NONE;
	for (size_t i = 0; ok && i < s->ops.n; i++)
		m->ops[i].twin = s->ops.v[i].cls == SS_SPAN_COLLECTIVE ? ss_u64map_get(&starts, twin_key(&s->ops.v[i])) : SS_NONE;
	ss_u64map_free(&starts);
	return ok;
}

bool ss_skel_model_init(struct ss_skel_model *m, const struct ss_skeleton *s)
{
	size_t slots = 256;
	while (slots < 4 * s->ops.n)
		slots *= 2;
	*m = (struct ss_skel_model){ .nops = s->ops.n, .ops = calloc(s->ops.n + 1, sizeof(*m->ops)),
				     .behind = calloc(slots, sizeof(*m->behind)), .behind_mask = slots - 1 };
	return m->ops && m->behind && find_twins(m, s);
}

bool ss_skel_model_device(struct ss_skel_model *m, size_t nspans)
{
	m->device++;
	m->launch = 0;
	memset(m->before, 0, sizeof(m->before));
	memset(m->stream_end, 0, sizeof(m->stream_end));
	if (nspans <= m->next_room && m->next)
		return true;
	free(m->next);
	m->next_room = nspans + nspans / 4;
	m->next = malloc((m->next_room + 1) * sizeof(*m->next));
	return m->next;
}

void ss_skel_model_span(struct ss_skel_model *m, uint32_t span, uint32_t op)
{
	struct ss_skel_known *g = &m->ops[op];
	m->next[span] = SS_NONE;
	if (g->device != m->device) {
		g->device = m->device;
		g->cursor = span;
	} else {
		m->next[g->tail] = span;
	}
	g->tail = span;
}

uint32_t ss_skel_model_start(const struct ss_skel_model *m, uint32_t op, unsigned hops)
{
	const struct ss_skel_known *t = m->ops[op].twin == SS_NONE ? NULL : &m->ops[m->ops[op].twin];
	uint32_t at = t && t->device == m->device ? t->cursor : SS_NONE;
	for (; hops && at != SS_NONE; hops--)
		at = m->next[at];
	return at;
}

uint32_t ss_skel_model_done(struct ss_skel_model *m, uint32_t op, uint32_t start)
{
	uint32_t done = start == SS_NONE ? SS_NONE : m->next[start];
	if (start != SS_NONE)
		m->ops[m->ops[op].twin].cursor = done == SS_NONE ? SS_NONE : m->next[done];
	return done;
}

void ss_skel_model_free(struct ss_skel_model *m)
{
	free(m->ops);
	free(m->behind);
	free(m->next);
}
