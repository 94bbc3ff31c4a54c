/*
 * pprof.h - JAX's device memory profile (jax.profiler.save_device_memory_profile), a profile in pprof's
 * format (perftools.profiles.Profile): memory in use on each device, by the stack that allocated it.
 *
 * It becomes blocks of a snapshot without events. Other profiles in this format that count bytes in
 * use (of Go's heap) open as well; those that count time do not.
 */
#ifndef SS_IMPORT_PPROF_H
#define SS_IMPORT_PPROF_H

#include "import/snapshot.h"

bool ss_pprof_is(struct ss_str head);
/* Read a memory profile; the contract is that of ss_snapshot_read. */
bool ss_pprof_read(const struct ss_file *f, struct ss_snapshot *s, struct ss_err *err);

#endif
