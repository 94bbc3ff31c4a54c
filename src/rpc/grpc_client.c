/*
 * grpc_client.c - the client's half of gRPC.
 *
 * A call ends exactly once, in end_call: with the server's status, with the end of its stream, with
 * the connection, at its deadline, or when it is cancelled. Calls and their streams find each other
 * by the session's stream data; a call that has ended is let go by its stream first.
 */
#include "rpc/grpc_client.h"

#include "base/system.h"
#include "rpc/h2.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_MS 20000
#define REPLY_BYTES ((uint64_t)64 << 20)
#define LONGEST_REPLY ((uint64_t)UINT32_MAX)

enum state { CONNECTING, UP, DOWN };

struct ss_grpc_channel {
	struct ss_grpc_channel_config config;
	struct ss_net_name name;
	char *authority, *bearer;
	enum state state;
	struct addrinfo *addresses, *next;	/* to try */
	int fd;				/* while connecting */
	int64_t connect_until_ns;
	int error;			/* errno of the last try */
	struct ss_h2 h2;
	bool settled;			/* the server's SETTINGS came: it speaks HTTP/2 */
	bool draining;			/* GOAWAY came */
	int64_t ping_ns;		/* when a keepalive was sent that is not answered; 0: none */
	struct ss_grpc_status why;	/* when DOWN */
	struct ss_grpc_call *calls;	/* that have not ended */
};

struct ss_grpc_call {
	struct ss_grpc_channel *ch;	/* NULL: it has ended */
	struct ss_grpc_call *next;
	struct ss_grpc_call_config config;
	char *method;
	int32_t stream;			/* 0: not begun */
	int64_t deadline_ns;
	uint8_t prefix[SS_GRPC_PREFIX];
	size_t sent;			/* of prefix and request */
	unsigned http_status;
	bool grpc_type, has_status, ended;
	struct ss_grpc_status theirs;	/* grpc-status and grpc-message */
	struct ss_grpc_status status;	/* the end */
	size_t header_bytes;
	struct ss_grpc_unframer unframer;
	struct ss_buf reply;
};

static void unlink_call(struct ss_grpc_call *call)
{
	struct ss_grpc_call **at = &call->ch->calls;
	while (*at && *at != call)
		at = &(*at)->next;
	if (*at)
		*at = call->next;
	call->next = NULL;
	call->ch = NULL;
}

/* The end of a call, with what is in call->status. */
static void end_call(struct ss_grpc_call *call)
{
	struct ss_grpc_channel *ch = call->ch;
	if (call->ended)
		return;
	call->ended = true;
	if (call->stream && ch->h2.session)
		nghttp2_session_set_stream_user_data(ch->h2.session, call->stream, NULL);
	unlink_call(call);
}

/* The same by our decision: the server is told to stop. */
static void break_off(struct ss_grpc_call *call)
{
	struct ss_grpc_channel *ch = call->ch;
	if (call->ended)
		return;
	if (call->stream && ch->h2.session && !ch->h2.over)
		nghttp2_submit_rst_stream(ch->h2.session, NGHTTP2_FLAG_NONE, call->stream, NGHTTP2_CANCEL);
	end_call(call);
}

static void fail_call(struct ss_grpc_call *call, enum ss_grpc_code code, const char *text)
{
	ss_grpc_fail(&call->status, code, "%s", text);
	break_off(call);
}

/* No call can have an answer any more. */
static void go_down(struct ss_grpc_channel *ch, enum ss_grpc_code code, const char *text)
{
	ch->state = DOWN;
	ss_grpc_fail(&ch->why, code, "%s", text);
	while (ch->calls) {
		struct ss_grpc_call *call = ch->calls;
		ss_grpc_fail(&call->status, ch->why.code, "%s", ch->why.text);
		end_call(call);
	}
	ss_h2_close(&ch->h2);
	if (ch->fd >= 0)
		close(ch->fd);
	ch->fd = -1;
}

/* ---- what the session tells ---- */

