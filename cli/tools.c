/* tools.c - stepscope tools PATH: which analyses there are for a profile. */
#include "cli.h"
#include "model/host/host.h"

#include "request/request.h"

#include <getopt.h>
#include <stdio.h>

extern const struct cli_command cli_command_tools;

static void print_tool(struct ss_out *o, const struct ss_tool *t, bool present,
		       const struct ss_text_style *style)
{
	ss_text_tone(o, style, present ? SS_TONE_BOLD : SS_TONE_DIM);
	ss_out_printf(o, "%-26s", t->name);
	ss_text_tone(o, style, SS_TONE_PLAIN);
	ss_out_printf(o, " %s%s\n", t->summary, present ? "" : " (no data in this profile)");
	for (size_t i = 0; i < t->nparams; i++) {
		const struct ss_param *p = &t->params[i];
		ss_text_tone(o, style, SS_TONE_DIM);
		ss_out_printf(o, "    %s=%s  %s\n", p->name, p->values ? p->values : "", p->doc ? p->doc : "");
		ss_text_tone(o, style, SS_TONE_PLAIN);
	}
}

#define HOSTS_TRIED 16u

/* The first host, or the first of the next that can be read; `err` says why the first cannot. */
static bool open_one(struct cli_profile *p, const char *path, const char *run, struct ss_err *err)
{
	struct ss_err other;
	for (size_t i = 0; i < HOSTS_TRIED; i++) {
		struct ss_err *why = i ? &other : err;
		if (!cli_profile_find(p, path, run, why) || !cli_run_whole(p->run, why))
			return false;
		const char *host = NULL; /* the first */
		if (i && i < p->run->nhosts && !(host = ss_arena_printf(&p->arena, SS_FMT, SS_ARG(p->run->hosts[i].name)).p))
			return ss_fail_mem(why);
		if (!p->run->nhosts || cli_profile_open(p, host, false, why))
			return true;
		if (i + 1 >= p->run->nhosts)
			return false;
		cli_profile_close(p);
	}
	return false;
}

static int run(int argc, char **argv)
{
	const char *run_name = NULL, *colour = NULL;
	const struct cli_opt opts[] = {
		CLI_TEXT("run", 'r', &run_name),
		CLI_TEXT("color", 0, &colour),
		CLI_STRICT,
	};
	int status = cli_parse(&cli_command_tools, argc, argv, opts, SS_COUNT(opts), 1, 1);
	if (status >= 0)
		return status;
	struct cli_profile p;
	struct cli_sink sink;
	struct ss_err err = { 0 };
	/* Like XProf, by the first host alone, but for programs: nothing needs to be read. */
	bool ok = open_one(&p, argv[optind], run_name, &err) && cli_sink_open(&sink, NULL, &err);
	if (ok) {
		struct ss_text_style style = cli_style(colour);
		const struct ss_host *first = p.nhosts ? &p.hosts[0] : NULL;
		unsigned met = ss_request_met(p.run, first, ~0u);
		for (size_t i = 0; ss_tools[i]; i++)
			if (ss_request_listed(ss_tools[i], p.run))
				print_tool(&sink.out, ss_tools[i],
					   ss_request_present(ss_tools[i], p.run, first, met), &style);
		ok = cli_sink_close(&sink, cli_profile_intact(&p, &err), &err);
	}
	cli_profile_close(&p);
	return ok ? CLI_DONE : cli_fail(&err);
}

const struct cli_command cli_command_tools = {
	.name = "tools",
	.args = "PATH [--run R]",
	.summary = "list the tools that a profile has data for",
	.help = "Lists the analyses by name with their parameters, for the newest run at PATH or the one "
		"given.\n\n"
		"  -r, --run R       this run\n"
		"      --strict      fail if anything of a profile is missing (default: a warning)\n"
		"      --color WHEN  always, never or auto\n",
	.run = run,
};
