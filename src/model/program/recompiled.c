/* recompiled.c - see recompiled.h. */
#include "model/program/recompiled.h"

#include "base/vec.h"
#include "hlo/shape.h"
#include "model/host/stat_filter.h"
#include "model/program/hlo_map.h"

#include <stdlib.h>

struct parameter {
	struct ss_str name; /* as the program calls it; "" */
	struct ss_str shape;
};

struct program {
	int64_t id;
	uint32_t entry;
	SS_VEC(struct parameter) params; /* by number */
	struct ss_str result;		 /* its shape */
};

struct change {
	size_t param, program, count; /* program: the later one of the latest pair that differs */
};

struct ss_recompiled ss_recompiled_none(void)
{
	return (struct ss_recompiled){ .changed = SS_STR(""), .frame = -1, .version = -1, .function = SS_STR("") };
}

/* ---- the programs of a function ---- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* "a_inference_update_33__XlaMustCompile_...": of the tf.function "update". */
static bool is_tf_program_of(struct ss_str module, struct ss_str function)
{
	if (!ss_str_take(&module, SS_STR("a_inference_")) || !function.n || !ss_str_take(&module, function) ||
	    !ss_str_take(&module, SS_STR("_")))
		return false;
	size_t n = 0;
	while (n < module.n && module.p[n] >= '0' && module.p[n] <= '9')
		n++;
	return n && ss_str_starts(ss_str_sub(module, n, module.n), SS_STR("__Xla"));
}

/* "jit_update" is the program of "update", "jit__lambda" that of "<lambda>". */
static bool is_program_of(struct ss_str module, struct ss_str function)
{
	size_t n = function.n;
	if (is_tf_program_of(module, function))
		return true;
	if (!ss_str_take(&module, SS_STR("jit_")) || !n)
		return false;
	while (n && !is_word(function.p[n - 1]))
		n--;
	while (module.n > n && module.p[module.n - 1] == '_')
		module.n--;
	bool same = module.n == n;
	for (size_t i = 0; same && i < n; i++)
		same = module.p[i] == (is_word(function.p[i]) ? function.p[i] : '_');
	return same;
}

static int by_id(const void *a, const void *b)
{
	const struct program *x = a, *y = b;
	return SS_CMP(x->id, y->id);
}

static bool read_shapes(struct program *p, const struct ss_hlo_module *m)
{
	uint32_t entry = ss_hlo_computation_by_id(m, m->entry_id);
	const struct ss_hlo_computation *c = entry == SS_NONE ? NULL : &m->computations[entry];
	for (uint32_t i = 0; c && i < c->ninstrs; i++) {
		struct ss_hlo_instr in;
		ss_hlo_instr_read(m->instrs[c->first + i], &in);
		p->result = in.id == c->root_id ? in.shape : p->result;
		if (!ss_str_is(in.opcode, "parameter") || in.parameter_number < 0 || in.parameter_number >= c->ninstrs)
			continue;
		size_t at = (size_t)in.parameter_number;
		while (p->params.n <= at)
			if (!ss_vec_push(&p->params, ((struct parameter){ SS_STR(""), SS_STR("") })))
				return false;
		p->params.v[at] = (struct parameter){ in.op_name, in.shape };
	}
	return true;
}

/* ---- what differs ---- */

static struct ss_str shape_text(struct ss_str shape, struct ss_arena *arena)
{
	struct ss_buf b = { .limit_bytes = 200 };
	ss_hlo_shape_print(&b, shape, false);
	struct ss_str text = ss_arena_str(arena, ss_buf_get(&b));
	ss_buf_free(&b);
	return text;
}

static bool same_shape(struct ss_str a, struct ss_str b)
{
	struct ss_buf x = { .limit_bytes = 4096 }, y = { .limit_bytes = 4096 };
	ss_hlo_shape_print(&x, a, false);
	ss_hlo_shape_print(&y, b, false);
	bool same = ss_str_eq(ss_buf_get(&x), ss_buf_get(&y));
	ss_buf_free(&x);
	ss_buf_free(&y);
	return same;
}

/* The parameter that changes most often from program to program. */
static struct change most_changed(const struct program *v, size_t n)
{
	struct change best = { .count = 0 };
	for (size_t k = 0; k < v[n - 1].params.n; k++) {
		struct change c = { .param = k };
		for (size_t i = 1; i < n; i++) {
			bool both = v[i].params.n > k && v[i - 1].params.n > k;
			if (both && !same_shape(v[i].params.v[k].shape, v[i - 1].params.v[k].shape)) {
				c.program = i;
				c.count++;
			}
		}
		best = c.count > best.count ? c : best;
	}
	return best;
}

static struct ss_str argument(const struct parameter *p, size_t number, struct ss_arena *arena)
{
	struct ss_str name = ss_str_sub(p->name, 0, p->name.n < 80 ? p->name.n : 80);
	/* TensorFlow calls all arguments so. */
	bool named = name.n && !ss_str_is(name, "XLA_Args");
	return named ? ss_arena_printf(arena, "argument " SS_FMT, SS_ARG(name))
		      : ss_arena_printf(arena, "argument %zu", number);
}

/*
 * A function that makes an array of a given shape: the shape is a static argument, which shows in
 * the result alone.
 */
