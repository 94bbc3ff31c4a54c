/*
 * grpc_peer.c - our gRPC for other implementations to talk to.
 *
 *	grpc_peer serve [CERT KEY [CA]]		prints its port, serves until its standard input ends
 *	grpc_peer call TARGET METHOD BYTES TIMEOUT_MS [CA [CERT KEY]]
 *		sends so many bytes; prints the status, its text, and the length and sum of the reply
 *
 * The methods: /t.S/Echo; /t.S/Fail, a status with words; /t.S/Sleep, ten seconds; /t.S/Big, as many
 * bytes as the request says in decimal; /t.S/Gone, how many sleepers were left by their callers.
 */
#include "rpc/grpc_client.h"
#include "rpc/grpc_server.h"
#include "rpc/tls.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void echo(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	ss_buf_str(&answer->body, asked->request);
}

static void failing(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	(void)asked;
	ss_grpc_fail(&answer->status, SS_GRPC_FAILED_PRECONDITION, "100%% not so:\nd\xc3\xbcnn");
}

static void sleeping(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	atomic_uint *gone = arg;
	(void)answer;
	if (!ss_grpc_asked_sleep(asked, 10000000000))
		atomic_fetch_add(gone, 1);
}

static void count_gone(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	atomic_uint *gone = arg;
	(void)asked;
	ss_buf_printf(&answer->body, "%u", atomic_load(gone));
}

/* From a file with holes, so that neither side's memory is measured by ours. */
static void big(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	char name[] = "/tmp/grpc_peer_XXXXXX";
	uint64_t n;
	(void)arg;
	if (!ss_str_to_u64(asked->request, &n)) {
		ss_grpc_fail(&answer->status, SS_GRPC_INVALID_ARGUMENT, "how many?");
		return;
	}
	answer->fd = mkstemp(name);
	answer->fd_bytes = n;
	unlink(name);
	if (answer->fd < 0 || ftruncate(answer->fd, (off_t)n) != 0)
		ss_grpc_fail(&answer->status, SS_GRPC_INTERNAL, "no file");
}

static int serve(int argc, char **argv)
{
	atomic_uint gone = 0;
	const struct ss_grpc_method methods[] = { { "/t.S/Echo", echo, NULL },		  { "/t.S/Fail", failing, NULL },
						  { "/t.S/Sleep", sleeping, &gone }, { "/t.S/Gone", count_gone, &gone },
						  { "/t.S/Big", big, NULL } };
	struct ss_err err = { 0 };
	struct ss_tls *tls = NULL;
	char drop[64];
	if (argc > 1)
		tls = ss_tls_new(&(struct ss_tls_config){ .server = true, .cert_file = argv[0], .key_file = argv[1],
							  .ca_file = argc > 2 ? argv[2] : NULL }, &err);
	struct ss_grpc_server *s = err.code ? NULL : ss_grpc_server_start(
		&(struct ss_grpc_server_config){ .methods = methods, .nmethods = SS_COUNT(methods), .tls = tls,
						 .max_request_bytes = 16 << 20 }, &err);
	if (!s) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("%u\n", ss_grpc_server_port(s));
	fflush(stdout);
	while (read(0, drop, sizeof(drop)) > 0)
		;
	ss_grpc_server_stop(s, 1000);
	ss_tls_free(tls);
	return 0;
}

struct sum {
	uint64_t bytes, sum;
};

static bool take(void *arg, struct ss_str piece, uint64_t total, struct ss_err *err)
{
	struct sum *s = arg;
	(void)total;
	(void)err;
	s->bytes += piece.n;
	for (size_t i = 0; i < piece.n; i++)
		s->sum += (unsigned char)piece.p[i];
	return true;
}

static int call(int argc, char **argv)
{
	struct ss_err err = { 0 };
	struct ss_tls *tls = NULL;
	struct ss_buf request = { 0 };
	struct ss_grpc_status st = { 0 };
	struct sum sum = { 0 };
	if (argc > 4)
		tls = ss_tls_new(&(struct ss_tls_config){ .ca_file = argv[4], .cert_file = argc > 6 ? argv[5] : NULL,
							  .key_file = argc > 6 ? argv[6] : NULL }, &err);
	for (long n = atol(argv[2]); n > 0; n--)
		ss_buf_char(&request, 'a');
	struct ss_grpc_channel *ch = err.code ? NULL : ss_grpc_channel_open(
		&(struct ss_grpc_channel_config){ .target = argv[0], .tls = tls }, &err);
	if (!ch) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	ss_grpc_unary(ch, &(struct ss_grpc_call_config){ .method = argv[1], .request = ss_buf_get(&request), .sink = take,
							 .sink_arg = &sum, .timeout_ns = atol(argv[3]) * SS_NS_PER_MS }, NULL, &st);
	printf("%s\n%s\n%llu %llu\n", ss_grpc_code_name(st.code), st.text, (unsigned long long)sum.bytes,
	       (unsigned long long)sum.sum);
	ss_grpc_channel_close(ch);
	ss_tls_free(tls);
	ss_buf_free(&request);
	return 0;
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && strcmp(argv[1], "serve") == 0)
		return serve(argc - 2, argv + 2);
	if (argc > 5 && strcmp(argv[1], "call") == 0)
		return call(argc - 2, argv + 2);
	fputs("usage: grpc_peer serve [CERT KEY [CA]] | call TARGET METHOD BYTES TIMEOUT_MS [CA [CERT KEY]]\n", stderr);
	return 2;
}
