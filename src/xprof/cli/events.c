/*
 * events.c - list_xplane_events and aggregate_xplane_events: single events, and their durations by
 * name, plane and line.
 */
#include "model/host/event_query.h"
#include "model/host/host.h"
#include "xprof/cli/modules.h"

#include <math.h>
#include <stdlib.h>

/* More events than this are no answer that anybody reads, and their JSON takes a gigabyte. */
#define MOST_LISTED 1000000
/* XProf's aggregates stop there. */
#define MOST_SCANNED 5000000

static bool optional(struct xcli *x, const char *name, double *v)
{
	*v = NAN;
	return !xcli_given(x, name) || xcli_real(x, name, v);
}

static bool read_query(struct xcli *x, struct ss_event_query *q)
{
	struct ss_err err = { 0 };
	struct ss_event_query_text t = {
		.plane = ss_str_from(xcli_text(x, "plane_regex")),
		.event = ss_str_from(xcli_text(x, "event_regex")),
		.filter = ss_str_from(xcli_text(x, "filter")),
		.window = ss_str_from(xcli_text(x, "window_semantics")),
	};
	*q = (struct ss_event_query){ .as_xprof = true };
	if (!optional(x, "start_time_ps", &q->from_ps) || !optional(x, "end_time_ps", &q->to_ps) ||
	    !optional(x, "min_duration_ps", &q->least_ps) ||
	    !optional(x, "max_duration_ps", &q->most_ps))
		return false;
	return ss_event_query_compile(q, &t, &err) || xcli_failed(x, &err);
}

static bool run_query(struct xcli *x, struct ss_event_query *q, ss_event_query_fn *fn, void *arg)
{
	struct ss_err err = { 0 };
	for (size_t i = 0; i < x->nhosts && !q->stopped; i++)
		if (!ss_event_query_run(q, &x->hosts[i], fn, arg, &err))
			return xcli_failed(x, &err);
	return true;
}

/* A whole number that may be too large for 64 bits: times since the epoch are. */
void xcli_put_whole(struct xv *v, const char *key, double n)
{
	if (fabs(n) < 9e18)
		xv_i64(v, key, (int64_t)n);
	else
		xv_f64(v, key, n);
}

/* --- list -------------------------------------------------------------------------------------- */

struct listing {
	struct xv *events;
	uint64_t matched, skip, most, returned;
	bool too_many;
};

static bool list_event(void *arg, const struct ss_event_record *e)
{
	struct listing *l = arg;
	l->matched++;
	if (l->matched <= l->skip || (l->most && l->returned == l->most))
		return true;
	if (l->returned == MOST_LISTED) {
		l->too_many = true;
		return false;
	}
	struct xv *v = xv_add_object(l->events, NULL);
	xv_str(v, "plane", e->plane);
	xv_str(v, "line_id", e->line_id);
	xv_str(v, "event", e->event);
	xcli_put_whole(v, "offset_ps", e->begin_ps);
	xcli_put_whole(v, "duration_ps", e->dur_ps);
	l->returned++;
	return v;
}

bool xcli_list_xplane_events(struct xcli *x, struct xv **out)
{
	struct ss_event_query q;
	struct listing l = { 0 };
	int64_t most, skip;
	if (!xcli_int(x, "max_events", &most) || !xcli_int(x, "offset", &skip) ||
	    !read_query(x, &q))
		return false;
	*out = xv_object(&x->make);
	l.events = xv_add_array(*out, "events");
	l.most = most > 0 ? (uint64_t)most : 0;
	l.skip = skip > 0 ? (uint64_t)skip : 0;
	bool ok = xcli_open(x) && run_query(x, &q, list_event, &l);
	ss_event_query_free(&q);
	if (ok && l.too_many)
		ok = xcli_fail(x, XCLI_INVALID,
			       "More than %d events match: give --max_events and --offset, or a "
			       "narrower window or filter",
			       MOST_LISTED);
	xv_u64(*out, "returned", l.returned);
	xv_u64(*out, "total_matched", l.matched);
	xv_bool(*out, "truncated", (int64_t)l.matched > (int64_t)l.returned + skip);
	return ok;
}

/* --- aggregates -------------------------------------------------------------------------------- */

enum { BY_EVENT, BY_PLANE, BY_LINE, BY_COUNT };
static const char *const dimensions[BY_COUNT] = { "event", "plane", "line" };

struct group {
	struct ss_str key[BY_COUNT];
	double *dur_ps;
	size_t n, cap;
	double total_ps;
};

struct groups {
	struct xcli *x;
	int order[BY_COUNT]; /* the dimensions that were asked for */
	size_t ndimensions;
	struct group *v;
	uint32_t n, cap;
	struct ss_u64map by_key;
	bool no_memory;
};

static bool add_duration(struct group *g, double ps)
{
	if (g->n == g->cap) {
		size_t cap = g->cap ? 2 * g->cap : 4;
		double *v = realloc(g->dur_ps, cap * sizeof(*v));
		if (!v)
			return false;
		g->dur_ps = v;
		g->cap = cap;
	}
	g->dur_ps[g->n++] = ps;
	g->total_ps += ps;
	return true;
}

