/*
 * grpc_server.c - the server's half of gRPC.
 *
 * The loop's thread owns connections, sessions and calls; a worker's thread owns a call from the
 * moment its request is whole until its handler has returned. Over that border go only: the list of
 * calls that are done, under the server's lock, and the flag that a call is gone. A call whose
 * stream ends while its handler works stays behind without a connection and is freed when the
 * handler has returned.
 */
#include "rpc/grpc_server.h"

#include "rpc/h2.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define GREET_S 10	/* for TLS and the first SETTINGS */
#define STREAMS 128	/* of one connection at once */

enum stage { RECEIVING, WORKING, SENDING };

enum order { RUN, DRAIN, END };

struct conn;

struct call {
	struct ss_grpc_asked asked;	/* first: handlers get this */
	struct ss_grpc_server *server;
	struct conn *conn;		/* NULL: its stream is over */
	struct call *prev, *next;	/* of the connection */
	struct call *next_done;
	int32_t stream;
	enum stage stage;
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

struct conn {
	struct ss_grpc_server *server;
	struct ss_h2 h2;
	struct call *calls;
	bool settled, leaving;
	int64_t since_ns;		/* accepted, or without a call since */
	char peer[64];
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
	struct call *done;
	int adopted[16];
	size_t nadopted;
	unsigned working;		/* handlers that have not returned */
	enum order order;
	bool ended;			/* the loop */
	/* The loop's own. */
	struct conn **conns;
	size_t nconns;
	struct pollfd *fds;
	uint64_t pending_bytes;
};

static void wake(struct ss_grpc_server *s)
{
	/* A full pipe wakes as well. */
	ssize_t n = write(s->wake[1], "", 1);
	(void)n;
}

/* ---- calls ---- */

static void free_call(struct call *call)
{
	call->server->pending_bytes -= call->request.n;
	ss_buf_free(&call->request);
	ss_buf_free(&call->answer.body);
	if (call->answer.fd > 0)
		close(call->answer.fd);
	free(call->message);
	free(call->path);
	free(call);
}

/* The stream is over, or the connection: whoever works on the call is told. */
static void leave_call(struct call *call)
{
	struct ss_grpc_server *s = call->server;
	struct conn *c = call->conn;
	if (call->prev)
		call->prev->next = call->next;
	else
		c->calls = call->next;
	if (call->next)
		call->next->prev = call->prev;
	if (!c->calls)
		c->since_ns = ss_net_now_ns();
	call->conn = NULL;
	if (call->stage != WORKING) {
		free_call(call);
		return;
	}
	pthread_mutex_lock(&s->lock);
	call->gone = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

bool ss_grpc_asked_gone(const struct ss_grpc_asked *asked)
{
	return !ss_grpc_asked_sleep(asked, 0);
}

bool ss_grpc_asked_sleep(const struct ss_grpc_asked *asked, int64_t ns)
{
	const struct call *call = (const struct call *)(const void *)asked;
	struct ss_grpc_server *s = call->server;
	int64_t now_ns = ss_net_now_ns(), end_ns = ns > SS_NEVER_NS - now_ns ? SS_NEVER_NS : now_ns + ns;
	int64_t until_ns = end_ns < asked->deadline_ns ? end_ns : asked->deadline_ns;
	struct timespec t = { (time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000) };
	pthread_mutex_lock(&s->lock);
	while (!call->gone && ss_net_now_ns() < until_ns)
		pthread_cond_timedwait(&s->changed, &s->lock, &t);
	bool here = !call->gone && ss_net_now_ns() < asked->deadline_ns;
	pthread_mutex_unlock(&s->lock);
	return here;
}

static void *work(void *arg)
{
	struct call *call = arg;
	struct ss_grpc_server *s = call->server;
	call->method->handler(call->method->arg, &call->asked, &call->answer);
	pthread_mutex_lock(&s->lock);
	call->next_done = s->done;
	s->done = call;
	s->working--;
	pthread_cond_broadcast(&s->changed);
	/* Under the lock: when the server is seen without work, nobody touches it any more. */
	wake(s);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* A thread for the call; all signals are for others. */
static bool start_work(struct call *call)
{
	struct ss_grpc_server *s = call->server;
	unsigned most = s->config.max_calls ? s->config.max_calls : 32;
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	pthread_mutex_lock(&s->lock);
	bool room = s->working < most && s->order == RUN;
	s->working += room;
	pthread_mutex_unlock(&s->lock);
	if (!room)
		return ss_grpc_fail(&call->answer.status, SS_GRPC_UNAVAILABLE, "%u calls are in work already", most);
	call->stage = WORKING;
	size_t stack = SS_GRPC_STACK_BYTES > (size_t)PTHREAD_STACK_MIN ? SS_GRPC_STACK_BYTES : (size_t)PTHREAD_STACK_MIN;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bool ok = pthread_attr_init(&attr) == 0;
	if (ok) {
		ok = pthread_attr_setstacksize(&attr, stack) == 0 &&
		     pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) == 0 &&
		     pthread_create(&thread, &attr, work, call) == 0;
		pthread_attr_destroy(&attr);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ok)
		return true;
	call->stage = RECEIVING;
	pthread_mutex_lock(&s->lock);
	s->working--;
	pthread_mutex_unlock(&s->lock);
	return ss_grpc_fail(&call->answer.status, SS_GRPC_RESOURCE_EXHAUSTED, "there is no thread for this call");
}

/* ---- answers ---- */

static uint64_t answer_bytes(const struct call *call)
{
	return call->answer.body.n + (call->answer.fd > 0 ? call->answer.fd_bytes : 0);
}

/* grpc-status and, when there are words, grpc-message; how many. */
static size_t status_headers(struct call *call, nghttp2_nv nv[2], char code[16])
{
	struct ss_buf text = { 0 };
	size_t n = 0;
	snprintf(code, 16, "%d", (int)call->answer.status.code);
	nv[n++] = ss_h2_nv("grpc-status", code);
	ss_grpc_percent_encode(&text, call->answer.status.text);
	ss_buf_char(&text, '\0');
	free(call->message);
	call->message = NULL;
	if (call->answer.status.text[0] && !text.no_memory) {
		call->message = text.p;
		nv[n++] = ss_h2_nv("grpc-message", call->message);
	} else {
		ss_buf_free(&text);
	}
	return n;
}

/* Up to n bytes of prefix, body and file from where we are; -1 when the file gives no more. */
static ssize_t next_bytes(struct call *call, uint8_t *buf, size_t n)
{
	const struct ss_grpc_answer *a = &call->answer;
	uint64_t at = call->sent, end_of_body = SS_GRPC_PREFIX + (uint64_t)a->body.n;
	if (at < SS_GRPC_PREFIX) {
		size_t left = SS_GRPC_PREFIX - (size_t)at;
		n = n < left ? n : left;
		memcpy(buf, call->prefix + at, n);
		return (ssize_t)n;
	}
	if (at < end_of_body) {
		size_t left = (size_t)(end_of_body - at);
		n = n < left ? n : left;
		memcpy(buf, a->body.p + (at - SS_GRPC_PREFIX), n);
		return (ssize_t)n;
	}
	uint64_t left = SS_GRPC_PREFIX + answer_bytes(call) - at;
	n = n < left ? n : (size_t)left;
	ssize_t got = pread(a->fd, buf, n, (off_t)(at - end_of_body));
	return got > 0 ? got : -1;
}

static ssize_t read_answer(nghttp2_session *session, int32_t stream, uint8_t *buf, size_t n, uint32_t *flags,
			   nghttp2_data_source *source, void *arg)
{
	struct call *call = nghttp2_session_get_stream_user_data(session, stream);
	uint64_t end = call ? SS_GRPC_PREFIX + answer_bytes(call) : 0;
	size_t put = 0;
	char code[16];
	nghttp2_nv nv[2];
	(void)source;
	(void)arg;
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	while (put < n && call->sent < end) {
		ssize_t got = next_bytes(call, buf + put, n - put);
		/* What was promised cannot be kept: the stream is reset, and the caller sees that. */
		if (got < 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
		put += (size_t)got;
		call->sent += (uint64_t)got;
	}
	if (call->sent < end)
		return (ssize_t)put;
	*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
	size_t count = status_headers(call, nv, code);
	if (nghttp2_submit_trailer(session, stream, nv, count) != 0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return (ssize_t)put;
}

/* The caller may be sending still: it is told to stop. */
static void stop_request(struct call *call)
{
	nghttp2_session *session = call->conn->h2.session;
	if (nghttp2_session_get_stream_remote_close(session, call->stream) == 0)
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream, NGHTTP2_NO_ERROR);
}

/* Send what is in call->answer. */
static void send_answer(struct call *call)
{
	nghttp2_session *session = call->conn->h2.session;
	nghttp2_nv nv[5] = { ss_h2_nv(":status", "200"), ss_h2_nv("content-type", "application/grpc"),
			     ss_h2_nv("grpc-accept-encoding", "identity") };
	const nghttp2_data_provider provider = { .read_callback = read_answer };
	char code[16];
	int rc;
	call->stage = SENDING;
	if (call->answer.body.no_memory || call->answer.body.over)
		ss_grpc_fail(&call->answer.status, SS_GRPC_RESOURCE_EXHAUSTED, "there is no memory for the answer");
	if (call->answer.status.code == SS_GRPC_OK && answer_bytes(call) > UINT32_MAX)
		ss_grpc_fail(&call->answer.status, SS_GRPC_RESOURCE_EXHAUSTED, "the answer is longer than gRPC allows");
	if (call->answer.status.code == SS_GRPC_OK) {
		ss_grpc_prefix(call->prefix, (uint32_t)answer_bytes(call));
		rc = nghttp2_submit_response(session, call->stream, nv, 3, &provider);
	} else {
		rc = nghttp2_submit_response(session, call->stream, nv, 3 + status_headers(call, nv + 3, code), NULL);
	}
	if (rc != 0)
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream, NGHTTP2_INTERNAL_ERROR);
}

static void refuse(struct call *call, enum ss_grpc_code code, const char *text)
{
	if (call->refused || call->stage != RECEIVING)
		return;
	call->refused = true;
	ss_grpc_fail(&call->answer.status, code, "%s", text);
	send_answer(call);
}

/* The deadline passed in the middle of the work. The answer is the handler's still: these words are not in it. */
static void give_up(struct call *call)
{
	const nghttp2_nv nv[] = { ss_h2_nv(":status", "200"), ss_h2_nv("content-type", "application/grpc"),
				  ss_h2_nv("grpc-status", "4"), ss_h2_nv("grpc-message", "the deadline has passed") };
	call->refused = true;
	nghttp2_submit_response(call->conn->h2.session, call->stream, nv, SS_COUNT(nv), NULL);
}

/* To somebody who does not speak gRPC, in HTTP's words. */
static void refuse_http(struct call *call, const char *status)
{
	const nghttp2_nv nv[] = { ss_h2_nv(":status", status) };
	call->refused = true;
	call->stage = SENDING;
	nghttp2_submit_response(call->conn->h2.session, call->stream, nv, 1, NULL);
}

/* ---- what a session tells ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct conn *c = arg;
	struct call *call;
	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	call = calloc(1, sizeof(*call));
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	call->server = c->server;
	call->conn = c;
	call->stream = frame->hd.stream_id;
	call->authorized = !c->server->token;
	call->asked.deadline_ns = SS_NEVER_NS;
	memcpy(call->peer, c->peer, sizeof(call->peer));
	call->asked.peer = call->peer;
	call->next = c->calls;
	if (c->calls)
		c->calls->prev = call;
	c->calls = call;
	if (nghttp2_session_set_stream_user_data(session, call->stream, call) != 0) {
		leave_call(call);
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return 0;
}

/* Equal, in a time that does not tell how far. */
static bool same_secret(struct ss_str a, const char *b)
{
	size_t n = strlen(b);
	unsigned differ = a.n != n;
	for (size_t i = 0; i < a.n; i++)
		differ |= (unsigned char)a.p[i] ^ (unsigned char)(n ? b[i % n] : 0);
	return !differ;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
		     const uint8_t *value, size_t value_n, uint8_t flags, void *arg)
{
	struct call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	struct ss_str key = { (const char *)name, name_n }, v = { (const char *)value, value_n };
	const struct ss_str bearer = SS_STR("Bearer ");
	int64_t ns;
	(void)flags;
	(void)arg;
	if (!call || call->refused)
		return 0;
	call->header_bytes += name_n + value_n + 32;
	if (call->header_bytes > SS_H2_HEADER_BYTES) {
		refuse(call, SS_GRPC_RESOURCE_EXHAUSTED, "the headers of the call are too long");
		return 0;
	}
	if (ss_str_is(key, ":path")) {
		free(call->path);
		call->path = strndup(v.p, v.n);
	} else if (ss_str_is(key, ":method")) {
		call->is_post = ss_str_is(v, "POST");
	} else if (ss_str_is(key, "content-type")) {
		call->is_grpc = ss_str_starts(v, SS_STR("application/grpc"));
	} else if (ss_str_is(key, "grpc-timeout")) {
		call->bad_timeout = !ss_grpc_timeout_parse(v, &ns);
		int64_t now_ns = ss_net_now_ns();
		if (!call->bad_timeout && ns < SS_NEVER_NS - now_ns)
			call->asked.deadline_ns = now_ns + ns;
	} else if (ss_str_is(key, "authorization") && call->server->token) {
		call->authorized = ss_str_istarts(v, bearer) &&
				   same_secret(ss_str_sub(v, bearer.n, v.n), call->server->token);
	}
	return 0;
}

/* All headers are there: is it a call for us? */
static void begin_call(struct call *call)
{
	const struct ss_grpc_server_config *config = &call->server->config;
	char text[300];
	if (call->refused)
		return;
	if (!call->is_post || !call->is_grpc) {
		refuse_http(call, call->is_post ? "415" : "405");
		return;
	}
	for (size_t i = 0; i < config->nmethods && call->path; i++)
		if (strcmp(config->methods[i].path, call->path) == 0)
			call->method = &config->methods[i];
	if (!call->authorized) {
		refuse(call, SS_GRPC_UNAUTHENTICATED, "this server wants a token: \"authorization: Bearer ...\"");
	} else if (call->bad_timeout) {
		refuse(call, SS_GRPC_INTERNAL, "grpc-timeout is malformed");
	} else if (!call->method) {
		snprintf(text, sizeof(text), "there is no method %.200s", call->path ? call->path : "");
		refuse(call, SS_GRPC_UNIMPLEMENTED, text);
	} else {
		call->asked.method = call->method->path;
	}
	free(call->path);
	call->path = NULL;
}

/* The whole request is there. */
static void end_request(struct call *call)
{
	if (call->refused || call->stage != RECEIVING)
		return;
	if (!ss_grpc_whole(&call->unframer)) {
		refuse(call, SS_GRPC_INTERNAL, "the request ends in the middle of its message");
		return;
	}
	call->asked.request = ss_buf_get(&call->request);
	if (!start_work(call)) {
		call->refused = true;
		send_answer(call);
	}
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct conn *c = arg;
	struct call *call;
	if (frame->hd.type == NGHTTP2_SETTINGS)
		c->settled = true;
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (call && frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		begin_call(call);
	if (call && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		end_request(call);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *p, size_t n, void *arg)
{
	struct call *call = nghttp2_session_get_stream_user_data(session, stream);
	struct ss_str bytes = { (const char *)p, n }, piece;
	struct ss_grpc_status status = { 0 };
	(void)flags;
	(void)arg;
	if (!call || call->refused || call->stage != RECEIVING)
		return 0;
	const struct ss_grpc_server_config *config = &call->server->config;
	uint64_t most = config->max_request_bytes ? config->max_request_bytes : (uint64_t)4 << 20;
	uint64_t most_pending = config->max_pending_bytes ? config->max_pending_bytes : (uint64_t)64 << 20;
	while (ss_grpc_unframe(&call->unframer, &bytes, most, &piece, &status)) {
		size_t before = call->request.n;
		if (call->server->pending_bytes + piece.n > most_pending)
			ss_grpc_fail(&status, SS_GRPC_RESOURCE_EXHAUSTED, "too many long requests at once");
		else
			ss_buf_str(&call->request, piece);
		call->server->pending_bytes += call->request.n - before;
		if (call->request.no_memory)
			ss_grpc_fail(&status, SS_GRPC_RESOURCE_EXHAUSTED, "out of memory");
		if (status.code != SS_GRPC_OK)
			break;
	}
	if (status.code != SS_GRPC_OK)
		refuse(call, status.code, status.text);
	return 0;
}

static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct call *call;
	(void)arg;
	if (frame->hd.type != NGHTTP2_HEADERS || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (call)
		stop_request(call);
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t error, void *arg)
{
	struct call *call = nghttp2_session_get_stream_user_data(session, stream);
	(void)error;
	(void)arg;
	if (call)
		leave_call(call);
	return 0;
}

/* ---- connections ---- */

static bool new_session(struct conn *c, struct ss_err *err)
{
	const nghttp2_settings_entry streams = { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS };
	nghttp2_session_callbacks *cb = NULL;
	nghttp2_option *option = ss_h2_option();
	bool ok = option && nghttp2_session_callbacks_new(&cb) == 0;
	if (ok) {
		nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
		nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
		nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
		nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
		nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_sent);
		nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
		ok = nghttp2_session_server_new2(&c->h2.session, cb, c, option) == 0;
	}
	nghttp2_session_callbacks_del(cb);
	nghttp2_option_del(option);
	return ok ? ss_h2_greet(&c->h2, &streams, 1, err) : ss_fail_mem(err);
}

static void free_conn(struct conn *c)
{
	while (c->calls)
		leave_call(c->calls);
	ss_h2_close(&c->h2);
	free(c);
}

static void name_peer(struct conn *c, int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage room;
	} a;
	socklen_t n = sizeof(a);
	char text[INET6_ADDRSTRLEN] = "";
	snprintf(c->peer, sizeof(c->peer), "a local socket");
	if (getpeername(fd, &a.any, &n) != 0)
		return;
	if (a.any.sa_family == AF_INET && inet_ntop(AF_INET, &a.v4.sin_addr, text, sizeof(text)))
		snprintf(c->peer, sizeof(c->peer), "%s:%u", text, ntohs(a.v4.sin_port));
	else if (a.any.sa_family == AF_INET6 && inet_ntop(AF_INET6, &a.v6.sin6_addr, text, sizeof(text)))
		snprintf(c->peer, sizeof(c->peer), "[%s]:%u", text, ntohs(a.v6.sin6_port));
}

static size_t most_conns(const struct ss_grpc_server *s)
{
	return s->config.max_connections ? s->config.max_connections : 64;
}

/* A connected socket becomes a connection, or is closed. */
static void add_conn(struct ss_grpc_server *s, int fd)
{
	struct ss_err err = { 0 };
	struct conn *c = s->nconns < most_conns(s) ? calloc(1, sizeof(*c)) : NULL;
	if (!c || !ss_net_nonblocking(fd)) {
		free(c);
		close(fd);
		return;
	}
	c->server = s;
	c->since_ns = ss_net_now_ns();
	name_peer(c, fd);
	ss_net_tune(fd);
	if (ss_h2_open(&c->h2, fd, s->config.tls, NULL, &err) && new_session(c, &err))
		s->conns[s->nconns++] = c;
	else
		free_conn(c);
}

static void accept_some(struct ss_grpc_server *s)
{
	for (int i = 0; i < 16; i++) {
		int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		add_conn(s, fd);
	}
}

static int64_t idle_limit_ns(const struct conn *c)
{
	const struct ss_grpc_server_config *config = &c->server->config;
	unsigned idle_s = config->idle_s ? config->idle_s : 600;
	return (int64_t)(c->settled ? idle_s : GREET_S) * 1000000000;
}

/* Does a call of this connection wait for the other side: for the rest of a request, or to be read? */
static bool waits_for_peer(const struct conn *c)
{
	for (const struct call *call = c->calls; call; call = call->next)
		if (call->stage != WORKING)
			return true;
	return false;
}

/* Deadlines of calls, connections that say nothing. */
static void check_conn(struct conn *c, int64_t now_ns)
{
	unsigned stall_s = c->server->config.stall_s ? c->server->config.stall_s : 60;
	int64_t last_ns = c->h2.heard_ns > c->h2.sent_ns ? c->h2.heard_ns : c->h2.sent_ns;
	if (!c->calls && now_ns - c->since_ns >= idle_limit_ns(c))
		nghttp2_session_terminate_session(c->h2.session, NGHTTP2_NO_ERROR);
	/* Nor is a word of goodbye waited for. */
	if ((!c->calls && now_ns - c->since_ns >= idle_limit_ns(c) + (int64_t)GREET_S * 1000000000) ||
	    (!c->settled && !c->calls && now_ns - c->since_ns >= idle_limit_ns(c)) ||
	    (waits_for_peer(c) && now_ns - last_ns >= (int64_t)stall_s * 1000000000))
		c->h2.over = true;
	for (struct call *call = c->calls, *next; call; call = next) {
		next = call->next;
		if (now_ns < call->asked.deadline_ns || call->refused || call->stage == SENDING)
			continue;
		if (call->stage == RECEIVING)
			refuse(call, SS_GRPC_DEADLINE_EXCEEDED, "the deadline has passed");
		else
			give_up(call);
	}
}

static int64_t next_moment(const struct ss_grpc_server *s, int64_t now_ns)
{
	/* Connections are looked after each second, deadlines in time. */
	int64_t at = s->nconns ? now_ns + 1000000000 : SS_NEVER_NS;
	for (size_t i = 0; i < s->nconns; i++) {
		if (s->conns[i]->h2.backlog)
			return now_ns;
		for (const struct call *call = s->conns[i]->calls; call; call = call->next)
			if (call->stage != SENDING && !call->refused && call->asked.deadline_ns < at)
				at = call->asked.deadline_ns;
	}
	return at;
}

/* ---- the loop ---- */

/* Orders from outside, and calls whose handlers have returned. */
static enum order take_orders(struct ss_grpc_server *s)
{
	char drop[64];
	int fds[16];
	while (read(s->wake[0], drop, sizeof(drop)) > 0)
		;
	pthread_mutex_lock(&s->lock);
	struct call *done = s->done;
	size_t nfds = s->nadopted;
	enum order order = s->order;
	memcpy(fds, s->adopted, nfds * sizeof(*fds));
	s->done = NULL;
	s->nadopted = 0;
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < nfds; i++)
		add_conn(s, fds[i]);
	for (struct call *call = done, *next; call; call = next) {
		next = call->next_done;
		if (!call->conn)
			free_call(call);
		else if (call->refused)
			call->stage = SENDING;
		else
			send_answer(call);
	}
	return order;
}

/* Say goodbye to those who are connected; calls in work go on. */
static void say_goodbye(struct ss_grpc_server *s)
{
	if (s->listener >= 0)
		close(s->listener);
	s->listener = -1;
	for (size_t i = 0; i < s->nconns; i++) {
		struct conn *c = s->conns[i];
		int32_t last = nghttp2_session_get_last_proc_stream_id(c->h2.session);
		if (!c->leaving)
			nghttp2_submit_goaway(c->h2.session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
		c->leaving = true;
	}
}

static void wait_for(struct ss_grpc_server *s)
{
	int64_t now_ns = ss_net_now_ns(), left_ms = (next_moment(s, now_ns) - now_ns) / SS_NS_PER_MS + 1;
	bool full = s->nconns == most_conns(s);
	s->fds[0] = (struct pollfd){ .fd = s->wake[0], .events = POLLIN };
	/* A server that is full lets others wait in the queue of the system. */
	s->fds[1] = (struct pollfd){ .fd = full ? -1 : s->listener, .events = POLLIN };
	for (size_t i = 0; i < s->nconns; i++)
		s->fds[2 + i] = (struct pollfd){ .fd = s->conns[i]->h2.link.fd, .events = ss_h2_events(&s->conns[i]->h2) };
	int ms = now_ns >= next_moment(s, now_ns) ? 0 : left_ms > 3600000 ? 3600000 : (int)left_ms;
	if (poll(s->fds, 2 + (nfds_t)s->nconns, ms) < 0)
		for (size_t i = 0; i < s->nconns + 2; i++)
			s->fds[i].revents = 0;
}

static void serve_conns(struct ss_grpc_server *s)
{
	int64_t now_ns = ss_net_now_ns();
	for (size_t i = 0; i < s->nconns; i++) {
		struct conn *c = s->conns[i];
		if (s->fds[2 + i].revents || ss_h2_busy(&c->h2))
			ss_h2_pump(&c->h2);
		if (!c->h2.over)
			check_conn(c, now_ns);
		if (!c->h2.over && ss_h2_busy(&c->h2))
			ss_h2_pump(&c->h2);
	}
	size_t kept = 0;
	for (size_t i = 0; i < s->nconns; i++) {
		struct conn *c = s->conns[i];
		if (c->h2.over || (c->leaving && !c->calls && !ss_h2_busy(&c->h2)))
			free_conn(c);
		else
			s->conns[kept++] = c;
	}
	s->nconns = kept;
}

static void *loop(void *arg)
{
	struct ss_grpc_server *s = arg;
	for (;;) {
		wait_for(s);
		serve_conns(s);
		enum order now = take_orders(s);
		if (now != RUN)
			say_goodbye(s);
		else if (s->fds[1].revents)
			accept_some(s);
		for (size_t i = 0; i < s->nconns; i++)
			if (ss_h2_busy(&s->conns[i]->h2) && !s->conns[i]->h2.over)
				ss_h2_pump(&s->conns[i]->h2);
		if (now == END || (now == DRAIN && !s->nconns))
			break;
	}
	while (s->nconns)
		free_conn(s->conns[--s->nconns]);
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- its life ---- */

static void free_server(struct ss_grpc_server *s)
{
	if (s->listener >= 0)
		close(s->listener);
	for (int i = 0; i < 2; i++)
		if (s->wake[i] >= 0)
			close(s->wake[i]);
	for (size_t i = 0; i < s->nadopted; i++)
		close(s->adopted[i]);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s->conns);
	free(s->fds);
	free(s->token);
	free(s);
}

static bool start_loop(struct ss_grpc_server *s, struct ss_err *err)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int rc = pthread_create(&s->thread, NULL, loop, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc == 0 || ss_fail(err, SS_EIO, "cannot start the server's thread: %s", strerror(rc));
}

struct ss_grpc_server *ss_grpc_server_start(const struct ss_grpc_server_config *config, struct ss_err *err)
{
	struct ss_grpc_server *s = calloc(1, sizeof(*s));
	pthread_condattr_t monotonic;
	if (!s) {
		ss_fail_mem(err);
		return NULL;
	}
	s->config = *config;
	s->listener = s->wake[0] = s->wake[1] = -1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	s->conns = calloc(most_conns(s), sizeof(struct conn *));
	s->fds = calloc(most_conns(s) + 2, sizeof(*s->fds));
	s->token = config->token ? strdup(config->token) : NULL;
	bool ok = (s->conns && s->fds && (s->token || !config->token)) || ss_fail_mem(err);
	ok = ok && (pipe2(s->wake, O_CLOEXEC | O_NONBLOCK) == 0 || ss_fail(err, SS_EIO, "pipe: %s", strerror(errno)));
	if (ok) {
		s->listener = ss_net_listen(config->bind ? config->bind : "127.0.0.1", config->port, &s->loopback, err);
		ok = s->listener >= 0 && (ss_net_nonblocking(s->listener) || ss_fail(err, SS_EIO, "%s", strerror(errno)));
		s->port = ok ? ss_net_port(s->listener) : 0;
	}
	if (ok && start_loop(s, err))
		return s;
	free_server(s);
	return NULL;
}

uint16_t ss_grpc_server_port(const struct ss_grpc_server *s)
{
	return s->port;
}

bool ss_grpc_server_loopback(const struct ss_grpc_server *s)
{
	return s->loopback;
}

bool ss_grpc_server_adopt(struct ss_grpc_server *s, int fd)
{
	pthread_mutex_lock(&s->lock);
	bool room = s->nadopted < SS_COUNT(s->adopted) && s->order == RUN;
	if (room)
		s->adopted[s->nadopted++] = fd;
	pthread_mutex_unlock(&s->lock);
	if (!room)
		close(fd);
	wake(s);
	return room;
}

static void give_order(struct ss_grpc_server *s, enum order what)
{
	pthread_mutex_lock(&s->lock);
	s->order = what;
	pthread_mutex_unlock(&s->lock);
	wake(s);
}

/* Wait for the loop's end, at most until then. */
static void wait_ended(struct ss_grpc_server *s, int64_t until_ns)
{
	struct timespec t = { (time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000) };
	pthread_mutex_lock(&s->lock);
	while (!s->ended && ss_net_now_ns() < until_ns)
		pthread_cond_timedwait(&s->changed, &s->lock, &t);
	pthread_mutex_unlock(&s->lock);
}

void ss_grpc_server_stop(struct ss_grpc_server *s, unsigned grace_ms)
{
	if (!s)
		return;
	/* Drained, the loop ends by itself when the last answer has left. */
	give_order(s, DRAIN);
	wait_ended(s, ss_net_now_ns() + grace_ms * SS_NS_PER_MS);
	give_order(s, END);
	pthread_join(s->thread, NULL);
	pthread_mutex_lock(&s->lock);
	while (s->working)
		pthread_cond_wait(&s->changed, &s->lock);
	struct call *done = s->done;
	pthread_mutex_unlock(&s->lock);
	for (struct call *next; done; done = next) {
		next = done->next_done;
		free_call(done);
	}
	free_server(s);
}
