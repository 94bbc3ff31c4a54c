/*
 * trace_build.h - makes tracks from the lines of a host, before levels are assigned. Internal to
 * trace.c.
 */
#ifndef SS_MODEL_TIMELINE_TRACE_BUILD_H
#define SS_MODEL_TIMELINE_TRACE_BUILD_H

#include "model/timeline/trace.h"

/*
 * Fill sections and tracks of tr (zeroed but for the host): names, positions, flows, hidden events,
 * event numbers; level bytes are there but only tell SS_TRACE_HIDDEN from the rest. On failure the
 * caller calls ss_trace_clear for the partial result.
 */
bool ss_trace_build(struct ss_trace *tr, struct ss_err *err);
void ss_trace_clear(struct ss_trace *tr);

#endif
