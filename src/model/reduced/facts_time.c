/* facts_time.c - where the time of a host went: its steps, and each moment's class on each of its devices. */
#include "model/attribution/attribution.h"
#include "model/reduced/facts.h"
#include "model/reduced/known.h"

#include <stdlib.h>

#define MOST_STEPS_ON 4 /* steps in which the operation of a collective is looked for */
/*
 * Of each class the largest, and one path in each region. A part has no more: tools compare each
 * with each.
 */
#define MOST_SUBJECTS_OF_UNIT (SS_TIME_COUNT * (SS_MOST_SUBJECTS + SS_REGION_COUNT))

static void windows(struct ss_pack *p, struct ss_windows *w)
{
	PACK_ENUM(p, w->source, SS_STEPS_INFERRED + 1);
	PACK_U(p, w->device_alone);
	PACK_F(p, w->confidence_frac);
	PACK_ARRAY(p, w->v, w->n, 4);
	struct ss_window *v = w->v;
	size_t n = v ? w->n : 0;
	PACK_TIMES(p, v, n, num);
	PACK_TIMES(p, v, n, begin_ps);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].end_ps, v[i].begin_ps);
	PACK_COLUMN(p, PACK_U, v, n, outlier);
	PACK_NEAR(p, w->begin_ps, n ? v[0].begin_ps : 0);
	PACK_NEAR(p, w->end_ps, n ? v[n - 1].end_ps : w->begin_ps);
	PACK_U(p, w->typical_ps);
	PACK_U(p, w->noutliers);
	PACK_U(p, w->ncut);
	PACK_S(p, w->name);
}

static void subjects(struct ss_pack *p, struct ss_known *k, struct ss_time_subject *v, size_t n)
{
	PACK_COLUMN(p, PACK_S, v, n, name);
	PACK_COLUMN(p, PACK_S, v, n, detail);
	PACK_COLUMN(p, PACK_S, v, n, caller);
	for (size_t i = 0; i < n; i++)
		PACK_ENUM(p, v[i].class, SS_TIME_COUNT);
	PACK_COLUMN(p, PACK_U, v, n, on_device);
	PACK_COLUMN(p, PACK_U, v, n, count);
	PACK_COLUMN(p, PACK_F, v, n, flops_frac);
	PACK_COLUMN(p, PACK_F, v, n, bytes_frac);
	for (size_t r = 0; r < SS_REGION_COUNT; r++)
		PACK_COLUMN(p, PACK_U, v, n, ps[r]);
	for (size_t i = 0; i < n; i++) {
		ss_pack_known_time(p, k, &v[i].begin_ps, 0);
		ss_pack_known_time(p, k, &v[i].end_ps, v[i].begin_ps);
	}
}

/* As many steps as there are windows. */
static void steps(struct ss_pack *p, struct ss_time_unit *u, size_t nwindows)
{
	size_t n = u->steps ? nwindows : 0;
	PACK_ARRAY(p, u->steps, n, SS_TIME_COUNT);
	p->bad |= n != 0 && n != nwindows;
	if (!n)
		u->steps = NULL;
	for (size_t c = 0; u->steps && !p->bad && c < SS_TIME_COUNT; c++)
		PACK_COLUMN(p, PACK_U, u->steps, n, ps[c]);
}

/* The operations that devices of a host met at, in the order of their first meeting. */
struct met {
	SS_VEC(uint64_t) digests;
	SS_VEC(uint32_t) behind; /* which came behind it last */
	struct ss_u64map numbers; /* writing */
	const struct ss_windows *w;
};

/* New ones are numbered when their digest is known. False: memory is out. */
static bool know(struct met *m, bool writing, uint64_t digest)
{
	return (!writing || ss_u64map_put(&m->numbers, digest, (uint32_t)m->digests.n)) && ss_vec_push(&m->digests, digest) &&
	       ss_vec_push(&m->behind, 0);
}

static int64_t step_num(const struct met *m, uint64_t window)
{
	return window < m->w->n ? m->w->v[window].num : 0;
}

/* Its step is the one before's or a later one: that in which the operation is known. */
static uint32_t find_met(struct met *m, uint64_t key, uint64_t *window)
{
	for (uint64_t i = 0; i < MOST_STEPS_ON && (!i || *window + i < m->w->n); i++) {
		uint32_t at = ss_u64map_get(&m->numbers, ss_meeting_op(key, step_num(m, *window + i)));
		if (at != SS_NONE) {
			*window += i;
			return at;
		}
	}
	return SS_NONE;
}

/*
 * A key is that of a step and an operation, and steps repeat their operations: how far the number of the operation is from the one
 * that came behind the last one before, and by how many steps it is on.
 */
