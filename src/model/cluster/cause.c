/* cause.c - see cause.h. */
#include "model/cluster/cause.h"

#include "model/cluster/robust.h"

#include <math.h>
#include <stdlib.h>

#define MOST_STEPS 24	/* that operations are compared in, evenly */
#define MOST_DEVICES 48 /* that they are compared with, evenly */
#define LEAST_FRAC 0.001 /* of the compute time: shorter operations are noise */
#define LEAST_OPS 3 /* that tell a slower clock from longer operations */

struct asking {
	struct ss_cluster *c;
	const struct ss_exposed *x;
	const struct ss_straggler_step **steps; /* that are asked about */
	size_t nsteps;
	double *v; /* one for each device */
	double *diffs;
};

static const struct ss_device_step *row_of(const struct ss_exposed *x, uint32_t device, int64_t step)
{
	for (uint32_t i = x->first[device]; i < x->first[device + 1]; i++)
		if (x->rows.v[i].step == step)
			return &x->rows.v[i];
	return NULL;
}

/* By how much the culprit's time of a class exceeds the median device's, at the median step. */
static double difference(struct asking *a, enum ss_exposed_class cls)
{
	size_t nd = 0;
	for (size_t s = 0; s < a->nsteps; s++) {
		const struct ss_device_step *own = row_of(a->x, a->steps[s]->device, a->steps[s]->step);
		size_t n = 0;
		for (uint32_t d = 0; d < a->c->devices.n; d++) {
			const struct ss_device_step *r = row_of(a->x, d, a->steps[s]->step);
			if (r)
				a->v[n++] = (double)r->class_ps[cls];
		}
		if (own)
			a->diffs[nd++] = (double)own->class_ps[cls] - ss_median(a->v, n);
	}
	return ss_median(a->diffs, nd);
}

/* ---- all operations alike, or some of them? ---- */

/* The time of one device on each operation, in each of the examined steps. */
struct table {
	SS_VEC(double) v; /* by operation, then step */
	size_t nsteps;
};

struct comparing {
	struct asking *a;
	const struct ss_straggler_step *steps[MOST_STEPS];
	size_t nsteps;
	uint32_t devices[MOST_DEVICES];
	size_t ndevices;
	struct ss_strmap names; /* of operations */
	struct ss_arena texts;
	struct table *tables; /* by device; behind them the culprits' own */
};

static uint32_t op_number(struct comparing *k, const struct ss_skel_op *o)
{
	struct ss_str key = ss_arena_printf(&k->texts, SS_FMT "\n" SS_FMT, SS_ARG(o->name), SS_ARG(o->program));
	return key.p ? ss_strmap_add(&k->names, key) : SS_NONE;
}

/* Adds the device's operations within the window of a step to column `at`. */
static bool sum_step(struct table *t, const struct ss_skel_device *dev, const uint32_t *ops, const struct ss_device_step *r,
		     size_t at)
{
	for (size_t i = 0; i < dev->spans.n && dev->spans.v[i].begin_ps < r->end_ps; i++) {
		const struct ss_skel_span *s = &dev->spans.v[i];
		if (s->begin_ps < r->begin_ps || ops[s->op] == SS_NONE)
			continue;
		size_t cell = ops[s->op] * t->nsteps + at;
		while (t->v.n <= cell)
			if (!ss_vec_push(&t->v, 0))
				return false;
		t->v.v[cell] += (double)(s->end_ps - s->begin_ps);
	}
	return true;
}