static struct ss_grpc_call *call_of(nghttp2_session *session, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(session, stream);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
		     const uint8_t *value, size_t value_n, uint8_t flags, void *arg)
{
	struct ss_grpc_call *call = call_of(session, frame->hd.stream_id);
	struct ss_str key = { (const char *)name, name_n }, v = { (const char *)value, value_n };
	uint64_t number;
	(void)flags;
	(void)arg;
	if (!call)
		return 0;
	call->header_bytes += name_n + value_n + 32;
	if (call->header_bytes > SS_H2_HEADER_BYTES) {
		fail_call(call, SS_GRPC_RESOURCE_EXHAUSTED, "the headers of the answer are too long");
		return 0;
	}
	if (ss_str_is(key, ":status"))
		call->http_status = ss_str_to_u64(v, &number) && number < 1000 ? (unsigned)number : 0;
	else if (ss_str_is(key, "content-type"))
		call->grpc_type = ss_str_starts(v, SS_STR("application/grpc"));
	else if (ss_str_is(key, "grpc-message"))
		ss_grpc_percent_decode(call->theirs.text, sizeof(call->theirs.text), v);
	else if (ss_str_is(key, "grpc-status")) {
		call->has_status = true;
		call->theirs.code = ss_grpc_code_of(v);
	}
	return 0;
}

/* Headers without a status of gRPC that are not gRPC's: something else is listening there. */
static void check_headers(struct ss_grpc_call *call)
{
	if (call->has_status || (call->http_status == 200 && call->grpc_type) || call->http_status / 100 == 1)
		return;
	if (call->http_status == 200)
		ss_grpc_fail(&call->status, SS_GRPC_UNKNOWN, "the server answers, but not with gRPC");
	else
		ss_grpc_fail(&call->status, ss_grpc_code_of_http(call->http_status),
			     "the server answers with HTTP status %u instead of gRPC", call->http_status);
	break_off(call);
}

/* Keep a piece of the reply, or hand it on. */
static bool take_piece(struct ss_grpc_call *call, struct ss_str piece)
{
	struct ss_err err = { 0 };
	if (call->config.sink) {
		if (call->config.sink(call->config.sink_arg, piece, call->unframer.length, &err))
			return true;
		return ss_grpc_fail(&call->status, SS_GRPC_ABORTED, "%s", err.text);
	}
	ss_buf_str(&call->reply, piece);
	return ss_buf_ok(&call->reply, "reply", &err) ||
	       ss_grpc_fail(&call->status, SS_GRPC_RESOURCE_EXHAUSTED, "%s", err.text);
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *p, size_t n, void *arg)
{
	struct ss_grpc_call *call = call_of(session, stream);
	struct ss_str bytes = { (const char *)p, n }, piece;
	(void)flags;
	(void)arg;
	if (!call)
		return 0;
	bool ok = true;
	while (ok && ss_grpc_unframe(&call->unframer, &bytes, call->config.max_reply_bytes, &piece, &call->status))
		ok = take_piece(call, piece);
	if (call->status.code != SS_GRPC_OK)
		break_off(call);
	return 0;
}

/* The server's refusal; some say nothing with the number. */
static void take_status(struct ss_grpc_call *call)
{
	call->status = call->theirs;
	if (call->theirs.text[0])
		return;
	if (call->theirs.code == SS_GRPC_UNIMPLEMENTED)
		snprintf(call->status.text, sizeof(call->status.text), "the server does not implement %.300s", call->method);
	else
		snprintf(call->status.text, sizeof(call->status.text), "the server gives no reason");
}

