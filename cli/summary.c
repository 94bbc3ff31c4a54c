/*
 * summary.c - stepscope summary PATH: what a person asks first, on one screen. Where does the time
 * go, is it the input, the host, the device or the network, which operations, and what to do about
 * it.
 *
 * Everything comes from the tools overview_page and smart_suggestion, whose tables are found by
 * what they hold. Nothing is computed here but lengths of bars.
 */
#include "cli.h"

#include "base/html.h"
#include "request/request.h"
#include "table/units.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>

extern const struct cli_command cli_command_summary;

#define TOP_OPS 10
#define MAX_HOSTS 8		/* by name */
#define TOP_SUGGESTIONS 3
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

static void heading(struct ss_out *o, const struct ss_text_style *style, const char *text)
{
	ss_out_char(o, '\n');
	ss_text_tone(o, style, SS_TONE_HEAD);
	ss_out_z(o, text);
	ss_text_tone(o, style, SS_TONE_PLAIN);
	ss_out_char(o, '\n');
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

/* "TensorCore idle (in ms)" without the unit, which stands with the value. */
static struct ss_str bare_label(const char *label)
{
	struct ss_str s = ss_str_from(label);
	size_t at = ss_str_find(s, SS_STR(" (in ms)"));
	return at == SS_NPOS ? s : ss_str_sub(s, 0, at);
}

/* One part of the step: name, mean, share, bar. */
static void put_part(struct ss_out *o, const struct ss_text_style *style, const char *label, double ms, double step_ms)
{
	char value[32];
	double share = step_ms > 0 ? ms / step_ms : 0;
	size_t full = (size_t)lround(fmin(fmax(share, 0), 1) * BAR_CELLS);
	ss_format_value(value, sizeof(value), SS_UNIT_MS, ms);
	ss_out_lit(o, "  ");
	size_t cells = ss_text_put(o, bare_label(label), LABEL_CELLS);
	ss_text_pad(o, LABEL_CELLS - cells);
	ss_out_printf(o, " %10s %5.1f%%", value, share * 100);
	ss_text_tone(o, style, SS_TONE_HEAD);
	ss_out_z(o, full ? "  " : "");
	for (size_t i = 0; i < full; i++)
		ss_out_lit(o, "\xe2\x96\x88");
	ss_text_tone(o, style, SS_TONE_PLAIN);
	ss_out_char(o, '\n');
}

static double column_mean(const struct ss_table *t, size_t c)
{
	double sum = 0;
	for (size_t i = 0; i < t->nrows; i++)
		sum += isnan(t->data[c].f64[i]) ? 0 : t->data[c].f64[i];
	return t->nrows ? sum / (double)t->nrows : 0;
}

static bool ends_with_ms(const char *id)
{
	struct ss_str s = ss_str_from(id);
	return ss_str_ends(s, SS_STR("TimeMs")) || ss_str_ends(s, SS_STR("_ms"));
}

/* XProf counts transfers between host and device as idle time of the device as well. */
static void put_overlap(struct ss_out *o, const struct ss_text_style *style, const struct ss_table *t)
{
	size_t idle = ss_table_col(t, "tcIdleTimeMs"), transfer = ss_table_col(t, "hostTransferTimeMs");
	if (idle == SS_NPOS || transfer == SS_NPOS || !(column_mean(t, idle) > 0) || !(column_mean(t, transfer) > 0))
		return;
	ss_text_tone(o, style, SS_TONE_DIM);
	ss_out_lit(o, "  TensorCore idle includes host transfers, so the parts add up to more than the "
		      "step by that amount.\n");
	ss_text_tone(o, style, SS_TONE_PLAIN);
}

/* The mean step and its parts: every column of times of the table of steps, largest first. */
static void put_step(struct ss_out *o, const struct ss_result *r, const struct ss_text_style *style)
{
	double step_ms = ss_result_number(r, "steptime_ms_average");
	const struct ss_table *t = with_col(r, "stepnum");
	char mean[32], sd[32], lo[32], hi[32];
	if (!(step_ms > 0))
		return;
	heading(o, style, "Step time");
	ss_format_value(mean, sizeof(mean), SS_UNIT_MS, step_ms);
	ss_format_value(sd, sizeof(sd), SS_UNIT_MS, ss_result_number(r, "steptime_ms_standard_deviation"));
	ss_format_value(lo, sizeof(lo), SS_UNIT_MS, ss_result_number(r, "steptime_ms_minimum"));
	ss_format_value(hi, sizeof(hi), SS_UNIT_MS, ss_result_number(r, "steptime_ms_maximum"));
	if (t && t->nrows == 1)
		ss_out_printf(o, "  %s, of one step\n", mean);
	else if (strcmp(lo, hi) == 0)
		ss_out_printf(o, "  %s in each of %zu steps\n", mean, t ? t->nrows : 0);
	else
		ss_out_printf(o, "  %s on average (standard deviation %s, from %s to %s, %zu steps)\n", mean, sd, lo, hi,
			      t ? t->nrows : 0);
	double shown[64] = { 0 };
	for (size_t c = 0; t && c < t->ncols && c < SS_COUNT(shown); c++)
		if (t->cols[c].type == SS_TYPE_F64 && !t->cols[c].role && ends_with_ms(t->cols[c].id) &&
		    strcmp(t->cols[c].id, "stepTimeMs") != 0)
			shown[c] = column_mean(t, c);
	for (;;) {
		size_t best = 0;
		for (size_t c = 1; c < SS_COUNT(shown); c++)
			best = shown[c] > shown[best] ? c : best;
		if (!(shown[best] > step_ms * 0.0005))
			break;
		put_part(o, style, t->cols[best].label, shown[best], step_ms);
		shown[best] = 0;
	}
	if (t)
		put_overlap(o, style, t);
}

static void put_ops(struct ss_out *o, const struct ss_result *r, const struct ss_text_style *style)
{
	const struct ss_table *t = with_col(r, "selfTimePercent");
	if (!t || !t->nrows)
		return;
	heading(o, style, "Longest operations on the device");
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
			heading(o, style, title);
		any = true;
		ss_out_printf(o, "  %-*s ", LABEL_CELLS, facts[i].label);
		ss_text_wrap(o, style, v, LABEL_CELLS + 3);
	}
}

