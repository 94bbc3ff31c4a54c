/* async.c - analyze_async_overlap (model/device/async_overlap.h). */
#include "model/device/async_overlap.h"
#include "model/host/host.h"
#include "xprof/cli/modules.h"

#include <stdlib.h>

static const char *const classes[] = { "hidden", "partial", "exposed" };

struct bucket {
	uint64_t count, of[SS_COUNT(classes)];
	double span_ps, exposed_ps;
};

static void add(struct bucket *b, const struct ss_async_op *a, enum ss_overlap_class c)
{
	b->count++;
	b->span_ps += a->span_ps;
	b->exposed_ps += a->exposed_ps;
	b->of[c]++;
}

static void put_bucket(struct xv *v, const struct bucket *b)
{
	xv_u64(v, "count", b->count);
	xcli_put_whole(v, "span_ps", b->span_ps);
	xcli_put_whole(v, "exposed_ps", b->exposed_ps);
	for (size_t i = 0; i < SS_COUNT(classes); i++)
		xv_u64(v, classes[i], b->of[i]);
}

struct overlap {
	struct xcli *x;
	struct ss_async_overlap o;
	struct ss_overlap_limits limits;
	bool many; /* hosts */
	struct xv *out;
};

static enum ss_overlap_class class_of(const struct overlap *a, const struct ss_async_op *op)
{
	return ss_overlap_class_of(op, &a->limits);
}

struct kind {
	struct ss_str name;
	struct bucket b;
};

static int by_exposed(const void *p, const void *q)
{
	const struct kind *a = p, *b = q;
	return SS_CMP(b->b.exposed_ps, a->b.exposed_ps) ?: ss_str_cmp(a->name, b->name);
}

static bool put_kinds(struct overlap *a)
{
	struct ss_strmap names = { 0 };
	struct kind *v = SS_NEW_N(&a->x->arena, struct kind, a->o.nops + 1);
	struct xv *list = xv_add_object(a->out, "by_op");
	bool ok = v;
	for (size_t i = 0; ok && i < a->o.nops; i++) {
		uint32_t at = ss_strmap_add(&names, a->o.ops[i].kind);
		ok = at != SS_NONE;
		if (!ok)
			break;
		v[at].name = a->o.ops[i].kind;
		add(&v[at].b, &a->o.ops[i], class_of(a, &a->o.ops[i]));
	}
	if (ok && names.n)
		qsort(v, names.n, sizeof(*v), by_exposed);
	for (uint32_t i = 0; ok && i < names.n; i++) {
		struct xv *one = xv_object(&a->x->make);
		put_bucket(one, &v[i].b);
		xv_put_key(list, v[i].name, one);
	}
	ss_strmap_free(&names);
	return ok || xcli_no_memory(a->x);
}

static bool put_planes(struct overlap *a)
{
	struct bucket *b = SS_NEW_N(&a->x->arena, struct bucket, a->o.nplanes + 1);
	struct xv *list = xv_add_object(a->out, "by_plane");
	if (!b)
		return xcli_no_memory(a->x);
	for (size_t i = 0; i < a->o.nops; i++)
		add(&b[a->o.ops[i].plane], &a->o.ops[i], class_of(a, &a->o.ops[i]));
	for (size_t i = 0; i < a->o.nplanes; i++) {
		const struct ss_async_plane *p = &a->o.planes[i];
		struct xv *one = xv_object(&a->x->make);
		if (!p->has_windows)
			continue;
		put_bucket(one, &b[i]);
		xv_z(one, "window_source", p->from_line ? "Async XLA Ops" : "start_done_pairs");
		if (a->many)
			xv_str(one, "host", p->host);
		xv_put_key(list,
			   a->many ? ss_arena_printf(&a->x->arena, SS_FMT ":" SS_FMT,
						     SS_ARG(p->host), SS_ARG(p->name))
				   : p->name,
			   one);
	}
	return true;
}

