/* gate.c - stepscope gate BASE NEW: a comparison against limits, for continuous integration. */
#include "sides.h"

#include "diff/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct cli_command cli_command_gate;

enum format { TEXT, JSON, JUNIT, GITHUB, FORMATS };

#define MOST_ACCEPTED 32

struct accepted {
	const char *metric[MOST_ACCEPTED], *reason[MOST_ACCEPTED];
	size_t n, nreasons;
};

static bool take_accepted(void *arg, const char *value)
{
	struct accepted *a = arg;
	if (!*value || a->n == MOST_ACCEPTED)
		return false;
	a->metric[a->n++] = value;
	return true;
}

static bool take_reason(void *arg, const char *value)
{
	struct accepted *a = arg;
	if (!*value || a->nreasons == MOST_ACCEPTED)
		return false;
	a->reason[a->nreasons++] = value;
	return true;
}

static const char *const formats[FORMATS] = { "text", "json", "junit", "github" };

static int status_of(const struct ss_gate *g)
{
	static const int codes[] = { [SS_GATE_PASS] = 0, [SS_GATE_FAIL] = 1, [SS_GATE_NO_VERDICT] = 2 };
	return codes[ss_gate_verdict(g)];
}

static const char *word_of(const struct ss_gate *g)
{
	static const char *const words[] = {
		[SS_GATE_PASS] = "pass", [SS_GATE_FAIL] = "regression", [SS_GATE_NO_VERDICT] = "no_verdict"
	};
	return words[ss_gate_verdict(g)];
}

/* ---- formats ---- */

static bool print_json(struct ss_out *o, const struct cli_sides *s, const struct ss_gate *g, struct ss_err *err)
{
	char more[80];
	snprintf(more, sizeof(more), ",\"gate\":\"%s\",\"exit\":%d", word_of(g), status_of(g));
	bool ok = ss_diff_emit_json(o, &s->diff, &s->result, SS_STR("gate"), ss_str_from(more));
	ss_out_char(o, '\n');
	return ok || ss_fail_mem(err);
}

static void print_text(struct ss_out *o, const struct cli_sides *s, const struct ss_gate *g,
		       const struct ss_text_style *style)
{
	static const char *const words[] = { "NO VERDICT", "PASS", "FAIL" };
	static const enum ss_tone tones[] = { SS_TONE_WARN, SS_TONE_GOOD, SS_TONE_BAD };
	for (size_t i = 0; i < g->limits.n; i++) {
		const struct ss_limit *l = &g->limits.v[i];
		ss_text_tone(o, style, tones[l->state]);
		ss_out_printf(o, "%-10s", words[l->state]);
		ss_text_tone(o, style, SS_TONE_PLAIN);
		ss_out_lit(o, "  ");
		ss_text_put(o, l->given, 0);
		ss_out_lit(o, ": ");
		ss_text_put(o, l->reason, 0);
		ss_out_char(o, '\n');
	}
	ss_out_char(o, '\n');
	ss_emit_text_conclusion(o, &s->result.conclusion, style);
	ss_out_char(o, '\n');
	ss_emit_text_notes(o, s->result.notes, s->result.nnotes, style);
}

static void xml(struct ss_out *o, struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c == '&' || c == '<' || c == '>' || c == '"')
			ss_out_printf(o, "&#%u;", c);
		else
			ss_out_char(o, c < 0x20 || c == 0x7f ? ' ' : (char)c);
	}
}

/* Bytes that are no UTF-8 would make the whole file unreadable. */
static struct ss_str utf8(struct ss_str s)
{
	return ss_utf8_valid(s) ? s : SS_STR("(a name that is not valid UTF-8)");
}