/* `column`: of one step alone, SIZE_MAX: all of them. */
static bool sum_device(struct comparing *k, struct table *t, uint32_t device, size_t column, struct ss_err *err)
{
	const struct ss_cluster_device *cd = &k->a->c->devices.v[device];
	const struct ss_skeleton *s = ss_cluster_part_once(k->a->c, cd->part, err);
	uint32_t *ops = s ? calloc(s->ops.n + 1, sizeof(*ops)) : NULL;
	bool ok = ops;
	t->nsteps = k->nsteps;
	for (size_t i = 0; ok && i < s->ops.n; i++) {
		ops[i] = s->ops.v[i].cls == SS_SPAN_COMPUTE ? op_number(k, &s->ops.v[i]) : SS_NONE;
		ok = s->ops.v[i].cls != SS_SPAN_COMPUTE || ops[i] != SS_NONE;
	}
	for (size_t i = 0; ok && i < k->nsteps; i++) {
		const struct ss_device_step *r =
			column == SIZE_MAX || column == i ? row_of(k->a->x, device, k->steps[i]->step) : NULL;
		if (r)
			ok = sum_step(t, &s->devices.v[cd->index], ops, r, i);
	}
	free(ops);
	return ok || ss_fail_mem(err);
}

static double cell(const struct table *t, size_t op, size_t step)
{
	size_t at = op * t->nsteps + step;
	return at < t->v.n ? t->v.v[at] : 0;
}

/*
 * Ratio of the culprit's time to the median device's, of each operation at the median step; 25th
 * and 75th percentile of what is above 1.
 */
static bool quartiles(struct comparing *k, double *low, double *high)
{
	double *ratios = calloc(k->names.n + 1, sizeof(*ratios)), of_device[MOST_DEVICES], of_step[MOST_STEPS], total = 0;
	const struct table *own = &k->tables[k->ndevices];
	size_t n = 0;
	if (!ratios)
		return false;
	for (size_t i = 0; i < own->v.n; i++)
		total += own->v.v[i];
	for (size_t op = 0; op < k->names.n; op++) {
		double mine = 0;
		size_t ns = 0;
		for (size_t s = 0; s < k->nsteps; s++) {
			for (size_t d = 0; d < k->ndevices; d++)
				of_device[d] = cell(&k->tables[d], op, s);
			double middle = ss_median(of_device, k->ndevices);
			mine += cell(own, op, s);
			if (middle > 0)
				of_step[ns++] = cell(own, op, s) / middle - 1;
		}
		if (ns && mine >= LEAST_FRAC * total)
			ratios[n++] = ss_median(of_step, ns);
	}
	/* One or two that take longer are certain operations as well as all. */
	*low = n < LEAST_OPS ? 0 : ss_quantile(ratios, n, 0.25);
	*high = n < LEAST_OPS ? 0 : ss_quantile(ratios, n, 0.75);
	free(ratios);
	return true;
}

static void choose(struct comparing *k)
{
	const struct asking *a = k->a;
	size_t steps = a->nsteps < MOST_STEPS ? a->nsteps : MOST_STEPS, devices = a->c->devices.n;
	for (size_t i = 0; i < steps; i++)
		k->steps[k->nsteps++] = a->steps[i * a->nsteps / steps];
	size_t most = devices < MOST_DEVICES ? devices : MOST_DEVICES;
	for (size_t i = 0; i < most; i++)
		k->devices[k->ndevices++] = (uint32_t)(i * devices / most);
}

static bool is_slower_clock(struct asking *a, bool *slower, struct ss_err *err)
{
	struct comparing k = { .a = a };
	double low = 0, high = 0;
	choose(&k);
	k.tables = calloc(k.ndevices + 1, sizeof(*k.tables));
	bool ok = k.tables || ss_fail_mem(err);
	for (size_t i = 0; ok && i < k.ndevices; i++)
		ok = sum_device(&k, &k.tables[i], k.devices[i], SIZE_MAX, err);
	for (size_t s = 0; ok && s < k.nsteps; s++)
		ok = sum_device(&k, &k.tables[k.ndevices], k.steps[s]->device, s, err);
	ok = ok && (quartiles(&k, &low, &high) || ss_fail_mem(err));
	*slower = ok && high > 0 && low > high / 2;
	for (size_t i = 0; k.tables && i <= k.ndevices; i++)
		ss_vec_free(&k.tables[i].v);
	free(k.tables);
	ss_strmap_free(&k.names);
	ss_arena_release(&k.texts);
	return ok;
}

