/*
 * json.h - results as our own JSON: tables by column, values as numbers with their unit beside them
 * (docs/api.md, "A result").
 *
 * Empty cells, NaN and infinities are null.
 */
#ifndef SS_EMIT_JSON_H
#define SS_EMIT_JSON_H

#include "emit/out.h"
#include "table/table.h"

/* The origin of the result; each member may be empty. */
struct ss_json_head {
	struct ss_str tool, title, run, host;
	struct ss_str more; /* further members, as JSON: ",\"verdict\":\"slower\"" */
};

void ss_emit_json(struct ss_out *o, const struct ss_result *r, const struct ss_json_head *head);
/* {"text":…,"more":[…],"mood":…,"see":…}, or null without a conclusion. */
void ss_emit_json_conclusion(struct ss_out *o, const struct ss_conclusion *a);
/* "info", "warning" or "error". */
const char *ss_severity_name(enum ss_severity severity);

#endif
