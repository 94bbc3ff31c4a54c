/*
 * session.c - from the session's name to its traces: a file, a run's directory, a log directory
 * (its newest run by name), an archive or an address of these (location.h), or the name of a run in
 * the log directory.
 */
#include "model/host/host.h"
#include "xprof/cli/args.h"

#include "base/vec.h"
#include "import/names.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Is it there, and a directory? */
static bool exists(const char *path, bool *directory)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return false;
	*directory = S_ISDIR(st.st_mode);
	return true;
}

static bool is_directory(const char *path)
{
	bool directory = false;
	return exists(path, &directory) && directory;
}

static struct ss_str last_part(struct ss_str path)
{
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	size_t slash = ss_str_rchr(path, '/');
	return slash == SS_NPOS ? path : ss_str_sub(path, slash + 1, path.n);
}

/* Its file's name without the ending. XProf's host is what stands behind the last dot of it. */
static struct xcli_trace trace_of(struct ss_str path, struct ss_str named)
{
	struct ss_str name = last_part(named);
	static const char *const suffixes[] = { ".xplane.pb", ".xspace.pb" };
	for (size_t i = 0; i < SS_COUNT(suffixes); i++)
		if (ss_str_ends(name, ss_str_from(suffixes[i]))) {
			struct ss_str stem = ss_str_sub(name, 0, name.n - strlen(suffixes[i]));
			size_t dot = ss_str_rchr(stem, '.');
			return (struct xcli_trace){ path, stem, dot == SS_NPOS ? stem : ss_str_sub(stem, dot + 1, stem.n) };
		}
	return (struct xcli_trace){ path, name, ss_profile_host(name) };
}

struct names {
	SS_VEC(struct ss_str) v;
};

/* The directories in `dir`, by name. */
static bool list_runs(struct xcli *x, const char *dir, struct names *names)
{
	DIR *d = opendir(dir);
	bool ok = true;
	for (struct dirent *e; ok && d && (e = readdir(d));) {
		if (e->d_name[0] == '.' &&
		    (!e->d_name[1] || (e->d_name[1] == '.' && !e->d_name[2])))
			continue;
		struct ss_str path = ss_arena_printf(&x->arena, "%s/%s", dir, e->d_name);
		if (!path.p)
			ok = false;
		else if (is_directory(path.p))
			ok = ss_vec_push(&names->v, ss_str_sub(path, strlen(dir) + 1, path.n));
	}
	if (d)
		closedir(d);
	if (names->v.n)
		qsort(names->v.v, names->v.n, sizeof(*names->v.v), ss_cmp_str);
	return ok;
}

/* A log directory's newest run, into *dir; the others are named in a warning. */
static bool newest_run(struct xcli *x, struct ss_str *dir)
{
	struct names runs = { 0 };
	struct ss_str profiles =
		ss_arena_printf(&x->arena, SS_FMT "/plugins/profile", SS_ARG(*dir));
	bool ok = profiles.p && (!is_directory(profiles.p) || list_runs(x, profiles.p, &runs));
	if (ok && runs.v.n) {
		*dir = ss_arena_printf(&x->arena, SS_FMT "/" SS_FMT, SS_ARG(profiles),
				       SS_ARG(runs.v.v[runs.v.n - 1]));
		ok = dir->p;
	}
	if (ok && runs.v.n > 1)
		xv_printf(x->warnings, NULL,
			  "The newest run '%.200s' is used; %zu other runs are left out. Name a "
			  "run's directory "
			  "to choose another one.",
			  runs.v.v[runs.v.n - 1].p, runs.v.n - 1);
	ss_vec_free(&runs.v);
	return ok || xcli_no_memory(x);
}

/*
 * The name of a run below the log directory; a run named by 14 digits is a time with underscores.
 */
