/* store.c - the snapshot: looking up in it, and what its owner may ask of the file system again. */
#include "store/store.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

void ss_store_free(struct ss_store *s)
{
	ss_arena_release(&s->arena);
	*s = (struct ss_store){ 0 };
}

const struct ss_run *ss_store_run(const struct ss_store *s, struct ss_str name)
{
	size_t lo = 0, hi = s->nruns;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = ss_str_cmp(s->runs[mid].name, name);
		if (order == 0)
			return &s->runs[mid];
		if (order > 0)	/* descending */
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

const struct ss_host_file *ss_run_host(const struct ss_run *run, struct ss_str name)
{
	for (size_t i = 0; i < run->nhosts; i++)
		if (ss_str_eq(run->hosts[i].name, name))
			return &run->hosts[i];
	return NULL;
}

const struct ss_run *ss_store_newest(const struct ss_store *s)
{
	const struct ss_run *best = NULL;
	for (size_t i = 0; i < s->nruns; i++)
		if (s->runs[i].nhosts && (!best || s->runs[i].mtime_ns > best->mtime_ns))
			best = &s->runs[i];
	return best;
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

static bool take_named(const struct ss_run *run, struct ss_str names, struct ss_selection *sel, struct ss_err *err)
{
	const struct ss_host_file *f = ss_run_host(run, names);
	if (f) {	/* a name may hold a comma itself */
		take(sel, f);
		return true;
	}
	while (names.n) {
		size_t comma = ss_str_chr(names, ',');
		struct ss_str one = ss_str_sub(names, 0, comma == SS_NPOS ? names.n : comma);
		names = ss_str_sub(names, comma == SS_NPOS ? names.n : comma + 1, names.n);
		f = ss_run_host(run, one);
		if (!f)
			return ss_fail(err, SS_ENOTFOUND, "run '" SS_FMT "' has no host '%.*s'", SS_ARG(run->name),
				       one.n > 100 ? 100 : (int)one.n, one.p);
		take(sel, f);
	}
	qsort(sel->files, sel->n, sizeof(*sel->files), by_name);
	return true;
}

bool ss_run_select(const struct ss_run *run, struct ss_str names, bool all_by_default, struct ss_arena *arena,
		   struct ss_selection *out, struct ss_err *err)
{
	*out = (struct ss_selection){ .name = names };
	if (!run->nhosts)
		return ss_fail(err, SS_ENOTFOUND, "run '" SS_FMT "' holds no *.xplane.pb file", SS_ARG(run->name));
	out->files = SS_NEW_N(arena, const struct ss_host_file *, run->nhosts);
	if (!out->files)
		return ss_fail_mem(err);
	bool all = names.n ? ss_str_is(names, SS_ALL_HOSTS) : all_by_default;
	if (names.n && !all)
		return take_named(run, names, out, err);
	for (size_t i = 0; i < (all ? run->nhosts : 1); i++)
		take(out, &run->hosts[i]);
	out->name = out->n > 1 ? SS_STR(SS_ALL_HOSTS) : run->hosts[0].name;
	return true;
}

bool ss_store_inside(struct ss_str root, const char *path)
{
	char *real = realpath(path, NULL);
	if (!real)
		return false;
	struct ss_str r = ss_str_from(real);
	bool inside = ss_str_eq(r, root) || ss_str_is(root, "/") ||
		      (r.n > root.n && ss_str_starts(r, root) && r.p[root.n] == '/');
	free(real);
	return inside;
}

bool ss_run_changed(const struct ss_run *run)
{
	struct stat st;
	return stat(run->dir.p, &st) != 0 ||
	       (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec != run->dir_mtime_ns;
}

struct ss_str ss_store_why_empty(const struct ss_store *s, struct ss_arena *arena)
{
	if (s->nlooked == 1 && s->ndirs <= 1)
		return ss_arena_printf(arena, "no profile in '" SS_FMT "': '" SS_FMT "' %s", SS_ARG(s->root),
				       SS_ARG(s->looked[0].path), s->looked[0].why);
	return ss_arena_printf(arena,
			       "no profile in '" SS_FMT "' (%zu directories and %zu files looked at%s): a profile is a file "
			       "plugins/profile/<run>/<host>.xplane.pb",
			       SS_ARG(s->root), s->ndirs, s->nfiles, s->stopped ? "; stopped there, there are more" : "");
}
