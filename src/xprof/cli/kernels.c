/*
 * kernels.c - get_kernel_stats and get_device_time_attribution: what ran on the devices' lines, and
 * how long any of it did.
 */
#include "base/icontains.h"

#include "base/regex.h"
#include "base/vec.h"
#include "model/host/host.h"
#include "xprof/cli/modules.h"
#include "xspace/events.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#define MAX_MATCHERS 32

struct span {
	int64_t begin_ns, end_ns;
};

struct spans {
	struct span *v;
	size_t n, cap;
};

struct kernel {
	struct ss_str name;
	bool region;
	uint64_t count;
	double us;
};

struct line_spans {
	struct ss_str name;
	struct spans spans;
};

struct stats {
	struct xcli *x;
	struct ss_str only; /* the kernel that was asked for, or "" */
	struct ss_str matchers[MAX_MATCHERS];
	struct ss_regex *regexes[MAX_MATCHERS]; /* NULL: it is none */
	size_t nmatchers;
	bool summary, regions;
	struct kernel *v;
	uint32_t n, cap;
	struct ss_u64map by_name;
	struct spans all, custom;
	struct line_spans *lines;
	size_t nlines;
	struct ss_str *left_out; /* lines with what runs inside kernels */
	size_t nleft_out;
	struct xv *steps;
	double outermost_us, steps_us;
};

static int by_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return SS_CMP(x->begin_ns, y->begin_ns);
}

/* The length of the union. */
static int64_t covered(struct spans *s)
{
	int64_t sum = 0, end = INT64_MIN;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_begin);
	for (size_t i = 0; i < s->n; i++) {
		int64_t from = s->v[i].begin_ns > end ? s->v[i].begin_ns : end;
		sum += s->v[i].end_ns > from ? s->v[i].end_ns - from : 0;
		end = s->v[i].end_ns > end ? s->v[i].end_ns : end;
	}
	return sum;
}

/* --- lines ------------------------------------------------------------------------------------- */

enum line_kind { KERNELS, REGIONS, MODULES, OTHER };

static bool iends(struct ss_str s, const char *end)
{
	size_t n = strlen(end);
	return s.n >= n && ss_str_ieq(ss_str_sub(s, s.n - n, s.n), ss_str_from(end));
}

static bool iis(struct ss_str s, const char *z)
{
	return ss_str_ieq(s, ss_str_from(z));
}

static enum line_kind kind_of(bool tpu, struct ss_str line)
{
	static const char *const apart[] = { "COUNTER", "MODULES", "OVERLAY", "SYNC FLAG",
					     "SENSOR" };
	if (tpu) {
		if (iis(line, "XLA OPS") || iis(line, "PALLAS"))
			return KERNELS;
		if (iis(line, "LLO OPS") || iis(line, "PALLAS PRIMITIVES") ||
		    iends(line, " INSTRUCTIONS"))
			return REGIONS;
		return ss_str_icontains(line, SS_STR("XLA MODULES")) ? MODULES : OTHER;
	}
	for (size_t i = 0; i < SS_COUNT(apart); i++)
		if (ss_str_icontains(line, ss_str_from(apart[i])))
			return OTHER;
	return KERNELS;
}

/* An event's times as XProf's reader has them: whole nanoseconds cut off. */
static struct span span_of(const struct ss_host *h, const struct ss_xline *l,
			   const struct ss_xevents *e, uint32_t i)
{
	double offset_ps = (double)(e->begin_ps[i] - (l->timestamp_ns - h->x.origin_ns) * 1000);
	int64_t begin = (int64_t)((double)l->timestamp_ns + offset_ps / 1000);
	return (struct span){ begin, begin + (int64_t)((double)e->dur_ps[i] / 1000) };
}

/* --- kernels ----------------------------------------------------------------------------------- */

static bool is_digits(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!isdigit((unsigned char)s.p[i]))
			return false;
	return s.n > 0;
}