static bool run_in_logdir(struct xcli *x, struct ss_str *dir)
{
	const char *s = x->session, *logdir = x->place.path;
	struct ss_str tries[3] = {
		ss_arena_printf(&x->arena, "%s/plugins/profile/%s", logdir, s),
		SS_STR(""),
		ss_arena_printf(&x->arena, "%s/%s", logdir, s),
	};
	if (strlen(s) == 14 && strspn(s, "0123456789") == 14)
		tries[1] = ss_arena_printf(&x->arena,
					   "%s/plugins/profile/%.4s_%.2s_%.2s_%.2s_%.2s_%.2s",
					   logdir, s, s + 4, s + 6, s + 8, s + 10, s + 12);
	for (size_t i = 0; i < SS_COUNT(tries); i++) {
		if (!tries[i].p)
			return xcli_no_memory(x);
		if (tries[i].n && is_directory(tries[i].p)) {
			*dir = tries[i];
			return true;
		}
	}
	return xcli_fail(x, XCLI_PATH, "There is no run '%s' in '%s'", s, x->place.named);
}

/* A missing member of an archive is a warning, and with --strict a failure. */
static bool open_place(struct xcli *x, const char *named)
{
	struct ss_err err = { 0 };
	if (!ss_location_open(&x->place, named, &err))
		return xcli_fail(x, err.code == SS_ENOMEM ? XCLI_INTERNAL : XCLI_PATH, "%s", err.text);
	struct ss_str cost = ss_location_cost(&x->place, &x->arena);
	if (!cost.p)
		return xcli_no_memory(x);
	if (cost.n)
		fprintf(stderr, "stepscope: " SS_FMT "\n", SS_ARG(cost));
	for (size_t i = 0; i < x->place.notes.n; i++)
		xv_printf(x->warnings, NULL, "'" SS_FMT "' %s", SS_ARG(x->place.notes.v[i].path), x->place.notes.v[i].why);
	return !x->strict || !x->place.nnotes_all ||
	       xcli_fail(x, XCLI_INTERNAL, "'%s' is incomplete (--strict)", x->place.named);
}

/* The directory that holds the traces; `file` is set where the session is one file of it. */
static bool find_directory(struct xcli *x, struct ss_str *dir, struct ss_str *file)
{
	const char *s = x->session;
	bool directory = false;
	if (strlen(s) >= PATH_MAX)
		return xcli_fail(x, XCLI_PATH, "The session's name is longer than a path can be");
	if (!open_place(x, s))
		return false;
	if (!exists(x->place.path, &directory)) {
		if (!x->logdir || s == x->logdir)
			return xcli_fail(x, XCLI_PATH, "There is no '%s'", s);
		ss_location_close(&x->place);
		return open_place(x, x->logdir) && run_in_logdir(x, dir);
	}
	s = x->place.path;
	x->input = ss_str_from(x->place.named);
	*dir = ss_str_from(s);
	if (directory)
		return newest_run(x, dir);
	*file = *dir;
	char *real = realpath(s, NULL);
	struct ss_str full = real ? ss_arena_str(&x->arena, ss_str_from(real)) : *file;
	free(real);
	size_t slash = ss_str_rchr(full, '/');
	*dir = ss_arena_str(&x->arena, slash == SS_NPOS ? SS_STR(".")
							: ss_str_sub(full, 0, slash ? slash : 1));
	return dir->p || xcli_no_memory(x);
}

