/*
 * steps.c - steps of one host, and those that several hosts have in common
 * (docs/tools/input_pipeline_analyzer.md).
 *
 * Steps of one number are one step, if the program numbers all of them.
 *
 * XProf, and stepscope where they have no numbers, sees from the time which of them are the same.
 * The host whose steps cover the shortest time is the chief; every other host is shifted by that
 * number of steps at which its steps overlap the chief's the most. What all hosts have then
 * remains, numbered from 0. Hosts whose clocks are a step apart are then shifted by a step.
 */
#include "model/fold.h"

#include "base/vec.h"
#include "model/host/host.h"
#include "model/preprocess/load.h"
#include "model/steps/inferred.h"
#include "model/steps/steps.h"
#include "model/torch/torch.h"

#include <stdlib.h>

static void release_host(void *data)
{
	struct ss_host_steps *s = data;
	free(s->steps.v);
	free(s->cores);
	free(s->work_ps);
	ss_arena_release(&s->arena);
	free(s);
}

typedef bool steps_fn(struct ss_host_steps *out, struct ss_host *h, struct ss_err *err);

static void *build_with(struct ss_host *h, steps_fn *fill, struct ss_err *err)
{
	if (!ss_host_load(h, err))
		return NULL;
	struct ss_host_steps *s = calloc(1, sizeof(*s));
	if (!s) {
		ss_fail_mem(err);
		return NULL;
	}
	if (fill(s, h, err))
		return s;
	release_host(s);
	return NULL;
}

static bool marked_steps(struct ss_host_steps *s, struct ss_host *h, struct ss_err *err)
{
	enum ss_hardware hw = ss_host_hardware(h);
	const struct ss_torch *t = ss_host_torch(h, err);
	if (!t)
		return false;
	if (t->marked)
		return ss_steps_of_torch(s, h, err);
	return hw == SS_HW_TPU ? ss_steps_by_category(s, h, err)
			       : ss_steps_by_work(s, h, hw == SS_HW_GPU, err);
}

static void *build_host(void *owner, struct ss_err *err)
{
	return build_with(owner, marked_steps, err);
}

static void *build_host_inferred(void *owner, struct ss_err *err)
{
	return build_with(owner, ss_steps_infer, err);
}

const struct ss_host_steps *ss_host_inferred_steps(struct ss_host *h, struct ss_err *err)
{
	return ss_part_get(&h->parts[SS_HOST_INFERRED_STEPS], build_host_inferred, release_host, h, err);
}

static const struct ss_host_fact marked_of_host = { SS_HOST_STEPS, build_host, release_host };

const struct ss_host_steps *ss_host_steps(struct ss_host *h, struct ss_err *err)
{
	return ss_host_fact_get(h, &marked_of_host, err);
}

/* ---- the steps of each host ---- */

static bool begin_each(void *data, const struct ss_model *m)
{
	struct ss_each_steps *e = data;
	e->v = SS_NEW_N(&e->intern.arena, const struct ss_host_steps *, m->nhosts + 1);
	e->hardware = SS_NEW_N(&e->intern.arena, enum ss_hardware, m->nhosts + 1);
	e->n = m->nhosts;
	return e->v && e->hardware;
}

static bool take_steps(struct ss_each_steps *e, size_t i, const struct ss_host *h, const struct ss_host_steps *s,
		       struct ss_err *err)
{
	e->hardware[i] = ss_host_hardware(h);
	e->v[i] = s;
	if (!s || !e->intern.copies)
		return true;
	struct ss_host_steps *copy = SS_NEW(&e->intern.arena, struct ss_host_steps);
	e->v[i] = copy;
	return (copy && ss_host_steps_intern(copy, s, &e->intern)) || ss_fail_mem(err);
}

static void release_each(void *data)
{
	struct ss_each_steps *e = data;
	ss_intern_release(&e->intern);
	free(e);
}

/* A file that is no profile says nothing of the steps of others. */
static bool take_marked(void *data, size_t i, struct ss_host *h, const void *fact, struct ss_err *err)
{
	return take_steps(data, i, h, h->source.state == SS_HOST_IS_UNREADABLE ? NULL : fact, err);
}

const struct ss_fold ss_fold_steps = {
	.part = SS_MODEL_HOST_STEPS,
	SS_FOLD_DATA(struct ss_each_steps),
	.begin = begin_each,
	.of = &marked_of_host,
	.take = take_marked,
	.release = release_each,
};

/* If the program marked steps, other steps are not needed: such hosts are ignored. */
static bool read_inferred(struct ss_host *h, struct ss_err *err)
{
	const struct ss_host_steps *marked = ss_host_steps(h, err);
	return marked && (marked->steps.n || ss_host_inferred_steps(h, err));
}