/* The stat tf_op_name, else the event's name, for which a number is none. */
static struct ss_str name_of(const struct ss_xplane *p, const struct ss_xline *l,
			     const struct ss_xevents *e, uint32_t i, bool has_op)
{
	static const char *const words[] = { "msg", "message", "annotation", "label" };
	struct ss_str name = ss_xevent_meta_name_in_file(p, e->meta[i]), better = SS_STR("");
	bool number = is_digits(name);
	if (!has_op && !number)
		return name;
	struct ss_xstats it = ss_xevents_stats(e, p, l, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		struct ss_str stat = s.meta == SS_NONE ? SS_STR("") : p->stat_meta[s.meta].name;
		if (s.kind != SS_X_STR || !s.s.n)
			continue;
		if (ss_str_is(stat, "tf_op_name"))
			return s.s;
		for (size_t k = 0; number && !better.n && k < SS_COUNT(words); k++)
			if (ss_str_is(stat, words[k]))
				better = s.s;
	}
	return better.n ? better : name;
}

static bool is_asked(struct stats *s, struct ss_str name)
{
	bool any = !s->nmatchers;
	if (s->only.n && !ss_str_eq(name, s->only))
		return false;
	for (size_t i = 0; i < s->nmatchers && !any; i++)
		any = (s->regexes[i] && ss_regex_search(s->regexes[i], name, NULL, 0, NULL, NULL) ==
						 SS_REGEX_YES) ||
		      ss_str_contains(name, s->matchers[i]);
	return any;
}

static struct kernel *kernel_of(struct stats *s, struct ss_str name, bool region)
{
	uint32_t at = ss_u64map_add(&s->by_name, ss_mix(ss_str_hash(name), region), s->n);
	if (at == SS_NONE)
		return NULL;
	if (at < s->n)
		return &s->v[at];
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? 2 * s->cap : 64;
		struct kernel *v = realloc(s->v, cap * sizeof(*v));
		if (!v)
			return NULL;
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n] = (struct kernel){ .name = name, .region = region };
	return &s->v[s->n++];
}

/*
 * Longer events first where several begin at once: then what encloses comes before what it
 * encloses.
 */
struct ordered {
	struct span span;
	uint32_t i;
};

static int by_place(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	return SS_CMP(x->span.begin_ns, y->span.begin_ns) ?: SS_CMP(y->span.end_ns, x->span.end_ns) ?: SS_CMP(x->i, y->i);
}

static bool add_kernels(struct stats *s, const struct ss_xplane *p, const struct ss_xline *l,
			const struct ss_xevents *e, const struct ordered *o, bool region)
{
	int64_t end = -1;
	bool has_op = false, ok = true;
	for (uint32_t i = 0; i < p->nstat_meta; i++)
		has_op = has_op || ss_str_is(p->stat_meta[i].name, "tf_op_name");
	for (uint32_t k = 0; ok && k < e->n; k++) {
		uint32_t i = o[k].i;
		struct ss_str name = name_of(p, l, e, i, has_op);
		if (!is_asked(s, name))
			continue;
		struct kernel *one = kernel_of(s, name, region);
		double us = (double)e->dur_ps[i] / 1000 / 1000;
		if (!one)
			return false;
		one->count++;
		one->us += us;
		if (!region && o[k].span.begin_ns >= end)
			s->outermost_us += us;
		end = o[k].span.end_ns > end ? o[k].span.end_ns : end;
		if (!s->summary || region)
			continue;
		bool custom = ss_str_istarts(name, SS_STR("custom-call")) ||
			      ss_str_icontains(name, SS_STR("custom_call")) || ss_str_icontains(name, SS_STR("pallas")) ||
			      ss_str_icontains(l->name, SS_STR("PALLAS"));
		ok = ss_vec_push(&s->all, o[k].span) && (!custom || ss_vec_push(&s->custom, o[k].span));
	}
	return ok;
}

