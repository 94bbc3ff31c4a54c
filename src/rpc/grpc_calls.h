/*
 * grpc_calls.h - the two halves of the gRPC server: grpc_calls.c takes calls out of a session and
 * puts answers into it, grpc_server.c has the connections and the loop. Internal to them.
 *
 * The loop's thread owns connections, sessions and calls; a worker's thread owns a call from the
 * moment its request is complete until its handler has returned. The two threads share only the list
 * of calls that are done, under the server's lock, and the flag that a call is gone. A call whose
 * stream ends while its handler works stays behind without a connection and is freed when the
 * handler has returned.
 */
#ifndef SS_RPC_GRPC_CALLS_H
#define SS_RPC_GRPC_CALLS_H

#include "rpc/grpc_server.h"
#include "rpc/h2.h"

#include <pthread.h>

enum ss_rpc_stage { SS_RPC_RECEIVING, SS_RPC_WORKING, SS_RPC_SENDING };

enum ss_rpc_order { SS_RPC_RUN, SS_RPC_DRAIN, SS_RPC_END };

struct ss_rpc_conn;

struct ss_rpc_call {
	struct ss_grpc_asked asked;	/* first: handlers get this */
	struct ss_grpc_server *server;
	struct ss_rpc_conn *conn;		/* NULL: its stream is over */
	struct ss_rpc_call *prev, *next;	/* of the connection */
	struct ss_rpc_call *next_done;
	int32_t stream;
	int64_t begun_ns;
	enum ss_rpc_stage stage;
	bool refused;			/* answered without a handler */
	bool gone;			/* under the server's lock */
	const struct ss_grpc_method *method;
	char *path;			/* only until the method is known */
	bool is_post, is_grpc, authorized, bad_timeout;
	char peer[64];
	size_t header_bytes;
	struct ss_grpc_unframer unframer;
	struct ss_buf request;
	struct ss_grpc_answer answer;
	uint8_t prefix[SS_GRPC_PREFIX];
	uint64_t sent;			/* of prefix, body and file */
	char *message;			/* grpc-message, encoded */
};

struct ss_rpc_conn {
	struct ss_grpc_server *server;
	struct ss_h2 h2;
	struct ss_rpc_call *calls;
	bool settled, leaving;
	int64_t since_ns;		/* accepted, or without a call since */
	char peer[64];
	struct ss_net_from from;
};

struct ss_grpc_server {
	struct ss_grpc_server_config config;
	char *token;
	int listener, wake[2];		/* wake: [0] is read by the loop */
	uint16_t port;
	bool loopback;
	pthread_t thread;
	pthread_mutex_t lock;		/* from here on */
	pthread_cond_t changed;		/* a call is gone, or done */
	struct ss_rpc_call *done;
	int adopted[16];
	size_t nadopted;
	unsigned working;		/* handlers that have not returned */
	enum ss_rpc_order order;
	bool ended;			/* the loop */
	/* The loop's own. */
	struct ss_rpc_conn **conns;
	size_t nconns;
	struct pollfd *fds;
	uint64_t pending_bytes;
};

/* Wake the loop, so that it handles what has changed. */
void ss_rpc_wake(struct ss_grpc_server *s);

/* The session of a new connection, which makes calls of what comes in. */
bool ss_rpc_new_session(struct ss_rpc_conn *c, struct ss_err *err);
/* Send what is in call->answer. */
void ss_rpc_send_answer(struct ss_rpc_call *call);
/* Answer without a handler, unless a handler is running already. */
void ss_rpc_refuse(struct ss_rpc_call *call, enum ss_grpc_code code, const char *text);
/* The deadline passed in the middle of the work. */
void ss_rpc_give_up(struct ss_rpc_call *call);
/* The stream or the connection has ended: tells the handler of the call. */
void ss_rpc_leave_call(struct ss_rpc_call *call);
void ss_rpc_free_call(struct ss_rpc_call *call);

#endif
