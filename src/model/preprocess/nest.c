/* nest.c - derived lines, built span by span. */
#include "model/preprocess/nest.h"

#include "base/safe.h"
#include "model/host/plane.h"
#include "xprof/quirks/quirks.h"

#include <stdlib.h>

#define PS_PER_NS 1000

void ss_nest_init(struct ss_nest *nest, bool gpu, uint64_t items)
{
	*nest = (struct ss_nest){ .gpu = gpu, .in_order = true, .last_ps = INT64_MIN, .left = items * 64 + 65536 };
}

void ss_nest_free(struct ss_nest *nest)
{
	ss_spans_free(&nest->spans);
	free(nest->open);
	*nest = (struct ss_nest){ 0 };
}

/* Fit the spans that close together into one another, from the outside in. */
static void fit(struct ss_nest *nest, uint32_t level)
{
	const struct ss_nest_open *top = &nest->open[nest->nopen - 1];
	int64_t max_ns = (int64_t)(ss_safe_between(top->begin_ps, top->end_ps) / PS_PER_NS) - 1, ns = 0;
	int64_t begin_ps = 0, end_ps = 0;
	for (uint32_t k = level; k < nest->nopen; k++) {
		struct ss_nest_open *o = &nest->open[k];
		if (k > level && o->begin_ps == begin_ps && o->end_ps == end_ps && ns < max_ns)
			ns++;
		begin_ps = o->begin_ps;
		end_ps = o->end_ps;
		o->end_ps = ss_safe_between(begin_ps, end_ps) > (uint64_t)(ns * PS_PER_NS) ? end_ps - ns * PS_PER_NS : begin_ps;
	}
}

static inline bool settle_from(struct ss_nest *nest, uint32_t level)
{
	for (uint32_t k = level; k < nest->nopen; k++) {
		const struct ss_nest_open *o = &nest->open[k];
		if (!ss_spans_set(&nest->spans, o->event, o->begin_ps, o->end_ps, o->first, o->last))
			return false;
	}
	nest->nopen = level < nest->nopen ? level : nest->nopen;
	return true;
}

static bool close_ruled(const struct ss_nest *nest)
{
	for (unsigned i = 0; i < SS_NEST_RULED && nest->ruled[i]; i++)
		if (!ss_nest_close(nest->ruled[i]))
			return false;
	return true;
}

static inline bool close_from(struct ss_nest *nest, uint32_t level)
{
	if (nest->nopen > level + 1)
		fit(nest, level);
	return settle_from(nest, level) && (level || !nest->ruled[0] || close_ruled(nest));
}

bool ss_nest_close(struct ss_nest *nest)
{
	return close_from(nest, 0);
}

/* Does the item go on with the span that is open at this level? */
static inline bool goes_on(const struct ss_nest *nest, const struct ss_nest_item *item, uint32_t level)
{
	if (level >= nest->nopen)
		return false;
	const struct ss_nest_open *o = &nest->open[level];
	int64_t scope = item->scopes ? item->scopes[level] : SS_NO_SCOPE;
	if (o->meta != item->metas[level] || o->group != item->group)
		return false;
	if (scope != SS_NO_SCOPE && o->scope != SS_NO_SCOPE && scope != o->scope)
		return false;
	if (nest->gpu || item->group != SS_NO_GROUP)
		return true;
	/*
	 * Nobody says that they belong together: only if the gap is at most twice as long as the
	 * span so far.
	 */
	uint64_t dur = (uint64_t)o->end_ps - (uint64_t)o->begin_ps;
	uint64_t gap = (uint64_t)item->begin_ps - (uint64_t)o->end_ps;
	return item->begin_ps <= o->end_ps || gap <= 2 * dur;
}

