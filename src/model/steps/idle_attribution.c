/* idle_attribution.c - see idle_attribution.h. */
#include "model/host/event_order.h"
#include "model/steps/idle_attribution.h"

#include "base/safe.h"
#include "base/vec.h"
#include "model/device/env.h"
#include "model/fold.h"
#include "model/ops/ops_build.h"
#include "model/steps/inferred.h"

#include <stdlib.h>

struct span {
	int64_t begin_ps, end_ps;
};

/*
 * A call path: an event's name, and the path of the event around it. Parents stand before children.
 */
struct path {
	uint32_t parent, meta;	/* indices; SS_NONE */
	uint32_t heaviest;	/* the child with most time; 0: none */
	uint64_t self_ps, all_ps;
};

struct open_event {
	int64_t end_ps;
	uint32_t path;
};

struct pass {
	struct ss_host *h;
	struct ss_busy busy, collective; /* when anything, when a collective operation was done */
	SS_VEC(struct span) idle;	/* ascending, disjoint */
	const struct ss_plane *p;	/* of the thread */
	const struct ss_line *line;
	SS_VEC(struct path) paths;	/* [0]: nothing recorded */
	struct ss_u64map by_call;	/* parent and meta to path */
	SS_VEC(struct open_event) open;
	size_t at;			/* idle spans before it are over */
};

/* ---- when nothing computed ---- */

static bool works(const struct ss_plane *p, uint32_t meta)
{
	enum ss_work work = ss_device_event_work(p, meta);
	return work != SS_WORK_UNKNOWN && work != SS_WORK_DEVICE_WAIT_HOST;
}

static bool add_device(struct pass *s, const struct ss_plane *p)
{
	enum { UNREAD, WORKS, WAITS };
	uint8_t *known = calloc((size_t)p->x->nevent_meta + 1, 1);
	bool ok = known;
	for (uint32_t k = 0; ok && k < p->nlines; k++) {
		const struct ss_line *l = &p->lines[k];
		size_t first = s->busy.n;
		for (uint32_t i = 0; ok && ss_is_work_line(p, l) && i < l->ev.n; i++) {
			uint32_t meta = l->ev.meta[i], at = meta < p->x->nevent_meta ? meta : p->x->nevent_meta;
			if (known[at] == UNREAD)
				known[at] = works(p, meta) ? WORKS : WAITS;
			/* One kind of work for all: it only matters that there is some. */
			if (known[at] == WORKS)
				ok = ss_busy_add(&s->busy, first, l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i),
						 SS_WORK_DEVICE_COMPUTE_32);
		}
	}
	free(known);
	return ok;
}

static bool add_threads(struct pass *s, struct ss_thread_kinds *kinds)
{
	enum { UNREAD, COLLECTIVE, OTHER };
	uint32_t nmeta = s->p->x->nevent_meta;
	uint8_t *known = calloc((size_t)nmeta + 1, 1);
	bool ok = known;
	for (uint32_t k = 0; ok && k < s->p->nlines; k++) {
		const struct ss_line *l = &s->p->lines[k];
		size_t first = s->busy.n, first_collective = s->collective.n;
		for (uint32_t i = 0; ok && !l->derived && i < l->ev.n; i++) {
			int64_t begin_ps = l->ev.begin_ps[i], end_ps = ss_xevents_end_ps(&l->ev, i);
			uint32_t meta = l->ev.meta[i], at = meta < nmeta ? meta : nmeta;
			if (ss_thread_kind(kinds, l, i) != SS_THREAD_OP)
				continue;
			if (known[at] == UNREAD)
				known[at] = ss_is_collective(ss_event_name(s->p, meta)) ? COLLECTIVE : OTHER;
			ok = ss_busy_add(&s->busy, first, begin_ps, end_ps, SS_WORK_HOST_COMPUTE) &&
			     (known[at] == OTHER ||
			      ss_busy_add(&s->collective, first_collective, begin_ps, end_ps, SS_WORK_COLLECTIVES));
		}
	}
	free(known);
	return ok;
}

