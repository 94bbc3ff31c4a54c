/*
 * session.h - runs that are one recording of one job: profilers of a job's hosts are started
 * seconds apart, and each names its run by the second.
 */
#ifndef SS_STORE_SESSION_H
#define SS_STORE_SESSION_H

#include "store/store.h"

/* Names of runs of one recording differ by at most so much. */
#define SS_SESSION_SECONDS 60

/*
 * The profiles of `run` and of the runs that belong to it: whose names are times
 * ("2026_11_20_10_00_04") near its own, the nearest first, as long as no host occurs twice; else
 * they are other recordings of the same hosts. By host name; the array is in `arena`. False when
 * memory is out.
 */
bool ss_session_files(const struct ss_store *s, const struct ss_run *run, struct ss_arena *arena,
		      const struct ss_host_file ***files, size_t *n);

#endif