/* The longest exposed time first; then host and plane, which are in order, and begin. */
static int by_rank(const void *p, const void *q)
{
	const struct ss_async_op *a = *(const struct ss_async_op *const *)p,
				 *b = *(const struct ss_async_op *const *)q;
	return SS_CMP(b->exposed_ps, a->exposed_ps) ?: SS_CMP(a->plane, b->plane) ?:
	       SS_CMP(a->begin_ps, b->begin_ps) ?: SS_CMP(a, b);
}

static bool put_top(struct overlap *a, int64_t most)
{
	const struct ss_async_op **v =
		SS_NEW_N(&a->x->arena, const struct ss_async_op *, a->o.nops + 1);
	struct xv *list = xv_add_array(a->out, "top_exposed");
	if (!v)
		return xcli_no_memory(a->x);
	for (size_t i = 0; i < a->o.nops; i++)
		v[i] = &a->o.ops[i];
	qsort(v, a->o.nops, sizeof(const struct ss_async_op *), by_rank);
	for (size_t i = 0; i < a->o.nops && (int64_t)i < most; i++) {
		const struct ss_async_plane *p = &a->o.planes[v[i]->plane];
		struct xv *one = xv_add_object(list, NULL);
		xv_str(one, "plane", p->name);
		xv_str(one, "name", v[i]->name);
		xv_str(one, "op", v[i]->kind);
		xcli_put_whole(one, "start_ps", v[i]->begin_ps);
		xcli_put_whole(one, "span_ps", v[i]->span_ps);
		xcli_put_whole(one, "exposed_ps", v[i]->exposed_ps);
		xv_f64(one, "overlap_ratio", (v[i]->span_ps - v[i]->exposed_ps) / v[i]->span_ps);
		xv_z(one, "class", classes[class_of(a, v[i])]);
		if (p->host.n)
			xv_str(one, "host", p->host);
	}
	return true;
}

/* --- engines of a chip ------------------------------------------------------------------------- */

struct pair {
	const struct ss_async_engine *a, *b;
	double ps;
	size_t i;
};

static int by_time(const void *p, const void *q)
{
	const struct pair *a = p, *b = q;
	return SS_CMP(b->ps, a->ps) ?: SS_CMP(a->i, b->i);
}

static void put_engine(const struct overlap *a, struct xv *v, const struct ss_async_engine *e)
{
	xv_str(v, "plane", a->o.planes[e->plane].name);
	xv_str(v, "line", e->line);
}

static bool put_chip(struct overlap *a, struct xv *list, const struct ss_async_engine *const *v,
		     size_t n)
{
	struct pair *pairs = SS_NEW_N(&a->x->arena, struct pair, n * n + 1);
	struct xv *one = xv_add_object(list, NULL), *engines, *out;
	size_t npairs = 0;
	if (!pairs)
		return xcli_no_memory(a->x);
	xv_u64(one, "chip", v[0]->chip);
	engines = xv_add_array(one, "engines");
	for (size_t i = 0; i < n; i++) {
		struct xv *e = xv_add_object(engines, NULL);
		put_engine(a, e, v[i]);
		xcli_put_whole(e, "busy_ps", v[i]->busy_ps);
		for (size_t k = i + 1; k < n; k++, npairs++)
			pairs[npairs] = (struct pair){ v[i], v[k],
						       ss_async_concurrent_ps(v[i], v[k]), npairs };
	}
	qsort(pairs, npairs, sizeof(*pairs), by_time);
	out = xv_add_array(one, "pairs");
	for (size_t i = 0; i < npairs; i++) {
		const struct pair *p = &pairs[i];
		struct xv *o = xv_add_object(out, NULL);
		double less = p->a->busy_ps < p->b->busy_ps ? p->a->busy_ps : p->b->busy_ps;
		put_engine(a, xv_add_object(o, "a"), p->a);
		put_engine(a, xv_add_object(o, "b"), p->b);
		xcli_put_whole(o, "concurrent_ps", p->ps);
		xv_f64(o, "concurrent_ratio", less > 0 ? p->ps / less : 0);
	}
	if (a->o.planes[v[0]->plane].host.n)
		xv_str(one, "host", a->o.planes[v[0]->plane].host);
	return true;
}

