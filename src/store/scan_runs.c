/* scan_runs.c - runs of the files of one directory. */
#include "base/provide.h"
#include "base/system.h"
#include "import/names.h"
#include "store/exports.h"
#include "store/kinds.h"
#include "store/processes.h"
#include "store/scan_walk.h"

#include <stdlib.h>
#include <sys/stat.h>

struct ss_str ss_walk_join(struct ss_arena *a, struct ss_str dir, struct ss_str name)
{
	bool slash = dir.n && dir.p[dir.n - 1] != '/';
	return ss_arena_printf(a, SS_FMT "%s" SS_FMT, SS_ARG(dir), slash ? "/" : "", SS_ARG(name));
}

void ss_walk_look(struct ss_walk *w, struct ss_str dir, struct ss_str name, const char *why)
{
	w->s->nskipped_all++;
	if (w->skipped.n >= SS_SKIPPED_MAX)
		return;
	struct ss_str path = name.n ? ss_walk_join(&w->s->arena, dir, name) : dir;
	if (!path.p || !ss_vec_push(&w->skipped, (struct ss_skipped){ path, why }))
		w->no_memory = true;
}

struct ss_str ss_walk_last_part(struct ss_str path)
{
	size_t slash = ss_str_rchr(path, '/');
	return slash == SS_NPOS ? path : ss_str_sub(path, slash + 1, path.n);
}

/* Numbers as digits, the greatest first. */
int ss_walk_by_span_desc(struct ss_str a, struct ss_str b)
{
	return SS_CMP(b.n, a.n) ?: ss_str_cmp(b, a);
}

/*
 * "a/b/plugins/profile/r" is called "a/b/r"; whatever of it lies above the root is not there to be
 * said.
 */
static struct ss_str run_name(struct ss_arena *a, const struct ss_walk_dir *d)
{
	struct ss_str name = ss_walk_last_part(d->path), rel = d->rel;
	const struct ss_str middle = SS_STR("plugins/profile/");
	if (rel.n < middle.n + name.n)
		return name;
	struct ss_str above = ss_str_sub(rel, 0, rel.n - middle.n - name.n);
	return above.n ? ss_walk_join(a, above, name) : name;
}

/* The same answer of the same host in two formats: then both have their files' names. */
static struct ss_str own_label(const struct ss_run *run, const struct ss_walk_file *f, bool *duplicate)
{
	struct ss_str label;
	ss_file_kind(f->name, SS_PLACE_RUN, &label);
	const struct ss_host_file *last = run->own.n ? &run->own.v[run->own.n - 1] : NULL;
	*duplicate = last && last->kind == f->kind && ss_str_eq(last->name, label);
	return *duplicate ? f->name : label;
}

/* The files of other kinds in a run's own directory; in others, those that make it one. */
static bool add_own(struct ss_walk *w, const struct ss_walk_dir *d, struct ss_run *run)
{
	struct ss_arena *a = &w->s->arena;
	run->own.v = SS_NEW_N(a, struct ss_host_file, w->others.n);
	for (size_t i = 0; run->own.v && i < w->others.n; i++) {
		const struct ss_walk_file *f = &w->others.v[i];
		if (!d->is_run && !ss_file_kind_is_answer(f->kind))
			continue;
		bool duplicate;
		struct ss_str label = ss_arena_str(a, own_label(run, f, &duplicate)), path = ss_walk_join(a, d->path, f->name);
		if (!path.p || !label.p)
			return false;
		if (ss_file_kind_is_answer(f->kind))
			run->bytes += f->bytes;
		run->own.v[run->own.n++] = (struct ss_host_file){ label, path, f->bytes, f->mtime_ns, f->kind,
								   w->s->top.p, duplicate };
		if (!run->nhosts && (i == 0 || f->mtime_ns > run->mtime_ns))
			run->mtime_ns = f->mtime_ns;
	}
	return run->own.v;
}

