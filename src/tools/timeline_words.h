/*
 * timeline_words.h - the conclusion of a timeline, in sentences: the share of the time in which devices
 * work, their longest pause, and how much was traced.
 *
 * The time counted is from the begin of the first operation of any device to the end of the last. A
 * device works while an operation or kernel runs on any of its streams, except those that only contain
 * others or wait for the host (an infeed). A pause is the time between two operations of a device. The
 * time before its first and after its last is no pause, because the profile may have begun early.
 */
#ifndef SS_TOOLS_TIMELINE_WORDS_H
#define SS_TOOLS_TIMELINE_WORDS_H

#include "tools/tool.h"

struct ss_timeline_words {
	struct ss_conclusion conclusion;
	uint64_t work_begin_ps, work_end_ps; /* from the first to the last work of a device; both 0: there is none */
	uint64_t pause_begin_ps, pause_end_ps; /* the longest pause, in the trace's time; both 0: there is none */
};

/*
 * Texts live in the arena. Linear in the events of devices, for several streams times the log of
 * their number.
 */
bool ss_timeline_words(struct ss_timeline_words *out, struct ss_model *m, struct ss_arena *arena, struct ss_err *err);
/* The same for a tool whose timeline is to be tables. */
bool ss_timeline_conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err);

/* timeline_tables.c: the table "tracks". */
bool ss_timeline_tracks(struct ss_result *out, struct ss_model *m, struct ss_err *err);
/* Turns out->timeline into the table "events", a row for each of its slices. */
void ss_timeline_events(struct ss_result *out);

#endif
