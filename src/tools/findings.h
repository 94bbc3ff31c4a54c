/*
 * findings.h - the findings of the verdict (verdict/verdict.h) for tools: what all of them say of
 * steps and time.
 */
#ifndef SS_TOOLS_FINDINGS_H
#define SS_TOOLS_FINDINGS_H

#include "tools/tool.h"
#include "verdict/verdict.h"

/* What it asks the model for; that of several hosts is gathered beside (ss_findings_facts). */
#define SS_FINDINGS_FACTS (SS_FACTS_ATTRIBUTION | SS_FACTS_ENV)

/* Of the hosts of a request; of stored answers, which come without a profile, there are none. */
bool ss_findings_of(struct ss_verdict *out, struct ss_model *m, struct ss_arena *arena, struct ss_err *err);
/* That of this cause, NULL where nobody says so. */
const struct ss_verdict_finding *ss_finding_of_cause(const struct ss_verdict *v, enum ss_cause c);
/* The findings as a conclusion, the first of them first, with its mood. Adds nothing where there are none. */
void ss_findings_say(struct ss_result *out, const struct ss_verdict *v);
/*
 * The steps of the verdict as properties of the table of steps, whose rows are those of XProf: step_count (0: none are known) and
 * step_time_*_ms.
 */
void ss_findings_say_steps(struct ss_result *out, const struct ss_verdict *v);
/* What the recording lacks, as notes, but for what is a note anyway. */
void ss_findings_note_gaps(struct ss_result *out, const struct ss_verdict *v);

#endif
