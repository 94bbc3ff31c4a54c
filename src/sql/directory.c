/* directory.c - see directory.h. */
#include "sql/directory.h"

#include "base/bisect.h"
#include "base/safe.h"
#include "model/cluster/aligned.h"
#include "model/host/host.h"
#include "model/host/identity.h"
#include "model/host/read_lines.h"
#include "model/model.h"
#include "model/preprocess/load.h"

#include <stdlib.h>

#define BLOCK 64u

static void free_maxima(struct ss_sql_maxima *m)
{
	for (unsigned i = 0; i < m->nlevels; i++)
		free(m->level[i]);
	*m = (struct ss_sql_maxima){ .nlevels = 0 };
}

void ss_sql_forget_line(struct ss_sql_line *line)
{
	free_maxima(&line->ends);
	free_maxima(&line->lengths);
	free(line->order);
	free(line->parent);
	free(line->depth);
	free(line->self_ps);
	free(line->posts);
	free(line->pairs);
	line->order = line->parent = line->depth = line->posts = NULL;
	line->self_ps = NULL;
	line->pairs = NULL;
	line->timed = line->nested = line->posted = false;
}

void ss_sql_directory_free(struct ss_sql_directory *d)
{
	for (uint32_t i = 0; d && i < d->nlines; i++) {
		ss_sql_forget_line(&d->lines[i]);
		if (!d->borrowed)
			ss_line_free(&d->lines[i].l);
	}
	if (!d)
		return;
	pthread_mutex_destroy(&d->lock);
	free(d->lines);
	free(d->planes);
	free(d->names);
	free(d);
}

static void release(void *data)
{
	ss_sql_directory_free(data);
}

static bool make_rooms(struct ss_sql_directory *d)
{
	size_t nplanes = 0, nlines = 0;
	for (size_t h = 0; h < d->model->nhosts; h++)
		for (uint32_t p = 0; p < d->model->hosts[h]->x.nplanes; p++, nplanes++)
			nlines += d->model->hosts[h]->x.planes[p].nlines;
	d->planes = calloc(nplanes + 1, sizeof(*d->planes));
	d->lines = calloc(nlines + 1, sizeof(*d->lines));
	return d->planes && d->lines && nlines < SS_NONE;
}

/* The lines of one host, read from its file; those of other hosts stand before them. */
static bool read_host(struct ss_sql_directory *d, uint32_t at, struct ss_err *err)
{
	struct ss_host *h = d->model->hosts[at];
	uint32_t first = d->nlines, n = 0;
	for (uint32_t p = 0; p < h->x.nplanes; p++) {
		const struct ss_xplane *x = &h->x.planes[p];
		struct ss_sql_plane *plane = &d->planes[d->nplanes];
		*plane = (struct ss_sql_plane){ .host = h,
						.plane = &h->planes[p],
						.host_at = at,
						.first_line = d->nlines,
						.nlines = x->nlines };
		for (uint32_t k = 0; k < x->nlines; k++) {
			struct ss_sql_line *line = &d->lines[d->nlines++];
			line->host = h;
			line->plane = plane->plane;
			line->host_at = at;
			line->plane_at = d->nplanes;
			if (d->borrowed)
				line->l = h->planes[p].lines[k];
			else
				line->l.src = &x->lines[k];
		}
		d->nplanes++;
	}
	if (d->borrowed)
		return true;
	n = d->nlines - first;
	struct ss_line_read *reads = malloc((n + 1) * sizeof(*reads));
	if (!reads)
		return ss_fail_mem(err);
	for (uint32_t i = 0; i < n; i++)
		reads[i] = (struct ss_line_read){ d->lines[first + i].plane, &d->lines[first + i].l,
						  NULL };
	bool ok = ss_read_lines(h, reads, n, err);
	free(reads);
	return ok;
}

static int64_t earliest(const struct ss_xevents *ev)
{
	int64_t least = INT64_MAX;
	for (uint32_t i = 0; i < (ev->sorted && ev->n ? 1 : ev->n); i++)
		least = ev->begin_ps[i] < least ? ev->begin_ps[i] : least;
	return least;
}

