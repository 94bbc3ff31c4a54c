/*
 * ss_trace_server.h - let others record a program while it runs (libsstrace_server, C11 and C++).
 *
 *	ss_trace_server_start(6009);	// then: stepscope capture --service_addr localhost:6009 --logdir /tmp/run1
 *
 * Answers the gRPC service tensorflow.ProfilerService as the servers of TensorFlow and JAX do, so
 * that `stepscope capture`, tf.profiler.experimental.client.trace and XProf's capture dialog record
 * what the program says with ss_trace.h: Profile, Terminate, StartContinuousProfiling, GetSnapshot,
 * StopContinuousProfiling. There is one recording at a time, started by any client.
 *
 * Costs a thread that sleeps. Listens on the loopback address unless told otherwise. A caller may
 * have the profile written into a folder of its choice, as the program's user may, but never over
 * an existing file; `logdir` confines it.
 */
#ifndef SS_TRACE_SERVER_H
#define SS_TRACE_SERVER_H

#include "ss_trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ss_trace_server_options {
	size_t size;		/* sizeof(struct ss_trace_server_options) */
	const char *bind;	/* address; NULL: 127.0.0.1. Others than this machine need a token, or `open` */
	const char *token;	/* callers must send it: "authorization: Bearer <token>"; NULL: no callback */
	const char *logdir;	/* profiles are written nowhere else; NULL: where the caller says */
	uint64_t max_bytes;	/* bound of a recording; 0: 256 MiB */
	uint16_t port;		/* 0: any that is free */
	bool open;		/* who reaches `bind` may ask, as of JAX and TensorFlow: their clients send no token */
};

/* Listen on a port of the loopback address. False: ss_trace_server_error says why. One server a program. */
SS_TRACE_API bool ss_trace_server_start(uint16_t port);
SS_TRACE_API bool ss_trace_server_start_with(const struct ss_trace_server_options *options);
/* The port on which the server listens; 0: it does not listen. */
SS_TRACE_API uint16_t ss_trace_server_port(void);
/* Ends recordings that callers have begun, and the server. Also good where none runs. */
SS_TRACE_API void ss_trace_server_stop(void);
/* Why the last start failed. */
SS_TRACE_API const char *ss_trace_server_error(void);

#ifdef __cplusplus
}
#endif

#endif
