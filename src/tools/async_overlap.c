/*
 * async_overlap.c - asynchronous operations of TPUs (copies, collectives, sends) one by one and by
 * kind: how much of their duration computation covers, and how much is exposed. Which windows count
 * and what covers them: model/device/async_overlap.h.
 *
 * Windows that overlap each other count each for itself: the sums say what operations cost, not how
 * long the device waited (exposed_communication says that).
 */
#include "model/device/async_overlap.h"

#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/model.h"
#include "tools/tool.h"

#include <stdlib.h>

/* At least so much is covered of what is hidden, at most so much of what is exposed. */
static const struct ss_overlap_limits limits = { .hidden = .9, .exposed = .1 };
#define MOST_OPS 1000

enum { K_KIND, K_COUNT, K_SPAN, K_EXPOSED, K_FRAC, K_HIDDEN, K_PARTIAL, K_BARE };

static const struct ss_col kind_cols[] = {
	STR("kind", "Kind", "Name of the operation without its number: copy, all-gather"),
	INT("count", "Count", COUNT, "Number of windows with a duration"),
	NUM("span_ps", "Duration", PS, "Sum of the durations of the windows"),
	NUM("exposed_ps", "Exposed", PS, "Sum of the parts in which the core does not compute"),
	NUM("hidden_frac", "Hidden", FRAC, "1 - exposed / duration"),
	INT("hidden", "Hidden ones", COUNT, "Computation covers 90% of the window or more"),
	INT("partial", "Partly hidden ones", COUNT, NULL),
	INT("exposed", "Exposed ones", COUNT, "Computation covers 10% of the window or less"),
};

enum { P_HOST, P_PLANE, P_SOURCE, P_COUNT, P_SPAN, P_EXPOSED, P_FRAC };

static const struct ss_col plane_cols[] = {
	STR("host", "Host", NULL),
	STR("plane", "Plane", NULL),
	STR("source", "Windows from",
	    "The line of asynchronous operations, or pairs of starts and dones"),
	INT("count", "Count", COUNT, "Number of windows with a duration"),
	NUM("span_ps", "Duration", PS, "Sum of the durations of the windows"),
	NUM("exposed_ps", "Exposed", PS, "Sum of the parts in which the core does not compute"),
	NUM("hidden_frac", "Hidden", FRAC, "1 - exposed / duration"),
};

enum { O_HOST, O_PLANE, O_NAME, O_KIND, O_BEGIN, O_SPAN, O_EXPOSED, O_FRAC, O_CLASS };

static const struct ss_col op_cols[] = {
	STR("host", "Host", NULL),
	STR("plane", "Plane", NULL),
	STR("name", "Operation", NULL),
	STR("kind", "Kind", NULL),
	NUM("begin_ps", "Begin", PS, "Since the begin of the session"),
	NUM("span_ps", "Duration", PS, NULL),
	NUM("exposed_ps", "Exposed", PS, "The part in which the core does not compute"),
	NUM("hidden_frac", "Hidden", FRAC, "1 - exposed / duration"),
	STR("class", "Class", "hidden, partial or exposed"),
};

enum { E_HOST, E_CHIP, E_A, E_B, E_BUSY_A, E_BUSY_B, E_BOTH, E_FRAC };

static const struct ss_col engine_cols[] = {
	STR("host", "Host", NULL),
	INT("chip", "Chip", NONE, "Number in the name of its planes"),
	STR("a", "One", "Plane and line"),
	STR("b", "Other", "Plane and line"),
	NUM("busy_a_ps", "One line is busy", PS, "Time in which at least one operation of the line runs"),
	NUM("busy_b_ps", "Other line is busy", PS, "Time in which at least one operation of the line runs"),
	NUM("both_ps", "Both are busy", PS, NULL),
	NUM("both_frac", "Share", FRAC, "Time in which both are busy / time of the less busy line"),
};

struct sum {
	uint64_t count, of[3];
	double span_ps, exposed_ps;
};

static void add(struct sum *s, const struct ss_async_op *a)
{
	s->count++;
	s->of[ss_overlap_class_of(a, &limits)]++;
	s->span_ps += a->span_ps;
	s->exposed_ps += a->exposed_ps;
}

static double hidden_frac(double span, double exposed)
{
	return span > 0 ? 1 - exposed / span : 0;
}

struct kind {
	struct ss_str name;
	struct sum sum;
};

static int by_exposed(const void *p, const void *q)
{
	const struct kind *a = p, *b = q;
	return SS_CMP(b->sum.exposed_ps, a->sum.exposed_ps) ?: ss_str_cmp(a->name, b->name);
}

