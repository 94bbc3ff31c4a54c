/*
 * warm.h - answers computed before somebody asks: opens and loads a profile in the background, so
 * that the first look at it is quick.
 */
#ifndef SS_SERVE_WARM_H
#define SS_SERVE_WARM_H

#include "serve/call.h"

/* At most this many tools in one request. */
#define SS_WARM_TOOLS 32

/*
 * Run the tools one after the other over all hosts of the selection, in a thread of its own; their
 * failures are for whoever asks later. SS_EBUSY when there is such a thread already, or none to be
 * had.
 */
bool ss_warm(struct ss_server_state *srv, const struct ss_selection *sel, const struct ss_tool *const *tools, size_t ntools,
	     struct ss_err *err);
/* Is it at work? The server cannot be freed then. */
bool ss_warm_busy(struct ss_server_state *srv);

#endif