/* Processes that followed each other are no hosts of one run. */
static bool part_processes(struct ss_walk *w, const struct ss_walk_dir *d)
{
	struct ss_recording *v = calloc(w->files.n + 1, sizeof(*v));
	for (size_t i = 0; v && i < w->files.n; i++)
		v[i] = (struct ss_recording){ w->files.v[i].name, w->files.v[i].older };
	bool ok = v && ss_processes_in_turn(v, w->files.n);
	size_t n = 0;
	for (size_t i = 0; ok && i < w->files.n; i++) {
		struct ss_walk_file f = w->files.v[i];
		f.older = v[i].older;
		if (f.older > MOST_SPANS)
			ss_walk_look(w, d->path, f.name, "is an older file: too many processes wrote one");
		else
			w->files.v[n++] = f;
	}
	w->files.n = ok ? n : w->files.n;
	free(v);
	return ok;
}

static bool is_export(const struct ss_walk_file *f)
{
	return ss_str_ends(f->name, SS_STR(".sqlite"));
}

/*
 * Exports of Nsight Systems that nothing links are runs, the latest first, behind those of other
 * files.
 */
static bool part_exports(struct ss_walk *w, const struct ss_walk_dir *d)
{
	struct ss_export *v = calloc(w->files.n + 1, sizeof(*v));
	size_t n = 0;
	uint32_t nruns = 0, first = 0;
	bool ok = v;
	for (size_t i = 0; ok && i < w->files.n; i++) {
		const struct ss_walk_file *f = &w->files.v[i];
		if (is_export(f))
			v[n++].path = ss_walk_join(&w->s->arena, d->path, f->name).p;
		else
			first = f->older >= first ? f->older + 1 : first;
		ok = !is_export(f) || v[n - 1].path;
	}
	/* Of a bucket, each would have to be fetched. */
	if (ok && n > 1 && w->nexports + n <= MOST_EXPORTS && !ss_provides(d->path)) {
		w->nexports += n;
		ok = ss_exports_part(v, n, w->s->top.p, &nruns);
	}
	for (size_t i = 0, k = 0; ok && nruns > 1 && i < w->files.n; i++)
		if (is_export(&w->files.v[i])) {
			w->files.v[i].older = first + v[k++].run;
			w->files.v[i].own_run = true;
		}
	free(v);
	return ok;
}

static size_t count_older(const struct ss_walk *w, uint32_t older)
{
	size_t n = 0;
	for (size_t i = 0; i < w->files.n; i++)
		n += w->files.v[i].older == older;
	return n;
}

/* Of each host the recording that so many are newer than. */
static bool add_hosts(struct ss_walk *w, const struct ss_walk_dir *d, struct ss_run *run, uint32_t older)
{
	struct ss_arena *a = &w->s->arena;
	run->hosts = SS_NEW_N(a, struct ss_host_file, count_older(w, older));
	for (size_t i = 0; run->hosts && i < w->files.n; i++) {
		const struct ss_walk_file *f = &w->files.v[i];
		if (f->older != older)
			continue;
		bool named = f->by_content || ss_profile_rank(f->name) != SS_NO_PROFILE;
		struct ss_str host = ss_arena_str(a, named ? ss_profile_host(f->name) : SS_STR(SS_UNNAMED_HOST));
		struct ss_str path = ss_walk_join(a, d->path, f->name);
		if (!path.p || !host.p)
			return false;
		run->hosts[run->nhosts++] = (struct ss_host_file){ host, path, f->bytes, f->mtime_ns, NULL, w->s->top.p, false };
		run->bytes += f->bytes;
		if (run->nhosts == 1 || f->mtime_ns > run->mtime_ns)
			run->mtime_ns = f->mtime_ns;
	}
	return run->hosts;
}

/*
 * What its recordings are called beside others of the directory: by the greatest number in their
 * names, an export by its host; "" by nothing.
 */
