/* profile.c - from a path on the command line to a model. */
#include "cli.h"

#include "parts.h"
#include "model/host/host.h"

#include "model/cluster/aligned.h"
#include "request/recorded.h"
#include "request/request.h"
#include "store/kinds.h"
#include "tools/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *run_word(const void *list, size_t i)
{
	const struct ss_store *s = list;
	return i < s->nruns ? s->runs[i].name.p : NULL;
}

static const char *host_word(const void *list, size_t i)
{
	const struct ss_run *r = list;
	return i < r->nhosts ? r->hosts[i].name.p : NULL;
}

/* A run may be named in full, or by its last component where that says enough. */
static const struct ss_run *find_run(const struct ss_store *s, struct ss_str name)
{
	const struct ss_run *run = ss_store_run(s, name), *last = NULL;
	if (run)
		return run;
	for (size_t i = 0; i < s->nruns; i++) {
		struct ss_str full = s->runs[i].name;
		size_t slash = ss_str_rchr(full, '/');
		if (slash == SS_NPOS || !ss_str_eq(ss_str_sub(full, slash + 1, full.n), name))
			continue;
		if (last)
			return NULL; /* several */
		last = &s->runs[i];
	}
	return last;
}

static void say_skipped(const struct ss_skipped *l)
{
	struct ss_arena a = { 0 };
	struct ss_str text = ss_arena_printf(&a, "'" SS_FMT "' %s", SS_ARG(l->path), l->why);
	if (text.p)
		cli_say("looked at", text);
	ss_arena_release(&a);
}

/* Parts of a run, all of them. */
static bool open_parts(struct cli_profile *p, const char *path, struct ss_err *err)
{
	p->parts = calloc(1, sizeof(*p->parts));
	if (!p->parts)
		return ss_fail_mem(err);
	if (!cli_parts_read(p->parts, path, true, err))
		return false;
	if (p->parts->lost.n)
		return ss_fail(err, SS_ENOTFOUND, "%zu of %llu parts are missing in '%s': 'stepscope merge' names them",
			       p->parts->lost.n, (unsigned long long)p->parts->count, path);
	p->parts_run.name = p->parts->all.run;
	for (size_t i = 0; i < p->parts->all.v.n; i++)
		p->parts_run.bytes += p->parts->all.v.v[i].file_bytes;
	p->run = &p->parts_run;
	return cli_parts_whole(p->parts, err);
}

void cli_location_close(struct ss_location *p)
{
	struct ss_arena a = { 0 };
	struct ss_str total = ss_location_total(p, &a);
	if (total.n)
		cli_say(NULL, total);
	ss_arena_release(&a);
	ss_location_close(p);
}

bool cli_location_say_cost(struct ss_location *p, struct ss_err *err)
{
	struct ss_str cost = ss_location_cost(p, &p->arena);
	if (!cost.p)
		return ss_fail_mem(err);
	if (cost.n)
		cli_say(NULL, cost);
	if (p->remark && !p->shared)
		cli_tell("'%s': %s", p->named, p->remark);
	return true;
}

bool cli_location_open(struct ss_location *p, const char *path, struct ss_err *err)
{
	if (!ss_location_open(p, path, err) || !cli_location_say_cost(p, err))
		return false;
	for (size_t i = 0; i < p->notes.n && i < 10; i++) {
		struct ss_str text = ss_arena_printf(&p->arena, "'" SS_FMT "' %s", SS_ARG(p->notes.v[i].path), p->notes.v[i].why);
		if (!text.p)
			return ss_fail_mem(err);
		cli_say("warning", text);
	}
	if (p->nnotes_all > 10)
		cli_tell("warning: %zu more members of '%s' are missing or damaged", p->nnotes_all - 10, p->named);
	return !cli_strict || !p->nnotes_all || ss_fail(err, SS_EFORMAT, "'%s' is incomplete (--strict)", p->named);
}

bool cli_profile_find(struct cli_profile *p, const char *path, const char *run, struct ss_err *err)
{
	struct ss_arena a = { 0 };
	*p = (struct cli_profile){ 0 };
	if (!cli_location_open(&p->place, path, err))
		return false;
	path = p->place.named;
	if (cli_parts_is(p->place.path))
		return open_parts(p, p->place.path, err);
	if (!ss_location_scan(&p->place, &p->store, err))
		return false;
	if (run) {
		p->run = find_run(&p->store, ss_str_from(run));
		if (p->run && ss_run_holds(p->run))
			return true;
		if (p->run)
			return ss_fail(err, SS_ENOTFOUND, "run '%s' holds no *.xplane.pb file", run);
		const char *meant = cli_closest(run, run_word, &p->store);
		return ss_fail(err, SS_ENOTFOUND, "there is no run '%s' in '%s'%s%s%s", run, path,
			       meant ? "; did you mean '" : "", meant ? meant : "",
			       meant ? "'?" : ": 'stepscope runs' lists them");
	}
	p->run = ss_store_newest(&p->store);
	if (p->run)
		return true;
	struct ss_str why = ss_store_why_empty(&p->store, &a);
	ss_fail(err, SS_ENOTFOUND, SS_FMT, SS_ARG(why));
	ss_arena_release(&a);
	for (size_t i = 0; i < p->store.nskipped && i < 10 && p->store.ndirs > 1; i++)
		say_skipped(&p->store.skipped[i]);
	return false;
}

