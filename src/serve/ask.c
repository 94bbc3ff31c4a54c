/* ask.c - running a tool and choosing the emitter of its answer. */
#include "serve/ask.h"

#include "emit/chrome.h"
#include "emit/csv.h"
#include "emit/json.h"
#include "emit/shape.h"
#include "emit/xprof.h"

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
		break;
	}
	return "text/plain; charset=utf-8";
}

/* What the profile's writer and our reader have to say about each file. */
static bool add_notes(struct ss_result *r, const struct ss_model *m)
{
	bool ok = true;
	for (size_t i = 0; ok && i < m->nhosts; i++) {
		const struct ss_host *h = m->hosts[i];
		for (uint32_t k = 0; ok && k < h->x.nnotes; k++)
			ok = ss_result_note(r, SS_WARNING, ss_arena_printf(r->arena, SS_FMT ": " SS_FMT, SS_ARG(h->name),
									   SS_ARG(h->x.notes[k])));
		if (ok && h->ndropped)
			ok = ss_result_note(r, SS_WARNING,
					    ss_arena_printf(r->arena, SS_FMT ": %llu events could not be read", SS_ARG(h->name),
							    (unsigned long long)h->ndropped));
	}
	return ok;
}

bool ss_ask_run(struct ss_ask *a, struct ss_result *r, struct ss_err *err)
{
	struct ss_query q = { .model = a->model, .params = a->params, .nparams = a->nparams, .arena = &a->arena };
	ss_result_init(r, &a->arena);
	if (!a->tool->run(&q, r, err))
		return false;
	return add_notes(r, a->model) || ss_fail_mem(err);
}

static bool write_csv(const struct ss_ask *a, const struct ss_result *r, struct ss_out *o, struct ss_err *err)
{
	size_t written = 0;
	if (a->format == SS_FORMAT_CSV) {
		if (!r->ntables || !r->tables[0].ncols)
			return ss_fail(err, SS_EINVAL, "the answer of %s is no table: there is no CSV of it", a->tool->name);
		ss_emit_csv(o, &r->tables[0], SS_CSV_LABELS);
		return true;
	}
	for (size_t i = 0; i < r->ntables; i++) {
		const struct ss_table *t = &r->tables[i];
		if (!t->ncols || (a->table.n && !ss_str_is(a->table, t->name)))
			continue;
		if (written++)
			ss_out_char(o, '\n');
		if (!a->table.n && r->ntables > 1)
			ss_out_printf(o, "# %s\n", t->name);
		ss_emit_csv(o, t, SS_CSV_IDS);
	}
	if (written)
		return true;
	if (!a->table.n)
		return ss_fail(err, SS_EINVAL, "the answer of %s is no table: there is no CSV of it", a->tool->name);
	char names[200] = "";
	for (size_t i = 0, n = 0; i < r->ntables && n + 60 < sizeof(names); i++) {
		const char *name = r->tables[i].name;
		for (size_t k = 0; k < 2 + strlen(name) && n + 1 < sizeof(names); k++)
			if (k >= 2 || n)
				names[n++] = k < 2 ? ", "[k] : name[k - 2];
		names[n] = '\0';
	}
	return ss_fail(err, SS_ENOTFOUND, "%s has no table '" SS_FMT "' (it has: %s)", a->tool->name, SS_ARG(a->table), names);
}

bool ss_ask(struct ss_ask *a, struct ss_out *o, struct ss_err *err)
{
	struct ss_result r;
	struct ss_json_head head = { ss_str_from(a->tool->name), ss_str_from(a->tool->title), a->run, a->host };
	ss_shape_fn *shape = ss_shape_find(head.tool);
	if (!ss_ask_run(a, &r, err))
		return false;
	a->content_type = r.content_type ? r.content_type : type_of(a->format);
	if (r.content_type) {
		if (a->format == SS_FORMAT_CSV || a->format == SS_FORMAT_CSV_IDS)
			return ss_fail(err, SS_EINVAL, "the answer of %s is no table: there is no CSV of it", a->tool->name);
		ss_out_str(o, r.body);
		return true;
	}
	if (r.timeline) {
		if (a->format != SS_FORMAT_JSON && a->format != SS_FORMAT_XPROF)
			return ss_fail(err, SS_EINVAL, "a timeline is no table: ask for %s as xprof, which any trace viewer reads",
				       a->tool->name);
		ss_chrome_write(o, r.timeline);
		return true;
	}
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
		return write_csv(a, &r, o, err);
	case SS_FORMAT_TEXT:
		ss_emit_text(o, &r, &a->style);
		return true;
	}
	return true;
}

void ss_ask_release(struct ss_ask *a)
{
	ss_arena_release(&a->arena);
}