static bool add_busy(struct pass *s, struct ss_thread_kinds *kinds)
{
	bool ok = true, has_device = ss_host_hardware(s->h) != SS_HW_CPU_ONLY;
	for (uint32_t i = 0; ok && has_device && i < s->h->nplanes; i++) {
		const struct ss_plane *p = &s->h->planes[i];
		if (p->kind == SS_PLANE_GPU || p->kind == SS_PLANE_TENSOR_CORE)
			ok = add_device(s, p);
	}
	if (ok && !has_device)
		ok = add_threads(s, kinds);
	ss_busy_unite(&s->busy);
	ss_busy_unite(&s->collective);
	return ok;
}

/*
 * Time of one window in which there was none of `busy`; to be kept in `idle`, unless that is NULL.
 * `at` is the first busy span that may reach into the window. UINT64_MAX when memory is out.
 */
static uint64_t left_of(const struct ss_work_span *window, const struct ss_busy *busy, size_t *at, struct pass *idle)
{
	int64_t from_ps = window->begin_ps, to_ps = window->end_ps;
	uint64_t sum_ps = 0;
	while (*at < busy->n && busy->v[*at].end_ps <= from_ps)
		++*at;
	for (size_t k = *at; from_ps < to_ps; k++) {
		bool over = k >= busy->n || busy->v[k].begin_ps >= to_ps;
		int64_t until_ps = over ? to_ps : busy->v[k].begin_ps;
		if (until_ps > from_ps) {
			if (idle && !ss_vec_push(&idle->idle, ((struct span){ from_ps, until_ps })))
				return UINT64_MAX;
			sum_ps += (uint64_t)until_ps - (uint64_t)from_ps;
		}
		from_ps = over ? to_ps : busy->v[k].end_ps;
	}
	return sum_ps;
}

/*
 * The first and the last step may have been cut by the profile, or begun with compiling: with
 * enough others they do not count.
 */
#define ENOUGH_STEPS 5

static bool find_windows(struct ss_busy *windows, const struct ss_steps *steps)
{
	size_t cut = steps->n > ENOUGH_STEPS && !steps->inferred.how;
	bool ok = true;
	for (size_t i = cut; ok && i < steps->n - cut; i++) {
		const struct ss_step *step = &steps->v[i];
		ok = ss_busy_add(windows, 0, step->begin_ps, ss_safe_end(step->begin_ps, step->dur_ps), SS_WORK_UNKNOWN);
	}
	ss_busy_unite(windows);
	return ok;
}

static bool find_idle(struct pass *s, struct ss_idle_attribution *out, const struct ss_steps *steps)
{
	struct ss_busy windows = { 0 };
	size_t at = 0, at_collective = 0;
	bool ok = find_windows(&windows, steps);
	for (size_t i = 0; ok && i < windows.n; i++) {
		const struct ss_work_span *w = &windows.v[i];
		uint64_t whole_ps = (uint64_t)w->end_ps - (uint64_t)w->begin_ps, idle_ps = left_of(w, &s->busy, &at, s);
		ok = idle_ps != UINT64_MAX;
		out->steps_ps += whole_ps;
		out->idle_ps += idle_ps;
		out->collective_ps += whole_ps - left_of(w, &s->collective, &at_collective, NULL);
	}
	ss_vec_free(&windows);
	return ok;
}

/* ---- which thread ---- */

/* Calls by name count before those that are nameless, those before the driver's. */
static void choose_thread(struct pass *s, struct ss_thread_kinds *kinds)
{
	uint64_t best[3] = { 0 };
	for (uint32_t k = 0; k < s->p->nlines; k++) {
		const struct ss_line *l = &s->p->lines[k];
		uint64_t n[3] = { 0 };
		for (uint32_t i = 0; !l->derived && i < l->ev.n; i++) {
			enum ss_thread_event kind = ss_thread_kind(kinds, l, i);
			n[0] += kind == SS_THREAD_CALL;
			n[1] += kind == SS_THREAD_OP_CALL || kind == SS_THREAD_ANY_CALL;
			n[2] += kind == SS_THREAD_DRIVER_CALL;
		}
		size_t c = 0;
		while (c < 2 && n[c] == best[c])
			c++;
		if (n[c] <= best[c])
			continue;
		memcpy(best, n, sizeof(best));
		s->line = l;
	}
}

/* ---- what it did ---- */

static uint32_t path_of(struct pass *s, uint32_t parent, uint32_t meta)
{
	uint32_t n = (uint32_t)s->paths.n, at = ss_u64map_add(&s->by_call, (uint64_t)parent << 32 | meta, n);
	if (at == n && !ss_vec_push(&s->paths, ((struct path){ .parent = parent, .meta = meta })))
		return SS_NONE;
	return at;
}

