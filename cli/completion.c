/* completion.c - stepscope completion SHELL: what makes the shell complete commands, tools and options. */
#include "cli.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

extern const struct cli_command cli_command_completion;

static void words(const char *between)
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (!cli_commands[i]->hidden)
			printf("%s%s", i ? between : "", cli_commands[i]->name);
}

static void tools(const char *between)
{
	for (size_t i = 0; ss_tools[i]; i++)
		printf("%s%s", i ? between : "", ss_tools[i]->name);
}

static void bash(void)
{
	fputs("_stepscope() {\n"
	      "	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd=${COMP_WORDS[1]}\n"
	      "	COMPREPLY=()\n"
	      "	case $prev in\n"
	      "	--format | -f) COMPREPLY=($(compgen -W 'text json csv xprof' -- \"$cur\")); return ;;\n"
	      "	--color) COMPREPLY=($(compgen -W 'auto always never' -- \"$cur\")); return ;;\n"
	      "	--run | -r)\n"
	      "		local i\n"
	      "		for ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "			[[ -e ${COMP_WORDS[i]} ]] || continue\n"
	      "			local runs=$(stepscope runs -q \"${COMP_WORDS[i]}\" 2>/dev/null | cut -d' ' -f1)\n"
	      "			COMPREPLY=($(compgen -W \"$runs\" -- \"$cur\"))\n"
	      "			return\n"
	      "		done ;;\n"
	      "	esac\n"
	      "	if ((COMP_CWORD == 1)); then\n"
	      "		COMPREPLY=($(compgen -W '",
	      stdout);
	words(" ");
	fputs(" --help --version' -- \"$cur\"))\n"
	      "	elif [[ $cmd == tool && $COMP_CWORD == 2 && $cur != -* ]]; then\n"
	      "		COMPREPLY=($(compgen -W '",
	      stdout);
	tools(" ");
	fputs("' -- \"$cur\"))\n"
	      "	elif [[ $cmd == help ]]; then\n"
	      "		COMPREPLY=($(compgen -W '",
	      stdout);
	words(" ");
	fputs("' -- \"$cur\"))\n"
	      "	elif [[ $cmd == track && $COMP_CWORD == 2 ]]; then\n"
	      "		COMPREPLY=($(compgen -W 'add show check' -- \"$cur\"))\n"
	      "	elif [[ $cmd == completion ]]; then\n"
	      "		COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\"))\n"
	      "	elif [[ $cur == -* ]]; then\n"
	      "		local o=--help\n"
	      "		case $cmd in\n"
	      "		serve) o+=' --logdir --port --bind --memory-mb --allow-host --src-prefix --history --until-eof' ;;\n"
	      "		summary) o+=' --run --host --color' ;;\n"
	      "		tool) o+=' --run --host --format --param --table --output --color' ;;\n"
	      "		tools) o+=' --run --color' ;;\n"
	      "		runs) o+=' --all --quick --steps' ;;\n"
	      "		track) o+=' --label --time --metric --where --last --format --color' ;;\n"
	      "		diff) o+=' --base --new --runs --host --steps --band --alpha --per-example --anyway "
	      "--by --format --table "
	      "--output --color' ;;\n"
	      "		gate) o+=' --base --new --runs --host --steps --band --alpha --per-example --max --min-runs --accept "
	      "--reason --format --output --color' ;;\n"
	      "		esac\n"
	      "		COMPREPLY=($(compgen -W \"$o\" -- \"$cur\"))\n"
	      "	else\n"
	      "		COMPREPLY=($(compgen -f -- \"$cur\"))\n"
	      "	fi\n"
	      "}\n"
	      "complete -o filenames -F _stepscope stepscope\n",
	      stdout);
}

/* A text in single quotes: the summaries hold apostrophes. */
static void quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	putchar('\'');
}

