/*
 * event_stats.c - durations of the events that match regular expressions, a condition and a stretch of time, by name, line or
 * plane, and the longest of them one by one (model/host/event_query.h has the language of conditions).
 *
 * Every event of the files counts, nested ones for themselves.
 */
#include "base/heap.h"
#include "base/safe.h"
#include "base/vec.h"
#include "model/host/event_query.h"
#include "model/host/identity.h"
#include "model/model.h"
#include "tools/words.h"

#include <math.h>
#include <stdlib.h>

#define MOST_GROUPS 10000u
#define MOST_LISTED 1000u
#define NAME_BYTES 80u /* of a name in a sentence */
#define TRIM_EVENTS 500000u /* whose durations are worth giving back to the system */

enum { G_NAME, G_PLANE, G_COUNT, G_TOTAL, G_MEAN, G_MIN, G_P50, G_P90, G_P99, G_MAX, G_STDDEV };

static const struct ss_col group_cols[] = {
	STR("name", "Name", "Name of the event, its line or its plane, as the parameter 'by' selects"),
	STR("plane", "Plane", NULL),
	INT("count", "Events", COUNT, NULL),
	INT("total_ps", "Total", PS, "Sum of the durations; nested events are counted again"),
	NUM("mean_ps", "Mean", PS, NULL),
	INT("min_ps", "Min", PS, NULL),
	NUM("p50_ps", "Median", PS, "Percentiles are interpolated linearly"),
	NUM("p90_ps", "90th percentile", PS, NULL),
	NUM("p99_ps", "99th percentile", PS, NULL),
	INT("max_ps", "Max", PS, NULL),
	NUM("stddev_ps", "Standard deviation", PS, "Standard deviation of the sample; 0 for one event"),
};

enum { L_NAME, L_HOST, L_PLANE, L_LINE, L_BEGIN, L_DUR };

static const struct ss_col list_cols[] = {
	STR("name", "Name", NULL),
	STR("host", "Host", NULL),
	STR("plane", "Plane", NULL),
	STR("line", "Line", NULL),
	INT("begin_ps", "Begin", PS, "Time since the begin of the host's session"),
	INT("dur_ps", "Duration", PS, "Duration on the timeline; TPU operations also have one by the device's clock: "
	    "device_duration_ps"),
};

static const struct ss_param params[] = {
	{ "by", "name|line|plane", "name", "key by which events are grouped; equal names and lines of different planes stay "
	    "apart" },
	{ "plane", "regex", NULL, "planes whose name matches" },
	{ "name", "regex", NULL, "events whose name matches" },
	{ "where", "condition", NULL, "a condition: duration_us > 5 AND NOT line CONTAINS \"xla\"" },
	{ "from", "ms", NULL, "begin of a time range, as in the timeline" },
	{ "to", "ms", NULL, "end of the time range" },
	{ "window", "overlap|containment", "overlap", "overlap: all events that overlap the time range; containment: only "
	    "events that lie within it" },
};

extern const struct ss_tool ss_tool_event_stats;

/*
 * Durations, which are whole numbers and of millions of events. Nearly all are below 2^32 ps (4.3
 * ms); in order, these come first.
 */
struct durations {
	SS_VEC(uint32_t) below_ps;
	SS_VEC(double) above_ps;
};

struct group {
	struct ss_str name, plane;
	struct durations dur;
	double total_ps;
};

struct listed {
	struct ss_str name, host, plane, line;
	double begin_ps, dur_ps;
	uint64_t nth;
};

struct stats {
	struct ss_model *m;
	struct ss_result *out;
	struct ss_event_query query;
	enum { BY_NAME, BY_LINE, BY_PLANE } by;
	SS_VEC(struct group) groups;
	struct ss_u64map by_key;
	struct ss_strmap texts;
	struct listed *list; /* twice as many as are shown */
	size_t nlisted;
	uint64_t n;
	struct ss_str host; /* at hand */
};

static bool keep(struct stats *s, struct ss_str *text)
{
	*text = ss_intern_str(&s->out->texts, *text);
	return !s->out->texts.no_memory;
}

/* ---- what matches ---- */