/* The thread was in `path` from `from_ps` to `to_ps`. Called in the order of time. */
static void spend(struct pass *s, uint32_t path, int64_t from_ps, int64_t to_ps)
{
	while (s->at < s->idle.n && s->idle.v[s->at].end_ps <= from_ps)
		s->at++;
	for (size_t i = s->at; i < s->idle.n && s->idle.v[i].begin_ps < to_ps; i++) {
		const struct span *v = &s->idle.v[i];
		int64_t begin_ps = v->begin_ps > from_ps ? v->begin_ps : from_ps;
		int64_t end_ps = v->end_ps < to_ps ? v->end_ps : to_ps;
		s->paths.v[path].self_ps += (uint64_t)end_ps - (uint64_t)begin_ps;
	}
}

/* Close what ends until `until_ps`, and spend the time up to it. */
static void go_on(struct pass *s, int64_t *now_ps, int64_t until_ps)
{
	for (; s->open.n && s->open.v[s->open.n - 1].end_ps <= until_ps; s->open.n--) {
		const struct open_event *o = &s->open.v[s->open.n - 1];
		if (o->end_ps > *now_ps) {
			spend(s, o->path, *now_ps, o->end_ps);
			*now_ps = o->end_ps;
		}
	}
	if (until_ps > *now_ps) {
		spend(s, s->open.n ? s->open.v[s->open.n - 1].path : 0, *now_ps, until_ps);
		*now_ps = until_ps;
	}
}

/*
 * An event that outlasts the one it began in ends with it here: what follows is the outer one's
 * caller's.
 */
static bool walk_thread(struct pass *s)
{
	size_t n;
	const struct ss_xevents *e = &s->line->ev;
	uint32_t *v = ss_events_outer_first(e, &n);
	int64_t now_ps = s->idle.v[0].begin_ps, end_ps = s->idle.v[s->idle.n - 1].end_ps;
	bool ok = v && path_of(s, SS_NONE, SS_NONE) == 0;
	for (size_t i = 0; ok && i < n && e->begin_ps[v[i]] < end_ps; i++) {
		go_on(s, &now_ps, e->begin_ps[v[i]]);
		const struct open_event *around = s->open.n ? &s->open.v[s->open.n - 1] : NULL;
		struct open_event o = { ss_xevents_end_ps(e, v[i]),
					path_of(s, around ? around->path : 0, e->meta[v[i]]) };
		if (around && around->end_ps < o.end_ps)
			o.end_ps = around->end_ps;
		ok = o.path != SS_NONE && ss_vec_push(&s->open, o);
	}
	if (ok)
		go_on(s, &now_ps, end_ps);
	free(v);
	return ok;
}

/* ---- the answer ---- */

static struct ss_str name_of(const struct pass *s, uint32_t path)
{
	return path && path != SS_NONE ? ss_event_name(s->p, s->paths.v[path].meta) : SS_STR("");
}

static void find_inside(struct pass *s, struct ss_idle_attribution *out)
{
	struct path *v = s->paths.v;
	uint32_t at = 0;
	for (uint32_t i = (uint32_t)s->paths.n; i-- > 1;) {
		struct path *around = &v[v[i].parent];
		v[i].all_ps += v[i].self_ps;
		around->all_ps += v[i].all_ps;
		if (!around->heaviest || v[i].all_ps >= v[around->heaviest].all_ps)
			around->heaviest = i;
	}
	while (v[at].heaviest && v[v[at].heaviest].all_ps >= out->idle_ps / 3)
		at = v[at].heaviest;
	if (!at)
		return;
	out->inside = name_of(s, at);
	out->inside_caller = name_of(s, v[at].parent);
	out->inside_frac = (double)v[at].all_ps / (double)out->idle_ps;
}

static int by_names(const struct ss_idle_attribution_row *a, const struct ss_idle_attribution_row *b)
{
	int events = ss_str_cmp(a->event, b->event);
	return events ? events : ss_str_cmp(a->caller, b->caller);
}

static bool goes_before(const struct ss_idle_attribution_row *a, const struct ss_idle_attribution_row *b)
{
	if (a->self_ps != b->self_ps)
		return a->self_ps > b->self_ps;
	return by_names(a, b) < 0;
}

