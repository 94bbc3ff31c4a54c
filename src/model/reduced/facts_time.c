/*
 * facts_time.c - where the time of a host went: its steps, and each moment's class on each of its
 * devices.
 */
#include "model/attribution/attribution.h"
#include "model/reduced/facts.h"
#include "model/reduced/known.h"
#include "model/reduced/pieces.h"
#include "model/steps/inferred.h"

#include <stdlib.h>

#define MOST_STEPS_ON 4 /* steps in which the operation of a collective is looked for */
/*
 * Of each class the largest, and one path in each region. A part has no more: tools compare each
 * with each.
 */
#define MOST_SUBJECTS_OF_UNIT (SS_TIME_COUNT * (SS_MOST_SUBJECTS + SS_REGION_COUNT))

/* The steps that windows are made of, where they are. */
static const struct ss_steps *steps_of(struct ss_host *h)
{
	struct ss_err none = { 0 };
	const struct ss_host_steps *s = ss_host_steps(h, &none);
	if (s && !s->steps.n)
		s = ss_host_inferred_steps(h, &none);
	return s ? &s->steps : NULL;
}

/* The window of typical length, from 1; 0: it is of none. */
static void typical(struct ss_pack *p, struct ss_windows *w, size_t n)
{
	uint64_t at = 0;
	for (size_t i = 0; !p->reading && i < n && !at; i++)
		at = (uint64_t)w->v[i].end_ps - (uint64_t)w->v[i].begin_ps == w->typical_ps ? i + 1 : 0;
	PACK_U(p, at);
	p->bad |= at > n;
	if (!at || p->bad)
		PACK_U(p, w->typical_ps);
	else
		w->typical_ps = (uint64_t)w->v[at - 1].end_ps - (uint64_t)w->v[at - 1].begin_ps;
}

static void windows(struct ss_pack *p, struct ss_windows *w, struct ss_host *h)
{
	const struct ss_steps *known = steps_of(h);
	struct ss_known k = ss_known_device(p->skeleton, 0);
	PACK_ENUM(p, w->source, SS_STEPS_INFERRED + 1);
	PACK_U(p, w->device_alone);
	PACK_F(p, w->confidence_frac);
	PACK_ARRAY(p, w->v, w->n, 4);
	struct ss_window *v = w->v;
	size_t n = v ? w->n : 0;
	PACK_TIMES(p, v, n, num);
	for (size_t i = 0; i < n; i++)
		ss_pack_known_time(p, &k, &v[i].begin_ps, known && i < known->n ? known->v[i].begin_ps : i ? v[i - 1].begin_ps : 0);
	for (size_t i = 0; i < n; i++)
		ss_pack_known_time(p, &k, &v[i].end_ps,
				   (int64_t)((uint64_t)v[i].begin_ps + (known && i < known->n ? known->v[i].dur_ps : 0)));
	PACK_COLUMN(p, PACK_U, v, n, outlier);
	PACK_NEAR(p, w->begin_ps, n ? v[0].begin_ps : 0);
	PACK_NEAR(p, w->end_ps, n ? v[n - 1].end_ps : w->begin_ps);
	typical(p, w, n);
	PACK_U(p, w->noutliers);
	PACK_U(p, w->ncut);
	PACK_S(p, w->name);
}

/* Where the longest execution of an operation is, the time is looked for first. */
static void look_at(struct ss_known *k, const struct ss_piece *piece)
{
	*(piece->is_comm ? &k->comm : &k->span) = piece->longest;
}

static void subjects(struct ss_pack *p, struct ss_known *k, struct ss_time_subject *v, size_t n)
{
	uint32_t pieces[MOST_SUBJECTS_OF_UNIT];
	for (size_t i = 0; i < n && i < MOST_SUBJECTS_OF_UNIT; i++) {
		PACK_S(p, v[i].name);
		pieces[i] = k->d ? ss_pieces_named(p->pieces, p->text) : 0;
	}
	PACK_COLUMN(p, PACK_S, v, n, detail);
	PACK_COLUMN(p, PACK_S, v, n, caller);
	for (size_t i = 0; i < n; i++)
		PACK_ENUM(p, v[i].class, SS_TIME_COUNT);
	PACK_COLUMN(p, PACK_U, v, n, on_device);
	PACK_COLUMN(p, PACK_U, v, n, count);
	PACK_COLUMN(p, PACK_F, v, n, flops_frac);
	PACK_COLUMN(p, PACK_F, v, n, bytes_frac);
	for (size_t r = 0; r < SS_REGION_COUNT; r++)
		for (size_t i = 0; i < n; i++)
			PACK_NEAR(p, v[i].ps[r], r == SS_REGION_STEPS ? p->pieces->device[pieces[i]].ps : 0);
	for (size_t i = 0; i < n; i++) {
		if (pieces[i])
			look_at(k, &p->pieces->device[pieces[i]]);
		ss_pack_known_time(p, k, &v[i].begin_ps, 0);
		ss_pack_known_time(p, k, &v[i].end_ps, v[i].begin_ps);
	}
}

