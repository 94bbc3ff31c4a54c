/*
 * inference_profile.c - how long requests to a served model took and on what, by percentile; and
 * the batches they were executed in.
 *
 * One table of models, then for each model one of requests and, where requests are batched, one of
 * batches. Of many requests some are shown: those around the percentiles that matter. Means are
 * over all of them.
 */
#include "model/host/plane.h"

#include "tools/inference_models.h"
#include "tools/inference_words.h"

#include <stdlib.h>

static const struct ss_col model_cols[] = {
	STR("model_name", "Model Name", NULL),
};

/* Columns of requests without batching; with it, three more stand behind the latency. */
#define COL_PERCENTILE STR("percentile", "Percentile", "Percentile: share of requests that took less time")
#define COL_REQUEST_ID STR("request_id", "Request ID", "ID of the event group")
#define COL_LATENCY NUM("latency_ms", "Latency", MS, "From the first to the last event")
#define COL_PHASES										\
	NUM("host_preprocessing", "Host preprocess", MS, "Time until the first call to the device"),	\
	NUM("host_runtime", "Host runtime", MS, "Time from the call until the program is enqueued"),	\
	NUM("data_transfer_h2d", "Data transfer H2D", MS, NULL),				\
	NUM("data_transfer_d2h", "Data transfer D2H", MS, NULL),				\
	NUM("device_compute", "Device compute", MS, NULL),					\
	NUM("host_postprocess", "Host postprocess", MS, "Time after the last result has arrived from the device"),	\
	NUM("idle time", "Idle time", MS, "Time between the phases that no event explains"),	\
	STR("trace_viewer_url", "Trace Viewer URL", NULL)

static const struct ss_col request_cols[] = { COL_PERCENTILE, COL_REQUEST_ID, COL_LATENCY, COL_PHASES };

static const struct ss_col batched_cols[] = {
	COL_PERCENTILE,
	COL_REQUEST_ID,
	COL_LATENCY,
	NUM("batching_request_size", "Request size", COUNT, "Tasks in the request"),
	NUM("host_batch_formation", "Host batch formation", MS, "Time until the first batch of the request begins"),
	STR("throughput", "Throughput", "Requests per second"),
	COL_PHASES,
};

enum { B_PERCENTILE, B_ID, B_LATENCY, B_PADDING, B_SIZE, B_EFFICIENCY, B_DELAY, B_THROUGHPUT, B_COMPUTE, B_PROGRAMS, B_URL };

static const struct ss_col batch_cols[] = {
	STR("percentile", "Percentile", "Percentile: share of batches that took less time"),
	STR("batch_id", "Batch ID", "ID of the event group"),
	NUM("latency", "Latency", MS, NULL),
	NUM("padding_amount", "Padding amount", COUNT, "Padding tasks"),
	NUM("batch_size_after_padding", "Batch size after padding", COUNT, NULL),
	NUM("batching_efficiency", "Batching efficiency", FRAC, "Share of the batch that is not padding"),
	NUM("batching_delay_us", "Batching delay", MS, "Time since the begin of the batch's first request"),
	STR("throughput", "Throughput", "Batches per second"),
	NUM("device_compute", "Device compute", MS, NULL),
	STR("program_id", "Program ID(s)", "Compiled programs that ran for the batch"),
	STR("trace_viewer_url", "Trace Viewer URL", NULL),
};

static const struct ss_param params[] = {
	{ "request_column", "column", "Latency", "the column by whose percentiles requests are selected" },
	{ "batch_column", "column", "Latency", "the column by whose percentiles batches are selected" },
};

static const struct ss_col pattern_cols[] = {
	{ "id", "ID", SS_TYPE_I64, SS_UNIT_NONE, NULL, NULL },
	{ "tensor_pattern", "Tensor Pattern", SS_TYPE_STR, SS_UNIT_NONE, "Copies of tensors: kind, shape, layout", NULL },
	{ "count", "Occurrences", SS_TYPE_I64, SS_UNIT_COUNT, "Requests and batches with this pattern", NULL },
	{ "percentile", "Linearize/Delinearize latency", SS_TYPE_STR, SS_UNIT_NONE,
	  "Copy time per request, by percentile", NULL },
};

