/* net.c - sockets. */
#include "rpc/net.h"

#include "base/system.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#define TCP_KEEPIDLE TCP_KEEPALIVE
#endif
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0	/* ss_socket has said so already */
#endif

int64_t ss_net_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

int ss_net_listen(const char *bind_to, uint16_t port, bool *loopback, struct ss_err *err)
{
	char service[8];
	snprintf(service, sizeof(service), "%u", port);
	struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM }, *list = NULL;
	int rc = getaddrinfo(bind_to, service, &hints, &list);
	if (rc != 0) {
		ss_fail(err, SS_EINVAL, "cannot listen on '%s': %s", bind_to, gai_strerror(rc));
		return -1;
	}
	int one = 1, error = 0, fd = -1;
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = ss_socket(a->ai_family, a->ai_socktype, a->ai_protocol);
		if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
				bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, 128) != 0)) {
			error = errno;
			close(fd);
			fd = -1;
		} else if (fd < 0) {
			error = errno;
		} else {
			*loopback = is_loopback(a->ai_addr);
		}
	}
	freeaddrinfo(list);
	if (fd < 0 && error == EADDRINUSE)
		ss_fail(err, SS_EIO, "port %u of %s is in use already; port 0 chooses a free port", port, bind_to);
	if (fd < 0)
		ss_fail(err, SS_EIO, "cannot listen on %s port %u: %s", bind_to, port, strerror(error));
	return fd;
}

bool ss_net_is_local(const char *bind_to)
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM }, *list = NULL;
	bool local = getaddrinfo(bind_to, NULL, &hints, &list) == 0 && list;
	for (struct addrinfo *a = list; a; a = a->ai_next)
		local = local && is_loopback(a->ai_addr);
	if (list)
		freeaddrinfo(list);
	return local;
}

bool ss_net_knows(struct ss_str given, const char *secret)
{
	size_t n = strlen(secret);
	unsigned differ = given.n != n;
	for (size_t i = 0; i < given.n; i++)
		differ |= (unsigned char)given.p[i] ^ (unsigned char)(n ? secret[i % n] : 0);
	return !differ;
}

struct ss_net_from ss_net_from(int fd)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage room;
	} a;
	socklen_t n = sizeof(a);
	struct ss_net_from f = { .known = false };
	if (getpeername(fd, &a.any, &n) != 0 || (a.any.sa_family != AF_INET && a.any.sa_family != AF_INET6))
		return f;
	f.known = true;
	if (a.any.sa_family == AF_INET6) {
		memcpy(f.address, &a.v6.sin6_addr, 16);
	} else {
		memcpy(f.address, mapped, 12);
		memcpy(f.address + 12, &a.v4.sin_addr, 4);
	}
	bool v4 = memcmp(f.address, mapped, 12) == 0;
	f.local = v4 ? f.address[12] == 127 : is_loopback(&a.any);
	if (!v4 && !f.local)
		memset(f.address + 8, 0, 8);
	return f;
}

uint16_t ss_net_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage room;
	} a;
	socklen_t n = sizeof(a);
	if (getsockname(fd, &a.any, &n) != 0)
		return 0;
	return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

void ss_net_tune(int fd)
{
	const int on = 1, idle_s = 30, every_s = 10, times = 4;
	/* Each is a wish: on a socket that is not TCP they fail, and nothing is lost. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
}

bool ss_net_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool ss_net_wait_readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	return poll(&p, 1, ms) > 0;
}

bool ss_net_parse(struct ss_net_name *out, const char *target, struct ss_err *err)
{
	const struct ss_str scheme = SS_STR("grpc://");
	struct ss_str s = ss_str_from(target), host;
	uint64_t port = 0;
	if (ss_str_starts(s, scheme))
		s = ss_str_sub(s, scheme.n, s.n);
	size_t colon = ss_str_rchr(s, ':');
	host = ss_str_sub(s, 0, colon == SS_NPOS ? 0 : colon);
	bool v6 = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
	if (v6)
		host = ss_str_sub(host, 1, host.n - 1);
	bool good = host.n && host.n < sizeof(out->host) && ss_str_chr(host, '/') == SS_NPOS &&
		    ss_str_chr(host, '[') == SS_NPOS && ss_str_chr(host, '\0') == SS_NPOS &&
		    v6 == (ss_str_chr(host, ':') != SS_NPOS);
	for (size_t i = 0; good && i < host.n; i++)
		good = host.p[i] > ' ' && host.p[i] < 0x7f;
	if (!good || !ss_str_to_u64(ss_str_sub(s, colon + 1, s.n), &port) || port < 1 || port > 65535)
		return ss_fail(err, SS_EINVAL, "could not interpret '%.*s' as a host and a port: write host:port, for example "
		    "localhost:6009 or [::1]:6009", (int)(s.n > 200 ? 200 : s.n), s.n ? s.p : "");
	memcpy(out->host, host.p, host.n);
	out->host[host.n] = '\0';
	out->port = (uint16_t)port;
	return true;
}

struct addrinfo *ss_net_resolve(const struct ss_net_name *name, struct ss_err *err)
{
	char service[8];
	snprintf(service, sizeof(service), "%u", name->port);
	struct addrinfo hints = { .ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM }, *list = NULL;
	int rc = getaddrinfo(name->host, service, &hints, &list);
	if (rc == 0 && list)
		return list;
	ss_fail(err, SS_EIO, "cannot find '%s': %s", name->host, rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
	return NULL;
}

bool ss_link_open(struct ss_link *l, int fd, const struct ss_tls *tls, const char *host, struct ss_err *err)
{
	*l = (struct ss_link){ .fd = fd, .tls = tls, .shaken = !tls };
	if (tls && !(l->tls_conn = tls->open(tls, fd, host)))
		return ss_fail_mem(err);
	return true;
}

long ss_link_handshake(struct ss_link *l, struct ss_err *err)
{
	if (l->shaken)
		return 1;
	l->read_wants = 0;
	long rc = l->tls->handshake(l->tls_conn, &l->read_wants, err);
	l->shaken = rc > 0;
	return rc;
}

/* The meaning of a failed system call. */
static long again_or_broken(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? SS_LINK_AGAIN : SS_LINK_BROKEN;
}

long ss_link_read(struct ss_link *l, void *buf, size_t n)
{
	l->read_wants = POLLIN;
	if (l->tls_conn)
		return l->tls->read(l->tls_conn, buf, n, &l->read_wants);
	ssize_t got = recv(l->fd, buf, n, 0);
	return got >= 0 ? (long)got : again_or_broken();
}

long ss_link_write(struct ss_link *l, const void *buf, size_t n)
{
	l->write_wants = POLLOUT;
	if (l->tls_conn)
		return l->tls->write(l->tls_conn, buf, n, &l->write_wants);
	ssize_t put = send(l->fd, buf, n, MSG_NOSIGNAL);
	return put >= 0 ? (long)put : again_or_broken();
}

void ss_link_close(struct ss_link *l)
{
	if (l->tls_conn)
		l->tls->close(l->tls_conn);
	if (l->fd >= 0)
		close(l->fd);
	*l = (struct ss_link){ .fd = -1 };
}