static int by_duration(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	return SS_CMP(y->dur_ps, x->dur_ps) ?: SS_CMP(x->nth, y->nth);
}

static bool list_event(struct stats *s, const struct ss_event_record *e)
{
	if (s->nlisted == 2 * MOST_LISTED) {
		qsort(s->list, s->nlisted, sizeof(*s->list), by_duration);
		s->nlisted = MOST_LISTED;
	}
	if (s->nlisted >= MOST_LISTED && e->dur_ps < s->list[MOST_LISTED - 1].dur_ps)
		return true;
	struct listed *l = &s->list[s->nlisted++];
	*l = (struct listed){ e->event, s->host, e->plane, e->line.n ? e->line : e->line_id, e->begin_ps, e->dur_ps, s->n };
	return keep(s, &l->name) && keep(s, &l->plane) && keep(s, &l->line);
}

/* Texts that are equal have one number, so that groups are told apart for certain. */
static struct group *group_of(struct stats *s, const struct ss_event_record *e)
{
	struct ss_str plane = e->plane, line = e->line.n ? e->line : e->line_id,
		      name = s->by == BY_NAME ? e->event : s->by == BY_LINE ? line : plane;
	uint32_t a = ss_strmap_get(&s->texts, name), b = ss_strmap_get(&s->texts, plane);
	if (a == SS_NONE || b == SS_NONE) {
		if (!keep(s, &name) || !keep(s, &plane))
			return NULL;
		a = ss_strmap_add(&s->texts, name);
		b = ss_strmap_add(&s->texts, plane);
	}
	uint32_t known = (uint32_t)s->groups.n;
	uint32_t at = a == SS_NONE || b == SS_NONE ? SS_NONE : ss_u64map_add(&s->by_key, (uint64_t)a << 32 | b, known);
	if (at == known && !ss_vec_push(&s->groups, ((struct group){ .name = s->texts.keys[a], .plane = s->texts.keys[b] })))
		return NULL;
	return at == SS_NONE ? NULL : &s->groups.v[at];
}

static bool add_duration(struct durations *d, double ps)
{
	return ps >= 0 && ps <= UINT32_MAX ? ss_vec_push(&d->below_ps, (uint32_t)ps) : ss_vec_push(&d->above_ps, ps);
}

static size_t count(const struct durations *d)
{
	return d->below_ps.n + d->above_ps.n;
}

/* The i-th; from the shortest, once they are sorted. */
static double duration(const struct durations *d, size_t i)
{
	return i < d->below_ps.n ? d->below_ps.v[i] : d->above_ps.v[i - d->below_ps.n];
}

static void free_durations(struct durations *d)
{
	ss_vec_free(&d->below_ps);
	ss_vec_free(&d->above_ps);
}

static bool take_event(void *arg, const struct ss_event_record *e)
{
	struct stats *s = arg;
	struct group *g = group_of(s, e);
	if (!g || !add_duration(&g->dur, e->dur_ps) || !list_event(s, e)) {
		s->out->texts.no_memory = true;
		return false;
	}
	g->total_ps += e->dur_ps;
	s->n++;
	return true;
}

static bool take_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct stats *s = arg;
	s->host = ss_host_name(s->m->hosts[i]);
	return ss_event_query_run(&s->query, h, take_event, s, err) && (!s->out->texts.no_memory || ss_fail_mem(err));
}

/* ---- rows ---- */

#define SORT_ITEM uint32_t
#define SORT_LESS(ctx, a, b) ((void)(ctx), *(a) < *(b))
#include "base/introsort_of.h"

static void sort(struct durations *d)
{
	/* Where they are: qsort would take as much memory again. */
	sort_items(d->below_ps.v, d->below_ps.n, NULL);
	if (d->above_ps.n)
		qsort(d->above_ps.v, d->above_ps.n, sizeof(*d->above_ps.v), ss_cmp_double);
}

static double percentile(const struct durations *d, double q)
{
	double at = q * (double)(count(d) - 1);
	size_t lo = (size_t)at, hi = lo + 1 < count(d) ? lo + 1 : lo;
	return duration(d, lo) + (at - (double)lo) * (duration(d, hi) - duration(d, lo));
}

