/* stacks.c - see stacks.h. */
#include "export/stacks.h"

#include "base/bisect.h"
#include "base/map.h"
#include "model/torch/torch.h"
#include "model/ops/name_scope.h"

#include <stdlib.h>

/* The stack with one frame more, or the same where it is as deep as stacks are. SS_NONE: memory is out. */
static uint32_t push(struct ss_stacks *s, uint32_t parent, struct ss_str frame)
{
	uint32_t depth = parent == SS_NONE ? 0 : s->v.v[parent].depth + 1;
	if (depth >= SS_STACK_DEPTH) {
		s->cut = true;
		return parent;
	}
	uint32_t f = ss_strmap_add(&s->frames, frame.n ? frame : SS_STR("(no name)"));
	if (f == SS_NONE)
		return SS_NONE;
	uint32_t at = ss_u64map_add(&s->children, (uint64_t)parent << 32 | f, (uint32_t)s->v.n);
	if (at == s->v.n &&
	    !ss_vec_push(&s->v, ((struct ss_stack){ .parent = parent, .frame = f, .depth = depth })))
		return SS_NONE;
	return at;
}

static bool is_device(const struct ss_sql_line *line)
{
	return line->plane->kind == SS_PLANE_TENSOR_CORE || line->plane->kind == SS_PLANE_GPU;
}

/* Of a device's lines those with operations: others say the same time again. */
static bool has_work(const struct ss_sql_line *line)
{
	struct ss_str name = ss_sql_line_name(line);
	if (line->plane->kind == SS_PLANE_TENSOR_CORE)
		return ss_str_is(name, "XLA Ops");
	return line->plane->kind != SS_PLANE_GPU || !line->l.derived;
}

static struct ss_sql_line *modules_of(const struct ss_export *x, const struct ss_sql_line *line)
{
	const struct ss_sql_plane *p = &x->d->planes[line->plane_at];
	for (uint32_t k = p->first_line; k < p->first_line + p->nlines; k++)
		if (x->d->lines[k].l.ev.n &&
		    ss_str_is(ss_sql_line_name(&x->d->lines[k]), "XLA Modules"))
			return &x->d->lines[k];
	return NULL;
}

static struct ss_str stat_text(const struct ss_sql_line *line, uint32_t i, enum ss_stat which)
{
	struct ss_xstat s;
	const struct ss_xplane *x = line->plane->x;
	if (!ss_xplane_has(x, which))
		return SS_STR("");
	if (ss_xstats_find(ss_xevents_stats(&line->l.ev, x, line->l.src, i), which, &s) ||
	    ss_xstats_find(ss_xevent_meta_stats(x, line->l.ev.meta[i]), which, &s))
		return ss_xstat_str(&s);
	return SS_STR("");
}

static struct ss_str program_of(const struct ss_export *x, struct ss_sql_line *modules,
				const struct ss_sql_line *line, uint32_t i)
{
	if (line->plane->kind == SS_PLANE_GPU)
		return stat_text(line, i, SS_STAT_HLO_MODULE);
	if (!modules || !ss_sql_time_line(x->d, modules))
		return SS_STR("");
	uint32_t lo = 0, hi = modules->l.ev.n;
	int64_t begin_ps = line->l.ev.begin_ps[i];
	SS_BISECT(lo, hi, mid, modules->l.ev.begin_ps[ss_sql_in_time(modules, mid)] <= begin_ps);
	uint32_t at = lo ? ss_sql_in_time(modules, lo - 1) : SS_NONE;
	if (at == SS_NONE || ss_xevents_end_ps(&modules->l.ev, at) <= begin_ps)
		return SS_STR("");
	return ss_event_name(modules->plane, modules->l.ev.meta[at]);
}

/* A frame for each part of a name scope. What is no scope, as an operator of PyTorch or an NVTX range ("a/b: c"), is one frame. */
static uint32_t push_scopes(struct ss_stacks *s, uint32_t at, struct ss_str scope, bool whole)
{
	if (whole)
		return at == SS_NONE || !scope.n ? at : push(s, at, scope);
	struct ss_str path = ss_scope_path(scope), part;
	while (at != SS_NONE && s->v.v[at].depth + 1 < SS_STACK_DEPTH && ss_scope_next(&path, &part))
		at = push(s, at, part);
	s->cut |= path.n > 0;
	return at;
}

