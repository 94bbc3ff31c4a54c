/*
 * recompiled_torch.c - see recompiled_torch.h.
 *
 * "_compile.compile_inner (dynamo_timed)" is the compilation of a Python frame. A range shortly before it names it:
 * "entire_frame_compile_data: ..., compile_id=0/3" is version 3 of frame 0. Operators that are traced within it say the
 * shapes of their arguments, if shapes were recorded: how they differ from version to version is why it was compiled again.
 */
#include "model/attribution/recompiled_torch.h"

#include "base/bisect.h"
#include "base/map.h"
#include "model/attribution/frames.h"
#include "model/host/plane.h"
#include "model/torch/torch.h"

#include <stdlib.h>

/* The latest: compilations of a hostile trace may all hold all operators. */
#define MOST_COMPARED 16

struct compilation {
	int64_t begin_ns, end_ns, frame, version; /* frame -1: not said */
	uint32_t thread;
};

struct list {
	SS_VEC(struct compilation) v; /* by thread and begin */
};

/* Operators that were traced, by number. */
struct traced {
	uint32_t first, end;
};

/* ---- the compilations ---- */

static bool is_compilation(struct ss_str name)
{
	return ss_str_starts(name, SS_STR("_compile.")) && ss_str_ends(name, SS_STR("compile_inner (dynamo_timed)"));
}

/* "entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id=0/3" */
static bool parse_id(struct ss_str name, struct compilation *c)
{
	size_t at = ss_str_find(name, SS_STR("compile_id="));
	if (!ss_str_starts(name, SS_STR("entire_frame_compile_data")) || at == SS_NPOS)
		return false;
	struct ss_str id = ss_str_sub(name, at + 11, name.n);
	size_t slash = ss_str_chr(id, '/');
	if (slash == SS_NPOS)
		return false;
	size_t end = slash + 1; /* "0/3_1": the second attempt at it */
	while (end < id.n && id.p[end] >= '0' && id.p[end] <= '9')
		end++;
	return ss_str_to_i64(ss_str_sub(id, 0, slash), &c->frame) &&
	       ss_str_to_i64(ss_str_sub(id, slash + 1, end), &c->version);
}

/* The ranges that name frames belong each to the next compilation of the thread. */
static void name_compilations(struct list *l, const struct ss_torch *t)
{
	for (size_t i = 0; i < t->ranges.n; i++) {
		const struct ss_torch_range *r = &t->ranges.v[i];
		struct compilation id;
		size_t lo = 0, hi = l->v.n;
		if (!parse_id(ss_torch_text(t, r->name), &id))
			continue;
		SS_BISECT(lo, hi, mid,
			  l->v.v[mid].thread < r->thread ||
				  (l->v.v[mid].thread == r->thread && l->v.v[mid].begin_ns < r->begin_ns));
		if (lo < l->v.n && l->v.v[lo].thread == r->thread) {
			l->v.v[lo].frame = id.frame;
			l->v.v[lo].version = id.version;
		}
	}
}

static bool list_compilations(struct list *l, const struct ss_torch *t)
{
	for (uint32_t i = 0; i < t->ops.n; i++) {
		const struct ss_torch_op *o = &t->ops.v[i];
		struct compilation c = { o->begin_ns, o->end_ns, -1, -1, o->thread };
		if (is_compilation(ss_torch_text(t, o->name)) && !ss_vec_push(&l->v, c))
			return false;
	}
	name_compilations(l, t);
	return true;
}

/* The frame whose compilations take longest. */
static bool longest_frame(const struct list *l, int64_t *best)
{
	struct ss_u64map frames = { 0 };
	SS_VEC(int64_t) sums_ns = { 0 };
	int64_t best_ns = -1;
	bool ok = true;
	for (size_t i = 0; ok && i < l->v.n; i++) {
		const struct compilation *c = &l->v.v[i];
		uint32_t at = ss_u64map_add(&frames, (uint64_t)c->frame + 1, (uint32_t)sums_ns.n);
		ok = at != SS_NONE && (at < sums_ns.n || ss_vec_push(&sums_ns, 0));
		if (!ok)
			break;
		sums_ns.v[at] += c->end_ns - c->begin_ns;
		if (sums_ns.v[at] > best_ns) {
			best_ns = sums_ns.v[at];
			*best = c->frame;
		}
	}
	ss_u64map_free(&frames);
	ss_vec_free(&sums_ns);
	return ok;
}

static void keep_frame(struct list *l, int64_t frame)
{
	size_t n = 0;
	for (size_t i = 0; i < l->v.n; i++)
		if (l->v.v[i].frame == frame)
			l->v.v[n++] = l->v.v[i];
	l->v.n = n;
}

/* ---- what differs ---- */

static uint32_t op_from(const struct ss_torch *t, uint32_t thread, int64_t begin_ns)
{
	uint32_t lo = t->threads.v[thread].ops, hi = t->threads.v[thread + 1].ops;
	SS_BISECT(lo, hi, mid, t->ops.v[mid].begin_ns < begin_ns);
	return lo;
}

/* The operators of the last attempt to trace the frame. */
static struct traced traced_in(const struct ss_torch *t, const struct compilation *c)
{
	uint32_t end = op_from(t, c->thread, c->end_ns);
	struct traced v = { 0, 0 };
	for (uint32_t i = op_from(t, c->thread, c->begin_ns); i < end; i++)
		if (ss_str_is(ss_torch_text(t, t->ops.v[i].name), "bytecode_tracing (dynamo_timed)"))
			v = (struct traced){ i + 1, op_from(t, c->thread, t->ops.v[i].end_ns) };
	return v;
}

