/*
 * summary.c - stepscope summary PATH: what a person asks first, on one screen. What holds the
 * program up, what helps against it, where the time goes, which operations.
 *
 * The sentences are the findings of the verdict, in their order; facts about hardware and
 * operations come from the tool overview_page, whose tables are found by what they hold. Nothing is
 * computed here but lengths of bars.
 */
#include "summary.h"

#include "base/html.h"
#include "base/natural.h"
#include "model/host/host.h"
#include "model/host/identity.h"
#include "request/request.h"
#include "table/units.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>

extern const struct cli_command cli_command_summary;

#define TOP_OPS 10
#define MAX_HOSTS 8		/* by name */
#define TOP_COLS 5		/* of their table: time, sum of times, category, name, rate */
#define BAR_CELLS 40
#define LABEL_CELLS 31

static const struct ss_table *with_col(const struct ss_result *r, const char *id)
{
	for (size_t i = 0; i < r->ntables; i++)
		if (ss_table_col(&r->tables[i], id) != SS_NPOS)
			return &r->tables[i];
	return NULL;
}

/* The text of a property, "" when it is absent or empty. */
static struct ss_str text_of(const struct ss_result *r, const char *id)
{
	const struct ss_prop *p = ss_result_find_prop(r, id);
	return p ? p->text : SS_STR("");
}

/* Texts of the overview are for a page. */
static void put_words(struct ss_out *o, const struct ss_text_style *style, struct ss_str html, size_t indent)
{
	struct ss_buf plain = { 0 };
	ss_html_plain(&plain, html);
	ss_text_wrap(o, style, ss_buf_get(&plain), indent);
	o->no_memory = o->no_memory || plain.no_memory;
	ss_buf_free(&plain);
}

/* One part of the time: name, mean, share, bar. */
static void put_part(struct ss_out *o, const struct ss_text_style *style, struct ss_str label, double ms, double share)
{
	char value[32];
	size_t full = (size_t)lround(fmin(fmax(share, 0), 1) * BAR_CELLS);
	ss_format_value(value, sizeof(value), SS_UNIT_MS, ms);
	ss_out_lit(o, "  ");
	size_t cells = ss_text_put(o, label, LABEL_CELLS);
	ss_text_pad(o, LABEL_CELLS - cells);
	ss_out_printf(o, " %10s %5.1f%%", value, share * 100);
	ss_text_tone(o, style, SS_TONE_HEAD);
	ss_out_z(o, full ? "  " : "");
	for (size_t i = 0; i < full; i++)
		ss_out_lit(o, "\xe2\x96\x88");
	ss_text_tone(o, style, SS_TONE_PLAIN);
	ss_out_char(o, '\n');
}

/* Does time pass between the steps that is worth a word? */
static bool has_pauses(const struct ss_verdict *v)
{
	return v->steps && v->between_ps && 20 * v->between_ps >= v->window_ps;
}

static void put_steps(struct ss_out *o, const struct ss_verdict *v, const struct ss_text_style *style)
{
	static const char *const how[] = {
		[SS_STEPS_MARKED] = "marked by the program",
		[SS_STEPS_DERIVED] = "as the device marks them",
		[SS_STEPS_INFERRED] = "inferred from what repeats",
	};
	char mean[32];
	if (!v->steps)
		return;
	cli_heading(o, style, "Steps");
	ss_format_value(mean, sizeof(mean), SS_UNIT_MS, v->mean_ps / 1e9);
	ss_out_printf(o, v->steps == 1 ? "  %zu step of %s, %s" : "  %zu steps of %s on average, %s", v->steps, mean,
		      how[v->source]);
	if (v->source == SS_STEPS_INFERRED)
		ss_out_printf(o, " (confidence %.0f%%)", 100 * v->confidence);
	if (has_pauses(v)) {
		ss_format_value(mean, sizeof(mean), SS_UNIT_MS, (double)v->between_ps / (double)v->steps / 1e9);
		ss_out_printf(o, "; %s per step pass between them", mean);
	}
	ss_out_char(o, '\n');
}

