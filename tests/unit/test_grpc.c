/* test_grpc.c - gRPC: the wire's small forms, our client against our server, and both against a peer that misbehaves. */
#include "rpc/grpc_client.h"
#include "rpc/grpc_server.h"

#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void timeouts(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = { { 1, "1n" },	    { 99999999, "99999999n" },	     { 100000000, "100000u" },
		     { 100000001, "100001u" }, { 60000000000, "60000000u" }, { INT64_MAX, "2562048H" }, { -5, "1n" } };
	static const char *const bad[] = { "", "5", "S", "123456789S", "5s", "-5S", "+5S", "5 S", "1.5S", "n5" };
	int64_t ns;
	char text[24];
	(void)state;
	for (size_t i = 0; i < SS_COUNT(rows); i++) {
		ss_grpc_timeout_print(text, rows[i].ns);
		assert_string_equal(text, rows[i].text);
	}
	assert_true(ss_grpc_timeout_parse(SS_STR("90S"), &ns));
	assert_int_equal(ns, 90000000000);
	assert_true(ss_grpc_timeout_parse(SS_STR("99999999H"), &ns));
	assert_true(ns == INT64_MAX);
	for (size_t i = 0; i < SS_COUNT(bad); i++)
		assert_false(ss_grpc_timeout_parse(ss_str_from(bad[i]), &ns));
}

static void percent(void **state)
{
	struct ss_buf b = { 0 };
	char out[64];
	(void)state;
	ss_grpc_percent_encode(&b, "50% d\xc3\xbcnn\n");
	assert_str(ss_buf_get(&b), "50%25 d%C3%BCnn%0A");
	ss_grpc_percent_decode(out, sizeof(out), ss_buf_get(&b));
	assert_string_equal(out, "50% d\xc3\xbcnn\n");
	ss_grpc_percent_decode(out, sizeof(out), SS_STR("%zz%4%41%00%"));
	assert_string_equal(out, "%zz%4A%00%");
	ss_grpc_percent_decode(out, 4, SS_STR("abcdef"));
	assert_string_equal(out, "abc");
	ss_buf_free(&b);
}

static void names(void **state)
{
	static const char *const bad[] = { "", "host", ":5", "host:", "host:0", "host:65536", "host:x", "a:b:5", "[::1]", "[]:5",
					   "http://host:5", "ho/st:5", "host:5/", "a b:5", "[::1:5" };
	struct ss_net_name n;
	(void)state;
	assert_ok(ss_net_parse(&n, "localhost:6009", &err));
	assert_string_equal(n.host, "localhost");
	assert_int_equal(n.port, 6009);
	assert_ok(ss_net_parse(&n, "grpc://10.0.0.1:8466", &err));
	assert_string_equal(n.host, "10.0.0.1");
	assert_ok(ss_net_parse(&n, "[::1]:5", &err));
	assert_string_equal(n.host, "::1");
	for (size_t i = 0; i < SS_COUNT(bad); i++)
		assert_fails(ss_net_parse(&n, bad[i], &err), SS_EINVAL);
}

/* ---- a server to talk to ---- */

static void echo(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	ss_buf_str(&answer->body, asked->request);
}

static void refuse(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	(void)asked;
	ss_grpc_fail(&answer->status, SS_GRPC_FAILED_PRECONDITION, "100%% not so:\n\xe2\x82\xac");
}

#define LONG_NS INT64_C(60000000000)	/* what fails takes so long, what works never, on the slowest machine */

static atomic_int begun, gone, met;

/* Sleeps until nobody waits any more, and tells whoever looks. */
static void sleep_long(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	(void)answer;
	begun++;
	gone += !ss_grpc_asked_sleep(asked, LONG_NS);
}

static void short_sleep(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	begun++;
	ss_grpc_asked_sleep(asked, 100000000);
	ss_buf_lit(&answer->body, "late");
}

