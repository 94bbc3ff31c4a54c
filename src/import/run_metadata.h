/*
 * run_metadata.h - RunMetadata of TensorFlow 1: what each node of the graph did in one session.run with
 * trace_level=FULL_TRACE, by device.
 */
#ifndef SS_IMPORT_RUN_METADATA_H
#define SS_IMPORT_RUN_METADATA_H

#include "import/space_out.h"

struct ss_run_metadata_loss {
	uint64_t malformed;	/* nodes that cannot be read, or end before they begin */
	bool cut;		/* the file ends early, or is damaged from some point on */
};

/* Does it begin with the statistics of a device? */
bool ss_run_metadata_is(struct ss_str head);
/* Put the nodes into `o`. SS_EFORMAT when it holds no device. */
bool ss_run_metadata_read(struct ss_str bytes, struct ss_space_out *o, struct ss_run_metadata_loss *loss, struct ss_err *err);

#endif
