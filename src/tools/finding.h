/*
 * finding.h - the largest thing that smart_suggestion finds, for tools that open with it.
 */
#ifndef SS_TOOLS_FINDING_H
#define SS_TOOLS_FINDING_H

#include "tools/tool.h"

/* What the rules ask the model for. */
#define SS_FINDING_FACTS                                                                          \
	(SS_FACTS_ENV | SS_FACTS_OPS | SS_FACTS_STEPS | SS_FACTS_INFERRED_STEPS | SS_FACTS_BARRIERS |       \
	 SS_FACTS_IDLE_ATTRIBUTION | SS_FACTS_MEMORY_PEAK)

struct ss_finding {
	struct ss_str text;	/* "": no rule fires */
	bool about_gaps;	/* it says in what the host spends the time in which no step computes */
};

/* The first row of smart_suggestion. The text lives in q->arena. */
bool ss_finding_first(struct ss_finding *out, const struct ss_request *q, struct ss_err *err);

#endif
