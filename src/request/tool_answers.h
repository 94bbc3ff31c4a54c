/*
 * tool_answers.h - what one tool answers for several runs, asked one after the other: the tables
 * stay when the models are closed. For comparisons (diff/tool_tables.h).
 */
#ifndef SS_REQUEST_TOOL_ANSWERS_H
#define SS_REQUEST_TOOL_ANSWERS_H

#include "base/vec.h"
#include "tools/tool.h"

struct ss_tool_answers {
	SS_VEC(struct ss_result) v; /* by run */
	struct ss_arena arena;	    /* theirs */
};

/* Asks of another run. ss_tool_answers_free in any case. */
bool ss_tool_answers_add(struct ss_tool_answers *to, const struct ss_tool *tool, struct ss_model *m,
			 const struct ss_param_value *params, size_t nparams, struct ss_err *err);
void ss_tool_answers_free(struct ss_tool_answers *a);

#endif
