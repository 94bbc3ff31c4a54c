/* facts_steps.c - steps of a host, marked and inferred, with what each core did in them. */
#include "model/cluster/skeleton.h"
#include "model/ops/ops.h"
#include "model/reduced/facts.h"
#include "model/reduced/known.h"
#include "model/reduced/pieces.h"
#include "model/steps/inferred.h"

#include "base/safe.h"

#include <stdlib.h>

#define MOST_CATEGORIES 64 /* of a step, whose times are added up */

/* How many of the cats and collectives are of its steps. */
static void count(const struct ss_tpu_core *c, size_t *ncats, size_t *ncollectives)
{
	*ncats = *ncollectives = 0;
	for (size_t i = 0; c->steps && i < c->nsteps; i++) {
		const struct ss_core_step *s = &c->steps[i];
		size_t cats = (size_t)s->first_cat + s->ncats, collectives = (size_t)s->first_collective + s->ncollectives;
		*ncats = cats > *ncats ? cats : *ncats;
		*ncollectives = collectives > *ncollectives ? collectives : *ncollectives;
	}
}

/* The step of a device in the skeleton: most cores are devices, and have the same steps. */
static struct ss_skel_step known_step(const struct ss_pack *p, size_t device, size_t i)
{
	const struct ss_skeleton *s = p->skeleton;
	bool known = s && device < s->devices.n && i < s->devices.v[device].steps.n;
	return known ? s->devices.v[device].steps.v[i] : (struct ss_skel_step){ 0, 0, 0 };
}

/* Writing: the category of each piece that is an operation, from 1. */
static void categories_of_ops(struct ss_pieces *m, const struct ss_tpu_core *c, const struct ss_op_db *ops, uint32_t *category)
{
	for (size_t i = 0; i < ops->n; i++) {
		uint32_t piece = ss_pieces_find(m, ops->v[i].time_ps);
		for (uint32_t k = 0; piece && k < c->ncategories; k++)
			if (ss_str_eq(c->categories[k], ops->v[i].category))
				category[piece] = k + 1;
	}
}

/* The category of each piece, as on the core before. False: `err` tells. */
static bool categories(struct ss_pack *p, const struct ss_tpu_core *c, struct ss_host *h, struct ss_err *err)
{
	struct ss_pieces *m = p->pieces;
	const struct ss_host_ops *ops = p->reading ? NULL : ss_host_ops(h, err);
	uint32_t *now = calloc(m->n, sizeof(*now));
	if ((!p->reading && !ops) || !now) {
		free(now);
		return ops || p->reading ? ss_fail_mem(err) : false;
	}
	if (ops)
		categories_of_ops(m, c, &ops->device, now);
	for (size_t i = 1; i < m->n; i++) {
		if (!m->host[i].any)
			continue;
		PACK_NEAR(p, now[i], m->category[i]);
		p->bad |= now[i] > c->ncategories;
	}
	free(m->category);
	m->category = now;
	return true;
}

/*
 * What the operations of a step add up to, by category: where they stand in the list of the step.
 */
static void expect_step(const struct ss_pieces *m, const struct ss_tpu_core *c, const struct ss_core_step *s, struct ss_items *it,
			struct ss_item *item, bool *more, uint64_t *self_ps)
{
	int64_t end_ps = ss_safe_end(s->begin_ps, s->dur_ps);
	for (; *more && item->begin_ps < end_ps; *more = ss_items_next(it, item)) {
		uint32_t category = m->category[item->piece];
		for (uint32_t k = 0; category && item->begin_ps >= s->begin_ps && k < s->ncats && k < MOST_CATEGORIES; k++)
			if (c->cats[s->first_cat + k].category == category - 1) {
				self_ps[s->first_cat + k] += ss_safe_between(item->begin_ps, item->end_ps);
				break;
			}
	}
}

static void self_times(struct ss_pack *p, struct ss_tpu_core *c, size_t ncats, size_t device)
{
	uint64_t *expected = calloc(ncats + 1, sizeof(*expected));
	struct ss_items it = ss_items_of(p->pieces, device);
	struct ss_item item;
	bool more = ss_items_next(&it, &item);
	p->no_memory |= !expected;
	for (size_t i = 0; expected && i < c->nsteps; i++)
		expect_step(p->pieces, c, &c->steps[i], &it, &item, &more, expected);
	for (size_t i = 0; expected && i < ncats; i++)
		PACK_NEAR(p, c->cats[i].self_ps, expected[i]);
	free(expected);
}

