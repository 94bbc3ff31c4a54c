/*
 * rocprof_csv.h - a table that rocprofv3 writes in CSV: PID_kernel_trace.csv, PID_hip_api_trace.csv,
 * PID_memory_copy_trace.csv, PID_marker_api_trace.csv. Each file holds one kind of events.
 *
 * Columns are found by their names, which came and went with versions. A GPU is called by the number of its agent.
 */
#ifndef SS_IMPORT_ROCPROF_CSV_H
#define SS_IMPORT_ROCPROF_CSV_H

#include "import/space_out.h"

struct ss_rocprof_csv_loss {
	uint64_t malformed;	/* rows without times, or whose end is before their begin */
	bool cut;		/* the last row is not whole */
};

bool ss_rocprof_csv_is(struct ss_str head);
/* Put the events into `o`, whose planes then have names. SS_EFORMAT for a table without times. */
bool ss_rocprof_csv_read(struct ss_str bytes, struct ss_space_out *o, struct ss_rocprof_csv_loss *loss, struct ss_err *err);

#endif