static struct ss_str newest_span(const struct ss_walk *w, uint32_t older)
{
	struct ss_str span = SS_STR("");
	for (size_t i = 0; i < w->files.n; i++) {
		if (w->files.v[i].older == older && w->files.v[i].own_run)
			return ss_profile_host(w->files.v[i].name);
		struct ss_str other = ss_profile_span(w->files.v[i].name);
		if (w->files.v[i].older == older && other.n && (!span.n || ss_walk_by_span_desc(other, span) < 0))
			span = other;
	}
	return span;
}

/* "run.b" beside "run.a": each is as good as the other. */
static bool name_first(struct ss_walk *w, struct ss_run *run)
{
	for (size_t i = 0; i < w->files.n; i++)
		if (!w->files.v[i].older && w->files.v[i].own_run) {
			struct ss_str host = ss_profile_host(w->files.v[i].name);
			run->name = ss_arena_printf(&w->s->arena, SS_FMT "." SS_FMT, SS_ARG(run->name), SS_ARG(host));
			return run->name.p;
		}
	return true;
}

static bool push_run(struct ss_walk *w, const struct ss_walk_dir *d, struct ss_run run)
{
	return d->is_run ? ss_vec_push(&w->runs, run) : ss_vec_push(&w->loose, run);
}

/*
 * Recordings of one host one after the other are runs, not hosts. The number in their names says
 * which is newer, whatever copying did to the times of the files.
 */
static bool add_older(struct ss_walk *w, const struct ss_walk_dir *d, struct ss_run newest)
{
	uint32_t most = 0;
	int64_t newer_ns = newest.mtime_ns;
	for (size_t i = 0; i < w->files.n; i++)
		most = w->files.v[i].older > most ? w->files.v[i].older : most;
	for (uint32_t older = 1; older <= most; older++) {
		struct ss_run run = { .dir = d->path, .dir_mtime_ns = newest.dir_mtime_ns, .aside = newest.aside };
		struct ss_str span = newest_span(w, older);
		run.name = ss_arena_printf(&w->s->arena, SS_FMT "." SS_FMT, SS_ARG(newest.name), SS_ARG(span));
		if (!run.name.p || !add_hosts(w, d, &run, older))
			return false;
		run.mtime_ns = run.mtime_ns < newer_ns ? run.mtime_ns : newer_ns - 1;
		newer_ns = run.mtime_ns;
		if (!push_run(w, d, run))
			return false;
	}
	return true;
}

/* PyTorch's traces among the profiles of a run: the same program, or another, as PyTorch's profiler saw it. */
static bool add_torch(struct ss_walk *w, const struct ss_walk_dir *d, struct ss_run beside)
{
	struct ss_run run = { .dir = beside.dir, .dir_mtime_ns = beside.dir_mtime_ns, .aside = true };
	run.name = ss_arena_printf(&w->s->arena, SS_FMT ".pytorch", SS_ARG(beside.name));
	struct ss_walk_files profiles = w->files;
	w->files = w->torch;
	w->torch = profiles;
	return run.name.p && part_processes(w, d) && add_hosts(w, d, &run, 0) && push_run(w, d, run) && add_older(w, d, run);
}

bool ss_walk_add_run(struct ss_walk *w, const struct ss_walk_dir *d, const struct stat *st)
{
	struct ss_run run = { .dir = d->path, .mtime_ns = ss_mtime_ns(st), .dir_mtime_ns = ss_mtime_ns(st) };
	if (w->what == SS_SCAN_ANY && d->is_run)
		run.name = run_name(&w->s->arena, d);
	else
		run.name = d->rel.n && w->what != SS_SCAN_RUN ? d->rel : ss_walk_last_part(d->path);
	if (!run.name.p || !part_processes(w, d) || !part_exports(w, d) || !add_hosts(w, d, &run, 0) || !add_own(w, d, &run))
		return false;
	struct ss_run first = run;
	return name_first(w, &first) && push_run(w, d, first) && add_older(w, d, run) && (!w->torch.n || add_torch(w, d, run));
}
