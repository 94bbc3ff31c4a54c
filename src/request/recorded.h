/*
 * recorded.h - when a profile was recorded, and of which programs: do runs of different names belong to one recording of one job?
 */
#ifndef SS_REQUEST_RECORDED_H
#define SS_REQUEST_RECORDED_H

#include "store/session.h"

/* Times since the Unix epoch, as the profile's plane "Task Environment" tells them. False: it does not, or is no XSpace. */
bool ss_recorded_at(const struct ss_host_file *f, int64_t *begin_ns, int64_t *end_ns);

/*
 * ss_session_run with the recordings themselves as evidence. Runs belong together if the recordings of their first hosts overlap in
 * time, or share a program whose name has a fingerprint; also if one of them does not tell its time.
 */
const struct ss_run *ss_recorded_run(const struct ss_store *s, const struct ss_run *run, struct ss_arena *arena);

#endif