/* The server has said all: is it an answer? */
static void finish(struct ss_grpc_call *call)
{
	if (!call->has_status)
		ss_grpc_fail(&call->status, SS_GRPC_INTERNAL, "the answer ends without a status");
	else if (call->theirs.code != SS_GRPC_OK)
		take_status(call);
	else if (!ss_grpc_whole(&call->unframer))
		ss_grpc_fail(&call->status, SS_GRPC_INTERNAL, "the answer ends in the middle of its message");
	end_call(call);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct ss_grpc_channel *ch = arg;
	struct ss_grpc_call *call;
	switch (frame->hd.type) {
	case NGHTTP2_SETTINGS:
		ch->settled = true;
		break;
	case NGHTTP2_PING:
		if (frame->hd.flags & NGHTTP2_FLAG_ACK)
			ch->ping_ns = 0;
		break;
	case NGHTTP2_GOAWAY:
		ch->draining = true;
		break;
	case NGHTTP2_HEADERS:
		call = call_of(session, frame->hd.stream_id);
		if (call)
			check_headers(call);
		break;
	}
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	call = call_of(session, frame->hd.stream_id);
	if (call && frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		/*
		 * A server may answer before it has read everything: nothing more is to be sent
		 * then.
		 */
		if (call->sent < SS_GRPC_PREFIX + call->config.request.n)
			nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream, NGHTTP2_NO_ERROR);
		finish(call);
	}
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t error, void *arg)
{
	struct ss_grpc_channel *ch = arg;
	struct ss_grpc_call *call = call_of(session, stream);
	if (!call)
		return 0;
	if (call->has_status && error == NGHTTP2_NO_ERROR) {
		finish(call);
		return 0;
	}
	if (ch->draining && error == NGHTTP2_REFUSED_STREAM)
		ss_grpc_fail(&call->status, SS_GRPC_UNAVAILABLE, "the server is shutting down and accepts no more calls");
	else
		ss_grpc_fail(&call->status, ss_grpc_code_of_h2(error), "the server aborted the call (%s)",
			     nghttp2_http2_strerror(error));
	end_call(call);
	return 0;
}

/* ---- sending ---- */

static ssize_t read_request(nghttp2_session *session, int32_t stream, uint8_t *buf, size_t n, uint32_t *flags,
			    nghttp2_data_source *source, void *arg)
{
	struct ss_grpc_call *call = call_of(session, stream);
	size_t put = 0;
	(void)source;
	(void)arg;
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	while (put < n && call->sent < SS_GRPC_PREFIX)
		buf[put++] = call->prefix[call->sent++];
	size_t at = call->sent - SS_GRPC_PREFIX, left = call->sent < SS_GRPC_PREFIX ? 0 : call->config.request.n - at;
	if (left > n - put)
		left = n - put;
	if (left)
		memcpy(buf + put, call->config.request.p + at, left);
	call->sent += left;
	if (call->sent == SS_GRPC_PREFIX + call->config.request.n)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)(put + left);
}

static void submit(struct ss_grpc_call *call)
{
	struct ss_grpc_channel *ch = call->ch;
	char timeout[24];
	nghttp2_nv nv[11];
	size_t n = 0;
	nv[n++] = ss_h2_nv(":method", "POST");
	nv[n++] = ss_h2_nv(":scheme", ch->config.tls ? "https" : "http");
	nv[n++] = ss_h2_nv(":path", call->method);
	nv[n++] = ss_h2_nv(":authority", ch->authority);
	if (call->deadline_ns != SS_NEVER_NS) {
		ss_grpc_timeout_print(timeout, call->deadline_ns - ss_net_now_ns());
		nv[n++] = ss_h2_nv("grpc-timeout", timeout);
	}
	nv[n++] = ss_h2_nv("te", "trailers");
	nv[n++] = ss_h2_nv("content-type", "application/grpc");
	nv[n++] = ss_h2_nv("user-agent", "stepscope/" SS_VERSION);
	nv[n++] = ss_h2_nv("grpc-accept-encoding", "identity");
	if (ch->bearer) {
		nv[n] = ss_h2_nv("authorization", ch->bearer);
		nv[n++].flags = NGHTTP2_NV_FLAG_NO_INDEX;
	}
	const nghttp2_data_provider provider = { .read_callback = read_request };
	int32_t stream = nghttp2_submit_request(ch->h2.session, NULL, nv, n, &provider, call);
	if (stream >= 0)
		call->stream = stream;
	else
		fail_call(call, SS_GRPC_UNAVAILABLE, nghttp2_strerror(stream));
}

