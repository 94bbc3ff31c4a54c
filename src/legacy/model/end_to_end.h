/*
 * end_to_end.h - where the wall time of a whole program went: training, evaluation, prediction, and
 * what came before and between, from the log of phases that TPUEstimator writes.
 *
 * The log (events.out.tfevents.*.profile_logger) has an event at each begin and end, with the tag
 * profile/<phase>_<begin|end>. Sessions are train, eval and predict, each from the last begin to
 * the last end of its name; any other phase belongs to the first session that it happened in, else
 * to one that has not ended (which the categories leave out), and of several the last counts. What
 * is missing is 0, and no duration is negative. The ten categories are those of the chart that
 * TensorFlow 1.14's end_to_end tool had; its file end_to_end.json holds them ready made.
 *
 * They are no partition: "training" is the whole session and holds the first five, and model_fn may
 * run before init_system.
 */
#ifndef SS_LEGACY_MODEL_END_TO_END_H
#define SS_LEGACY_MODEL_END_TO_END_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct ss_host;

enum ss_e2e_session { SS_E2E_TRAIN, SS_E2E_EVAL, SS_E2E_PREDICT, SS_E2E_SESSIONS };
enum ss_e2e_phase { SS_E2E_WHOLE, SS_E2E_INIT_SYSTEM, SS_E2E_MODEL_FN, SS_E2E_SETUP_INFEED, SS_E2E_PHASES };

enum ss_e2e_category {
	SS_E2E_TO_INIT,
	SS_E2E_INIT,
	SS_E2E_TO_MODEL,
	SS_E2E_MODEL,
	SS_E2E_INFEED,
	SS_E2E_TRAINING,
	SS_E2E_TO_EVAL,
	SS_E2E_EVALUATION,
	SS_E2E_TO_PREDICT,
	SS_E2E_PREDICTION,
	SS_E2E_CATEGORIES
};

struct ss_e2e_span {
	double begin_ms, end_ms; /* since the Unix epoch; NaN: not in the log */
};

struct ss_end_to_end {
	double category_ms[SS_E2E_CATEGORIES];
	bool from_json;		/* ready made: no spans */
	struct ss_e2e_span span[SS_E2E_SESSIONS][SS_E2E_PHASES];
	uint64_t nevents;	/* of known tags */
	uint64_t nstray;	/* of these, in no session */
	uint64_t ndamaged;
	bool cut, bad;		/* as in struct ss_event_tally */
};

/* The names that the chart gives them: "beginning to init-system's start" ... */
const char *ss_e2e_category_name(enum ss_e2e_category c);
const char *ss_e2e_session_name(enum ss_e2e_session s);	/* "train" */
const char *ss_e2e_phase_name(enum ss_e2e_phase p);	/* "init_system" */

/* Of a raw host. SS_ENODATA when its file holds no phase, SS_EFORMAT when it is no such file. */
bool ss_end_to_end_read(const struct ss_host *h, struct ss_end_to_end *out, struct ss_err *err);

#endif
