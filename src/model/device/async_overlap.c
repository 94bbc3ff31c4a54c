/*
 * async_overlap.c - windows of asynchronous operations against what their core computed meanwhile.
 */
#include "model/device/async_overlap.h"

#include "base/bisect.h"
#include "base/vec.h"
#include "model/host/host.h"
#include "model/host/plane.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

enum line_kind { OPS, SPARSE_OPS, ASYNC, LINE_KINDS };
static const char *const line_names[LINE_KINDS] = { "XLA Ops", "Sparse Core Ops", "Async XLA Ops" };

struct span {
	double begin, end;
	struct ss_str name; /* of the instruction */
	uint32_t i;	    /* in the order of the file */
};

struct spans {
	struct span *v;
	size_t n, cap;
};

struct plane {
	struct ss_str host, name;
	struct spans lines[LINE_KINDS];
	bool has[LINE_KINDS];
};

struct reader {
	struct ss_async_overlap *o;
	struct plane *v;
	size_t n;
	size_t ops_cap;
	bool as_xprof;
	struct ss_err *err;
};

/* --- names ------------------------------------------------------------------------------------- */

/* "copy-start.1" of "%copy-start.1 = (...) copy-start(...)". */
static struct ss_str instruction(struct ss_str name)
{
	while (name.n && isspace((unsigned char)name.p[0]))
		name = ss_str_sub(name, 1, name.n);
	if (name.n && name.p[0] == '%') {
		size_t eq = ss_str_find(name, SS_STR(" = "));
		name = ss_str_sub(name, 1, eq == SS_NPOS ? name.n : eq);
	}
	while (name.n && isspace((unsigned char)name.p[name.n - 1]))
		name.n--;
	return name;
}

/* The position of ".12" at the end of the name; its length if there is none. */
static size_t number_at(struct ss_str s)
{
	size_t i = s.n;
	while (i > 0 && isdigit((unsigned char)s.p[i - 1]))
		i--;
	return i > 0 && i < s.n && s.p[i - 1] == '.' ? i - 1 : s.n;
}

enum role { NO_ROLE, START, DONE };

/* base: what stands before "-start" or "-done". */
static enum role role_of(struct ss_str name, struct ss_str *base, struct ss_str *number)
{
	size_t at = number_at(name);
	struct ss_str word = ss_str_sub(name, 0, at);
	*number = ss_str_sub(name, at, name.n);
	static const struct {
		const char *end;
		enum role role;
	} ends[] = { { "-start", START }, { "-done", DONE } };
	for (size_t i = 0; i < SS_COUNT(ends); i++) {
		size_t n = strlen(ends[i].end);
		if (word.n > n && ss_str_ends(word, ss_str_from(ends[i].end))) {
			*base = ss_str_sub(word, 0, word.n - n);
			return ends[i].role;
		}
	}
	*base = word;
	return ss_str_is(word, "send") || ss_str_is(word, "recv") ? START : NO_ROLE;
}

/* The last part of the base that is no number. */
static struct ss_str kind_of(struct ss_str name)
{
	struct ss_str base, number;
	if (role_of(name, &base, &number) == NO_ROLE)
		base = name;
	for (struct ss_str rest = base; rest.n;) {
		size_t dot = ss_str_rchr(rest, '.');
		struct ss_str part = ss_str_sub(rest, dot == SS_NPOS ? 0 : dot + 1, rest.n);
		bool digits = true;
		for (size_t i = 0; i < part.n; i++)
			digits = digits && isdigit((unsigned char)part.p[i]);
		if (part.n && !digits)
			return part;
		rest = ss_str_sub(rest, 0, dot == SS_NPOS ? 0 : dot);
	}
	return base;
}

/* --- reading ----------------------------------------------------------------------------------- */

static bool add_span(struct spans *s, struct span one)
{
	one.i = (uint32_t)s->n;
	return ss_vec_push(s, one);
}

static struct plane *plane_of(struct reader *r, struct ss_str host, struct ss_str name)
{
	for (size_t i = 0; i < r->n; i++)
		if (ss_str_eq(r->v[i].host, host) && ss_str_eq(r->v[i].name, name))
			return &r->v[i];
	struct plane *v = realloc(r->v, (r->n + 1) * sizeof(*v));
	if (!v)
		return NULL;
	r->v = v;
	v[r->n] = (struct plane){ .host = host, .name = name };
	return &v[r->n++];
}