/* No such host: was it a slip? */
static bool suggest_host(const struct cli_profile *p, const char *host, struct ss_err *err)
{
	const char *meant = cli_closest(host, host_word, p->run);
	if (meant && err->code == SS_ENOTFOUND) {
		size_t n = strlen(err->text);
		snprintf(err->text + n, sizeof(err->text) - n, "; did you mean '%s'?", meant);
	}
	return false;
}

/*
 * Open one of `n` hosts. With several, an unreadable file becomes an empty host, and `why` has the
 * reason.
 */
static bool open_file(struct ss_host *h, const struct ss_host_file *f, size_t n, struct ss_err *why, struct ss_err *err)
{
	if (ss_file_kind_is_raw(f->kind))
		return ss_host_open_raw(h, f->top, f->path.p, f->name, err);
	return n == 1 ? ss_host_open_below(h, f->top, f->path.p, err) : ss_host_open_among(h, f->top, f->path.p, why, err);
}

static bool is_file(const char *path, const struct stat *st)
{
	struct stat own;
	return stat(path, &own) == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino;
}

bool cli_profile_spared(const struct cli_profile *p, const char *output, struct ss_err *err)
{
	struct stat st;
	bool old = output && stat(output, &st) == 0 && S_ISREG(st.st_mode), own = old && is_file(p->place.named, &st);
	for (size_t i = 0; old && !own && !p->parts && i < p->run->nhosts; i++)
		own = is_file(p->run->hosts[i].path.p, &st);
	return !own || ss_fail(err, SS_EINVAL, "'%s' is the profile itself: give --output the name of another file", output);
}

static bool is_whole(const struct ss_host *h, struct ss_err *err)
{
	return !h->x.nnotes || ss_fail(err, SS_EFORMAT, "the profile is incomplete (--strict): " SS_FMT, SS_ARG(h->x.notes[0]));
}

/* A file that is not open is opened for that. */
static bool is_whole_file(const struct ss_host_file *f, struct ss_err *err)
{
	struct ss_host h;
	if (ss_file_kind_is_raw(f->kind))
		return true;
	if (!ss_host_open_below(&h, f->top, f->path.p, err))
		return false;
	bool ok = is_whole(&h, err);
	ss_host_close(&h);
	return ok;
}

bool cli_run_whole(const struct ss_run *r, struct ss_err *err)
{
	bool ok = true;
	for (size_t i = 0; cli_strict && ok && i < r->nhosts; i++)
		ok = is_whole_file(&r->hosts[i], err);
	return ok;
}

bool cli_runs_whole(const struct ss_store *s, struct ss_err *err)
{
	bool ok = true;
	for (size_t i = 0; ok && i < s->nruns; i++)
		ok = cli_run_whole(&s->runs[i], err);
	return ok;
}

/* With --strict: is every profile of the selection whole? */
static bool are_whole(const struct cli_profile *p, const struct ss_selection *sel, const char *kind, struct ss_err *err)
{
	bool ok = true;
	for (size_t i = 0; cli_strict && ok && i < p->nhosts; i++)
		ok = is_whole(&p->hosts[i], err);
	for (size_t i = 0; cli_strict && ok && !p->nhosts && !ss_file_kind_is_raw(kind) && i < sel->n; i++)
		ok = is_whole_file(sel->files[i], err);
	return ok;
}

/* The files of the selection, opened, and the model of them. */
static bool open_files(struct cli_profile *p, const struct ss_selection *sel, struct ss_err *err)
{
	p->hosts = calloc(sel->n, sizeof(*p->hosts));
	struct ss_host **list = calloc(sel->n, sizeof(*list));
	struct ss_err why, first = { 0 };
	size_t readable = 0;
	bool ok = (p->hosts && list) || ss_fail_mem(err);
	for (; ok && p->nhosts < sel->n; p->nhosts += ok) {
		why = (struct ss_err){ 0 };
		list[p->nhosts] = &p->hosts[p->nhosts];
		ok = open_file(list[p->nhosts], sel->files[p->nhosts], sel->n, &why, err);
		readable += why.code == SS_OK;
		if (!p->nhosts)
			first = why;
	}
	if (ok && !readable && sel->n)
		ok = ss_fail(err, first.code, "%s", first.text);
	ok = ok && ss_model_init(&p->model, list, p->nhosts, err);
	free(list);
	return ok;
}

/* A model that visits them. */
static bool list_files(struct cli_profile *p, const struct ss_selection *sel, struct ss_err *err)
{
	struct ss_host_file_at *files = SS_NEW_N(&p->arena, struct ss_host_file_at, sel->n);
	if (!files)
		return ss_fail_mem(err);
	for (size_t i = 0; i < sel->n; i++)
		files[i] = (struct ss_host_file_at){ sel->files[i]->path.p, sel->files[i]->bytes, sel->files[i]->top };
	return ss_model_init_visited(&p->model, files, sel->n, err);
}

