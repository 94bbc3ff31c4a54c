/* xprof.c - stepscope xprof SUBCOMMAND: XProf's command line (src/xprof/cli). */
#include "cli.h"

#include "xprof/cli/xcli.h"

#include <stdio.h>
#include <string.h>

static const char *subcommand(const void *list, size_t i)
{
	(void)list;
	return xcli_commands[i].name;
}

static void list_subcommands(FILE *to)
{
	fputs("usage: stepscope xprof SUBCOMMAND [SESSION] [--flag=value]...\n\nSubcommands:\n",
	      to);
	for (const struct xcli_command *c = xcli_commands; c->name; c++) {
		fprintf(to, "  %s", c->name);
		for (size_t i = 0; i < XCLI_MAX_PARAMS && c->params[i].name; i++)
			fprintf(to, c->params[i].preset ? " [--%s]" : " --%s", c->params[i].name);
		fputc('\n', to);
	}
	fputs("each but server takes --logdir and --host, and --strict: fail if anything of a profile is missing\n", to);
	fputs("  server [--logdir] [--port]\n", to);
}

/* The web server, on the ports that XProf's clients expect. */
static int serve(int argc, char **argv)
{
	static char name[] = "serve", port[] = "--port", preset[] = "8791", dir[] = "--logdir";
	char *args[8] = { name };
	int n = 1;
	char *number = preset, *logdir = NULL;
	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], "--port=", 7) == 0)
			number = argv[i] + 7;
		else if (strcmp(argv[i], "--port") == 0 && i + 1 < argc)
			number = argv[++i];
		else if (strncmp(argv[i], "--logdir=", 9) == 0)
			logdir = argv[i] + 9;
		else if (strcmp(argv[i], "--logdir") == 0 && i + 1 < argc)
			logdir = argv[++i];
		else if (argv[i][0] != '-' && !logdir)
			logdir = argv[i];
	}
	args[n++] = port;
	args[n++] = number;
	if (logdir) {
		args[n++] = dir;
		args[n++] = logdir;
	}
	return cli_command_find("serve")->run(n, args);
}

static int run(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	if (word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
		list_subcommands(stdout);
		return CLI_DONE;
	}
	if (!word) {
		list_subcommands(stderr);
		return CLI_MISUSE;
	}
	if (word[0] == '-')
		return serve(argc - 1, argv + 1);
	if (strcmp(word, "server") == 0)
		return serve(argc - 2, argv + 2);
	if (xcli_find(xcli_commands, word))
		return xcli_main(argc - 1, argv + 1);
	const char *meant = cli_closest(word, subcommand, NULL);
	fprintf(stderr, "stepscope: xprof has no subcommand '%s'", word);
	if (meant)
		fprintf(stderr, "; did you mean '%s'?", meant);
	fputs("\n\n", stderr);
	list_subcommands(stderr);
	return CLI_MISUSE;
}

const struct cli_command cli_command_xprof = {
	.name = "xprof",
	.args = "SUBCOMMAND [SESSION] [--flag=value]...",
	.summary = "answer as XProf's command line does, in its JSON",
	.help = "Takes the subcommands and flags of XProf 2.24.2's command line and prints its "
		"JSON, with its\n"
		"exit statuses (docs/xprof_cli.md). Called through a link of the name 'xprof' the "
		"program\n"
		"does the same. 'stepscope xprof --help' lists the subcommands.\n\n"
		"  stepscope xprof get_overview logs/\n"
		"  stepscope xprof get_hlo_op_profile logs/ --view=category\n",
	.run = run,
};
