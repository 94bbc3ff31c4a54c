/*
 * duty.c - for how much of the time TPU chips had work (docs/tools/overview_page.md).
 *
 * The time of an operation is its own without that of operations inside: waiting within a loop is
 * waiting. A core works while an operation runs that is not waiting for somebody else. Cores of one
 * chip share its duty: the chip works while any of them does. Works on host timespans of the
 * columns alone; stats are read for custom-calls without a stated cost only.
 */
#include "model/device/duty.h"

#include "model/device/core_details.h"
#include "model/device/env.h"
#include "model/device/op_facts.h"
#include "model/fold.h"
#include "model/host/host.h"
#include "model/host/opname.h"
#include "model/preprocess/load.h"

#include "base/vec.h"

#include <stdlib.h>

struct interval {
	int64_t begin_ps, end_ps;
};

/*
 * A union of intervals and its length. As long as they come in the order of time nothing but the
 * last is remembered; a chip with several cores, or a line in another order, needs them all.
 */
struct cover {
	SS_VEC(struct interval) v;
	bool keep; /* remember them all */
	struct interval last;
	bool any;
	uint64_t sum_ps;   /* of those before the last */
	int64_t before_ps; /* where the one before the last ends */
};

static bool add_interval(struct cover *c, int64_t begin_ps, int64_t end_ps)
{
	if (c->any && end_ps >= c->last.begin_ps && begin_ps <= c->last.end_ps) {
		if (end_ps > c->last.end_ps)
			c->last.end_ps = end_ps;
		if (begin_ps < c->last.begin_ps)
			c->last.begin_ps =
				c->keep || begin_ps > c->before_ps ? begin_ps : c->before_ps;
		return true;
	}
	if (c->any && c->keep && !ss_vec_push(&c->v, c->last))
		return false;
	if (c->any)
		c->sum_ps += (uint64_t)c->last.end_ps - (uint64_t)c->last.begin_ps;
	c->before_ps = c->any ? c->last.end_ps : INT64_MIN;
	c->last = (struct interval){ begin_ps, end_ps };
	c->any = true;
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct interval *ia = a, *ib = b;
	return SS_CMP(ia->begin_ps, ib->begin_ps);
}

/* Length of the union; false when memory is out. */
static bool covered(struct cover *c, uint64_t *sum_ps)
{
	*sum_ps = c->sum_ps + ((uint64_t)c->last.end_ps - (uint64_t)c->last.begin_ps);
	if (!c->keep)
		return true;
	if (!ss_vec_push(&c->v, c->last))
		return false;
	qsort(c->v.v, c->v.n, sizeof(*c->v.v), by_begin);
	int64_t end_ps = INT64_MIN;
	*sum_ps = 0;
	for (size_t i = 0; i < c->v.n; i++) {
		int64_t begin_ps = c->v.v[i].begin_ps > end_ps ? c->v.v[i].begin_ps : end_ps;
		if (c->v.v[i].end_ps > begin_ps) {
			*sum_ps += (uint64_t)c->v.v[i].end_ps - (uint64_t)begin_ps;
			end_ps = c->v.v[i].end_ps;
		}
	}
	return true;
}

struct chip {
	struct cover active;
	struct cover high_confidence; /* not kept as long as it is the same */
	bool differ;
	int64_t first_ps, last_ps;
	bool any;
};

/* The state of the core while an event of a given metadata runs. */
enum activity { UNKNOWN, WAITING, WORKING, PERHAPS };

static enum activity activity_of(const struct ss_xplane *x, uint32_t meta)
{
	struct ss_op_facts f;
	ss_op_facts_read(&f, x, meta);
	if (ss_hlo_is_off_duty(f.category))
		return WAITING;
	if (!ss_str_is(f.category, "custom-call") || f.cost.flops > 0 || f.cost.model_flops > 0)
		return WORKING;
	return PERHAPS;
}

static bool event_states_cost(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	struct ss_xstats it = ss_line_stats(p, l, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s))
		if ((s.stat == SS_STAT_FLOPS || s.stat == SS_STAT_MODEL_FLOPS) && (int64_t)ss_xstat_int_or_uint(&s) > 0)
			return true;
	return false;
}

static void extend(struct chip *c, const struct ss_line *l, uint32_t i)
{
	int64_t begin_ps = l->ev.begin_ps[i], end_ps = ss_xevents_end_ps(&l->ev, i);
	if (!c->any || begin_ps < c->first_ps)
		c->first_ps = begin_ps;
	if (!c->any || end_ps > c->last_ps)
		c->last_ps = end_ps;
	c->any = true;
}

/* An operation that is running, inside of which others may run. */
struct running {
	int64_t begin_ps, end_ps;
	int64_t from_ps; /* up to where its time was given away */
	bool active, high_confidence;
};

