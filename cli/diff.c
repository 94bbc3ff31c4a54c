/* diff.c - stepscope diff BASE NEW: what changed between two sides of runs. */
#include "sides.h"

#include "emit/csv.h"
#include "emit/json.h"
#include "emit/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct cli_command cli_command_diff;

#define TERMINAL_ROWS 40 /* of each table of a tool */

enum format { TEXT, JSON, CSV, MARKDOWN, FORMATS };

static const char *const formats[FORMATS] = { "text", "json", "csv", "md" };

static bool print_csv(struct ss_out *o, const struct cli_sides *s, const char *table, struct ss_err *err)
{
	const struct ss_table *t = ss_result_find(&s->result, table);
	if (!t->ncols)
		return ss_fail(err, SS_ENOTFOUND, "there is no table '%s' in this comparison", table);
	ss_emit_csv(o, t, NULL);
	return true;
}

/* For people the figure that is tested; the other formats have all. */
static void print_tool(struct ss_out *o, const struct cli_sides *s, enum format format, struct ss_text_style style)
{
	struct ss_result r = s->result;
	for (size_t i = 0; i < r.ntables; i++) {
		size_t verdict = ss_table_col(&r.tables[i], "verdict");
		r.tables[i].ncols = verdict == SS_NPOS ? r.tables[i].ncols : verdict + 1;
	}
	style.max_rows = style.width ? TERMINAL_ROWS : 0;
	if (format == MARKDOWN)
		cli_diff_tool_markdown(o, &r);
	else
		ss_emit_text(o, &r, &style);
}

static bool is_param(const struct ss_tool *t, struct ss_str name)
{
	for (size_t i = 0; t && i < t->nparams; i++)
		if (ss_str_is(name, t->params[i].name))
			return true;
	return false;
}

/* -1 to go on, else the exit status. */
static int choose_tool(struct cli_sides *s, const char *name, const struct cli_params *params)
{
	s->tool = name ? ss_tool_find(ss_str_from(name)) : NULL;
	s->params = params->v;
	s->nparams = params->n;
	if (name && !s->tool)
		return cli_misuse(&cli_command_diff, "there is no tool '%s': 'stepscope help tools' lists them", name);
	for (size_t i = 0; i < params->n; i++)
		if (!is_param(s->tool, params->v[i].name))
			return cli_misuse(&cli_command_diff, "%s has no parameter '" SS_FMT "'",
					  name ? name : "diff without --tool", SS_ARG(params->v[i].name));
	return -1;
}

static bool print(struct cli_sides *s, enum format format, enum ss_diff_by by, const char *table, const char *colour,
		  struct ss_err *err)
{
	struct cli_sink sink;
	const struct ss_text_style style = cli_sides_style(s, colour);
	bool ok = true;
	if (!cli_sink_open(&sink, s->output, err))
		return false;
	if (format == JSON) {
		ok = ss_diff_emit_json(&sink.out, &s->diff, &s->result, SS_STR("diff"), SS_STR("")) || ss_fail_mem(err);
		ss_out_char(&sink.out, '\n');
	} else if (format == CSV) {
		const char *first = !s->tool ? ss_diff_by_table(by) : s->result.ntables ? s->result.tables[0].name : "";
		ok = print_csv(&sink.out, s, table ? table : first, err);
	} else if (s->tool) {
		print_tool(&sink.out, s, format, style);
	} else if (format == MARKDOWN) {
		cli_diff_markdown(&sink.out, s, by);
	} else {
		cli_diff_text(&sink.out, s, by, &style);
	}
	return cli_sink_close(&sink, ok, err);
}

static bool fill(struct cli_sides *s, enum ss_diff_by by, struct ss_err *err)
{
	if (!s->tool)
		return ss_diff_result(&s->diff, by, &s->result, err);
	const struct ss_tool_side base = { s->base_tool.v.v, s->base_tool.v.n }, new = { s->new_tool.v.v, s->new_tool.v.n };
	return ss_diff_tool_result(&s->diff, ss_str_from(s->tool->name), base, new, &s->result, err);
}

