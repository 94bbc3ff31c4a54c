/* runs.c - stepscope runs PATH: which profiles there are. */
#include "cli.h"

#include "emit/units.h"

#include <getopt.h>
#include <stdio.h>
#include <time.h>

extern const struct cli_command cli_command_runs;

static void print_run(struct ss_out *o, const struct ss_run *r, size_t widest)
{
	char size[32], when[32] = "";
	time_t t = (time_t)(r->mtime_ns / 1000000000);
	struct tm tm;
	if (localtime_r(&t, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	ss_format_value(size, sizeof(size), SS_UNIT_BYTES, (double)r->bytes);
	size_t cells = ss_text_put(o, r->name, 0);
	ss_text_pad(o, widest - cells);
	ss_out_printf(o, "  %s  %10s ", when, size);
	for (size_t i = 0; i < r->nhosts; i++) {
		ss_out_char(o, ' ');
		ss_text_put(o, r->hosts[i].name, 0);
		if (i == 7 && r->nhosts > 9) {
			ss_out_printf(o, " and %zu more hosts", r->nhosts - 8);
			break;
		}
	}
	struct ss_str host = SS_STR("");
	for (size_t at = 0, n = 0; !r->nhosts && n < 8 && ss_run_answer_host(r, &at, &host); n++) {
		ss_out_char(o, ' ');
		ss_text_put(o, host, 0);
	}
	ss_out_char(o, '\n');
}

static void print_looked(struct ss_out *o, const struct ss_store *s)
{
	for (size_t i = 0; i < s->nlooked; i++) {
		ss_text_put(o, s->looked[i].path, 0);
		ss_out_printf(o, " %s\n", s->looked[i].why);
	}
	if (s->nlooked_all > s->nlooked)
		ss_out_printf(o, "... and %zu more\n", s->nlooked_all - s->nlooked);
}

static int run(int argc, char **argv)
{
	bool all = false;
	const struct cli_opt opts[] = { CLI_FLAG("all", 'a', &all) };
	int status = cli_parse(&cli_command_runs, argc, argv, opts, SS_COUNT(opts), 1, 1);
	if (status >= 0)
		return status;
	struct cli_profile p;
	struct cli_sink sink;
	struct ss_err err = { 0 };
	bool ok = cli_profile_find(&p, argv[optind], NULL, &err) && cli_sink_open(&sink, NULL, &err);
	if (ok) {
		size_t widest = 0;
		for (size_t i = 0; i < p.store.nruns; i++) {
			size_t cells = ss_text_cells(p.store.runs[i].name);
			widest = cells > widest ? cells : widest;
		}
		for (size_t i = 0; i < p.store.nruns; i++)
			if (ss_run_holds(&p.store.runs[i]))
				print_run(&sink.out, &p.store.runs[i], widest);
		if (all && p.store.nlooked) {
			ss_out_lit(&sink.out, "\nNot taken:\n");
			print_looked(&sink.out, &p.store);
		}
		ok = cli_sink_close(&sink, true, &err);
	}
	if (ok && p.store.stopped)
		fputs("stepscope: this is a large tree: only a part of it was looked at\n", stderr);
	cli_profile_close(&p);
	return ok ? CLI_DONE : cli_fail(&err);
}

const struct cli_command cli_command_runs = {
	.name = "runs",
	.args = "PATH [--all]",
	.summary = "profiles below a directory",
	.help = "Lists the runs of a log directory: name, time, size, hosts.\n\n"
		"  -a, --all   also what was looked at and not taken, and why\n",
	.run = run,
};
