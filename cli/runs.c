/*
 * runs.c - stepscope runs PATH: which profiles there are, on what they ran, and how long a step
 * took.
 *
 * Steps are those of the verdict, as in `summary` and in the page's list; of a stored overview its
 * own. They are in the events, so those of a large run are read only when somebody asks, and so are
 * all of a bucket's, which would have to be fetched.
 */
#include "cli.h"

#include "model/device/env.h"
#include "model/host/identity.h"
#include "request/request.h"
#include "table/units.h"
#include "verdict/verdict.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

extern const struct cli_command cli_command_runs;

#define LARGE_BYTES 200000000	/* as in the page's list */
#define DEVICE_CELLS 24
#define STEP_CELLS 22

/* The facts of a line that file names do not give; "" if unknown. */
struct facts {
	char device[64], step[64];
};

static void put_device(struct facts *f, struct ss_str device, double cores)
{
	if (cores > 1)
		snprintf(f->device, sizeof(f->device), SS_FMT "%sx %.0f", SS_ARG(device), device.n ? " " : "", cores);
	else
		snprintf(f->device, sizeof(f->device), SS_FMT, SS_ARG(device));
}

static void put_step(struct facts *f, size_t n, double ms)
{
	char text[32];
	snprintf(f->step, sizeof(f->step), "no steps");
	if (!n || !(ms > 0))
		return;
	ss_format_value(text, sizeof(text), SS_UNIT_MS, ms);
	snprintf(f->step, sizeof(f->step), "%s, %zu step%s", text, n, n == 1 ? "" : "s");
}

/* "8 (Replica count = 8 ...)", as older overviews say it, is 8. */
static double cores_of(const struct ss_result *r)
{
	const struct ss_prop *p = ss_result_find_prop(r, "device_core_count");
	size_t blank = p ? ss_str_chr(p->text, ' ') : SS_NPOS;
	double v = ss_result_number(r, "device_core_count");
	if (isnan(v) && blank != SS_NPOS && !ss_str_to_f64(ss_str_sub(p->text, 0, blank), &v))
		v = NAN;
	return v;
}

static bool read_stored(struct facts *f, struct cli_profile *p, const struct ss_tool *overview, struct ss_err *err)
{
	struct ss_tool_request ask = { .tool = overview, .model = &p->model };
	const struct ss_result *r = &ask.result;
	bool ok = ss_tool_request_run(&ask, err) && cli_profile_intact(p, err);
	if (ok) {
		const struct ss_prop *device = ss_result_find_prop(r, "device_type");
		size_t n = 0;
		for (size_t i = 0; i < r->ntables; i++)
			n = strcmp(r->tables[i].name, "steps") == 0 ? r->tables[i].nrows : n;
		put_device(f, device ? device->text : SS_STR(""), cores_of(r));
		put_step(f, n, ss_result_number(r, "steptime_ms_average"));
	}
	ss_tool_request_release(&ask);
	return ok;
}

static bool read_steps(struct facts *f, struct cli_profile *p, const struct ss_tool *overview, struct ss_err *err)
{
	struct ss_verdict v;
	const struct ss_env *env;
	if (!cli_profile_open_for(p, overview, NULL, err))
		return false;
	if (!p->model.nhosts || ss_host_is_raw(p->model.hosts[0]))
		return read_stored(f, p, overview, err);
	if (!ss_model_gather(&p->model, SS_FACTS_WINDOWS | SS_FACTS_ENV, err) || !ss_verdict_steps(&v, &p->model, err) ||
	    !(env = ss_model_env(&p->model, err)) || !cli_profile_intact(p, err))
		return false;
	put_device(f, env->device_type, env->core_count);
	put_step(f, v.steps, v.mean_ps / 1e9);
	return true;
}

static bool read_device(struct facts *f, struct cli_profile *p, struct ss_err *err)
{
	const struct ss_env *env = cli_profile_open(p, NULL, true, err) ? ss_model_env(&p->model, err) : NULL;
	if (env)
		put_device(f, env->device_type, env->core_count);
	return env;
}

/* A run that cannot be read is a line like the others; `summary` says what is wrong with it. */
static void read_facts(struct facts *f, struct cli_profile *p, const struct ss_run *r, bool large_too)
{
	const struct ss_tool *overview = ss_tool_find(SS_STR("overview_page"));
	struct ss_err err = { 0 };
	if (!overview || (!r->nhosts && !ss_request_file_kind(overview, r)))
		return;
	p->run = r;
	p->run_asked = true;
	bool whole = large_too || r->bytes <= LARGE_BYTES;
	if (p->place.tree && !large_too) {
		snprintf(f->step, sizeof(f->step), "not fetched: --steps");
		return;
	}
	if (!(whole ? read_steps(f, p, overview, &err) : read_device(f, p, &err)))
		snprintf(f->device, sizeof(f->device), "cannot be read");
	else if (!whole)
		snprintf(f->step, sizeof(f->step), "large: --steps");
	cli_profile_shut(p);
}