static struct spans *line_of(struct stats *s, struct ss_str name)
{
	for (size_t i = 0; i < s->nlines; i++)
		if (ss_str_eq(s->lines[i].name, name))
			return &s->lines[i].spans;
	struct line_spans *v = realloc(s->lines, (s->nlines + 1) * sizeof(*v));
	if (!v)
		return NULL;
	s->lines = v;
	v[s->nlines] = (struct line_spans){ .name = name };
	return &v[s->nlines++].spans;
}

static bool leave_out(struct stats *s, struct ss_str name)
{
	for (size_t i = 0; i < s->nleft_out; i++)
		if (ss_str_eq(s->left_out[i], name))
			return true;
	struct ss_str *v = realloc(s->left_out, (s->nleft_out + 1) * sizeof(*v));
	if (!v)
		return false;
	s->left_out = v;
	v[s->nleft_out++] = name;
	return true;
}

static void add_steps(struct stats *s, const struct ss_xevents *e)
{
	for (uint32_t i = 0; i < e->n; i++) {
		double us = (double)e->dur_ps[i] / 1000 / 1000;
		xv_f64(s->steps, NULL, us);
		s->steps_us += us;
	}
}

static bool add_line(struct stats *s, const struct ss_host *h, const struct ss_xplane *p,
		     struct ss_xline *l, struct ss_err *err)
{
	enum line_kind kind = kind_of(ss_str_icontains(p->name, SS_STR("TPU")), l->name);
	struct ss_xevents e = { 0 };
	if (kind == OTHER && !s->summary)
		return true;
	if (!ss_xevents_load(&e, &h->x, p, l, err))
		return false;
	struct ordered *o = malloc((e.n + 1) * sizeof(*o));
	struct spans *spans = s->summary && e.n ? line_of(s, l->name) : NULL;
	bool ok = o && (spans || !s->summary || !e.n);
	for (uint32_t i = 0; ok && i < e.n; i++) {
		o[i] = (struct ordered){ span_of(h, l, &e, i), i };
		ok = !spans || ss_vec_push(spans, o[i].span);
	}
	if (ok && kind == MODULES && s->summary)
		add_steps(s, &e);
	else if (ok && kind == REGIONS && !s->regions)
		ok = leave_out(s, l->name);
	else if (ok && (kind == KERNELS || kind == REGIONS)) {
		qsort(o, e.n, sizeof(*o), by_place);
		ok = add_kernels(s, p, l, &e, o, kind == REGIONS);
	}
	free(o);
	ss_xevents_free(&e);
	return ok || ss_fail_mem(err);
}

static bool collect(struct stats *s)
{
	struct xcli *x = s->x;
	struct ss_err err = { 0 };
	for (size_t i = 0; i < x->nhosts; i++) {
		struct ss_host *h = &x->hosts[i];
		for (uint32_t p = 0; p < h->x.nplanes; p++) {
			struct ss_xplane *plane = &h->x.planes[p];
			for (uint32_t l = 0;
			     ss_str_starts(plane->name, SS_STR("/device:")) && l < plane->nlines;
			     l++)
				if (!add_line(s, h, plane, &plane->lines[l], &err))
					return xcli_failed(x, &err);
		}
	}
	return true;
}

/* --- answers ----------------------------------------------------------------------------------- */

static struct ss_str short_name(struct ss_str name)
{
	while (name.n && isspace((unsigned char)name.p[0]))
		name = ss_str_sub(name, 1, name.n);
	size_t n = 0;
	while (n < name.n && name.p[n] != ':' && !isspace((unsigned char)name.p[n]))
		n++;
	return ss_str_sub(name, 0, n);
}