static void core_steps(struct ss_pack *p, struct ss_tpu_core *c, size_t device)
{
	PACK_ARRAY(p, c->steps, c->nsteps, 7);
	struct ss_core_step *s = c->steps;
	size_t n = s ? c->nsteps : 0, ncats, ncollectives;
	PACK_TIMES(p, s, n, group);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, s[i].begin_ps, known_step(p, device, i).begin_ps);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, s[i].dur_ps, known_step(p, device, i).end_ps - known_step(p, device, i).begin_ps);
	PACK_TIMES(p, s, n, first_cat);
	PACK_COLUMN(p, PACK_U, s, n, ncats);
	PACK_TIMES(p, s, n, first_collective);
	PACK_COLUMN(p, PACK_U, s, n, ncollectives);
	count(c, &ncats, &ncollectives);
	size_t cats = ncats, collectives = ncollectives;
	PACK_ARRAY(p, c->cats, cats, 2);
	PACK_ARRAY(p, c->collectives, collectives, 3);
	p->bad |= p->reading && (cats != ncats || collectives != ncollectives);
	if (p->bad || !c->cats || !c->collectives)
		return;
	for (size_t i = 0; i < cats; i++) {
		PACK_U(p, c->cats[i].category);
		p->bad |= c->cats[i].category >= c->ncategories;
	}
	self_times(p, c, cats, device);
	PACK_COLUMN(p, PACK_U, c->collectives, collectives, id);
	PACK_COLUMN(p, PACK_S, c->collectives, collectives, name);
	PACK_COLUMN(p, PACK_U, c->collectives, collectives, time_ps);
}

/* Its steps, and what they point to; nothing of its operations. */
static bool one_core(struct ss_pack *p, struct ss_tpu_core *c, size_t device, struct ss_host *h, struct ss_err *err)
{
	PACK_U(p, c->core_id);
	PACK_I(p, c->replica_id);
	PACK_U(p, c->details.present);
	PACK_U(p, c->details.empty);
	PACK_S(p, c->details.hostname);
	PACK_U(p, c->details.device_ordinal);
	PACK_U(p, c->details.core_num);
	PACK_U(p, c->details.local_chip_id);
	PACK_U(p, c->details.global_chip_id);
	PACK_U(p, c->details.global_core_id);
	PACK_ARRAY(p, c->categories, c->ncategories, 1);
	for (size_t i = 0; c->categories && i < c->ncategories; i++)
		PACK_S(p, c->categories[i]);
	if (!categories(p, c, h, err))
		return false;
	core_steps(p, c, device);
	return true;
}

/* The cores that steps point to, each once. There are few: they are searched from the front. */
struct cores {
	struct ss_tpu_core *v;
	const struct ss_tpu_core **from; /* writing: what they are copies of */
	size_t n;
};

static size_t core_at(const struct cores *cores, const struct ss_tpu_core *c)
{
	size_t i = 0;
	while (i < cores->n && cores->from[i] != c)
		i++;
	return i;
}

/* All steps have the same cores: there are no more than one of them has. */
static bool list_cores(struct cores *cores, const struct ss_steps *s, struct ss_arena *a)
{
	size_t max = 0;
	for (size_t i = 0; i < s->n; i++)
		max = s->v[i].ncores > max ? s->v[i].ncores : max;
	cores->v = SS_NEW_N(a, struct ss_tpu_core, max + 1);
	cores->from = SS_NEW_N(a, const struct ss_tpu_core *, max + 1);
	for (size_t i = 0; cores->v && cores->from && i < s->n; i++)
		for (size_t k = 0; k < s->v[i].ncores; k++) {
			const struct ss_tpu_core *c = s->v[i].cores[k].core;
			if (!c || core_at(cores, c) < cores->n || cores->n == max)
				continue;
			cores->v[cores->n] = *c;
			cores->from[cores->n++] = c;
		}
	return cores->v && cores->from;
}

/* Number of the core from 1, and of its step; 0: none. */
static void place(struct ss_pack *p, struct ss_step_core *c, const struct cores *cores)
{
	size_t at = p->reading || !c->core ? 0 : core_at(cores, c->core) + 1, step = 0;
	PACK_U(p, at);
	p->bad |= at > cores->n;
	if (!at || p->bad)
		return;
	const struct ss_tpu_core *core = &cores->v[at - 1];
	if (!p->reading)
		step = (size_t)(c->step - c->core->steps);
	PACK_U(p, step);
	p->bad |= step >= core->nsteps || !core->steps;
	if (!p->reading || p->bad)
		return;
	c->core = core;
	c->step = &core->steps[step];
}

static void work(struct ss_pack *p, struct ss_step_core *c)
{
	uint64_t *v = (uint64_t *)(uintptr_t)c->work_ps;
	size_t n = v ? SS_WORK_COUNT : 0;
	PACK_ARRAY(p, v, n, 1);
	p->bad |= n != 0 && n != SS_WORK_COUNT;
	uint64_t rest_ps = c->dur_ps;
	for (size_t i = n; v && !p->bad && i-- > 1; rest_ps -= v[i])
		PACK_U(p, v[i]);
	if (v && !p->bad && n)
		PACK_NEAR(p, v[SS_WORK_UNKNOWN], rest_ps); /* they add up to the step */
	if (p->reading)
		c->work_ps = n ? v : NULL;
	p->bad |= c->kind == SS_STEP_BY_WORK && !c->work_ps;
}

/*
 * What the cores say of the i-th step: from the first begin to the last end. Without cores, what
 * the first device says.
 */