/* The parts of the time, largest first; with what lies between steps they are the whole. */
static void put_parts(struct ss_out *o, const struct ss_verdict *v, const struct ss_text_style *style)
{
	double whole = (double)v->window_ps, left[SS_TIME_COUNT + 1], steps = v->steps ? (double)v->steps : 1;
	if (!(whole > 0))
		return;
	cli_heading(o, style, has_pauses(v) ? "Where the time of a step goes, with the time between steps"
			  : v->steps    ? "Where the time of a step goes"
					: "Where the time goes");
	for (int c = 0; c < SS_TIME_COUNT; c++)
		left[c] = (double)v->class_ps[c];
	left[SS_TIME_COUNT] = (double)v->between_ps;
	for (;;) {
		int best = 0;
		for (int c = 1; c <= SS_TIME_COUNT; c++)
			best = left[c] > left[best] ? c : best;
		if (!(left[best] > whole * 0.0005))
			break;
		put_part(o, style, best == SS_TIME_COUNT ? SS_STR("between steps") : ss_time_class_name((enum ss_time_class)best),
			 left[best] / steps / 1e9, left[best] / whole);
		left[best] = 0;
	}
}

static void put_ops(struct ss_out *o, const struct ss_result *r, const struct ss_text_style *style)
{
	const struct ss_table *t = with_col(r, "selfTimePercent");
	if (!t || !t->nrows)
		return;
	cli_heading(o, style, "Longest operations on the device");
	struct ss_text_style top = *style;
	struct ss_table narrow = *t;
	top.max_rows = TOP_OPS;
	narrow.ncols = t->ncols < TOP_COLS ? t->ncols : TOP_COLS;
	ss_emit_text_table(o, &narrow, &top);
}

struct fact {
	const char *id, *label;
	const char *where;	/* only on this kind of hardware, NULL: on any that has a device */
	const char *unknown;	/* what it reads where nobody measured it: then it is not shown; or NULL */
};

static void put_facts(struct ss_out *o, const struct ss_result *r, const struct ss_text_style *style, const char *title,
		      const struct fact *facts, size_t n)
{
	struct ss_str hardware = text_of(r, "hardware_type");
	bool any = false;
	for (size_t i = 0; i < n; i++) {
		struct ss_str v = text_of(r, facts[i].id);
		if (!v.n || (facts[i].where && !ss_str_is(hardware, facts[i].where)) ||
		    (facts[i].unknown && ss_str_is(v, facts[i].unknown)))
			continue;
		if (!any)
			cli_heading(o, style, title);
		any = true;
		ss_out_printf(o, "  %-*s ", LABEL_CELLS, facts[i].label);
		ss_text_wrap(o, style, v, LABEL_CELLS + 3);
	}
}

/* Shares of a device that was not there would all be 0 and mean nothing. */
static void put_use(struct ss_out *o, const struct ss_result *r, const struct ss_text_style *style)
{
	static const struct fact use[] = {
		{ "device_duty_cycle_percent", "Busy from first to last op", "TPU", NULL },
		{ "mxu_utilization_percent", "Matrix units", "TPU", "0.0%" },
		{ "flop_rate_utilization_relative_to_roofline", "FLOP rate / peak", "TPU", "0.0%" },
		{ "memory_bw_utilization_relative_to_hw_limit", "Memory bandwidth / peak", "TPU", "0.0%" },
		{ "host_idle_time_percent", "Host idle", "TPU", "100.0%" },
		{ "device_compute_16bit_percent", "Device compute in 16 bit", "GPU", NULL },
		{ "device_tf_op_percent", "Framework ops on the device", "GPU", NULL },
	};
	static const struct fact environment[] = {
		{ "device_type", "Device", NULL, NULL },
		{ "device_core_count", "Cores", NULL, "0" },
		{ "host_count", "Hosts", NULL, NULL },
		{ "task_count", "Tasks", NULL, NULL },
	};
	put_facts(o, r, style, "Hardware utilization", use, SS_COUNT(use));
	put_facts(o, r, style, "Run environment", environment, SS_COUNT(environment));
}

static void put_advice(struct ss_out *o, const struct ss_verdict_finding *f, const struct ss_text_style *style)
{
	for (size_t i = 0; i < f->nadvice; i++) {
		ss_out_lit(o, "    - ");
		ss_text_wrap(o, style, f->advice[i], 6);
	}
}

/* Print the findings, each with its advice; the first finding is the answer. */
static void put_findings(struct ss_out *o, const struct ss_verdict *v, const struct ss_text_style *style)
{
	if (!v->nfindings)
		ss_out_lit(o, "The profile holds no events that show a bottleneck.\n");
	for (size_t i = 0; i < v->nfindings; i++) {
		if (i == 1)
			cli_heading(o, style, "Other findings");
		ss_out_z(o, i ? "  " : "");
		ss_text_tone(o, style, i ? SS_TONE_PLAIN : SS_TONE_BOLD);
		ss_text_wrap(o, style, v->findings[i].text, i ? 4 : 0);
		ss_text_tone(o, style, SS_TONE_PLAIN);
		put_advice(o, &v->findings[i], style);
	}
}

