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
	if (x->away != y->away)
		return x->away < y->away ? -1 : 1;
	return ss_str_cmp(x->run->name, y->run->name);
}

static int by_name(const void *a, const void *b)
{
	const struct ss_host_file *const *x = a, *const *y = b;
	int order = ss_str_cmp((*x)->name, (*y)->name);
	return order ? order : ss_str_cmp((*x)->path, (*y)->path);
}

struct session {
	struct ss_strmap hosts;
	SS_VEC(const struct ss_host_file *) files;
};

static bool add_run(struct session *s, const struct ss_run *run)
{
	for (size_t i = 0; i < run->nhosts; i++)
		if (!run->hosts[i].duplicate &&
		    (ss_strmap_add(&s->hosts, run->hosts[i].name) == SS_NONE || !ss_vec_push(&s->files, &run->hosts[i])))
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

bool ss_session_files(const struct ss_store *s, const struct ss_run *run, struct ss_arena *arena,
		      const struct ss_host_file ***files, size_t *n)
{
	struct session all = { .files = { NULL, 0, 0 } };
	struct near *v = calloc(s->nruns + 1, sizeof(*v));
	size_t nnear = 0;
	int64_t own, other;
	bool ok = v && add_run(&all, run);
	for (size_t i = 0; ok && i < s->nruns && time_of_name(run->name, &own); i++) {
		const struct ss_run *r = &s->runs[i];
		if (r == run || !r->nhosts || !time_of_name(r->name, &other) || llabs(other - own) > SS_SESSION_SECONDS)
			continue;
		v[nnear++] = (struct near){ r, llabs(other - own) };
	}
	if (ok && nnear)
		qsort(v, nnear, sizeof(*v), nearest_first);
	for (size_t i = 0; ok && i < nnear; i++)
		ok = add_if_new(&all, v[i].run);
	if (ok && all.files.n)
		qsort(all.files.v, all.files.n, sizeof(*all.files.v), by_name);
	*n = all.files.n;
	*files = ok ? SS_NEW_N(arena, const struct ss_host_file *, all.files.n + 1) : NULL;
	if (*files && all.files.n)
		memcpy(*files, all.files.v, all.files.n * sizeof(*all.files.v));
	ss_strmap_free(&all.hosts);
	ss_vec_free(&all.files);
	free(v);
	return *files;
}
