/* event_query.c - walking the events of a file that match a query. */
#include "model/host/event_query.h"

#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/host/read_lines.h"
#include "xspace/events.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

static bool check_ranges(const struct ss_event_query *q, struct ss_err *err)
{
	if (q->from_ps > q->to_ps)
		return ss_fail(err, SS_EINVAL, "the window ends before it begins");
	if (q->least_ps > q->most_ps)
		return ss_fail(err, SS_EINVAL, "the minimum duration is greater than the maximum");
	return true;
}

bool ss_event_query_compile(struct ss_event_query *q, const struct ss_event_query_text *t,
			    struct ss_err *err)
{
	struct ss_str window = t->window;
	while (window.n && isspace((unsigned char)window.p[0]))
		window = ss_str_sub(window, 1, window.n);
	while (window.n && isspace((unsigned char)window.p[window.n - 1]))
		window.n--;
	q->overlap = ss_str_ieq(window, SS_STR("overlap"));
	if (!q->overlap && !ss_str_ieq(window, SS_STR("containment")))
		return ss_fail(err, SS_EINVAL,
			       "a window is either containment or overlap, not '" SS_FMT "'",
			       SS_ARG(ss_str_sub(t->window, 0, 100)));
	bool ok = check_ranges(q, err) && ss_event_filter_compile(&q->filter, t->filter, err) &&
		  (q->plane = ss_regex_new(t->plane, err)) &&
		  (q->event = ss_regex_new(t->event, err));
	if (!ok)
		ss_event_query_free(q);
	return ok;
}

void ss_event_query_free(struct ss_event_query *q)
{
	ss_event_filter_free(&q->filter);
	ss_regex_free(q->plane);
	ss_regex_free(q->event);
	q->plane = q->event = NULL;
}

static bool in_window(const struct ss_event_query *q, double begin, double dur)
{
	double end = begin + dur;
	if (!q->overlap)
		return !(begin < q->from_ps) && !(end > q->to_ps);
	if (dur > 0)
		return !(end <= q->from_ps) &&
		       (!(begin >= q->to_ps) || (q->from_ps == q->to_ps && q->to_ps == begin));
	return !(begin < q->from_ps) && !(begin > q->to_ps);
}

/* A plane while it is walked. */
struct walk {
	struct ss_event_query *q;
	struct ss_host *h;
	const struct ss_xplane *p;
	uint8_t *
		named; /* of each name: 0 not looked at, 1 it matches, 2 it does not, 3 see the event's stats */
	ss_event_query_fn *fn;
	void *arg;
	bool ended, no_memory;
};

static bool is_digits(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!isdigit((unsigned char)s.p[i]))
			return false;
	return s.n > 0;
}

/* The name that a stat gives an event whose own is a number; that number where none does. */
static struct ss_str better_name(const struct walk *w, const struct ss_xline *l,
				 const struct ss_xevents *e, uint32_t i, struct ss_str had)
{
	static const char *const stats[] = { "msg", "message", "annotation", "label" };
	struct ss_xstats it = ss_xevents_stats(e, w->p, l, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s))
		for (size_t k = 0;
		     s.meta != SS_NONE && s.kind == SS_X_STR && s.s.n && k < SS_COUNT(stats); k++)
			if (ss_str_is(w->p->stat_meta[s.meta].name, stats[k]))
				return s.s;
	return had;
}

/* A search that stops lacks memory: nothing else stops it. */
static bool found(struct walk *w, struct ss_regex *r, struct ss_str text)
{
	enum ss_regex_found f = ss_regex_search(r, text, NULL, 0, NULL, NULL);
	w->no_memory |= f == SS_REGEX_STOPPED;
	return f == SS_REGEX_YES;
}

/* Does the name match? Looked up once for each name. */
static bool name_matches(struct walk *w, const struct ss_xline *l, const struct ss_xevents *e,
			 uint32_t i, struct ss_str *name)
{
	uint32_t meta = e->meta[i];
	*name = ss_xevent_meta_name_in_file(w->p, meta);
	uint8_t *known = meta == SS_NONE ? NULL : &w->named[meta];
	if (!known)
		return found(w, w->q->event, *name);
	if (!*known)
		*known = is_digits(*name) ? 3 : found(w, w->q->event, *name) ? 1 : 2;
	if (*known != 3)
		return *known == 1;
	*name = better_name(w, l, e, i, *name);
	return found(w, w->q->event, *name);
}

static void set_times(const struct walk *w, const struct ss_xline *l, const struct ss_xevents *e,
		      uint32_t i, struct ss_event_record *r)
{
	r->begin_ps = (double)e->begin_ps[i];
	r->dur_ps = (double)e->dur_ps[i];
	if (!w->q->as_xprof)
		return;
	double offset_ps = (double)(e->begin_ps[i] - (l->timestamp_ns - w->h->x.origin_ns) * 1000);
	r->begin_ps = trunc(((double)l->timestamp_ns + offset_ps / 1000) * 1000);
	r->dur_ps = trunc(r->dur_ps / 1000 * 1000);
}

static void walk_events(struct walk *w, const struct ss_xline *l, const struct ss_xevents *e)
{
	struct ss_event_query *q = w->q;
	struct ss_event_record r = { .plane = w->p->name,
				     .line = l->display_name.n ? l->display_name : l->name,
				     .line_id = l->name };
	for (uint32_t i = 0; i < e->n && !w->ended; i++) {
		set_times(w, l, e, i, &r);
		bool inside = in_window(q, r.begin_ps, r.dur_ps) && !(r.dur_ps < q->least_ps) &&
			      !(r.dur_ps > q->most_ps);
		if (inside && name_matches(w, l, e, i, &r.event) &&
		    ss_event_filter_passes(&q->filter, &r) && !w->fn(w->arg, &r))
			w->ended = true;
		q->nscanned++;
		q->stopped = q->most_scanned && q->nscanned > q->most_scanned;
		w->no_memory |= q->filter.no_memory;
		w->ended = w->ended || q->stopped || w->no_memory;
	}
}

static bool walk_line(struct walk *w, uint32_t plane, uint32_t line, struct ss_err *err)
{
	struct ss_xline *l = &w->h->x.planes[plane].lines[line];
	const struct ss_line *loaded = ss_line_as_read(w->h, plane, line);
	struct ss_xevents own = { 0 };
	if (!loaded && !ss_xevents_load(&own, &w->h->x, w->p, l, err))
		return false;
	walk_events(w, l, loaded ? &loaded->ev : &own);
	ss_xevents_free(&own);
	return !w->no_memory || ss_fail_mem(err);
}

bool ss_event_query_run(struct ss_event_query *q, struct ss_host *h, ss_event_query_fn *fn,
			void *arg, struct ss_err *err)
{
	struct walk w = { .q = q, .h = h, .fn = fn, .arg = arg };
	bool ok = true;
	for (uint32_t i = 0; ok && i < h->x.nplanes && !w.ended; i++) {
		struct ss_xplane *p = &h->x.planes[i];
		if (!found(&w, q->plane, p->name)) {
			ok = !w.no_memory || ss_fail_mem(err);
			continue;
		}
		w.p = p;
		w.named = calloc(p->nevent_meta + 1, 1);
		ok = w.named || ss_fail_mem(err);
		for (uint32_t l = 0; ok && l < p->nlines && !w.ended; l++)
			ok = walk_line(&w, i, l, err);
		free(w.named);
	}
	return ok;
}