/* ---- the connection ---- */

static bool new_session(struct ss_grpc_channel *ch, struct ss_err *err)
{
	const nghttp2_settings_entry no_push = { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 };
	nghttp2_session_callbacks *cb = NULL;
	nghttp2_option *option = ss_h2_option();
	bool ok = option && nghttp2_session_callbacks_new(&cb) == 0;
	if (ok) {
		nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
		nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
		nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
		nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
		ok = nghttp2_session_client_new2(&ch->h2.session, cb, ch, option) == 0;
	}
	nghttp2_session_callbacks_del(cb);
	nghttp2_option_del(option);
	return ok ? ss_h2_greet(&ch->h2, &no_push, 1, err) : ss_fail_mem(err);
}

/* From a connected socket, which is taken over, to a channel that takes calls. */
static void come_up(struct ss_grpc_channel *ch, int fd)
{
	struct ss_err err = { 0 };
	ch->fd = -1;
	ss_net_tune(fd);
	if (!ss_h2_open(&ch->h2, fd, ch->config.tls, ch->name.host, &err) || !new_session(ch, &err)) {
		go_down(ch, SS_GRPC_RESOURCE_EXHAUSTED, err.text);
		return;
	}
	ch->state = UP;
	for (struct ss_grpc_call *call = ch->calls, *next; call; call = next) {
		next = call->next;
		submit(call);
	}
}

/* Try the next addresses until one is not refused at once. */
static void try_next(struct ss_grpc_channel *ch)
{
	char text[1000];
	while (ch->next) {
		const struct addrinfo *a = ch->next;
		ch->next = a->ai_next;
		ch->fd = ss_socket(a->ai_family, a->ai_socktype, a->ai_protocol);
		if (ch->fd < 0 || !ss_net_nonblocking(ch->fd)) {
			ch->error = errno;
			continue;
		}
		if (connect(ch->fd, a->ai_addr, a->ai_addrlen) == 0) {
			come_up(ch, ch->fd);
			return;
		}
		if (errno == EINPROGRESS)
			return;
		ch->error = errno;
		close(ch->fd);
		ch->fd = -1;
	}
	snprintf(text, sizeof(text), "cannot connect to %s: %s", ch->authority, strerror(ch->error));
	go_down(ch, SS_GRPC_UNAVAILABLE, text);
}

/* The socket is ready: connected, or not to be. */
static void connected(struct ss_grpc_channel *ch)
{
	int error = 0;
	socklen_t n = sizeof(error);
	if (getsockopt(ch->fd, SOL_SOCKET, SO_ERROR, &error, &n) != 0)
		error = errno;
	if (!error) {
		come_up(ch, ch->fd);
		return;
	}
	ch->error = error;
	close(ch->fd);
	ch->fd = -1;
	try_next(ch);
}

/* What to say of a connection that is over. */
static void explain_end(struct ss_grpc_channel *ch)
{
	char text[1000];
	const struct ss_h2 *h = &ch->h2;
	if (!ch->settled && h->nfirst >= 5 && memcmp(h->first, "HTTP/", 5) == 0)
		snprintf(text, sizeof(text), "%s answers with HTTP/1: that is a web server, not a profiler's port",
			 ch->authority);
	else if (!ch->settled && h->link.shaken && h->nfirst >= 2 && h->first[0] == 0x15 && h->first[1] == 3)
		snprintf(text, sizeof(text), "%s wants TLS", ch->authority);
	else if (!ch->settled && h->link.shaken && h->nfirst)
		snprintf(text, sizeof(text), "%s does not speak gRPC", ch->authority);
	else if (!ch->settled && h->link.shaken)
		snprintf(text, sizeof(text), "%s closed the connection without an answer", ch->authority);
	else
		snprintf(text, sizeof(text), "%s: %s", ch->authority,
			 h->why[0] ? h->why : "the server closed the connection in the middle of the call");
	go_down(ch, SS_GRPC_UNAVAILABLE, text);
}

