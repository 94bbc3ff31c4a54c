/*
 * track.c - stepscope track add|show|check FILE: a history of runs, and since when they are slow.
 */
#include "sides.h"

#include "base/provide.h"
#include "base/system.h"
#include "diff/track.h"
#include "emit/csv.h"
#include "emit/json.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern const struct cli_command cli_command_track;

#define MOST_WORDS 32
#define LAST_RUNS 5

struct words {
	struct ss_str metrics[MOST_WORDS];
	struct ss_track_label labels[MOST_WORDS];
	size_t nmetrics, nlabels;
};

static bool take_metric(void *arg, const char *value)
{
	struct words *w = arg;
	if (!*value || w->nmetrics == MOST_WORDS)
		return false;
	w->metrics[w->nmetrics++] = ss_str_from(value);
	return true;
}

static bool take_label(void *arg, const char *value)
{
	struct words *w = arg;
	const char *eq = strchr(value, '=');
	if (!eq || eq == value || w->nlabels == MOST_WORDS)
		return false;
	w->labels[w->nlabels++] = (struct ss_track_label){ { value, (size_t)(eq - value) }, ss_str_from(eq + 1) };
	return true;
}

/* ---- add ---- */

/* Two lanes of a multiplicative hash: enough to know the same profile again. */
struct hash {
	uint64_t a, b;
};

static void hash_bytes(struct hash *h, const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		h->a = (h->a ^ p[i]) * UINT64_C(0x100000001b3);
		h->b = (h->b + p[i] + 1) * UINT64_C(0x9e3779b97f4a7c15);
		h->b ^= h->b >> 29;
	}
}

static bool hash_file(struct hash *h, const char *path, int64_t *mtime_ns, struct ss_err *err)
{
	unsigned char buf[65536];
	struct stat st;
	FILE *f = ss_provide(path, SS_WHOLE_FILE, err) ? fopen(path, "rbe") : NULL;
	size_t n;
	if (!f || fstat(fileno(f), &st) != 0) {
		ss_fail(err, SS_EIO, "cannot read '%s': %s", path, strerror(errno));
		if (f)
			fclose(f);
		return false;
	}
	int64_t ns = ss_mtime_ns(&st);
	*mtime_ns = ns > *mtime_ns ? ns : *mtime_ns;
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		hash_bytes(h, buf, n);
	bool ok = !ferror(f);
	fclose(f);
	return ok || ss_fail(err, SS_EIO, "cannot read '%s'", path);
}

/* Seconds since 1970, or 2026-11-22T10:00:00Z. */
static bool time_of(const char *text, int64_t *ns)
{
	struct tm tm = { 0 };
	uint64_t s;
	char zone = 0, rest = 0;
	if (cli_number(text, (uint64_t)INT64_MAX / 1000000000, &s)) {
		*ns = (int64_t)s * 1000000000;
		return true;
	}
	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%c%c", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
		   &tm.tm_sec, &zone, &rest) != 7 ||
	    zone != 'Z' || tm.tm_year < 1970 || tm.tm_year > 2200)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	time_t t = timegm(&tm);
	*ns = (int64_t)t * 1000000000;
	return t >= 0;
}

/* The absolute place of this run, independent of the current directory; for an archive, the place of the archive. */
static struct ss_str place_of(struct cli_profile *p)
{
	if (ss_location_is_made(&p->place)) {
		char *real = realpath(p->place.named, NULL);
		struct ss_str at = ss_arena_str(&p->arena, ss_str_from(real ? real : p->place.named));
		free(real);
		return at.p ? at : ss_str_from(p->place.named);
	}
	return p->hosts_asked.n == 1 ? p->hosts_asked.files[0]->path : p->run->dir;
}

/* A history that is not there yet is made for the first profile that can be read. */
struct history {
	const char *path;
	struct ss_track track;
	bool open;
};

static bool open_history(struct history *h, struct ss_err *err)
{
	h->open = h->open || ss_track_open(&h->track, h->path, true, err);
	return h->open;
}

