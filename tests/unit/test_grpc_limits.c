/*
 * test_grpc_limits.c - the gRPC server with peers that are slow, silent, or too many, and messages
 * beyond 2 GiB.
 */
#include "rpc/grpc_client.h"
#include "rpc/grpc_server.h"

#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
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

/* Works until somebody writes a byte into the gate. */
static int gate[2];

static void wait_at_gate(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	char c;
	(void)arg;
	(void)asked;
	(void)answer;
	while (read(gate[0], &c, 1) < 0)
		;
}

static const struct ss_grpc_method methods[] = { { "/t.S/Echo", echo, NULL },
						 { "/t.S/Huge", huge, NULL },
						 { "/t.S/Wait", wait_at_gate, NULL } };

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
#define WAIT "\x83\x86\4\x9/t.S/Wait\1\1x\x0f\x10\x10" "application/grpc"
#define STREAM_1 "\0\0\0\1"
#define HELLO "\0\0\xa\0\1" STREAM_1 "\0\0\0\0\5hello"

enum { DATA = 0, HEADERS = 1, RST_STREAM = 3, SETTINGS_FRAME = 4, GOAWAY = 7, WINDOW_UPDATE = 8 };

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

/* Who comes when every place has a call in work waits until one is done. */
static void full(void **state)
{
	assert_int_equal(pipe(gate), 0);
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ .max_connections = 2 });
	struct ss_grpc_status st;
	struct ss_err err = { 0 };
	struct frame f;
	int busy[2];
	char target[64];
	(void)state;
	for (int i = 0; i < 2; i++) {
		busy[i] = peer_of(s);
		SAY(busy[i], PREFACE SETTINGS CALL STREAM_1 WAIT HELLO);
	}
	poll(NULL, 0, 100);
	snprintf(target, sizeof(target), "127.0.0.1:%u", ss_grpc_server_port(s));
	struct ss_grpc_call_config call = { .method = "/t.S/Echo", .timeout_ns = 200000000 };
	struct ss_grpc_channel *ch = ss_grpc_channel_open(&(struct ss_grpc_channel_config){ .target = target }, &err);
	assert_non_null(ch);
	assert_false(ss_grpc_unary(ch, &call, NULL, &st));
	assert_int_equal(st.code, SS_GRPC_DEADLINE_EXCEEDED);
	assert_int_equal(write(gate[1], "go", 2), 2);
	assert_true(hears(busy[0], &f) && f.type == HEADERS);
	call.timeout_ns = 5000000000;
	assert_true(ss_grpc_unary(ch, &call, NULL, &st));
	ss_grpc_channel_close(ch);
	close(busy[0]);
	close(busy[1]);
	ss_grpc_server_stop(s, 0);
	close(gate[0]);
	close(gate[1]);
}

static bool is_served(int fd)
{
	struct frame f;
	SAY(fd, PREFACE SETTINGS CALL STREAM_1 ECHO HELLO);
	return hears(fd, &f) && f.type == HEADERS;
}

/*
 * Without a call in work, the connection that has waited longest gives way to the next one: idle,
 * or with half a request.
 */
static void gives_way(void **state)
{
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ .max_connections = 2 });
	struct frame f;
	(void)state;
	int idle_one = peer_of(s);
	SAY(idle_one, PREFACE SETTINGS);
	poll(NULL, 0, 50);
	int half = peer_of(s);
	SAY(half, PREFACE SETTINGS CALL STREAM_1 ECHO "\0\0\6\0\0" STREAM_1 "\0\0\0\0\5h");
	poll(NULL, 0, 50);
	int third = peer_of(s);
	assert_true(is_served(third));
	assert_false(hears(idle_one, &f));
	int fourth = peer_of(s);
	assert_true(is_served(fourth));
	assert_false(hears(half, &f));
	close(idle_one);
	close(half);
	close(third);
	close(fourth);
	ss_grpc_server_stop(s, 0);
}

static int peer_from(struct ss_grpc_server *s, const char *source)
{
	struct sockaddr_in from = { .sin_family = AF_INET }, to = from;
	to.sin_port = htons(ss_grpc_server_port(s));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(inet_pton(AF_INET, source, &from.sin_addr), 1);
	assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &to.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* An IPv4 peer is the same whether the server listens by IPv4 or IPv6; what is no peer is none. */
static void knows_peers(void **state)
{
	const char *const binds[] = { "127.0.0.1", "::" };
	struct ss_net_from from[2];
	struct ss_err err = { 0 };
	int pair[2];
	(void)state;
	for (int i = 0; i < 2; i++) {
		bool loopback;
		int listener = ss_net_listen(binds[i], 0, &loopback, &err);
		if (listener < 0)
			return;	/* this machine has no IPv6 */
		struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		to.sin_port = htons(ss_net_port(listener));
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), accepted = -1;
		assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
		assert_true(ss_net_wait_readable(listener, 5000));
		accepted = accept(listener, NULL, NULL);
		from[i] = ss_net_from(accepted);
		assert_true(from[i].known && from[i].local);
		close(accepted);
		close(fd);
		close(listener);
	}
	assert_true(ss_net_same(&from[0], &from[1]));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	from[0] = ss_net_from(pair[0]);
	assert_false(from[0].known || ss_net_same(&from[0], &from[0]));
	close(pair[0]);
	close(pair[1]);
}