static struct ss_grpc_channel *new_channel(const struct ss_grpc_channel_config *config, struct ss_err *err)
{
	struct ss_grpc_channel *ch = calloc(1, sizeof(*ch));
	if (!ch) {
		ss_fail_mem(err);
		return NULL;
	}
	ch->config = *config;
	ch->fd = ch->h2.link.fd = -1;
	ch->connect_until_ns = ss_net_now_ns() + (config->connect_ms ? config->connect_ms : CONNECT_MS) * SS_NS_PER_MS;
	if (!ss_net_parse(&ch->name, config->target, err)) {
		free(ch);
		return NULL;
	}
	bool v6 = strchr(ch->name.host, ':');
	if (asprintf(&ch->authority, v6 ? "[%s]:%u" : "%s:%u", ch->name.host, ch->name.port) < 0)
		ch->authority = NULL;
	if (config->token && asprintf(&ch->bearer, "Bearer %s", config->token) < 0)
		ch->bearer = NULL;
	if (ch->authority && (!config->token || ch->bearer))
		return ch;
	ss_grpc_channel_close(ch);
	ss_fail_mem(err);
	return NULL;
}

struct ss_grpc_channel *ss_grpc_channel_open(const struct ss_grpc_channel_config *config, struct ss_err *err)
{
	struct ss_grpc_channel *ch = new_channel(config, err);
	if (!ch)
		return NULL;
	ch->addresses = ch->next = ss_net_resolve(&ch->name, err);
	if (!ch->addresses) {
		ss_grpc_channel_close(ch);
		return NULL;
	}
	try_next(ch);
	return ch;
}

struct ss_grpc_channel *ss_grpc_channel_adopt(int fd, const struct ss_grpc_channel_config *config, struct ss_err *err)
{
	struct ss_grpc_channel *ch = new_channel(config, err);
	if (!ch || !ss_net_nonblocking(fd)) {
		close(fd);
		ss_grpc_channel_close(ch);
		ss_fail(err, SS_EIO, "the socket cannot be used");
		return NULL;
	}
	come_up(ch, fd);
	return ch;
}

void ss_grpc_channel_close(struct ss_grpc_channel *ch)
{
	if (!ch)
		return;
	/* A server that is told goodbye does not count us as lost. */
	if (ch->state == UP && !ch->h2.over) {
		while (ch->calls)
			fail_call(ch->calls, SS_GRPC_CANCELLED, "the connection was closed");
		nghttp2_session_terminate_session(ch->h2.session, NGHTTP2_NO_ERROR);
		ss_h2_pump(&ch->h2);
	}
	go_down(ch, SS_GRPC_CANCELLED, "the connection was closed");
	if (ch->addresses)
		freeaddrinfo(ch->addresses);
	free(ch->authority);
	free(ch->bearer);
	free(ch);
}

bool ss_grpc_channel_up(const struct ss_grpc_channel *ch)
{
	return ch->state == UP && !ch->draining;
}

/* ---- calls ---- */

struct ss_grpc_call *ss_grpc_call_start(struct ss_grpc_channel *ch, const struct ss_grpc_call_config *config,
					struct ss_err *err)
{
	struct ss_grpc_call *call = calloc(1, sizeof(*call));
	if (!call || !(call->method = strdup(config->method)) || config->request.n > LONGEST_REPLY) {
		free(call ? call->method : NULL);
		free(call);
		if (config->request.n > LONGEST_REPLY)
			ss_fail(err, SS_EINVAL, "a request of more than 4 GiB cannot be sent");
		ss_fail_mem(err);
		return NULL;
	}
	call->ch = ch;
	call->config = *config;
	if (!config->max_reply_bytes)
		call->config.max_reply_bytes = config->sink ? LONGEST_REPLY : REPLY_BYTES;
	call->deadline_ns = config->timeout_ns ? ss_net_now_ns() + config->timeout_ns : SS_NEVER_NS;
	ss_grpc_prefix(call->prefix, (uint32_t)config->request.n);
	call->next = ch->calls;
	ch->calls = call;
	if (ch->state == UP && !ch->draining)
		submit(call);
	else if (ch->state == DOWN)
		fail_call(call, ch->why.code, ch->why.text);
	else if (ch->draining)
		fail_call(call, SS_GRPC_UNAVAILABLE, "the server is shutting down and accepts no more calls");
	return call;
}