static bool take_inferred(void *data, size_t i, struct ss_host *h, const void *fact, struct ss_err *err)
{
	(void)fact;
	const struct ss_host_steps *marked = ss_host_steps(h, err), *s = NULL;
	if (marked && !marked->steps.n)
		s = ss_host_inferred_steps(h, err);
	return marked && (s || marked->steps.n) && take_steps(data, i, h, s, err);
}

const struct ss_fold ss_fold_inferred_steps = {
	.part = SS_MODEL_HOST_INFERRED_STEPS,
	SS_FOLD_DATA(struct ss_each_steps),
	.begin = begin_each,
	.read = read_inferred,
	.take = take_inferred,
	.release = release_each,
};

/* ---- all hosts together ---- */

/* One host's steps while they are combined. */
struct member {
	const struct ss_step *v;
	size_t n;
	uint32_t host;
	int64_t offset; /* the chief's step i is this host's step i + offset */
	size_t at;	/* its step that is joined next */
};

/* With more than five steps the first and last of a GPU or CPU are left out. */
#define KEEP_ALL_UP_TO 5

static struct member member_of(const struct ss_host_steps *s, uint32_t host, bool whole)
{
	struct member m = { .v = s->steps.v, .n = s->steps.n, .host = host };
	if (whole && !s->steps.by_category && m.n > KEEP_ALL_UP_TO) {
		m.v++;
		m.n -= 2;
	}
	return m;
}

static int64_t end_of(const struct ss_step *s)
{
	return (int64_t)((uint64_t)s->begin_ps + s->dur_ps);
}

static uint64_t covered_ps(const struct member *m)
{
	int64_t begin_ps = INT64_MAX, end_ps = INT64_MIN;
	for (size_t i = 0; i < m->n; i++) {
		if (m->v[i].begin_ps < begin_ps)
			begin_ps = m->v[i].begin_ps;
		if (end_of(&m->v[i]) > end_ps)
			end_ps = end_of(&m->v[i]);
	}
	return m->n ? (uint64_t)end_ps - (uint64_t)begin_ps : 0;
}

static uint64_t overlap_ps(const struct ss_step *a, const struct ss_step *b)
{
	int64_t begin_ps = a->begin_ps > b->begin_ps ? a->begin_ps : b->begin_ps;
	int64_t end_ps = end_of(a) < end_of(b) ? end_of(a) : end_of(b);
	return end_ps > begin_ps ? (uint64_t)end_ps - (uint64_t)begin_ps : 0;
}

/*
 * Offsets of `m` against the chief: 0, 1, 2 ... and -1, -2 ...; of equal overlaps the first in this
 * order. Only pairs of steps that overlap add to their offset; steps follow each other in time, so
 * there are few. (Profiles in which they do not are cut off at PAIRS_PER_STEP pairs a step, to stay
 * linear.)
 */
#define PAIRS_PER_STEP 64

static bool find_offset(struct member *m, const struct member *chief)
{
	size_t n = chief->n + m->n, first = 0, budget = PAIRS_PER_STEP * n;
	uint64_t *sum = calloc(n + 1, sizeof(*sum)); /* at index offset + chief->n */
	if (!sum)
		return false;
	for (size_t i = 0; i < chief->n; i++) {
		while (first < m->n && end_of(&m->v[first]) <= chief->v[i].begin_ps)
			first++;
		for (size_t k = first;
		     k < m->n && m->v[k].begin_ps < end_of(&chief->v[i]) && budget; k++, budget--)
			sum[k + chief->n - i] += overlap_ps(&chief->v[i], &m->v[k]);
	}
	uint64_t best = sum[chief->n];
	m->offset = 0;
	for (size_t k = 1; k < m->n; k++)
		if (sum[chief->n + k] > best) {
			best = sum[chief->n + k];
			m->offset = (int64_t)k;
		}
	for (size_t k = 1; k < chief->n; k++)
		if (sum[chief->n - k] > best) {
			best = sum[chief->n - k];
			m->offset = -(int64_t)k;
		}
	free(sum);
	return true;
}

/* All steps that are marked, those that are whole for certain, or inferred steps. */
enum want { WANT_ALL, WANT_WHOLE, WANT_INFERRED };

struct combined {
	struct ss_steps steps; /* first: what the getter returns points here */
	struct ss_step_core *cores;
	size_t nhosts;	/* of the model: not all take part */
};

static void release_combined(void *data)
{
	struct combined *c = data;
	if (!c)
		return;
	free(c->steps.v);
	free(c->cores);
	free(c);
}

