/* tool_join.c - see tool_join.h. */
#include "diff/tool_join.h"

#include <math.h>

bool ss_join_word(struct ss_str *list, struct ss_str *word)
{
	size_t space = ss_str_chr(*list, ' ');
	*word = ss_str_sub(*list, 0, space == SS_NPOS ? list->n : space);
	*list = ss_str_sub(*list, space == SS_NPOS ? list->n : space + 1, list->n);
	return word->n > 0;
}

bool ss_join_has(const char *list, const char *id)
{
	struct ss_str rest = ss_str_from(list), word;
	while (ss_join_word(&rest, &word))
		if (ss_str_is(word, id))
			return true;
	return false;
}

/*
 * Ranks, running sums and moments are numbers that mean nothing beside those of another recording.
 */
bool ss_join_is_figure(const struct ss_join_spec *s, const struct ss_col *c)
{
	if (c->type != SS_TYPE_F64 && (c->type != SS_TYPE_I64 || c->unit == SS_UNIT_NONE))
		return false;
	return !ss_join_has(s->keys, c->id) && !ss_join_has(s->step, c->id) && !ss_join_has("rank id parent children", c->id) &&
	       !strstr(c->id, "umulative") && !ss_join_has("peak_time_ps peak_offset_ps time_frac", c->id);
}

double ss_join_number(const struct ss_table *t, size_t row, size_t col)
{
	if (col == SS_NPOS)
		return NAN;
	return t->cols[col].type == SS_TYPE_I64 ? (double)t->data[col].i64[row] : t->data[col].f64[row];
}

/* "jit_step(1234)": the number in brackets is another one in each recording. */
struct ss_str ss_join_text(const struct ss_table *t, size_t row, size_t col)
{
	struct ss_str s = t->data[col].str[row];
	size_t open = ss_str_rchr(s, '(');
	struct ss_str number = open == SS_NPOS ? SS_STR("") : ss_str_sub(s, open + 1, s.n - 1);
	int64_t ignored;
	uint64_t fingerprint; /* of a program: any 64 bits */
	if (open != SS_NPOS && open > 0 && ss_str_ends(s, SS_STR(")")) &&
	    (ss_str_to_i64(number, &ignored) || ss_str_to_u64(number, &fingerprint)))
		s.n = open;
	return s;
}

uint64_t ss_join_cell_hash(const struct ss_table *t, size_t row, size_t col)
{
	switch (t->cols[col].type) {
	case SS_TYPE_STR:
		return ss_str_hash(ss_join_text(t, row, col));
	case SS_TYPE_I64:
		return (uint64_t)t->data[col].i64[row];
	case SS_TYPE_BOOL:
		return t->data[col].b[row];
	case SS_TYPE_F64:
		break;
	}
	return (uint64_t)(int64_t)t->data[col].f64[row];
}

/* The verdict of a tested row; "" where nothing was tested, or nothing may be said. */
struct ss_str ss_join_verdict(const struct ss_diff *d, const struct ss_diff_row *r)
{
	if (isnan(r->c.p) || ss_diff_is_refused(d))
		return SS_STR("");
	return !r->significant ? SS_STR("no_change") : r->c.delta > 0 ? SS_STR("more") : SS_STR("less");
}

const struct ss_table *ss_join_first(struct ss_tool_side s, const char *name)
{
	for (size_t i = 0; i < s.n; i++) {
		const struct ss_table *t = ss_result_find(&s.v[i], name);
		if (t->ncols)
			return t;
	}
	return NULL;
}

static bool has_one_value(struct ss_tool_side side, const char *table, const char *id)
{
	for (size_t i = 0; i < side.n; i++) {
		const struct ss_table *t = ss_result_find(&side.v[i], table);
		size_t c = ss_table_col(t, id);
		for (size_t row = 1; c != SS_NPOS && row < t->nrows; row++)
			if (ss_join_cell_hash(t, row, c) != ss_join_cell_hash(t, 0, c))
				return false;
	}
	return true;
}

bool ss_join_names_one_host(const struct ss_table *like, size_t col, struct ss_tool_side base, struct ss_tool_side new)
{
	const char *id = like->cols[col].id;
	return ss_join_has("host Host host_name", id) && has_one_value(base, like->name, id) && has_one_value(new, like->name, id);
}

void ss_join_copy_cell(struct ss_table *to, size_t col, const struct ss_table *from, size_t row, size_t from_col)
{
	if (from_col == SS_NPOS || to->cols[col].type != from->cols[from_col].type)
		return;
	switch (to->cols[col].type) {
	case SS_TYPE_STR:
		ss_set_str(to, col, from->data[from_col].str[row]);
		return;
	case SS_TYPE_I64:
		ss_set_i64(to, col, from->data[from_col].i64[row]);
		return;
	case SS_TYPE_BOOL:
		ss_set_bool(to, col, from->data[from_col].b[row]);
		return;
	case SS_TYPE_F64:
		ss_set_f64(to, col, from->data[from_col].f64[row]);
		return;
	}
}
