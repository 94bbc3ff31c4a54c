/*
 * clocks.c - by how much each host's clock is off, from collectives that everybody leaves together.
 *
 * What a host calls the end of a collective, less what the others call it, is its offset at that
 * moment. Offset and drift are fitted to that with Theil-Sen, against the median of all hosts,
 * three times over; hosts that share no collective with the first are reached over others.
 */
#include "model/cluster/cluster.h"
#include "model/cluster/robust.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDS 3
#define MOST_DRIFT 500e-6	/* no clock does more: it is noise, or the work */
#define UNCERTAINTIES 2.0	/* that an offset must be beyond to be corrected */
#define MOST_POINTS ((size_t)4 << 20)

/* The end of one collective by the clock of one host. */
struct point {
	uint32_t host;
	int64_t arrive_ps, end_ps; /* the host's last arrival, its first end: what causality speaks of */
	double y;		/* median end of those that waited */
};

/* A collective that ties hosts together. */
struct tie {
	uint32_t first, n;	/* of points */
	double t;		/* its end on the common clock; NAN: not known yet */
};

/* Points of one host. */
struct track {
	uint32_t first, n;	/* of by_host */
	double offset, drift;
	bool aligned;
	double least, most;	/* times */
};

struct aligning {
	struct ss_cluster *c;
	int64_t base_ps;	/* what y and t count from */
	double middle;
	SS_VEC(struct point) points;
	SS_VEC(struct tie) ties;
	uint32_t *by_host, *tie_of; /* points by host; the tie of a point */
	struct track *tracks;
	double *x, *y, *scratch; /* of one host or one tie */
	uint32_t reference;
};

/* ---- points ---- */

static bool is_tie(const struct ss_cluster *c, const struct ss_collective *k)
{
	if (k->pairs || k->n < 2)
		return false;
	uint32_t first = c->devices.v[c->members.v[c->order[k->first]].device].host;
	return c->devices.v[c->members.v[c->order[k->first + k->n - 1]].device].host != first;
}

/* One point for each host of a collective; members stand by device, hence by host. */
static bool add_tie(struct aligning *a, const struct ss_collective *k)
{
	struct ss_cluster *c = a->c;
	struct tie tie = { .first = (uint32_t)a->points.n, .t = NAN };
	for (uint32_t i = 0; i < k->n;) {
		struct point p = { .host = c->devices.v[c->members.v[c->order[k->first + i]].device].host, .arrive_ps = INT64_MIN,
				   .end_ps = INT64_MAX };
		size_t waited = 0;
		for (; i < k->n; i++) {
			const struct ss_member *m = &c->members.v[c->order[k->first + i]];
			if (c->devices.v[m->device].host != p.host)
				break;
			p.arrive_ps = m->arrive_ps > p.arrive_ps ? m->arrive_ps : p.arrive_ps;
			p.end_ps = m->end_ps < p.end_ps ? m->end_ps : p.end_ps;
			if (m->waited)
				a->scratch[waited++] = (double)(m->end_ps - a->base_ps);
		}
		p.y = ss_median(a->scratch, waited);
		if (waited && !ss_vec_push(&a->points, p))
			return false;
	}
	tie.n = (uint32_t)a->points.n - tie.first;
	if (tie.n < 2) {
		a->points.n = tie.first;
		return true;
	}
	return ss_vec_push(&a->ties, tie);
}

static bool collect(struct aligning *a)
{
	struct ss_cluster *c = a->c;
	uint64_t members = 0, seen = 0;
	uint32_t most = 0;
	for (size_t i = 0; i < c->collectives.n; i++)
		if (is_tie(c, &c->collectives.v[i])) {
			const struct ss_collective *k = &c->collectives.v[i];
			if (!members)
				a->base_ps = c->members.v[c->order[k->first]].end_ps;
			members += k->n;
			most = k->n > most ? k->n : most;
		}
	uint64_t stride = members / MOST_POINTS + 1;
	a->scratch = calloc((size_t)most + SS_THEIL_SEN_SCRATCH, sizeof(*a->scratch));
	if (!a->scratch)
		return false;
	for (size_t i = 0; i < c->collectives.n; i++)
		if (is_tie(c, &c->collectives.v[i]) && seen++ % stride == 0 && !add_tie(a, &c->collectives.v[i]))
			return false;
	return true;
}