/* Waits for so many others as the request has bytes: those who came one after the other would never meet. */
static void meet(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	int64_t begin_ns = ss_net_now_ns();
	(void)arg;
	met++;
	while ((size_t)met < asked->request.n && ss_net_now_ns() - begin_ns < LONG_NS && ss_grpc_asked_sleep(asked, 1000000))
		;
	if ((size_t)met == asked->request.n)
		ss_buf_lit(&answer->body, "met");
}

#define FILE_BYTES ((uint64_t)100 << 20)

/* A long message from a file; holes cost nothing. */
static void send_file(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	char name[] = "/tmp/ss_grpc_XXXXXX";
	(void)arg;
	(void)asked;
	answer->fd = mkstemp(name);
	unlink(name);
	answer->fd_bytes = FILE_BYTES;
	if (answer->fd < 0 || ftruncate(answer->fd, (off_t)FILE_BYTES) != 0)
		ss_grpc_fail(&answer->status, SS_GRPC_INTERNAL, "no file");
	ss_buf_lit(&answer->body, "head");
}

static void torn_file(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	send_file(arg, asked, answer);
	answer->fd_bytes += 10;
}

static void refuse_silently(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	(void)asked;
	ss_grpc_fail(&answer->status, SS_GRPC_UNIMPLEMENTED, "%s", "");
}

static const struct ss_grpc_method methods[] = {
	{ "/t.S/Echo", echo, NULL },	     { "/t.S/Refuse", refuse, NULL },	   { "/t.S/Sleep", sleep_long, NULL },
	{ "/t.S/Silent", refuse_silently, NULL },
	{ "/t.S/Meet", meet, NULL },
	{ "/t.S/Short", short_sleep, NULL }, { "/t.S/File", send_file, NULL },	   { "/t.S/Torn", torn_file, NULL },
};

struct side {
	struct ss_grpc_server *server;
	struct ss_grpc_channel *channel;
};

static struct side talk(struct ss_grpc_server_config config)
{
	struct side s;
	struct ss_err err = { 0 };
	char target[64];
	config.methods = methods;
	config.nmethods = SS_COUNT(methods);
	s.server = ss_grpc_server_start(&config, &err);
	if (!s.server)
		fail_msg("%s", err.text);
	assert_true(ss_grpc_server_loopback(s.server));
	snprintf(target, sizeof(target), "127.0.0.1:%u", ss_grpc_server_port(s.server));
	s.channel = ss_grpc_channel_open(&(struct ss_grpc_channel_config){ .target = target, .token = config.token }, &err);
	if (!s.channel)
		fail_msg("%s", err.text);
	return s;
}

static void hang_up(struct side *s)
{
	ss_grpc_channel_close(s->channel);
	ss_grpc_server_stop(s->server, 1000);
}

static void unary(void **state)
{
	struct side s = talk((struct ss_grpc_server_config){ 0 });
	struct ss_grpc_status st;
	struct ss_buf b = { 0 }, big = { 0 };
	(void)state;
	struct ss_grpc_call_config call = { .method = "/t.S/Echo", .request = SS_STR("hello"), .timeout_ns = 5000000000 };
	assert_true(ss_grpc_unary(s.channel, &call, &b, &st));
	assert_str(ss_buf_get(&b), "hello");
	b.n = 0;
	call.request = SS_STR("");
	assert_true(ss_grpc_unary(s.channel, &call, &b, &st));
	assert_int_equal(b.n, 0);
	for (int i = 0; i < 1000000; i++)
		ss_buf_lit(&big, "abc");
	call.request = ss_buf_get(&big);
	assert_true(ss_grpc_unary(s.channel, &call, &b, &st));
	assert_true(ss_str_eq(ss_buf_get(&b), ss_buf_get(&big)));
	call.method = "/t.S/Refuse";
	assert_false(ss_grpc_unary(s.channel, &call, &b, &st));
	assert_int_equal(st.code, SS_GRPC_FAILED_PRECONDITION);
	assert_string_equal(st.text, "100% not so:\n\xe2\x82\xac");
	call.method = "/t.S/Silent";
	assert_false(ss_grpc_unary(s.channel, &call, &b, &st));
	assert_string_equal(st.text, "the server does not implement /t.S/Silent");
	call.method = "/t.S/Nothing";
	assert_false(ss_grpc_unary(s.channel, &call, &b, &st));
	assert_int_equal(st.code, SS_GRPC_UNIMPLEMENTED);
	call.method = "/t.S/Torn";
	call.max_reply_bytes = (uint64_t)1 << 30;
	call.timeout_ns = 60000000000;
	assert_false(ss_grpc_unary(s.channel, &call, &b, &st));
	assert_int_equal(st.code, SS_GRPC_INTERNAL);
	ss_buf_free(&b);
	ss_buf_free(&big);
	hang_up(&s);
}

