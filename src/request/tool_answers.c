/* tool_answers.c - see tool_answers.h. */
#include "request/tool_answers.h"

#include "request/request.h"

#include <stdlib.h>

/* Of tables and notes nothing may point into hosts. */
static bool own_texts(struct ss_result *r, struct ss_arena *a, struct ss_err *err)
{
	struct ss_intern texts = { .copies = true, .into = a };
	for (size_t i = 0; i < r->ntables; i++) {
		struct ss_table *t = &r->tables[i];
		for (size_t c = 0; c < t->ncols; c++)
			for (size_t row = 0; t->cols[c].type == SS_TYPE_STR && row < t->nrows; row++)
				t->data[c].str[row] = ss_intern_str(&texts, t->data[c].str[row]);
		for (size_t k = 0; k < t->nprops; k++)
			t->props[k].text = ss_intern_str(&texts, t->props[k].text);
	}
	bool ok = !texts.no_memory || ss_fail_mem(err);
	ss_intern_release(&texts);
	return ok;
}

bool ss_tool_answers_add(struct ss_tool_answers *to, const struct ss_tool *tool, struct ss_model *m,
			 const struct ss_param_value *params, size_t nparams, struct ss_err *err)
{
	const struct ss_request q = {
		.model = m, .params = params, .nparams = nparams, .arena = &to->arena, .as_tables = true
	};
	struct ss_result r;
	ss_result_init(&r, &to->arena);
	bool ok = ss_request_tables(tool, &q, &r, err) && ss_result_is_whole(&r, err) && own_texts(&r, &to->arena, err);
	return ok && (ss_vec_push(&to->v, r) || ss_fail_mem(err));
}

void ss_tool_answers_free(struct ss_tool_answers *a)
{
	ss_vec_free(&a->v);
	ss_arena_release(&a->arena);
}
