/* test_grpc_limits.c - the gRPC server with peers that are slow, silent, or too many, and messages beyond 2 GiB. */
#include "rpc/grpc_client.h"
#include "rpc/grpc_server.h"

#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void echo(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	ss_buf_str(&answer->body, asked->request);
}

/* More than a length of 31 bits can say, where that does not take a minute. */
#ifdef __SANITIZE_ADDRESS__
#define FILE_BYTES ((uint64_t)200 << 20)
#else
#define FILE_BYTES ((uint64_t)2100 << 20)
#endif

static void huge(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	(void)asked;
	answer->fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	answer->fd_bytes = FILE_BYTES;
}

static const struct ss_grpc_method methods[] = { { "/t.S/Echo", echo, NULL }, { "/t.S/Huge", huge, NULL } };

static struct ss_grpc_server *serve(struct ss_grpc_server_config config)
{
	struct ss_err err = { 0 };
	config.methods = methods;
	config.nmethods = SS_COUNT(methods);
	struct ss_grpc_server *s = ss_grpc_server_start(&config, &err);
	if (!s)
		fail_msg("%s", err.text);
	return s;
}

/* ---- a peer that speaks frames ---- */

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define SETTINGS "\0\0\0\4\0\0\0\0\0"
/* A window of four bytes for each stream. */
#define SMALL_WINDOW "\0\0\6\4\0\0\0\0\0" "\0\4\0\0\0\4"
/* POST /t.S/Echo, without the frame's stream. */
#define CALL "\0\0\x23\1\4"
#define ECHO "\x83\x86\4\x9/t.S/Echo\1\1x\x0f\x10\x10" "application/grpc"
#define STREAM_1 "\0\0\0\1"
#define HELLO "\0\0\xa\0\1" STREAM_1 "\0\0\0\0\5hello"

enum { DATA = 0, HEADERS = 1, SETTINGS_FRAME = 4, GOAWAY = 7, WINDOW_UPDATE = 8 };

static int peer_of(struct ss_grpc_server *s)
{
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_true(ss_grpc_server_adopt(s, fds[0]));
	return fds[1];
}

static bool says(int fd, struct ss_str bytes)
{
	return send(fd, bytes.p, bytes.n, MSG_NOSIGNAL) == (ssize_t)bytes.n;
}

#define SAY(fd, literal) assert_true(says(fd, SS_STR(literal)))

struct frame {
	unsigned type;
	size_t n;
	char body[4096];
};

static bool read_all(int fd, void *p, size_t n)
{
	char *at = p;
	for (ssize_t got; n && (got = read(fd, at, n)) > 0; at += got)
		n -= (size_t)got;
	return !n;
}

/* The next frame that is no matter of course; false at the end. */
static bool hears(int fd, struct frame *f)
{
	unsigned char h[9];
	do {
		if (!read_all(fd, h, sizeof(h)))
			return false;
		f->type = h[3];
		f->n = (size_t)h[0] << 16 | (size_t)h[1] << 8 | h[2];
		assert_true(f->n <= sizeof(f->body));
		if (!read_all(fd, f->body, f->n))
			return false;
	} while (f->type == SETTINGS_FRAME || (f->type == WINDOW_UPDATE));
	return true;
}

static bool is_silent(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	return poll(&p, 1, ms) == 0;
}

/* ---- */

/* What a window has no room for is held back until there is. */
static void windows(void **state)
{
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ 0 });
	int fd = peer_of(s);
	struct frame f;
	(void)state;
	SAY(fd, PREFACE SMALL_WINDOW CALL STREAM_1 ECHO HELLO);
	assert_true(hears(fd, &f) && f.type == HEADERS);
	assert_true(hears(fd, &f) && f.type == DATA && f.n == 4);
	assert_true(is_silent(fd, 100));
	SAY(fd, "\0\0\4\x8\0" STREAM_1 "\0\0\0\1");
	assert_true(hears(fd, &f) && f.type == DATA && f.n == 1 && f.body[0] == 5);
	assert_true(is_silent(fd, 100));
	SAY(fd, "\0\0\4\x8\0" STREAM_1 "\0\0\1\0");
	assert_true(hears(fd, &f) && f.type == DATA && f.n == 5 && memcmp(f.body, "hello", 5) == 0);
	assert_true(hears(fd, &f) && f.type == HEADERS);
	close(fd);
	ss_grpc_server_stop(s, 0);
}

/* Half a request, or an answer that is not read: after a while nobody waits any more. */
static void silence(void **state)
{
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ .stall_s = 1 });
	int half = peer_of(s), deaf = peer_of(s);
	struct frame f;
	(void)state;
	int64_t begin_ns = ss_net_now_ns();
	SAY(half, PREFACE SETTINGS CALL STREAM_1 ECHO "\0\0\6\0\0" STREAM_1 "\0\0\0\0\5h");
	SAY(deaf, PREFACE SMALL_WINDOW CALL STREAM_1 ECHO HELLO);
	assert_true(hears(deaf, &f) && f.type == HEADERS);
	assert_true(hears(deaf, &f) && f.type == DATA);
	assert_false(hears(half, &f));
	assert_false(hears(deaf, &f));
	assert_true(ss_net_now_ns() - begin_ns < 5000000000);
	close(half);
	close(deaf);
	ss_grpc_server_stop(s, 0);
}