static void put_cell(struct ss_out *o, const char *text, size_t width)
{
	size_t cells = ss_text_put(o, ss_str_from(*text ? text : "-"), width);
	ss_text_pad(o, width - cells + 2);
}

static void print_run(struct ss_out *o, const struct ss_run *r, size_t widest, const struct facts *f)
{
	char size[32], when[32] = "";
	time_t t = (time_t)(r->mtime_ns / 1000000000);
	struct tm tm;
	if (localtime_r(&t, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	ss_format_value(size, sizeof(size), SS_UNIT_BYTES, (double)r->bytes);
	size_t cells = ss_text_put(o, r->name, 0);
	ss_text_pad(o, widest - cells);
	ss_out_printf(o, "  %s  %10s  ", when, size);
	if (f) {
		put_cell(o, f->device, DEVICE_CELLS);
		put_cell(o, f->step, STEP_CELLS);
	}
	for (size_t i = 0; i < r->nhosts; i++) {
		ss_out_z(o, i ? " " : "");
		ss_text_put(o, r->hosts[i].name, 0);
		if (i == 7 && r->nhosts > 9) {
			ss_out_printf(o, " and %zu more hosts", r->nhosts - 8);
			break;
		}
	}
	struct ss_str host = SS_STR("");
	for (size_t at = 0, n = 0; !r->nhosts && n < 8 && ss_run_answer_host(r, &at, &host); n++) {
		ss_out_z(o, n ? " " : "");
		ss_text_put(o, host, 0);
	}
	ss_out_char(o, '\n');
}

static void print_skipped(struct ss_out *o, const struct ss_store *s)
{
	for (size_t i = 0; i < s->nskipped; i++) {
		ss_text_put(o, s->skipped[i].path, 0);
		ss_out_printf(o, " %s\n", s->skipped[i].why);
	}
	if (s->nskipped_all > s->nskipped)
		ss_out_printf(o, "... and %zu more\n", s->nskipped_all - s->nskipped);
}

/* One line after the other, each as soon as it is known. */
static void print_runs(struct ss_out *o, struct cli_profile *p, bool quick, bool large_too)
{
	struct ss_err ignored = { 0 };
	size_t widest = 0;
	for (size_t i = 0; i < p->store.nruns; i++) {
		size_t cells = ss_text_cells(p->store.runs[i].name);
		widest = cells > widest ? cells : widest;
	}
	for (size_t i = 0; i < p->store.nruns; i++) {
		const struct ss_run *r = &p->store.runs[i];
		struct facts f = { "", "" };
		if (!ss_run_holds(r))
			continue;
		if (!quick)
			read_facts(&f, p, r, large_too);
		print_run(o, r, widest, quick ? NULL : &f);
		/* Failures stay with `o` until it is closed. */
		ss_out_finish(o, &ignored);
	}
}

static int run(int argc, char **argv)
{
	bool all = false, quick = false, steps = false;
	const struct cli_opt opts[] = {
		CLI_FLAG("all", 'a', &all),
		CLI_FLAG("quick", 'q', &quick),
		CLI_FLAG("steps", 's', &steps),
		CLI_STRICT,
	};
	int status = cli_parse(&cli_command_runs, argc, argv, opts, SS_COUNT(opts), 1, 1);
	if (status >= 0)
		return status;
	struct cli_profile p;
	struct cli_sink sink;
	struct ss_err err = { 0 };
	bool ok = cli_profile_find(&p, argv[optind], NULL, &err) && cli_sink_open(&sink, NULL, &err);
	if (ok) {
		bool strict = cli_strict;
		cli_strict = false;	/* a line says what is there */
		print_runs(&sink.out, &p, quick, steps);
		cli_strict = strict;
		if (all && p.store.nskipped) {
			ss_out_lit(&sink.out, "\nNot taken:\n");
			print_skipped(&sink.out, &p.store);
		}
		ok = cli_sink_close(&sink, true, &err) && cli_runs_whole(&p.store, &err);
	}
	if (ok && p.store.nunread && !all)
		fprintf(stderr, "stepscope: %zu JSON files were not read: --all says why\n", p.store.nunread);
	if (ok && p.store.stopped)
		fputs("stepscope: the directory tree is large: only a part of it was searched\n", stderr);
	cli_profile_close(&p);
	return ok ? CLI_DONE : cli_fail(&err);
}

const struct cli_command cli_command_runs = {
	.name = "runs",
	.args = "PATH [--all] [--quick] [--steps]",
	.summary = "profiles below a directory",
	.help = "Lists the runs of a log directory: name, time, size, device, step time, hosts.\n\n"
		"  -a, --all     also files that were skipped, and why\n"
		"  -q, --quick   no device and step time; opens no profile\n"
		"  -s, --steps   also the step time of runs above 200 MB, which takes a while\n"
		"      --strict  fail in the end if anything of a profile is missing\n",
	.run = run,
};
