/* tool.c - stepscope tool NAME PATH: one analysis in one of five formats. */
#include "cli.h"

#include "emit/json.h"
#include "request/request.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define TERMINAL_ROWS 40	/* of each table, where it would scroll away; a pipe gets all */

extern const struct cli_command cli_command_tool;

static const char *tool_word(const void *list, size_t i)
{
	(void)list;
	return ss_tools[i] ? ss_tools[i]->name : NULL;
}

static const char *param_word(const void *list, size_t i)
{
	const struct ss_tool *t = list;
	return i < t->nparams ? t->params[i].name : NULL;
}

static int refuse_param(const struct ss_tool *tool, const char *name)
{
	struct ss_buf has = { 0 };
	for (size_t k = 0; k < tool->nparams; k++)
		ss_buf_printf(&has, "%s%s", k ? ", " : ": it has ", tool->params[k].name);
	ss_buf_z(&has, tool->nparams ? "" : ": it takes none");
	int status = cli_misuse(&cli_command_tool, "%s has no parameter '%s'" SS_FMT, tool->name, name, SS_ARG(ss_buf_get(&has)));
	ss_buf_free(&has);
	return status;
}

/* Every parameter must be one of the tool's, or a slip would change the answer in silence. */
static int check_params(const struct ss_tool *tool, const struct cli_params *p)
{
	for (size_t i = 0; i < p->n; i++) {
		bool known = false;
		for (size_t k = 0; k < tool->nparams; k++)
			known = known || ss_str_is(p->v[i].name, tool->params[k].name);
		if (known)
			continue;
		char name[64];
		snprintf(name, sizeof(name), SS_FMT, SS_ARG(p->v[i].name));
		const char *meant = cli_closest(name, param_word, tool);
		if (meant)
			return cli_misuse(&cli_command_tool, "%s has no parameter '%s'; did you mean '%s'?",
					  tool->name, name, meant);
		return refuse_param(tool, name);
	}
	return -1;
}

static const struct ss_tool *find_tool(const char *name)
{
	const struct ss_tool *t = ss_tool_find(ss_str_from(name));
	if (t)
		return t;
	const char *meant = cli_closest(name, tool_word, NULL);
	fprintf(stderr, "stepscope: there is no tool '%s'", name);
	if (meant)
		fprintf(stderr, "; did you mean '%s'?", meant);
	fprintf(stderr, "\nstepscope: %s lists them\n", cli_for_agent ? "the tool 'tools'" : "'stepscope help tools'");
	return NULL;
}

static bool format_of(const char *name, enum ss_format *format)
{
	static const struct {
		const char *name;
		enum ss_format format;
	} formats[] = {
		{ "text", SS_FORMAT_TEXT },
		{ "json", SS_FORMAT_JSON },
		{ "csv", SS_FORMAT_CSV_IDS },
		{ "xprof", SS_FORMAT_XPROF },
		{ "folded", SS_FORMAT_FOLDED },
	};
	for (size_t i = 0; i < SS_COUNT(formats); i++)
		if (strcmp(name, formats[i].name) == 0) {
			*format = formats[i].format;
			return true;
		}
	return false;
}

/* Print what the formats have no place for to stderr. */
static void say_notes(const struct ss_tool_request *ask)
{
	const struct ss_result *r = &ask->result;
	size_t ntables = 0, cut = 0;
	for (size_t i = 0; ask->format != SS_FORMAT_JSON && i < r->nnotes; i++)
		cli_say(ss_severity_name(r->notes[i].severity), r->notes[i].text);
	for (size_t i = 0; i < r->ntables; i++)
		ntables += r->tables[i].ncols > 0;
	for (size_t i = 0; ask->format == SS_FORMAT_TEXT && i < r->ntables; i++)
		cut += ask->style.max_rows && r->tables[i].nrows > ask->style.max_rows;
	if (cut)
		fputs("stepscope: only the first rows of long tables are shown; pipe the output ('| less -S') to see "
		      "all\n",
		      stderr);
	if (ask->format != SS_FORMAT_CSV_IDS || ask->table.n || ntables < 2)
		return;
	fprintf(stderr, "stepscope: this is the first of %zu tables (use --table NAME for another, or --table all):", ntables);
	for (size_t i = 0; i < r->ntables; i++)
		if (r->tables[i].ncols)
			fprintf(stderr, " %s", r->tables[i].name);
	fputc('\n', stderr);
}

