/* flows.h - the flows that the events of a line are in, as the stats of its events tell. */
#ifndef SS_MODEL_PREPROCESS_FLOWS_H
#define SS_MODEL_PREPROCESS_FLOWS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct ss_host;
struct ss_line;
struct ss_plane;

/* The position of an event in a flow. A flow is an arrow between lines. */
enum ss_flow_dir { SS_FLOW_NONE = 0, SS_FLOW_IN = 1, SS_FLOW_OUT = 2, SS_FLOW_INOUT = 3 };

struct ss_flow {
	uint32_t event;
	uint8_t dir;		/* enum ss_flow_dir */
	uint8_t category;	/* context type, see event_types.def */
	uint64_t id;		/* events with equal id are in the same flow, within a host */
};

/*
 * Flows of one line, by event ascending (docs/tools/trace_viewer.md); *flows is malloc'ed, the
 * caller frees it. Lines without any have n = 0 and no memory. Not stored with the host: only the
 * timeline needs them.
 */
bool ss_preprocess_flows(const struct ss_host *h, const struct ss_plane *p, const struct ss_line *l,
			 struct ss_flow **flows, size_t *n, struct ss_err *err);

#endif
