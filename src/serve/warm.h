/*
 * warm.h - opens and loads a profile in the background and computes answers, so that the first
 * request is quick.
 */
#ifndef SS_SERVE_WARM_H
#define SS_SERVE_WARM_H

#include "serve/call.h"

/* At most this many tools in one request. */
#define SS_WARM_TOOLS 32

/*
 * Run the tools one after the other over all hosts of the selection, in a thread of its own. Failures
 * are not reported here; later requests get them. SS_EBUSY: such a thread is running already, or no
 * thread is free.
 */
bool ss_warm(struct ss_server_state *srv, const struct ss_selection *sel, const struct ss_tool *const *tools, size_t ntools,
	     struct ss_err *err);
/* Is it running? Then the server cannot be freed. */
bool ss_warm_busy(struct ss_server_state *srv);

#endif