/* The largest of n rows, by insertion: there are few places. */
static bool keep_largest(struct ss_idle_attribution *out, const struct ss_idle_attribution_row *v, size_t n, struct ss_arena *arena)
{
	out->nrows = 0;
	out->rows = SS_NEW_N(arena, struct ss_idle_attribution_row, SS_IDLE_ATTRIBUTION_ROWS);
	for (size_t i = 0; out->rows && i < n; i++) {
		size_t k = out->nrows < SS_IDLE_ATTRIBUTION_ROWS ? out->nrows++ : SS_IDLE_ATTRIBUTION_ROWS;
		for (; k > 0 && goes_before(&v[i], &out->rows[k - 1]); k--)
			if (k < SS_IDLE_ATTRIBUTION_ROWS)
				out->rows[k] = out->rows[k - 1];
		if (k < SS_IDLE_ATTRIBUTION_ROWS)
			out->rows[k] = v[i];
	}
	return out->rows;
}

/* One event that takes a third by itself. */
static bool find_alone(struct ss_idle_attribution *out)
{
	const struct ss_idle_attribution_row *r = out->rows;
	/* Where the thread recorded nothing is no answer. */
	if (out->nrows && !r->event.n)
		r++;
	if (r == out->rows + out->nrows || r->self_ps < out->idle_ps / 3)
		return false;
	out->inside = r->event;
	out->inside_caller = r->caller;
	out->inside_frac = (double)r->self_ps / (double)out->idle_ps;
	return true;
}

/* Paths that end in the same event of the same caller are one row. */
static bool find_rows(struct pass *s, struct ss_idle_attribution *out, struct ss_arena *arena)
{
	struct ss_u64map by_end = { 0 };
	SS_VEC(struct ss_idle_attribution_row) all = { 0 };
	bool ok = true;
	for (uint32_t i = 0; ok && i < s->paths.n; i++) {
		const struct path *v = &s->paths.v[i];
		uint32_t around = v->parent == SS_NONE ? SS_NONE : s->paths.v[v->parent].meta;
		if (!v->self_ps)
			continue;
		uint32_t k = ss_u64map_add(&by_end, (uint64_t)around << 32 | v->meta, (uint32_t)all.n);
		ok = k != SS_NONE;
		if (ok && k == all.n)
			ok = ss_vec_push(&all, ((struct ss_idle_attribution_row){ name_of(s, i), name_of(s, v->parent), 0 }));
		if (ok)
			all.v[k].self_ps += v->self_ps;
	}
	ok = ok && keep_largest(out, all.v, all.n, arena);
	ss_u64map_free(&by_end);
	ss_vec_free(&all);
	return ok;
}

static bool look(struct pass *s, struct ss_idle_attribution *out, const struct ss_steps *steps, struct ss_arena *arena)
{
	struct ss_thread_kinds kinds;
	bool ok = ss_thread_kinds_init(&kinds, s->p) && add_busy(s, &kinds) && find_idle(s, out, steps);
	if (ok)
		choose_thread(s, &kinds);
	ss_thread_kinds_free(&kinds);
	if (!ok || !s->line || !s->idle.n)
		return ok;
	out->thread = s->line->name;
	if (!walk_thread(s) || !find_rows(s, out, arena))
		return false;
	if (!find_alone(out))
		find_inside(s, out);
	return true;
}

/* The part of a host. */
struct own {
	struct ss_idle_attribution out; /* first: what the getter returns points here */
	struct ss_arena arena;
};

static void release_host(void *data)
{
	struct own *own = data;
	ss_arena_release(&own->arena);
	free(own);
}

static bool read_steps(struct ss_idle_attribution *out, struct ss_host *h, struct ss_arena *arena, struct ss_err *err)
{
	struct pass s = { .h = h };
	const struct ss_host_steps *steps = ss_host_steps(h, err);
	if (steps && !steps->steps.n)
		steps = ss_host_inferred_steps(h, err);
	if (!steps)
		return false;
	s.p = ss_host_plane(h, SS_PLANE_HOST_CPU);
	bool ok = !s.p || !steps->steps.n || look(&s, out, &steps->steps, arena);
	ss_vec_free(&s.busy);
	ss_vec_free(&s.collective);
	ss_vec_free(&s.idle);
	ss_vec_free(&s.paths);
	ss_vec_free(&s.open);
	ss_u64map_free(&s.by_call);
	return ok || ss_fail_mem(err);
}