static bool read_line(struct reader *r, const struct ss_host *h, const struct ss_xplane *x,
		      struct ss_xline *l, struct plane *p, int kind)
{
	struct ss_xevents e = { 0 };
	bool ok = true;
	if (!ss_xevents_load(&e, &h->x, x, l, r->err))
		return false;
	for (uint32_t i = 0; ok && i < e.n; i++) {
		double begin = (double)e.begin_ps[i], dur = (double)e.dur_ps[i];
		if (r->as_xprof) {
			double offset_ps =
				(double)(e.begin_ps[i] - (l->timestamp_ns - h->x.origin_ns) * 1000);
			begin = trunc(((double)l->timestamp_ns + offset_ps / 1000) * 1000);
			dur = trunc(dur / 1000 * 1000);
		}
		ok = add_span(&p->lines[kind],
			      (struct span){ begin, begin + dur,
					     instruction(ss_xevent_meta_name(x, e.meta[i])), 0 });
	}
	p->has[kind] = p->has[kind] || e.n;
	ss_xevents_free(&e);
	return ok || ss_fail_mem(r->err);
}

static bool read_host(struct reader *r, const struct ss_async_host *a)
{
	for (uint32_t i = 0; i < a->host->x.nplanes; i++) {
		struct ss_xplane *x = &a->host->x.planes[i];
		for (uint32_t k = 0; k < x->nlines; k++) {
			struct ss_xline *l = &x->lines[k];
			struct ss_str name = l->display_name.n ? l->display_name : l->name;
			int kind = 0;
			while (kind < LINE_KINDS && !ss_str_is(name, line_names[kind]))
				kind++;
			if (kind == LINE_KINDS)
				continue;
			struct plane *p = plane_of(r, a->label, x->name);
			if (!p)
				return ss_fail_mem(r->err);
			if (!read_line(r, a->host, x, l, p, kind))
				return false;
		}
	}
	return true;
}

/* --- windows ----------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return SS_CMP(x->begin, y->begin) ?: SS_CMP(x->i, y->i);
}

/* Disjoint and ascending; empty ones left out. Returns how many. */
static size_t merge(struct spans *s)
{
	size_t n = 0;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_begin);
	for (size_t i = 0; i < s->n; i++) {
		if (!(s->v[i].end > s->v[i].begin))
			continue;
		if (n && s->v[i].begin <= s->v[n - 1].end)
			s->v[n - 1].end = fmax(s->v[n - 1].end, s->v[i].end);
		else
			s->v[n++] = s->v[i];
	}
	return n;
}

/* Time of [begin, end) that the first n spans cover; they are disjoint. */
static double covered(const struct spans *s, size_t n, const double *before, double begin,
		      double end)
{
	size_t lo = 0, hi = n;
	SS_BISECT(lo, hi, mid, s->v[mid].end <= begin);
	size_t first = lo;
	hi = n;
	SS_BISECT(lo, hi, mid, s->v[mid].begin < end);
	if (lo == first)
		return 0;
	double sum = before[lo] - before[first];
	sum -= fmax(0, begin - s->v[first].begin);
	return sum - fmax(0, s->v[lo - 1].end - end);
}

struct compute {
	struct spans spans;
	double *before; /* sums of the spans before each */
	size_t n;
};

static bool make_compute(struct reader *r, const struct plane *p, struct compute *c)
{
	struct ss_str base, number;
	for (int kind = OPS; kind <= SPARSE_OPS; kind++)
		for (size_t i = 0; i < p->lines[kind].n; i++)
			if (role_of(p->lines[kind].v[i].name, &base, &number) == NO_ROLE &&
			    !add_span(&c->spans, p->lines[kind].v[i]))
				return ss_fail_mem(r->err);
	c->n = merge(&c->spans);
	c->before = calloc(c->n + 1, sizeof(*c->before));
	for (size_t i = 0; c->before && i < c->n; i++)
		c->before[i + 1] = c->before[i] + c->spans.v[i].end - c->spans.v[i].begin;
	return c->before || ss_fail_mem(r->err);
}