/* Shares of a device that was not there would all be 0 and mean nothing. */
static void put_use(struct ss_out *o, const struct ss_result *r, const struct ss_text_style *style)
{
	static const struct fact use[] = {
		{ "device_duty_cycle_percent", "Device busy", "TPU", NULL },
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

/*
 * Is this advice about a side that is not the bottleneck? Addresses of further reading are for the
 * page.
 */
static bool is_beside(const struct ss_result *r, struct ss_str tip_type)
{
	struct ss_str beside = text_of(r, "non_bottleneck_tip_types");
	return ss_str_is(tip_type, "doc") || ss_str_is(tip_type, "faq") || (beside.n && ss_str_contains(beside, tip_type));
}

/* What to do about one suggestion: the first words, then how. */
static void put_advice(struct ss_out *o, const struct ss_table *t, int64_t suggestion, const struct ss_text_style *style)
{
	size_t row = ss_table_col(t, "suggestion"), title = ss_table_col(t, "title"), text = ss_table_col(t, "text");
	for (size_t i = 0; i < t->nrows; i++) {
		if (t->data[row].i64[i] != suggestion)
			continue;
		struct ss_out line;
		ss_out_init(&line, NULL, NULL);
		ss_out_str(&line, t->data[title].str[i]);
		ss_out_lit(&line, ": ");
		ss_out_str(&line, t->data[text].str[i]);
		ss_out_lit(o, "    ");
		ss_text_wrap(o, style, (struct ss_str){ line.buf, line.n }, 6);
		ss_out_free(&line);
	}
}

/*
 * The largest suggestions: what was found, but for the first if it was `said` on top, and what to
 * do about it.
 */
static void put_changes(struct ss_out *o, const struct ss_result *r, const struct ss_text_style *style, bool said)
{
	const struct ss_table *t = with_col(r, "finding"), *advice = with_col(r, "text");
	if (!t || !advice || !t->nrows)
		return;
	heading(o, style, "What to change");
	for (size_t i = 0; i < t->nrows && i < TOP_SUGGESTIONS; i++) {
		ss_out_lit(o, "  ");
		ss_text_tone(o, style, SS_TONE_BOLD);
		ss_text_wrap(o, style, t->data[ss_table_col(t, said && !i ? "title" : "finding")].str[i], 4);
		ss_text_tone(o, style, SS_TONE_PLAIN);
		put_advice(o, advice, (int64_t)i, style);
	}
}

static void put_path(struct ss_out *o, const char *path)
{
	bool quote = strpbrk(path, " \t'\"\\$&;()<>|*?[]#~`!");
	ss_out_z(o, quote ? "'" : "");
	ss_text_put(o, ss_str_from(path), 0);
	ss_out_z(o, quote ? "'" : "");
}

static void put_next(struct ss_out *o, const struct ss_result *r, const struct ss_text_style *style, const char *path)
{
	const struct ss_table *t = with_col(r, "tip_type");
	size_t type = t ? ss_table_col(t, "tip_type") : SS_NPOS, link = t ? ss_table_col(t, "link") : SS_NPOS;
	heading(o, style, "Where to look");
	for (size_t i = 0; type != SS_NPOS && link != SS_NPOS && i < t->nrows; i++) {
		if (is_beside(r, t->data[type].str[i]))
			continue;
		ss_out_lit(o, "  ");
		put_words(o, style, t->data[link].str[i], 4);
	}
	ss_text_tone(o, style, SS_TONE_DIM);
	ss_out_lit(o, "  stepscope serve ");
	put_path(o, path);
	ss_out_lit(o, "   opens the whole profile in a browser\n");
	ss_text_tone(o, style, SS_TONE_PLAIN);
}

static void put_diagnostics(struct ss_out *o, const struct ss_result *r, const struct ss_text_style *style)
{
	const struct ss_table *t = with_col(r, "severity");
	size_t severity = t ? ss_table_col(t, "severity") : SS_NPOS,
	       message = t ? ss_table_col(t, "message") : SS_NPOS, n = message == SS_NPOS ? 0 : t->nrows;
	if (!n && !r->nnotes)
		return;
	heading(o, style, "Noticed");
	for (size_t i = 0; i < n; i++) {
		struct ss_str kind = t->data[severity].str[i];
		ss_text_tone(o, style,
			     ss_str_is(kind, "ERROR")	  ? SS_TONE_BAD
			     : ss_str_is(kind, "WARNING") ? SS_TONE_WARN
							  : SS_TONE_DIM);
		ss_out_lit(o, "  ");
		ss_text_put(o, kind, 0);
		ss_text_tone(o, style, SS_TONE_PLAIN);
		ss_out_lit(o, ": ");
		put_words(o, style, t->data[message].str[i], 4);
	}
	ss_emit_text_notes(o, r->notes, r->nnotes, style);
}

static void put_title(struct ss_out *o, const struct cli_profile *p, const struct ss_text_style *style, const char *form)
{
	char size[32];
	ss_format_value(size, sizeof(size), SS_UNIT_BYTES, (double)p->run->bytes);
	ss_text_tone(o, style, SS_TONE_BOLD);
	ss_text_put(o, p->run->name, 0);
	ss_text_tone(o, style, SS_TONE_PLAIN);
	size_t n = p->model.nhosts, shown = n > MAX_HOSTS + 1 ? MAX_HOSTS : n;
	ss_out_printf(o, ", %s, ", size);
	if (form)
		ss_out_printf(o, "%s, ", form);
	if (shown < n)
		ss_out_printf(o, "%zu ", n);
	ss_out_printf(o, "%s: ", p->model.nhosts && p->model.hosts[0]->raw ? "file" : n == 1 ? "host" : "hosts");
	for (size_t i = 0; i < shown; i++) {
		ss_out_z(o, i ? ", " : "");
		ss_text_put(o, p->model.hosts[i]->name, 0);
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

static bool summarize(struct cli_profile *p, const char *path, const char *colour, struct ss_err *err)
{
	struct ss_text_style style = cli_style(colour);
	struct ss_tool_request overview = { 0 }, suggestions = { 0 };
	const struct ss_result *r = &overview.result;
	struct cli_sink sink;
	struct cli_progress *progress = cli_progress_start(p);
	/* One visit of many hosts for both. */
	const struct ss_tool *both[] = { ss_tool_find(SS_STR("overview_page")), ss_tool_find(SS_STR("smart_suggestion")) };
	unsigned facts = (both[0] ? both[0]->facts | both[0]->conclude_facts : 0) | (both[1] ? both[1]->facts : 0);
	/* A stored overview comes without a profile to look for suggestions in. */
	bool ok = ss_model_gather(&p->model, facts, err) && ask_tool(&overview, p, "overview_page", err) &&
		  (p->model.hosts[0]->raw || ask_tool(&suggestions, p, "smart_suggestion", err));
	cli_progress_end(progress);
	if (ok && cli_sink_open(&sink, NULL, err)) {
		struct ss_out *o = &sink.out;
		put_title(o, p, &style, p->model.nhosts == 1 ? p->model.hosts[0]->form : NULL);
		ss_emit_text_conclusion(o, &r->conclusion, &style);
		put_step(o, r, &style);
		put_use(o, r, &style);
		put_ops(o, r, &style);
		put_changes(o, &suggestions.result, &style, r->conclusion.see != NULL);
		put_next(o, r, &style, path);
		put_diagnostics(o, r, &style);
		ok = cli_sink_close(&sink, true, err);
	}
	ss_tool_request_release(&suggestions);
	ss_tool_request_release(&overview);
	return ok;
}

/* The tool that reads what the run holds in place of profiles; NULL where it holds profiles, or answers. */
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
		put_title(o, p, &style, tool->title);
		ss_emit_text_conclusion(o, &ask.result.conclusion, &style);
		const struct ss_table *t = ask.result.tables;
		for (size_t i = 0; ask.result.ntables && i < t->nrows && i < MAX_HOSTS; i++) {
			heading(o, &style, t->title);
			put_row(o, t, i);
		}
		ss_emit_text_notes(o, ask.result.notes, ask.result.nnotes, &style);
		heading(o, &style, "Where to look");
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
	const struct ss_tool *tool = tool_of_files(p->run);
	if (tool)
		return cli_profile_open_for(p, tool, host, err) && summarize_file(p, tool, path, colour, err);
	return cli_profile_open_for(p, ss_tool_find(SS_STR("overview_page")), host, err) && summarize(p, path, colour, err);
}

static int run(int argc, char **argv)
{
	const char *run_name = NULL, *host = NULL, *colour = NULL;
	const struct cli_opt opts[] = {
		CLI_TEXT("run", 'r', &run_name),
		CLI_TEXT("host", 'H', &host),
		CLI_TEXT("color", 0, &colour),
	};
	int status = cli_parse(&cli_command_summary, argc, argv, opts, SS_COUNT(opts), 1, 1);
	if (status >= 0)
		return status;
	struct cli_profile p;
	struct ss_err err = { 0 };
	bool ok = cli_profile_find(&p, argv[optind], run_name, &err) &&
		  summarize_run(&p, argv[optind], host, colour, &err);
	cli_profile_close(&p);
	return ok ? CLI_DONE : cli_fail(&err);
}

const struct cli_command cli_command_summary = {
	.name = "summary",
	.args = "PATH [--run R] [--host H]",
	.summary = "where the time goes and what to change, on one screen",
	.help = "Prints the overview of the newest run at PATH (a log directory, a run, or one file): the "
		"verdict, the step time and its\n"
		"parts, the use of the hardware, the longest operations, what to do next, and what was "
		"noticed.\n\n"
		"  -r, --run R       the run to open (default: the newest; 'stepscope runs PATH' lists them)\n"
		"  -H, --host H      the host; several separated by commas (default: all)\n"
		"      --color WHEN  always, never or auto\n",
	.run = run,
};
