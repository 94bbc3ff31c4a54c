/* event_share.c - see event_share.h. */
#include "model/steps/event_share.h"

#include "base/bisect.h"
#include "base/vec.h"
#include "model/fold.h"
#include "model/host/identity.h"
#include "model/ops/tpu.h"
#include "xprof/quirks/quirks.h"

#include <math.h>
#include <stdlib.h>

/* A wait of so long is a barrier that was open. */
#define NO_WAIT_PS 1250

#define NEEDLE "barrier-cores"

static const struct ss_core_step *find_step(const struct ss_tpu_core *core, int64_t id)
{
	size_t lo = 0, hi = core->nsteps;
	SS_BISECT(lo, hi, mid, core->steps[mid].group < id);
	return lo < core->nsteps && core->steps[lo].group == id ? &core->steps[lo] : NULL;
}

struct waits {
	struct ss_host_barriers out; /* first: what the getter returns points here */
	SS_VEC(struct ss_barrier_wait) all;
	struct ss_u64map by_step;    /* to all, of one core: sums of what single events take */
};

static bool add_event(struct waits *w, const struct ss_tpu_core *core, int64_t id, uint64_t dur_ps)
{
	const struct ss_core_step *step = find_step(core, id);
	if (!step || !step->dur_ps)
		return true;
	uint32_t i = ss_u64map_add(&w->by_step, (uint64_t)id, (uint32_t)w->all.n);
	if (i == SS_NONE || (i == w->all.n && !ss_vec_push(&w->all, ((struct ss_barrier_wait){ id, step->dur_ps, 0 }))))
		return false;
	w->all.v[i].share_frac += ss_quirk_float((double)dur_ps / (double)step->dur_ps);
	return true;
}

static bool read_line(struct waits *w, const struct ss_tpu_core *core, const struct ss_line *l, const bool *wanted)
{
	const struct ss_plane *plane = core->plane;
	struct ss_xstat s;
	for (uint32_t i = 0; i < l->ev.n; i++) {
		uint32_t meta = l->ev.meta[i];
		int64_t group;
		if (meta >= plane->x->nevent_meta || !wanted[meta] || (group = ss_event_group(plane, l, i)) < 0)
			continue;
		if (!ss_xstats_find(ss_line_stats(plane, l, i), SS_STAT_DEVICE_DURATION_PS, &s))
			continue;
		uint64_t dur_ps = ss_xstat_uint(&s);
		if (dur_ps && dur_ps != NO_WAIT_PS && !add_event(w, core, group, dur_ps))
			return false;
	}
	return true;
}

static bool read_core(struct waits *w, const struct ss_tpu_core *core, struct ss_str needle)
{
	const struct ss_xplane *x = core->plane->x;
	bool *wanted = calloc((size_t)x->nevent_meta + 1, sizeof(*wanted)), any = false, ok = wanted != NULL;
	for (uint32_t i = 0; ok && i < x->nevent_meta; i++) {
		wanted[i] = ss_str_contains(x->event_meta[i].name, needle);
		any = any || wanted[i];
	}
	for (uint32_t i = 0; ok && any && i < core->plane->nlines; i++)
		ok = !core->plane->lines[i].src || read_line(w, core, &core->plane->lines[i], wanted);
	ss_u64map_free(&w->by_step);
	free(wanted);
	return ok;
}

static void release_host(void *data)
{
	struct waits *w = data;
	ss_vec_free(&w->all);
	free(w);
}

static void *build_host(void *owner, struct ss_err *err)
{
	const struct ss_host_ops *ops = ss_host_ops(owner, err);
	struct waits *w = ops ? calloc(1, sizeof(*w)) : NULL;
	bool ok = w || (ops && ss_fail_mem(err));
	for (size_t k = 0; ok && k < ops->ncores; k++)
		ok = read_core(w, &ops->cores[k], SS_STR(NEEDLE)) || ss_fail_mem(err);
	if (ok)
		w->out = (struct ss_host_barriers){ w->all.v, w->all.n };
	else if (w)
		release_host(w);
	return ok ? w : NULL;
}

static const struct ss_host_fact of_host = { SS_HOST_BARRIERS, build_host, release_host };

const struct ss_host_barriers *ss_host_barriers(struct ss_host *h, struct ss_err *err)
{
	return ss_host_fact_get(h, &of_host, err);
}

/* ---- all hosts ---- */

struct pass {
	struct ss_event_shares out; /* first: what the getter returns points here */
	struct ss_intern intern;
	SS_VEC(struct ss_event_share) all;
	SS_VEC(struct ss_host_share) hosts;
	/* Of the host in progress: its shares are those from here on. */
	size_t first;
	SS_VEC(struct step { int64_t id; uint64_t dur_ps; }) steps;
};

static int by_id(const void *a, const void *b)
{
	const struct step *x = a, *y = b;
	return SS_CMP(x->id, y->id) ?: SS_CMP(y->dur_ps, x->dur_ps);
}