/* Causes that this recording cannot show, those with the same reason together. */
static void put_not_judged(struct ss_out *o, const struct ss_verdict *v, const struct ss_text_style *style)
{
	if (!v->nnot_judged)
		return;
	cli_heading(o, style, "Not judged");
	for (size_t i = 0; i < v->nnot_judged; i++) {
		struct ss_str why = v->not_judged[i].why;
		bool said = false;
		for (size_t k = 0; k < i; k++)
			said = said || ss_str_eq(v->not_judged[k].why, why);
		if (said)
			continue;
		ss_text_tone(o, style, SS_TONE_DIM);
		for (size_t k = i, n = 0; k < v->nnot_judged; k++)
			if (ss_str_eq(v->not_judged[k].why, why)) {
				ss_out_z(o, n++ ? ", " : "  ");
				ss_out_str(o, ss_cause_name(v->not_judged[k].cause));
			}
		ss_out_lit(o, ": ");
		ss_out_str(o, why);
		ss_out_char(o, '\n');
		ss_text_tone(o, style, SS_TONE_PLAIN);
	}
}

static void put_path(struct ss_out *o, const char *path)
{
	bool quote = strpbrk(path, " \t'\"\\$&;()<>|*?[]#~`!");
	ss_out_z(o, quote ? "'" : "");
	ss_text_put(o, ss_str_from(path), 0);
	ss_out_z(o, quote ? "'" : "");
}

static void put_next(struct ss_out *o, const struct ss_text_style *style, const char *path)
{
	ss_out_char(o, '\n');
	ss_text_tone(o, style, SS_TONE_DIM);
	ss_out_lit(o, "  stepscope serve ");
	put_path(o, path);
	ss_out_lit(o, "   opens the whole profile in a browser\n");
	ss_text_tone(o, style, SS_TONE_PLAIN);
}

/*
 * The overview's note on step markers is about its own steps, which may differ from the steps of
 * the verdict.
 */
static bool is_about_steps(struct ss_str message, const struct ss_verdict *v)
{
	return v->source == SS_STEPS_MARKED && ss_str_starts(message, SS_STR("No step marker"));
}

static void put_diagnostics(struct ss_out *o, const struct ss_result *r, const struct ss_verdict *v,
			    const struct ss_text_style *style)
{
	const struct ss_table *t = with_col(r, "severity");
	size_t severity = t ? ss_table_col(t, "severity") : SS_NPOS,
	       message = t ? ss_table_col(t, "message") : SS_NPOS, n = message == SS_NPOS ? 0 : t->nrows;
	bool said = false;
	for (size_t i = 0; i < n; i++) {
		struct ss_str kind = t->data[severity].str[i], text = t->data[message].str[i];
		if (is_about_steps(text, v))
			continue;
		if (!said)
			cli_heading(o, style, "Noticed");
		said = true;
		ss_text_tone(o, style,
			     ss_str_is(kind, "ERROR")	  ? SS_TONE_BAD
			     : ss_str_is(kind, "WARNING") ? SS_TONE_WARN
							  : SS_TONE_DIM);
		ss_out_lit(o, "  ");
		ss_text_put(o, kind, 0);
		ss_text_tone(o, style, SS_TONE_PLAIN);
		ss_out_lit(o, ": ");
		put_words(o, style, text, 4);
	}
}

/* In natural order: the first behind `last`. Few are shown, so nothing is sorted. */
static struct ss_str next_host(const struct ss_model *m, struct ss_str *last)
{
	struct ss_str next = SS_STR("");
	for (size_t i = 0; i < m->nhosts; i++) {
		struct ss_str name = m->hosts[i]->name;
		if ((!last->n || ss_natural_cmp(*last, name) < 0) && (!next.n || ss_natural_cmp(name, next) < 0))
			next = name;
	}
	return *last = next;
}

static void put_title(struct ss_out *o, const struct cli_profile *p, const struct ss_text_style *style, const char *form,
		      bool of_processes)
{
	char size[32];
	ss_format_value(size, sizeof(size), SS_UNIT_BYTES, (double)p->run->bytes);
	ss_text_tone(o, style, SS_TONE_BOLD);
	ss_text_put(o, p->run->name, 0);
	ss_text_tone(o, style, SS_TONE_PLAIN);
	size_t n = p->model.nhosts, shown = n > MAX_HOSTS + 1 ? MAX_HOSTS : n;
	bool raw = n && ss_host_is_raw(p->model.hosts[0]);
	struct ss_str last = SS_STR("");
	ss_out_printf(o, ", %s, ", size);
	if (form)
		ss_out_printf(o, "%s, ", form);
	if (shown < n)
		ss_out_printf(o, "%zu ", n);
	ss_out_printf(o, "%s: ", raw ? "file" : n == 1 ? "host" : of_processes ? "processes" : "hosts");
	for (size_t i = 0; i < shown; i++) {
		ss_out_z(o, i ? ", " : "");
		ss_text_put(o, next_host(&p->model, &last), 0);
	}
	if (shown < n)
		ss_out_printf(o, " and %zu more", n - shown);
	ss_out_lit(o, "\n\n");
}