static void too_long(void **state)
{
	struct side s = talk((struct ss_grpc_server_config){ .max_request_bytes = 10 });
	struct ss_grpc_status st;
	struct ss_buf b = { 0 };
	(void)state;
	struct ss_grpc_call_config call = { .method = "/t.S/Echo", .request = SS_STR("12345678901") };
	assert_false(ss_grpc_unary(s.channel, &call, &b, &st));
	assert_int_equal(st.code, SS_GRPC_RESOURCE_EXHAUSTED);
	call.request = SS_STR("1234567890");
	assert_true(ss_grpc_unary(s.channel, &call, &b, &st));
	call.max_reply_bytes = 9;
	assert_false(ss_grpc_unary(s.channel, &call, &b, &st));
	assert_int_equal(st.code, SS_GRPC_RESOURCE_EXHAUSTED);
	ss_buf_free(&b);
	hang_up(&s);
}

/* Headers that do not end, from either side. */
static void long_headers(void **state)
{
	struct side s = talk((struct ss_grpc_server_config){ 0 });
	struct ss_grpc_status st;
	char *method = malloc(20001);
	(void)state;
	assert_non_null(method);
	memset(method, '/', 20000);
	method[20000] = '\0';
	assert_false(ss_grpc_unary(s.channel, &(struct ss_grpc_call_config){ .method = method }, NULL, &st));
	assert_int_equal(st.code, SS_GRPC_RESOURCE_EXHAUSTED);
	free(method);
	assert_true(ss_grpc_unary(s.channel, &(struct ss_grpc_call_config){ .method = "/t.S/Echo" }, NULL, &st));
	hang_up(&s);
}

static bool count(void *arg, struct ss_str piece, uint64_t total, struct ss_err *err)
{
	uint64_t *n = arg;
	(void)err;
	*n += piece.n;
	return total == FILE_BYTES + 4;
}

static bool full_disk(void *arg, struct ss_str piece, uint64_t total, struct ss_err *err)
{
	(void)arg;
	(void)piece;
	(void)total;
	return ss_fail(err, SS_EIO, "the disk is full");
}

/* 100 MB go through both sides, and neither holds them. */
static void long_reply(void **state)
{
	struct side s = talk((struct ss_grpc_server_config){ 0 });
	struct ss_grpc_status st;
	struct rusage before, after;
	uint64_t n = 0;
	(void)state;
	getrusage(RUSAGE_SELF, &before);
	struct ss_grpc_call_config call = { .method = "/t.S/File", .sink = count, .sink_arg = &n };
	assert_true(ss_grpc_unary(s.channel, &call, NULL, &st));
	assert_true(n == FILE_BYTES + 4);
	getrusage(RUSAGE_SELF, &after);
#ifndef __SANITIZE_ADDRESS__
	assert_true(after.ru_maxrss - before.ru_maxrss < 30 << 10);
#endif
	call.sink = full_disk;
	assert_false(ss_grpc_unary(s.channel, &call, NULL, &st));
	assert_int_equal(st.code, SS_GRPC_ABORTED);
	assert_string_equal(st.text, "the disk is full");
	hang_up(&s);
}