static bool add_window(struct reader *r, uint32_t plane, const struct compute *c,
		       struct ss_str name, double begin, double end)
{
	struct ss_async_overlap *o = r->o;
	o->planes[plane].has_windows = true;
	if (!(end > begin))
		return true;
	if (o->nops == r->ops_cap) {
		size_t cap = r->ops_cap ? 2 * r->ops_cap : 256;
		struct ss_async_op *v = realloc(o->ops, cap * sizeof(*v));
		if (!v)
			return ss_fail_mem(r->err);
		o->ops = v;
		r->ops_cap = cap;
	}
	double span = end - begin;
	double exposed = span - covered(&c->spans, c->n, c->before, begin, end);
	o->ops[o->nops++] =
		(struct ss_async_op){ name, kind_of(name), plane, begin, span, exposed };
	return true;
}

static bool pair(struct reader *r, uint32_t plane, const struct plane *p, const struct compute *c)
{
	struct spans all = { 0 }; /* starts and dones */
	struct ss_u64map keys = { 0 };
	struct ss_str base, number;
	bool ok = true;
	for (int kind = SPARSE_OPS; ok && kind >= OPS; kind--)
		for (size_t i = 0; ok && i < p->lines[kind].n; i++)
			ok = role_of(p->lines[kind].v[i].name, &base, &number) == NO_ROLE || add_span(&all, p->lines[kind].v[i]);
	if (ok && all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_begin);
	uint32_t *next = ok ? calloc(3 * (all.n + 1), sizeof(*next)) : NULL,
		 *first = next ? next + all.n + 1 : NULL;
	uint32_t *last = next ? first + all.n + 1 : NULL, nkeys = 0;
	ok = next || ss_fail_mem(r->err);
	for (uint32_t i = 0; ok && i < all.n; i++) {
		enum role role = role_of(all.v[i].name, &base, &number);
		uint32_t k =
			ss_u64map_add(&keys, ss_mix(ss_str_hash(base), ss_str_hash(number)), nkeys);
		ok = k != SS_NONE || ss_fail_mem(r->err);
		if (!ok)
			break;
		if (k == nkeys)
			first[nkeys++] = SS_NONE;
		next[i] = SS_NONE;
		if (role == START) {
			if (first[k] == SS_NONE)
				first[k] = i;
			else
				next[last[k]] = i;
			last[k] = i;
			r->o->unpaired++;
		} else if (first[k] == SS_NONE) {
			r->o->unpaired++;
		} else {
			const struct span *s = &all.v[first[k]];
			r->o->unpaired--;
			first[k] = next[first[k]];
			ok = add_window(r, plane, c, s->name, s->begin, all.v[i].end);
		}
	}
	ss_u64map_free(&keys);
	free(next);
	free(all.v);
	return ok;
}

static bool make_windows(struct reader *r, uint32_t at, const struct plane *p)
{
	struct compute c = { .n = 0 };
	bool ok = make_compute(r, p, &c);
	r->o->planes[at] = (struct ss_async_plane){ p->host, p->name, p->has[ASYNC], false };
	if (ok && !p->has[ASYNC])
		ok = pair(r, at, p, &c);
	for (size_t i = 0; ok && i < p->lines[ASYNC].n; i++) {
		const struct span *s = &p->lines[ASYNC].v[i];
		ok = add_window(r, at, &c, s->name, s->begin, s->end);
	}
	free(c.spans.v);
	free(c.before);
	return ok;
}

/* --- engines ----------------------------------------------------------------------------------- */

/*
 * The number in "/device:TPU:3" or "/device:TPU:3 SparseCore 1" or "/device:TPU:3 SparseCore Kind
 * 1".
 */
