/* grpc_calls.c - a call's way through the server: headers, message, handler, answer. */
#include "rpc/grpc_calls.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STREAMS 128	/* of one connection at once */

/* ---- calls ---- */

void ss_rpc_free_call(struct ss_rpc_call *call)
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

void ss_rpc_leave_call(struct ss_rpc_call *call)
{
	struct ss_grpc_server *s = call->server;
	struct ss_rpc_conn *c = call->conn;
	if (call->prev)
		call->prev->next = call->next;
	else
		c->calls = call->next;
	if (call->next)
		call->next->prev = call->prev;
	if (!c->calls)
		c->since_ns = ss_net_now_ns();
	call->conn = NULL;
	if (call->stage != SS_RPC_WORKING) {
		ss_rpc_free_call(call);
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
	const struct ss_rpc_call *call = (const struct ss_rpc_call *)(const void *)asked;
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
	struct ss_rpc_call *call = arg;
	struct ss_grpc_server *s = call->server;
	call->method->handler(call->method->arg, &call->asked, &call->answer);
	pthread_mutex_lock(&s->lock);
	call->next_done = s->done;
	s->done = call;
	s->working--;
	pthread_cond_broadcast(&s->changed);
	/* Under the lock: when the server is seen without work, nobody touches it any more. */
	ss_rpc_wake(s);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* A thread for the call; all signals are for others. */
static bool start_work(struct ss_rpc_call *call)
{
	struct ss_grpc_server *s = call->server;
	unsigned max = s->config.max_calls ? s->config.max_calls : 32;
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	pthread_mutex_lock(&s->lock);
	bool room = s->working < max && s->order == SS_RPC_RUN;
	s->working += room;
	pthread_mutex_unlock(&s->lock);
	if (!room)
		return ss_grpc_fail(&call->answer.status, SS_GRPC_UNAVAILABLE, "%u calls are in progress already", max);
	call->stage = SS_RPC_WORKING;
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
	call->stage = SS_RPC_RECEIVING;
	pthread_mutex_lock(&s->lock);
	s->working--;
	pthread_mutex_unlock(&s->lock);
	return ss_grpc_fail(&call->answer.status, SS_GRPC_RESOURCE_EXHAUSTED, "no thread is free for this call");
}

/* ---- answers ---- */

static uint64_t answer_bytes(const struct ss_rpc_call *call)
{
	return call->answer.body.n + (call->answer.fd > 0 ? call->answer.fd_bytes : 0);
}

/* grpc-status and, when there are words, grpc-message; how many. */
static size_t status_headers(struct ss_rpc_call *call, nghttp2_nv nv[2], char code[16])
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
static ssize_t next_bytes(struct ss_rpc_call *call, uint8_t *buf, size_t n)
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
	struct ss_rpc_call *call = nghttp2_session_get_stream_user_data(session, stream);
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
		/*
		 * What was promised cannot be kept: the stream is reset, and the caller sees that.
		 */
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
static void stop_request(struct ss_rpc_call *call)
{
	nghttp2_session *session = call->conn->h2.session;
	if (nghttp2_session_get_stream_remote_close(session, call->stream) == 0)
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream, NGHTTP2_NO_ERROR);
}

void ss_rpc_send_answer(struct ss_rpc_call *call)
{
	nghttp2_session *session = call->conn->h2.session;
	nghttp2_nv nv[5] = { ss_h2_nv(":status", "200"), ss_h2_nv("content-type", "application/grpc"),
			     ss_h2_nv("grpc-accept-encoding", "identity") };
	const nghttp2_data_provider provider = { .read_callback = read_answer };
	char code[16];
	int rc;
	call->stage = SS_RPC_SENDING;
	if (call->answer.body.no_memory || call->answer.body.over)
		ss_grpc_fail(&call->answer.status, SS_GRPC_RESOURCE_EXHAUSTED, "out of memory for the answer");
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

void ss_rpc_refuse(struct ss_rpc_call *call, enum ss_grpc_code code, const char *text)
{
	if (call->refused || call->stage != SS_RPC_RECEIVING)
		return;
	call->refused = true;
	ss_grpc_fail(&call->answer.status, code, "%s", text);
	ss_rpc_send_answer(call);
}

/* The answer is the handler's still: these words are not in it. */
void ss_rpc_give_up(struct ss_rpc_call *call)
{
	const nghttp2_nv nv[] = { ss_h2_nv(":status", "200"), ss_h2_nv("content-type", "application/grpc"),
				  ss_h2_nv("grpc-status", "4"), ss_h2_nv("grpc-message", "the deadline has passed") };
	call->refused = true;
	nghttp2_submit_response(call->conn->h2.session, call->stream, nv, SS_COUNT(nv), NULL);
}

/* To somebody who does not speak gRPC, in HTTP's words. */
static void refuse_http(struct ss_rpc_call *call, const char *status)
{
	const nghttp2_nv nv[] = { ss_h2_nv(":status", status) };
	call->refused = true;
	call->stage = SS_RPC_SENDING;
	nghttp2_submit_response(call->conn->h2.session, call->stream, nv, 1, NULL);
}

/* ---- what a session tells ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct ss_rpc_conn *c = arg;
	struct ss_rpc_call *call;
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
	call->begun_ns = ss_net_now_ns();
	memcpy(call->peer, c->peer, sizeof(call->peer));
	call->asked.peer = call->peer;
	call->next = c->calls;
	if (c->calls)
		c->calls->prev = call;
	c->calls = call;
	if (nghttp2_session_set_stream_user_data(session, call->stream, call) != 0) {
		ss_rpc_leave_call(call);
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
		     const uint8_t *value, size_t value_n, uint8_t flags, void *arg)
{
	struct ss_rpc_call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	struct ss_str key = { (const char *)name, name_n }, v = { (const char *)value, value_n };
	const struct ss_str bearer = SS_STR("Bearer ");
	int64_t ns;
	(void)flags;
	(void)arg;
	if (!call || call->refused)
		return 0;
	call->header_bytes += name_n + value_n + 32;
	if (call->header_bytes > SS_H2_HEADER_BYTES) {
		ss_rpc_refuse(call, SS_GRPC_RESOURCE_EXHAUSTED, "the headers of the call are too long");
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
				   ss_net_knows(ss_str_sub(v, bearer.n, v.n), call->server->token);
	}
	return 0;
}

/* All headers are there: is it a call for us? */
static void begin_call(struct ss_rpc_call *call)
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
		ss_rpc_refuse(call, SS_GRPC_UNAUTHENTICATED, "this server requires a token: \"authorization: Bearer ...\"");
	} else if (call->bad_timeout) {
		ss_rpc_refuse(call, SS_GRPC_INTERNAL, "grpc-timeout is malformed");
	} else if (!call->method) {
		snprintf(text, sizeof(text), "there is no method %.200s", call->path ? call->path : "");
		ss_rpc_refuse(call, SS_GRPC_UNIMPLEMENTED, text);
	} else {
		call->asked.method = call->method->path;
	}
	free(call->path);
	call->path = NULL;
}

