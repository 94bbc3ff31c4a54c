/* sides.c - see sides.h. */
#include "sides.h"

#include "request/recorded.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cli_take_path(void *arg, const char *value)
{
	struct cli_paths *p = arg;
	if (!*value || p->n == CLI_MOST_RUNS)
		return false;
	p->v[p->n++] = value;
	return true;
}

/* "3%", "0.03": a share above 0 and below 1. */
static bool cli_share(const char *text, double *out)
{
	struct ss_str s = ss_str_from(text);
	bool percent = ss_str_ends(s, SS_STR("%"));
	s.n -= percent;
	if (!ss_str_to_f64(s, out) || !isfinite(*out))
		return false;
	*out /= percent ? 100 : 1;
	return *out > 0 && *out < 1;
}

static bool steps_of(const char *text, struct ss_diff_selection *out)
{
	struct ss_str s = ss_str_from(text);
	uint64_t from, to;
	if (!ss_str_take_u64(&s, &from) || !ss_str_take(&s, SS_STR("-")) || !ss_str_take_u64(&s, &to) || s.n || to < from ||
	    to > INT64_MAX)
		return false;
	*out = (struct ss_diff_selection){ true, (int64_t)from, (int64_t)to };
	return true;
}

static bool set_options(struct cli_sides *s, struct ss_diff_selection *only, const char **bad)
{
	struct ss_diff_options *o = &s->diff.options;
	*o = (struct ss_diff_options){ .per_example = s->per_example, .anyway = s->anyway };
	*bad = s->band && !cli_share(s->band, &o->band_frac)				  ? "--band takes a share: 2% or 0.02"
	       : s->alpha && !cli_share(s->alpha, &o->alpha)				  ? "--alpha takes a share: 5% or 0.05"
	       : s->steps && !steps_of(s->steps, only)					  ? "--steps takes two numbers: 10-50"
	       : s->runs && strcmp(s->runs, "all") != 0 && strcmp(s->runs, "newest") != 0 ? "--runs takes newest or all"
											  : NULL;
	return !*bad;
}

int cli_sides_parse(struct cli_sides *s, const struct cli_command *c, int argc, char **argv)
{
	struct ss_diff_selection only;
	const char *bad;
	if (!set_options(s, &only, &bad))
		return cli_misuse(c, "%s", bad);
	if (s->base.n || s->new.n) {
		if (argc > optind)
			return cli_misuse(c, "'%s' belongs to neither side: put --base or --new before it", argv[optind]);
	} else if (argc - optind == 2) {
		cli_take_path(&s->base, argv[optind]);
		cli_take_path(&s->new, argv[optind + 1]);
	}
	if (!s->base.n || !s->new.n)
		return cli_misuse(c, "two sides are needed: BASE NEW, or --base PATH --new PATH");
	return -1;
}

struct runs {
	struct ss_diff_run *v;
	size_t n, cap;
};

static void shut(struct cli_profile *p)
{
	const struct ss_run *run = p->run;
	bool alone = p->alone;
	cli_profile_shut(p);
	p->run = run;
	p->alone = alone;
}

/* Another question to the run, which opens as the tool wants it. */
static bool ask_tool(struct cli_profile *p, const struct cli_sides *s, struct ss_tool_answers *to, struct ss_err *err)
{
	shut(p);
	return cli_profile_open_for(p, s->tool, s->host, err) &&
	       ss_tool_answers_add(to, s->tool, &p->model, s->params, s->nparams, err);
}

static bool read_run(struct cli_profile *p, const char *path, const struct cli_sides *s, const struct ss_diff_selection *only,
		     struct runs *to, struct ss_tool_answers *tool, struct ss_err *err)
{
	struct cli_progress *progress = cli_progress_start(p);
	size_t n = ++to->n;
	to->v[n - 1] = (struct ss_diff_run){ 0 };
	bool ok = cli_profile_list(p, s->host, err) &&
		  ss_diff_run_read(&to->v[n - 1], &p->model, ss_str_from(path), only, err) &&
		  (ss_diff_run_drop_copy(to->v, &to->n) || ss_fail_mem(err));
	cli_progress_end(progress);
	return ok && (!s->tool || to->n < n || ask_tool(p, s, tool, err));
}

/* One run of the log directory, `alone` or with what belongs to it. */
static bool read_one(struct runs *to, struct cli_profile *p, const struct ss_run *run, bool alone, const char *path,
		     const struct cli_sides *s, const struct ss_diff_selection *only, struct ss_tool_answers *tool,
		     struct ss_err *err)
{
	p->run = run;
	p->alone = alone;
	bool ok = cli_profile_spared(p, s->output, err) && (ss_vec_reserve(to, to->n + 1) || ss_fail_mem(err));
	ok = ok && read_run(p, path, s, only, to, tool, err);
	shut(p);
	return ok;
}

/* Files of one directory may be recordings of one process, one after the other. */
static bool read_recordings(struct runs *to, struct cli_profile *p, const struct ss_run *run, const char *path,
			    const struct cli_sides *s, const struct ss_diff_selection *only, struct ss_tool_answers *tool,
			    struct ss_err *err)
{
	struct ss_recordings r;
	bool ok = ss_recordings_of(run, &p->store.arena, &r) || ss_fail_mem(err);
	for (size_t i = 0; ok && i < r.n; i++)
		ok = read_one(to, p, &r.v[i], r.n > 1 || p->store.nruns > 1, path, s, only, tool, err);
	return ok;
}