/* Runs a tool that this build has. */
static bool ask_tool(struct ss_tool_request *ask, struct cli_profile *p, const char *name, struct ss_err *err)
{
	*ask = (struct ss_tool_request){ .tool = ss_tool_find(ss_str_from(name)), .model = &p->model };
	if (!ask->tool)
		return ss_fail(err, SS_ENOTFOUND, "this build has no tool %s", name);
	return ss_tool_request_run(ask, err) && cli_profile_intact(p, err);
}

/* A stored overview comes without a profile to judge: its own words. */
static bool judge(struct ss_verdict *v, struct cli_profile *p, struct ss_arena *arena, struct ss_err *err)
{
	*v = (struct ss_verdict){ 0 };
	return ss_host_is_raw(p->model.hosts[0]) || ss_verdict_make(v, &p->model, arena, err);
}

static bool summarize(struct cli_profile *p, const char *path, const char *colour, struct ss_err *err)
{
	struct ss_text_style style = cli_style(colour);
	struct ss_tool_request overview = { 0 };
	struct ss_arena arena = { 0 };
	struct ss_verdict v;
	const struct ss_result *r = &overview.result;
	struct cli_sink sink;
	struct cli_progress *progress = cli_progress_start(p);
	/* One visit of many hosts for both. */
	const struct ss_tool *tool = ss_tool_find(SS_STR("overview_page"));
	unsigned facts = ss_verdict_facts(&p->model) | (tool ? tool->facts | tool->conclude_facts : 0);
	bool ok = ss_model_gather(&p->model, facts, err) && judge(&v, p, &arena, err) &&
		  ask_tool(&overview, p, "overview_page", err);
	cli_progress_end(progress);
	if (ok && cli_sink_open(&sink, NULL, err)) {
		struct ss_out *o = &sink.out;
		put_title(o, p, &style, p->model.nhosts == 1 ? p->model.hosts[0]->imported.form : NULL, v.of_processes);
		/* Missing data comes before the findings on the rest. */
		ss_emit_text_notes(o, r->notes, r->nnotes, &style);
		ss_out_z(o, r->nnotes ? "\n" : "");
		if (ss_host_is_raw(p->model.hosts[0]))
			ss_emit_text_conclusion(o, &r->conclusion, &style);
		else
			put_findings(o, &v, &style);
		put_steps(o, &v, &style);
		put_parts(o, &v, &style);
		put_ops(o, r, &style);
		put_use(o, r, &style);
		put_not_judged(o, &v, &style);
		put_diagnostics(o, r, &v, &style);
		put_next(o, &style, path);
		ok = cli_sink_close(&sink, true, err);
	}
	ss_tool_request_release(&overview);
	ss_arena_release(&arena);
	return ok;
}

/* The verdict alone, for programs. */
static bool print_json(struct cli_profile *p, const char *host, struct ss_err *err)
{
	struct ss_arena arena = { 0 };
	struct ss_verdict v;
	struct cli_sink sink;
	bool ok = cli_profile_open_for(p, ss_tool_find(SS_STR("overview_page")), host, err) &&
		  ss_verdict_make(&v, &p->model, &arena, err) && cli_profile_intact(p, err) && cli_sink_open(&sink, NULL, err);
	if (ok) {
		cli_summary_json(&sink.out, &v, p->run->name);
		ok = cli_sink_close(&sink, true, err);
	}
	ss_arena_release(&arena);
	return ok;
}

/*
 * The tool that reads what the run holds in place of profiles; NULL where it holds profiles, or
 * answers.
 */
static const struct ss_tool *tool_of_files(const struct ss_run *run)
{
	for (size_t i = 0; !run->nhosts && ss_tools[i]; i++) {
		const char *kind = ss_legacy_files(ss_tools[i]);
		if (kind && ss_run_has(run, kind))
			return ss_tools[i];
	}
	return NULL;
}

