/*
 * grpc_client.h - calling unary gRPC methods: a channel is one connection, with any number of calls
 * on it at once, and one loop drives any number of channels.
 *
 *	struct ss_grpc_channel *ch = ss_grpc_channel_open(&config, &err);
 *	struct ss_grpc_call *call = ss_grpc_call_start(ch, &(struct ss_grpc_call_config){ ... }, &err);
 *	ss_grpc_run(&ch, 1, -1, SS_NEVER_NS, &err);
 *	... *ss_grpc_call_status(call), ss_grpc_call_reply(call) ...
 *	ss_grpc_call_free(call);
 *	ss_grpc_channel_close(ch);
 *
 * Everything of a channel is used by one thread. A reply can be as long as gRPC allows (4 GiB): with
 * a sink it is handed on as it comes, and memory stays below a few hundred kB a channel.
 */
#ifndef SS_RPC_GRPC_CLIENT_H
#define SS_RPC_GRPC_CLIENT_H

#include "rpc/grpc.h"
#include "rpc/net.h"

struct ss_grpc_channel;
struct ss_grpc_call;

struct ss_grpc_channel_config {
	const char *target;		/* see ss_net_parse */
	const struct ss_tls *tls;	/* NULL: none. Outlives the channel */
	const char *token;		/* sent as "authorization: Bearer ...", or NULL */
	unsigned connect_ms;		/* until the server has greeted; 0: 20,000 */
	/*
	 * If no byte arrives for this time while calls are in progress, send a ping, and give up if
	 * no answer arrives within the same time. 0: never, which gRPC servers prefer: they close
	 * connections that ping more often than every five minutes.
	 */
	unsigned keepalive_ms;
};

/*
 * Finds the addresses, which may block, and begins to connect, which does not: whether that worked,
 * the calls say. NULL: SS_EINVAL or SS_EIO.
 */
struct ss_grpc_channel *ss_grpc_channel_open(const struct ss_grpc_channel_config *config, struct ss_err *err);
/* The same over a connected socket, which it owns from then on, also after a failure. The target is for messages and headers. */
struct ss_grpc_channel *ss_grpc_channel_adopt(int fd, const struct ss_grpc_channel_config *config, struct ss_err *err);
/* Calls that have not ended end as CANCELLED; they must be freed still, before or after. */
void ss_grpc_channel_close(struct ss_grpc_channel *ch);
/* Has it been connected, and does it still accept calls? */
bool ss_grpc_channel_up(const struct ss_grpc_channel *ch);

/*
 * A piece of the reply, whose length in all is `total`. False, with the reason, breaks the call off
 * as ABORTED. Called for each piece in order; not at all for a message of length 0.
 */
typedef bool ss_grpc_sink_fn(void *arg, struct ss_str piece, uint64_t total, struct ss_err *err);

struct ss_grpc_call_config {
	const char *method;		/* "/package.Service/Method" */
	struct ss_str request;		/* stays until the call ends */
	int64_t timeout_ns;		/* from now; 0: none */
	ss_grpc_sink_fn *sink;		/* NULL: the reply is gathered in memory */
	void *sink_arg;
	uint64_t max_reply_bytes;	/* 0: 64 MiB, with a sink 4 GiB */
};

/* Nothing is sent before ss_grpc_run. NULL when memory is out. */
struct ss_grpc_call *ss_grpc_call_start(struct ss_grpc_channel *ch, const struct ss_grpc_call_config *config,
					struct ss_err *err);
bool ss_grpc_call_ended(const struct ss_grpc_call *call);
const struct ss_grpc_status *ss_grpc_call_status(const struct ss_grpc_call *call);
/* After the end, without a sink. */
struct ss_str ss_grpc_call_reply(const struct ss_grpc_call *call);
/* Bytes of the reply so far. */
uint64_t ss_grpc_call_received(const struct ss_grpc_call *call);
/* Break it off: the server is told, the status is CANCELLED. */
void ss_grpc_call_cancel(struct ss_grpc_call *call);
void ss_grpc_call_free(struct ss_grpc_call *call);

/*
 * Work until all calls of all channels have ended, or it is `until_ns` (monotonic), or `wake_fd`, if
 * it is not -1, can be read. False for lack of memory, and when poll fails.
 */
bool ss_grpc_run(struct ss_grpc_channel *const *v, size_t n, int wake_fd, int64_t until_ns, struct ss_err *err);

/* Start, run, and free: `reply` is appended to. False when the status is not OK. */
bool ss_grpc_unary(struct ss_grpc_channel *ch, const struct ss_grpc_call_config *config, struct ss_buf *reply,
		   struct ss_grpc_status *status);

#endif