static void deadline(void **state)
{
	struct side s = talk((struct ss_grpc_server_config){ 0 });
	struct ss_grpc_status st;
	struct ss_buf b = { 0 };
	(void)state;
	begun = gone = 0;
	struct ss_grpc_call_config call = { .method = "/t.S/Sleep", .timeout_ns = 50000000 };
	/* On a busy machine the first may be over before anybody has begun to work on it. */
	for (; !begun && call.timeout_ns < LONG_NS / 4; call.timeout_ns *= 2) {
		assert_false(ss_grpc_unary(s.channel, &call, &b, &st));
		assert_int_equal(st.code, SS_GRPC_DEADLINE_EXCEEDED);
	}
	/* The channel is as good as before, and the handler has noticed by the time the server has stopped. */
	call.method = "/t.S/Echo";
	call.timeout_ns = 0;
	assert_true(ss_grpc_unary(s.channel, &call, &b, &st));
	hang_up(&s);
	assert_true(begun > 0);
	assert_int_equal(gone, begun);
}

static void many_at_once(void **state)
{
	enum { N = 40 };
	struct side s = talk((struct ss_grpc_server_config){ .max_calls = N });
	struct ss_grpc_call *calls[N];
	struct ss_err err = { 0 };
	(void)state;
	char ticks[N];
	memset(ticks, 'x', sizeof(ticks));
	struct ss_grpc_call_config call = { .method = "/t.S/Meet", .request = { ticks, N } };
	met = 0;
	for (int i = 0; i < N; i++) {
		calls[i] = ss_grpc_call_start(s.channel, &call, &err);
		assert_non_null(calls[i]);
	}
	assert_true(ss_grpc_run(&s.channel, 1, -1, SS_NEVER_NS, &err));
	for (int i = 0; i < N; i++) {
		assert_int_equal(ss_grpc_call_status(calls[i])->code, SS_GRPC_OK);
		assert_str(ss_grpc_call_reply(calls[i]), "met");
		ss_grpc_call_free(calls[i]);
	}
	hang_up(&s);
}

static void too_many(void **state)
{
	struct side s = talk((struct ss_grpc_server_config){ .max_calls = 1 });
	struct ss_grpc_call *calls[2];
	struct ss_err err = { 0 };
	int refused = 0;
	(void)state;
	for (int i = 0; i < 2; i++)
		calls[i] = ss_grpc_call_start(s.channel, &(struct ss_grpc_call_config){ .method = "/t.S/Short" }, &err);
	assert_true(ss_grpc_run(&s.channel, 1, -1, SS_NEVER_NS, &err));
	for (int i = 0; i < 2; i++) {
		refused += ss_grpc_call_status(calls[i])->code == SS_GRPC_UNAVAILABLE;
		ss_grpc_call_free(calls[i]);
	}
	assert_int_equal(refused, 1);
	hang_up(&s);
}

/* A call that somebody works on. */
static struct ss_grpc_call *begin_call(struct side *s, const char *method)
{
	struct ss_err err = { 0 };
	int64_t end_ns = ss_net_now_ns() + LONG_NS;
	begun = gone = 0;
	struct ss_grpc_call *call = ss_grpc_call_start(s->channel, &(struct ss_grpc_call_config){ .method = method }, &err);
	assert_non_null(call);
	while (!begun && ss_net_now_ns() < end_ns)
		assert_true(ss_grpc_run(&s->channel, 1, -1, ss_net_now_ns() + 5000000, &err));
	assert_int_equal(begun, 1);
	return call;
}

