/*
 * recorded.h - when a profile was recorded, and of which programs. This alone decides whether runs of different names are one
 * recording of one job, and whether the files of one directory are hosts of one run. store/processes.h decides by names, for traces
 * that do not record this.
 */
#ifndef SS_REQUEST_RECORDED_H
#define SS_REQUEST_RECORDED_H

#include "store/session.h"

/*
 * ss_session_run with the recordings themselves as evidence. Runs belong together if the recordings of their first hosts overlap in
 * time, or share a program whose name has a fingerprint; also if one of them does not record its time.
 */
const struct ss_run *ss_recorded_run(const struct ss_store *s, const struct ss_run *run, struct ss_arena *arena);

struct ss_recordings {
	const struct ss_run *v;	/* the run itself, or its recordings in the order of time, in the arena */
	size_t n;
};

/*
 * Files whose recordings overlap in time belong together; others are recordings of one process, one after the other. The run
 * is not divided if a file does not record when it was made. False: memory is out.
 */
bool ss_recordings_of(const struct ss_run *run, struct ss_arena *arena, struct ss_recordings *out);

#endif
