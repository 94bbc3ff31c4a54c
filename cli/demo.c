/* demo.c - stepscope demo: a look around without a profile of one's own. */
#include "cli.h"

#include "location/demo.h"

#include <getopt.h>
#include <stdio.h>

extern const struct cli_command cli_command_demo;

/* Another command, as if it were typed. */
static int run_command(const char *name, char **argv)
{
	int argc = 0;
	while (argv[argc])
		argc++;
	optind = 0;
	return cli_command_find(name)->run(argc, argv);
}

static int run(int argc, char **argv)
{
	static char summary[] = "summary", serve[] = "serve", port_option[] = "--port", place[] = SS_DEMO_NAME, preset[] = "6006";
	const char *port = preset;
	bool no_serve = false;
	const struct cli_opt opts[] = { CLI_TEXT("port", 'p', &port), CLI_FLAG("no-serve", 0, &no_serve) };
	int status = cli_parse(&cli_command_demo, argc, argv, opts, SS_COUNT(opts), 0, 0);
	if (status >= 0)
		return status;
	char *shown[] = { summary, place, NULL }, *served[] = { serve, place, port_option, (char *)(uintptr_t)port, NULL };
	status = run_command("summary", shown);
	if (status != CLI_DONE || no_serve)
		return status;
	fputs("\nThis is a recorded program that stepscope carries: " SS_DEMO_NAME " is its PATH, for every command.\n", stdout);
	fflush(stdout);
	return run_command("serve", served);
}

const struct cli_command cli_command_demo = {
	.name = "demo",
	.args = "[--port N] [--no-serve]",
	.summary = "show a program that was recorded: its summary, and its page",
	.help = "Prints the summary of a small JAX program that stepscope carries, and serves its page, beside one on three\n"
		"TPU hosts, until Ctrl-C. Every command takes " SS_DEMO_NAME " as PATH.\n\n"
		"  -p, --port N     port of the page (default: 6006); 0: a free port\n"
		"      --no-serve   the summary alone\n\n"
		"  stepscope demo\n"
		"  stepscope tool op_profile " SS_DEMO_NAME "\n",
	.run = run,
};
