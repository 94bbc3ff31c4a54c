/*
 * session.h - runs that are one recording of one job: profilers of a job's hosts are started
 * seconds apart, and each names its run by the second.
 */
#ifndef SS_STORE_SESSION_H
#define SS_STORE_SESSION_H

#include "store/store.h"

/* Names of runs of one recording differ by at most so much. */
#define SS_SESSION_SECONDS 60

/* May two runs, whose names say so, be one recording? Both have hosts. */
typedef bool ss_together_fn(const struct ss_run *a, const struct ss_run *b);

/*
 * The run with all hosts of its recording: those of runs beside it in one directory whose names are times
 * ("2026_11_20_10_00_04") near its own, too, the nearest first, as long as no host occurs twice (else they are other
 * recordings of the same hosts) and `together` (NULL: always) agrees. `run` itself where no other belongs to it; what
 * is made is in `arena` and points into the store. NULL when memory is out.
 */
const struct ss_run *ss_session_run(const struct ss_store *s, const struct ss_run *run, ss_together_fn *together,
				    struct ss_arena *arena);

#endif