static int64_t rounded_down_ns(int64_t ps)
{
	return ps / 1000 - (ps % 1000 < 0);
}

/* ns of a time since a host's origin, and the ps behind them. */
static int64_t to_ns(int64_t origin_ns, int64_t ps, int64_t *rest_ps)
{
	*rest_ps = ps % 1000 + (ps % 1000 < 0 ? 1000 : 0);
	return ss_safe_sum(origin_ns, rounded_down_ns(ps));
}

/* All lines on the common clock, from the earliest event. */
static bool align(struct ss_sql_directory *d, struct ss_err *err)
{
	const struct ss_clock_map *maps = ss_model_clock_maps(d->model, err);
	const struct ss_cluster *c = maps ? ss_model_cluster(d->model, err) : NULL;
	int64_t first = INT64_MAX;
	for (uint32_t i = 0; c && i < d->nlines; i++) {
		struct ss_sql_line *line = &d->lines[i];
		line->clock = maps[line->host_at];
		int64_t at = line->l.ev.n ? ss_clock_shown(&line->clock, earliest(&line->l.ev)) : INT64_MAX;
		first = at < first ? at : first;
	}
	for (uint32_t i = 0; c && first != INT64_MAX && i < d->nlines; i++)
		d->lines[i].clock.shift_ps = ss_safe_sum(d->lines[i].clock.shift_ps, -first);
	if (!c || first == INT64_MAX)
		return c;
	int64_t since_start = ss_safe_sum(first, -maps[d->model->nhosts].shift_ps), ns = rounded_down_ns(since_start);
	d->origin_ns = ss_safe_sum(c->start_unix_ns, ns);
	d->origin_rest_ps = since_start - ns * 1000;
	return true;
}

static void find_origin(struct ss_sql_directory *d)
{
	bool any = false;
	for (uint32_t i = 0; i < d->nlines; i++) {
		const struct ss_sql_line *line = &d->lines[i];
		if (!line->l.ev.n)
			continue;
		int64_t rest_ps,
			ns = to_ns(line->host->x.origin_ns, earliest(&line->l.ev), &rest_ps);
		if (any &&
		    (ns > d->origin_ns || (ns == d->origin_ns && rest_ps >= d->origin_rest_ps)))
			continue;
		any = true;
		d->origin_ns = ns;
		d->origin_rest_ps = rest_ps;
	}
}

static int64_t shift_of(const struct ss_sql_directory *d, const struct ss_host *h)
{
	int64_t ns, ps;
	if (__builtin_sub_overflow(h->x.origin_ns, d->origin_ns, &ns) ||
	    __builtin_mul_overflow(ns, 1000, &ps))
		return h->x.origin_ns < d->origin_ns ? INT64_MIN / 2 : INT64_MAX / 2;
	return ss_safe_sum(ps, -d->origin_rest_ps);
}

/* In the run's time. */
static bool place_lines(struct ss_sql_directory *d, struct ss_err *err)
{
	if (d->model->aligned)
		return align(d, err);
	find_origin(d);
	for (uint32_t i = 0; i < d->nlines; i++)
		d->lines[i].clock.shift_ps = shift_of(d, d->lines[i].host);
	return true;
}

static struct ss_sql_directory *new_directory(struct ss_model *m, bool borrowed, struct ss_err *err)
{
	struct ss_sql_directory *d = calloc(1, sizeof(*d));
	if (!d) {
		ss_fail_mem(err);
		return NULL;
	}
	d->model = m;
	d->borrowed = borrowed;
	pthread_mutex_init(&d->lock, NULL);
	bool ok = make_rooms(d) || ss_fail_mem(err);
	for (uint32_t h = 0; ok && h < d->model->nhosts; h++)
		ok = read_host(d, h, err);
	ok = ok && place_lines(d, err);
	for (uint32_t i = 0; ok && i < d->nlines; i++) {
		struct ss_sql_line *line = &d->lines[i];
		line->directory = d;
		line->first_id = d->nevents;
		d->nevents += line->l.ev.n;
		d->planes[line->plane_at].nevents += line->l.ev.n;
	}
	if (ok)
		return d;
	release(d);
	return NULL;
}

