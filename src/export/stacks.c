/* stacks.c - see stacks.h. */
#include "export/stacks.h"

#include "model/host/identity.h"
#include "model/model.h"
#include "model/torch/torch.h"
#include "sql/directory.h"

#include <stdlib.h>

static bool is_device(const struct ss_sql_line *line)
{
	return line->plane->kind == SS_PLANE_TENSOR_CORE || line->plane->kind == SS_PLANE_GPU;
}

/* The lines of a device with operations: other lines repeat the same time. */
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

static struct ss_str program_of(const struct ss_export *x, struct ss_sql_line *modules,
				const struct ss_sql_line *line, uint32_t i)
{
	if (line->plane->kind == SS_PLANE_GPU)
		return ss_stack_text(line->plane, &line->l, i, SS_STAT_HLO_MODULE);
	if (!modules || !ss_sql_time_line(x->d, modules))
		return SS_STR("");
	uint32_t at = ss_stack_running(&modules->l, modules->order, line->l.ev.begin_ps[i]);
	return at == SS_NONE ? SS_STR("") : ss_event_name(modules->plane, modules->l.ev.meta[at]);
}

static bool count(struct ss_stack_tree *t, uint32_t at, int64_t self_ps)
{
	if (at != SS_NONE)
		ss_stack_count(t, at, self_ps);
	return at != SS_NONE;
}

static bool add_device(struct ss_stack_tree *t, struct ss_export *x, struct ss_sql_line *line,
		       uint32_t root, uint32_t lo, uint32_t hi)
{
	struct ss_sql_line *modules = modules_of(x, line);
	bool whole = ss_host_names_ranges(line->host);
	for (uint32_t k = lo; k < hi; k++) {
		uint32_t i = ss_sql_in_time(line, k);
		uint32_t at = ss_stack_of_op(t, root, program_of(x, modules, line, i), line->plane, &line->l, i, whole);
		if (!count(t, at, line->self_ps[i]))
			return false;
	}
	x->nevents += hi - lo;
	return true;
}

static bool add_nested(struct ss_stack_tree *t, struct ss_export *x, struct ss_sql_line *line,
		       uint32_t root, uint32_t lo, uint32_t hi)
{
	uint32_t *of = malloc((line->l.ev.n + 1u) * sizeof(*of));
	uint32_t base = of ? ss_stack_push(t, root, ss_sql_line_name(line)) : SS_NONE;
	bool ok = base != SS_NONE;
	for (uint32_t i = 0; ok && i < line->l.ev.n; i++)
		of[i] = SS_NONE;
	for (uint32_t k = lo; ok && k < hi; k++) {
		uint32_t i = ss_sql_in_time(line, k), parent = line->parent[i];
		/* The enclosing event may begin before the range: then this event is outermost. */
		uint32_t at = parent == SS_NONE || of[parent] == SS_NONE ? base : of[parent];
		of[i] = ss_stack_push(t, at, ss_event_label(line->plane, line->l.ev.meta[i]));
		ok = count(t, of[i], line->self_ps[i]);
	}
	free(of);
	x->nevents += ok ? hi - lo : 0;
	return ok;
}

static uint32_t root_of(struct ss_stack_tree *t, const struct ss_export *x,
			const struct ss_sql_line *line)
{
	struct ss_str name = line->plane->name;
	if (x->model->nhosts > 1)
		name = ss_arena_printf(&t->arena, SS_FMT " " SS_FMT, SS_ARG(ss_host_name(line->host)),
				       SS_ARG(name));
	return name.p ? ss_stack_push(t, SS_NONE, name) : SS_NONE;
}

bool ss_stacks_of(struct ss_stack_tree *t, struct ss_export *x)
{
	*t = (struct ss_stack_tree){ .most_depth = SS_STACK_DEPTH, .most = SIZE_MAX };
	for (uint32_t n = 0; n < x->d->nlines; n++) {
		struct ss_sql_line *line = &x->d->lines[n];
		uint32_t lo, hi;
		if (!ss_export_takes(x, line) || !has_work(line))
			continue;
		if (!ss_export_range(x, line, &lo, &hi) || !ss_sql_nest_line(x->d, line))
			return false;
		uint32_t root = lo < hi ? root_of(t, x, line) : 0;
		if (lo < hi && (root == SS_NONE || !(is_device(line) ? add_device : add_nested)(
							   t, x, line, root, lo, hi)))
			return false;
	}
	if (t->cut)
		x->note = "stacks are deeper than 1,024 frames: what is deeper is counted in the frame at that depth";
	return true;
}