/* Stopping: who works may finish, who comes later is sent away, and the client knows which it was. */
static void goodbye(void **state)
{
	struct side s = talk((struct ss_grpc_server_config){ 0 });
	struct ss_err err = { 0 };
	struct ss_grpc_status st;
	(void)state;
	struct ss_grpc_call *call = begin_call(&s, "/t.S/Short");
	int64_t begin_ns = ss_net_now_ns();
	ss_grpc_server_stop(s.server, LONG_NS / 1000000);
	assert_true(ss_net_now_ns() - begin_ns < LONG_NS / 2);	/* no longer than the work takes */
	assert_true(ss_grpc_run(&s.channel, 1, -1, SS_NEVER_NS, &err));
	assert_int_equal(ss_grpc_call_status(call)->code, SS_GRPC_OK);
	ss_grpc_call_free(call);
	assert_false(ss_grpc_channel_up(s.channel));
	assert_false(ss_grpc_unary(s.channel, &(struct ss_grpc_call_config){ .method = "/t.S/Echo" }, NULL, &st));
	assert_int_equal(st.code, SS_GRPC_UNAVAILABLE);
	ss_grpc_channel_close(s.channel);
}

static void stopped_in_the_middle(void **state)
{
	struct side s = talk((struct ss_grpc_server_config){ 0 });
	struct ss_err err = { 0 };
	(void)state;
	struct ss_grpc_call *call = begin_call(&s, "/t.S/Sleep");
	ss_grpc_server_stop(s.server, 10);
	assert_int_equal(gone, 1);
	assert_true(ss_grpc_run(&s.channel, 1, -1, SS_NEVER_NS, &err));
	assert_int_equal(ss_grpc_call_status(call)->code, SS_GRPC_UNAVAILABLE);
	ss_grpc_call_free(call);
	ss_grpc_channel_close(s.channel);
}

static void token(void **state)
{
	struct side s = talk((struct ss_grpc_server_config){ .token = "s3cret" });
	struct ss_grpc_status st;
	struct ss_buf b = { 0 };
	struct ss_err err = { 0 };
	char target[64];
	static const char *const wrong[] = { NULL, "s3cre", "s3cret3", "S3cret" };
	struct ss_grpc_call_config call = { .method = "/t.S/Echo", .request = SS_STR("x") };
	(void)state;
	assert_true(ss_grpc_unary(s.channel, &call, &b, &st));
	snprintf(target, sizeof(target), "127.0.0.1:%u", ss_grpc_server_port(s.server));
	for (size_t i = 0; i < SS_COUNT(wrong); i++) {
		struct ss_grpc_channel *other =
			ss_grpc_channel_open(&(struct ss_grpc_channel_config){ .target = target, .token = wrong[i] }, &err);
		assert_false(ss_grpc_unary(other, &call, &b, &st));
		assert_int_equal(st.code, SS_GRPC_UNAUTHENTICATED);
		ss_grpc_channel_close(other);
	}
	ss_buf_free(&b);
	hang_up(&s);
}

/* ---- a peer that misbehaves ---- */

/* What our client makes of a server that says `bytes` to its call and then nothing more. */
static struct ss_grpc_status against(struct ss_str bytes)
{
	int fds[2];
	struct ss_err err = { 0 };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	struct ss_grpc_channel *ch =
		ss_grpc_channel_adopt(fds[0], &(struct ss_grpc_channel_config){ .target = "peer:1" }, &err);
	struct ss_grpc_call *call = ss_grpc_call_start(
		ch, &(struct ss_grpc_call_config){ .method = "/a/b", .timeout_ns = 5000000000 }, &err);
	assert_true(ss_grpc_run(&ch, 1, -1, ss_net_now_ns() + 5000000, &err));
	assert_true(write(fds[1], bytes.p, bytes.n) == (ssize_t)bytes.n);
	shutdown(fds[1], SHUT_WR);
	assert_true(ss_grpc_run(&ch, 1, -1, SS_NEVER_NS, &err));
	struct ss_grpc_status st = *ss_grpc_call_status(call);
	ss_grpc_call_free(call);
	ss_grpc_channel_close(ch);
	close(fds[1]);
	return st;
}

#define SETTINGS "\0\0\0\4\0\0\0\0\0"

