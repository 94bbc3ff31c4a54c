/* request.c - running a tool and choosing the emitter of its answer. */
#include "request/request.h"
#include "model/model.h"

#include "drawing/drawing.h"
#include "emit/chrome.h"
#include "emit/csv.h"
#include "emit/folded.h"
#include "emit/json.h"
#include "model/host/host.h"
#include "model/host/identity.h"
#include "store/kinds.h"
#include "tools/module_pick.h"
#include "xprof/datatable.h"
#include "xprof/shape.h"

static const char *type_of(enum ss_format format)
{
	switch (format) {
	case SS_FORMAT_JSON:
	case SS_FORMAT_XPROF:
		return "application/json";
	case SS_FORMAT_CSV:
	case SS_FORMAT_CSV_IDS:
		return "text/csv; charset=utf-8";
	case SS_FORMAT_TEXT:
	case SS_FORMAT_FOLDED:
		break;
	}
	return "text/plain; charset=utf-8";
}

/* Add the notes of the profile's writer and of our reader on each file. */
static void add_notes(struct ss_result *r, struct ss_model *m)
{
	/* Another visit may be adding to what is known. */
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->nhosts; i++) {
		const struct ss_host *h = m->hosts[i];
		for (uint32_t k = 0; k < h->x.nnotes; k++)
			ss_result_note(r, SS_WARNING, ss_arena_printf(r->arena, SS_FMT ": " SS_FMT, SS_ARG(h->name),
								      SS_ARG(h->x.notes[k])));
		if (h->ndropped)
			ss_result_note(r, SS_WARNING,
				       ss_arena_printf(r->arena, SS_FMT ": %llu event%s could not be read", SS_ARG(h->name),
						       (unsigned long long)h->ndropped, h->ndropped == 1 ? "" : "s"));
		if (h->nclipped)
			ss_result_note(r, SS_WARNING,
				       ss_arena_printf(r->arena, SS_FMT ": %llu event%s after the last moment that 64 bits "
						       "of picoseconds can hold (106 days), and %s cut off "
						       "there", SS_ARG(h->name),
						       (unsigned long long)h->nclipped, h->nclipped == 1 ? " ends" : "s end",
						       h->nclipped == 1 ? "is" : "are"));
	}
	pthread_mutex_unlock(&m->lock);
}

bool ss_request_tables(const struct ss_tool *t, const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	bool file = q->model->nhosts && ss_host_is_raw(q->model->hosts[0]) && !ss_legacy_files(t);
	if (!file)
		return ss_tool_run(t, q, out, err);
	ss_legacy_fn *reader = ss_legacy_reader(t);
	if (!reader)
		return ss_fail(err, SS_ENODATA, "%s needs a profile, and there is none", t->name);
	return reader(q, out, err) && ss_result_is_whole(out, err) && ss_tool_conclude(t, q, out, err) &&
	       ss_result_is_whole(out, err);
}

bool ss_tool_request_run(struct ss_tool_request *a, struct ss_err *err)
{
	struct ss_request q = { .model = a->model, .params = a->params, .nparams = a->nparams, .arena = &a->arena,
			      .as_xprof = a->format == SS_FORMAT_XPROF || a->format == SS_FORMAT_CSV,
			      .for_people = a->format == SS_FORMAT_JSON || a->format == SS_FORMAT_TEXT ||
					    (a->format == SS_FORMAT_CSV_IDS && ss_str_is(a->table, "all")),
			      .as_tables = a->format == SS_FORMAT_TEXT || a->format == SS_FORMAT_CSV ||
					   a->format == SS_FORMAT_CSV_IDS };
	ss_result_init(&a->result, &a->arena);
	if (!ss_request_tables(a->tool, &q, &a->result, err))
		return false;
	add_notes(&a->result, a->model);
	ss_result_note_over_100_percent(&a->result);
	return ss_result_is_whole(&a->result, err);
}

static bool no_table(const struct ss_tool_request *a, struct ss_err *err)
{
	return ss_fail(err, SS_EINVAL, "the answer of %s is not a table, so it cannot be written as CSV", a->tool->name);
}

/* There is no such table: which are there? */
static bool no_such_table(const struct ss_tool_request *a, struct ss_err *err)
{
	const struct ss_result *r = &a->result;
	struct ss_str names = SS_STR("");
	for (size_t i = 0; i < r->ntables && names.p; i++)
		if (r->tables[i].ncols)
			names = ss_arena_printf(r->arena, SS_FMT "%s%s", SS_ARG(names), names.n ? ", " : "",
						r->tables[i].name);
	return ss_fail(err, SS_ENOTFOUND, "%s has no table '" SS_FMT "' (it has: " SS_FMT ")", a->tool->name,
		       SS_ARG(a->table), SS_ARG(names));
}