/* All traces below the directory: its own, or where it has none, those of the directories in it. */
static bool list_traces(struct xcli *x, struct ss_str dir)
{
	struct ss_err err = { 0 };
	size_t n = 0;
	bool ok = ss_store_scan(&x->store, dir.p, SS_SCAN_RUN, &err);
	if (ok && !(x->store.nruns && x->store.runs[0].nhosts)) {
		ss_store_free(&x->store);
		x->store = (struct ss_store){ 0 };
		ok = ss_store_scan(&x->store, dir.p, SS_SCAN_ANY, &err);
	}
	if (!ok)
		return xcli_fail(x, err.code == SS_ENOMEM ? XCLI_INTERNAL : XCLI_PATH, "%s",
				 err.text);
	for (size_t r = 0; r < x->store.nruns; r++)
		n += x->store.runs[r].nhosts;
	x->available = SS_NEW_N(&x->arena, struct xcli_trace, n + 1);
	if (!x->available)
		return xcli_no_memory(x);
	for (size_t r = 0; r < x->store.nruns; r++)
		for (size_t i = 0; i < x->store.runs[r].nhosts; i++) {
			struct ss_str path = x->store.runs[r].hosts[i].path;
			x->available[x->navailable++] = trace_of(path, path);
		}
	return true;
}

/* The path below the directory as its user wrote it, not as it is without links; of an archive, the member. */
static struct ss_str as_typed(struct xcli *x, struct ss_str path)
{
	struct ss_str rest = path;
	if (ss_location_is_made(&x->place))
		return ss_str_take(&rest, ss_str_from(x->place.path)) && rest.n > 1
			? ss_arena_printf(&x->arena, "%s:" SS_FMT, x->place.named, SS_ARG(ss_str_sub(rest, 1, rest.n)))
			: x->input;
	if (!x->root.n || !ss_str_take(&rest, x->root) || !rest.n || rest.p[0] != '/')
		return path;
	return ss_arena_printf(&x->arena, SS_FMT SS_FMT, SS_ARG(x->dir), SS_ARG(rest));
}

/* The one trace that --host names, by its file's stem or by its host. */
static bool choose_host(struct xcli *x)
{
	struct ss_str host = ss_str_from(x->host);
	struct xcli_trace *found = NULL, *exact = NULL;
	size_t n = 0;
	for (size_t i = 0; i < x->navailable; i++) {
		struct xcli_trace *t = &x->available[i];
		bool whole = ss_str_eq(t->stem, host);
		if (!whole && !ss_str_eq(t->host, host))
			continue;
		found = t;
		exact = whole ? t : exact;
		n++;
	}
	if (!n)
		return xcli_fail(
			x, XCLI_INVALID,
			"There is no host '%.200s' in this run; the first of its traces is '" SS_FMT
			"'",
			x->host, SS_ARG(x->navailable ? x->available[0].stem : SS_STR("")));
	if (n > 1 && !exact)
		return xcli_fail(x, XCLI_INVALID,
				 "%zu traces have the host '%.200s': give the stem of a file", n,
				 x->host);
	found = exact ? exact : found;
	if (x->ntraces == 1 && x->traces && !ss_str_eq(x->traces[0].path, found->path) &&
	    x->navailable > 1)
		return xcli_fail(x, XCLI_INVALID,
				 "The session is the file '" SS_FMT "', but --host names '" SS_FMT
				 "'",
				 SS_ARG(x->traces[0].stem), SS_ARG(found->stem));
	x->traces = found;
	x->ntraces = 1;
	x->input = as_typed(x, found->path);
	return x->input.p || xcli_no_memory(x);
}

static bool choose_file(struct xcli *x, struct ss_str file)
{
	struct xcli_trace *t = SS_NEW(&x->arena, struct xcli_trace);
	char *real = realpath(file.p, NULL);
	if (!t) {
		free(real);
		return xcli_no_memory(x);
	}
	*t = trace_of(ss_arena_str(&x->arena, ss_str_from(real ? real : file.p)), file);
	free(real);
	x->traces = t;
	x->ntraces = 1;
	/* Beside a file that was fetched nothing of the run lies. */
	if (ss_location_is_made(&x->place)) {
		x->available = t;
		x->navailable = 1;
	}
	return t->path.p || xcli_no_memory(x);
}