/* The range of the chief's steps that all members have. */
static bool common_range(const struct member *members, size_t n, const struct member *chief,
			 size_t *from, size_t *to)
{
	int64_t lo = 0, hi = (int64_t)chief->n;
	for (size_t i = 0; i < n; i++) {
		if (-members[i].offset > lo)
			lo = -members[i].offset;
		if ((int64_t)members[i].n - members[i].offset < hi)
			hi = (int64_t)members[i].n - members[i].offset;
	}
	*from = (size_t)lo;
	*to = (size_t)(hi > lo ? hi : lo);
	return hi > lo;
}

static int by_core_id(const void *a, const void *b)
{
	const struct ss_step_core *ca = a, *cb = b;
	return SS_CMP(ca->core_id, cb->core_id);
}

/* The step that each member is at, of all together. */
static size_t join_step(struct ss_step *out, struct ss_step_core *cores, const struct member *members, size_t n)
{
	size_t ncores = 0;
	for (size_t k = 0; k < n; k++) {
		const struct ss_step *s = &members[k].v[members[k].at];
		if (k == 0) {
			out->name = s->name;
			out->begin_ps = s->begin_ps;
		}
		out->mixed |= !ss_str_eq(s->name, out->name);
		if (s->dur_ps > out->dur_ps)
			out->dur_ps = s->dur_ps;
		for (size_t c = 0; c < s->ncores; c++) {
			cores[ncores] = s->cores[c];
			cores[ncores].host = members[k].host;
			cores[ncores].core_id += members[k].host * 1000;
			ncores++;
		}
	}
	qsort(cores, ncores, sizeof(*cores), by_core_id);
	out->cores = cores;
	out->ncores = ncores;
	return ncores;
}

/* Room for so many steps with all cores of the members. */
static bool make_room(struct combined *c, const struct member *members, size_t n, size_t nsteps)
{
	size_t ncores = 0;
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < members[k].n; i++)
			ncores += members[k].v[i].ncores;
	c->steps.v = calloc(nsteps + 1, sizeof(*c->steps.v));
	c->cores = malloc((ncores + 1) * sizeof(*c->cores));
	return c->steps.v && c->cores;
}

static bool combine_by_time(struct combined *c, struct member *members, size_t n)
{
	const struct member *chief = &members[0];
	size_t from, to, ncores = 0;
	for (size_t i = 1; i < n; i++)
		if (covered_ps(&members[i]) < covered_ps(chief))
			chief = &members[i];
	for (size_t i = 0; i < n; i++)
		if (&members[i] != chief && !find_offset(&members[i], chief))
			return false;
	if (!common_range(members, n, chief, &from, &to)) {
		for (size_t i = 0; i < n; i++)
			c->steps.no_common |= members[i].n > 0;
		return true;
	}
	if (!make_room(c, members, n, to - from))
		return false;
	for (size_t i = from; i < to; i++) {
		struct ss_step *s = &c->steps.v[c->steps.n];
		for (size_t k = 0; k < n; k++)
			members[k].at = (size_t)((int64_t)i + members[k].offset);
		s->num = (int64_t)c->steps.n++;
		ncores += join_step(s, c->cores + ncores, members, n);
	}
	return true;
}

/* "train 8", "ProfilerStep#8", "8": the number at the end. */
static bool own_number(struct ss_str name, int64_t *num)
{
	size_t at = name.n;
	while (at && name.p[at - 1] >= '0' && name.p[at - 1] <= '9')
		at--;
	return at < name.n && ss_str_to_i64(ss_str_sub(name, at, name.n), num);
}

/* Do all names end in numbers, and do those of each member grow? */
static bool are_numbered(const struct member *members, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		int64_t before = INT64_MIN, num;
		for (size_t i = 0; i < members[k].n; i++, before = num)
			if (!own_number(members[k].v[i].name, &num) || num <= before)
				return false;
	}
	return true;
}

/* The member's step of this number, from the one that it is at. */
static bool go_to_number(struct member *m, int64_t num)
{
	int64_t own = INT64_MIN;
	while (m->at < m->n && own_number(m->v[m->at].name, &own) && own < num)
		m->at++;
	return m->at < m->n && own == num;
}

static bool combine_by_number(struct combined *c, struct member *members, size_t n)
{
	size_t ncores = 0;
	if (!make_room(c, members, n, members[0].n))
		return false;
	for (members[0].at = 0; members[0].at < members[0].n; members[0].at++) {
		struct ss_step *s = &c->steps.v[c->steps.n];
		bool all = own_number(members[0].v[members[0].at].name, &s->num);
		for (size_t k = 1; k < n; k++)
			all &= go_to_number(&members[k], s->num);
		if (!all)
			continue;
		c->steps.n++;
		ncores += join_step(s, c->cores + ncores, members, n);
	}
	c->steps.own_numbers = c->steps.n > 0;
	return true;
}