/* The status of a call without a deadline to "peer:1", which accepts the connection and never says a word. */
static struct ss_grpc_status ask_silence(struct ss_grpc_channel_config config)
{
	int fds[2];
	struct ss_err err = { 0 };
	struct ss_grpc_status st;
	config.target = "peer:1";
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	struct ss_grpc_channel *ch = ss_grpc_channel_adopt(fds[0], &config, &err);
	assert_false(ss_grpc_unary(ch, &(struct ss_grpc_call_config){ .method = "/a/b" }, NULL, &st));
	ss_grpc_channel_close(ch);
	close(fds[1]);
	assert_int_equal(st.code, SS_GRPC_UNAVAILABLE);
	return st;
}

/* A server that hangs is given up. */
static void no_greeting(void **state)
{
	(void)state;
	struct ss_grpc_status st = ask_silence((struct ss_grpc_channel_config){ .connect_ms = 20 });
	assert_string_equal(st.text, "peer:1 accepts connections but does not answer: the program hangs, or the port "
				     "belongs to another service");
}

static void bad_servers(void **state)
{
	static const struct {
		struct ss_str bytes;
		enum ss_grpc_code code;
		const char *says;
	} rows[] = {
		{ SS_STR_INIT(""), SS_GRPC_UNAVAILABLE, "without an answer" },
		{ SS_STR_INIT("HTTP/1.1 400 Bad Request\r\n\r\n"), SS_GRPC_UNAVAILABLE, "HTTP/1" },
		{ SS_STR_INIT("\x15\3\3\0\2\2\x46"), SS_GRPC_UNAVAILABLE, "wants TLS" },
		{ SS_STR_INIT("rubbish rubbish rubbish"), SS_GRPC_UNAVAILABLE, "does not speak gRPC" },
		{ SS_STR_INIT(SETTINGS), SS_GRPC_UNAVAILABLE, "closed the connection" },
		{ SS_STR_INIT(SETTINGS "\0\0\0\4\1\0\0\0\0" "\0\0\1\1\5\0\0\0\1\x8d"), SS_GRPC_UNIMPLEMENTED, "404" },
		{ SS_STR_INIT(SETTINGS "\0\0\1\1\5\0\0\0\1\x88"), SS_GRPC_UNKNOWN, "not with gRPC" },
		{ SS_STR_INIT(SETTINGS "\0\0\4\3\0\0\0\0\1\0\0\0\7"), SS_GRPC_UNAVAILABLE, "REFUSED_STREAM" },
		{ SS_STR_INIT(SETTINGS "\0\0\4\3\0\0\0\0\1\0\0\0\x8"), SS_GRPC_CANCELLED, "CANCEL" },
		{ SS_STR_INIT(SETTINGS "\0\0\x8\7\0\0\0\0\0\0\0\0\0\0\0\0\0"), SS_GRPC_UNAVAILABLE, "shutting down" },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(rows); i++) {
		struct ss_grpc_status st = against(rows[i].bytes);
		if (st.code != rows[i].code || !strstr(st.text, rows[i].says))
			fail_msg("row %zu: %s: %s", i, ss_grpc_code_name(st.code), st.text);
	}
}

static void long_headers_back(void **state)
{
	/* HEADERS of stream 1: ":status: 200" and a header of 16,350 bytes, in one frame as HTTP/2 allows. */
	static const char head[] = SETTINGS "\0\x3f\xe5\1\4\0\0\0\1\x88\0\1a\x7f\xdf\x7e";
	struct ss_buf b = { 0 };
	(void)state;
	ss_buf_str(&b, (struct ss_str){ head, sizeof(head) - 1 });
	for (int i = 0; i < 16350; i++)
		ss_buf_char(&b, 'x');
	struct ss_grpc_status st = against(ss_buf_get(&b));
	assert_int_equal(st.code, SS_GRPC_RESOURCE_EXHAUSTED);
	assert_non_null(strstr(st.text, "too long"));
	ss_buf_free(&b);
}