bool ss_grpc_call_ended(const struct ss_grpc_call *call)
{
	return call->ended;
}

const struct ss_grpc_status *ss_grpc_call_status(const struct ss_grpc_call *call)
{
	return &call->status;
}

struct ss_str ss_grpc_call_reply(const struct ss_grpc_call *call)
{
	return ss_buf_get(&call->reply);
}

uint64_t ss_grpc_call_received(const struct ss_grpc_call *call)
{
	return call->unframer.got;
}

void ss_grpc_call_cancel(struct ss_grpc_call *call)
{
	if (!call->ended)
		fail_call(call, SS_GRPC_CANCELLED, "cancelled");
}

void ss_grpc_call_free(struct ss_grpc_call *call)
{
	if (!call)
		return;
	ss_grpc_call_cancel(call);
	ss_buf_free(&call->reply);
	free(call->method);
	free(call);
}

/* ---- the loop ---- */

/* The connection stands, and the server's SETTINGS, which come before anything else, are not here yet. */
static bool awaits_greeting(const struct ss_grpc_channel *ch)
{
	return ch->state == UP && !ch->settled;
}

static void check_deadlines(struct ss_grpc_channel *ch, int64_t now_ns)
{
	char text[1000];
	if (ch->state == CONNECTING && now_ns >= ch->connect_until_ns) {
		snprintf(text, sizeof(text), "cannot connect to %s: no answer in time", ch->authority);
		go_down(ch, SS_GRPC_UNAVAILABLE, text);
	} else if (awaits_greeting(ch) && now_ns >= ch->connect_until_ns) {
		snprintf(text, sizeof(text),
			 "%s accepts connections but does not answer: the program hangs, or the port belongs to another service",
			 ch->authority);
		go_down(ch, SS_GRPC_UNAVAILABLE, text);
	}
	for (struct ss_grpc_call *call = ch->calls, *next; call; call = next) {
		next = call->next;
		if (now_ns < call->deadline_ns)
			continue;
		snprintf(text, sizeof(text), "%s did not answer within %.4g s", ch->authority,
			 (double)call->config.timeout_ns / 1e9);
		fail_call(call, SS_GRPC_DEADLINE_EXCEEDED, text);
	}
}

