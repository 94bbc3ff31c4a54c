/*
 * fuzz_grpc.c - any bytes as the other side of our gRPC client (first byte even) and of our gRPC
 * server (odd), each over a pair of sockets. The server lives as long as the fuzzer does.
 *
 * Bytes of a server alone rarely reach the call: the client is given time to send its request
 * first, as a real one would be.
 */
#include "rpc/grpc_client.h"
#include "rpc/grpc_server.h"

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
		ss_grpc_channel_adopt(fds[0], &(struct ss_grpc_channel_config){ .target = "peer:1" }, &err);
	struct ss_grpc_call *call = ss_grpc_call_start(
		ch, &(struct ss_grpc_call_config){ .method = "/a/b", .request = SS_STR("abc"), .max_reply_bytes = 1 << 16 }, &err);
	ss_grpc_run(&ch, 1, -1, ss_net_now_ns() + 1, &err);
	ssize_t n = send(fds[1], data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)n;
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ss_grpc_method methods[] = { { "/a/b", answer_echo, NULL } };
	static struct ss_grpc_server *server;
	struct ss_err err = { 0 };
	if (!server)
		server = ss_grpc_server_start(&(struct ss_grpc_server_config){ .methods = methods, .nmethods = 1 }, &err);
	if (!server || !size)
		return 0;
	if (data[0] & 1)
		as_client(server, data + 1, size - 1);
	else
		as_server(data + 1, size - 1);
	return 0;
}