/* What our server says to a peer that says `bytes`; how many bytes it answers before it hangs up. */
static size_t listen_to(struct ss_grpc_server *s, struct ss_str bytes, char *buf, size_t cap)
{
	int fds[2];
	size_t n = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_true(ss_grpc_server_adopt(s, fds[0]));
	ssize_t put = write(fds[1], bytes.p, bytes.n);
	(void)put;
	shutdown(fds[1], SHUT_WR);
	for (ssize_t got; n < cap && (got = read(fds[1], buf + n, cap - n)) > 0;)
		n += (size_t)got;
	close(fds[1]);
	return n;
}

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

static void bad_clients(void **state)
{
	static const struct ss_str rows[] = {
		SS_STR_INIT(""),
		SS_STR_INIT("GET / HTTP/1.1\r\n\r\n"),
		SS_STR_INIT(PREFACE "rubbish, and more of it than a frame's head"),
		SS_STR_INIT(PREFACE SETTINGS "\xff\xff\xff\1\4\0\0\0\1"),
		SS_STR_INIT(PREFACE SETTINGS "\0\0\4\1\4\0\0\0\1\xff\xff\xff\xff"),
		SS_STR_INIT(PREFACE SETTINGS "\0\0\1\1\4\0\0\0\1\x83" "\0\0\5\0\1\0\0\0\1\0\0\0\0\0"),
		SS_STR_INIT(PREFACE SETTINGS "\0\0\4\x8\0\0\0\0\0\x7f\xff\xff\xff"),
		SS_STR_INIT(PREFACE SETTINGS "\0\0\0\x9\0\0\0\0\1"),
	};
	struct side s = talk((struct ss_grpc_server_config){ 0 });
	struct ss_grpc_status st;
	struct ss_buf b = { 0 };
	char answer[4096];
	(void)state;
	for (size_t i = 0; i < SS_COUNT(rows); i++)
		listen_to(s.server, rows[i], answer, sizeof(answer));
	/* Others did not notice. */
	assert_true(ss_grpc_unary(s.channel, &(struct ss_grpc_call_config){ .method = "/t.S/Echo", .request = SS_STR("x") }, &b,
				  &st));
	assert_str(ss_buf_get(&b), "x");
	ss_buf_free(&b);
	hang_up(&s);
}

static void nobody_there(void **state)
{
	struct side s = talk((struct ss_grpc_server_config){ 0 });
	struct ss_grpc_status st;
	struct ss_err err = { 0 };
	char target[64];
	(void)state;
	snprintf(target, sizeof(target), "127.0.0.1:%u", ss_grpc_server_port(s.server));
	hang_up(&s);
	struct ss_grpc_channel *ch = ss_grpc_channel_open(&(struct ss_grpc_channel_config){ .target = target }, &err);
	assert_non_null(ch);
	assert_false(ss_grpc_unary(ch, &(struct ss_grpc_call_config){ .method = "/t.S/Echo" }, NULL, &st));
	assert_int_equal(st.code, SS_GRPC_UNAVAILABLE);
	assert_non_null(strstr(st.text, "refused"));
	ss_grpc_channel_close(ch);
}

/* A keepalive finds out, too. */
static void silence(void **state)
{
	(void)state;
	struct ss_grpc_status st = ask_silence((struct ss_grpc_channel_config){ .keepalive_ms = 50 });
	assert_non_null(strstr(st.text, "stopped answering"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timeouts),
		cmocka_unit_test(percent),
		cmocka_unit_test(names),
		cmocka_unit_test(unary),
		cmocka_unit_test(too_long),
		cmocka_unit_test(long_headers),
		cmocka_unit_test(long_headers_back),
		cmocka_unit_test(long_reply),
		cmocka_unit_test(deadline),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(too_many),
		cmocka_unit_test(goodbye),
		cmocka_unit_test(stopped_in_the_middle),
		cmocka_unit_test(token),
		cmocka_unit_test(no_greeting),
		cmocka_unit_test(bad_servers),
		cmocka_unit_test(bad_clients),
		cmocka_unit_test(nobody_there),
		cmocka_unit_test(silence),
	};
	return RUN_TESTS(tests);
}