/* Points of each host in the order of ties. */
static bool index_hosts(struct aligning *a)
{
	size_t n = a->points.n, most = 0;
	a->tracks = calloc(a->c->hosts.n + 1, sizeof(*a->tracks));
	a->by_host = calloc(n + 1, sizeof(*a->by_host));
	a->tie_of = calloc(n + 1, sizeof(*a->tie_of));
	if (!a->tracks || !a->by_host || !a->tie_of)
		return false;
	for (size_t i = 0; i < n; i++)
		a->tracks[a->points.v[i].host].n++;
	uint32_t at = 0;
	for (size_t h = 0; h < a->c->hosts.n; h++) {
		a->tracks[h].first = at;
		at += a->tracks[h].n;
		most = a->tracks[h].n > most ? a->tracks[h].n : most;
		a->tracks[h].n = 0;
	}
	for (uint32_t k = 0; k < a->ties.n; k++)
		for (uint32_t i = 0; i < a->ties.v[k].n; i++) {
			uint32_t p = a->ties.v[k].first + i;
			struct track *t = &a->tracks[a->points.v[p].host];
			a->by_host[t->first + t->n++] = p;
			a->tie_of[p] = k;
		}
	most = most > a->c->hosts.n ? most : a->c->hosts.n;
	a->x = calloc(most + 1, sizeof(double));
	a->y = calloc(most + 1, sizeof(double));
	return a->x && a->y;
}

/* ---- fits ---- */

static double corrected(const struct aligning *a, const struct point *p)
{
	const struct track *t = &a->tracks[p->host];
	return a->middle + (p->y - t->offset - a->middle) / (1 + t->drift);
}

/* The end of a tie on the common clock, as the hosts that are aligned have it. */
static void time_tie(struct aligning *a, struct tie *k, bool of_reference)
{
	size_t n = 0;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct point *p = &a->points.v[k->first + i];
		if (!a->tracks[p->host].aligned)
			continue;
		if (of_reference && p->host == a->reference) {
			k->t = corrected(a, p);
			return;
		}
		a->x[n++] = corrected(a, p);
	}
	if (n)
		k->t = ss_median(a->x, n);
}

struct timed {
	double t, y;
};

static int by_time(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;
	return SS_CMP(x->t, y->t);
}

/* Points of a host whose ties have a time, into x and y, times ascending. */
static bool timed_points(struct aligning *a, const struct track *t, size_t *n)
{
	struct timed *v = calloc((size_t)t->n + 1, sizeof(*v));
	*n = 0;
	for (uint32_t i = 0; v && i < t->n; i++) {
		uint32_t p = a->by_host[t->first + i];
		double at = a->ties.v[a->tie_of[p]].t;
		if (!isnan(at))
			v[(*n)++] = (struct timed){ at, a->points.v[p].y - at };
	}
	if (v && *n)
		qsort(v, *n, sizeof(*v), by_time);
	for (size_t i = 0; v && i < *n; i++) {
		a->x[i] = v[i].t;
		a->y[i] = v[i].y;
	}
	free(v);
	return v;
}

static bool fit(struct aligning *a, struct track *t, bool with_drift)
{
	size_t n;
	if (!timed_points(a, t, &n))
		return false;
	if (!n)
		return true;
	t->least = a->x[0];
	t->most = a->x[n - 1];
	t->drift = with_drift && n > 2 ? ss_theil_sen(a->x, a->y, n, (t->most - t->least) / 4, a->scratch) : 0;
	if (fabs(t->drift) > MOST_DRIFT)
		t->drift = 0;
	for (size_t i = 0; i < n; i++)
		a->y[i] -= t->drift * (a->x[i] - a->middle);
	t->offset = ss_median(a->y, n);
	t->aligned = true;
	return true;
}

/* From the reference to those that share a collective with it, and on from there. */
static bool reach(struct aligning *a)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t k = 0; k < a->ties.n; k++)
			time_tie(a, &a->ties.v[k], true);
		for (size_t h = 0; h < a->c->hosts.n; h++) {
			struct track *t = &a->tracks[h];
			if (t->aligned || !t->n)
				continue;
			if (!fit(a, t, true))
				return false;
			more |= t->aligned;
		}
	}
	return true;
}