/* Columns by which requests and batches may be sorted. */
static const struct {
	const char *label;
	enum served_value value;
} request_sorts[] = {
	{ "Latency", V_LATENCY }, { "Request delay for batching", V_DELAY }, { "Request size", V_SIZE },
	{ "Host preprocess", V_PREPROCESS }, { "Host batch formation", V_FORMATION }, { "Host runtime", V_RUNTIME },
	{ "Data transfer H2D", V_H2D }, { "Data transfer D2H", V_D2H }, { "Device compute", V_COMPUTE },
	{ "Host postprocess", V_POSTPROCESS }, { "Idle time", V_IDLE },
}, batch_sorts[] = {
	{ "Latency", V_LATENCY }, { "Batching delay", V_DELAY }, { "Padding amount", V_PADDING },
	{ "Batch size after padding", V_BATCH_SIZE }, { "Batching efficiency", V_EFFICIENCY },
};

struct inference_answer {
	const struct ss_request *q;
	struct ss_result *out;
	struct served_models models;
	bool has_batching;
	enum served_value request_sort, batch_sort;
};

/* Sums of items, for means. */
struct mean {
	struct served_item sum;
	int64_t n;
};

static void mean_add(struct mean *m, const struct served_item *i)
{
	for (size_t v = 0; v < SS_COUNT(i->v); v++)
		m->sum.v[v] = (int64_t)((uint64_t)m->sum.v[v] + (uint64_t)i->v[v]);
	m->n++;
}

static double efficiency(const struct served_item *i)
{
	double size = (double)i->v[V_BATCH_SIZE];
	return size != 0 ? (size - (double)i->v[V_PADDING]) / size : 0;
}

/* The mean in whole units; its efficiency is that of the sums. */
static struct served_item mean_of(const struct mean *m, double *share)
{
	struct served_item i = m->sum;
	i.programs = NULL;
	i.nprograms = 0;
	*share = efficiency(&m->sum);
	for (size_t v = 0; m->n && v < SS_COUNT(i.v); v++)
		i.v[v] /= m->n;
	return i;
}

/* Items per second between the first begin and the last end. */
static double throughput(const struct served_item *v, size_t n)
{
	int64_t begin = 0, end = 0;
	for (size_t i = 0; i < n; i++) {
		begin = i == 0 || v[i].begin_ps < begin ? v[i].begin_ps : begin;
		end = i == 0 || v[i].end_ps > end ? v[i].end_ps : end;
	}
	double s = ((double)end - (double)begin) / 1e12;
	return n && s > 0 ? (double)n / s : 0;
}

struct ranked {
	double key;
	uint32_t i;
};

static int by_key(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	return SS_CMP(x->key, y->key) ?: SS_CMP(x->i, y->i);
}

#define ALL_UP_TO 60	/* so many are all shown */
#define EACH 10		/* at most so many around a percentile */

/*
 * Is the element at `percent` of the order near a percentile that is shown? `last`, `used`: the one
 * in progress, and how often.
 */
static bool is_shown(double percent, size_t *last, size_t *used)
{
	static const struct {
		double at, width;
	} targets[] = { { 50, 1 }, { 75, 1 }, { 90, 1 }, { 99, 0.5 }, { 99.9, 0.05 }, { 99.99, 0.005 } };
	for (size_t t = 0; t < SS_COUNT(targets); t++) {
		if (percent < targets[t].at || percent >= targets[t].at + targets[t].width)
			continue;
		*used = *last == t ? *used + 1 : 1;
		*last = t;
		return *used <= EACH;
	}
	return false;
}

typedef bool row_fn(struct ss_table *t, struct ss_str percentile, struct ss_str id, const struct served_item *i, double share,
		    struct ss_str rate);