static void put_kernel(struct xv *list, const struct kernel *k)
{
	struct xv *v = xv_add_object(list, NULL);
	struct ss_str name = short_name(k->name);
	xv_str(v, "kernel_name", k->name);
	xv_str(v, "canonical_name", name);
	xv_str(v, "short_name", name);
	xv_str(v, "hlo_op_name", name);
	xv_str(v, "raw_name", k->name);
	xv_rounded(v, "total_duration_us", k->us, 4);
	xv_u64(v, "execution_count", k->count);
	xv_rounded(v, "avg_duration_us", k->us / (double)k->count, 4);
	xv_bool(v, "is_intra_kernel_region", k->region);
}

static void put_summary(struct stats *s, struct xv *v, struct xv *records, size_t top_level)
{
	int64_t ns = covered(&s->all), custom = covered(&s->custom);
	double n = (double)xv_length(s->steps), mean = n > 0 ? s->steps_us / n : (double)ns / 1000;
	double square = 0;
	for (size_t i = 0; i < xv_length(s->steps); i++)
		square += (s->steps->m.v[i].value->d - mean) * (s->steps->m.v[i].value->d - mean);
	xv_i64(v, "total_device_duration_ns", ns);
	xv_f64(v, "total_device_duration_us", (double)ns / 1000);
	xv_f64(v, "total_device_duration_ms", (double)ns / 1e6);
	struct xv *lines = xv_add_object(v, "by_line_duration_ns");
	for (size_t i = 0; i < s->nlines; i++) {
		struct xv *one = xv_array(&s->x->make);
		xv_i64(one, NULL, covered(&s->lines[i].spans));
		if (xv_length(one))
			xv_put_key(lines, s->lines[i].name, one->m.v[0].value);
	}
	xv_rounded(v, "custom_call_duration_us", (double)custom / 1000, 4);
	xv_rounded(v, "custom_call_share_pct", ns > 0 ? (double)custom / (double)ns * 100 : 0, 2);
	xv_put(v, "kernel_records", records);
	xv_put(v, "step_durations_us", s->steps);
	struct xv *steps = xv_add_object(v, "stats");
	xv_rounded(steps, "mean_us", mean, 4);
	xv_rounded(steps, "std_us", n > 1 ? sqrt(square / (n - 1)) : 0, 4);
	xcli_put_counts(v, s->n, xv_length(records));
	xv_u64(v, "top_level_records", top_level);
	xv_rounded(v, "total_duration_us_all_records", s->outermost_us, 4);
	if (!s->nleft_out)
		return;
	qsort(s->left_out, s->nleft_out, sizeof(*s->left_out), ss_cmp_str);
	struct xv *out = xv_add_array(v, "excluded_intra_kernel_region_lines");
	for (size_t i = 0; i < s->nleft_out; i++)
		xv_str(out, NULL, s->left_out[i]);
	xv_z(v, "note",
	     "Lines with what runs inside of kernels are left out; --include_intra_kernel_regions "
	     "adds them.");
}

static struct xv *markdown(struct stats *s, const uint32_t *order, size_t n)
{
	struct ss_buf b = { 0 };
	struct xv *list = xv_array(&s->x->make);
	if (s->only.n)
		ss_buf_printf(&b, "# Kernel Stats for `" SS_FMT "`\n\n", SS_ARG(s->only));
	else
		ss_buf_lit(&b, "# Top Kernels by Duration\n\n");
	ss_buf_lit(&b, "| Kernel | Total Duration (us) | Execution Count | Avg Duration (us) |\n| "
		       ":--- | ---: | ---: | ---: |");
	for (size_t i = 0; i < n; i++) {
		const struct kernel *k = &s->v[order[i]];
		ss_buf_lit(&b, "\n| `");
		ss_buf_str(&b, k->name);
		ss_buf_printf(&b, "` | %.2f | %llu | %.2f |", xv_round(k->us, 4),
			      (unsigned long long)k->count, xv_round(k->us / (double)k->count, 4));
	}
	if (n < s->n)
		ss_buf_printf(&b,
			      "\n\n%zu of %u kernels are shown. Kernels that are not in another one "
			      "take %.2f us in all.",
			      n, s->n, s->outermost_us);
	struct ss_str text = b.no_memory ? (struct ss_str){ NULL, 0 }
					 : ss_arena_str(&s->x->arena, ss_buf_get(&b));
	ss_buf_free(&b);
	if (!text.p)
		s->x->make.no_memory = true;
	else
		xv_str(list, NULL, text);
	return xv_length(list) ? list->m.v[0].value : NULL;
}