static void *build_host(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	struct own *own = calloc(1, sizeof(*own));
	if (!own) {
		ss_fail_mem(err);
		return NULL;
	}
	own->out = (struct ss_idle_attribution){ .thread = SS_STR(""), .inside = SS_STR(""), .inside_caller = SS_STR("") };
	if (h->raw || read_steps(&own->out, h, &own->arena, err))
		return own;
	release_host(own);
	return NULL;
}

const struct ss_idle_attribution *ss_host_idle_attribution(struct ss_host *h, struct ss_err *err)
{
	return ss_part_get(&h->parts[SS_HOST_IDLE_ATTRIBUTION], build_host, release_host, h, err);
}

/* ---- all hosts ---- */

struct all {
	struct ss_idle_attribution out; /* first */
	struct ss_intern intern;
	SS_VEC(struct ss_idle_attribution_row) rows;
	size_t merge_at;	/* as many rows are worth merging */
	uint64_t max_ps;	/* idle time of the host that named the thread */
};

static bool begin(void *data, const struct ss_model *m)
{
	struct all *all = data;
	(void)m;
	all->out = (struct ss_idle_attribution){ .thread = SS_STR(""), .inside = SS_STR(""), .inside_caller = SS_STR("") };
	all->merge_at = 1000;
	return true;
}

static bool read_host(struct ss_host *h, struct ss_err *err)
{
	return ss_host_idle_attribution(h, err) != NULL;
}

static int by_row(const void *a, const void *b)
{
	return by_names(a, b);
}

static void merge_rows(struct all *all)
{
	struct ss_idle_attribution_row *v = all->rows.v;
	size_t k = 0;
	if (!all->rows.n)
		return;
	qsort(v, all->rows.n, sizeof(*v), by_row);
	for (size_t i = 1; i < all->rows.n; i++) {
		if (by_names(&v[i], &v[k]) == 0)
			v[k].self_ps += v[i].self_ps;
		else
			v[++k] = v[i];
	}
	all->rows.n = k + 1;
	all->merge_at = 2 * all->rows.n + 1000;
}

static bool take_host(void *data, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct all *all = data;
	const struct ss_idle_attribution *one = ss_host_idle_attribution(h, err);
	(void)i;
	if (!one)
		return false;
	for (size_t k = 0; k < one->nrows; k++) {
		struct ss_idle_attribution_row row = one->rows[k];
		row.event = ss_intern_str(&all->intern, row.event);
		row.caller = ss_intern_str(&all->intern, row.caller);
		if (!ss_vec_push(&all->rows, row))
			return ss_fail_mem(err);
	}
	if (all->rows.n >= all->merge_at)
		merge_rows(all);
	all->out.steps_ps += one->steps_ps;
	all->out.idle_ps += one->idle_ps;
	all->out.collective_ps += one->collective_ps;
	if (one->idle_ps > all->max_ps) {
		all->max_ps = one->idle_ps;
		all->out.thread = ss_intern_str(&all->intern, one->thread);
		all->out.inside = ss_intern_str(&all->intern, one->inside);
		all->out.inside_caller = ss_intern_str(&all->intern, one->inside_caller);
		all->out.inside_frac = one->inside_frac;
	}
	return true;
}

static bool end(void *data, struct ss_err *err)
{
	struct all *all = data;
	merge_rows(all);
	return (keep_largest(&all->out, all->rows.v, all->rows.n, &all->intern.arena) && !all->intern.no_memory) ||
	       ss_fail_mem(err);
}

static void release(void *data)
{
	struct all *all = data;
	ss_intern_release(&all->intern);
	ss_vec_free(&all->rows);
	free(all);
}

const struct ss_fold ss_fold_idle_attribution = {
	.part = SS_MODEL_IDLE_ATTRIBUTION,
	SS_FOLD_DATA(struct all),
	.begin = begin,
	.read = read_host,
	.take = take_host,
	.end = end,
	.release = release,
};

const struct ss_idle_attribution *ss_model_idle_attribution(struct ss_model *m, struct ss_err *err)
{
	return ss_fold_get(m, &ss_fold_idle_attribution, err);
}
