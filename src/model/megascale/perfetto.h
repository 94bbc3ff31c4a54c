/*
 * perfetto.h - the trace of transfers between slices as a file for ui.perfetto.dev: a gzip'ed
 * perfetto.protos.Trace.
 *
 * Tracks: "1. Global Counters" with what is under way, "2. TPUs" with each TensorCore's lines and,
 * below "Megascale", the runtime's executions. Stats of events are their arguments.
 */
#ifndef SS_MODEL_MEGASCALE_PERFETTO_H
#define SS_MODEL_MEGASCALE_PERFETTO_H

#include "model/megascale/megascale.h"

/* *out is copied to `arena`. */
bool ss_perfetto_write(const struct ss_megascale *m, struct ss_arena *arena, struct ss_str *out, struct ss_err *err);

#endif
