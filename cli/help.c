/* help.c - stepscope help [COMMAND]. */
#include "cli.h"

#include <stdio.h>
#include <getopt.h>
#include <string.h>

extern const struct cli_command cli_command_help;

static void list_commands(void)
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (!cli_commands[i]->hidden)
			printf("stepscope %s %s\n    %s\n", cli_commands[i]->name, cli_commands[i]->args,
			       cli_commands[i]->summary);
}

static void list_tools(void)
{
	puts("\nThe analyses:");
	for (size_t i = 0; ss_tools[i]; i++)
		printf("  %-26s %s\n", ss_tools[i]->name, ss_tools[i]->summary);
}

static int run(int argc, char **argv)
{
	int status = cli_parse(&cli_command_help, argc, argv, NULL, 0, 0, 1);
	if (status >= 0)
		return status;
	if (optind >= argc) {
		list_commands();
		return CLI_DONE;
	}
	const struct cli_command *c = cli_command_find(argv[optind]);
	if (!c)
		return cli_misuse(&cli_command_help, "there is no command '%s'", argv[optind]);
	cli_print_help(c);
	if (strcmp(c->name, "tool") == 0 || strcmp(c->name, "tools") == 0)
		list_tools();
	return CLI_DONE;
}

const struct cli_command cli_command_help = {
	.name = "help",
	.args = "[COMMAND]",
	.summary = "show the help of a command",
	.help = "Prints the help of a command, or lists all.\n",
	.run = run,
};