static uint32_t chip_of(struct ss_str name)
{
	uint64_t chip, core;
	if (!ss_str_take(&name, SS_STR("/device:TPU:")) || !ss_str_take_u64(&name, &chip) ||
	    chip >= UINT32_MAX)
		return UINT32_MAX;
	if (!name.n)
		return (uint32_t)chip;
	if (!ss_str_take(&name, SS_STR(" SparseCore ")))
		return ss_str_is(name, " SparseCore") ? (uint32_t)chip : UINT32_MAX;
	size_t letters = 0;
	while (letters < name.n && isalpha((unsigned char)name.p[letters]))
		letters++;
	name = ss_str_sub(name, letters, name.n);
	if (letters && !ss_str_take(&name, SS_STR(" ")))
		return UINT32_MAX;
	return ss_str_take_u64(&name, &core) && !name.n ? (uint32_t)chip : UINT32_MAX;
}

static bool add_engine(struct reader *r, uint32_t at, struct plane *p, int kind)
{
	struct ss_async_overlap *o = r->o;
	struct ss_async_engine *e = &o->engines[o->nengines];
	size_t n = merge(&p->lines[kind]);
	*e = (struct ss_async_engine){ .plane = at,
				       .line = ss_str_from(line_names[kind]),
				       .chip = chip_of(p->name) };
	e->begin_ps = SS_NEW_N(&o->arena, double, 2 * n + 1);
	if (!e->begin_ps)
		return ss_fail_mem(r->err);
	e->end_ps = e->begin_ps + n;
	e->n = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		e->begin_ps[i] = p->lines[kind].v[i].begin;
		e->end_ps[i] = p->lines[kind].v[i].end;
		e->busy_ps += e->end_ps[i] - e->begin_ps[i];
	}
	o->nengines++;
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct plane *x = a, *y = b;
	return ss_str_cmp(x->host, y->host) ?: ss_str_cmp(x->name, y->name);
}

static bool analyze(struct reader *r)
{
	static const int order[] = { SPARSE_OPS, OPS };
	struct ss_async_overlap *o = r->o;
	bool ok = true;
	o->planes = SS_NEW_N(&o->arena, struct ss_async_plane, r->n + 1);
	o->engines = SS_NEW_N(&o->arena, struct ss_async_engine, 2 * r->n + 1);
	if (!o->planes || !o->engines)
		return ss_fail_mem(r->err);
	if (r->n)
		qsort(r->v, r->n, sizeof(*r->v), by_name);
	for (size_t i = 0; ok && i < r->n; i++)
		ok = make_windows(r, (uint32_t)i, &r->v[i]);
	for (size_t i = 0; ok && i < r->n; i++)
		for (size_t k = 0; ok && k < SS_COUNT(order); k++)
			ok = !r->v[i].has[order[k]] ||
			     add_engine(r, (uint32_t)i, &r->v[i], order[k]);
	for (size_t i = 0; i < r->n; i++)
		for (int kind = 0; kind < LINE_KINDS; kind++)
			o->any = o->any || r->v[i].has[kind];
	o->nplanes = r->n;
	return ok;
}

bool ss_async_overlap_read(struct ss_async_overlap *o, const struct ss_async_host *hosts, size_t n,
			   bool as_xprof, struct ss_err *err)
{
	struct reader r = { .o = o, .as_xprof = as_xprof, .err = err };
	bool ok = true;
	*o = (struct ss_async_overlap){ .nops = 0 };
	for (size_t i = 0; ok && i < n; i++)
		ok = read_host(&r, &hosts[i]);
	ok = ok && analyze(&r);
	for (size_t i = 0; i < r.n; i++)
		for (int kind = 0; kind < LINE_KINDS; kind++)
			free(r.v[i].lines[kind].v);
	free(r.v);
	if (!ok)
		ss_async_overlap_free(o);
	return ok;
}

void ss_async_overlap_free(struct ss_async_overlap *o)
{
	free(o->ops);
	ss_arena_release(&o->arena);
	*o = (struct ss_async_overlap){ .nops = 0 };
}

double ss_async_concurrent_ps(const struct ss_async_engine *a, const struct ss_async_engine *b)
{
	double sum = 0;
	for (uint32_t i = 0, k = 0; i < a->n && k < b->n;) {
		double begin = fmax(a->begin_ps[i], b->begin_ps[k]),
		       end = fmin(a->end_ps[i], b->end_ps[k]);
		sum += end > begin ? end - begin : 0;
		if (a->end_ps[i] < b->end_ps[k])
			i++;
		else
			k++;
	}
	return sum;
}