/* All hosts are those of the whole recording, whose runs may be several. */
static bool whole_session(struct cli_profile *p, const char *kind, struct ss_err *err)
{
	const struct ss_run *run = kind || p->alone ? p->run : ss_recorded_run(&p->store, p->run, &p->store.arena);
	if (run)
		p->run = run;
	return run || ss_fail_mem(err);
}

static bool open_kind(struct cli_profile *p, const char *kind, const char *host, bool all_by_default, bool visits,
		      struct ss_err *err)
{
	struct ss_selection *sel = &p->hosts_asked;
	if (!whole_session(p, kind, err))
		return false;
	if (!ss_run_select(p->run, kind, ss_str_from(host), all_by_default, &p->arena, sel, err))
		return suggest_host(p, host ? host : "", err);
	ss_selection_fetch(sel);
	return (visits && !kind && sel->n > 1 ? list_files(p, sel, err) : open_files(p, sel, err)) && are_whole(p, sel, kind, err);
}

bool cli_clocks_known(const char *word)
{
	return !word || strcmp(word, "recorded") == 0 || strcmp(word, "aligned") == 0;
}

struct ss_model *cli_profile_clocks(struct cli_profile *p, const char *word, struct ss_err *err)
{
	if (!word || strcmp(word, "recorded") == 0)
		return &p->model;
	struct ss_model *m = ss_model_aligned(&p->model, err);
	const struct ss_cluster *c = m ? ss_model_cluster(m, err) : NULL;
	if (!c)
		return NULL;
	cli_say("info", ss_clocks_words(c, &p->arena));
	return m;
}

bool cli_profile_open(struct cli_profile *p, const char *host, bool all_by_default, struct ss_err *err)
{
	return open_kind(p, NULL, host, all_by_default, false, err);
}

bool cli_profile_list(struct cli_profile *p, const char *host, struct ss_err *err)
{
	struct ss_selection *sel = &p->hosts_asked;
	if (p->parts)
		return ss_fail(err, SS_EINVAL, "parts hold no events: give the profiles themselves");
	if (!whole_session(p, NULL, err))
		return false;
	if (!ss_run_select(p->run, NULL, ss_str_from(host ? host : ""), true, &p->arena, sel, err))
		return suggest_host(p, host ? host : "", err);
	ss_selection_fetch(sel);
	return list_files(p, sel, err) && are_whole(p, sel, NULL, err);
}

bool cli_profile_select(struct cli_profile *p, struct ss_err *err)
{
	return whole_session(p, NULL, err) &&
	       ss_run_select(p->run, NULL, SS_STR(SS_ALL_HOSTS), true, &p->arena, &p->hosts_asked, err) &&
	       are_whole(p, &p->hosts_asked, NULL, err);
}

static bool answer_parts(struct cli_profile *p, const struct ss_tool *tool, const char *host, struct ss_err *err)
{
	if (!(tool->flags & SS_TOOL_OF_PARTS))
		return ss_request_refuse_parts(tool, err);
	if (host && *host && strcmp(host, SS_ALL_HOSTS) != 0)
		return ss_fail(err, SS_EINVAL, "parts answer for all hosts together");
	p->hosts_asked.name = p->parts->all.label;
	return ss_model_init_shard(&p->model, &p->parts->all, err);
}

bool cli_profile_open_for(struct cli_profile *p, const struct ss_tool *tool, const char *host, struct ss_err *err)
{
	if (p->parts)
		return answer_parts(p, tool, host, err);
	const char *files = ss_legacy_files(tool);
	const struct ss_run *with = files && !p->run_asked ? ss_store_newest_with(&p->store, files) : NULL;
	if (with)
		p->run = with;
	if (ss_request_lacks_profiles(tool, p->run))
		return ss_request_refuse_parts(tool, err);
	return open_kind(p, ss_request_file_kind(tool, p->run), host, ss_request_combines(tool, p->run),
			 tool->flags & SS_TOOL_VISITS, err);
}

bool cli_profile_intact(const struct cli_profile *p, struct ss_err *err)
{
	for (size_t i = 0; i < p->nhosts; i++)
		if (ss_file_torn(&p->hosts[i].x.file))
			return ss_fail(err, SS_EIO, "'" SS_FMT "' was truncated while it was being read",
				       SS_ARG(p->hosts[i].x.path));
	return true;
}

void cli_profile_shut(struct cli_profile *p)
{
	struct ss_store store = p->store;
	struct ss_location place = p->place;
	struct cli_parts *parts = p->parts;
	ss_model_release(&p->model);
	for (size_t i = 0; i < p->nhosts; i++)
		ss_host_close(&p->hosts[i]);
	free(p->hosts);
	ss_arena_release(&p->arena);
	*p = (struct cli_profile){ .place = place, .store = store, .parts = parts };
}

void cli_profile_close(struct cli_profile *p)
{
	cli_profile_shut(p);
	if (p->parts)
		cli_parts_close(p->parts);
	free(p->parts);
	ss_store_free(&p->store);
	cli_location_close(&p->place);
	*p = (struct cli_profile){ 0 };
}