static bool begin_span(struct ss_nest *nest, const struct ss_nest_item *item, uint32_t level)
{
	uint32_t i = nest->spans.n;
	if (!nest->open && !(nest->open = malloc(SS_NEST_LEVELS * sizeof(*nest->open))))
		return false;
	if (!ss_spans_add(&nest->spans, item->metas[level], (int32_t)item->group))
		return false;
	nest->in_order &= item->begin_ps > nest->last_ps;
	nest->last_ps = item->begin_ps;
	nest->open[level] = (struct ss_nest_open){
		.event = i, .first = item->event, .last = item->event, .meta = item->metas[level],
		.begin_ps = item->begin_ps, .end_ps = item->end_ps,
		.scope = item->scopes ? item->scopes[level] : SS_NO_SCOPE, .group = (int32_t)item->group,
	};
	nest->nopen = level + 1;
	nest->left--;
	return true;
}

bool ss_nest_add(struct ss_nest *nest, const struct ss_nest_item *item)
{
	uint32_t n = item->nmetas < SS_NEST_LEVELS ? item->nmetas : SS_NEST_LEVELS;
	for (uint32_t level = 0; level < n; level++) {
		if (goes_on(nest, item, level)) {
			struct ss_nest_open *o = &nest->open[level];
			if (ss_quirk_span_is_unset(o->begin_ps, o->end_ps)) {
				o->begin_ps = item->begin_ps;
				o->first = item->event;
				nest->in_order = false;
			}
			if (item->end_ps > o->end_ps) {
				o->end_ps = item->end_ps;
				o->last = item->event;
			}
			continue;
		}
		if (!close_from(nest, level))
			return false;
		if (!nest->left)
			return true;
		if (!begin_span(nest, item, level))
			return false;
	}
	return (n && n >= nest->nopen) || close_from(nest, n);
}

static bool is_sorted(const struct ss_spans *s)
{
	struct ss_span_times before = { INT64_MIN, 0 };
	for (uint32_t i = 0; i < s->n; i++) {
		struct ss_span_times t = ss_spans_times(s, i);
		if (t.begin_ps < before.begin_ps || (t.begin_ps == before.begin_ps && t.dur_ps > before.dur_ps))
			return false;
		before = t;
	}
	return true;
}

bool ss_nest_to_spans(struct ss_nest *nest, struct ss_spans *out, bool *sorted)
{
	/* As in XProf, open events at the end of a GPU's stream are not changed. */
	if (!nest->gpu && nest->nopen > 1)
		fit(nest, 0);
	if (!settle_from(nest, 0) || !ss_spans_finish(&nest->spans))
		return false;
	*sorted = nest->in_order || is_sorted(&nest->spans);
	*out = nest->spans;
	nest->spans = (struct ss_spans){ 0 };
	ss_nest_free(nest);
	return true;
}

static bool copy_columns(const struct ss_spans *s, struct ss_line *line)
{
	struct ss_xevents *e = &line->ev;
	size_t n = (size_t)s->n + 1;
	e->begin_ps = malloc(n * sizeof(*e->begin_ps));
	e->dur_ps = malloc(n * sizeof(*e->dur_ps));
	e->meta = malloc(n * sizeof(*e->meta));
	line->group = malloc(n * sizeof(*line->group));
	if (!e->begin_ps || !e->dur_ps || !e->meta || !line->group)
		return false;
	e->n = s->n;
	for (uint32_t i = 0; i < s->n; i++) {
		struct ss_span_times t = ss_spans_times(s, i);
		e->begin_ps[i] = t.begin_ps;
		e->dur_ps[i] = t.dur_ps;
		e->meta[i] = ss_spans_meta(s, i);
		line->group[i] = ss_runs_group(s->runs.v, s->runs.n, i);
	}
	return true;
}

bool ss_nest_to_columns(struct ss_nest *nest, struct ss_line *line)
{
	struct ss_spans spans;
	if (!ss_nest_to_spans(nest, &spans, &line->ev.sorted))
		return false;
	bool ok = copy_columns(&spans, line);
	ss_spans_free(&spans);
	return ok;
}
