/*
 * gate.h - compares two sides with limits: may a change be merged? What cannot be judged does not
 * pass.
 */
#ifndef SS_DIFF_GATE_H
#define SS_DIFF_GATE_H

#include "diff/compare.h"
#include "table/table.h"

#include <regex.h>

enum ss_gate_state { SS_GATE_NO_VERDICT, SS_GATE_PASS, SS_GATE_FAIL };

struct ss_limit {
	struct ss_str given, metric; /* "step_time=+3%", "step_time"; "op:fusion.*", "scope:jit(f)/", "host:read" */
	double value;		     /* a share, or microseconds or bytes */
	bool relative;
	bool bytes; /* else a time */
	bool has_pattern;
	regex_t pattern; /* of "op:" */
	/* Judged: */
	enum ss_gate_state state;
	struct ss_str reason;
	double limit, delta, base, low, high, mde; /* in the metric's unit; NAN: unknown */
};

struct ss_gate {
	SS_VEC(struct ss_limit) limits;
	size_t min_runs;
	struct ss_arena arena;
};

/* "step_time=+3%,peak_memory=+100MiB", appended. SS_EINVAL says what is wrong. */
bool ss_gate_add_limits(struct ss_gate *g, struct ss_str text, struct ss_err *err);
bool ss_gate_judge(struct ss_gate *g, struct ss_diff *d, struct ss_err *err);
/* Turn the failures of a metric into passes, for a reason. */
bool ss_gate_accept(struct ss_gate *g, struct ss_str metric, struct ss_str reason, struct ss_err *err);
/* The verdict on all limits: a failure if one fails, else none if one has none, else a pass. */
enum ss_gate_state ss_gate_verdict(const struct ss_gate *g);
/* "pass", "fail", "no_verdict" */
struct ss_str ss_gate_state_name(enum ss_gate_state s);
/* The table `limits`, to come first. False: no memory. */
void ss_gate_table(const struct ss_gate *g, struct ss_result *out);
void ss_gate_free(struct ss_gate *g);

#endif