static bool fill_kinds(struct ss_table *t, const struct ss_async_overlap *o, struct ss_arena *arena)
{
	struct ss_strmap names = { 0 };
	struct kind *v = SS_NEW_N(arena, struct kind, o->nops + 1);
	bool ok = v;
	for (size_t i = 0; ok && i < o->nops; i++) {
		uint32_t at = ss_strmap_add(&names, o->ops[i].kind);
		ok = at != SS_NONE;
		if (!ok)
			break;
		v[at].name = o->ops[i].kind;
		add(&v[at].sum, &o->ops[i]);
	}
	if (ok && names.n)
		qsort(v, names.n, sizeof(*v), by_exposed);
	for (uint32_t i = 0; ok && i < names.n; i++) {
		const struct sum *s = &v[i].sum;
		ss_table_row(t);
		ss_set_str(t, K_KIND, v[i].name);
		ss_set_i64(t, K_COUNT, (int64_t)s->count);
		ss_set_f64(t, K_SPAN, s->span_ps);
		ss_set_f64(t, K_EXPOSED, s->exposed_ps);
		ss_set_f64(t, K_FRAC, hidden_frac(s->span_ps, s->exposed_ps));
		ss_set_i64(t, K_HIDDEN, (int64_t)s->of[SS_OVERLAP_HIDDEN]);
		ss_set_i64(t, K_PARTIAL, (int64_t)s->of[SS_OVERLAP_PARTIAL]);
		ss_set_i64(t, K_BARE, (int64_t)s->of[SS_OVERLAP_EXPOSED]);
	}
	ss_strmap_free(&names);
	return ok;
}

static bool fill_planes(struct ss_table *t, const struct ss_async_overlap *o,
			struct ss_arena *arena)
{
	struct sum *sums = SS_NEW_N(arena, struct sum, o->nplanes + 1);
	if (!sums)
		return false;
	for (size_t i = 0; i < o->nops; i++)
		add(&sums[o->ops[i].plane], &o->ops[i]);
	for (size_t i = 0; i < o->nplanes; i++) {
		const struct ss_async_plane *p = &o->planes[i];
		if (!p->has_windows)
			continue;
		ss_table_row(t);
		ss_set_str(t, P_HOST, p->host);
		ss_set_str(t, P_PLANE, p->name);
		ss_set_str(t, P_SOURCE, ss_str_from(p->from_line ? "line" : "pairs"));
		ss_set_i64(t, P_COUNT, (int64_t)sums[i].count);
		ss_set_f64(t, P_SPAN, sums[i].span_ps);
		ss_set_f64(t, P_EXPOSED, sums[i].exposed_ps);
		ss_set_f64(t, P_FRAC, hidden_frac(sums[i].span_ps, sums[i].exposed_ps));
	}
	return true;
}

static int by_rank(const void *p, const void *q)
{
	const struct ss_async_op *a = *(const struct ss_async_op *const *)p;
	const struct ss_async_op *b = *(const struct ss_async_op *const *)q;
	return SS_CMP(b->exposed_ps, a->exposed_ps) ?: SS_CMP(a, b);
}

static bool fill_ops(struct ss_table *t, const struct ss_async_overlap *o, struct ss_arena *arena)
{
	static const char *const classes[] = { "hidden", "partial", "exposed" };
	const struct ss_async_op **v = SS_NEW_N(arena, const struct ss_async_op *, o->nops + 1);
	if (!v)
		return false;
	for (size_t i = 0; i < o->nops; i++)
		v[i] = &o->ops[i];
	qsort(v, o->nops, sizeof(const struct ss_async_op *), by_rank);
	for (size_t i = 0; i < o->nops && i < MOST_OPS; i++) {
		const struct ss_async_op *a = v[i];
		ss_table_row(t);
		ss_set_str(t, O_HOST, o->planes[a->plane].host);
		ss_set_str(t, O_PLANE, o->planes[a->plane].name);
		ss_set_str(t, O_NAME, a->name);
		ss_set_str(t, O_KIND, a->kind);
		ss_set_f64(t, O_BEGIN, a->begin_ps);
		ss_set_f64(t, O_SPAN, a->span_ps);
		ss_set_f64(t, O_EXPOSED, a->exposed_ps);
		ss_set_f64(t, O_FRAC, hidden_frac(a->span_ps, a->exposed_ps));
		ss_set_str(t, O_CLASS, ss_str_from(classes[ss_overlap_class_of(a, &limits)]));
	}
	return true;
}

static void add_pair(struct ss_table *t, const struct ss_async_overlap *o,
		     const struct ss_async_engine *a, const struct ss_async_engine *b,
		     struct ss_arena *arena)
{
	double both = ss_async_concurrent_ps(a, b),
	       less = a->busy_ps < b->busy_ps ? a->busy_ps : b->busy_ps;
	struct ss_str one = ss_arena_printf(arena, SS_FMT ", " SS_FMT,
					    SS_ARG(o->planes[a->plane].name), SS_ARG(a->line));
	struct ss_str other = ss_arena_printf(arena, SS_FMT ", " SS_FMT,
					      SS_ARG(o->planes[b->plane].name), SS_ARG(b->line));
	ss_table_row(t);
	ss_set_str(t, E_HOST, o->planes[a->plane].host);
	ss_set_i64(t, E_CHIP, a->chip);
	ss_set_str(t, E_A, one);
	ss_set_str(t, E_B, other);
	ss_set_f64(t, E_BUSY_A, a->busy_ps);
	ss_set_f64(t, E_BUSY_B, b->busy_ps);
	ss_set_f64(t, E_BOTH, both);
	ss_set_f64(t, E_FRAC, less > 0 ? both / less : 0);
}

