/*
 * fuzz_http.c - any bytes as what a client sends over one connection to `stepscope serve`: request lines, headers, cookies,
 * queries, bodies, for all its routes. If the first byte is odd, the server asks for a token. Servers live as long as the fuzzer
 * does.
 */
#include "location/scratch.h"
#include "serve/server.h"

#include "base/write.h"
#include "fuzz/profile.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN "right"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ss_scratch logs;
static struct ss_server *servers[2];

static void put_profile(const char *run, const char *host)
{
	char path[PATH_MAX + 100];
	snprintf(path, sizeof(path), "%s/plugins/profile/%s/%s.xplane.pb", logs.path, run, host);
	bool made = ss_make_dirs_above(path, NULL);
	int fd = made ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd < 0 || !ss_write_all(fd, fuzz_tpu, (size_t)(fuzz_tpu_end - fuzz_tpu)))
		abort();
	close(fd);
}

static void end(void)
{
	ss_scratch_close(&logs);
}

static void start(void)
{
	struct ss_err err = { 0 };
	if (!ss_scratch_open(&logs, &err))
		abort();
	atexit(end);
	put_profile("a", "host0");
	put_profile("a", "host1");
	put_profile("b", "host0");
	for (size_t i = 0; i < 2; i++) {
		servers[i] = ss_server_start(&(struct ss_server_config){ .logdir = logs.path, .memory_bytes = 256 << 20,
									.token = i ? TOKEN : NULL }, &err);
		if (!servers[i])
			abort();
	}
}

/* A connection keeps its port for a minute: other fuzzers on this machine may have taken all of them. */
static int reach(const struct sockaddr_in *to)
{
	for (int tries = 0; tries < 600; tries++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0)
			return fd;
		if (fd < 0 || errno != EADDRNOTAVAIL)
			break;
		close(fd);
		usleep(100000);
	}
	perror("connect");
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char drop[65536];
	if (!servers[0])
		start();
	if (!size)
		return 0;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(ss_server_port(servers[data[0] & 1])),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = reach(&to);
	/* The server may close before it has read all. */
	for (size_t at = 1; at < size;) {
		ssize_t n = send(fd, data + at, size - at, MSG_NOSIGNAL);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	shutdown(fd, SHUT_WR);
	while (recv(fd, drop, sizeof(drop), 0) > 0)
		;
	close(fd);
	return 0;
}