static void zsh(void)
{
	fputs("#compdef stepscope\n_stepscope() {\n"
	      "	local -a commands tools\n	commands=(",
	      stdout);
	for (size_t i = 0; cli_commands[i]; i++) {
		char both[200];
		snprintf(both, sizeof(both), "%s:%s", cli_commands[i]->name, cli_commands[i]->summary);
		putchar(' ');
		quoted(both);
	}
	fputs(" )\n	tools=( ", stdout);
	tools(" ");
	fputs(" )\n"
	      "	local run=('(-r --run)'{-r,--run}'[this run]:run:') color='--color[colours]:when:(auto always never)'\n"
	      "	local host=('(-H --host)'{-H,--host}'[this host]:host:')\n"
	      "	if ((CURRENT == 2)); then\n"
	      "		_describe command commands\n"
	      "		return\n"
	      "	fi\n"
	      "	local cmd=$words[2]\n"
	      "	shift words\n"
	      "	((CURRENT--))\n"
	      "	case $cmd in\n"
	      "	serve) _arguments '--logdir[log directory]:directory:_files' '--port[port]:port:' "
	      "'--bind[address]:address:' \\\n"
	      "		'--memory-mb[for opened profiles]:megabytes:' '--allow-host[further name]:name:' \\\n"
	      "		'--src-prefix[where sources are]:prefix:' '--history[a history of runs]:file:_files' "
	      "'--help[help]' '1:log directory:_files' ;;\n"
	      "	summary) _arguments $run $host $color '--help[help]' '1:profile:_files' ;;\n"
	      "	tool) _arguments $run $host $color '(-f --format)'{-f,--format}'[format]:format:(text json csv xprof)' \\\n"
	      "		'*'{-p,--param}'[k=v]:parameter:' '(-t --table)'{-t,--table}'[table]:table:' \\\n"
	      "		'(-o --output)'{-o,--output}'[file]:file:_files' '--help[help]' \"1:tool:($tools)\" "
	      "'2:profile:_files' ;;\n"
	      "	tools) _arguments $run $color '--help[help]' '1:profile:_files' ;;\n"
	      "	runs) _arguments '(-a --all)'{-a,--all}'[also files that were skipped]' '(-q --quick)'{-q,--quick}'"
	      "[names and sizes alone]' '(-s --steps)'{-s,--steps}'[steps of large runs]' '--help[help]' '1:directory:_files' ;;\n"
	      "	diff | gate) _arguments $host $color '*--base[a run of the base]:profile:_files' "
	      "'*--new[a run of the new side]:profile:_files' \\\n"
	      "		'--runs[of a log directory]:which:(newest all)' '--steps[numbers A-B]:steps:' '--band[share]:band:' "
	      "'--alpha[probability]:alpha:' \\\n"
	      "		'--per-example[divide by the batch]' '--anyway[list what cannot be compared]' '"
	      "'--by[rows]:what:(op scope module kernel source host memory)' \\\n"
	      "		'*--max[limits]:limits:' '--min-runs[runs a side]:number:' '*--accept[let it fail]:metric:' "
	      "'*--reason[why]:text:' \\\n"
	      "		'(-f --format)'{-f,--format}'[format]:format:(text json csv md junit github)' "
	      "'(-o --output)'{-o,--output}'[file]:file:_files' \\\n"
	      "		'--help[help]' '1:base:_files' '2:new:_files' ;;\n"
	      "	track) _arguments '*'{-l,--label}'[label]:k=v:' '--time[time]:time:' '*'{-m,--metric}'[metric]:metric:' "
	      "'*'{-w,--where}'[label]:k=v:' \\\n"
	      "		'--last[runs]:number:' '(-f --format)'{-f,--format}'[format]:format:(text json csv)' '--help[help]' \\\n"
	      "		'1:what:(add show check)' '2:history:_files' '*:profile:_files' ;;\n"
	      "	help) _describe command commands ;;\n"
	      "	completion) _values shell bash zsh fish ;;\n"
	      "	esac\n"
	      "}\n"
	      "_stepscope \"$@\"\n",
	      stdout);
}

static void fish(void)
{
	for (size_t i = 0; cli_commands[i]; i++) {
		printf("complete -c stepscope -f -n __fish_use_subcommand -a %s -d ", cli_commands[i]->name);
		quoted(cli_commands[i]->summary);
		putchar('\n');
	}
	for (size_t i = 0; ss_tools[i]; i++) {
		printf("complete -c stepscope -n '__fish_seen_subcommand_from tool' -a '%s' -d ", ss_tools[i]->name);
		quoted(ss_tools[i]->summary);
		putchar('\n');
	}
	fputs("complete -c stepscope -n '__fish_seen_subcommand_from track' -a 'add show check'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from diff gate' -l base -r -d 'a run of the base'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from diff gate' -l new -r -d 'a run of the new side'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from diff gate' -l runs -x -a 'newest all'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from diff' -l by -x -a "
	      "'op scope module kernel source host memory'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from diff' -l format -x -a 'text json csv md'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from gate' -l format -x -a 'text json junit github'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from gate' -l max -x -d 'limits'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from tool tools summary' -s r -l run -x -d 'this run'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from tool summary' -s H -l host -x -d 'this host'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from tool' -s f -l format -x -a 'text json csv xprof'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from tool' -s p -l param -x -d 'k=v'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from tool' -s t -l table -x -d 'this table'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from tool' -s o -l output -r -d 'write there'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from tool tools summary' -l color -x -a 'auto always never'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from runs' -s a -l all -d 'also files that were skipped'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from runs' -s q -l quick -d 'names and sizes alone'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from runs' -s s -l steps -d 'steps of large runs'\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from serve' -l logdir -r\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from serve' -l port -x\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from serve' -l bind -x\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from serve' -l memory-mb -x\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from serve' -l allow-host -x\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from serve' -l src-prefix -x\n"
	      "complete -c stepscope -n '__fish_seen_subcommand_from serve' -l history -r\n"
	      "complete -c stepscope -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n"
	      "complete -c stepscope -l help -d help\n",
	      stdout);
}

static int run(int argc, char **argv)
{
	int status = cli_parse(&cli_command_completion, argc, argv, NULL, 0, 1, 1);
	if (status >= 0)
		return status;
	const char *shell = argv[optind];
	if (strcmp(shell, "bash") == 0)
		bash();
	else if (strcmp(shell, "zsh") == 0)
		zsh();
	else if (strcmp(shell, "fish") == 0)
		fish();
	else
		return cli_misuse(&cli_command_completion, "there is no completion for '%s', only for bash, zsh and "
			      "fish", shell);
	return CLI_DONE;
}

const struct cli_command cli_command_completion = {
	.name = "completion",
	.args = "bash|zsh|fish",
	.summary = "print a script that completes commands, tools and options",
	.help = "Prints a script for the shell:\n\n"
		"  bash  source <(stepscope completion bash)\n"
		"  zsh   stepscope completion zsh >~/.zfunc/_stepscope\n"
		"  fish  stepscope completion fish >~/.config/fish/completions/stepscope.fish\n",
	.run = run,
};