static bool add_sample(struct inference_answer *j, struct ss_table *t, const struct served_item *v, size_t n,
		       enum served_value sort, row_fn *add)
{
	struct ranked *order = malloc((n + 1) * sizeof(*order));
	size_t last = SIZE_MAX, used = 0;
	bool ok = order != NULL;
	for (size_t i = 0; ok && i < n; i++)
		order[i] = (struct ranked){ sort == V_EFFICIENCY ? efficiency(&v[i]) : (double)v[i].v[sort], (uint32_t)i };
	if (ok)
		qsort(order, n, sizeof(*order), by_key);
	for (size_t i = 0; ok && i < n; i++) {
		double percent = 100.0 * (double)i / (double)n;
		if (n > ALL_UP_TO && !is_shown(percent, &last, &used))
			continue;
		const struct served_item *it = &v[order[i].i];
		struct ss_str p = ss_arena_printf(j->q->arena, "%.3f", percent);
		struct ss_str id = ss_arena_printf(j->q->arena, "%lld", (long long)it->id);
		ok = p.p && id.p && add(t, p, id, it, efficiency(it), SS_STR("N/A"));
	}
	free(order);
	return ok;
}

static double ms(int64_t ps)
{
	return (double)ps / 1e9;
}

static bool add_request(struct ss_table *t, struct ss_str percentile, struct ss_str id, const struct served_item *i, double share,
			struct ss_str rate)
{
	static const enum served_value phases[] = { V_PREPROCESS, V_RUNTIME, V_H2D, V_D2H, V_COMPUTE, V_POSTPROCESS, V_IDLE };
	size_t c = 0;
	(void)share;
	ss_table_row(t);
	ss_set_str(t, c++, percentile);
	ss_set_str(t, c++, id);
	ss_set_f64(t, c++, ms(i->v[V_LATENCY]));
	if (t->cols == batched_cols) {
		ss_set_f64(t, c++, (double)i->v[V_SIZE]);
		ss_set_f64(t, c++, ms(i->v[V_DELAY]));
		ss_set_str(t, c++, rate);
	}
	for (size_t k = 0; k < SS_COUNT(phases); k++)
		ss_set_f64(t, c++, ms(i->v[phases[k]]));
	return true;
}

static struct ss_str join(struct ss_arena *arena, const struct ss_str *v, size_t n)
{
	size_t size = 0, at = 0;
	for (size_t i = 0; i < n; i++)
		size += v[i].n + 2;
	char *p = ss_arena_alloc(arena, size + 1);
	for (size_t i = 0; p && i < n; i++) {
		memcpy(p + at, v[i].p, v[i].n);
		at += v[i].n;
		if (i + 1 < n) {
			memcpy(p + at, ", ", 2);
			at += 2;
		}
	}
	return (struct ss_str){ p, p ? at : 0 };
}

static bool add_batch(struct ss_table *t, struct ss_str percentile, struct ss_str id, const struct served_item *i, double share,
		      struct ss_str rate)
{
	ss_table_row(t);
	ss_set_str(t, B_PERCENTILE, percentile);
	ss_set_str(t, B_ID, id);
	ss_set_f64(t, B_LATENCY, ms(i->v[V_LATENCY]));
	ss_set_f64(t, B_PADDING, (double)i->v[V_PADDING]);
	ss_set_f64(t, B_SIZE, (double)i->v[V_BATCH_SIZE]);
	ss_set_f64(t, B_EFFICIENCY, share);
	ss_set_f64(t, B_DELAY, ms(i->v[V_DELAY]));
	ss_set_str(t, B_THROUGHPUT, rate);
	ss_set_f64(t, B_COMPUTE, ms(i->v[V_COMPUTE]));
	struct ss_str programs = i->nprograms ? join(t->arena, i->programs, i->nprograms) : SS_STR("N/A");
	ss_set_str(t, B_PROGRAMS, programs);
	return programs.p != NULL;
}

/* One row for each size of batches. `links` of batches name themselves. */
struct by_size {
	struct ss_u64map index;
	SS_VEC(struct sized { int64_t size; struct mean mean; struct ss_strmap programs; }) v;
};

