/* summary.h - the parts of stepscope summary. */
#ifndef SS_CLI_SUMMARY_H
#define SS_CLI_SUMMARY_H

#include "cli.h"
#include "verdict/verdict.h"

/* One object, and nothing else. */
void cli_summary_json(struct ss_out *o, const struct ss_verdict *v, struct ss_str run);

#endif