static void *build(void *owner, struct ss_err *err)
{
	return new_directory(owner, false, err);
}

struct ss_sql_directory *ss_sql_directory_of_loaded(struct ss_model *m, struct ss_err *err)
{
	for (size_t h = 0; h < m->nhosts; h++)
		if (!ss_host_is_raw(m->hosts[h]) && !ss_host_load(m->hosts[h], err))
			return NULL;
	return new_directory(m, true, err);
}

struct ss_sql_directory *ss_model_sql_directory(struct ss_model *m, struct ss_err *err)
{
	if (!m->visited)
		return ss_part_get(&m->parts[SS_MODEL_SQL_DIRECTORY], build, release, m, err);
	ss_fail(err, SS_EINVAL, "SQL needs the hosts to be open");
	return NULL;
}

struct ss_sql_line *ss_sql_line_of(const struct ss_sql_directory *d, int64_t event_id, uint32_t *i)
{
	uint32_t lo = 0, hi = d->nlines;
	if (event_id < 0 || (uint64_t)event_id >= d->nevents)
		return NULL;
	SS_BISECT(lo, hi, mid, d->lines[mid].first_id + d->lines[mid].l.ev.n <= (uint64_t)event_id);
	*i = (uint32_t)((uint64_t)event_id - d->lines[lo].first_id);
	return &d->lines[lo];
}

static int64_t value_at(const struct ss_sql_line *line, bool end, uint32_t k)
{
	uint32_t i = ss_sql_in_time(line, k);
	return end ? ss_xevents_end_ps(&line->l.ev, i) : (int64_t)line->l.ev.dur_ps[i];
}

static bool make_maxima(struct ss_sql_maxima *m, const struct ss_sql_line *line, bool end)
{
	uint32_t n = line->l.ev.n;
	while (n > BLOCK && m->nlevels < SS_SQL_LEVELS) {
		uint32_t blocks = (n - 1) / BLOCK + 1;
		int64_t *below = m->nlevels ? m->level[m->nlevels - 1] : NULL;
		int64_t *v = malloc(blocks * sizeof(*v));
		if (!v)
			return false;
		for (uint32_t k = 0; k < n; k++) {
			int64_t x = below ? below[k] : value_at(line, end, k);
			if (k % BLOCK == 0 || x > v[k / BLOCK])
				v[k / BLOCK] = x;
		}
		m->level[m->nlevels++] = v;
		n = blocks;
	}
	return true;
}

/*
 * The first place from k on whose value is at least `least`: whole blocks are passed over by their
 * greatest.
 */
static uint32_t next_at_least(const struct ss_sql_line *line, const struct ss_sql_maxima *m,
			      bool end, uint32_t k, uint32_t to, int64_t least)
{
	while (k < to) {
		unsigned level = 0;
		uint64_t size = 1;
		while (level < m->nlevels && k % (size * BLOCK) == 0 &&
		       m->level[level][k / (size * BLOCK)] < least) {
			size *= BLOCK;
			level++;
		}
		if (!level && value_at(line, end, k) >= least)
			return k;
		if (size >= to - k)
			return to;
		k += (uint32_t)size;
	}
	return to;
}

uint32_t ss_sql_next_ending(const struct ss_sql_line *line, uint32_t k, uint32_t to,
			    int64_t after_ps)
{
	return after_ps == INT64_MAX ? to
				     : next_at_least(line, &line->ends, true, k, to, after_ps + 1);
}

uint32_t ss_sql_next_lasting(const struct ss_sql_line *line, uint32_t k, uint32_t to,
			     int64_t least_ps)
{
	return next_at_least(line, &line->lengths, false, k, to, least_ps);
}

uint32_t ss_sql_first_from(const struct ss_sql_line *line, int64_t begin_ps)
{
	uint32_t lo = 0, hi = line->l.ev.n;
	SS_BISECT(lo, hi, mid, line->l.ev.begin_ps[ss_sql_in_time(line, mid)] < begin_ps);
	return lo;
}