static void sizes_free(struct by_size *s)
{
	for (size_t i = 0; i < s->v.n; i++)
		ss_strmap_free(&s->v.v[i].programs);
	ss_u64map_free(&s->index);
	ss_vec_free(&s->v);
}

static bool add_sized(struct by_size *s, int64_t size, const struct served_item *i)
{
	uint32_t k = ss_u64map_add(&s->index, (uint64_t)size, (uint32_t)s->v.n);
	if (k == SS_NONE || (k == s->v.n && !ss_vec_push(&s->v, ((struct sized){ .size = size }))))
		return false;
	mean_add(&s->v.v[k].mean, i);
	for (uint32_t p = 0; p < i->nprograms; p++)
		if (ss_strmap_add(&s->v.v[k].programs, i->programs[p]) == SS_NONE)
			return false;
	return true;
}

static int by_size(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;
	return SS_CMP(x->size, y->size);
}

/* `per_item`: throughput of one item, so that sizes add up to the whole's. */
static bool add_sizes(struct inference_answer *j, struct ss_table *t, struct by_size *s, double per_item, row_fn *add)
{
	bool ok = true;
	if (s->v.n)
		qsort(s->v.v, s->v.n, sizeof(*s->v.v), by_size);
	for (size_t i = 0; ok && i < s->v.n; i++) {
		const struct sized *z = &s->v.v[i];
		double share;
		struct served_item mean = mean_of(&z->mean, &share);
		struct ss_str name = ss_arena_printf(j->q->arena, "Batch size %lld", (long long)z->size);
		struct ss_str rate = ss_arena_printf(j->q->arena, "%.1f", per_item * (double)z->mean.n);
		mean.programs = z->programs.keys;
		mean.nprograms = z->programs.n;
		ok = name.p && rate.p && add(t, name, SS_STR("N/A"), &mean, share, rate);
	}
	return ok;
}

/*
 * The device works for a batch as a whole: in rows of a batch size its time is the mean over the
 * batches of that size, not over the requests that share them.
 */
static bool take_batch_compute(struct by_size *requests, const struct served_model *m)
{
	struct by_size batches = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < m->batches.n; i++)
		ok = add_sized(&batches, m->batches.v[i].v[V_BATCH_SIZE], &m->batches.v[i]);
	for (size_t i = 0; ok && i < requests->v.n; i++) {
		struct sized *r = &requests->v.v[i];
		uint32_t b = ss_u64map_get(&batches.index, (uint64_t)r->size);
		if (b == SS_NONE)
			continue;
		const struct mean *of = &batches.v.v[b].mean;
		/* A sum over the requests again, which is divided by their number later. */
		r->mean.sum.v[V_COMPUTE] = (int64_t)((uint64_t)(of->sum.v[V_COMPUTE] / of->n) * (uint64_t)r->mean.n);
	}
	sizes_free(&batches);
	return ok;
}

static double mean_latency_ms(const struct served_item *v, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)v[i].v[V_LATENCY];
	return n ? sum / (double)n / 1e9 : 0;
}

static bool add_requests(struct inference_answer *j, const struct served_model *m, size_t number)
{
	struct ss_arena *arena = j->q->arena;
	struct ss_str name = ss_arena_printf(arena, "requests_%zu", number);
	struct ss_str title = ss_arena_printf(arena, "Requests to " SS_FMT, SS_ARG(m->name));
	struct ss_table *t = NULL;
	struct mean all = { 0 };
	struct by_size sizes = { 0 };
	double rate = throughput(m->requests.v, m->requests.n), share;
	if (name.p && title.p && j->has_batching)
		t = ss_result_table(j->out, name.p, title.p, batched_cols, SS_COUNT(batched_cols));
	else if (name.p && title.p)
		t = ss_result_table(j->out, name.p, title.p, request_cols, SS_COUNT(request_cols));
	bool ok = t && add_sample(j, t, m->requests.v, m->requests.n, j->request_sort, add_request);
	for (size_t i = 0; ok && i < m->links.n; i++)
		ok = add_sized(&sizes, m->links.v[i].batch_size, &m->requests.v[m->links.v[i].request]);
	ok = ok && take_batch_compute(&sizes, m);
	for (size_t i = 0; i < m->requests.n; i++)
		mean_add(&all, &m->requests.v[i]);
	ok = ok && add_sizes(j, t, &sizes, m->requests.n ? rate / (double)m->requests.n : 0, add_request);
	struct served_item mean = mean_of(&all, &share);
	struct ss_str text = ss_arena_printf(arena, "%.1f", rate);
	ok = ok && text.p && add_request(t, SS_STR("Average"), SS_STR("N/A"), &mean, 0, text);
	ss_table_prop_num(t, "throughput", "Requests per second", SS_UNIT_NONE, rate, "%.1f");
	ss_table_prop_num(t, "averageLatencyMs", "Average latency", SS_UNIT_MS, mean_latency_ms(m->requests.v, m->requests.n),
			  "%.3f");
	sizes_free(&sizes);
	return ok;
}