static void keys(struct ss_pack *p, struct met *m, struct ss_meeting *v, size_t n)
{
	uint64_t window = 0;
	uint32_t first = 0, last = SS_NONE;
	for (size_t i = 0; i < n; i++) {
		uint32_t *behind = last == SS_NONE ? &first : &m->behind.v[last];
		uint64_t now = window, at = p->reading ? 0 : find_met(m, v[i].key, &now), on = now - window;
		at = at == SS_NONE ? m->digests.n : at;
		uint64_t code = ss_pack_zigzag(at - *behind) << 1 | (on != 0);
		PACK_U(p, code);
		if (code & 1)
			PACK_U(p, on);
		at = *behind + ss_pack_unzigzag(code >> 1);
		window += on;
		p->bad |= at > m->digests.n || (window && window >= m->w->n);
		if (p->bad)
			return;
		*behind = last = (uint32_t)at;
		if (at == m->digests.n) {
			uint64_t digest = ss_meeting_op(v[i].key, step_num(m, window));
			PACK_X(p, digest);
			p->no_memory |= !know(m, !p->reading, digest);
		}
		if (p->no_memory)
			return;
		v[i].key = ss_meeting_key(m->digests.v[at], step_num(m, window));
	}
}

static void unit(struct ss_pack *p, struct ss_time_unit *u, size_t device, struct met *m)
{
	struct ss_known k = ss_known_device(p->skeleton, device);
	PACK_S(p, u->device);
	PACK_U(p, u->window_ps);
	for (size_t c = 0; c < SS_TIME_COUNT; c++)
		for (size_t r = 0; r < SS_REGION_COUNT; r++)
			PACK_U(p, u->ps[c][r]);
	PACK_U(p, u->ops);
	PACK_U(p, u->op_ps);
	ss_pack_known_time(p, &k, &u->first_ps, 0);
	ss_pack_known_time(p, &k, &u->last_ps, 0);
	PACK_U(p, u->calls);
	PACK_ARRAY(p, u->subjects, u->nsubjects, 10);
	p->bad |= u->nsubjects > MOST_SUBJECTS_OF_UNIT;
	subjects(p, &k, u->subjects, u->subjects ? u->nsubjects : 0);
	steps(p, u, m->w->n);
	PACK_ARRAY(p, u->collectives.v, u->collectives.n, 2);
	struct ss_meeting *v = u->collectives.v;
	size_t n = v ? u->collectives.n : 0;
	keys(p, m, v, n);
	for (size_t i = 0; i < n; i++)
		ss_pack_known_stay(p, &k, &v[i].dur_ps);
	PACK_U(p, u->collectives.dur_ps);
}

static void memory(struct ss_pack *p, struct ss_memory_trend *m)
{
	PACK_U(p, m->known);
	PACK_S(p, m->allocator);
	PACK_S(p, m->grower);
	if (!m->known)
		return;
	PACK_U(p, m->peak_bytes);
	PACK_U(p, m->capacity_bytes);
	PACK_U(p, m->is_device);
	PACK_F(p, m->fragmentation);
	PACK_U(p, m->free_bytes);
	PACK_U(p, m->steps);
	PACK_U(p, m->grew);
	PACK_U(p, m->first_bytes);
	PACK_U(p, m->last_bytes);
}

static void recompiled(struct ss_pack *p, struct ss_recompiled *r)
{
	PACK_U(p, r->programs);
	PACK_S(p, r->changed);
	PACK_U(p, r->once);
	PACK_U(p, r->traced);
	PACK_U(p, r->compiled);
	PACK_U(p, r->gave_up);
	PACK_I(p, r->frame);
	PACK_I(p, r->version);
	PACK_S(p, r->function);
}

bool ss_facts_time(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	struct ss_time_host own, *t = SS_FACTS(p, h, SS_HOST_ATTRIBUTION, ss_host_attribution(h, err), &own);
	if (!t)
		return p->reading;
	PACK_S(p, t->name);
	PACK_ENUM(p, t->hardware, SS_HW_TPU + 1);
	PACK_S(p, t->device_type);
	PACK_U(p, t->frameworks);
	PACK_U(p, t->habits);
	PACK_U(p, t->has_python);
	PACK_U(p, t->has_host);
	PACK_U(p, t->silent_thread);
	PACK_S(p, t->thread);
	windows(p, &t->windows);
	if (p->reading)
		ss_facts_put(h, SS_HOST_WINDOWS, &t->windows);
	PACK_ARRAY(p, t->units, t->nunits, 20);
	p->bad |= t->nunits > SS_MOST_UNITS + 1; /* the program on the CPU is one as well */
	struct met met = { .w = &t->windows };
	for (size_t i = 0; t->units && i < t->nunits; i++)
		unit(p, &t->units[i], i, &met);
	ss_vec_free(&met.digests);
	ss_vec_free(&met.behind);
	ss_u64map_free(&met.numbers);
	PACK_U(p, t->units_left_out);
	memory(p, &t->memory);
	PACK_U(p, t->precision.wide_ps);
	PACK_U(p, t->precision.narrow_ps);
	PACK_S(p, t->precision.wide_kernel);
	PACK_U(p, t->precision.wide_kernel_ps);
	recompiled(p, &t->recompiled);
	struct ss_known nothing = ss_known_device(NULL, 0);
	subjects(p, &nothing, &t->input, 1);
	PACK_U(p, t->python_input);
	PACK_U(p, t->dropped);
	return true;
}
