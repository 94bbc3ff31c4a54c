/*
 * rocprof.h - what rocprofv3 writes in JSON (rocprofv3 --output-format json): kernels, copies,
 * calls and markers.
 *
 * The file is walked twice and never held: what records refer to, then the records, one at a time.
 */
#ifndef SS_IMPORT_ROCPROF_H
#define SS_IMPORT_ROCPROF_H

#include "base/file.h"
#include "import/space_out.h"

struct ss_rocprof_loss {
	uint64_t malformed;	/* records without times, or whose end is before their begin */
	bool cut;
};

/* Put the events into `o`, whose planes then have names. */
bool ss_rocprof_read(const struct ss_file *f, struct ss_space_out *o, struct ss_str *hostname, struct ss_rocprof_loss *loss,
		     struct ss_err *err);

/* "MEMORY_COPY_HOST_TO_DEVICE" as PyTorch calls it; in `arena`, p is NULL when memory is out. */
struct ss_str ss_rocprof_copy(struct ss_str operation, struct ss_arena *arena);

#endif
