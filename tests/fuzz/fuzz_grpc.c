/*
 * fuzz_grpc.c - any bytes as the other side of our gRPC client (first byte even) and of our gRPC
 * server (odd), each over a pair of sockets. The server lives as long as the fuzzer does.
 *
 * Bytes of a server alone rarely reach the call: the client is given time to send its request
 * first, as a real one would be. A first byte from 0xc0 on has client and server of ours talk to
 * each other, as the next bytes say.
 */
#include "rpc/grpc_client.h"
#include "rpc/grpc_server.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer_echo(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	ss_buf_str(&answer->body, asked->request);
}

static void as_server(const uint8_t *data, size_t size)
{
	int fds[2];
	struct ss_err err = { 0 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return;
	struct ss_grpc_channel *ch =
		ss_grpc_channel_adopt(fds[0], &(struct ss_grpc_channel_config){ .target = "peer:1", .connect_ms = 50 }, &err);
	struct ss_grpc_call *call = ss_grpc_call_start(
		ch, &(struct ss_grpc_call_config){ .method = "/a/b", .request = SS_STR("abc"), .max_reply_bytes = 1 << 16 }, &err);
	ss_grpc_run(&ch, 1, -1, ss_net_now_ns() + 1, &err);
	ssize_t n = send(fds[1], data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)n;
	/* Without a byte it stays open: a server that hangs. */
	if (size)
		shutdown(fds[1], SHUT_WR);
	ss_grpc_run(&ch, 1, -1, SS_NEVER_NS, &err);
	ss_grpc_call_free(call);
	ss_grpc_channel_close(ch);
	close(fds[1]);
}

static void as_client(struct ss_grpc_server *s, const uint8_t *data, size_t size)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
	int fds[2];
	char drop[4096];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return;
	/* Half of the inputs get past the greeting for nothing. */
	if (size && data[0] & 2)
		send(fds[1], preface, sizeof(preface) - 1, MSG_NOSIGNAL);
	ss_grpc_server_adopt(s, fds[0]);
	ssize_t n = send(fds[1], data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)n;
	shutdown(fds[1], SHUT_WR);
	while (recv(fds[1], drop, sizeof(drop), 0) > 0)
		;
	close(fds[1]);
}

static void answer_refusal(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	char text[200];
	(void)arg;
	snprintf(text, sizeof(text), "%.*s", (int)(asked->request.n < 100 ? asked->request.n : 100), asked->request.p);
	enum ss_errcode why = asked->request.n % (SS_EBUSY + 1);
	ss_grpc_fail(&answer->status, asked->request.n & 1 ? ss_grpc_code_of_err(why) : asked->request.n % 20, "%s", text);
}

static void answer_file(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	ss_buf_str(&answer->body, asked->request);
	answer->fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	answer->fd_bytes = 3000 * (uint64_t)asked->request.n;
}

static void answer_late(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	(void)answer;
	while (!ss_grpc_asked_gone(asked) && ss_grpc_asked_sleep(asked, 3000000))
		;
}

static bool take_piece(void *arg, struct ss_str piece, uint64_t total, struct ss_err *err)
{
	uint64_t *left = arg;
	if (piece.n > *left)
		return ss_fail(err, SS_EIO, "enough of %llu bytes", (unsigned long long)total);
	*left -= piece.n;
	return true;
}

static const char *target_host;

static void call_once(struct ss_grpc_channel *ch, struct ss_str request)
{
	struct ss_grpc_call_config call = { .method = "/a/b", .request = request, .timeout_ns = 1000000000 };
	struct ss_grpc_status status;
	struct ss_buf reply = { 0 };
	if (ss_grpc_unary(ch, &call, &reply, &status) && !ss_str_eq(ss_buf_get(&reply), request))
		abort();
	ss_buf_free(&reply);
}

/*
 * Three calls at once over one channel: of which method, how long, how much, and what goes wrong.
 */