/* A connection without a call is sent away, with a goodbye. */
static void idle(void **state)
{
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ .idle_s = 1 });
	int fd = peer_of(s);
	struct frame f;
	(void)state;
	SAY(fd, PREFACE SETTINGS);
	assert_true(hears(fd, &f) && f.type == GOAWAY && f.body[7] == 0);
	assert_false(hears(fd, &f));
	close(fd);
	ss_grpc_server_stop(s, 0);
}

/* Who comes when all places are taken waits until one is free. */
static void full(void **state)
{
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ .max_connections = 2 });
	struct ss_grpc_channel *ch[3];
	struct ss_grpc_status st;
	struct ss_err err = { 0 };
	char target[64];
	(void)state;
	snprintf(target, sizeof(target), "127.0.0.1:%u", ss_grpc_server_port(s));
	struct ss_grpc_call_config call = { .method = "/t.S/Echo", .timeout_ns = 5000000000 };
	for (int i = 0; i < 3; i++) {
		ch[i] = ss_grpc_channel_open(&(struct ss_grpc_channel_config){ .target = target }, &err);
		assert_non_null(ch[i]);
		call.timeout_ns = i < 2 ? 5000000000 : 200000000;
		bool ok = ss_grpc_unary(ch[i], &call, NULL, &st);
		assert_int_equal(ok ? SS_GRPC_OK : st.code, i < 2 ? SS_GRPC_OK : SS_GRPC_DEADLINE_EXCEEDED);
	}
	ss_grpc_channel_close(ch[0]);
	call.timeout_ns = 5000000000;
	assert_true(ss_grpc_unary(ch[2], &call, NULL, &st));
	ss_grpc_channel_close(ch[1]);
	ss_grpc_channel_close(ch[2]);
	ss_grpc_server_stop(s, 0);
}

/* Many unfinished requests together have a bound. */
static void pending(void **state)
{
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ .max_pending_bytes = 20 });
	int one = peer_of(s), two = peer_of(s);
	struct frame f;
	(void)state;
	SAY(one, PREFACE SETTINGS CALL STREAM_1 ECHO "\0\0\x14\0\0" STREAM_1 "\0\0\0\0\x20" "123456789012345");
	poll(NULL, 0, 100);
	SAY(two, PREFACE SETTINGS CALL STREAM_1 ECHO "\0\0\x14\0\0" STREAM_1 "\0\0\0\0\x20" "123456789012345");
	assert_true(hears(two, &f) && f.type == HEADERS);
	/* grpc-status 8; with the first gone there is room again. */
	close(one);
	close(two);
	poll(NULL, 0, 100);
	int three = peer_of(s);
	SAY(three, PREFACE SETTINGS CALL STREAM_1 ECHO HELLO);
	assert_true(hears(three, &f) && f.type == HEADERS);
	assert_true(hears(three, &f) && f.type == DATA && f.n == 10);
	close(three);
	ss_grpc_server_stop(s, 0);
}

/* Calls that are begun and reset, as fast as can be. */
static void resets(void **state)
{
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ 0 });
	int fd = peer_of(s);
	struct frame f;
	bool goodbye = false;
	(void)state;
	SAY(fd, PREFACE SETTINGS);
	for (unsigned i = 0; i < 700; i++) {
		char b[64] = CALL "\0\0\0\0" ECHO;
		size_t n = sizeof(CALL "\0\0\0\0" ECHO) - 1;
		unsigned stream = 2 * i + 1;
		b[7] = (char)(stream >> 8);
		b[8] = (char)stream;
		const char reset[] = { 0, 0, 4, 3, 0, 0, 0, b[7], b[8], 0, 0, 0, 8 };
		if (!says(fd, (struct ss_str){ b, n }) || !says(fd, (struct ss_str){ reset, sizeof(reset) }))
			break;
	}
	while (hears(fd, &f))
		goodbye = goodbye || f.type == GOAWAY;
	assert_true(goodbye);
	close(fd);
	ss_grpc_server_stop(s, 0);
}

static bool count(void *arg, struct ss_str piece, uint64_t total, struct ss_err *err)
{
	uint64_t *n = arg;
	(void)err;
	*n += piece.n;
	return total == FILE_BYTES;
}

/* Both sides are this process, and neither holds the message. */
static void beyond_2_gib(void **state)
{
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ 0 });
	struct ss_grpc_status st;
	struct ss_err err = { 0 };
	struct rusage before, after;
	uint64_t n = 0;
	char target[64];
	(void)state;
	snprintf(target, sizeof(target), "127.0.0.1:%u", ss_grpc_server_port(s));
	struct ss_grpc_channel *ch = ss_grpc_channel_open(&(struct ss_grpc_channel_config){ .target = target }, &err);
	assert_non_null(ch);
	getrusage(RUSAGE_SELF, &before);
	struct ss_grpc_call_config call = { .method = "/t.S/Huge", .sink = count, .sink_arg = &n };
	assert_true(ss_grpc_unary(ch, &call, NULL, &st));
	assert_true(n == FILE_BYTES);
	getrusage(RUSAGE_SELF, &after);
#ifndef __SANITIZE_ADDRESS__
	assert_true(after.ru_maxrss - before.ru_maxrss < 30 << 10);
#endif
	ss_grpc_channel_close(ch);
	ss_grpc_server_stop(s, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows), cmocka_unit_test(silence), cmocka_unit_test(idle),	      cmocka_unit_test(full),
		cmocka_unit_test(pending), cmocka_unit_test(resets),  cmocka_unit_test(beyond_2_gib),
	};
	return RUN_TESTS(tests);
}
