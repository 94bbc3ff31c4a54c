/*
 * datatable.c - DataTables. Property lists are short and are put in order by repeated search, which
 * needs no memory.
 */
#include "xprof/datatable.h"

#include <math.h>

static const char *type_name(enum ss_type type)
{
	switch (type) {
	case SS_TYPE_STR:
		return "string";
	case SS_TYPE_BOOL:
		return "boolean";
	case SS_TYPE_F64:
	case SS_TYPE_I64:
		break;
	}
	return "number";
}

const char *ss_xprof_label(const struct ss_table *t, size_t col)
{
	static const struct {
		const char *table, *id, *with, *label;
	} labels[] = {
#define XPROF_LABEL(table, id, with, label) { table, id, with, label },
#include "xprof/labels.def"
#undef XPROF_LABEL
	};
	for (size_t i = 0; i < SS_COUNT(labels); i++)
		if (strcmp(labels[i].id, t->cols[col].id) == 0 && strcmp(labels[i].table, t->name) == 0 &&
		    (!labels[i].with[0] || ss_table_col(t, labels[i].with) != SS_NPOS))
			return labels[i].label;
	return t->cols[col].label;
}

static void emit_col(struct ss_out *o, const struct ss_table *t, size_t col)
{
	const struct ss_col *c = &t->cols[col];
	ss_out_lit(o, "{\"id\":");
	ss_out_json_str(o, ss_str_from(c->id));
	ss_out_lit(o, ",\"label\":");
	ss_out_json_str(o, ss_str_from(ss_xprof_label(t, col)));
	if (c->role) {
		ss_out_lit(o, ",\"p\":{\"role\":");
		ss_out_json_str(o, ss_str_from(c->role));
		ss_out_char(o, '}');
	}
	ss_out_printf(o, ",\"type\":\"%s\"}", type_name(c->type));
}

/* The property whose id follows `after` in the order of bytes; of equal ids the last one set counts. */
static const struct ss_prop *next_prop(const struct ss_table *t, const char *after)
{
	const struct ss_prop *best = NULL;
	for (size_t i = 0; i < t->nprops; i++) {
		const struct ss_prop *p = &t->props[i];
		if ((!after || strcmp(p->id, after) > 0) && (!best || strcmp(p->id, best->id) <= 0))
			best = p;
	}
	return best;
}

static void emit_props(struct ss_out *o, const struct ss_table *t)
{
	if (!t->nprops)
		return;
	ss_out_lit(o, ",\"p\":");
	char open = '{';
	for (const struct ss_prop *p = next_prop(t, NULL); p; p = next_prop(t, p->id)) {
		ss_out_char(o, open);
		ss_out_json_str(o, ss_str_from(p->id));
		ss_out_char(o, ':');
		ss_out_json_str(o, p->text);
		open = ',';
	}
	ss_out_char(o, '}');
}

/* 64 bits unsigned: exact for people in "f", as near as a double comes in "v". */
static void emit_hex(struct ss_out *o, uint64_t v)
{
	ss_out_printf(o, "{\"f\":\"0x%llx\",\"v\":", (unsigned long long)v);
	ss_out_f64(o, (double)v);
	ss_out_char(o, '}');
}

static void emit_cell(struct ss_out *o, const struct ss_table *t, size_t c, size_t row)
{
	if (t->cols[c].unit == SS_UNIT_HEX) {
		emit_hex(o, (uint64_t)t->data[c].i64[row]);
		return;
	}
	ss_out_lit(o, "{\"v\":");
	switch (t->cols[c].type) {
	case SS_TYPE_STR:
		ss_out_json_str(o, t->data[c].str[row]);
		break;
	case SS_TYPE_F64:
		if (isnan(t->data[c].f64[row]))
			ss_out_lit(o, "\"\"");
		else
			ss_out_f64(o, t->data[c].f64[row]);
		break;
	case SS_TYPE_I64:
		ss_out_i64(o, t->data[c].i64[row]);
		ss_out_lit(o, ".0");
		break;
	case SS_TYPE_BOOL:
		ss_out_z(o, t->data[c].b[row] ? "true" : "false");
		break;
	}
	ss_out_char(o, '}');
}

void ss_emit_xprof_table(struct ss_out *o, const struct ss_table *t)
{
	if (!t->ncols && !t->nprops) {
		ss_out_lit(o, "{}");
		return;
	}
	ss_out_lit(o, "{\"cols\":[");
	for (size_t c = 0; c < t->ncols; c++) {
		if (c)
			ss_out_char(o, ',');
		emit_col(o, t, c);
	}
	ss_out_char(o, ']');
	emit_props(o, t);
	ss_out_lit(o, ",\"rows\":[");
	for (size_t row = 0; row < t->nrows; row++) {
		ss_out_z(o, row ? ",{\"c\":[" : "{\"c\":[");
		for (size_t c = 0; c < t->ncols; c++) {
			if (c)
				ss_out_char(o, ',');
			emit_cell(o, t, c, row);
		}
		ss_out_lit(o, "]}");
	}
	ss_out_lit(o, "]}");
}

void ss_emit_xprof(struct ss_out *o, const struct ss_result *r, bool one_table)
{
	if (one_table && r->ntables) {
		ss_emit_xprof_table(o, &r->tables[0]);
		return;
	}
	ss_out_char(o, '[');
	for (size_t i = 0; i < r->ntables; i++) {
		if (i)
			ss_out_char(o, ',');
		ss_emit_xprof_table(o, &r->tables[i]);
	}
	ss_out_char(o, ']');
}