static struct ss_str dims_of(const struct ss_torch *t, uint32_t op)
{
	return ss_torch_text(t, ss_torch_shape(t, op)->dims);
}

/* Does it compute? Others make the tensors that stand for arguments. */
static bool computes(struct ss_str name)
{
	static const char *const others[] = { "aten::detach", "aten::lift_fresh", "aten::empty", "aten::set_", "aten::as_strided",
					      "aten::clone",  "aten::copy_" };
	for (size_t i = 0; i < SS_COUNT(others); i++)
		if (ss_str_starts(name, ss_str_from(others[i])))
			return false;
	return ss_str_starts(name, SS_STR("aten::"));
}

/* Arguments without a type: those whose shape torch.compile leaves open have none, and the shape []. */
static size_t untyped(const struct ss_torch *t, uint32_t op)
{
	struct ss_str types = ss_torch_text(t, ss_torch_shape(t, op)->types);
	size_t n = 0;
	for (size_t i = 0; i + 1 < types.n; i++)
		n += types.p[i] == '"' && types.p[i + 1] == '"';
	return n;
}

/* The shapes that an operator was called with: dynamic, if more of them are open than in the call `other`. */
static struct ss_str shapes_of(const struct ss_torch *t, uint32_t op, uint32_t other)
{
	struct ss_str dims = dims_of(t, op);
	return untyped(t, op) > untyped(t, other) ? SS_STR("dynamic ones") : ss_str_sub(dims, 0, dims.n < 80 ? dims.n : 80);
}

/* "the shapes of the arguments of aten::mm from ... to ..."; "" where no operator that both have differs. */
static bool compare(struct ss_recompiled *out, const struct ss_torch *t, struct traced a, struct traced b,
		    struct ss_arena *arena)
{
	for (; a.first < a.end && b.first < b.end; a.first++, b.first++) {
		struct ss_str name = ss_torch_text(t, t->ops.v[a.first].name), x = dims_of(t, a.first), y = dims_of(t, b.first);
		if (!ss_str_eq(name, ss_torch_text(t, t->ops.v[b.first].name)))
			return true;
		if (!computes(name) || !x.n || !y.n || ss_str_eq(x, y))
			continue;
		out->changed = ss_arena_printf(arena, "the shapes of the arguments of " SS_FMT " from " SS_FMT " to " SS_FMT,
					       SS_ARG(name), SS_ARG(shapes_of(t, a.first, b.first)),
					       SS_ARG(shapes_of(t, b.first, a.first)));
		return out->changed.p;
	}
	return true;
}

/* ---- how many ---- */

/*
 * An attempt makes a version if it traces the frame; torch.compile gives up before that where the
 * frame has as many versions as it may have. Traces of releases that do not record tracing show
 * attempts only.
 */
static void count_versions(struct ss_recompiled *out, const struct list *l, const struct ss_torch *t)
{
	size_t n = 0;
	for (size_t i = 0; i < l->v.n; i++)
		if (traced_in(t, &l->v.v[i]).first) {
			out->version = l->v.v[i].version;
			out->gave_up = false;
			n++;
		} else {
			out->gave_up = n;
		}
	out->compiled = n ? n : l->v.n;
	if (!n)
		out->version = l->v.v[l->v.n - 1].version;
}

/* ---- who ---- */

/* The function in which a version of the frame runs: "score (main.py:6)"; "" where Python was not recorded. */
static bool find_function(struct ss_recompiled *out, const struct ss_host *h, int64_t frame, struct ss_arena *arena)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_HOST_CPU);
	struct ss_str region = ss_arena_printf(arena, "Torch-Compiled Region: %lld/", (long long)frame);
	for (uint32_t k = 0; p && region.p && k < p->nlines; k++) {
		const struct ss_xevents *e = &p->lines[k].ev;
		for (uint32_t i = 0; i + 1 < e->n; i++) {
			struct ss_str inner = ss_event_name(p, e->meta[i + 1]);
			struct ss_frame f;
			if (ss_str_starts(ss_event_name(p, e->meta[i]), region) && ss_frame_parse(inner, &f) && f.line &&
			    e->begin_ps[i + 1] < ss_xevents_end_ps(e, i)) {
				out->function = ss_frame_text(inner, arena);
				return out->function.p;
			}
		}
	}
	return region.p;
}

static bool describe(struct ss_recompiled *out, struct list *l, const struct ss_torch *t, const struct ss_host *h,
		     struct ss_arena *arena)
{
	int64_t frame = -1;
	if (!longest_frame(l, &frame))
		return false;
	keep_frame(l, frame);
	const struct compilation *last = &l->v.v[l->v.n - 1];
	out->frame = last->frame;
	count_versions(out, l, t);
	bool ok = last->frame < 0 || find_function(out, h, last->frame, arena);
	size_t first = l->v.n > MOST_COMPARED ? l->v.n - MOST_COMPARED : 0;
	for (size_t i = l->v.n - 1; ok && last->frame >= 0 && i > first && !out->changed.n; i--)
		ok = compare(out, t, traced_in(t, &l->v.v[i - 1]), traced_in(t, &l->v.v[i]), arena);
	return ok;
}

bool ss_recompiled_torch(struct ss_recompiled *out, struct ss_host *h, struct ss_arena *arena, struct ss_err *err)
{
	const struct ss_torch *t = ss_host_torch(h, err);
	struct list l = { 0 };
	bool ok = t && (list_compilations(&l, t) || ss_fail_mem(err));
	if (ok && l.v.n)
		ok = describe(out, &l, t, h, arena) || ss_fail_mem(err);
	ss_vec_free(&l.v);
	return ok;
}
