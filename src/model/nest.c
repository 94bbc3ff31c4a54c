/* nest.c - derived lines, built span by span. */
#include "model/nest.h"

#include <stdlib.h>

#define PS_PER_NS 1000

void ss_nest_init(struct ss_nest *nest, bool gpu, uint64_t items)
{
	*nest = (struct ss_nest){ .gpu = gpu, .left = items * 64 + 65536 };
}

void ss_nest_free(struct ss_nest *nest)
{
	free(nest->begin_ps);
	free(nest->end_ps);
	free(nest->meta);
	free(nest->group);
	*nest = (struct ss_nest){ 0 };
}

static bool set_cap(struct ss_nest *nest, uint32_t cap)
{
	void *p;
#define RESIZE(column)                                                                   \
	do {                                                                             \
		p = realloc(nest->column, ((size_t)cap + 1) * sizeof(*nest->column));    \
		if (!p)                                                                  \
			return false;                                                    \
		nest->column = p;                                                        \
	} while (0)
	RESIZE(begin_ps);
	RESIZE(end_ps);
	RESIZE(meta);
	RESIZE(group);
#undef RESIZE
	nest->cap = cap;
	return true;
}

/* Fit the spans that close together into one another, from the outside in. */
static void fit(struct ss_nest *nest, uint32_t level)
{
	for (uint32_t k = level + 1; k < nest->nopen; k++) {
		uint32_t i = nest->open[k], around = nest->open[k - 1];
		if (nest->end_ps[i] > nest->end_ps[around])
			nest->end_ps[i] = nest->end_ps[around];
		/* An instant at the very end of a span that was made shorter. */
		if (nest->end_ps[i] < nest->begin_ps[i])
			nest->end_ps[i] = nest->begin_ps[i];
		if (nest->begin_ps[i] == nest->begin_ps[around] && nest->end_ps[i] == nest->end_ps[around] &&
		    nest->end_ps[i] - nest->begin_ps[i] >= 2 * PS_PER_NS)
			nest->end_ps[i] -= PS_PER_NS;
	}
}

static void close_from(struct ss_nest *nest, uint32_t level)
{
	if (level < nest->nopen) {
		fit(nest, level);
		nest->nopen = level;
	}
	if (level == 0)
		for (unsigned i = 0; i < SS_NEST_RULED && nest->ruled[i]; i++)
			close_from(nest->ruled[i], 0);
}

void ss_nest_close(struct ss_nest *nest)
{
	close_from(nest, 0);
}

/* Does the item go on with the span that is open at this level? */
static bool goes_on(const struct ss_nest *nest, const struct ss_nest_item *item, uint32_t level)
{
	if (level >= nest->nopen)
		return false;
	uint32_t i = nest->open[level];
	int64_t scope = item->scopes ? item->scopes[level] : SS_NO_SCOPE, open_scope = nest->open_scope[level];
	if (nest->meta[i] != item->metas[level] || nest->group[i] != item->group)
		return false;
	if (scope != SS_NO_SCOPE && open_scope != SS_NO_SCOPE && scope != open_scope)
		return false;
	if (nest->gpu || item->group != SS_NO_GROUP)
		return true;
	/* Nobody says that they belong together: only if the gap is at most twice as long as the span so far. */
	uint64_t dur = (uint64_t)nest->end_ps[i] - (uint64_t)nest->begin_ps[i];
	uint64_t gap = (uint64_t)item->begin_ps - (uint64_t)nest->end_ps[i];
	return item->begin_ps <= nest->end_ps[i] || gap <= 2 * dur;
}

static bool begin_span(struct ss_nest *nest, const struct ss_nest_item *item, uint32_t level)
{
	if (nest->n == nest->cap && (nest->cap > UINT32_MAX / 2 - 16 || !set_cap(nest, nest->cap + nest->cap / 2 + 16)))
		return false;
	uint32_t i = nest->n++;
	nest->begin_ps[i] = item->begin_ps;
	nest->end_ps[i] = item->end_ps;
	nest->meta[i] = item->metas[level];
	nest->group[i] = (int32_t)item->group;
	nest->has_groups |= item->group != SS_NO_GROUP;
	nest->open[level] = i;
	nest->open_scope[level] = item->scopes ? item->scopes[level] : SS_NO_SCOPE;
	nest->nopen = level + 1;
	nest->left--;
	return true;
}

bool ss_nest_add(struct ss_nest *nest, const struct ss_nest_item *item)
{
	uint32_t n = item->nmetas < SS_NEST_LEVELS ? item->nmetas : SS_NEST_LEVELS;
	for (uint32_t level = 0; level < n; level++) {
		if (goes_on(nest, item, level)) {
			uint32_t i = nest->open[level];
			/* To XProf an instant at 0 is a span that was never set. */
			if (nest->begin_ps[i] == 0 && nest->end_ps[i] == 0)
				nest->begin_ps[i] = item->begin_ps;
			if (item->end_ps > nest->end_ps[i])
				nest->end_ps[i] = item->end_ps;
			continue;
		}
		close_from(nest, level);
		if (!nest->left)
			return true;
		if (!begin_span(nest, item, level))
			return false;
	}
	close_from(nest, n);
	return true;
}

bool ss_nest_finish(struct ss_nest *nest, struct ss_line *line)
{
	struct ss_xevents *e = &line->ev;
	*e = (struct ss_xevents){ .sorted = true };
	/* As in XProf, what is open at the end of a GPU's stream stays as it is. */
	if (!nest->gpu)
		fit(nest, 0);
	if (!set_cap(nest, nest->n)) {
		ss_nest_free(nest);
		return false;
	}
	e->n = nest->n;
	e->begin_ps = nest->begin_ps;
	/* Durations take the place of ends. */
	e->dur_ps = (uint64_t *)nest->end_ps;
	for (uint32_t i = 0; i < e->n; i++)
		e->dur_ps[i] = (uint64_t)(nest->end_ps[i] - nest->begin_ps[i]);
	e->meta = nest->meta;
	if (nest->has_groups) {
		line->group = nest->group;
		nest->group = NULL;
	}
	nest->begin_ps = nest->end_ps = NULL;
	nest->meta = NULL;
	ss_nest_free(nest);
	ss_xevents_check_order(e);
	return true;
}