/* Engines of one chip stand close to each other: they are in the order of host and plane. */
static void fill_engines(struct ss_table *t, const struct ss_async_overlap *o,
			 struct ss_arena *arena)
{
	for (size_t i = 0; i < o->nengines; i++)
		for (size_t k = i + 1; k < o->nengines && k < i + 64; k++) {
			const struct ss_async_engine *a = &o->engines[i], *b = &o->engines[k];
			if (a->chip != UINT32_MAX && a->chip == b->chip &&
			    ss_str_eq(o->planes[a->plane].host, o->planes[b->plane].host))
				add_pair(t, o, a, b, arena);
		}
}

static bool fill(struct ss_result *out, const struct ss_async_overlap *o, struct ss_arena *arena)
{
	struct ss_table *t = ss_result_table(out, "kinds", "By kind", kind_cols, SS_COUNT(kind_cols));
	if (!fill_kinds(t, o, arena))
		return false;
	t = ss_result_table(out, "planes", "By plane", plane_cols, SS_COUNT(plane_cols));
	if (!fill_planes(t, o, arena))
		return false;
	t = ss_result_table(out, "operations", "Longest exposed time", op_cols, SS_COUNT(op_cols));
	if (!fill_ops(t, o, arena))
		return false;
	t = ss_result_table(out, "engines", "Engines of a chip at the same time", engine_cols, SS_COUNT(engine_cols));
	fill_engines(t, o, arena);
	if (!o->any)
		ss_result_note(out, SS_INFO, SS_STR("The profile has no TPU lines with operations"));
	if (o->unpaired)
		ss_result_note(out, SS_INFO,
			       ss_arena_printf(arena, "%llu starts or dones of asynchronous operations have no partner in the "
						      "profile",
					       (unsigned long long)o->unpaired));
	if (o->nops > MOST_OPS)
		ss_result_note(out, SS_INFO,
			       ss_arena_printf(arena, "The table operations lists the first %d of %zu", MOST_OPS, o->nops));
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_async_host *hosts =
		SS_NEW_N(q->arena, struct ss_async_host, q->model->nhosts + 1);
	struct ss_async_overlap o;
	if (!hosts)
		return ss_fail_mem(err);
	for (size_t i = 0; i < q->model->nhosts; i++)
		hosts[i] = (struct ss_async_host){ q->model->hosts[i], q->model->hosts[i]->name };
	if (!ss_async_overlap_read(&o, hosts, q->model->nhosts, false, err))
		return false;
	bool ok = fill(out, &o, q->arena);
	ss_async_overlap_free(&o);
	return ok || ss_fail_mem(err);
}

/* One sentence: how much of them is exposed, and which kind most. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = ss_result_find(out, "kinds");
	double span = 0, exposed = 0;
	(void)q;
	(void)err;
	for (size_t i = 0; i < t->nrows; i++) {
		span += ss_cell_f64(t, i, "span_ps");
		exposed += ss_cell_f64(t, i, "exposed_ps");
	}
	if (!(span > 0)) {
		ss_result_say(out, SS_STR("The profile has no asynchronous operations with "
					  "a duration."));
		return true;
	}
	out->conclusion.see = "exposed_communication";
	out->conclusion.mood = exposed > span / 2 ? SS_MOOD_WARN : SS_MOOD_PLAIN;
	if (!(exposed > 0)) {
		ss_result_say(out,
			      SS_STR("Computation covers all asynchronous operations."));
		return true;
	}
	double share = 100 * exposed / span,
	       first = 100 * ss_cell_f64(t, 0, "exposed_ps") / exposed;
	struct ss_str kind = ss_cell_str(t, 0, "kind");
	ss_result_say(out, ss_arena_printf(out->arena,
					   "The core does not compute during %.1f%% of the duration of asynchronous "
					   "operations: this time is exposed.",
					   share));
	ss_result_say(out, ss_arena_printf(out->arena,
					   "The operation " SS_FMT
					   " takes %.1f%% of the exposed time.",
					   SS_ARG(kind), first));
	return true;
}

/* Names of the file: events need not be read. */
static bool present(const struct ss_host *first)
{
	for (uint32_t i = 0; i < first->nplanes; i++) {
		const struct ss_plane *p = &first->planes[i];
		if ((p->kind == SS_PLANE_TENSOR_CORE || p->kind == SS_PLANE_SPARSE_CORE) &&
		    (ss_plane_has_events_of(p, SS_STR("Async XLA Ops"), 1) || ss_plane_has_events_of(p, SS_STR("XLA Ops"), 1)))
			return true;
	}
	return false;
}

const struct ss_tool ss_tool_async_overlap = {
	.name = "async_overlap",
	.title = "Asynchronous operations",
	.summary =
		"TPU: the share of copies and collectives that computation hides, by operation and kind",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS,
	.present = present,
	.needs = SS_NEEDS_ASYNC,
	.run = run,
	.conclude = conclude,
};
