/*
 * trace_proto.h - the trace that Cloud TPU tools wrote up to 2020 (`*.trace`): a Trace message of
 * devices, their resources, and events.
 */
#ifndef SS_IMPORT_TRACE_PROTO_H
#define SS_IMPORT_TRACE_PROTO_H

#include "import/space_out.h"

struct ss_trace_loss {
	uint64_t malformed;	/* events and devices that cannot be read */
	bool cut;		/* the file ends early, or is damaged from some point on */
};

/*
 * Put the events into `o`, whose planes then have names. SS_EFORMAT when nothing of it is a trace.
 */
bool ss_trace_proto_read(struct ss_str bytes, struct ss_space_out *o, struct ss_trace_loss *loss, struct ss_err *err);

#endif
