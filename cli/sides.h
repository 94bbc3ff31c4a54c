/*
 * sides.h - the two sides of a comparison, as they are named on the command line: what diff and
 * gate share.
 */
#ifndef SS_CLI_SIDES_H
#define SS_CLI_SIDES_H

#include "cli.h"

#include "diff/result.h"
#include "diff/tool_tables.h"
#include "request/tool_answers.h"

#define CLI_MOST_RUNS 64

struct cli_paths {
	const char *v[CLI_MOST_RUNS];
	size_t n;
};

struct cli_sides {
	struct cli_paths base, new;
	const char *runs, *host, *steps, *band, *alpha, *output; /* options as given, or NULL */
	bool per_example, anyway;
	const struct ss_tool *tool; /* whose tables are compared as well; NULL */
	const struct ss_param_value *params;
	size_t nparams;
	/* Read: */
	struct ss_tool_answers base_tool, new_tool;
	SS_VEC(struct ss_diff_run) base_runs, new_runs;
	struct ss_diff diff;
	struct ss_result result;
};

/* The options that both commands take. */
#define CLI_SIDES_OPTS(s) \
	CLI_EACH("base", 0, cli_take_path, &(s)->base), CLI_EACH("new", 0, cli_take_path, &(s)->new), \
		CLI_TEXT("runs", 0, &(s)->runs), CLI_TEXT("host", 'H', &(s)->host), CLI_TEXT("steps", 0, &(s)->steps), \
		CLI_TEXT("band", 0, &(s)->band), CLI_TEXT("alpha", 0, &(s)->alpha), \
		CLI_FLAG("per-example", 0, &(s)->per_example), CLI_STRICT, CLI_OUTPUT(&(s)->output)
#define CLI_SIDES_HELP \
	"      --base PATH   a run of the base; repeat it for each further run of the same program\n" \
	"      --new PATH    a run of the new side; repeat it for each further run\n" \
	"      --runs WHICH  of a log directory with several runs: newest (default), or all as runs of that side\n" \
	"  -H, --host H      compare this host; several separated by commas\n" \
	"      --steps A-B   only the steps with these numbers\n" \
	"      --band P      difference between recordings of an unchanged program (default: 2% with one run a side, else 1%)\n" \
	"      --alpha P     the probability of a false alarm that is accepted (default: 0.05)\n" \
	"      --strict      fail if anything of a profile is missing (default: a warning)\n" \
	"      --per-example divide by the batch where the sides differ in it\n"
bool cli_take_path(void *arg, const char *value);

/* Operands as sides, options checked. -1 to go on, else the exit status. */
int cli_sides_parse(struct cli_sides *s, const struct cli_command *c, int argc, char **argv);
/* Read both sides and compare; the result is empty yet. The failure names the side. */
bool cli_sides_compare(struct cli_sides *s, struct ss_arena *arena, struct ss_err *err);
void cli_sides_free(struct cli_sides *s);

/* How to print the comparison: in colour and as wide as the terminal, but to a file only in colour that was asked for. */
struct ss_text_style cli_sides_style(const struct cli_sides *s, const char *colour);

/* diff_text.c: the comparison for people. */
void cli_diff_text(struct ss_out *o, const struct cli_sides *s, enum ss_diff_by by, const struct ss_text_style *style);
void cli_diff_markdown(struct ss_out *o, const struct cli_sides *s, enum ss_diff_by by);
/* The tables of a tool. */
void cli_diff_tool_markdown(struct ss_out *o, const struct ss_result *r);

#endif