/* A line that begins with "#", whatever the names in it hold. */
static void write_remark(struct ss_str text, struct ss_out *o)
{
	ss_out_lit(o, "# ");
	for (size_t i = 0; i < text.n; i++)
		ss_out_char(o, text.p[i] == '\n' || text.p[i] == '\r' ? ' ' : text.p[i]);
	ss_out_char(o, '\n');
}

static void write_conclusion(const struct ss_conclusion *a, struct ss_out *o)
{
	if (!a->text.n)
		return;
	write_remark(a->text, o);
	for (size_t i = 0; i < a->nmore; i++)
		write_remark(a->more[i], o);
	ss_out_char(o, '\n');
}

static bool write_csv(const struct ss_tool_request *a, struct ss_out *o, struct ss_err *err)
{
	const struct ss_result *r = &a->result;
	bool first = !a->table.n, all = ss_str_is(a->table, "all"), any = false;
	size_t written = 0;
	if (all)
		write_conclusion(&r->conclusion, o);
	for (size_t i = 0; i < r->ntables; i++) {
		const struct ss_table *t = &r->tables[i];
		any = any || t->ncols;
		if (!t->ncols || !(all || (first ? !written : ss_str_is(a->table, t->name))))
			continue;
		if (all)
			ss_out_printf(o, "%s# %s\n", written ? "\n" : "", t->name);
		ss_emit_csv(o, t, a->format == SS_FORMAT_CSV ? ss_xprof_label : NULL);
		written++;
	}
	if (written)
		return true;
	return any ? no_such_table(a, err) : no_table(a, err);
}

static bool no_tree(const struct ss_tool_request *a, struct ss_err *err)
{
	return ss_fail(err, SS_EINVAL,
		       "the answer of %s is not a tree: --format folded is for modules, memory_snapshot and op_profile",
		       a->tool->name);
}

/* Of several trees the first, or the one that has the column. */
static bool write_folded(const struct ss_tool_request *a, struct ss_out *o, struct ss_err *err)
{
	const struct ss_table *tree = NULL;
	for (size_t i = 0; i < a->result.ntables; i++) {
		const struct ss_table *t = &a->result.tables[i];
		const struct ss_col *first = ss_folded_column(t);
		tree = first && !tree ? t : tree;
		struct ss_str column = a->column.n || !first ? a->column : ss_str_from(first->id);
		if (!ss_folded_by(t, column))
			continue;
		ss_emit_folded(o, t, column);
		return true;
	}
	if (!tree)
		return no_tree(a, err);
	return ss_fail(err, SS_EINVAL, "no stacks can be made of the column '" SS_FMT "' of %s: choose one of a time or of bytes",
		       SS_ARG(a->column), a->tool->name);
}

/* A text or a file goes out as it is, a timeline as trace events; the first is no table. */
static bool write_other(const struct ss_tool_request *a, struct ss_out *o, struct ss_err *err)
{
	bool csv = a->format == SS_FORMAT_CSV || a->format == SS_FORMAT_CSV_IDS;
	if (csv)
		return no_table(a, err);
	if (a->format == SS_FORMAT_FOLDED)
		return no_tree(a, err);
	if (a->result.content_type) {
		ss_out_str(o, a->result.body);
		return true;
	}
	ss_chrome_write(o, a->result.timeline);
	return true;
}

static bool write_tables(const struct ss_tool_request *a, struct ss_out *o, struct ss_err *err)
{
	const struct ss_json_head head = { ss_str_from(a->tool->name), ss_str_from(a->tool->title), a->run, a->host, { NULL, 0 } };
	ss_shape_fn *shape = ss_shape_find(head.tool);
	struct ss_result r = a->result;
	switch (a->format) {
	case SS_FORMAT_JSON:
		ss_emit_json(o, &r, &head);
		return true;
	case SS_FORMAT_XPROF:
		if (shape)
			shape(o, &r);
		else
			ss_emit_xprof(o, &r, a->tool->flags & SS_TOOL_ONE_TABLE);
		return true;
	case SS_FORMAT_CSV:
	case SS_FORMAT_CSV_IDS:
		return write_csv(a, o, err);
	case SS_FORMAT_FOLDED:
		return write_folded(a, o, err);
	case SS_FORMAT_TEXT:
		if (a->notes_apart)
			r.nnotes = 0;
		ss_emit_text(o, &r, &a->style);
		return true;
	}
	return true;
}

static void cut_rows(struct ss_result *r, size_t most)
{
	for (size_t i = 0; i < r->ntables; i++) {
		struct ss_table *t = &r->tables[i];
		if (t->nrows <= most || ss_table_col(t, "parent") != SS_NPOS)
			continue;
		ss_result_note(r, SS_INFO,
			       ss_arena_printf(r->arena, "The table '%s' has %zu rows; the first %zu are here.",
					       *t->title ? t->title : t->name, t->nrows, most));
		t->nrows = most;
	}
}

