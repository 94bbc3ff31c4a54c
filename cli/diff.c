/* diff.c - stepscope diff BASE NEW: what changed between two sides of runs. */
#include "sides.h"

#include "emit/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct cli_command cli_command_diff;

enum format { TEXT, JSON, CSV, MARKDOWN, FORMATS };

static bool format_of(const char *name, enum format *out)
{
	static const char *const names[FORMATS] = { "text", "json", "csv", "md" };
	for (int i = 0; i < FORMATS; i++)
		if (strcmp(name, names[i]) == 0) {
			*out = (enum format)i;
			return true;
		}
	return false;
}

static bool print_csv(struct ss_out *o, const struct cli_sides *s, const char *table, struct ss_err *err)
{
	const struct ss_table *t = ss_result_find(&s->result, table);
	if (!t->ncols)
		return ss_fail(err, SS_ENOTFOUND, "there is no table '%s' in this comparison", table);
	ss_emit_csv(o, t, NULL);
	return true;
}

static bool print(struct cli_sides *s, enum format format, enum ss_diff_by by, const char *table, const char *output,
		  const char *colour, struct ss_err *err)
{
	struct cli_sink sink;
	struct ss_text_style style = cli_style(colour);
	bool ok = true;
	if (!cli_sink_open(&sink, output, err))
		return false;
	if (output)
		style = (struct ss_text_style){ .colour = colour && strcmp(colour, "always") == 0 };
	if (format == JSON) {
		ok = ss_diff_emit_json(&sink.out, &s->diff, &s->result, SS_STR("diff"), SS_STR("")) || ss_fail_mem(err);
		ss_out_char(&sink.out, '\n');
	} else if (format == CSV) {
		ok = print_csv(&sink.out, s, table ? table : ss_diff_by_table(by), err);
	} else if (format == MARKDOWN) {
		cli_diff_markdown(&sink.out, s, by);
	} else {
		cli_diff_text(&sink.out, s, by, &style);
	}
	return cli_sink_close(&sink, ok, err);
}

static int run(int argc, char **argv)
{
	struct cli_sides s = { 0 };
	const char *by_word = "op", *format_word = "text", *table = NULL, *output = NULL, *colour = NULL;
	const struct cli_opt opts[] = {
		CLI_SIDES_OPTS(&s),
		CLI_FLAG("anyway", 0, &s.anyway),
		CLI_TEXT("by", 'b', &by_word),
		CLI_TEXT("format", 'f', &format_word),
		CLI_TEXT("table", 't', &table),
		CLI_TEXT("output", 'o', &output),
		CLI_TEXT("color", 0, &colour),
	};
	enum ss_diff_by by;
	enum format format;
	struct ss_err err = { 0 };
	struct ss_arena arena = { 0 };
	int status = cli_parse(&cli_command_diff, argc, argv, opts, SS_COUNT(opts), 0, 2);
	if (status >= 0)
		return status;
	if (!ss_diff_by_of(ss_str_from(by_word), &by))
		return cli_misuse(&cli_command_diff,
				  "cannot compare by '%s': use op, scope, module, kernel, source, host or memory", by_word);
	if (!format_of(format_word, &format))
		return cli_misuse(&cli_command_diff, "unknown format '%s': use text, json, csv or md", format_word);
	status = cli_sides_parse(&s, &cli_command_diff, argc, argv);
	if (status >= 0)
		return status;
	bool ok = cli_sides_compare(&s, &arena, &err) && ss_diff_result(&s.diff, by, &s.result, &err) &&
		  print(&s, format, by, table, output, colour, &err);
	cli_sides_free(&s);
	ss_arena_release(&arena);
	if (ok)
		return CLI_DONE;
	cli_fail(&err);
	return CLI_MISUSE;
}

const struct cli_command cli_command_diff = {
	.name = "diff",
	.args = "BASE NEW [--base PATH]... [--new PATH]... [--by WHAT] [--format text|json|csv|md] [--output FILE]",
	.summary = "what changed between two profiles, and whether it is more than noise",
	.help = "Compares the runs of two sides: the step time with its interval, where the difference is, which "
		"operations\n"
		"and functions changed. BASE and NEW are what other commands take: a log directory, a run, or one "
		"file.\n\n" CLI_SIDES_HELP "      --anyway      list operations of sides that cannot be compared, too\n"
		"  -b, --by WHAT     op, scope, module, kernel, source, host or memory\n"
		"  -f, --format F    text, json, csv (the table of --by), or md for a pull request\n"
		"  -t, --table T     csv only: this table\n"
		"  -o, --output FILE write to FILE instead of stdout\n"
		"      --color WHEN  always, never or auto\n\n"
		"The status is 0 where the sides were compared, also when they are not comparable; 2 where a side has no "
		"steps or\n"
		"cannot be read. 'stepscope gate' decides.\n\n"
		"  stepscope diff before/ after/\n"
		"  stepscope diff --base a1 --base a2 --base a3 --new b1 --new b2 --new b3\n",
	.run = run,
};