/* The whole request is there. */
static void end_request(struct ss_rpc_call *call)
{
	if (call->refused || call->stage != SS_RPC_RECEIVING)
		return;
	if (!ss_grpc_whole(&call->unframer)) {
		ss_rpc_refuse(call, SS_GRPC_INTERNAL, "the request ends in the middle of its message");
		return;
	}
	call->asked.request = ss_buf_get(&call->request);
	if (!start_work(call)) {
		call->refused = true;
		ss_rpc_send_answer(call);
	}
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct ss_rpc_conn *c = arg;
	struct ss_rpc_call *call;
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
	struct ss_rpc_call *call = nghttp2_session_get_stream_user_data(session, stream);
	struct ss_str bytes = { (const char *)p, n }, piece;
	struct ss_grpc_status status = { 0 };
	(void)flags;
	(void)arg;
	if (!call || call->refused || call->stage != SS_RPC_RECEIVING)
		return 0;
	const struct ss_grpc_server_config *config = &call->server->config;
	uint64_t max = config->max_request_bytes ? config->max_request_bytes : (uint64_t)4 << 20;
	uint64_t max_pending = config->max_pending_bytes ? config->max_pending_bytes : (uint64_t)64 << 20;
	while (ss_grpc_unframe(&call->unframer, &bytes, max, &piece, &status)) {
		size_t before = call->request.n;
		if (call->server->pending_bytes + piece.n > max_pending)
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
		ss_rpc_refuse(call, status.code, status.text);
	return 0;
}

static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct ss_rpc_call *call;
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
	struct ss_rpc_call *call = nghttp2_session_get_stream_user_data(session, stream);
	(void)error;
	(void)arg;
	if (call)
		ss_rpc_leave_call(call);
	return 0;
}

bool ss_rpc_new_session(struct ss_rpc_conn *c, struct ss_err *err)
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

void ss_rpc_wake(struct ss_grpc_server *s)
{
	/* A full pipe wakes as well. */
	ssize_t n = write(s->wake[1], "", 1);
	(void)n;
}