static bool count(struct ss_stacks *s, uint32_t at, int64_t self_ps)
{
	if (at == SS_NONE)
		return false;
	s->v.v[at].self_ps = ss_safe_sum(s->v.v[at].self_ps, self_ps);
	s->v.v[at].count++;
	return true;
}

static uint32_t stack_of_operation(struct ss_stacks *s, uint32_t root, const struct ss_sql_line *line, uint32_t i,
				   struct ss_str program, bool whole)
{
	uint32_t at = program.n ? push(s, root, program) : root;
	at = at == SS_NONE ? at : push_scopes(s, at, stat_text(line, i, SS_STAT_TF_OP), whole);
	return at == SS_NONE ? at : push(s, at, ss_event_label(line->plane, line->l.ev.meta[i]));
}

static bool add_device(struct ss_stacks *s, struct ss_export *x, struct ss_sql_line *line,
		       uint32_t root, uint32_t lo, uint32_t hi)
{
	struct ss_sql_line *modules = modules_of(x, line);
	bool whole = ss_host_names_ranges(line->host);
	for (uint32_t k = lo; k < hi; k++) {
		uint32_t i = ss_sql_in_time(line, k);
		uint32_t at = stack_of_operation(s, root, line, i, program_of(x, modules, line, i), whole);
		if (!count(s, at, line->self_ps[i]))
			return false;
	}
	x->nevents += hi - lo;
	return true;
}

static bool add_nested(struct ss_stacks *s, struct ss_export *x, struct ss_sql_line *line,
		       uint32_t root, uint32_t lo, uint32_t hi)
{
	uint32_t *of = malloc((line->l.ev.n + 1u) * sizeof(*of));
	uint32_t base = of ? push(s, root, ss_sql_line_name(line)) : SS_NONE;
	bool ok = base != SS_NONE;
	for (uint32_t i = 0; ok && i < line->l.ev.n; i++)
		of[i] = SS_NONE;
	for (uint32_t k = lo; ok && k < hi; k++) {
		uint32_t i = ss_sql_in_time(line, k), parent = line->parent[i];
		/* The one around it may begin before the range: then it stands outermost. */
		uint32_t at = parent == SS_NONE || of[parent] == SS_NONE ? base : of[parent];
		of[i] = push(s, at, ss_event_label(line->plane, line->l.ev.meta[i]));
		ok = count(s, of[i], line->self_ps[i]);
	}
	free(of);
	x->nevents += ok ? hi - lo : 0;
	return ok;
}

static uint32_t root_of(struct ss_stacks *s, const struct ss_export *x,
			const struct ss_sql_line *line)
{
	struct ss_str name = line->plane->name;
	if (x->model->nhosts > 1)
		name = ss_arena_printf(&s->arena, SS_FMT " " SS_FMT, SS_ARG(line->host->name),
				       SS_ARG(name));
	return name.p ? push(s, SS_NONE, name) : SS_NONE;
}

bool ss_stacks_of(struct ss_stacks *s, struct ss_export *x)
{
	*s = (struct ss_stacks){ 0 };
	for (uint32_t n = 0; n < x->d->nlines; n++) {
		struct ss_sql_line *line = &x->d->lines[n];
		uint32_t lo, hi;
		if (!ss_export_takes(x, line) || !has_work(line))
			continue;
		if (!ss_export_range(x, line, &lo, &hi) || !ss_sql_nest_line(x->d, line))
			return false;
		uint32_t root = lo < hi ? root_of(s, x, line) : 0;
		if (lo < hi && (root == SS_NONE || !(is_device(line) ? add_device : add_nested)(
							   s, x, line, root, lo, hi)))
			return false;
	}
	if (s->cut)
		x->note = "stacks are deeper than 1,024 frames: what is deeper is counted in the frame at that depth";
	return true;
}

void ss_stacks_free(struct ss_stacks *s)
{
	ss_vec_free(&s->v);
	ss_strmap_free(&s->frames);
	ss_u64map_free(&s->children);
	ss_arena_release(&s->arena);
}