/* When nothing was heard for long, ask; when that is not answered, give up. */
static void check_life(struct ss_grpc_channel *ch, int64_t now_ns)
{
	int64_t every_ns = ch->config.keepalive_ms * SS_NS_PER_MS;
	char text[1000];
	if (!every_ns || ch->state != UP || !ch->calls)
		return;
	if (ch->ping_ns && now_ns - ch->ping_ns >= every_ns) {
		snprintf(text, sizeof(text), "%s stopped answering", ch->authority);
		go_down(ch, SS_GRPC_UNAVAILABLE, text);
	} else if (!ch->ping_ns && now_ns - ch->h2.heard_ns >= every_ns &&
		   nghttp2_submit_ping(ch->h2.session, NGHTTP2_FLAG_NONE, NULL) == 0) {
		ch->ping_ns = now_ns;
	}
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The next moment at which something is to be done without an event. */
static int64_t next_moment(const struct ss_grpc_channel *ch)
{
	int64_t at = ch->state == CONNECTING || awaits_greeting(ch) ? ch->connect_until_ns : SS_NEVER_NS;
	for (const struct ss_grpc_call *call = ch->calls; call; call = call->next)
		at = earlier(at, call->deadline_ns);
	if (ch->config.keepalive_ms && ch->state == UP && ch->calls)
		at = earlier(at, (ch->ping_ns ? ch->ping_ns : ch->h2.heard_ns) + ch->config.keepalive_ms * SS_NS_PER_MS);
	return at;
}

static struct pollfd want(const struct ss_grpc_channel *ch)
{
	if (ch->state == CONNECTING)
		return (struct pollfd){ .fd = ch->fd, .events = POLLOUT };
	if (ch->state == UP)
		return (struct pollfd){ .fd = ch->h2.link.fd, .events = ss_h2_events(&ch->h2) };
	return (struct pollfd){ .fd = -1 };
}

static void step(struct ss_grpc_channel *ch, short events)
{
	if (ch->state == CONNECTING && events)
		connected(ch);
	/* Also without an event: a call may have been started or cancelled. */
	if (ch->state != UP || (!events && !ss_h2_busy(&ch->h2)))
		return;
	ss_h2_pump(&ch->h2);
	if (ch->h2.over)
		explain_end(ch);
}

/* Wait as long as nothing can be done; true when somebody wants us to come back. */
static bool wait_for(struct pollfd *fds, struct ss_grpc_channel *const *v, size_t n, int64_t until_ns, bool *failed)
{
	bool backlog = false;
	for (size_t i = 0; i < n; i++) {
		fds[i] = want(v[i]);
		until_ns = earlier(until_ns, next_moment(v[i]));
		backlog = backlog || (v[i]->state == UP && v[i]->h2.backlog);
	}
	int64_t left_ms = until_ns == SS_NEVER_NS ? INT32_MAX : (until_ns - ss_net_now_ns()) / SS_NS_PER_MS + 1;
	int ms = backlog || left_ms < 0 ? 0 : left_ms > 3600000 ? 3600000 : (int)left_ms;
	int rc = poll(fds, (nfds_t)(n + 1), ms);
	*failed = rc < 0 && errno != EINTR;
	if (rc < 0)
		memset(fds, 0, (n + 1) * sizeof(*fds));
	return fds[n].revents;
}

static bool any_calls(struct ss_grpc_channel *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i]->calls)
			return true;
	return false;
}

bool ss_grpc_run(struct ss_grpc_channel *const *v, size_t n, int wake_fd, int64_t until_ns, struct ss_err *err)
{
	struct pollfd *fds = calloc(n + 1, sizeof(*fds));
	bool woken = false, failed = false;
	if (!fds)
		return ss_fail_mem(err);
	for (size_t i = 0; i < n; i++)
		step(v[i], 0);
	while (any_calls(v, n) && !woken && !failed && ss_net_now_ns() < until_ns) {
		fds[n] = (struct pollfd){ .fd = wake_fd, .events = POLLIN };
		woken = wait_for(fds, v, n, until_ns, &failed);
		int64_t now_ns = ss_net_now_ns();
		for (size_t i = 0; i < n; i++) {
			step(v[i], fds[i].revents);
			check_deadlines(v[i], now_ns);
			check_life(v[i], now_ns);
			step(v[i], 0);
		}
	}
	free(fds);
	return !failed || ss_fail(err, SS_EIO, "waiting for the network failed: %s", strerror(errno));
}

bool ss_grpc_unary(struct ss_grpc_channel *ch, const struct ss_grpc_call_config *config, struct ss_buf *reply,
		   struct ss_grpc_status *status)
{
	struct ss_err err = { 0 };
	struct ss_grpc_call *call = ss_grpc_call_start(ch, config, &err);
	*status = (struct ss_grpc_status){ 0 };
	if (!call)
		return ss_grpc_fail(status, ss_grpc_code_of_err(err.code), "%s", err.text);
	if (!ss_grpc_run(&ch, 1, -1, SS_NEVER_NS, &err))
		ss_grpc_fail(status, ss_grpc_code_of_err(err.code), "%s", err.text);
	else
		*status = call->status;
	if (status->code == SS_GRPC_OK && !config->sink && reply) {
		ss_buf_str(reply, ss_grpc_call_reply(call));
		if (reply->no_memory || reply->over)
			ss_grpc_fail(status, SS_GRPC_RESOURCE_EXHAUSTED, "out of memory for the answer");
	}
	ss_grpc_call_free(call);
	return status->code == SS_GRPC_OK;
}
