/* json.c - results by column. */
#include "emit/json.h"

#include <math.h>

const char *ss_severity_name(enum ss_severity severity)
{
	switch (severity) {
	case SS_INFO:
		return "info";
	case SS_WARNING:
		return "warning";
	case SS_ERROR:
		return "error";
	}
	return "info";
}

static void key(struct ss_out *o, const char *name, struct ss_str value)
{
	ss_out_printf(o, "\"%s\":", name);
	ss_out_json_str(o, value);
}

void ss_emit_json_conclusion(struct ss_out *o, const struct ss_conclusion *a)
{
	static const char *const moods[] = {
		[SS_MOOD_PLAIN] = "plain", [SS_MOOD_GOOD] = "good", [SS_MOOD_WARN] = "warn", [SS_MOOD_BAD] = "bad",
	};
	if (!a->text.n) {
		ss_out_lit(o, "null");
		return;
	}
	ss_out_char(o, '{');
	key(o, "text", a->text);
	ss_out_lit(o, ",\"more\":[");
	for (size_t i = 0; i < a->nmore; i++) {
		ss_out_z(o, i ? "," : "");
		ss_out_json_str(o, a->more[i]);
	}
	ss_out_printf(o, "],\"mood\":\"%s\",\"see\":\"%s\"}", moods[a->mood], a->see ? a->see : "");
}

static void number(struct ss_out *o, double v)
{
	if (isfinite(v))
		ss_out_f64(o, v);
	else
		ss_out_lit(o, "null");
}

/* [{"severity":…,"text":…}] */
static void emit_json_notes(struct ss_out *o, const struct ss_note *notes, size_t n)
{
	ss_out_char(o, '[');
	for (size_t i = 0; i < n; i++) {
		ss_out_printf(o, "%s{\"severity\":\"%s\",", i ? "," : "", ss_severity_name(notes[i].severity));
		key(o, "text", notes[i].text);
		ss_out_char(o, '}');
	}
	ss_out_char(o, ']');
}

/* A later property of the same id replaces the earlier one. */
static bool replaced(const struct ss_table *t, size_t i)
{
	for (size_t k = i + 1; k < t->nprops; k++)
		if (strcmp(t->props[k].id, t->props[i].id) == 0)
			return true;
	return false;
}

static void props(struct ss_out *o, const struct ss_table *t)
{
	char open = '{';
	ss_out_lit(o, ",\"props\":");
	for (size_t i = 0; i < t->nprops; i++) {
		const struct ss_prop *p = &t->props[i];
		if (replaced(t, i))
			continue;
		ss_out_char(o, open);
		ss_out_json_str(o, ss_str_from(p->id));
		ss_out_lit(o, ":{");
		key(o, "label", ss_str_from(p->label ? p->label : p->id));
		ss_out_printf(o, ",\"unit\":\"%s\",\"value\":", ss_unit_name(p->unit));
		number(o, p->value);
		ss_out_char(o, ',');
		key(o, "text", p->text);
		ss_out_char(o, '}');
		open = ',';
	}
	ss_out_z(o, open == '{' ? "{}" : "}");
}

static void cols(struct ss_out *o, const struct ss_table *t)
{
	static const char *const types[] = {
		[SS_TYPE_STR] = "str", [SS_TYPE_F64] = "f64", [SS_TYPE_I64] = "i64", [SS_TYPE_BOOL] = "bool"
	};
	ss_out_lit(o, ",\"cols\":[");
	for (size_t c = 0; c < t->ncols; c++) {
		const struct ss_col *col = &t->cols[c];
		ss_out_z(o, c ? ",{" : "{");
		key(o, "id", ss_str_from(col->id));
		ss_out_char(o, ',');
		key(o, "label", ss_str_from(col->label));
		ss_out_printf(o, ",\"type\":\"%s\",\"unit\":\"%s\",", types[col->type], ss_unit_name(col->unit));
		key(o, "doc", ss_str_from(col->doc ? col->doc : ""));
		if (col->role) {
			ss_out_char(o, ',');
			key(o, "role", ss_str_from(col->role));
		}
		ss_out_char(o, '}');
	}
	ss_out_char(o, ']');
}

static void column(struct ss_out *o, const struct ss_table *t, size_t c)
{
	const union ss_column *d = &t->data[c];
	ss_out_char(o, '[');
	for (size_t i = 0; i < t->nrows; i++) {
		if (i)
			ss_out_char(o, ',');
		switch (t->cols[c].type) {
		case SS_TYPE_STR:
			ss_out_json_str(o, d->str[i]);
			break;
		case SS_TYPE_F64:
			number(o, d->f64[i]);
			break;
		case SS_TYPE_I64:
			if (t->cols[c].unit == SS_UNIT_HEX)
				ss_out_u64(o, (uint64_t)d->i64[i]);
			else
				ss_out_i64(o, d->i64[i]);
			break;
		case SS_TYPE_BOOL:
			ss_out_z(o, d->b[i] ? "true" : "false");
			break;
		}
	}
	ss_out_char(o, ']');
}

static void table(struct ss_out *o, const struct ss_table *t)
{
	ss_out_char(o, '{');
	key(o, "name", ss_str_from(t->name));
	ss_out_char(o, ',');
	key(o, "title", ss_str_from(t->title));
	props(o, t);
	cols(o, t);
	ss_out_lit(o, ",\"nrows\":");
	ss_out_u64(o, t->nrows);
	ss_out_lit(o, ",\"data\":[");
	for (size_t c = 0; c < t->ncols; c++) {
		if (c)
			ss_out_char(o, ',');
		column(o, t, c);
	}
	ss_out_lit(o, "]}");
}

void ss_emit_json(struct ss_out *o, const struct ss_result *r, const struct ss_json_head *head)
{
	ss_out_char(o, '{');
	key(o, "tool", head->tool);
	ss_out_char(o, ',');
	key(o, "title", head->title);
	ss_out_char(o, ',');
	key(o, "run", head->run);
	ss_out_char(o, ',');
	key(o, "host", head->host);
	ss_out_str(o, head->more);
	ss_out_lit(o, ",\"conclusion\":");
	ss_emit_json_conclusion(o, &r->conclusion);
	ss_out_lit(o, ",\"notes\":");
	emit_json_notes(o, r->notes, r->nnotes);
	ss_out_lit(o, ",\"tables\":[");
	for (size_t i = 0; i < r->ntables; i++) {
		if (i)
			ss_out_char(o, ',');
		table(o, &r->tables[i]);
	}
	ss_out_lit(o, "]}");
}
