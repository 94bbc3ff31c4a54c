/* xprof_rows.c - see xprof_rows.h. */
#include "sql/xprof_rows.h"

#include "model/host/identity.h"
#include "model/model.h"
#include "model/preprocess/load.h"

#include <stdio.h>

static bool is_named(const struct ss_sql_line *line, const char *name)
{
	return ss_str_is(ss_sql_line_name(line), name);
}

static enum ss_xprof_kind kind_of(const struct ss_sql_line *line)
{
	switch (line->plane->kind) {
	case SS_PLANE_TENSOR_CORE:
		return is_named(line, "Steps")	       ? SS_XPROF_STEPS
		       : is_named(line, "XLA Modules") ? SS_XPROF_MODULES
						       : SS_XPROF_OPS;
	case SS_PLANE_GPU:
		return SS_XPROF_GPU;
	case SS_PLANE_HOST_CPU:
		return SS_XPROF_CPU;
	default:
		return SS_XPROF_OTHER;
	}
}

static bool is_shown(const struct ss_sql_line *line)
{
	if (!line->l.ev.n)
		return false;
	switch (line->plane->kind) {
	case SS_PLANE_TENSOR_CORE:
		return is_named(line, "Steps") || is_named(line, "XLA Modules") || is_named(line, "XLA Ops");
	case SS_PLANE_CUSTOM:
		return ss_str_starts(line->plane->name, SS_STR("/device:"));
	case SS_PLANE_HOST_CPU:
	case SS_PLANE_SPARSE_CORE:
	case SS_PLANE_GPU:
		return true;
	default:
		return false;
	}
}

static struct ss_sql_line *line_of_plane(const struct ss_sql_directory *d, uint32_t plane_at,
					 const char *name)
{
	const struct ss_sql_plane *p = &d->planes[plane_at];
	for (uint32_t k = p->first_line; k < p->first_line + p->nlines; k++)
		if (d->lines[k].l.ev.n && is_named(&d->lines[k], name))
			return &d->lines[k];
	return NULL;
}

/* The loaded host's line of the same bytes; its events may stand in another order. */
static const struct ss_line *loaded_line(const struct ss_sql_directory *d,
					 const struct ss_sql_line *raw)
{
	uint32_t k = (uint32_t)(raw - d->lines) - d->planes[raw->plane_at].first_line;
	return &raw->plane->lines[k];
}

static bool load_hosts(struct ss_model *m, struct ss_err *err)
{
	for (size_t h = 0; h < m->nhosts; h++)
		if (!ss_host_is_raw(m->hosts[h]) && !ss_host_load(m->hosts[h], err))
			return false;
	return true;
}

bool ss_xprof_lines_of(const struct ss_sql_directory *d, bool grouped, struct ss_arena *arena, struct ss_xprof_lines *lines,
		       struct ss_err *err)
{
	if (grouped && !load_hosts(d->model, err))
		return false;
	*lines = (struct ss_xprof_lines){ .v = SS_NEW_N(arena, struct ss_xprof_line, d->nlines + 1u) };
	if (!lines->v)
		return ss_fail_mem(err);
	for (uint32_t k = 0; k < d->nlines; k++) {
		struct ss_sql_line *raw = &d->lines[k];
		struct ss_xprof_line *line = &lines->v[lines->n];
		if (!is_shown(raw))
			continue;
		*line = (struct ss_xprof_line){ .host = raw->host,
						.plane = raw->plane,
						.l = &raw->l,
						.raw = raw,
						.kind = kind_of(raw) };
		if (grouped && (line->kind == SS_XPROF_GPU || line->kind == SS_XPROF_CPU))
			line->l = loaded_line(d, raw);
		bool groups = line->kind == SS_XPROF_STEPS ||
			      (line->kind == SS_XPROF_MODULES && !line_of_plane(d, raw->plane_at, "Steps"));
		if (grouped && groups && loaded_line(d, raw)->ev.n == raw->l.ev.n)
			line->groups = loaded_line(d, raw);
		if (line->kind == SS_XPROF_OPS) {
			line->steps = line_of_plane(d, raw->plane_at, "Steps");
			line->modules = line_of_plane(d, raw->plane_at, "XLA Modules");
		}
		lines->n++;
	}
	lines->grouped = grouped;
	return true;
}

struct ss_str ss_xprof_line_text(const struct ss_xprof_line *line, int col, char *buf, size_t bytes)
{
	struct ss_str name = line->plane->name;
	if (col == SS_XPROF_HOST)
		return ss_host_name(line->host);
	if (col == SS_XPROF_CATEGORY)
		return line->kind == SS_XPROF_GPU   ? SS_STR("device")
		       : line->kind == SS_XPROF_CPU ? SS_STR("host")
						    : ss_sql_line_name(line->raw);
	if (line->kind == SS_XPROF_CPU)
		return SS_STR("cpu:0");
	if (line->kind == SS_XPROF_GPU) {
		int n = snprintf(buf, bytes, "gpu:%lld", (long long)line->plane->x->id);
		return (struct ss_str){ buf, n < 0 ? 0 : (size_t)n };
	}
	return line->plane->kind != SS_PLANE_CUSTOM && ss_str_take(&name, SS_STR("/device:")) ? name : line->plane->name;
}