static bool answer(struct stats *s, int64_t limit, struct xv **out)
{
	struct xcli *x = s->x;
	double *key = SS_NEW_N(&x->arena, double, s->n + 1);
	uint32_t *order;
	size_t top_level = 0, n;
	bool text = strcmp(xcli_text(x, "output_format"), "markdown") == 0;
	if (!key)
		return xcli_no_memory(x);
	for (uint32_t i = 0; i < s->n; i++) {
		key[i] = xv_round(s->v[i].us, 4);
		top_level += !s->v[i].region;
	}
	if (!xcli_rank(x, key, s->n, &order))
		return false;
	n = s->only.n ? s->n : xcli_limited(s->n, limit);
	if (!s->n) {
		*out = xv_object(&x->make);
		xv_z(*out, "info", "No kernel ran on a device, or none matches.");
		if (text)
			xv_str(*out = xv_array(&x->make), NULL,
			       SS_STR("# Info\nNo kernel ran on a device, or none that was asked "
				      "for.\n"));
		*out = text && xv_length(*out) ? (*out)->m.v[0].value : *out;
		return true;
	}
	if (text && !s->summary) {
		*out = markdown(s, order, n);
		return true;
	}
	struct xv *records = xv_array(&x->make);
	for (size_t i = 0; i < n; i++)
		put_kernel(records, &s->v[order[i]]);
	*out = records;
	if (s->summary) {
		*out = xv_object(&x->make);
		put_summary(s, *out, records, top_level);
	}
	return true;
}

/* "a,b", or a list as Python writes it. */
static bool read_matchers(struct stats *s)
{
	struct ss_str rest = ss_str_from(xcli_text(s->x, "trace_matchers"));
	struct ss_err err;
	while (rest.n) {
		struct ss_str one = xcli_next_of_list(&rest, "[]()'\" ");
		if (!one.n)
			continue;
		if (s->nmatchers == MAX_MATCHERS)
			return xcli_fail(s->x, XCLI_INVALID,
					 "--trace_matchers has more than %d patterns",
					 MAX_MATCHERS);
		err = (struct ss_err){ 0 };
		s->matchers[s->nmatchers] = one;
		s->regexes[s->nmatchers] = ss_regex_new(one, &err);
		s->nmatchers++;
	}
	return true;
}

static bool kernel_stats(struct xcli *x, bool summary, struct xv **out)
{
	struct stats s = { .x = x,
			   .only = ss_str_from(xcli_text(x, "kernel_name")),
			   .summary = summary };
	int64_t limit = 10;
	s.regions = xcli_flag(x, "include_intra_kernel_regions");
	s.steps = xv_array(&x->make);
	bool ok = (!xcli_given(x, "limit") || xcli_int(x, "limit", &limit)) && read_matchers(&s) &&
		  xcli_open(x) && collect(&s) && answer(&s, limit, out);
	for (size_t i = 0; i < s.nmatchers; i++)
		ss_regex_free(s.regexes[i]);
	for (size_t i = 0; i < s.nlines; i++)
		free(s.lines[i].spans.v);
	free(s.lines);
	free(s.left_out);
	free(s.all.v);
	free(s.custom.v);
	free(s.v);
	ss_u64map_free(&s.by_name);
	return ok;
}

bool xcli_get_kernel_stats(struct xcli *x, struct xv **out)
{
	return kernel_stats(x, xcli_flag(x, "include_summary"), out);
}

bool xcli_get_device_time_attribution(struct xcli *x, struct xv **out)
{
	return kernel_stats(x, xcli_flag(x, "include_summary"), out);
}