static bool again(struct aligning *a)
{
	for (size_t k = 0; k < a->ties.n; k++)
		time_tie(a, &a->ties.v[k], false);
	for (size_t h = 0; h < a->c->hosts.n; h++)
		if (a->tracks[h].aligned && !fit(a, &a->tracks[h], true))
			return false;
	return true;
}

/* ---- how sure it is ---- */

static double residual(const struct aligning *a, uint32_t p)
{
	return corrected(a, &a->points.v[p]) - a->ties.v[a->tie_of[p]].t;
}

static bool find_uncertainties(struct aligning *a)
{
	double *v = calloc(a->points.n + 1, sizeof(*v));
	size_t n = 0;
	if (!v)
		return false;
	/*
	 * With three hosts, the middle one has no residuals and looks perfect: all residuals other than
	 * 0 are used for all hosts.
	 */
	for (uint32_t i = 0; i < a->points.n; i++) {
		double r = a->tracks[a->points.v[i].host].aligned ? fabs(residual(a, i)) : 0;
		if (r > 0)
			v[n++] = r;
	}
	double all = n ? ss_median(v, n) : 0;
	free(v);
	for (size_t h = 0; h < a->c->hosts.n; h++) {
		struct track *t = &a->tracks[h];
		struct ss_clock *k = &a->c->hosts.v[h].clock;
		n = 0;
		for (uint32_t i = 0; t->aligned && i < t->n; i++)
			a->x[n++] = fabs(residual(a, a->by_host[t->first + i]));
		double own = n ? ss_median(a->x, n) : 0;
		k->uncertainty_ps = 3 * SS_MAD_TO_SIGMA * (own > all ? own : all);
		k->points = t->n;
		k->aligned = t->aligned;
	}
	return true;
}

/* Drifts that cannot be told from noise are none. */
static bool drop_drifts(struct aligning *a)
{
	for (size_t h = 0; h < a->c->hosts.n; h++) {
		struct track *t = &a->tracks[h];
		double seen = fabs(t->drift) * (t->most - t->least);
		if (t->aligned && t->drift != 0 && seen < UNCERTAINTIES * a->c->hosts.v[h].clock.uncertainty_ps &&
		    !fit(a, t, false))
			return false;
	}
	return true;
}

/*
 * Nobody ends before the last has come: between a host and the reference that leaves an interval
 * for the offset, whatever the estimate.
 */
static bool check_causality(struct aligning *a)
{
	struct ss_cluster *c = a->c;
	double *lo = calloc(c->hosts.n + 1, sizeof(*lo)), *hi = calloc(c->hosts.n + 1, sizeof(*hi));
	bool ok = lo && hi;
	for (size_t h = 0; ok && h < c->hosts.n; h++) {
		lo[h] = -INFINITY;
		hi[h] = INFINITY;
	}
	for (size_t k = 0; ok && k < a->ties.n; k++) {
		const struct tie *tie = &a->ties.v[k];
		const struct point *ref = NULL;
		for (uint32_t i = 0; i < tie->n && !ref; i++)
			if (a->points.v[tie->first + i].host == a->reference)
				ref = &a->points.v[tie->first + i];
		for (uint32_t i = 0; ref && i < tie->n; i++) {
			const struct point *p = &a->points.v[tie->first + i];
			double drift = a->tracks[p->host].drift * (corrected(a, p) - a->middle);
			double low = (double)(p->arrive_ps - ref->end_ps) - drift,
			       high = (double)(p->end_ps - ref->arrive_ps) - drift;
			lo[p->host] = low > lo[p->host] ? low : lo[p->host];
			hi[p->host] = high < hi[p->host] ? high : hi[p->host];
		}
	}
	for (uint32_t h = 0; ok && h < c->hosts.n; h++) {
		struct ss_clock *k = &c->hosts.v[h].clock;
		struct track *t = &a->tracks[h];
		k->bound_ps = isfinite(lo[h]) && isfinite(hi[h]) && hi[h] >= lo[h] ? (hi[h] - lo[h]) / 2 : NAN;
		if (h == a->reference || !t->aligned || isnan(k->bound_ps))
			continue;
		if (t->offset < lo[h] - k->uncertainty_ps || t->offset > hi[h] + k->uncertainty_ps) {
			t->offset = lo[h] + k->bound_ps;
			k->uncertainty_ps = k->bound_ps > k->uncertainty_ps ? k->bound_ps : k->uncertainty_ps;
			k->failed = true;
		}
	}
	free(lo);
	free(hi);
	return ok;
}