static bool answer(struct ss_tool_request *ask, struct cli_profile *p, const char *output, struct ss_err *err)
{
	struct cli_sink sink;
	if (!cli_profile_spared(p, output, err) || !cli_sink_open(&sink, output, err))
		return false;
	struct cli_progress *progress = cli_progress_start(p);
	bool ok = ss_tool_answer(ask, &sink.out, err) && cli_profile_intact(p, err);
	cli_progress_end(progress);
	if (ok && (ask->format == SS_FORMAT_JSON || ask->format == SS_FORMAT_XPROF) && !output)
		ss_out_char(&sink.out, '\n');
	ok = cli_sink_close(&sink, ok, err);
	if (ok)
		say_notes(ask);
	return ok;
}

static int run(int argc, char **argv)
{
	const char *run_name = NULL, *host = NULL, *format = "text", *output = NULL, *colour = NULL,
		   *table = NULL, *column = NULL;
	bool alone = false;
	struct cli_params params = { .n = 0 };
	const struct cli_opt opts[] = {
		CLI_TEXT("run", 'r', &run_name),  CLI_TEXT("host", 'H', &host),
		CLI_TEXT("format", 'f', &format), CLI_EACH("param", 'p', cli_take_param, &params),
		CLI_OUTPUT(&output), CLI_TEXT("table", 't', &table),
		CLI_TEXT("column", 'c', &column), CLI_TEXT("color", 0, &colour),
		CLI_FLAG("alone", 0, &alone),	  CLI_STRICT,
	};
	int status = cli_parse(&cli_command_tool, argc, argv, opts, SS_COUNT(opts), 2, 2);
	if (status >= 0)
		return status;
	struct ss_tool_request ask = { .params = params.v, .notes_apart = true };
	if (!format_of(format, &ask.format))
		return cli_misuse(&cli_command_tool, "unknown format '%s': use text, json, csv, folded or xprof",
				  format);
	ask.tool = find_tool(argv[optind]);
	if (!ask.tool)
		return CLI_FAILED;
	status = check_params(ask.tool, &params);
	if (status >= 0)
		return status;
	struct cli_profile p;
	struct ss_err err = { 0 };
	bool ok = cli_profile_find(&p, argv[optind + 1], run_name, &err);
	p.alone = alone;
	ok = ok && cli_profile_open_for(&p, ask.tool, host, &err);
	if (ok) {
		ask.nparams = params.n;
		ask.model = &p.model;
		ask.run = p.run->name;
		ask.host = p.hosts_asked.name;
		ask.table = ss_str_from(table);
		ask.column = ss_str_from(column);
		ask.style = cli_style(colour);
		ask.style.max_rows = ask.style.width ? TERMINAL_ROWS : 0;
		if (output)
			ask.style = (struct ss_text_style){ .colour = colour && strcmp(colour, "always") == 0 };
		ok = answer(&ask, &p, output, &err);
	}
	ss_tool_request_release(&ask);
	cli_profile_close(&p);
	return ok ? CLI_DONE : cli_fail(&err);
}

const struct cli_command cli_command_tool = {
	.name = "tool",
	.args = "NAME PATH [--run R] [--host H] [--format text|json|csv|folded|xprof] [--param k=v]... [--output "
		"FILE]",
	.summary = "print the answer of one tool",
	.help = "Runs the tool NAME on the profile at PATH: a log directory, a run, or one file.\n\n"
		"  -r, --run R       the run to open (default: the newest; 'stepscope runs PATH' lists them)\n"
		"      --alone       that run alone, without others of the same recording, which began seconds apart\n"
		"  -H, --host H      the host; several separated by commas; or ALL_HOSTS\n"
		"  -f, --format F    text for people; json by column with units; csv tables;\n"
		"                    folded: stacks of a tree (modules) for flamegraph.pl and\n"
		"                    speedscope; xprof for XProf's clients\n"
		"  -p, --param k=v   a parameter of the tool ('stepscope tools PATH' lists them)\n"
		"  -t, --table T     csv only: the table to print, or all (default: the first)\n"
		"  -c, --column C    folded only: a time or bytes of the tree (default: the first)\n"
		"  -o, --output FILE write to FILE instead of stdout\n"
		"      --strict      fail if anything of a profile is missing (default: a warning)\n"
		"      --color WHEN  always, never or auto\n\n"
		"  stepscope tool overview_page logs/\n"
		"  stepscope tool framework_op_stats logs/ --host ALL_HOSTS --format csv >ops.csv\n",
	.run = run,
};