static struct group *group_of(struct groups *g, const struct ss_event_record *e)
{
	const struct ss_str values[BY_COUNT] = { e->event, e->plane,
						 e->line.n ? e->line : e->line_id };
	uint64_t key = 0;
	for (size_t i = 0; i < g->ndimensions; i++)
		key = ss_mix(key, ss_str_hash(values[g->order[i]]));
	uint32_t at = ss_u64map_add(&g->by_key, key, g->n);
	if (at == SS_NONE)
		return NULL;
	if (at < g->n)
		return &g->v[at];
	if (g->n == g->cap) {
		uint32_t cap = g->cap ? 2 * g->cap : 64;
		struct group *v = realloc(g->v, cap * sizeof(*v));
		if (!v)
			return NULL;
		g->v = v;
		g->cap = cap;
	}
	g->v[g->n] = (struct group){ .n = 0 };
	memcpy(g->v[g->n].key, values, sizeof(values));
	return &g->v[g->n++];
}

static bool take_event(void *arg, const struct ss_event_record *e)
{
	struct groups *g = arg;
	struct group *one = group_of(g, e);
	g->no_memory = !one || !add_duration(one, e->dur_ps);
	return !g->no_memory;
}

/* "plane,line", or a list as Python writes it. */
static bool read_dimensions(struct xcli *x, struct groups *g)
{
	struct ss_str rest = ss_str_from(xcli_text(x, "group_by"));
	while (rest.n) {
		size_t n = 0;
		while (n < rest.n && !strchr(", ()[]'\"", rest.p[n]))
			n++;
		struct ss_str word = ss_str_sub(rest, 0, n);
		rest = ss_str_sub(rest, n < rest.n ? n + 1 : n, rest.n);
		if (!n)
			continue;
		int d = 0;
		while (d < BY_COUNT && !ss_str_ieq(word, ss_str_from(dimensions[d])))
			d++;
		if (d == BY_COUNT)
			return xcli_fail(
				x, XCLI_INVALID,
				"Events are grouped by event, plane and line, not by '" SS_FMT "'",
				SS_ARG(word));
		bool had = false;
		for (size_t i = 0; i < g->ndimensions; i++)
			had = had || g->order[i] == d;
		if (!had)
			g->order[g->ndimensions++] = d;
	}
	return g->ndimensions ||
	       xcli_fail(x, XCLI_INVALID, "--group_by needs event, plane or line");
}

/* Linear between neighbours of the sorted durations. */
static double percentile(const struct group *g, double q)
{
	double at = q * (double)(g->n - 1);
	size_t lo = (size_t)at, hi = lo + 1 < g->n ? lo + 1 : g->n - 1;
	return g->dur_ps[lo] + (at - (double)lo) * (g->dur_ps[hi] - g->dur_ps[lo]);
}

/* Of a sample; two passes, so that equal durations have none. */
static double deviation(const struct group *g)
{
	double mean = g->total_ps / (double)g->n, sum = 0;
	for (size_t i = 0; i < g->n; i++)
		sum += (g->dur_ps[i] - mean) * (g->dur_ps[i] - mean);
	return g->n > 1 ? sqrt(sum / (double)(g->n - 1)) : 0;
}

static void put_group(const struct groups *all, struct xv *list, struct group *g)
{
	struct xv *v = xv_add_object(list, NULL);
	qsort(g->dur_ps, g->n, sizeof(*g->dur_ps), ss_cmp_double);
	for (size_t i = 0; i < all->ndimensions; i++)
		xv_str(v, dimensions[all->order[i]], g->key[all->order[i]]);
	xv_u64(v, "count", g->n);
	xcli_put_whole(v, "total_duration_ps", g->total_ps);
	xv_f64(v, "avg_duration_ps", g->total_ps / (double)g->n);
	xcli_put_whole(v, "min_duration_ps", g->dur_ps[0]);
	xv_f64(v, "p50_duration_ps", percentile(g, .5));
	xv_f64(v, "p90_duration_ps", percentile(g, .9));
	xv_f64(v, "p99_duration_ps", percentile(g, .99));
	xcli_put_whole(v, "max_duration_ps", g->dur_ps[g->n - 1]);
	xv_f64(v, "std_dev_ps", deviation(g));
}

static bool put_groups(struct xcli *x, struct groups *g, struct ss_event_query *q, struct xv **out)
{
	double *key = SS_NEW_N(&x->arena, double, g->n + 1);
	uint32_t *order;
	if (!key)
		return xcli_no_memory(x);
	for (uint32_t i = 0; i < g->n; i++)
		key[i] = g->v[i].total_ps;
	if (!xcli_rank(x, key, g->n, &order))
		return false;
	*out = xv_object(&x->make);
	struct xv *list = xv_add_array(*out, "aggregates");
	for (uint32_t i = 0; i < g->n; i++)
		put_group(g, list, &g->v[order[i]]);
	xv_u64(*out, "returned", g->n);
	xv_u64(*out, "total_matched", g->n);
	xv_u64(*out, "events_scanned", q->nscanned);
	xv_bool(*out, "truncated", q->stopped);
	return true;
}

bool xcli_aggregate_xplane_events(struct xcli *x, struct xv **out)
{
	struct ss_event_query q;
	struct groups g = { .x = x };
	if (!read_dimensions(x, &g) || !read_query(x, &q))
		return false;
	q.most_scanned = MOST_SCANNED;
	bool ok = xcli_open(x) && run_query(x, &q, take_event, &g);
	if (ok && g.no_memory)
		ok = xcli_no_memory(x);
	ok = ok && put_groups(x, &g, &q, out);
	for (uint32_t i = 0; i < g.n; i++)
		free(g.v[i].dur_ps);
	free(g.v);
	ss_u64map_free(&g.by_key);
	ss_event_query_free(&q);
	return ok;
}
