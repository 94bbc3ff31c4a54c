/*
 * shape_end_to_end.c - the table of the chart that TensorFlow 1.14's end_to_end tool drew: names of
 * the categories, then a row of durations in ms for each file.
 */
#include "xprof/shape.h"

/* The row of one file is named only where there are several: the old chart has one, without a name. */
static void durations(struct ss_out *o, const struct ss_table *t, size_t from, size_t end, bool named)
{
	ss_out_char(o, '[');
	ss_out_json_str(o, named ? ss_cell_str(t, from, "file") : SS_STR(""));
	for (size_t i = from; i < end; i++) {
		ss_out_lit(o, ", ");
		ss_out_f64(o, ss_cell_f64(t, i, "duration_ms"));
	}
	ss_out_lit(o, ", \"\"]");
}

void ss_shape_end_to_end(struct ss_out *o, const struct ss_result *r)
{
	const struct ss_table *t = ss_result_find(r, "breakdown");
	size_t n = 0;
	while (n < t->nrows && ss_str_eq(ss_cell_str(t, n, "file"), ss_cell_str(t, 0, "file")))
		n++;
	ss_out_lit(o, "[[\"Category\"");
	for (size_t i = 0; i < n; i++) {
		ss_out_lit(o, ", ");
		ss_out_json_str(o, ss_cell_str(t, i, "category"));
	}
	ss_out_lit(o, ", {\"role\": \"annotation\"}]");
	for (size_t i = 0; n && i + n <= t->nrows; i += n) {
		ss_out_lit(o, ", ");
		durations(o, t, i, i + n, n < t->nrows);
	}
	ss_out_char(o, ']');
}