static const struct {
	enum ss_exposed_class cls;
	enum ss_straggler_cause cause;
} classes[] = { { SS_EXPOSED_COMPUTE, SS_LATE_BY_COMPUTE }, { SS_EXPOSED_INPUT, SS_LATE_BY_INPUT },
		{ SS_EXPOSED_HOST, SS_LATE_BY_HOST },	  { SS_EXPOSED_COPY, SS_LATE_BY_COPY },
		{ SS_EXPOSED_OTHER, SS_LATE_BY_NONE } };

enum ss_exposed_class ss_straggler_class_of(enum ss_straggler_cause cause)
{
	for (size_t i = 0; i < SS_COUNT(classes); i++)
		if (classes[i].cause == cause)
			return classes[i].cls;
	return cause == SS_LATE_BY_SLOWER_CLOCK ? SS_EXPOSED_COMPUTE : SS_EXPOSED_TRANSFER;
}

/*
 * The class whose time exceeds the median device's most. Where the device is idle for no reason
 * that is recorded, no cause is told, and none of the others is taken for it.
 */
static enum ss_straggler_cause largest_excess(struct asking *a)
{
	enum ss_straggler_cause cause = SS_LATE_BY_NONE;
	double most = 0;
	for (size_t i = 0; i < SS_COUNT(classes); i++) {
		double diff = difference(a, classes[i].cls);
		if (diff > most) {
			most = diff;
			cause = classes[i].cause;
		}
	}
	return cause;
}

static bool begin(struct asking *a, struct ss_cluster *c, const struct ss_exposed *x, const struct ss_straggler *s,
		  struct ss_err *err)
{
	*a = (struct asking){ .c = c, .x = x, .steps = calloc(s->steps.n + 1, sizeof(*a->steps)),
			      .v = calloc(c->devices.n + 1, sizeof(double)), .diffs = calloc(s->steps.n + 1, sizeof(double)) };
	return (a->steps && a->v && a->diffs) || ss_fail_mem(err);
}

static void end(struct asking *a)
{
	free(a->steps);
	free(a->v);
	free(a->diffs);
}

bool ss_straggler_find_cause(struct ss_cluster *c, const struct ss_exposed *x, const struct ss_straggler *s, uint32_t host,
			     enum ss_straggler_cause *cause, struct ss_err *err)
{
	struct asking a;
	bool ok = begin(&a, c, x, s, err), slower = false;
	*cause = SS_LATE_BY_NONE;
	for (size_t i = 0; ok && i < s->steps.n; i++)
		if (s->steps.v[i].slow && (host == SS_NO_HOST || s->steps.v[i].host == host))
			a.steps[a.nsteps++] = &s->steps.v[i];
	if (ok)
		*cause = largest_excess(&a);
	if (ok && *cause == SS_LATE_BY_COMPUTE) {
		ok = is_slower_clock(&a, &slower, err);
		*cause = slower ? SS_LATE_BY_SLOWER_CLOCK : SS_LATE_BY_COMPUTE;
	}
	end(&a);
	return ok;
}

bool ss_uneven_find_cause(struct ss_cluster *c, const struct ss_exposed *x, const struct ss_straggler *s, uint32_t device,
			  enum ss_straggler_cause *cause, struct ss_err *err)
{
	struct asking a;
	struct ss_straggler_step *steps = calloc(s->steps.n + 1, sizeof(*steps));
	bool ok = (steps || ss_fail_mem(err)) && begin(&a, c, x, s, err);
	for (size_t i = 0; ok && i < s->steps.n; i++) {
		steps[i] = s->steps.v[i];
		steps[i].device = device;
		a.steps[a.nsteps++] = &steps[i];
	}
	*cause = ok ? largest_excess(&a) : SS_LATE_BY_NONE;
	if (steps)
		end(&a);
	free(steps);
	return ok;
}