static bool warn_of_recordings(struct cli_sides *s, struct cli_profile *p, struct ss_err *err)
{
	struct ss_recordings r = { NULL, 1 };
	if (p->run && !s->host && !ss_recordings_of(p->run, &p->store.arena, &r))
		return ss_fail_mem(err);
	if (r.n > 1)
		ss_result_note(&s->result, SS_WARNING,
			       ss_arena_printf(s->result.arena,
					       "the %zu files in '" SS_FMT "' are compared as hosts of one run, and they were "
					       "recorded one after the other: --runs all takes each recording as a run",
					       p->run->nhosts, SS_ARG(p->run->dir)));
	return true;
}

/* The runs at a path: the newest, or all, the oldest first. */
static bool read_path(struct runs *to, const char *path, struct cli_sides *s, const struct ss_diff_selection *only,
		      struct ss_tool_answers *tool, struct ss_err *err)
{
	struct cli_profile p;
	bool all = s->runs && strcmp(s->runs, "all") == 0;
	bool ok = cli_profile_find(&p, path, NULL, err);
	path = ok ? p.place.named : path;
	if (ok && all && p.store.nruns) {
		for (size_t i = p.store.nruns; ok && i-- > 0;)
			if (p.store.runs[i].nhosts)
				ok = read_recordings(to, &p, &p.store.runs[i], path, s, only, tool, err);
	} else if (ok) {
		ok = (p.parts || warn_of_recordings(s, &p, err)) && read_one(to, &p, p.run, false, path, s, only, tool, err);
	}
	cli_profile_close(&p);
	return ok;
}

/* The failure, with the side that it is about. */
static bool name_side(struct ss_err *err, const char *side)
{
	char text[sizeof(err->text)];
	memcpy(text, err->text, sizeof(text));
	snprintf(err->text, sizeof(err->text), "%s: %.480s", side, text);
	return false;
}

static bool read_side(struct runs *to, const struct cli_paths *paths, const char *side, struct cli_sides *s,
		      const struct ss_diff_selection *only, struct ss_tool_answers *tool, struct ss_err *err)
{
	for (size_t i = 0; i < paths->n; i++)
		if (!read_path(to, paths->v[i], s, only, tool, err))
			return name_side(err, side);
	return to->n || name_side(err, side) || ss_fail(err, SS_ENODATA, "%s: no run holds a profile", side);
}

static bool read_sides(struct cli_sides *s, const struct ss_diff_selection *only, struct ss_err *err)
{
	struct runs base = { 0 }, new = { 0 };
	bool ok = read_side(&base, &s->base, "base", s, only, &s->base_tool, err) &&
		  read_side(&new, &s->new, "new", s, only, &s->new_tool, err);
	s->base_runs.v = s->diff.base.runs = base.v;
	s->new_runs.v = s->diff.new.runs = new.v;
	s->base_runs.n = s->diff.base.n = base.n;
	s->new_runs.n = s->diff.new.n = new.n;
	return ok;
}

static void forget_sides(struct cli_sides *s)
{
	for (size_t i = 0; i < s->base_runs.n; i++)
		ss_diff_run_release(&s->base_runs.v[i]);
	for (size_t i = 0; i < s->new_runs.n; i++)
		ss_diff_run_release(&s->new_runs.v[i]);
	ss_tool_answers_free(&s->base_tool);
	ss_tool_answers_free(&s->new_tool);
	ss_vec_free(&s->base_runs);
	ss_vec_free(&s->new_runs);
}

/* If hosts are missing on a side and none was chosen, only the hosts of both sides are read. */
static bool read_common_hosts(struct cli_sides *s, const struct ss_diff_selection *only, struct ss_arena *arena, struct ss_err *err)
{
	struct ss_diff_hosts common;
	if (s->host)
		return true;
	if (!ss_diff_common_hosts(&s->diff.base, &s->diff.new, arena, &common))
		return ss_fail_mem(err);
	if (!common.names.n)
		return true;
	s->host = common.names.p;
	s->diff.options.hosts_note = common.note;
	forget_sides(s);
	return read_sides(s, only, err);
}

bool cli_sides_compare(struct cli_sides *s, struct ss_arena *arena, struct ss_err *err)
{
	struct ss_diff_selection only = { 0 };
	const char *bad;
	ss_result_init(&s->result, arena);
	return set_options(s, &only, &bad) && read_sides(s, &only, err) && read_common_hosts(s, &only, arena, err) &&
	       ss_diff_compare(&s->diff, err);
}

void cli_sides_free(struct cli_sides *s)
{
	ss_diff_free(&s->diff);
	forget_sides(s);
}

struct ss_text_style cli_sides_style(const struct cli_sides *s, const char *colour)
{
	return s->output ? (struct ss_text_style){ .colour = colour && strcmp(colour, "always") == 0 } : cli_style(colour);
}
