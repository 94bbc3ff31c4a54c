/* store.c - the snapshot: looking up in it, and what its owner may ask of the file system again. */
#include "base/below.h"
#include "base/bisect.h"
#include "base/provide.h"
#include "base/system.h"
#include "store/sidecar.h"
#include "store/kinds.h"
#include "store/store.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

void ss_store_free(struct ss_store *s)
{
	ss_arena_release(&s->arena);
	*s = (struct ss_store){ 0 };
}

bool ss_store_skip(struct ss_store *s, const struct ss_skipped *v, size_t n, size_t all)
{
	n = n > SS_SKIPPED_MAX ? SS_SKIPPED_MAX : n;
	struct ss_skipped *both = SS_NEW_N(&s->arena, struct ss_skipped, n + s->nskipped);
	if (!both)
		return false;
	size_t before = s->nskipped > SS_SKIPPED_MAX - n ? SS_SKIPPED_MAX - n : s->nskipped;
	for (size_t i = 0; i < n + before; i++)
		both[i] = i < n ? v[i] : s->skipped[i - n];
	s->skipped = both;
	s->nskipped = n + before;
	s->nskipped_all += all;
	return true;
}

const struct ss_run *ss_store_run(const struct ss_store *s, struct ss_str name)
{
	size_t lo = 0, hi = s->nruns;
	SS_BISECT(lo, hi, mid, ss_str_cmp(s->runs[mid].name, name) > 0); /* descending */
	return lo < s->nruns && ss_str_eq(s->runs[lo].name, name) ? &s->runs[lo] : NULL;
}