/* What is asked for on the command line. */
struct asked {
	struct cli_sides s;
	struct cli_params params;
	const char *by, *format, *table, *colour, *tool;
};

#define OPTIONS(a) \
	{ \
		CLI_SIDES_OPTS(&(a)->s), CLI_TEXT("tool", 0, &(a)->tool), CLI_EACH("param", 'p', cli_take_param, &(a)->params), \
		CLI_FLAG("anyway", 0, &(a)->s.anyway), CLI_TEXT("by", 'b', &(a)->by), CLI_TEXT("format", 'f', &(a)->format), \
		CLI_TEXT("table", 't', &(a)->table), CLI_TEXT("color", 0, &(a)->colour), \
	}

static const struct cli_opt *options(size_t *n)
{
	static struct asked nowhere;
	static const struct cli_opt opts[] = OPTIONS(&nowhere);
	*n = SS_COUNT(opts);
	return opts;
}

static int run(int argc, char **argv)
{
	struct asked a = { .by = "op", .format = "text" };
	struct cli_sides *s = &a.s;
	const struct cli_opt opts[] = OPTIONS(&a);
	enum ss_diff_by by;
	int format;
	struct ss_err err = { 0 };
	struct ss_arena arena = { 0 };
	int status = cli_parse(&cli_command_diff, argc, argv, opts, SS_COUNT(opts), 0, 2);
	if (status >= 0)
		return status;
	if (!ss_diff_by_of(ss_str_from(a.by), &by))
		return cli_misuse(&cli_command_diff,
				  "cannot compare by '%s': use op, scope, module, kernel, source, host or memory", a.by);
	if (!cli_word(a.format, formats, FORMATS, &format))
		return cli_misuse(&cli_command_diff, "unknown format '%s': use text, json, csv or md", a.format);
	status = choose_tool(s, a.tool, &a.params);
	if (status < 0)
		status = cli_sides_parse(s, &cli_command_diff, argc, argv);
	if (status >= 0)
		return status;
	bool ok = cli_sides_compare(s, &arena, &err) && fill(s, by, &err) &&
		  print(s, (enum format)format, by, a.table, a.colour, &err);
	cli_sides_free(s);
	ss_arena_release(&arena);
	if (ok)
		return CLI_DONE;
	cli_fail(&err);
	return CLI_MISUSE;
}

const struct cli_command cli_command_diff = {
	.name = "diff",
	.args = "BASE NEW [--base PATH]... [--new PATH]... [--by WHAT | --tool NAME] [--format text|json|csv|md] "
		"[--output FILE]",
	.summary = "what changed between two profiles, and whether it is more than noise",
	.help = "Compares the runs of two sides: the step time with its interval, where the difference is, which "
		"operations\n"
		"and functions changed. BASE and NEW are what other commands take: a log directory, a run, or one "
		"file.\n\n" CLI_SIDES_HELP "      --anyway      also list operations of sides that cannot be compared\n"
		"  -b, --by WHAT     op, scope, module, kernel, source, host or memory\n"
		"      --tool NAME   the tables of this tool instead: each row of both sides, delta and significance\n"
		"  -p, --param k=v   a parameter of that tool\n"
		"  -f, --format F    text, json, csv (the table of --by), or md for a pull request\n"
		"  -t, --table T     csv only: this table\n"
		"  -o, --output FILE write to FILE instead of stdout\n"
		"      --color WHEN  always, never or auto\n\n"
		"The exit status is 0 if the comparison ran, even if the sides are not comparable, and 2 if a side has no "
		"steps or\n"
		"cannot be read. 'stepscope gate' passes or fails a change.\n\n"
		"  stepscope diff before/ after/\n"
		"  stepscope diff --base a1 --base a2 --base a3 --new b1 --new b2 --new b3\n"
		"  stepscope diff before/ after/ --tool hlo_stats\n",
	.options = options,
	.run = run,
};