static void print_junit(struct ss_out *o, const struct cli_sides *s, const struct ss_gate *g)
{
	size_t failed = 0, unknown = 0;
	for (size_t i = 0; i < g->limits.n; i++) {
		failed += g->limits.v[i].state == SS_GATE_FAIL;
		unknown += g->limits.v[i].state == SS_GATE_NO_VERDICT;
	}
	ss_out_printf(o,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"stepscope.gate\" "
		      "tests=\"%zu\" "
		      "failures=\"%zu\" errors=\"%zu\">\n",
		      g->limits.n, failed, unknown);
	for (size_t i = 0; i < g->limits.n; i++) {
		const struct ss_limit *l = &g->limits.v[i];
		const char *tag = l->state == SS_GATE_FAIL	   ? "failure"
				  : l->state == SS_GATE_NO_VERDICT ? "error"
								   : "system-out";
		ss_out_lit(o, "<testcase classname=\"stepscope.gate\" name=\"");
		xml(o, utf8(l->metric));
		ss_out_printf(o, "\"><%s", tag);
		if (l->state != SS_GATE_PASS) {
			ss_out_lit(o, " message=\"");
			xml(o, utf8(l->reason));
			ss_out_char(o, '"');
		}
		ss_out_char(o, '>');
		xml(o, utf8(l->given));
		ss_out_lit(o, ": ");
		xml(o, utf8(l->reason));
		ss_out_lit(o, "\n");
		xml(o, utf8(s->result.conclusion.text));
		ss_out_printf(o, "</%s></testcase>\n", tag);
	}
	ss_out_lit(o, "</testsuite>\n</testsuites>\n");
}

/*
 * Escape for the commands of a runner: percent signs and line ends, and in a property also commas and
 * colons.
 */
static void github_text(struct ss_out *o, struct ss_str s, bool property)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c == '%' || c < 0x20 || (property && (c == ':' || c == ',')))
			ss_out_printf(o, "%%%02X", c);
		else
			ss_out_char(o, (char)c);
	}
}

static void print_github(struct ss_out *o, const struct ss_gate *g)
{
	static const char *const words[] = { "warning", "notice", "error" };
	for (size_t i = 0; i < g->limits.n; i++) {
		const struct ss_limit *l = &g->limits.v[i];
		ss_out_printf(o, "::%s title=", words[l->state]);
		github_text(o, l->given, true);
		ss_out_lit(o, "::");
		github_text(o, l->reason, false);
		ss_out_char(o, '\n');
	}
}

/* The job's summary page, if there is one. */
static bool append_summary(const struct cli_sides *s, const struct ss_gate *g, struct ss_err *err)
{
	const char *path = getenv("GITHUB_STEP_SUMMARY");
	struct ss_out o;
	if (!path || !*path)
		return true;
	ss_out_init(&o, NULL, NULL);
	ss_out_printf(&o, "# stepscope gate: %s\n\n| limit | |\n|---|---|\n", word_of(g));
	for (size_t i = 0; i < g->limits.n; i++) {
		struct ss_str state = ss_gate_state_name(g->limits.v[i].state);
		ss_out_lit(&o, "| ");
		ss_text_put_markdown(&o, g->limits.v[i].given, 200);
		ss_out_printf(&o, " | " SS_FMT ": ", SS_ARG(state));
		ss_text_put_markdown(&o, g->limits.v[i].reason, 500);
		ss_out_lit(&o, " |\n");
	}
	ss_out_char(&o, '\n');
	cli_diff_markdown(&o, s, SS_DIFF_BY_OP);
	FILE *f = ss_out_finish(&o, err) ? fopen(path, "ae") : NULL;
	bool ok = f && fwrite(o.buf, 1, o.n, f) == o.n;
	ok = f && fclose(f) == 0 && ok;
	ss_out_free(&o);
	return ok || ss_fail(err, SS_EIO, "cannot write to '%s'", path);
}

static bool print(const struct cli_sides *s, const struct ss_gate *g, enum format format, const char *colour,
		  struct ss_err *err)
{
	struct cli_sink sink;
	const struct ss_text_style style = cli_sides_style(s, colour);
	bool ok = true;
	if (!cli_sink_open(&sink, s->output, err))
		return false;
	if (format == JSON)
		ok = print_json(&sink.out, s, g, err);
	else if (format == JUNIT)
		print_junit(&sink.out, s, g);
	else if (format == GITHUB)
		print_github(&sink.out, g);
	else
		print_text(&sink.out, s, g, &style);
	return cli_sink_close(&sink, ok, err) && (format != GITHUB || append_summary(s, g, err));
}

/* ---- all ---- */

static bool judge(struct cli_sides *s, struct ss_gate *g, const struct accepted *accepted, struct ss_arena *arena,
		  const char *limits, struct ss_err *err)
{
	if (!cli_sides_compare(s, arena, err) || !ss_gate_judge(g, &s->diff, err))
		return false;
	for (size_t i = 0; i < accepted->n; i++)
		if (!ss_gate_accept(g, ss_str_from(accepted->metric[i]), ss_str_from(accepted->reason[i]), err))
			return false;
	size_t min_runs = g->min_runs ? g->min_runs : 1;
	struct ss_str note = ss_arena_printf(arena, "stepscope %s, limits %s, at least %zu run%s a side", SS_VERSION, limits,
					     min_runs, min_runs == 1 ? "" : "s");
	ss_gate_table(g, &s->result);
	ss_result_note(&s->result, SS_INFO, note);
	return ss_result_is_whole(&s->result, err);
}