/* The steps of a host that count: [*from, *to]. Cut ones at the ends are left out. */
static void choose_steps(struct pass *p, int64_t *from, int64_t *to)
{
	size_t n = 0;
	*from = INT64_MIN;
	*to = INT64_MAX;
	if (p->steps.n)
		qsort(p->steps.v, p->steps.n, sizeof(*p->steps.v), by_id);
	for (size_t i = 0; i < p->steps.n; i++)
		if (!n || p->steps.v[n - 1].id != p->steps.v[i].id)
			p->steps.v[n++] = p->steps.v[i];
	const struct step *s = p->steps.v;
	if (n >= 3) {
		*from = s[0].id + 1;
		*to = s[n - 1].id - 1;
	} else if (n == 2 && s[0].dur_ps < s[1].dur_ps / 100) {
		*from = s[1].id;
	} else if (n == 2 && s[1].dur_ps < s[0].dur_ps / 100) {
		*to = s[0].id;
	}
}

struct by_step {
	int64_t step;
	double sum;
	uint32_t n;
};

/* A host's mean: over its steps the means over its cores. */
static bool add_host(struct pass *p, struct ss_str hostname)
{
	int64_t from, to;
	size_t kept = p->first, n = 0;
	double sum = 0;
	struct by_step *steps = calloc(p->all.n - p->first + 1, sizeof(*steps));
	struct ss_u64map index = { 0 };
	bool ok = steps != NULL;
	choose_steps(p, &from, &to);
	for (size_t i = p->first; ok && i < p->all.n; i++) {
		struct ss_event_share s = p->all.v[i];
		if (s.step < from || s.step > to)
			continue;
		p->all.v[kept++] = s;
		uint32_t k = ss_u64map_add(&index, (uint64_t)s.step, (uint32_t)n);
		ok = k != SS_NONE;
		if (ok) {
			n += k == n;
			steps[k].sum += s.share_frac;
			steps[k].n++;
		}
	}
	p->all.n = kept;
	for (size_t i = 0; i < n; i++)
		sum += steps[i].sum / steps[i].n;
	if (ok && n)
		ok = ss_vec_push(&p->hosts, ((struct ss_host_share){ hostname, sum / (double)n, false }));
	ss_u64map_free(&index);
	free(steps);
	return ok;
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), ss_cmp_double);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/*
 * Hosts whose modified z-score is beyond 3.5 (Iglewicz and Hoaglin): 0.6745 times the distance from
 * the median, in units of the median distance, of which at least a tenth of a percent point is
 * taken. Where all but some are alike any distance counts.
 */
static bool find_stragglers(struct pass *p)
{
	size_t n = p->hosts.n;
	double *v = malloc((n + 1) * sizeof(*v));
	if (!v)
		return false;
	for (size_t i = 0; i < n; i++)
		v[i] = 100 * p->hosts.v[i].mean_frac;
	double middle = n ? median(v, n) : 0;
	for (size_t i = 0; i < n; i++)
		v[i] = fabs(100 * p->hosts.v[i].mean_frac - middle);
	double spread = n ? median(v, n) : 0;
	for (size_t i = 0; n >= 3 && i < n; i++) {
		double far = fabs(100 * p->hosts.v[i].mean_frac - middle);
		double z = spread > 0 ? 0.6745 * far / fmax(spread, 0.1) : far > 1e-6 ? INFINITY : 0;
		p->hosts.v[i].straggler = z > 3.5;
	}
	free(v);
	return true;
}

static bool take_host(void *data, size_t i, struct ss_host *h, const void *fact, struct ss_err *err)
{
	struct pass *p = data;
	const struct ss_host_barriers *b = fact;
	bool ok = true;
	p->first = p->all.n;
	p->steps.n = 0;
	for (size_t k = 0; ok && k < b->n; k++) {
		const struct ss_barrier_wait *w = &b->v[k];
		ok = (ss_vec_push(&p->all, ((struct ss_event_share){ (uint32_t)i, w->step, w->share_frac })) &&
		      ss_vec_push(&p->steps, ((struct step){ w->step, w->step_ps }))) ||
		     ss_fail_mem(err);
	}
	return ok && ((add_host(p, ss_intern_str(&p->intern, ss_host_hostname(h))) && !p->intern.no_memory) || ss_fail_mem(err));
}

static bool end(void *data, struct ss_err *err)
{
	struct pass *p = data;
	double sum = 0;
	if (!find_stragglers(p))
		return ss_fail_mem(err);
	for (size_t i = 0; i < p->all.n; i++)
		sum += p->all.v[i].share_frac;
	p->out = (struct ss_event_shares){ .v = p->all.v, .n = p->all.n, .hosts = p->hosts.v, .nhosts = p->hosts.n,
					   .mean_frac = p->all.n ? sum / (double)p->all.n : 0 };
	return true;
}

static void release(void *data)
{
	struct pass *p = data;
	ss_vec_free(&p->all);
	ss_vec_free(&p->hosts);
	ss_vec_free(&p->steps);
	ss_intern_release(&p->intern);
	free(p);
}

const struct ss_fold ss_fold_barriers = {
	.part = SS_MODEL_BARRIERS,
	SS_FOLD_DATA(struct pass),
	.of = &of_host,
	.take = take_host,
	.end = end,
	.release = release,
};

const struct ss_event_shares *ss_model_barriers(struct ss_model *m, struct ss_err *err)
{
	return ss_fold_get(m, &ss_fold_barriers, err);
}