static bool describe_result(struct ss_recompiled *out, const struct program *v, size_t n, struct ss_arena *arena)
{
	size_t i = n - 1;
	while (i && same_shape(v[i].result, v[i - 1].result))
		i--;
	if (!i || !v[i].result.n || !v[i - 1].result.n)
		return true;
	struct ss_str from = shape_text(v[i - 1].result, arena), to = shape_text(v[i].result, arena);
	if (!from.p || !to.p)
		return false;
	out->changed = ss_arena_printf(arena, "the result from " SS_FMT " to " SS_FMT, SS_ARG(from), SS_ARG(to));
	return out->changed.p;
}

static bool describe(struct ss_recompiled *out, const struct program *v, size_t n, struct ss_arena *arena)
{
	struct change c = most_changed(v, n);
	out->changed = SS_STR("");
	for (size_t i = 1; i < n && !c.count; i++)
		if (v[i].params.n != v[i - 1].params.n)
			out->changed = ss_arena_printf(arena, "the number of arguments from %zu to %zu",
						       v[i - 1].params.n, v[i].params.n);
	if (!c.count && !out->changed.n)
		return describe_result(out, v, n, arena);
	if (!c.count)
		return out->changed.p;
	const struct parameter *now = &v[c.program].params.v[c.param], *before = &v[c.program - 1].params.v[c.param];
	struct ss_str who = argument(now, c.param, arena), from = shape_text(before->shape, arena),
		      to = shape_text(now->shape, arena);
	if (!who.p || !from.p || !to.p)
		return false;
	out->changed = ss_arena_printf(arena, SS_FMT " from " SS_FMT " to " SS_FMT, SS_ARG(who), SS_ARG(from), SS_ARG(to));
	return out->changed.p;
}

static bool same_arguments(const struct program *a, const struct program *b)
{
	bool same = a->params.n == b->params.n;
	for (size_t i = 0; same && i < a->params.n; i++)
		same = ss_str_eq(a->params.v[i].name, b->params.v[i].name);
	return same;
}

/*
 * All lambdas have one name: of these, programs are taken for one function's that have as many arguments, of the same names, as
 * the latest. How many are left, at the begin.
 */
static size_t keep_like_latest(struct program *v, size_t n)
{
	size_t k = 0;
	for (size_t i = 0; i < n; i++)
		if (same_arguments(&v[i], &v[n - 1])) {
			struct program swap = v[k];
			v[k++] = v[i];
			v[i] = swap;
		}
	return k;
}

static bool compare_programs(struct ss_recompiled *out, struct ss_host *h, struct ss_str function, struct ss_arena *arena,
			     struct ss_err *err)
{
	struct ss_hlo_map *map = ss_host_hlo(h, err);
	uint32_t nentries = 0;
	const struct ss_hlo_entry *e = map ? ss_hlo_map_entries(map, &nentries) : NULL;
	SS_VEC(struct program) v = { 0 };
	bool ok = map != NULL;
	for (uint32_t i = 0; ok && i < nentries; i++)
		if (is_program_of(e[i].module.name, function))
			ok = ss_vec_push(&v, ((struct program){ .id = e[i].program_id, .entry = i, .result = SS_STR("") })) ||
			     ss_fail_mem(err);
	if (v.n > 1)
		qsort(v.v, v.n, sizeof(*v.v), by_id);
	size_t first = v.n > SS_MOST_COMPARED_PROGRAMS ? v.n - SS_MOST_COMPARED_PROGRAMS : 0;
	for (size_t i = first; ok && v.n > 1 && i < v.n; i++) {
		const struct ss_hlo_module *m;
		ok = ss_hlo_map_at(map, v.v[i].entry, &m, err) && (!m || read_shapes(&v.v[i], m) || ss_fail_mem(err));
	}
	out->once = ok && v.n == 1;
	bool lambda = ss_str_contains(function, SS_STR("<"));
	size_t n = ok && lambda && v.n > 1 ? keep_like_latest(v.v + first, v.n - first) : v.n - first;
	if (ok && n > 1) {
		out->programs = lambda && n < v.n - first ? n : v.n;
		ok = describe(out, v.v + first, n, arena) || ss_fail_mem(err);
	}
	for (size_t i = 0; i < v.n; i++)
		ss_vec_free(&v.v[i].params);
	ss_vec_free(&v);
	return ok;
}

/* ---- TensorFlow ---- */

static void count_traces(struct ss_recompiled *out, const struct ss_plane *p, struct ss_str function)
{
	static const enum ss_stat stats[] = { SS_STAT_TRACING_COUNT };
	struct ss_stat_filter f = ss_stat_filter_of(p->x, stats, SS_COUNT(stats));
	struct ss_xstat s;
	for (uint32_t k = 0; f.line_ids && k < p->nlines; k++) {
		const struct ss_line *l = &p->lines[k];
		for (uint32_t i = 0; !l->derived && i < l->ev.n; i++) {
			if (!ss_str_eq(ss_event_name(p, l->ev.meta[i]), function) || !ss_stat_filter_line(&f, l, i) ||
			    !ss_xstats_find(ss_line_stats(p, l, i), SS_STAT_TRACING_COUNT, &s))
				continue;
			uint64_t n = (uint64_t)ss_xstat_int_or_uint(&s);
			out->traced = n > out->traced ? n : out->traced;
		}
	}
}

bool ss_recompiled_read(struct ss_recompiled *out, struct ss_host *h, struct ss_str function, struct ss_arena *arena,
			struct ss_err *err)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_HOST_CPU);
	*out = ss_recompiled_none();
	if (ss_str_ends(function, SS_STR("()")))
		function = ss_str_sub(function, 0, function.n - 2);
	if (p && function.n)
		count_traces(out, p, function);
	return compare_programs(out, h, function, arena, err);
}