/* *readable: the profile could be read, and what failed is the history. */
static bool add_path(struct history *t, const char *path, const struct words *w, int64_t time_ns, bool *readable,
		     struct ss_err *err)
{
	const struct ss_diff_selection all = { 0 };
	struct ss_diff_run run = { 0 };
	struct cli_profile p;
	struct hash h = { UINT64_C(0xcbf29ce484222325), 1 };
	int64_t mtime_ns = 0;
	bool known = false;
	bool ok = cli_profile_find(&p, path, NULL, err);
	path = ok ? p.place.named : path;
	ok = ok && cli_profile_list(&p, NULL, err) && ss_diff_run_read(&run, &p.model, ss_str_from(path), &all, err);
	for (size_t i = 0; ok && i < p.hosts_asked.n; i++)
		ok = hash_file(&h, p.hosts_asked.files[i]->path.p, &mtime_ns, err);
	*readable = ok;
	if (ok) {
		char text[40];
		snprintf(text, sizeof(text), "%016llx%016llx", (unsigned long long)h.a, (unsigned long long)h.b);
		struct ss_track_run r = {
			&run, ss_str_from(text), place_of(&p), time_ns >= 0 ? time_ns : mtime_ns, w->labels, w->nlabels
		};
		ok = open_history(t, err) && ss_track_add(&t->track, &r, &known, err);
	}
	for (size_t i = 0; ok && i < run.notes.n; i++)
		cli_say("warning", run.notes.v[i]);
	if (ok)
		cli_tell("%s '%s': %zu steps of %.6g us", known ? "already there," : "added", path,
			run.steps.n, run.step.mean);
	ss_diff_run_release(&run);
	cli_profile_close(&p);
	return ok;
}

static int add(int argc, char **argv)
{
	struct words w = { .nlabels = 0 };
	const char *when = NULL;
	const struct cli_opt opts[] = { CLI_EACH("label", 'l', take_label, &w), CLI_TEXT("time", 0, &when), CLI_STRICT };
	struct ss_err err = { 0 };
	struct history t = { .open = false };
	int64_t time_ns = -1;
	int status = cli_parse(&cli_command_track, argc, argv, opts, SS_COUNT(opts), 2, 1000000);
	if (status >= 0)
		return status;
	if (when && !time_of(when, &time_ns))
		return cli_misuse(&cli_command_track, "'%s' is not a time: write 2026-11-22T10:00:00Z, or seconds since 1970",
				  when);
	t.path = argv[optind];
	bool ok = access(t.path, F_OK) != 0 || open_history(&t, &err);
	size_t failed = 0;
	for (int i = optind + 1; ok && i < argc; i++) {
		bool readable = false;
		if (add_path(&t, argv[i], &w, time_ns, &readable, &err))
			continue;
		/* A profile that cannot be read hides no other; a history that cannot be written takes none. */
		ok = !readable && err.code != SS_ENOMEM;
		if (ok)
			cli_fail(&err);
		failed++;
	}
	ss_track_close(&t.track);
	if (!ok)
		return cli_fail(&err);
	if (failed && argc - optind > 2)
		fprintf(stderr, "stepscope: %zu of %d profiles were not added\n", failed, argc - optind - 1);
	return failed ? CLI_FAILED : CLI_DONE;
}

/* ---- show, check ---- */

static void print(struct ss_out *o, const struct ss_result *r, const char *format, const char *table, const char *colour)
{
	struct ss_text_style style = cli_style(colour);
	struct ss_json_head head = { SS_STR("track"), SS_STR("History"), SS_STR(""), SS_STR(""), SS_STR("") };
	if (strcmp(format, "json") == 0) {
		ss_emit_json(o, r, &head);
		ss_out_char(o, '\n');
	} else if (strcmp(format, "csv") == 0) {
		ss_emit_csv(o, ss_result_find(r, table), NULL);
	} else {
		ss_emit_text_conclusion(o, &r->conclusion, &style);
		ss_out_char(o, '\n');
		ss_emit_text_table(o, ss_result_find(r, table), &style);
	}
}