/* The cells of a row that say something, each on a line of its own. */
static void put_row(struct ss_out *o, const struct ss_table *t, size_t row)
{
	for (size_t c = 0; c < t->ncols; c++) {
		char value[32] = "";
		const struct ss_col *col = &t->cols[c];
		double v = ss_cell_f64(t, row, col->id);
		if (col->type == SS_TYPE_STR ? !t->data[c].str[row].n : !(v < 0 || v > 0))
			continue;
		if (col->type != SS_TYPE_STR)
			ss_format_value(value, sizeof(value), col->unit, v);
		ss_out_printf(o, "  %-*s ", LABEL_CELLS, col->label);
		ss_text_put(o, col->type == SS_TYPE_STR ? t->data[c].str[row] : ss_str_from(value), 0);
		ss_out_char(o, '\n');
	}
}

/* A file that is no profile: what its tool concludes, and its first table. */
static bool summarize_file(struct cli_profile *p, const struct ss_tool *tool, const char *path, const char *colour,
			   struct ss_err *err)
{
	struct ss_text_style style = cli_style(colour);
	struct ss_tool_request ask = { .tool = tool, .model = &p->model, .format = SS_FORMAT_TEXT };
	struct cli_progress *progress = cli_progress_start(p);
	struct cli_sink sink;
	bool ok = ss_tool_request_run(&ask, err) && cli_profile_intact(p, err);
	cli_progress_end(progress);
	if (ok && (ok = cli_sink_open(&sink, NULL, err))) {
		struct ss_out *o = &sink.out;
		put_title(o, p, &style, tool->title, false);
		ss_emit_text_conclusion(o, &ask.result.conclusion, &style);
		const struct ss_table *t = ask.result.tables;
		for (size_t i = 0; ask.result.ntables && i < t->nrows && i < MAX_HOSTS; i++) {
			cli_heading(o, &style, t->title);
			put_row(o, t, i);
		}
		ss_emit_text_notes(o, ask.result.notes, ask.result.nnotes, &style);
		cli_heading(o, &style, "Where to look");
		ss_out_printf(o, "  stepscope tool %s ", tool->name);
		put_path(o, path);
		ss_out_lit(o, "   prints all tables\n");
		ok = cli_sink_close(&sink, true, err);
	}
	ss_tool_request_release(&ask);
	return ok;
}

static bool summarize_run(struct cli_profile *p, const char *path, const char *host, const char *colour, struct ss_err *err)
{
	const struct ss_tool *tool = p->parts ? NULL : tool_of_files(p->run);
	if (tool)
		return cli_profile_open_for(p, tool, host, err) && summarize_file(p, tool, path, colour, err);
	return cli_profile_open_for(p, ss_tool_find(SS_STR("overview_page")), host, err) && summarize(p, path, colour, err);
}

static int run(int argc, char **argv)
{
	const char *run_name = NULL, *host = NULL, *colour = NULL, *format = "text";
	bool alone = false;
	const struct cli_opt opts[] = {
		CLI_TEXT("run", 'r', &run_name),
		CLI_TEXT("host", 'H', &host),
		CLI_TEXT("color", 0, &colour),
		CLI_TEXT("format", 0, &format),
		CLI_FLAG("alone", 0, &alone),
		CLI_STRICT,
	};
	int status = cli_parse(&cli_command_summary, argc, argv, opts, SS_COUNT(opts), 1, 1);
	if (status >= 0)
		return status;
	bool json = strcmp(format, "json") == 0;
	if (!json && strcmp(format, "text") != 0)
		return cli_misuse(&cli_command_summary, "--format takes text or json, not '%s'", format);
	struct cli_profile p;
	struct ss_err err = { 0 };
	bool ok = cli_profile_find(&p, argv[optind], run_name, &err);
	p.alone = alone;
	ok = ok && (json ? print_json(&p, host, &err) : summarize_run(&p, p.place.named, host, colour, &err));
	cli_profile_close(&p);
	return ok ? CLI_DONE : cli_fail(&err);
}

const struct cli_command cli_command_summary = {
	.name = "summary",
	.args = "PATH [--run R] [--host H] [--format text|json]",
	.summary = "where a step's time goes, on one screen",
	.help = "Prints what slows the program down and what helps, where the time goes, the longest operations, the use\n"
		"of the hardware, and what could not be judged and why. PATH is a log directory, a run, or one file.\n\n"
		"  -r, --run R       the run to open (default: the newest; 'stepscope runs PATH' lists them)\n"
		"      --alone       that run alone, without others of the same recording, which began seconds apart\n"
		"  -H, --host H      the host; several separated by commas (default: all)\n"
		"      --format F    text, or json: one object with steps, findings and what proves them\n"
		"      --strict      fail if anything of a profile is missing (default: a warning)\n"
		"      --color WHEN  always, never or auto\n",
	.run = run,
};