static void add_params(struct ss_table *t, const struct ss_batching_params *p)
{
	if (!p->known) {
		ss_table_prop(t, "hasBatchingParam", SS_STR("false"));
		return;
	}
	ss_table_prop(t, "hasBatchingParam", SS_STR("true"));
	ss_table_prop(t, "batchingParamNumBatchThreads", p->threads);
	ss_table_prop(t, "batchingParamMaxBatchSize", p->max_batch_size);
	ss_table_prop(t, "batchingParamBatchTimeoutMicros", p->timeout_us);
	ss_table_prop(t, "batchingParamMaxEnqueuedBatches", p->max_enqueued);
	ss_table_prop(t, "batchingParamAllowedBatchSizes", p->allowed_sizes);
}

static bool add_batches(struct inference_answer *j, const struct served_model *m, size_t number)
{
	struct ss_arena *arena = j->q->arena;
	struct ss_str name = ss_arena_printf(arena, "batches_%zu", number);
	struct ss_str title = ss_arena_printf(arena, "Batches of " SS_FMT, SS_ARG(m->name));
	struct mean all = { 0 };
	struct by_size sizes = { 0 };
	double rate = throughput(m->batches.v, m->batches.n), share;
	struct ss_table *t = NULL;
	if (name.p && title.p)
		t = ss_result_table(j->out, name.p, title.p, batch_cols, SS_COUNT(batch_cols));
	bool ok = t && add_sample(j, t, m->batches.v, m->batches.n, j->batch_sort, add_batch);
	for (size_t i = 0; ok && i < m->batches.n; i++) {
		mean_add(&all, &m->batches.v[i]);
		ok = add_sized(&sizes, m->batches.v[i].v[V_BATCH_SIZE], &m->batches.v[i]);
	}
	ok = ok && add_sizes(j, t, &sizes, m->batches.n ? rate / (double)m->batches.n : 0, add_batch);
	struct served_item mean = mean_of(&all, &share);
	struct ss_str text = ss_arena_printf(arena, "%.1f", rate);
	ok = ok && text.p && add_batch(t, SS_STR("Aggregated"), SS_STR("N/A"), &mean, share, text);
	if (ok)
		ss_set_str(t, B_URL, SS_STR("N/A"));
	ss_table_prop_num(t, "throughput", "Batches per second", SS_UNIT_NONE, rate, "%.1f");
	ss_table_prop_num(t, "averageLatencyMs", "Average latency", SS_UNIT_MS, mean_latency_ms(m->batches.v, m->batches.n),
			  "%.3f");
	add_params(t, &m->params);
	sizes_free(&sizes);
	return ok;
}

static int by_pattern(const void *a, const void *b)
{
	const struct served_copy *x = a, *y = b;
	return ss_str_cmp(x->pattern, y->pattern) ?: SS_CMP(x->dur_ps, y->dur_ps);
}

/* Requests and batches of one pattern, in the order of their time. */
struct pattern {
	const struct served_copy *v;
	size_t n;
	uint64_t sum_ps;
};