bool ss_tool_answer(struct ss_tool_request *a, struct ss_out *o, struct ss_err *err)
{
	if (!ss_tool_request_run(a, err))
		return false;
	if (a->most_rows && a->format == SS_FORMAT_JSON)
		cut_rows(&a->result, a->most_rows);
	if (a->drawing && a->format == SS_FORMAT_JSON) {
		ss_drawing_add(&a->result, ss_str_from(a->tool->name));
		if (!ss_result_is_whole(&a->result, err))
			return false;
	}
	/*
	 * A result of a type of its own is a body, or tables that XProf's clients get as a drawing
	 * and others as tables.
	 */
	bool own_type = a->result.content_type && (a->format == SS_FORMAT_XPROF || !a->result.ntables);
	a->content_type = own_type ? a->result.content_type : type_of(a->format);
	if ((a->result.content_type && !a->result.ntables) || (own_type && a->result.body.n) || a->result.timeline)
		return write_other(a, o, err);
	return write_tables(a, o, err);
}

static bool is_of_parts(const struct ss_run *run)
{
	return !run->nhosts && ss_run_has(run, SS_KIND_FILE_PART);
}

const char *ss_request_file_kind(const struct ss_tool *t, const struct ss_run *run)
{
	const char *answers = ss_legacy_answers(t);
	if (t->flags & SS_TOOL_OF_PARTS && is_of_parts(run))
		return SS_KIND_FILE_PART;
	return answers && ss_run_has(run, answers) ? answers : ss_legacy_files(t);
}

bool ss_request_lacks_profiles(const struct ss_tool *t, const struct ss_run *run)
{
	return is_of_parts(run) && !ss_request_file_kind(t, run);
}

bool ss_request_refuse_parts(const struct ss_tool *t, struct ss_err *err)
{
	struct ss_buf names = { 0 };
	for (size_t i = 0; ss_tools[i]; i++)
		if (ss_tools[i]->flags & SS_TOOL_OF_PARTS)
			ss_buf_printf(&names, "%s%s", names.n ? ", " : "", ss_tools[i]->name);
	ss_fail(err, SS_ENOTFOUND,
		"%s needs the profiles themselves, because parts hold no events: run 'stepscope tool %s LOGDIR'. Parts answer "
		SS_FMT,
		t->name, t->name, SS_ARG(ss_buf_get(&names)));
	ss_buf_free(&names);
	return false;
}

bool ss_request_combines(const struct ss_tool *t, const struct ss_run *run)
{
	return t->flags & (SS_TOOL_ALL_HOSTS | SS_TOOL_ONLY_ALL_HOSTS | SS_TOOL_OF_PROGRAM) &&
	       (ss_request_file_kind(t, run) == ss_legacy_files(t) || ss_legacy_reader(t));
}

bool ss_request_sums(const struct ss_tool *t, const struct ss_run *run)
{
	return t->flags & SS_TOOL_SUMS_HOSTS && ss_request_file_kind(t, run) == ss_legacy_files(t);
}

bool ss_request_only_combined(const struct ss_tool *t, const struct ss_run *run, bool as_xprof)
{
	unsigned only = SS_TOOL_ONLY_ALL_HOSTS | (as_xprof ? SS_TOOL_XPROF_ALL_HOSTS : 0);
	return t->flags & only && ss_request_file_kind(t, run) == ss_legacy_files(t);
}

bool ss_request_listed(const struct ss_tool *t, const struct ss_run *run)
{
	return ss_tool_is_listed(t) && ss_run_has(run, ss_request_file_kind(t, run));
}

/* Of a large run so many hosts are asked: a list of tools does not open a thousand files. */
#define MOST_ASKED 16

unsigned ss_request_met(const struct ss_run *run, const struct ss_host *first, unsigned needs)
{
	if (!first)
		return 0;
	unsigned met = ss_host_meets(first, needs), of_any = needs & SS_NEEDS_OF_ANY_HOST;
	/* Traces in other formats are read whole when they are opened, so others are not asked; they hold no programs. */
	if (first->imported.any && run->nhosts > 1)
		return met | (of_any & ~(unsigned)SS_NEEDS_HLO);
	for (size_t i = 1; i < run->nhosts && ~met & of_any; i++) {
		struct ss_host h = { 0 };
		if (i >= MOST_ASKED)
			return met | of_any; /* one of the others may meet them */
		const struct ss_host_file *f = &run->hosts[i];
		if (!f->duplicate && ss_host_open_below(&h, f->top, f->path.p, NULL)) {
			met |= ss_host_meets(&h, of_any & ~met);
			ss_host_close(&h);
		}
	}
	return met;
}

bool ss_request_present(const struct ss_tool *t, const struct ss_run *run, const struct ss_host *first, unsigned met)
{
	if (ss_request_file_kind(t, run))
		return ss_run_has(run, ss_request_file_kind(t, run));
	if (!first || t->needs & ~met)
		return false;
	return ss_tool_present(t, first) || (t->flags & SS_TOOL_OF_PROGRAM && met & SS_NEEDS_HLO);
}

void ss_tool_request_release(struct ss_tool_request *a)
{
	ss_arena_release(&a->arena);
}
