/*
 * grpc_server.h - answering unary gRPC methods: one thread with a poll loop for all connections,
 * one more for each call in progress, so that a handler may run for long.
 *
 * Needs nothing but base/ and nghttp2, for programs that carry a server in them. What comes from
 * outside is bounded: connections, calls, bytes of a request, bytes of all unfinished requests,
 * time without traffic. docs/security.md has the numbers.
 */
#ifndef SS_RPC_GRPC_SERVER_H
#define SS_RPC_GRPC_SERVER_H

#include "rpc/grpc.h"
#include "rpc/net.h"

struct ss_grpc_server;

/* A call in the hands of its handler. */
struct ss_grpc_asked {
	const char *method;
	const char *peer;		/* "127.0.0.1:40312", for messages */
	struct ss_str request;		/* lives as long as the call of the handler */
	int64_t deadline_ns;		/* monotonic; SS_NEVER_NS: none */
};

/* The answer of the handler. Zeroed, it is an empty message. */
struct ss_grpc_answer {
	struct ss_grpc_status status;	/* not OK: the body is not sent */
	struct ss_buf body;		/* freed by the server */
	int fd;				/* > 0: the message is this file, from its beginning, after `body`. Closed by the server */
	uint64_t fd_bytes;
};

/* Runs in a thread of its own, with SS_GRPC_STACK_BYTES of stack. */
typedef void ss_grpc_handler(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer);

#define SS_GRPC_STACK_BYTES ((size_t)512 << 10)

struct ss_grpc_method {
	const char *path;		/* "/package.Service/Method" */
	ss_grpc_handler *handler;
	void *arg;
};

struct ss_grpc_server_config {
	const char *bind;		/* NULL: 127.0.0.1 */
	uint16_t port;			/* 0: any that is free */
	const struct ss_grpc_method *methods;	/* stay until the server has stopped */
	size_t nmethods;
	const struct ss_tls *tls;	/* NULL: none. Outlives the server */
	const char *token;		/* callers must send "authorization: Bearer <token>"; NULL: they need none */
	unsigned max_connections;	/* 0: 64 */
	/*
	 * For one address (IPv6: one network of 64 bits). 0: 16, and no limit for this machine,
	 * where ssh or a proxy may serve many users.
	 */
	unsigned max_of_address;
	unsigned max_calls;		/* in work at once, each a thread; 0: 32 */
	uint64_t max_request_bytes;	/* 0: 4 MiB */
	uint64_t max_pending_bytes;	/* of all requests; 0: 64 MiB */
	unsigned idle_s;		/* a connection without a call is closed after so long; 0: 600 */
	unsigned request_s;		/* a request from its first byte to its last, however steadily they come; 0: 60 */
	unsigned stall_s;		/* one that takes or gives nothing in the middle of a call; 0: 60 */
};

/* Listens when it returns. NULL: SS_EIO says why not. */
struct ss_grpc_server *ss_grpc_server_start(const struct ss_grpc_server_config *config, struct ss_err *err);
uint16_t ss_grpc_server_port(const struct ss_grpc_server *s);
/* True if only this machine can reach it. */
bool ss_grpc_server_loopback(const struct ss_grpc_server *s);
/* Serve a connected socket as if it had been accepted; for tests. The server owns `fd` from then on. */
bool ss_grpc_server_adopt(struct ss_grpc_server *s, int fd);
/*
 * Take no more calls, give those in work up to `grace_ms`, then cancel them; returns when all
 * handlers have returned.
 */
void ss_grpc_server_stop(struct ss_grpc_server *s, unsigned grace_ms);

/* For handlers: true if the caller is gone or the deadline has passed, so that nobody waits for the answer. */
bool ss_grpc_asked_gone(const struct ss_grpc_asked *asked);
/* Sleep for so long; false as soon as nobody waits any more. */
bool ss_grpc_asked_sleep(const struct ss_grpc_asked *asked, int64_t ns);

#endif