static void as_both(struct ss_grpc_server *s, const uint8_t *data, size_t size)
{
	static const char *const names[] = { "/a/b", "/a/refusal", "/a/file", "/a/late", "/a/none", "a", "", "/a/b" };
	uint8_t plan[8] = { 0 };
	uint64_t left = 100000;
	char target[64];
	struct ss_err err = { 0 };
	memcpy(plan, data, size < sizeof(plan) ? size : sizeof(plan));
	struct ss_str rest = ss_str_sub((struct ss_str){ (const char *)data, size }, sizeof(plan), size);
	const char *host = target_host ? target_host : plan[0] & 1 ? "localhost" : "127.0.0.1";
	snprintf(target, sizeof(target), "%s:%u", host, plan[0] & 64 ? 1 : ss_grpc_server_port(s));
	struct ss_grpc_channel_config config = { .target = plan[0] & 2 ? "not a target" : target, .connect_ms = 1000 };
	config.token = plan[0] & 4 ? "wrong" : "right";
	config.keepalive_ms = plan[0] & 8 ? 1 : 0;
	struct ss_grpc_channel *ch = ss_grpc_channel_open(&config, &err);
	struct ss_grpc_call *calls[3] = { NULL };
	for (size_t i = 0; ch && i < SS_COUNT(calls); i++) {
		uint8_t how = plan[1 + i];
		struct ss_grpc_call_config call = { .method = names[how & 7], .request = ss_str_sub(rest, i * 100, rest.n) };
		bool late = (how & 7) == 3;
		call.timeout_ns = how & 8 || late ? (int64_t)(plan[4] & 7) * 1000000 + 1 : 0;
		call.sink = how & 16 ? take_piece : NULL;
		call.sink_arg = &left;
		call.max_reply_bytes = how & 32 ? plan[5] : 0;
		calls[i] = ss_grpc_call_start(ch, &call, &err);
		if (calls[i] && how & 64)
			ss_grpc_call_cancel(calls[i]);
	}
	if (ch)
		ss_grpc_run(&ch, 1, -1, ss_net_now_ns() + (plan[6] & 1 ? 1000000 : INT64_C(3000000000)), &err);
	if (ch && plan[6] & 2) {	/* calls are still to be freed */
		ss_grpc_channel_close(ch);
		ch = NULL;
	}
	for (size_t i = 0; i < SS_COUNT(calls); i++) {
		if (calls[i] && ch && (!ss_grpc_call_ended(calls[i]) || !ss_grpc_code_name(ss_grpc_call_status(calls[i])->code)[0]))
			ss_grpc_call_cancel(calls[i]);
		else if (calls[i] && ss_grpc_call_reply(calls[i]).n > ss_grpc_call_received(calls[i]))
			abort();
		if (calls[i])
			ss_grpc_call_free(calls[i]);
	}
	if (ch && (plan[6] & 4 || ss_grpc_channel_up(ch)))
		call_once(ch, rest);
	if (ch)
		ss_grpc_channel_close(ch);
}

/*
 * A server for one input: little room, a few connections that say nothing, and an end while calls
 * may be in work.
 */
static void as_both_and_end(const struct ss_grpc_server_config *config, const uint8_t *data, size_t size)
{
	struct ss_err err = { 0 };
	struct ss_grpc_server_config own = *config;
	uint8_t how = size ? data[0] : 0;
	int fds[8], n = 0;
	own.bind = how & 1 ? "::1" : "127.0.0.1";
	own.max_connections = 4;
	own.max_of_address = how & 2 ? 3 : 0;
	struct ss_grpc_server *s = ss_grpc_server_start(&own, &err);
	for (; s && n < (how >> 2 & 7); n++) {
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
			break;
		ss_grpc_server_adopt(s, pair[0]);
		fds[n] = pair[1];
	}
	if (s && size) {
		target_host = how & 1 ? "[::1]" : NULL;
		as_both(s, data + 1, size - 1);
		target_host = NULL;
	}
	ss_grpc_server_stop(s, how & 32 ? 1 : 0);
	while (n)
		close(fds[--n]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ss_grpc_method all[] = {
		{ "/a/b", answer_echo, NULL },
		{ "/a/refusal", answer_refusal, NULL },
		{ "/a/file", answer_file, NULL },
		{ "/a/late", answer_late, NULL },
	};
	static struct ss_grpc_server *careful;
	static const struct ss_grpc_method methods[] = { { "/a/b", answer_echo, NULL } };
	static struct ss_grpc_server *server;
	struct ss_err err = { 0 };
	if (!server)
		server = ss_grpc_server_start(&(struct ss_grpc_server_config){ .methods = methods, .nmethods = 1 }, &err);
	if (!server || !size)
		return 0;
	const struct ss_grpc_server_config config = { .methods = all, .nmethods = SS_COUNT(all), .token = "right",
						      .max_request_bytes = 3000, .max_calls = 2 };
	if (!careful)
		careful = ss_grpc_server_start(&config, &err);
	if (data[0] >= 0xe0)
		as_both_and_end(&config, data + 1, size - 1);
	else if (careful && data[0] >= 0xc0)
		as_both(careful, data + 1, size - 1);
	else if (data[0] & 1)
		as_client(server, data + 1, size - 1);
	else
		as_server(data + 1, size - 1);
	return 0;
}