static double deviation(const struct group *g)
{
	double n = (double)count(&g->dur), mean = g->total_ps / n, sum = 0;
	for (size_t i = 0; i < count(&g->dur); i++)
		sum += (duration(&g->dur, i) - mean) * (duration(&g->dur, i) - mean);
	return count(&g->dur) > 1 ? sqrt(sum / (n - 1)) : 0;
}

static void put_group(struct ss_table *t, struct group *g)
{
	const struct durations *d = &g->dur;
	sort(&g->dur);
	ss_table_row(t);
	ss_set_str(t, G_NAME, g->name);
	ss_set_str(t, G_PLANE, g->plane);
	ss_set_i64(t, G_COUNT, (int64_t)count(d));
	ss_set_i64(t, G_TOTAL, ss_safe_i64(g->total_ps));
	ss_set_f64(t, G_MEAN, g->total_ps / (double)count(d));
	ss_set_i64(t, G_MIN, ss_safe_i64(duration(d, 0)));
	ss_set_f64(t, G_P50, percentile(d, .5));
	ss_set_f64(t, G_P90, percentile(d, .9));
	ss_set_f64(t, G_P99, percentile(d, .99));
	ss_set_i64(t, G_MAX, ss_safe_i64(duration(d, count(d) - 1)));
	ss_set_f64(t, G_STDDEV, deviation(g));
}

static int by_total(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	return SS_CMP(y->total_ps, x->total_ps) ?: ss_str_cmp(x->name, y->name) ?: ss_str_cmp(x->plane, y->plane);
}

static bool put_rows(struct stats *s)
{
	struct ss_table *t = ss_result_table(s->out, "groups", "Durations", group_cols, SS_COUNT(group_cols));
	if (t && s->groups.n)
		qsort(s->groups.v, s->groups.n, sizeof(*s->groups.v), by_total);
	for (size_t i = 0; t && i < s->groups.n; i++) {
		if (i < MOST_GROUPS)
			put_group(t, &s->groups.v[i]);
		free_durations(&s->groups.v[i].dur);
	}
	t = t ? ss_result_table(s->out, "longest", "Longest events", list_cols, SS_COUNT(list_cols)) : NULL;
	if (t && s->nlisted)
		qsort(s->list, s->nlisted, sizeof(*s->list), by_duration);
	for (size_t i = 0; t && i < s->nlisted && i < MOST_LISTED; i++) {
		const struct listed *l = &s->list[i];
		ss_table_row(t);
		ss_set_str(t, L_NAME, l->name);
		ss_set_str(t, L_HOST, l->host);
		ss_set_str(t, L_PLANE, l->plane);
		ss_set_str(t, L_LINE, l->line);
		ss_set_i64(t, L_BEGIN, ss_safe_i64(l->begin_ps));
		ss_set_i64(t, L_DUR, ss_safe_i64(l->dur_ps));
	}
	if (s->groups.n > MOST_GROUPS)
		ss_result_note(s->out, SS_INFO, ss_arena_printf(s->out->arena, "the first %u of %zu groups are listed", MOST_GROUPS,
								s->groups.n));
	if (s->n > MOST_LISTED)
		ss_result_note(s->out, SS_INFO,
			       ss_arena_printf(s->out->arena, "the longest %u of %llu events are listed", MOST_LISTED,
					       (unsigned long long)s->n));
	return t;
}

/* ---- parameters ---- */

/* An end of the stretch; NAN: it is open. */
static bool time_param(const struct ss_request *q, const char *name, double *ps, struct ss_err *err)
{
	int64_t at_ps = -1;
	if (!ss_request_time_ps(q, &ss_tool_event_stats, name, &at_ps, err))
		return false;
	*ps = at_ps < 0 ? NAN : (double)at_ps;
	return at_ps < 0 || q->model->nhosts < 2 ||
	       ss_fail(err, SS_EINVAL, "a time range needs one host: name one of the %zu hosts", q->model->nhosts);
}