/* One address does not take the places of the others. */
static void by_address(void **state)
{
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ .max_of_address = 2 });
	int fds[4];
	char c;
	(void)state;
	for (int i = 0; i < 4; i++) {
		fds[i] = peer_from(s, i == 3 ? "127.0.0.2" : "127.0.0.1");
		if (i != 2)
			assert_true(is_served(fds[i]));
		else
			assert_true(recv(fds[i], &c, 1, 0) <= 0);
	}
	/* A place that is free again is given again. */
	close(fds[0]);
	poll(NULL, 0, 100);
	close(fds[2]);
	fds[2] = peer_from(s, "127.0.0.1");
	assert_true(is_served(fds[2]));
	for (int i = 1; i < 4; i++)
		close(fds[i]);
	ss_grpc_server_stop(s, 0);
	/* Without a number for it, this machine has no such limit. */
	s = serve((struct ss_grpc_server_config){ 0 });
	int many[20];
	for (int i = 0; i < 20; i++)
		assert_true(is_served(many[i] = peer_from(s, "127.0.0.1")));
	for (int i = 0; i < 20; i++)
		close(many[i]);
	ss_grpc_server_stop(s, 0);
}

/* However steadily its bytes come: a request that does not end in time is refused. */
static void dripped(void **state)
{
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ .request_s = 1 });
	int fd = peer_of(s);
	struct frame f;
	(void)state;
	int64_t begin_ns = ss_net_now_ns();
	SAY(fd, PREFACE SETTINGS CALL STREAM_1 ECHO);
	poll(NULL, 0, 100);
	recv(fd, f.body, sizeof(f.body), MSG_DONTWAIT);	/* its greeting */
	while (is_silent(fd, 100) && ss_net_now_ns() - begin_ns < INT64_C(5000000000))
		says(fd, SS_STR("\0\0\1\0\0" STREAM_1 "\0"));
	assert_true(hears(fd, &f) && f.type == HEADERS);
	assert_true(ss_net_now_ns() - begin_ns < INT64_C(4000000000));
	close(fd);
	ss_grpc_server_stop(s, 0);
}

/* Who does not greet is sent away after ten seconds. */
static void no_greeting(void **state)
{
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ 0 });
	int fd = peer_of(s);
	char c;
	(void)state;
	int64_t begin_ns = ss_net_now_ns(), limit_ns = INT64_C(15000000000);
	SAY(fd, "PRI");
	while (recv(fd, &c, 1, MSG_DONTWAIT) != 0 && ss_net_now_ns() - begin_ns < limit_ns)
		poll(NULL, 0, 200);
	int64_t took_ns = ss_net_now_ns() - begin_ns;
	assert_true(took_ns > INT64_C(8000000000) && took_ns < limit_ns);
	close(fd);
	ss_grpc_server_stop(s, 0);
}

/* More streams at once than a connection may have: those beyond are refused. */
static void many_streams(void **state)
{
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ 0 });
	int fd = peer_of(s);
	unsigned refused = 0;
	struct frame f;
	(void)state;
	SAY(fd, PREFACE SETTINGS);
	for (unsigned i = 0; i < 140; i++) {
		char b[64] = CALL "\0\0\0\0" ECHO;
		unsigned stream = 2 * i + 1;
		b[7] = (char)(stream >> 8);
		b[8] = (char)stream;
		assert_true(says(fd, (struct ss_str){ b, sizeof(CALL "\0\0\0\0" ECHO) - 1 }));
	}
	while (!is_silent(fd, 300) && hears(fd, &f))
		refused += f.type == RST_STREAM;
	assert_int_equal(refused, 12);
	close(fd);
	ss_grpc_server_stop(s, 0);
}

/* Frames that want an answer, from a peer that does not read: not for ever. */
static void pings(void **state)
{
	struct ss_grpc_server *s = serve((struct ss_grpc_server_config){ .stall_s = 1, .idle_s = 600 });
	int fd = peer_of(s);
	char many[17 * 1000];
	(void)state;
	for (int i = 0; i < 1000; i++)
		memcpy(many + 17 * i, "\0\0\x8\6\0\0\0\0\0" "12345678", 17);
	SAY(fd, PREFACE SETTINGS);
	int64_t begin_ns = ss_net_now_ns();
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	bool open = true;
	while (open && ss_net_now_ns() - begin_ns < INT64_C(10000000000)) {
		ssize_t n = send(fd, many, sizeof(many), MSG_NOSIGNAL | MSG_DONTWAIT);
		open = n >= 0 || errno == EAGAIN;
		if (n < 0 && open)
			poll(&p, 1, 100);
	}
	assert_false(open);
	close(fd);
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
		cmocka_unit_test(windows),
		cmocka_unit_test(silence),
		cmocka_unit_test(idle),
		cmocka_unit_test(full),
		cmocka_unit_test(gives_way),
		cmocka_unit_test(knows_peers),
		cmocka_unit_test(by_address),
		cmocka_unit_test(dripped),
		cmocka_unit_test(no_greeting),
		cmocka_unit_test(many_streams),
		cmocka_unit_test(pings),
		cmocka_unit_test(pending),
		cmocka_unit_test(resets),
		cmocka_unit_test(beyond_2_gib),
	};
	return RUN_TESTS(tests);
}