#define MOST_ENGINES 64

/* Engines are in the order of host and plane; those of a chip by its number. */
static bool put_concurrency(struct overlap *a)
{
	struct xv *list = xv_add_array(a->out, "concurrency");
	size_t from = 0;
	while (from < a->o.nengines) {
		struct ss_str host = a->o.planes[a->o.engines[from].plane].host;
		size_t end = from;
		while (end < a->o.nengines &&
		       ss_str_eq(a->o.planes[a->o.engines[end].plane].host, host))
			end++;
		for (int64_t last = -1;;) {
			const struct ss_async_engine *v[MOST_ENGINES];
			uint32_t chip = UINT32_MAX;
			size_t n = 0;
			for (size_t i = from; i < end; i++)
				if ((int64_t)a->o.engines[i].chip > last &&
				    a->o.engines[i].chip < chip)
					chip = a->o.engines[i].chip;
			if (chip == UINT32_MAX)
				break;
			for (size_t i = from; i < end && n < MOST_ENGINES; i++)
				if (a->o.engines[i].chip == chip)
					v[n++] = &a->o.engines[i];
			if (n > 1 && !put_chip(a, list, v, n))
				return false;
			last = chip;
		}
		from = end;
	}
	return true;
}

/* --- the command ------------------------------------------------------------------------------- */

static bool answer(struct overlap *a, int64_t most)
{
	struct bucket all = { 0 };
	struct xv *summary = xv_add_object(a->out, "summary"), *limits;
	for (size_t i = 0; i < a->o.nops; i++)
		add(&all, &a->o.ops[i], class_of(a, &a->o.ops[i]));
	put_bucket(summary, &all);
	xv_u64(summary, "unpaired_ops", a->o.unpaired);
	if (all.span_ps > 0)
		xv_f64(summary, "overlap_ratio", 1 - all.exposed_ps / all.span_ps);
	else
		xv_null(summary, "overlap_ratio");
	if (!put_kinds(a) || !put_planes(a) || !put_top(a, most) || !put_concurrency(a))
		return false;
	limits = xv_add_object(a->out, "thresholds");
	xv_f64(limits, "hidden", a->limits.hidden);
	xv_f64(limits, "exposed", a->limits.exposed);
	xv_str(a->out, "session_id", a->x->input);
	xv_z(a->out, "status", a->o.any ? "OK" : "NO_DEVICE_TIMELINE_EVENTS");
	if (a->x->host)
		xv_z(a->out, "host", a->x->host);
	if (!a->o.any)
		xv_z(a->out, "reason", "The profile has no lines of operations of a TPU.");
	return true;
}

bool xcli_analyze_async_overlap(struct xcli *x, struct xv **out)
{
	struct overlap a = { .x = x, .many = x->ntraces > 1 };
	struct ss_err err = { 0 };
	int64_t most;
	if (!xcli_real(x, "hidden_threshold", &a.limits.hidden) ||
	    !xcli_real(x, "exposed_threshold", &a.limits.exposed) || !xcli_int(x, "top_k", &most))
		return false;
	if (!(0 <= a.limits.exposed && a.limits.exposed < a.limits.hidden && a.limits.hidden <= 1))
		return xcli_fail(x, XCLI_INVALID,
				 "The thresholds must be 0 <= exposed < hidden <= 1");
	struct ss_async_host *hosts = SS_NEW_N(&x->arena, struct ss_async_host, x->ntraces);
	if (!hosts)
		return xcli_no_memory(x);
	if (!xcli_open(x))
		return false;
	for (size_t i = 0; i < x->nhosts; i++)
		hosts[i] = (struct ss_async_host){ &x->hosts[i],
						   a.many ? x->traces[i].stem : SS_STR("") };
	if (!ss_async_overlap_read(&a.o, hosts, x->nhosts, true, &err))
		return xcli_failed(x, &err);
	a.out = *out = xv_object(&x->make);
	bool ok = answer(&a, most);
	ss_async_overlap_free(&a.o);
	return ok;
}