static bool read_params(const struct ss_request *q, struct stats *s, struct ss_err *err)
{
	static const char *const words[] = { [BY_NAME] = "name", [BY_LINE] = "line", [BY_PLANE] = "plane" };
	const struct ss_event_query_text text = { .plane = ss_request_param(q, &ss_tool_event_stats, "plane"),
						  .event = ss_request_param(q, &ss_tool_event_stats, "name"),
						  .filter = ss_request_param(q, &ss_tool_event_stats, "where"),
						  .window = ss_request_param(q, &ss_tool_event_stats, "window") };
	struct ss_str by = ss_request_param(q, &ss_tool_event_stats, "by");
	unsigned k = 0;
	while (k < SS_COUNT(words) && !ss_str_is(by, words[k]))
		k++;
	if (k == SS_COUNT(words))
		return ss_fail(err, SS_EINVAL, "by must be name, line or plane, not '" SS_FMT "'", SS_ARG(by));
	s->by = k;
	s->query.least_ps = s->query.most_ps = NAN;
	return time_param(q, "from", &s->query.from_ps, err) && time_param(q, "to", &s->query.to_ps, err) &&
	       ss_event_query_compile(&s->query, &text, err);
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct stats s = { .m = q->model, .out = out, .list = SS_NEW_N(q->arena, struct listed, 2 * MOST_LISTED) };
	const struct ss_visit visit = { .take = take_host, .arg = &s };
	if (!s.list)
		return ss_fail_mem(err);
	if (!read_params(q, &s, err))
		return false;
	bool ok = ss_tool_visit(q, out, &visit, err) && (put_rows(&s) || ss_fail_mem(err));
	for (size_t i = 0; i < s.groups.n; i++)
		free_durations(&s.groups.v[i].dur);
	ss_vec_free(&s.groups);
	ss_u64map_free(&s.by_key);
	ss_strmap_free(&s.texts);
	ss_event_query_free(&s.query);
	if (s.n >= TRIM_EVENTS)
		ss_heap_trim();
	return ok;
}

/* The text of an instruction is long. */
static struct ss_str cut(struct ss_result *out, struct ss_str name)
{
	struct ss_str front = ss_utf8_front(name, NAME_BYTES);
	return front.n < name.n ? ss_arena_printf(out->arena, SS_FMT "…", SS_ARG(front)) : name;
}

/* What takes most, and where the longest is. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = ss_result_find(out, "groups"), *l = ss_result_find(out, "longest");
	(void)q;
	(void)err;
	if (!t || !t->nrows) {
		ss_result_say(out, SS_STR("No event matches."));
		return true;
	}
	if (!(ss_cell_f64(t, 0, "total_ps") > 0)) {
		ss_result_say(out, SS_STR("No event that matches has a duration."));
		return true;
	}
	struct ss_str top = cut(out, ss_cell_str(t, 0, "name"));
	struct ss_str plane = ss_cell_str(t, 0, "plane");
	bool of_plane = ss_str_eq(plane, ss_cell_str(t, 0, "name"));
	ss_say(out, "Of the events that match, '" SS_FMT "'%s" SS_FMT "%s takes the most time: %s in %s, %s in the median.",
	       SS_ARG(top), of_plane ? "" : " in '", SS_ARG(of_plane ? SS_STR("") : plane), of_plane ? "" : "'",
	       ss_value_words(SS_UNIT_PS, ss_cell_f64(t, 0, "total_ps")).s,
	       ss_count_words(ss_cell_f64(t, 0, "count"), "event").s, ss_value_words(SS_UNIT_PS, ss_cell_f64(t, 0, "p50_ps")).s);
	if (!l || !l->nrows)
		return true;
	struct ss_str longest = cut(out, ss_cell_str(l, 0, "name"));
	ss_say(out, "The longest is '" SS_FMT "', %s, from %s on.", SS_ARG(longest),
		       ss_value_words(SS_UNIT_PS, ss_cell_f64(l, 0, "dur_ps")).s,
		       ss_value_words(SS_UNIT_PS, ss_cell_f64(l, 0, "begin_ps")).s);
	return true;
}

const struct ss_tool ss_tool_event_stats = {
	.name = "event_stats",
	.title = "Events",
	.summary = "Durations of the events that match conditions and a time range, by name, line or plane; and the longest events",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS,
	.params = params,
	.nparams = SS_COUNT(params),
	.run = run,
	.conclude = conclude,
};