static bool make_order(struct ss_sql_line *line)
{
	if (line->l.ev.sorted || line->l.ev.n < 2)
		return true;
	line->order = ss_xevents_in_order(&line->l.ev);
	return line->order;
}

static bool time_line(struct ss_sql_line *line)
{
	if (line->timed)
		return true;
	bool ok = make_order(line) && make_maxima(&line->ends, line, true) &&
		  make_maxima(&line->lengths, line, false);
	if (!ok) {
		free(line->order);
		line->order = NULL;
		free_maxima(&line->ends);
		free_maxima(&line->lengths);
	}
	line->timed = ok;
	return ok;
}

/* Open events end in the order of the stack, the innermost first. */
static void find_parents(struct ss_sql_line *line, uint32_t *stack)
{
	const struct ss_xevents *ev = &line->l.ev;
	uint32_t open = 0;
	for (uint32_t k = 0; k < ev->n; k++) {
		uint32_t i = ss_sql_in_time(line, k);
		int64_t end_ps = ss_xevents_end_ps(ev, i);
		while (open && ss_xevents_end_ps(ev, stack[open - 1]) < end_ps)
			open--;
		line->parent[i] = open ? stack[open - 1] : SS_NONE;
		line->depth[i] = open;
		if (open)
			line->self_ps[stack[open - 1]] = ss_safe_sum(line->self_ps[stack[open - 1]],
								     -(int64_t)ev->dur_ps[i]);
		stack[open++] = i;
	}
}

static bool nest_line(struct ss_sql_line *line)
{
	uint32_t n = line->l.ev.n, *stack = malloc((n + 1u) * sizeof(*stack));
	line->parent = malloc((n + 1u) * sizeof(*line->parent));
	line->depth = malloc((n + 1u) * sizeof(*line->depth));
	line->self_ps = malloc((n + 1u) * sizeof(*line->self_ps));
	bool ok = stack && line->parent && line->depth && line->self_ps;
	for (uint32_t i = 0; ok && i < n; i++)
		line->self_ps[i] = (int64_t)line->l.ev.dur_ps[i];
	if (ok) {
		find_parents(line, stack);
	} else {
		free(line->parent);
		free(line->depth);
		free(line->self_ps);
		line->parent = line->depth = NULL;
		line->self_ps = NULL;
	}
	free(stack);
	return ok;
}

/* Few events of many names. */
static bool sort_by_name(const struct ss_xevents *ev, uint32_t *posts)
{
	uint64_t *v = malloc((ev->n + 1u) * sizeof(*v));
	for (uint32_t i = 0; v && i < ev->n; i++)
		v[i] = (uint64_t)ev->meta[i] << 32 | i;
	if (v && ev->n)
		qsort(v, ev->n, sizeof(*v), ss_cmp_u64);
	for (uint32_t i = 0; v && i < ev->n; i++)
		posts[i] = (uint32_t)v[i];
	free(v);
	return v;
}

/* Count by name, then put each event into its name's place: a sort in two passes. */
static bool count_by_name(const struct ss_xevents *ev, uint32_t nmeta, uint32_t *posts)
{
	uint32_t *at = calloc(nmeta + 2u, sizeof(*at));
	for (uint32_t i = 0; at && i < ev->n; i++)
		at[(ev->meta[i] < nmeta ? ev->meta[i] : nmeta) + 1]++;
	for (uint32_t m = 1; at && m <= nmeta; m++)
		at[m] += at[m - 1];
	for (uint32_t i = 0; at && i < ev->n; i++)
		posts[at[ev->meta[i] < nmeta ? ev->meta[i] : nmeta]++] = i;
	free(at);
	return at;
}

static bool list_pairs(struct ss_sql_line *line)
{
	const uint32_t *meta = line->l.ev.meta, *posts = line->posts;
	for (uint32_t k = 0; k < line->l.ev.n; k++)
		line->npairs += !k || meta[posts[k]] != meta[posts[k - 1]];
	line->pairs = malloc((line->npairs + 1u) * sizeof(*line->pairs));
	for (uint32_t k = 0, p = 0; line->pairs && k < line->l.ev.n; k++) {
		if (!k || meta[posts[k]] != meta[posts[k - 1]])
			line->pairs[p++] = (struct ss_sql_pair){ meta[posts[k]], k, 0 };
		line->pairs[p - 1].n++;
	}
	return line->pairs;
}

