/*
 * net.h - sockets: listening, resolving, connecting without waiting, and bytes over them with or
 * without TLS.
 *
 * Everything here is non-blocking but ss_net_resolve. TLS stands behind a table of functions, so
 * that a program that wants none links none (tls.h has the table).
 */
#ifndef SS_RPC_NET_H
#define SS_RPC_NET_H

#include "base/err.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct addrinfo;

#define SS_NS_PER_MS INT64_C(1000000)
#define SS_NEVER_NS INT64_MAX

/* Monotonic. */
int64_t ss_net_now_ns(void);

/*
 * A listening socket that is closed on exec; port 0 takes any that is free. *loopback: can only
 * this machine reach it? -1 with SS_EINVAL or SS_EIO on failure.
 */
int ss_net_listen(const char *bind, uint16_t port, bool *loopback, struct ss_err *err);
/* Is every address of this name one that only this machine can reach? */
bool ss_net_is_local(const char *bind);
/* Is it this secret? The time of the comparison does not depend on how many bytes are right. */
bool ss_net_knows(struct ss_str given, const char *secret);
/* The port a socket is bound to, 0 when it is not. */
uint16_t ss_net_port(int fd);
/*
 * The key by which the connections of one peer are counted: its address, IPv4 as IPv6; of IPv6 the
 * 64 bits of the network, because a peer may choose the other 64.
 */
struct ss_net_from {
	uint8_t address[16];
	bool known;		/* false: a local socket, or no longer connected */
	bool local;		/* the loopback of this machine */
};
struct ss_net_from ss_net_from(int fd);
static inline bool ss_net_same(const struct ss_net_from *a, const struct ss_net_from *b)
{
	return a->known && b->known && memcmp(a->address, b->address, sizeof(a->address)) == 0;
}
/* Send small frames at once, and detect within two minutes that a peer has vanished. */
void ss_net_tune(int fd);
bool ss_net_nonblocking(int fd);

/* Can it be read, now or within this time? Never with fd -1. */
bool ss_net_wait_readable(int fd, int ms);
static inline bool ss_net_readable(int fd)
{
	return ss_net_wait_readable(fd, 0);
}

/*
 * "host:port", "[v6]:port" or either with "grpc://" before it. SS_EINVAL for anything else. `host`
 * is without brackets.
 */
struct ss_net_name {
	char host[256];
	uint16_t port;
};
bool ss_net_parse(struct ss_net_name *out, const char *target, struct ss_err *err);
/* The addresses of a name, to be freed with freeaddrinfo. NULL: SS_EIO says why. May block for seconds. */
struct addrinfo *ss_net_resolve(const struct ss_net_name *name, struct ss_err *err);

/* A kind of TLS: one side's certificates and what it demands, made by tls.h. */
struct ss_tls {
	/* A connection's state; NULL when memory is out. `host` is who the other side must be, NULL on a server. */
	void *(*open)(const struct ss_tls *tls, int fd, const char *host);
	/* Like ss_link_read and ss_link_write; *want is set to POLLIN or POLLOUT for SS_LINK_AGAIN. */
	long (*handshake)(void *conn, short *want, struct ss_err *err);
	long (*read)(void *conn, void *buf, size_t n, short *want);
	long (*write)(void *conn, const void *buf, size_t n, short *want);
	void (*close)(void *conn);
};

/* A connected socket. */
struct ss_link {
	int fd;				/* -1: none */
	const struct ss_tls *tls;	/* NULL: none */
	void *tls_conn;
	bool shaken;			/* the TLS handshake is over */
	short read_wants, write_wants;	/* poll events the last read and write ended for, 0: none */
};

enum { SS_LINK_AGAIN = -1, SS_LINK_BROKEN = -2 };

/* Takes over `fd`, which is closed by ss_link_close, also after a failure. */
bool ss_link_open(struct ss_link *l, int fd, const struct ss_tls *tls, const char *host, struct ss_err *err);
/* Go on with the handshake: 1 when it is over, SS_LINK_AGAIN, SS_LINK_BROKEN with the reason. */
long ss_link_handshake(struct ss_link *l, struct ss_err *err);
/* Bytes moved, 0 at the end (reading only), SS_LINK_AGAIN, SS_LINK_BROKEN. */
long ss_link_read(struct ss_link *l, void *buf, size_t n);
long ss_link_write(struct ss_link *l, const void *buf, size_t n);
void ss_link_close(struct ss_link *l);

#endif
