/*
 * findings.h - the findings of the verdict (verdict/verdict.h) in the answers of tools, so that all
 * of them state the same about steps and time.
 */
#ifndef SS_TOOLS_FINDINGS_H
#define SS_TOOLS_FINDINGS_H

#include "tools/tool.h"
#include "verdict/verdict.h"

/* The facts that it needs; ss_verdict_facts has those for several hosts. */
#define SS_FINDINGS_FACTS (SS_FACTS_ATTRIBUTION | SS_FACTS_ENV)

/* The verdict on the hosts of a request. Stored answers, which have no profile, have no findings. */
bool ss_findings_of(struct ss_verdict *out, struct ss_model *m, struct ss_arena *arena, struct ss_err *err);
/* The finding with this cause; NULL: there is none. */
const struct ss_verdict_finding *ss_finding_of_cause(const struct ss_verdict *v, enum ss_cause c);
/* Add the findings as the conclusion, in their order, with the mood of the first. Adds nothing if there are none. */
void ss_findings_say(struct ss_result *out, const struct ss_verdict *v);
/*
 * Add the steps of the verdict as properties of the table of steps, whose rows are those of XProf: step_count (0: no step is known)
 * and step_time_*_ms.
 */
void ss_findings_say_steps(struct ss_result *out, const struct ss_verdict *v);
/* Add notes on what the recording lacks, unless the result has such a note already. */
void ss_findings_note_gaps(struct ss_result *out, const struct ss_verdict *v);

#endif