struct walk {
	struct chip *c;
	const struct ss_plane *p;
	uint8_t *known; /* enum activity by event metadata */
	SS_VEC(struct running) stack;
};

/* The first time that is active and not surely so: up to here both were the same. */
static bool part_covers(struct chip *c)
{
	struct cover *to = &c->high_confidence;
	*to = c->active;
	to->v.v = NULL;
	to->v.n = to->v.cap = 0;
	c->differ = true;
	if (!ss_vec_reserve(&to->v, c->active.v.n + 1))
		return false;
	for (; to->v.n < c->active.v.n; to->v.n++)
		to->v.v[to->v.n] = c->active.v.v[to->v.n];
	return true;
}

/* The operation had the time up to `to_ps` for itself. */
static bool give(struct walk *w, struct running *r, int64_t to_ps)
{
	int64_t from_ps = r->from_ps;
	if (to_ps <= from_ps)
		return true;
	r->from_ps = to_ps;
	if (r->active != r->high_confidence && !w->c->differ && !part_covers(w->c))
		return false;
	return (!r->active || add_interval(&w->c->active, from_ps, to_ps)) &&
	       (!r->high_confidence || !w->c->differ || add_interval(&w->c->high_confidence, from_ps, to_ps));
}

/* End what does not include [begin_ps, end_ps). */
static bool pop_until(struct walk *w, int64_t begin_ps, int64_t end_ps)
{
	while (w->stack.n) {
		struct running *top = &w->stack.v[w->stack.n - 1];
		if (top->begin_ps <= begin_ps && end_ps <= top->end_ps)
			return true;
		if (!give(w, top, top->end_ps))
			return false;
		w->stack.n--;
	}
	return true;
}

static bool add_op(struct walk *w, const struct ss_line *l, uint32_t i)
{
	uint32_t meta = l->ev.meta[i];
	enum activity a = WORKING;
	if (meta < w->p->x->nevent_meta) {
		if (w->known[meta] == UNKNOWN)
			w->known[meta] = (uint8_t)activity_of(w->p->x, meta);
		a = (enum activity)w->known[meta];
	}
	int64_t begin_ps = l->ev.begin_ps[i], end_ps = ss_xevents_end_ps(&l->ev, i);
	struct running r = { begin_ps, end_ps, begin_ps, a != WAITING, a == WORKING };
	if (a == PERHAPS)
		r.high_confidence = event_states_cost(w->p, l, i);
	extend(w->c, l, i);
	if (!pop_until(w, begin_ps, end_ps))
		return false;
	if (w->stack.n) {
		struct running *around = &w->stack.v[w->stack.n - 1];
		if (!give(w, around, begin_ps))
			return false;
		around->from_ps = end_ps > around->from_ps ? end_ps : around->from_ps;
	}
	return ss_vec_push(&w->stack, r);
}

struct place {
	const struct ss_xevents *ev;
	uint32_t event;
};

static int by_place(const void *a, const void *b)
{
	const struct place *pa = a, *pb = b;
	const struct ss_xevents *ev = pa->ev;
	return SS_CMP(ev->begin_ps[pa->event], ev->begin_ps[pb->event]) ?:
	       SS_CMP(ev->dur_ps[pb->event], ev->dur_ps[pa->event]) ?: SS_CMP(pa->event, pb->event);
}

/* The order of time, where the file has another; NULL when memory is out. */
static struct place *order_of(const struct ss_line *l)
{
	struct place *v = malloc(((size_t)l->ev.n + 1) * sizeof(*v));
	for (uint32_t i = 0; v && i < l->ev.n; i++)
		v[i] = (struct place){ &l->ev, i };
	if (v)
		qsort(v, l->ev.n, sizeof(*v), by_place);
	return v;
}

static bool add_line(struct walk *w, const struct ss_line *l)
{
	struct place *order = l->ev.sorted ? NULL : order_of(l);
	bool ok = order || l->ev.sorted;
	for (uint32_t i = 0; ok && i < l->ev.n; i++)
		ok = add_op(w, l, order ? order[i].event : i);
	/* Nothing includes all of time. */
	ok = ok && pop_until(w, INT64_MIN, INT64_MAX);
	w->stack.n = 0;
	free(order);
	return ok;
}

static bool add_plane(struct chip *c, const struct ss_plane *p)
{
	struct walk w = { .c = c, .p = p, .known = calloc((size_t)p->x->nevent_meta + 1, 1) };
	bool ok = w.known;
	for (uint32_t k = 0; ok && k < p->nlines; k++) {
		const struct ss_line *l = &p->lines[k];
		if (ss_str_is(l->name, "XLA Ops") || ss_str_is(l->name, "Sparse Core Ops"))
			ok = add_line(&w, l);
		else if (ss_str_is(l->name, "XLA Modules") ||
			 ss_str_is(l->name, "Sparse Core Modules"))
			for (uint32_t i = 0; i < l->ev.n; i++)
				extend(c, l, i);
	}
	free(w.known);
	ss_vec_free(&w.stack);
	return ok;
}