static struct ss_core_step step_of_cores(const struct ss_pack *p, const struct cores *cores, size_t i)
{
	struct ss_skel_step known = cores->n ? (struct ss_skel_step){ 0, INT64_MAX, INT64_MIN } : known_step(p, 0, i);
	for (size_t k = 0; k < cores->n; k++) {
		const struct ss_tpu_core *c = &cores->v[k];
		if (!c->steps || i >= c->nsteps)
			continue;
		int64_t begin_ps = c->steps[i].begin_ps, end_ps = ss_safe_end(begin_ps, c->steps[i].dur_ps);
		known.begin_ps = begin_ps < known.begin_ps ? begin_ps : known.begin_ps;
		known.end_ps = end_ps > known.end_ps ? end_ps : known.end_ps;
	}
	return (struct ss_core_step){ .begin_ps = known.begin_ps, .dur_ps = ss_safe_between(known.begin_ps, known.end_ps) };
}

/* What its operations leave of its step. */
static uint64_t left_idle_ps(const struct ss_step_core *c)
{
	if (!c->step || !c->core || !c->core->cats || c->step->ncats > MOST_CATEGORIES)
		return 0;
	uint64_t left = c->dur_ps;
	for (uint32_t i = 0; i < c->step->ncats; i++)
		left -= c->core->cats[c->step->first_cat + i].self_ps;
	return left;
}

static void one_step(struct ss_pack *p, struct ss_step *s, const struct cores *cores, size_t i_step)
{
	struct ss_core_step known = step_of_cores(p, cores, i_step);
	PACK_I(p, s->num);
	PACK_S(p, s->name);
	struct ss_known k = ss_known_device(p->skeleton, 0);
	int64_t end_ps = (int64_t)((uint64_t)s->begin_ps + s->dur_ps);
	ss_pack_known_time(p, &k, &s->begin_ps, known.begin_ps);
	ss_pack_known_time(p, &k, &end_ps, (int64_t)((uint64_t)s->begin_ps + known.dur_ps));
	s->dur_ps = (uint64_t)end_ps - (uint64_t)s->begin_ps;
	struct ss_step_core *v = (struct ss_step_core *)(uintptr_t)s->cores;
	PACK_ARRAY(p, v, s->ncores, 8);
	for (size_t i = 0; v && i < s->ncores && !p->bad; i++) {
		struct ss_step_core *c = &v[i];
		PACK_ENUM(p, c->kind, SS_STEP_SPARSE_CORE + 1);
		PACK_U(p, c->core_id);
		place(p, c, cores);
		p->bad |= c->kind == SS_STEP_TENSOR_CORE && (!c->core || !c->step);
		PACK_NEAR(p, c->begin_ps, c->step ? known.begin_ps : s->begin_ps);
		PACK_NEAR(p, c->dur_ps, c->step ? known.dur_ps : s->dur_ps);
		PACK_NEAR(p, c->idle_ps, left_idle_ps(c));
		PACK_U(p, c->host_input_ps);
		PACK_U(p, c->busy_ps);
		work(p, c);
	}
	if (p->reading)
		s->cores = v;
}

static bool steps(struct ss_pack *p, struct ss_steps *s, struct ss_host *h, struct ss_err *err)
{
	struct ss_arena scratch = { 0 };
	struct cores cores = { .n = 0 };
	if (!p->reading && !list_cores(&cores, s, &scratch)) {
		ss_arena_release(&scratch);
		return ss_fail_mem(err);
	}
	PACK_U(p, s->by_category);
	PACK_U(p, s->no_common);
	PACK_U(p, s->compute_16bit_ps);
	PACK_U(p, s->compute_32bit_ps);
	PACK_ENUM(p, s->inferred.how, SS_INFERRED_FROM_OUTERMOST + 1);
	PACK_S(p, s->inferred.name);
	PACK_S(p, s->inferred.place);
	PACK_F(p, s->inferred.confidence_frac);
	PACK_ARRAY(p, cores.v, cores.n, 12);
	bool ok = true;
	for (size_t i = 0; ok && cores.v && i < cores.n && !p->bad; i++)
		ok = one_core(p, &cores.v[i], i, h, err);
	PACK_ARRAY(p, s->v, s->n, 5);
	for (size_t i = 0; ok && s->v && i < s->n && !p->bad; i++)
		one_step(p, &s->v[i], &cores, i);
	ss_arena_release(&scratch);
	return ok;
}

typedef const struct ss_host_steps *host_steps_fn(struct ss_host *h, struct ss_err *err);

/* *n: how many steps there are. */
static bool of_host(struct ss_pack *p, struct ss_host *h, enum ss_host_part part, host_steps_fn *make, size_t *n,
		    struct ss_err *err)
{
	struct ss_host_steps own, *s = SS_FACTS(p, h, part, make(h, err), &own);
	*n = 0;
	if (!s)
		return p->reading;
	bool ok = steps(p, &s->steps, h, err);
	*n = s->steps.n;
	return ok;
}

/* If the program marked steps, other steps are not needed. */
bool ss_facts_steps(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	size_t marked, inferred;
	return of_host(p, h, SS_HOST_STEPS, ss_host_steps, &marked, err) &&
	       (marked || p->bad || of_host(p, h, SS_HOST_INFERRED_STEPS, ss_host_inferred_steps, &inferred, err));
}
