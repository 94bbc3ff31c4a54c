/*
 * requests.h - short questions to profilers: NewSession of a pod's master, which takes the profile of all
 * its workers by itself, what it has taken before, continuous profiling, and Monitor.
 */
#ifndef SS_CAPTURE_REQUESTS_H
#define SS_CAPTURE_REQUESTS_H

#include "base/arena.h"
#include "capture/messages.h"
#include "rpc/grpc_client.h"

/* The other side, and how to reach it. */
struct ss_peer {
	const char *target;
	const struct ss_tls *tls;
	const char *token;
	int64_t timeout_ns;	/* of the whole call */
	int wake_fd;		/* readable: give up, as CANCELLED. 0 or -1: none */
};

struct ss_new_session {
	struct ss_profile_request request;
	const char *workers;		/* with commas between them */
	bool empty_trace;		/* answered */
};

/* The status is the call's, or UNKNOWN with the master's own words. */
bool ss_request_new_session(const struct ss_peer *peer, struct ss_new_session *s, struct ss_grpc_status *status);

/* Begin to gather events until further notice, as the options say; end it. A snapshot is a capture.h matter. */
bool ss_request_start_continuous(const struct ss_peer *peer, const struct ss_profile_options *options,
			     struct ss_grpc_status *status);
bool ss_request_stop_continuous(const struct ss_peer *peer, struct ss_grpc_status *status);

/* The runs of a server of ProfileAnalysis and the tools that each has data for, and the answer of one tool. */
struct ss_session {
	struct ss_str id, tools;	/* tools: with ", " between them */
};
struct ss_sessions {
	struct ss_session *v;		/* in the arena */
	size_t n;
};
/* `root` is a directory of the server's, "" its own. The status is the call's, or UNKNOWN with the server's own words. */
bool ss_request_sessions(const struct ss_peer *peer, const char *root, struct ss_arena *a, struct ss_sessions *out,
		     struct ss_grpc_status *status);

struct ss_tool_question {
	const char *root, *session, *tool, *host;	/* "": not said */
	const char *const *params;	/* "name=value" */
	size_t nparams;
};
/* Appended to `out`, at most 1 GiB; `format` is "json" or a MIME type. */
bool ss_request_tool_data(const struct ss_peer *peer, const struct ss_tool_question *q, struct ss_buf *out, char format[64],
		      struct ss_grpc_status *status);

/* Append the server's metrics of the next `duration_ms` to `out`. All open source servers answer UNIMPLEMENTED. */
bool ss_request_monitor(const struct ss_peer *peer, uint64_t duration_ms, unsigned level, bool timestamp, struct ss_buf *out,
		    struct ss_grpc_status *status);

#endif