static int by_time(const void *a, const void *b)
{
	const struct pattern *x = a, *y = b;
	return SS_CMP(y->sum_ps, x->sum_ps) ?: ss_str_cmp(x->v->pattern, y->v->pattern);
}

static void add_pattern(struct ss_table *t, const struct pattern *p)
{
	static const double percents[] = { 50, 75, 90, 95, 99, 99.9 };
	struct ss_str text = SS_STR("");
	for (size_t i = 0; text.p && i < SS_COUNT(percents); i++) {
		size_t at = (size_t)(percents[i] / 100 * (double)p->n);
		text = ss_arena_printf(t->arena, SS_FMT "%s%.2f%%: %.6fms", SS_ARG(text), i ? "<br>" : "", percents[i],
				       ms((int64_t)p->v[at < p->n ? at : p->n - 1].dur_ps));
	}
	ss_table_row(t);
	ss_set_i64(t, 0, (int64_t)t->nrows - 1);
	ss_set_str(t, 1, p->v->pattern);
	ss_set_i64(t, 2, (int64_t)p->n);
	ss_set_str(t, 3, text);
}

/* The pattern that took longest first. */
static bool add_patterns(struct inference_answer *j, struct served_model *m, size_t number)
{
	struct ss_arena *arena = j->q->arena;
	struct ss_str name = ss_arena_printf(arena, "patterns_%zu", number);
	struct ss_str title = ss_arena_printf(arena, "Tensors copied for " SS_FMT, SS_ARG(m->name));
	struct ss_table *t = NULL;
	SS_VEC(struct pattern) v = { 0 };
	if (name.p && title.p)
		t = ss_result_table(j->out, name.p, title.p, pattern_cols, SS_COUNT(pattern_cols));
	bool ok = true;
	if (ok && m->copied.n)
		qsort(m->copied.v, m->copied.n, sizeof(*m->copied.v), by_pattern);
	for (size_t i = 0; ok && i < m->copied.n; i++) {
		const struct served_copy *c = &m->copied.v[i];
		if (!i || !ss_str_eq(c->pattern, c[-1].pattern))
			ok = ss_vec_push(&v, ((struct pattern){ .v = c }));
		if (ok) {
			v.v[v.n - 1].n++;
			v.v[v.n - 1].sum_ps += c->dur_ps;
		}
	}
	if (ok && v.n)
		qsort(v.v, v.n, sizeof(*v.v), by_time);
	for (size_t i = 0; ok && i < v.n; i++)
		add_pattern(t, &v.v[i]);
	ss_vec_free(&v);
	return ok;
}

static int by_name(const void *a, const void *b)
{
	return ss_str_cmp(((const struct served_model *)a)->name, ((const struct served_model *)b)->name);
}

static bool fill(struct inference_answer *j)
{
	struct ss_table *t = ss_result_table(j->out, "models", "Models", model_cols, SS_COUNT(model_cols));
	qsort(j->models.v.v, j->models.v.n, sizeof(*j->models.v.v), by_name);
	for (size_t i = 0; i < j->models.v.n; i++) {
		j->has_batching = j->has_batching || j->models.v.v[i].batches.n;
		ss_table_row(t);
		ss_set_str(t, 0, j->models.v.v[i].name);
	}
	ss_table_prop(t, "hasBatching", j->has_batching ? SS_STR("true") : SS_STR("false"));
	ss_table_prop(t, "hasTensorPattern", j->models.has_patterns ? SS_STR("true") : SS_STR("false"));
	bool ok = true;
	for (size_t i = 0; ok && i < j->models.v.n; i++)
		ok = add_requests(j, &j->models.v.v[i], i) && (!j->has_batching || add_batches(j, &j->models.v.v[i], i)) &&
		     (!j->models.has_patterns || add_patterns(j, &j->models.v.v[i], i));
	return ok;
}

extern const struct ss_tool ss_tool_inference_profile;

/* XProf's page asks for a column called "undefined" as long as nobody has chosen one. */
static struct ss_str column_param(const struct inference_answer *j, const char *name)
{
	struct ss_str label = ss_request_param(j->q, &ss_tool_inference_profile, name);
	return ss_str_is(label, "undefined") ? SS_STR("Latency") : label;
}