/* ---- what comes of it ---- */

static void settle(struct aligning *a)
{
	struct ss_cluster *c = a->c;
	struct track ref = a->tracks[a->reference];
	for (uint32_t h = 0; h < c->hosts.n; h++) {
		struct track *t = &a->tracks[h];
		struct ss_clock *k = &c->hosts.v[h].clock;
		if (!t->aligned) {
			k->state = SS_CLOCK_UNKNOWN;
			continue;
		}
		k->offset_ps = t->offset - ref.offset;
		k->drift = t->drift - ref.drift;
		bool good = fabs(k->offset_ps) <= UNCERTAINTIES * k->uncertainty_ps && k->drift == 0;
		if ((good || h == a->reference) && c->hosts.v[h].has_start) {
			k->offset_ps = k->drift = 0;
			k->state = SS_CLOCK_GOOD;
		} else {
			k->state = SS_CLOCK_CORRECTED;
			k->applied = true;
		}
	}
}

static void apply(struct ss_cluster *c)
{
	for (size_t i = 0; i < c->devices.n; i++) {
		const struct ss_cluster_device *d = &c->devices.v[i];
		/* Zeros of parts are in these times already. */
		struct ss_cluster_part own = { .host = d->host };
		for (uint32_t k = 0; k < d->nmembers; k++) {
			struct ss_member *m = &c->members.v[d->first_member + k];
			m->arrive_ps = ss_cluster_time(c, &own, m->arrive_ps);
			m->end_ps = ss_cluster_time(c, &own, m->end_ps);
		}
		for (uint32_t k = 0; k < d->nsteps; k++) {
			struct ss_cluster_step *s = &c->steps.v[d->first_step + k];
			s->begin_ps = ss_cluster_time(c, &own, s->begin_ps);
			s->end_ps = ss_cluster_time(c, &own, s->end_ps);
		}
	}
}

static bool align(struct aligning *a)
{
	double least = INFINITY, most = -INFINITY;
	while (a->reference < a->c->hosts.n && !a->tracks[a->reference].n)
		a->reference++;
	if (a->reference == a->c->hosts.n)
		return true;
	for (uint32_t i = 0; i < a->tracks[a->reference].n; i++) {
		double y = a->points.v[a->by_host[a->tracks[a->reference].first + i]].y;
		least = y < least ? y : least;
		most = y > most ? y : most;
	}
	a->middle = floor((least + most) / 2);
	a->c->middle_ps = a->base_ps + (int64_t)a->middle;
	a->tracks[a->reference].aligned = true;
	bool ok = reach(a);
	for (int round = 1; ok && round < ROUNDS; round++)
		ok = again(a);
	ok = ok && find_uncertainties(a) && drop_drifts(a) && check_causality(a);
	if (ok) {
		settle(a);
		apply(a->c);
	}
	return ok;
}

/* Hosts that nothing ties to the others, and estimates that cannot be. */
static bool note_clocks(struct ss_cluster *c)
{
	uint32_t alone = 0, failed = 0, seen = 0;
	for (size_t h = 0; h < c->hosts.n; h++) {
		const struct ss_cluster_host *host = &c->hosts.v[h];
		seen += host->ndevices > 0;
		alone += host->ndevices > 0 && !host->clock.aligned;
		failed += host->clock.failed;
	}
	if (seen > 1 && alone &&
	    !ss_cluster_note(c, true,
			     "no collective links %u of %u %ss to the others: times between them are "
			     "not compared",
			     alone, seen, ss_cluster_noun(c)))
		return false;
	return !failed || ss_cluster_note(c, true,
					  "%u clocks could not be aligned: their estimates contradict the order of events; "
					  "the middle of the possible range is used",
					  failed);
}

bool ss_cluster_align(struct ss_cluster *c)
{
	struct aligning a = { .c = c };
	for (size_t h = 0; h < c->hosts.n; h++)
		c->hosts.v[h].clock = (struct ss_clock){ .bound_ps = NAN, .state = SS_CLOCK_UNKNOWN };
	bool ok = collect(&a) && index_hosts(&a) && align(&a) && note_clocks(c);
	ss_vec_free(&a.points);
	ss_vec_free(&a.ties);
	free(a.by_host);
	free(a.tie_of);
	free(a.tracks);
	free(a.x);
	free(a.y);
	free(a.scratch);
	return ok;
}