/* What is asked for on the command line. */
struct asked {
	struct cli_sides s;
	struct accepted accepted;
	const char *limits, *format, *colour;
	uint64_t min_runs;
};

#define OPTIONS(a) \
	{ \
		CLI_SIDES_OPTS(&(a)->s), CLI_TEXT("max", 'm', &(a)->limits), \
		CLI_NUMBER("min-runs", 0, CLI_MOST_RUNS, &(a)->min_runs), CLI_EACH("accept", 0, take_accepted, &(a)->accepted), \
		CLI_EACH("reason", 0, take_reason, &(a)->accepted), CLI_TEXT("format", 'f', &(a)->format), \
		CLI_TEXT("color", 0, &(a)->colour), \
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
	struct asked a = { .limits = "step_time=+3%", .format = "text" };
	struct cli_sides *s = &a.s;
	struct ss_gate gate = { 0 };
	const struct cli_opt opts[] = OPTIONS(&a);
	int format;
	struct ss_err err = { 0 };
	struct ss_arena arena = { 0 };
	int status = cli_parse(&cli_command_gate, argc, argv, opts, SS_COUNT(opts), 0, 2);
	if (status >= 0)
		return status;
	if (!cli_word(a.format, formats, FORMATS, &format))
		return cli_misuse(&cli_command_gate, "unknown format '%s': use text, json, junit or github", a.format);
	if (a.accepted.n != a.accepted.nreasons)
		return cli_misuse(&cli_command_gate, "each --accept needs a --reason");
	gate.min_runs = (size_t)a.min_runs;
	if (!ss_gate_add_limits(&gate, ss_str_from(a.limits), &err)) {
		ss_gate_free(&gate);
		return cli_misuse(&cli_command_gate, "%s", err.text);
	}
	status = cli_sides_parse(s, &cli_command_gate, argc, argv);
	if (status < 0) {
		bool ok = judge(s, &gate, &a.accepted, &arena, a.limits, &err) &&
			  ss_diff_result(&s->diff, SS_DIFF_BY_OP, &s->result, &err) &&
			  print(s, &gate, (enum format)format, a.colour, &err);
		status = ok ? status_of(&gate) : CLI_MISUSE;
		if (!ok)
			cli_fail(&err);
	}
	cli_sides_free(s);
	ss_gate_free(&gate);
	ss_arena_release(&arena);
	return status;
}

const struct cli_command cli_command_gate = {
	.name = "gate",
	.args = "BASE NEW [--base PATH]... [--new PATH]... [--max LIMITS] [--min-runs N] [--format text|json|junit|github]",
	.summary = "fail when a change makes the program slower or larger",
	.help = "Compares two sides as 'stepscope diff' does, and judges the difference by limits.\n\n"
		"  -m, --max LIMITS  METRIC=+N% or METRIC=+N and us, ms, s, B, KiB, MiB or GiB, with commas between "
		"(default:\n"
		"                    step_time=+3%). METRIC: step_time, step_period, mean_step_time, peak_memory, a row of "
		"the\n"
		"                    breakdown (compute, input ...), op:REGEX, scope:PREFIX, host:FUNCTION\n"
		"      --min-runs N  no verdict with fewer runs a side\n"
		"      --accept METRIC --reason TEXT\n"
		"                    let this limit pass although it fails; the reason is printed\n"
		"  -f, --format F    text, json, junit, or github: annotations, and the job's summary page\n"
		"  -o, --output FILE write to FILE instead of stdout\n"
		"      --color WHEN  always, never or auto\n" CLI_SIDES_HELP "\n"
		"The exit status is 0 if all limits hold, 1 if one is exceeded, and 2 if there is no verdict: too much "
		"noise, sides\n"
		"that are not comparable, a file that cannot be read. No option turns status 2 into a pass.\n\n"
		"  stepscope gate main/ branch/ --max step_time=+3%,peak_memory=+5%\n",
	.options = options,
	.run = run,
};