static bool read_params(struct inference_answer *j, struct ss_err *err)
{
	struct ss_str r = column_param(j, "request_column"), b = column_param(j, "batch_column");
	j->request_sort = j->batch_sort = V_COUNT;
	for (size_t i = 0; i < SS_COUNT(request_sorts); i++)
		if (ss_str_is(r, request_sorts[i].label))
			j->request_sort = request_sorts[i].value;
	for (size_t i = 0; i < SS_COUNT(batch_sorts); i++)
		if (ss_str_is(b, batch_sorts[i].label))
			j->batch_sort = batch_sorts[i].value;
	if (j->request_sort == V_COUNT)
		return ss_fail(err, SS_EINVAL, "request_column=" SS_FMT " is not a column of requests", SS_ARG(r));
	return j->batch_sort != V_COUNT || ss_fail(err, SS_EINVAL, "batch_column=" SS_FMT " is not a column of batches", SS_ARG(b));
}

static void warn(struct inference_answer *j, uint64_t n, const char *what)
{
	struct ss_str text = ss_arena_printf(j->q->arena, "%llu %s", (unsigned long long)n, what);
	ss_result_note(j->out, SS_WARNING, text);
}

static bool add_notes(struct inference_answer *j, size_t nrequests)
{
	if (j->models.nunnamed)
		warn(j, j->models.nunnamed, "requests without a model name are left out because other requests have one");
	if (j->models.ncut)
		warn(j, j->models.ncut, "intervals of batches shared by many requests are left out");
	if (!nrequests && !j->models.nunnamed)
		ss_result_note(
			j->out, SS_INFO,
			SS_STR("the profile holds no requests to a served model: neither session runs nor request "
			       "markers"));
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct inference_answer j = { .q = q, .out = out };
	size_t nrequests = 0;
	if (!read_params(&j, err))
		return false;
	bool ok = ss_served_models_read(&j.models, q, out, err);
	for (size_t i = 0; i < j.models.v.n; i++)
		nrequests += j.models.v.v[i].requests.n;
	if (ok && !(fill(&j) && add_notes(&j, nrequests)))
		ok = ss_fail_mem(err);
	ss_served_models_free(&j.models);
	return ok;
}

/*
 * Do the host's events look like requests? By names alone: a session run of a server, or a marker
 * (stat _r) where nothing counts training steps.
 */
static bool present(const struct ss_host *first)
{
	static const struct ss_str roots[] = { SS_STR_INIT("BatchingSessionRun"), SS_STR_INIT("TfrtModelRun"),
					       SS_STR_INIT("ServingModelRun"), SS_STR_INIT("SessionRun"),
					       SS_STR_INIT("RunGraph"), SS_STR_INIT("ProcessBatch") };
	const struct ss_plane *p = ss_host_plane(first, SS_PLANE_HOST_CPU);
	bool marks = false, steps = false;
	for (uint32_t i = 0; p && i < p->x->nevent_meta; i++) {
		struct ss_str name = p->x->event_meta[i].name;
		for (size_t k = 0; k < SS_COUNT(roots); k++)
			if (ss_str_eq(name, roots[k]))
				return true;
		if (ss_str_starts(name, SS_STR("ModelServerRequest_")))
			return true;
	}
	for (uint32_t i = 0; p && i < p->x->nstat_meta; i++) {
		marks = marks || ss_str_is(p->x->stat_meta[i].name, "_r");
		steps = steps || ss_str_is(p->x->stat_meta[i].name, "step_num");
	}
	return marks && !steps;
}

const struct ss_tool ss_tool_inference_profile = {
	.name = "inference_profile",
	.title = "Inference profile",
	.summary = "Latency of requests to a served model by percentile, and the batches in which they ran",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_UNLISTED | SS_TOOL_VISITS | SS_TOOL_OF_PARTS,
	.params = params,
	.nparams = SS_COUNT(params),
	.present = present,
	.run = run,
	.conclude = ss_inference_conclude,
};