static int report(int argc, char **argv, bool check)
{
	struct words w = { .nlabels = 0 };
	const char *format = "text", *colour = NULL;
	uint64_t last = LAST_RUNS;
	const struct cli_opt opts[] = {
		CLI_EACH("metric", 'm', take_metric, &w),
		CLI_EACH("where", 'w', take_label, &w),
		CLI_NUMBER("last", 0, 100000, &last),
		CLI_TEXT("format", 'f', &format),
		CLI_TEXT("color", 0, &colour),
	};
	struct ss_err err = { 0 };
	struct ss_arena arena = { 0 };
	struct ss_result result;
	struct ss_track t;
	struct ss_track_change sum = { 0 };
	struct cli_sink sink;
	int status = cli_parse(&cli_command_track, argc, argv, opts, SS_COUNT(opts), 1, 1);
	if (status >= 0)
		return status;
	if (strcmp(format, "text") != 0 && strcmp(format, "json") != 0 && strcmp(format, "csv") != 0)
		return cli_misuse(&cli_command_track, "unknown format '%s': use text, json or csv", format);
	struct ss_track_filter f = { w.metrics, w.nmetrics, w.labels, w.nlabels };
	ss_result_init(&result, &arena);
	bool ok = ss_track_open(&t, argv[optind], false, &err) &&
		  ss_track_result(&t, &f, (size_t)last, &result, &sum, &err) && cli_sink_open(&sink, NULL, &err);
	if (ok) {
		print(&sink.out, &result, format, check ? "changes" : "figures", colour);
		ok = cli_sink_close(&sink, true, &err);
	}
	ss_track_close(&t);
	ss_arena_release(&arena);
	if (!ok)
		cli_fail(&err);
	if (!check)
		return ok ? CLI_DONE : CLI_FAILED;
	/* Status 2: there are too few runs to judge. */
	return !ok || sum.longest < 8 ? 2 : sum.worse_lately ? 1 : 0;
}

static int run(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	if (strcmp(verb, "add") == 0)
		return add(argc - 1, argv + 1);
	if (strcmp(verb, "show") == 0 || strcmp(verb, "check") == 0)
		return report(argc - 1, argv + 1, strcmp(verb, "check") == 0);
	if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) {
		cli_print_help(&cli_command_track);
		return CLI_DONE;
	}
	return cli_misuse(&cli_command_track, "name an action: add, show or check");
}

const struct cli_command cli_command_track = {
	.name = "track",
	.args = "add FILE PROFILE... | show FILE | check FILE",
	.summary = "keep figures of runs, and find when they became slow",
	.help = "FILE is one SQLite database; 'add' makes it. Runs of one program on equal devices are a series in the "
		"order of time.\n\n"
		"track add FILE PROFILE... [--label KEY=VALUE]... [--time T]\n"
		"                    figures of runs into FILE; a profile that is there already is not added "
		"again. T: 2026-11-22T10:00:00Z, or "
		"seconds since\n"
		"                    1970 (default: the file's)\n"
		"track show FILE     the figures\n"
		"track check FILE    where they changed. The status is 1 where a change for the worse lies within the last "
		"runs, 2 where\n"
		"                    there are fewer than 8 runs, or FILE cannot be read, else 0\n\n"
		"      --strict      add: fail if anything of a profile is missing (default: a warning)\n"
		"  -m, --metric M    step_time, mean_step_time, peak_memory (these by default), step_period, "
		"steps_per_second, or a row of\n"
		"                    the breakdown; again for another\n"
		"  -w, --where KEY=VALUE\n"
		"                    only runs with this label\n"
		"      --last N      check: how many runs are the last (default: 5)\n"
		"  -f, --format F    text, json or csv\n"
		"      --color WHEN  always, never or auto\n\n"
		"  stepscope track add history.db logs/ --label commit=$(git rev-parse --short HEAD)\n"
		"  stepscope track check history.db\n",
	.run = run,
};