static bool same_kind(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static size_t count_kind(const struct ss_files *files, const char *kind)
{
	size_t n = 0;
	for (size_t i = 0; i < files->n; i++)
		n += same_kind(files->v[i].kind, kind);
	return n;
}

bool ss_run_has(const struct ss_run *run, const char *kind)
{
	return kind ? count_kind(&run->own, kind) + count_kind(&run->sidecar, kind) > 0 : run->nhosts > 0;
}

bool ss_run_answer_host(const struct ss_run *run, size_t *at, struct ss_str *name)
{
	/* Files of a host stand together. */
	for (; *at < run->own.n; ++*at) {
		const struct ss_host_file *f = &run->own.v[*at];
		if (!ss_file_kind_is_answer(f->kind) || f->duplicate || ss_str_eq(f->name, *name))
			continue;
		*name = f->name;
		++*at;
		return true;
	}
	return false;
}

/* Runs with profiles come before others, and those of the log directory before those beside them. */
static bool is_newer(const struct ss_run *a, const struct ss_run *b)
{
	if ((a->nhosts > 0) != (b->nhosts > 0))
		return a->nhosts > 0;
	if (a->aside != b->aside)
		return b->aside;
	return a->mtime_ns > b->mtime_ns;
}

const struct ss_run *ss_store_newest(const struct ss_store *s)
{
	const struct ss_run *best = NULL;
	for (size_t i = 0; i < s->nruns; i++) {
		const struct ss_run *r = &s->runs[i];
		if (ss_run_holds(r) && (!best || is_newer(r, best)))
			best = r;
	}
	return best;
}

/* Does any of the run's event files begin with a graph? `*left` files may be looked at. */
static bool tells_graph(const struct ss_run *run, size_t *left)
{
	const struct ss_files *lists[] = { &run->own, &run->sidecar };
	for (size_t k = 0; k < SS_COUNT(lists); k++)
		for (size_t i = 0; i < lists[k]->n && *left; i++) {
			if (!same_kind(lists[k]->v[i].kind, SS_KIND_FILE_GRAPH))
				continue;
			--*left;
			if (ss_sidecar_tells_graph(&lists[k]->v[i]))
				return true;
		}
	return false;
}

const struct ss_run *ss_store_newest_with(const struct ss_store *s, const char *kind)
{
	const struct ss_run *best = NULL, *graph = NULL;
	size_t left = SS_SIDECAR_SNIFFED;
	for (size_t i = 0; i < s->nruns; i++)
		if (ss_run_has(&s->runs[i], kind) && (!best || s->runs[i].mtime_ns > best->mtime_ns))
			best = &s->runs[i];
	if (!best || !same_kind(kind, SS_KIND_FILE_GRAPH) || tells_graph(best, &left))
		return best;
	for (size_t i = 0; i < s->nruns; i++)
		if ((!graph || s->runs[i].mtime_ns > graph->mtime_ns) && tells_graph(&s->runs[i], &left))
			graph = &s->runs[i];
	return graph ? graph : best;
}

static void take(struct ss_selection *sel, const struct ss_host_file *f)
{
	for (size_t i = 0; i < sel->n; i++)
		if (sel->files[i] == f)
			return;	/* named twice */
	sel->files[sel->n++] = f;
}

static int by_name(const void *a, const void *b)
{
	return ss_str_cmp((*(const struct ss_host_file *const *)a)->name,
			  (*(const struct ss_host_file *const *)b)->name);
}

const struct ss_host_file **ss_run_files(const struct ss_run *run, const char *kind, struct ss_arena *arena, size_t *n)
{
	const struct ss_files hosts = { run->hosts, run->nhosts };
	const struct ss_files *lists[] = { kind ? &run->own : &hosts, &run->sidecar };
	size_t all = kind ? run->own.n + run->sidecar.n : run->nhosts;
	const struct ss_host_file **v = SS_NEW_N(arena, const struct ss_host_file *, all + 1);
	*n = 0;
	for (size_t k = 0; v && k < (kind ? 2 : 1); k++)
		for (size_t i = 0; i < lists[k]->n; i++)
			if (same_kind(lists[k]->v[i].kind, kind))
				v[(*n)++] = &lists[k]->v[i];
	if (kind && *n)
		qsort(v, *n, sizeof(*v), by_name);
	return v;
}

static const struct ss_host_file *find_file(const struct ss_host_file *const *v, size_t n, struct ss_str name)
{
	for (size_t i = 0; i < n; i++)
		if (ss_str_eq(v[i]->name, name))
			return v[i];
	return NULL;
}

static bool take_named(const struct ss_run *run, const struct ss_host_file *const *v, size_t n, struct ss_str names,
		       struct ss_selection *sel, struct ss_err *err)
{
	const struct ss_host_file *f = find_file(v, n, names);
	if (f) {	/* a name may hold a comma itself */
		take(sel, f);
		return true;
	}
	while (names.n) {
		size_t comma = ss_str_chr(names, ',');
		struct ss_str one = ss_str_sub(names, 0, comma == SS_NPOS ? names.n : comma);
		names = ss_str_sub(names, comma == SS_NPOS ? names.n : comma + 1, names.n);
		f = find_file(v, n, one);
		if (!f)
			return ss_fail(err, SS_ENOTFOUND, "run '" SS_FMT "' has no %s '%.*s'", SS_ARG(run->name),
				       v[0]->kind ? "file" : "host", one.n > 100 ? 100 : (int)one.n, one.p);
		take(sel, f);
	}
	qsort(sel->files, sel->n, sizeof(*sel->files), by_name);
	return true;
}

bool ss_run_select(const struct ss_run *run, const char *kind, struct ss_str names, bool all_by_default,
		   struct ss_arena *arena, struct ss_selection *out, struct ss_err *err)
{
	size_t n;
	*out = (struct ss_selection){ .name = names };
	const struct ss_host_file **v = ss_run_files(run, kind, arena, &n);
	if (v && !n && !kind && ss_run_has(run, SS_KIND_FILE_PART))
		return ss_fail(err, SS_ENOTFOUND,
			       "run '" SS_FMT "' consists of merged parts, which hold no events: this needs the profiles",
			       SS_ARG(run->name));
	if (v && !n)
		return ss_fail(err, SS_ENOTFOUND, "run '" SS_FMT "' holds no %s%s", SS_ARG(run->name), ss_file_kind_says(kind),
			       kind || !ss_run_holds(run) ? "" : ", and so no events: 'stepscope tools PATH' lists the tools that "
							  "read its other files");
	out->files = v ? SS_NEW_N(arena, const struct ss_host_file *, n) : NULL;
	if (!out->files)
		return ss_fail_mem(err);
	bool all = names.n ? ss_str_is(names, SS_ALL_HOSTS) : all_by_default;
	if (names.n && !all)
		return take_named(run, v, n, names, out, err);
	for (size_t i = 0; i < (all ? n : 1); i++)
		if (!all || !v[i]->duplicate)
			take(out, v[i]);
	out->name = out->n > 1 ? SS_STR(SS_ALL_HOSTS) : v[0]->name;
	return true;
}

void ss_selection_fetch(const struct ss_selection *sel)
{
	const char **paths = sel->n > 1 && ss_provides(sel->files[0]->path) ? calloc(sel->n, sizeof(*paths)) : NULL;
	for (size_t i = 0; paths && i < sel->n; i++)
		paths[i] = sel->files[i]->path.p;
	if (paths)
		(void)ss_provide_all(paths, sel->n, SS_WHOLE_FILE, 0, NULL);
	free(paths);
}

bool ss_store_inside(struct ss_str root, const char *path)
{
	char *real = realpath(path, NULL);
	if (!real)
		return false;
	bool inside = ss_path_below(root, ss_str_from(real)).p;
	free(real);
	return inside;
}

bool ss_run_changed(const struct ss_run *run)
{
	struct stat st;
	return stat(run->dir.p, &st) != 0 ||
	       ss_mtime_ns(&st) != run->dir_mtime_ns;
}

struct ss_str ss_store_why_empty(const struct ss_store *s, struct ss_arena *arena)
{
	if (s->nskipped == 1 && s->ndirs <= 1)
		return ss_arena_printf(arena, "no profile in '" SS_FMT "': '" SS_FMT "' %s", SS_ARG(s->named),
				       SS_ARG(s->skipped[0].path), s->skipped[0].why);
	return ss_arena_printf(arena,
			       "no profile in '" SS_FMT
			       "' (%zu director%s and %zu file%s searched%s): a profile is a file "
			       "plugins/profile/<run>/<host>.xplane.pb",
			       SS_ARG(s->named), s->ndirs, s->ndirs == 1 ? "y" : "ies", s->nfiles, s->nfiles == 1 ? "" : "s",
			       s->stopped ? "; the search stopped there, and there are more" : "");
}