static bool post_line(struct ss_sql_line *line)
{
	const struct ss_xevents *ev = &line->l.ev;
	uint32_t nmeta = line->plane->x->nevent_meta;
	line->posts = malloc((ev->n + 1u) * sizeof(*line->posts));
	bool ok = line->posts && (nmeta / 16 > ev->n ? sort_by_name(ev, line->posts)
						     : count_by_name(ev, nmeta, line->posts));
	line->npairs = 0;
	if (ok && list_pairs(line))
		return true;
	free(line->posts);
	line->posts = NULL;
	return false;
}

bool ss_sql_time_line(struct ss_sql_directory *d, struct ss_sql_line *line)
{
	if (line->timed)
		return true;
	pthread_mutex_lock(&d->lock);
	bool ok = time_line(line);
	pthread_mutex_unlock(&d->lock);
	return ok;
}

bool ss_sql_nest_line(struct ss_sql_directory *d, struct ss_sql_line *line)
{
	if (line->nested)
		return true;
	pthread_mutex_lock(&d->lock);
	bool ok = line->nested || (time_line(line) && nest_line(line));
	line->nested = ok;
	pthread_mutex_unlock(&d->lock);
	return ok;
}

bool ss_sql_post_line(struct ss_sql_directory *d, struct ss_sql_line *line)
{
	if (line->posted)
		return true;
	pthread_mutex_lock(&d->lock);
	bool ok = line->posted || post_line(line);
	line->posted = ok;
	pthread_mutex_unlock(&d->lock);
	return ok;
}

const struct ss_sql_pair *ss_sql_pair_of(const struct ss_sql_line *line, uint32_t meta)
{
	uint32_t lo = 0, hi = line->npairs;
	SS_BISECT(lo, hi, mid, line->pairs[mid].meta < meta);
	return lo < line->npairs && line->pairs[lo].meta == meta ? &line->pairs[lo] : NULL;
}

static int by_text(const void *a, const void *b)
{
	const struct ss_sql_name *x = a, *y = b;
	return ss_str_cmp(x->text, y->text) ?: SS_CMP(x->plane_at, y->plane_at) ?: SS_CMP(x->meta, y->meta);
}

static bool list_names(struct ss_sql_directory *d)
{
	size_t n = 0;
	for (uint32_t p = 0; p < d->nplanes; p++)
		n += d->planes[p].nevents ? (size_t)d->planes[p].plane->x->nevent_meta + 1 : 0;
	d->names = malloc((n + 1) * sizeof(*d->names));
	if (!d->names)
		return false;
	for (uint32_t p = 0; p < d->nplanes; p++) {
		const struct ss_plane *plane = d->planes[p].plane;
		for (uint32_t m = 0; d->planes[p].nevents && m <= plane->x->nevent_meta; m++) {
			uint32_t meta = m < plane->x->nevent_meta ? m : SS_NONE;
			d->names[d->nnames++] =
				(struct ss_sql_name){ ss_xevent_meta_name_in_file(plane->x, meta), p,
						      meta };
		}
	}
	if (d->nnames)
		qsort(d->names, d->nnames, sizeof(*d->names), by_text);
	return true;
}

bool ss_sql_names(struct ss_sql_directory *d)
{
	if (d->named)
		return true;
	pthread_mutex_lock(&d->lock);
	bool ok = d->named || list_names(d);
	d->named = ok;
	pthread_mutex_unlock(&d->lock);
	return ok;
}

int64_t ss_sql_unix_ns(const struct ss_sql_line *line, int64_t own_ps)
{
	const struct ss_sql_directory *d = line->directory;
	int64_t ps = d->model->aligned ? ss_safe_sum(ss_clock_shown(&line->clock, own_ps), d->origin_rest_ps) : own_ps;
	return ss_safe_sum(d->model->aligned ? d->origin_ns : line->host->x.origin_ns, ps / 1000 - (ps % 1000 < 0));
}