/* What other classes leave of a time is unknown. */
static void rest_is_unknown(uint64_t *unknown_ps, const uint64_t *ps, size_t apart, uint64_t all_ps)
{
	for (size_t c = 0; c < SS_TIME_UNKNOWN; c++)
		all_ps -= ps[c * apart];
	*unknown_ps = all_ps;
}

/* As many steps as there are windows. */
static void steps(struct ss_pack *p, struct ss_time_unit *u, size_t device, const struct ss_windows *w)
{
	size_t n = u->steps ? w->n : 0;
	PACK_ARRAY(p, u->steps, n, SS_TIME_COUNT);
	p->bad |= n != 0 && n != w->n;
	if (!n)
		u->steps = NULL;
	struct ss_unit_step *expected = u->steps && !p->bad ? calloc(n, sizeof(*expected)) : NULL;
	p->no_memory |= u->steps && !p->bad && !expected;
	ss_pieces_device(p->pieces, device, w, expected);
	for (size_t c = 0; expected && c < SS_TIME_COUNT; c++)
		for (size_t i = 0; i < n; i++) {
			uint64_t ps = expected[i].ps[c];
			if (c == SS_TIME_UNKNOWN)
				rest_is_unknown(&ps, u->steps[i].ps, 1, (uint64_t)w->v[i].end_ps - (uint64_t)w->v[i].begin_ps);
			PACK_NEAR(p, u->steps[i].ps[c], ps);
		}
	free(expected);
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
 * A key is that of a step and an operation, and steps repeat their operations: how far the number
 * of the operation is from the one that came behind the last one before, and by how many steps it
 * is on.
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

/* The times of the whole are those of the steps, and what is between them. */
static void classes(struct ss_pack *p, struct ss_time_unit *u, const struct ss_windows *w)
{
	uint64_t expected[SS_TIME_COUNT][SS_REGION_COUNT] = { 0 }, rest_ps = u->window_ps;
	for (size_t i = 0; u->steps && !p->bad && i < w->n; i++)
		for (size_t c = 0; c < SS_TIME_COUNT; c++)
			expected[c][w->v[i].outlier ? SS_REGION_OUTLIERS : SS_REGION_STEPS] += u->steps[i].ps[c];
	for (size_t c = 0; c < SS_TIME_COUNT; c++)
		for (size_t r = 0; r < SS_REGION_COUNT; r++) {
			bool last = c == SS_TIME_UNKNOWN && r == SS_REGION_BETWEEN;
			PACK_NEAR(p, u->ps[c][r], last ? rest_ps : expected[c][r]);
			rest_ps -= u->ps[c][r];
		}
}

static uint64_t sum_of_pieces(const struct ss_pieces *m)
{
	uint64_t ps = 0;
	for (size_t i = 1; i < m->n; i++)
		ps += m->device[i].ps;
	return ps;
}

static void unit(struct ss_pack *p, struct ss_time_unit *u, size_t device, struct met *m)
{
	struct ss_known k = ss_known_device(p->skeleton, device);
	PACK_S(p, u->device);
	PACK_NEAR(p, u->window_ps, (uint64_t)m->w->end_ps - (uint64_t)m->w->begin_ps);
	steps(p, u, device, m->w);
	classes(p, u, m->w);
	PACK_U(p, u->ops);
	PACK_NEAR(p, u->op_ps, sum_of_pieces(p->pieces));
	ss_pack_known_time(p, &k, &u->first_ps, 0);
	ss_pack_known_time(p, &k, &u->last_ps, 0);
	PACK_U(p, u->calls);
	PACK_ARRAY(p, u->subjects, u->nsubjects, 10);
	p->bad |= u->nsubjects > MOST_SUBJECTS_OF_UNIT;
	subjects(p, &k, u->subjects, u->subjects && !p->bad ? u->nsubjects : 0);
	PACK_ARRAY(p, u->collectives.v, u->collectives.n, 2);
	struct ss_meeting *v = u->collectives.v;
	size_t n = v ? u->collectives.n : 0;
	keys(p, m, v, n);
	for (size_t i = 0; i < n; i++)
		ss_pack_known_stay(p, &k, &v[i].dur_ps);
	uint64_t met_ps = 0;
	for (size_t i = 0; i < n; i++)
		met_ps += v[i].dur_ps;
	PACK_NEAR(p, u->collectives.dur_ps, met_ps);
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

static void more_often(struct ss_pack *p, struct ss_more_often *m)
{
	PACK_S(p, m->name);
	PACK_U(p, m->slow);
	PACK_U(p, m->usual);
	PACK_U(p, m->varies);
	PACK_U(p, m->more_ps);
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
	windows(p, &t->windows, h);
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
	PACK_S(p, t->extra);
	PACK_U(p, t->extra_ps);
	more_often(p, &t->more_often);
	recompiled(p, &t->recompiled);
	struct ss_known nothing = ss_known_device(NULL, 0);
	subjects(p, &nothing, &t->input, 1);
	PACK_U(p, t->python_input);
	PACK_U(p, t->dropped);
	return true;
}