/* The sums of one chip, which is then over. */
static bool close_chip(struct chip *c, struct ss_duty *out)
{
	uint64_t span_ps = c->any ? (uint64_t)c->last_ps - (uint64_t)c->first_ps : 0, busy_ps,
		 high_confidence_ps;
	if (!covered(&c->active, &busy_ps) || (c->differ && !covered(&c->high_confidence, &high_confidence_ps)))
		return false;
	if (!c->differ)
		high_confidence_ps = busy_ps;
	out->busy_ps += busy_ps;
	out->idle_ps += span_ps > busy_ps ? span_ps - busy_ps : 0;
	out->busy_high_confidence_ps += high_confidence_ps;
	out->idle_high_confidence_ps += span_ps > high_confidence_ps ? span_ps - high_confidence_ps : 0;
	return true;
}

/* Are the ops of the plane all on one line? */
static bool is_one_line(const struct ss_plane *p)
{
	unsigned n = 0;
	for (uint32_t k = 0; k < p->nlines; k++) {
		const struct ss_line *l = &p->lines[k];
		if (!ss_str_is(l->name, "XLA Ops") && !ss_str_is(l->name, "Sparse Core Ops"))
			continue;
		n++;
	}
	return n <= 1;
}

/* Planes by chip; those that do not say theirs are one of their own. */
struct member {
	const struct ss_plane *p;
	uint64_t chip;
};

static int by_chip(const void *a, const void *b)
{
	const struct member *ma = a, *mb = b;
	return SS_CMP(ma->chip, mb->chip) ?: SS_CMP(ma->p, mb->p);
}

static size_t list_members(const struct ss_host *h, struct member *members)
{
	size_t n = 0;
	for (uint32_t i = 0; i < h->nplanes; i++) {
		const struct ss_plane *p = &h->planes[i];
		if (p->kind != SS_PLANE_TENSOR_CORE && p->kind != SS_PLANE_SPARSE_CORE)
			continue;
		struct ss_core_details d = ss_plane_core_details(p);
		members[n++] =
			(struct member){ p, d.present ? d.local_chip_id : ((uint64_t)1 << 32) + i };
	}
	qsort(members, n, sizeof(*members), by_chip);
	return n;
}

static bool sum_host(const struct ss_host *h, struct ss_duty *out, struct ss_err *err)
{
	struct member *members = malloc((h->nplanes + 1) * sizeof(*members));
	bool ok = members;
	size_t n = ok ? list_members(h, members) : 0;
	*out = (struct ss_duty){ 0 };
	for (size_t i = 0; ok && i < n;) {
		uint64_t chip = members[i].chip;
		bool alone = i + 1 == n || members[i + 1].chip != chip,
		     keep = !alone || !is_one_line(members[i].p);
		struct chip c = { .active.keep = keep };
		while (ok && i < n && members[i].chip == chip)
			ok = add_plane(&c, members[i++].p);
		ok = ok && close_chip(&c, out);
		ss_vec_free(&c.active.v);
		ss_vec_free(&c.high_confidence.v);
	}
	free(members);
	return ok || ss_fail_mem(err);
}

static void *build_host(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	bool tpu = ss_host_hardware(h) == SS_HW_TPU;
	struct ss_duty *duty = !tpu || ss_host_load(h, err) ? calloc(1, sizeof(*duty)) : NULL;
	if (!duty || !tpu || sum_host(h, duty, err))
		return duty;
	free(duty);
	return NULL;
}

static const struct ss_host_fact of_host = { SS_HOST_DUTY, build_host, free };

const struct ss_duty *ss_host_duty(struct ss_host *h, struct ss_err *err)
{
	return ss_host_fact_get(h, &of_host, err);
}

static bool take_host(void *data, size_t i, struct ss_host *h, const void *fact, struct ss_err *err)
{
	const struct ss_duty *one = fact;
	struct ss_duty *all = data;
	(void)i, (void)h, (void)err;
	all->busy_ps += one->busy_ps;
	all->idle_ps += one->idle_ps;
	all->busy_high_confidence_ps += one->busy_high_confidence_ps;
	all->idle_high_confidence_ps += one->idle_high_confidence_ps;
	return true;
}

const struct ss_fold ss_fold_duty = {
	.part = SS_MODEL_DUTY,
	.size = sizeof(struct ss_duty),
	.of = &of_host,
	.take = take_host,
	.release = free,
};

const struct ss_duty *ss_model_duty(struct ss_model *m, struct ss_err *err)
{
	return ss_fold_get(m, &ss_fold_duty, err);
}
