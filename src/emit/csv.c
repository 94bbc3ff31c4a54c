/* csv.c - a table as CSV. */
#include "emit/csv.h"

#include "base/html.h"

#include <math.h>

static void quoted(struct ss_out *o, struct ss_str s)
{
	ss_out_char(o, '"');
	for (size_t at; (at = ss_str_chr(s, '"')) != SS_NPOS; s = ss_str_sub(s, at + 1, s.n)) {
		ss_out_str(o, ss_str_sub(s, 0, at));
		ss_out_lit(o, "\"\"");
	}
	ss_out_str(o, s);
	ss_out_char(o, '"');
}

static void plain(struct ss_out *o, struct ss_str html)
{
	struct ss_buf words = { 0 };
	ss_html_plain(&words, html);
	quoted(o, ss_buf_get(&words));
	o->no_memory = o->no_memory || words.no_memory;
	ss_buf_free(&words);
}

static void cell(struct ss_out *o, const struct ss_table *t, size_t c, size_t row, bool for_xprof)
{
	double v;
	switch (t->cols[c].type) {
	case SS_TYPE_STR:
		/* XProf exports what its page shows; for others a text is what it says. */
		if (t->cols[c].unit == SS_UNIT_HTML && !for_xprof)
			plain(o, t->data[c].str[row]);
		else
			quoted(o, t->data[c].str[row]);
		return;
	case SS_TYPE_F64:
		v = t->data[c].f64[row];
		ss_out_char(o, '"');
		if (isinf(v))
			ss_out_z(o, v > 0 ? "inf" : "-inf");
		else if (!isnan(v))
			ss_out_f64(o, v);
		ss_out_char(o, '"');
		return;
	case SS_TYPE_I64:
		ss_out_char(o, '"');
		if (t->cols[c].unit == SS_UNIT_HEX)
			ss_out_u64(o, (uint64_t)t->data[c].i64[row]);
		else
			ss_out_i64(o, t->data[c].i64[row]);
		if (for_xprof)
			ss_out_lit(o, ".0");
		ss_out_char(o, '"');
		return;
	case SS_TYPE_BOOL:
		ss_out_z(o, t->data[c].b[row] ? "\"True\"" : "\"False\"");
		return;
	}
}

void ss_emit_csv(struct ss_out *o, const struct ss_table *t, ss_csv_label_fn *xprof_label)
{
	for (size_t c = 0; c < t->ncols; c++) {
		const struct ss_col *col = &t->cols[c];
		if (c)
			ss_out_char(o, ',');
		const char *label = xprof_label ? xprof_label(t, c) : "";
		quoted(o, ss_str_from(label[0] ? label : col->id));
	}
	ss_out_char(o, '\n');
	for (size_t row = 0; row < t->nrows; row++) {
		for (size_t c = 0; c < t->ncols; c++) {
			if (c)
				ss_out_char(o, ',');
			cell(o, t, c, row, xprof_label != NULL);
		}
		ss_out_char(o, '\n');
	}
}