/* One host: its steps as they are, with XProf's numbers. */
static bool copy_one(struct combined *c, const struct member *m)
{
	c->steps.v = malloc((m->n + 1) * sizeof(*c->steps.v));
	if (!c->steps.v)
		return false;
	for (size_t i = 0; i < m->n; i++)
		c->steps.v[i] = m->v[i];
	c->steps.n = m->n;
	return true;
}

static bool join_as_xprof(struct combined *c, struct member *members, size_t n)
{
	return c->nhosts == 1 ? copy_one(c, &members[0]) : combine_by_time(c, members, n);
}

/* None where the program does not number them, or the hosts have none in common. */
static bool join_numbered(struct combined *c, struct member *members, size_t n)
{
	return !are_numbered(members, n) || combine_by_number(c, members, n);
}

/* The host with the least confidence. */
static void join_inferred(struct ss_inferred *all, const struct ss_inferred *one)
{
	if (one->how != SS_INFERRED_NOT && (all->how == SS_INFERRED_NOT || one->confidence_frac < all->confidence_frac))
		*all = *one;
}

/*
 * Hosts without devices among hosts with some only coordinate: they take no part. Nor do hosts on
 * which no steps were inferred.
 */
static void list_members(const struct ss_each_steps *each, enum want want, struct member *members, size_t *n,
			 struct combined *c)
{
	bool any_device = false;
	for (size_t i = 0; i < each->n; i++)
		any_device |= each->hardware[i] != SS_HW_CPU_ONLY;
	for (size_t i = 0; i < each->n; i++) {
		const struct ss_host_steps *s = each->v[i];
		if ((any_device && each->hardware[i] == SS_HW_CPU_ONLY) || !s || (want == WANT_INFERRED && !s->steps.n))
			continue;
		join_inferred(&c->steps.inferred, &s->steps.inferred);
		c->steps.by_category |= s->steps.by_category;
		c->steps.compute_16bit_ps += s->steps.compute_16bit_ps;
		c->steps.compute_32bit_ps += s->steps.compute_32bit_ps;
		members[(*n)++] = member_of(s, (uint32_t)i, want == WANT_WHOLE);
	}
}

typedef bool join_fn(struct combined *c, struct member *members, size_t n);

static void *build(struct ss_model *m, enum want want, join_fn *join, struct ss_err *err)
{
	struct combined *c = calloc(1, sizeof(*c));
	struct member *members = calloc(m->nhosts + 1, sizeof(*members));
	const struct ss_each_steps *each = ss_fold_get(m, want == WANT_INFERRED ? &ss_fold_inferred_steps : &ss_fold_steps, err);
	size_t n = 0;
	bool ok = (c && members) || ss_fail_mem(err);
	ok = ok && each;
	if (ok)
		c->nhosts = m->nhosts;
	if (ok)
		list_members(each, want, members, &n, c);
	if (ok && n)
		ok = join(c, members, n) || ss_fail_mem(err);
	free(members);
	if (ok)
		return c;
	release_combined(c);
	return NULL;
}

static void *build_whole(void *owner, struct ss_err *err)
{
	return build(owner, WANT_WHOLE, join_as_xprof, err);
}

static void *build_all(void *owner, struct ss_err *err)
{
	return build(owner, WANT_ALL, join_as_xprof, err);
}

const struct ss_steps *ss_model_steps(struct ss_model *m, bool whole, struct ss_err *err)
{
	if (whole)
		return ss_part_get(&m->parts[SS_MODEL_STEPS], build_whole, release_combined, m,
				   err);
	return ss_part_get(&m->parts[SS_MODEL_STEPS_ALL], build_all, release_combined, m, err);
}

static void *build_numbered_whole(void *owner, struct ss_err *err)
{
	return build(owner, WANT_WHOLE, join_numbered, err);
}

static void *build_numbered(void *owner, struct ss_err *err)
{
	return build(owner, WANT_ALL, join_numbered, err);
}

const struct ss_steps *ss_model_numbered_steps(struct ss_model *m, bool whole, struct ss_err *err)
{
	const struct ss_steps *s =
		whole ? ss_part_get(&m->parts[SS_MODEL_NUMBERED_STEPS], build_numbered_whole, release_combined, m, err)
		      : ss_part_get(&m->parts[SS_MODEL_NUMBERED_STEPS_ALL], build_numbered, release_combined, m, err);
	return !s || s->n ? s : ss_model_steps(m, whole, err);
}

static void *build_inferred(void *owner, struct ss_err *err)
{
	return build(owner, WANT_INFERRED, join_as_xprof, err);
}

const struct ss_steps *ss_model_inferred_steps(struct ss_model *m, struct ss_err *err)
{
	return ss_part_get(&m->parts[SS_MODEL_INFERRED_STEPS], build_inferred, release_combined, m, err);
}
