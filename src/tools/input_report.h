/*
 * input_report.h - does the program wait for its input? The statements on steps that overview_page
 * and input_pipeline_analyzer share.
 */
#ifndef SS_TOOLS_INPUT_REPORT_H
#define SS_TOOLS_INPUT_REPORT_H

#include "model/device/env.h"
#include "model/steps/host_input.h"
#include "model/steps/step_stats.h"
#include "tools/tool.h"

/*
 * The limit as XProf's clients get it: a class ("host", "both", "device", "unknown"; "high",
 * "moderate", "no", "yes") and a sentence. Only their answers have it (as_xprof); all others have
 * the findings (findings.h).
 */
struct ss_statement {
	const char *level;
	struct ss_str text;
};

struct ss_input_report {
	const struct ss_env *env;
	const struct ss_ops *ops;
	const struct ss_steps *steps;
	struct ss_tpu_row *tpu;	   /* one for each step; NULL unless steps are by category */
	struct ss_part_row *parts; /* one for each step; NULL if steps are by category */
	struct ss_host_input host;
	struct ss_statement input, output, collectives, launch, other;
	struct ss_str next_step;
	bool as_xprof; /* else the five statements and next_step are empty */
	/* Means over steps, ms: cores that had work, and the busier of both kinds. */
	double tc_active_ms, sc_active_ms, active_step_ms;
	double sc_step_ms, sc_idle_ms, sc_compute_ms;
	bool marked_only; /* the table is of marked steps alone; other pages may show inferred ones */
	bool in_timeline; /* the timeline has the steps under the same numbers */
	bool kineto; /* torch.profiler wrote the profile: sentences use the terms of PyTorch */
	bool sparse_in_steps; /* SparseCores ran something, so every step has them */
};

/*
 * Steps that the program marked, or else those that can be inferred. XProf knows only the former,
 * and hosts that have some but none in common say more about how the profile was taken than steps
 * do. whole_only: without those that the begin and end of the profile may have cut. For XProf's
 * clients steps have XProf's numbers, else the program's own, where it gives them.
 */
const struct ss_steps *ss_request_marked_steps(const struct ss_request *q, bool whole_only, struct ss_err *err);
const struct ss_steps *ss_request_steps(const struct ss_request *q, bool whole_only, struct ss_err *err);
/* Everything lives in q->arena. */
bool ss_input_report_make(struct ss_input_report *r, const struct ss_request *q, struct ss_err *err);
/* Append the table "steps". */
bool ss_input_steps_table(const struct ss_input_report *r, struct ss_result *out);
/*
 * Append the table "diagnostics": problems that the steps show, and with `profile` also the errors
 * and warnings in the profiles.
 */
bool ss_input_diagnostics(const struct ss_input_report *r, const struct ss_request *q, struct ss_result *out, bool profile);

#endif
