/* session.c - see session.h. */
#include "store/session.h"

#include "base/map.h"
#include "base/vec.h"

#include <stdlib.h>

/* Seconds since some day, of a name like 2026_11_20_10_00_04. False: it is no time. */
static bool time_of_name(struct ss_str name, int64_t *seconds)
{
	uint64_t v[6];
	size_t slash = ss_str_rchr(name, '/');
	name = ss_str_sub(name, slash == SS_NPOS ? 0 : slash + 1, name.n);
	for (size_t i = 0; i < SS_COUNT(v); i++)
		if ((i && !ss_str_take(&name, SS_STR("_"))) || !ss_str_take_u64(&name, &v[i]))
			return false;
	if (name.n || v[0] > 9999 || v[1] < 1 || v[1] > 12 || v[2] > 31 || v[3] > 24 || v[4] > 60 || v[5] > 60)
		return false;
	/* Days of the civil calendar, years from March. */
	int64_t y = (int64_t)v[0] - (v[1] < 3), m = ((int64_t)v[1] + 9) % 12;
	int64_t days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + (int64_t)v[2];
	*seconds = ((days * 24 + (int64_t)v[3]) * 60 + (int64_t)v[4]) * 60 + (int64_t)v[5];
	return true;
}

struct near {
	const struct ss_run *run;
	int64_t away;
};

static int nearest_first(const void *a, const void *b)
{
	const struct near *x = a, *y = b;
	return SS_CMP(x->away, y->away) ?: ss_str_cmp(x->run->name, y->run->name);
}

static int by_name(const void *a, const void *b)
{
	const struct ss_host_file *x = a, *y = b;
	return ss_str_cmp(x->name, y->name) ?: ss_str_cmp(x->path, y->path);
}

struct session {
	struct ss_strmap hosts;
	SS_VEC(struct ss_host_file) files;
	uint64_t bytes;
	int64_t mtime_ns;
};

static bool add_run(struct session *s, const struct ss_run *run)
{
	s->bytes += run->bytes;
	s->mtime_ns = run->mtime_ns > s->mtime_ns ? run->mtime_ns : s->mtime_ns;
	for (size_t i = 0; i < run->nhosts; i++)
		if (ss_strmap_add(&s->hosts, run->hosts[i].name) == SS_NONE || !ss_vec_push(&s->files, run->hosts[i]))
			return false;
	return true;
}

static bool add_if_new(struct session *s, const struct ss_run *run)
{
	for (size_t i = 0; i < run->nhosts; i++)
		if (ss_strmap_get(&s->hosts, run->hosts[i].name) != SS_NONE)
			return true;
	return add_run(s, run);
}

/* Of one log directory: profilers of a job write there, those of another job elsewhere. */
static bool beside(const struct ss_run *a, const struct ss_run *b)
{
	size_t x = ss_str_rchr(a->dir, '/'), y = ss_str_rchr(b->dir, '/');
	return x != SS_NPOS && y != SS_NPOS && ss_str_eq(ss_str_sub(a->dir, 0, x), ss_str_sub(b->dir, 0, y));
}

/* Runs near this one, the nearest first; NULL when memory is out. */
static struct near *near_runs(const struct ss_store *s, const struct ss_run *run, size_t *n)
{
	struct near *v = calloc(s->nruns + 1, sizeof(*v));
	int64_t own, other;
	*n = 0;
	if (!v || !run->nhosts || !time_of_name(run->name, &own))
		return v;
	for (size_t i = 0; i < s->nruns; i++) {
		const struct ss_run *r = &s->runs[i];
		if (r != run && r->nhosts && beside(r, run) && time_of_name(r->name, &other) &&
		    llabs(other - own) <= SS_SESSION_SECONDS)
			v[(*n)++] = (struct near){ r, llabs(other - own) };
	}
	if (*n)
		qsort(v, *n, sizeof(*v), nearest_first);
	return v;
}

const struct ss_run *ss_session_run(const struct ss_store *s, const struct ss_run *run, ss_together_fn *together,
				    struct ss_arena *arena)
{
	struct session all = { .files = { NULL, 0, 0 } };
	size_t n;
	struct near *v = near_runs(s, run, &n);
	bool ok = v && (!n || add_run(&all, run));
	for (size_t i = 0; ok && i < n; i++)
		ok = (together && !together(run, v[i].run)) || add_if_new(&all, v[i].run);
	struct ss_run *whole = NULL;
	if (ok && all.files.n > run->nhosts) {
		whole = SS_NEW(arena, struct ss_run);
		struct ss_host_file *files = SS_NEW_N(arena, struct ss_host_file, all.files.n);
		ok = whole && files;
		if (ok) {
			qsort(all.files.v, all.files.n, sizeof(*all.files.v), by_name);
			memcpy(files, all.files.v, all.files.n * sizeof(*files));
			*whole = *run;
			whole->hosts = files;
			whole->nhosts = all.files.n;
			whole->bytes = all.bytes;
			whole->mtime_ns = all.mtime_ns;
		}
	}
	ss_strmap_free(&all.hosts);
	ss_vec_free(&all.files);
	free(v);
	return !ok ? NULL : whole ? whole : run;
}