/* The run's name is that of the directory, as far as the user has named one. */
static struct ss_str name_of_run(const struct xcli *x, bool is_file)
{
	struct ss_str named = ss_str_from(x->place.named);
	size_t slash = ss_str_rchr(named, '/');
	if (!is_file || !ss_location_is_made(&x->place))
		return last_part(x->root);
	return slash == SS_NPOS ? trace_of(named, named).stem : last_part(ss_str_sub(named, 0, slash));
}

/* Answers name the traces by their own path where the path given was relative. */
bool xcli_session_find(struct xcli *x)
{
	struct ss_str dir = SS_STR(""), file = SS_STR("");
	x->warnings = xv_array(&x->make);
	if (!x->session)
		x->session = x->logdir;
	x->input = ss_str_from(x->session);
	if (!find_directory(x, &dir, &file) || !list_traces(x, dir))
		return false;
	char *real = realpath(dir.p, NULL);
	x->root = ss_arena_str(&x->arena, real ? ss_str_from(real) : dir);
	x->dir = dir;
	x->run = name_of_run(x, file.n);
	free(real);
	x->traces = x->available;
	x->ntraces = x->navailable;
	if (file.n && !choose_file(x, file))
		return false;
	if (!x->ntraces)
		return xcli_fail(x, XCLI_PATH,
				 "There are no *.xplane.pb files in '" SS_FMT "' (DATA_ABSENT)",
				 SS_ARG(ss_location_is_made(&x->place) ? x->input : dir));
	if (x->host && !(x->cmd->flags & XCLI_HOST_IS_NUMBER) && !choose_host(x))
		return false;
	if (x->cmd->flags & XCLI_ONE_TRACE && x->ntraces > 1)
		return xcli_fail(x, XCLI_INVALID,
				 "%s needs exactly one trace, and '%s' has %zu: name one file%s",
				 x->name, x->session, x->ntraces,
				 x->cmd->flags & XCLI_HOST_IS_NUMBER ? ""
								     : ", or a host with --host");
	return true;
}

/* A file that is no profile among others is an empty host. */
static bool open_trace(struct xcli *x, struct ss_host *h, const char *path, struct ss_err *err)
{
	struct ss_err why = { 0 };
	return x->ntraces == 1 ? ss_host_open(h, path, err)
			       : ss_host_open_among(h, NULL, path, &why, err);
}

bool xcli_open(struct xcli *x)
{
	struct ss_err err = { 0 };
	if (x->hosts)
		return true;
	x->hosts = calloc(x->ntraces, sizeof(*x->hosts));
	struct ss_host **list = calloc(x->ntraces, sizeof(*list));
	bool ok = (x->hosts && list) || ss_fail_mem(&err);
	for (size_t i = 0; ok && i < x->ntraces; i++) {
		ok = open_trace(x, &x->hosts[i], x->traces[i].path.p, &err);
		list[i] = &x->hosts[i];
		x->nhosts += ok;
	}
	ok = ok && ss_model_init(&x->model, list, x->nhosts, &err);
	free(list);
	return ok || xcli_failed(x, &err);
}

bool xcli_whole(struct xcli *x)
{
	if (!xcli_open(x))
		return false;
	for (size_t i = 0; i < x->nhosts; i++)
		if (x->hosts[i].x.nnotes)
			return xcli_fail(x, XCLI_INTERNAL, "the profile is incomplete (--strict): " SS_FMT,
					 SS_ARG(x->hosts[i].x.notes[0]));
	return true;
}

struct xcli *xcli_other(struct xcli *x, const char *session)
{
	struct xcli *o = calloc(1, sizeof(*o));
	if (!o) {
		xcli_no_memory(x);
		return NULL;
	}
	o->commands = x->commands;
	o->name = x->name;
	o->cmd = xcli_find(x->commands, "get_hosts");
	o->session = session;
	o->strict = x->strict;
	o->make.arena = &o->arena;
	o->next = x->others;
	x->others = o;
	return xcli_session_find(o) && (!o->strict || xcli_whole(o)) ? o : NULL;
}
