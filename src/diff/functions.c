/*
 * functions.c - own times of the functions of the thread that starts programs.
 *
 * A step has what runs from its begin to the begin of the next: what a program does between its
 * steps is paid for by every step as well.
 */
#include "diff/read.h"

#include "base/safe.h"
#include "model/attribution/frames.h"
#include "model/host/event_order.h"
#include "model/host/plane.h"

#include <stdlib.h>

struct walk {
	struct ss_diff_reader *r;
	const struct ss_plane *plane;
	const struct ss_line *line;
	struct ss_u64map rows; /* by metadata */
	SS_VEC(struct open_call {
		int64_t end_ps;
		uint32_t row;
	})
	open;
	int64_t now_ps;
	size_t window; /* whose period holds now_ps; SIZE_MAX before the first */
};

static bool is_step(const struct walk *w, struct ss_str name)
{
	return ss_str_eq(name, w->r->windows->name) || ss_is_step_marker_name(name);
}

/* *row is SS_NONE for what is none. */
static bool row_of(struct walk *w, uint32_t meta, uint32_t *row)
{
	struct ss_diff_reader *r = w->r;
	*row = ss_u64map_get(&w->rows, meta);
	/* A step is no function: its own time is what nothing was recorded in. */
	if (*row != SS_NONE || is_step(w, ss_event_name(w->plane, meta)))
		return true;
	struct ss_frame frame;
	r->run->has_python |= ss_frame_parse(ss_event_name(w->plane, meta), &frame);
	struct ss_str name = ss_frame_text(ss_event_name(w->plane, meta), &r->arena);
	size_t n = r->run->functions.n;
	*row = ss_u64map_add(&r->function_by_key, ss_str_hash(name), (uint32_t)n);
	if (*row == SS_NONE || ss_u64map_add(&w->rows, meta, *row) == SS_NONE)
		return false;
	return *row < n || (ss_vec_push(&r->run->functions,
					((struct ss_diff_function){ .name = ss_intern_str(&r->run->texts, name) })) &&
			    ss_diff_grid_rows(&r->functions, n + 1));
}

/* The period of a window ends where the next begins; the last one's with the window. */
static int64_t period_end(const struct ss_windows *v, size_t i)
{
	return i + 1 < v->n ? v->v[i + 1].begin_ps : v->v[i].end_ps;
}

/* From now to `until`, the innermost open call runs. */
static void spend(struct walk *w, int64_t until_ps)
{
	struct ss_diff_reader *r = w->r;
	const struct ss_windows *v = r->windows;
	while (w->now_ps < until_ps) {
		bool before = w->window == SIZE_MAX;
		int64_t end_ps = before ? v->v[0].begin_ps : period_end(v, w->window);
		if (!before && w->window + 1 >= v->n && end_ps <= w->now_ps)
			break;
		int64_t to_ps = end_ps < until_ps ? end_ps : until_ps;
		if (!before && w->open.n && w->open.v[w->open.n - 1].row != SS_NONE && to_ps > w->now_ps &&
		    r->step_of[w->window] != SS_NONE && r->typical[w->window]) {
			double us = (double)ss_safe_between(w->now_ps, to_ps) / 1e6;
			uint32_t row = w->open.v[w->open.n - 1].row;
			ss_diff_grid_add(&r->functions, row, r->step_of[w->window], us);
			r->functions.total[row] += us / (double)r->ntypical;
		}
		w->now_ps = to_ps > w->now_ps ? to_ps : w->now_ps;
		if (w->now_ps >= end_ps)
			w->window = before ? 0 : w->window + 1 < v->n ? w->window + 1 : w->window;
	}
	w->now_ps = until_ps > w->now_ps ? until_ps : w->now_ps;
}

static void go_on(struct walk *w, int64_t until_ps)
{
	for (; w->open.n && w->open.v[w->open.n - 1].end_ps <= until_ps; w->open.n--)
		spend(w, w->open.v[w->open.n - 1].end_ps);
	spend(w, until_ps);
}

static bool add_call(struct walk *w, uint32_t i)
{
	const struct ss_xevents *e = &w->line->ev;
	int64_t end_ps = ss_xevents_end_ps(e, i);
	struct ss_diff_reader *r = w->r;
	uint32_t row;
	go_on(w, e->begin_ps[i]);
	if (w->open.n && w->open.v[w->open.n - 1].end_ps < end_ps)
		end_ps = w->open.v[w->open.n - 1].end_ps;
	if (!row_of(w, e->meta[i], &row) || !ss_vec_push(&w->open, ((struct open_call){ end_ps, row })))
		return false;
	if (row != SS_NONE && w->window != SIZE_MAX && r->step_of[w->window] != SS_NONE && r->typical[w->window])
		r->run->functions.v[row].calls += 1 / (double)r->ntypical;
	return true;
}

bool ss_diff_read_functions(struct ss_diff_reader *r, const struct ss_pieces *p)
{
	const struct ss_plane *host = ss_host_plane(p->host, SS_PLANE_HOST_CPU);
	struct walk w = { .r = r, .plane = host, .line = p->starter, .now_ps = INT64_MIN, .window = SIZE_MAX };
	size_t n = 0;
	if (!p->starter || !host || !r->ntypical || !ss_diff_grid_rows(&r->functions, 0))
		return true;
	uint32_t *v = ss_events_outer_first(&p->starter->ev, &n);
	bool ok = v;
	r->run->has_functions = true;
	for (size_t i = 0; ok && i < n; i++)
		ok = add_call(&w, v[i]);
	if (ok)
		go_on(&w, INT64_MAX);
	free(v);
	ss_vec_free(&w.open);
	ss_u64map_free(&w.rows);
	return ok;
}
