/*
 * http.h - an HTTP server on one address: a thread a connection, one handler for all requests.
 *
 * It knows neither routes nor profiles. A handler fills in a reply: bytes, or a reader that may block
 * until it has more. Limits on connections, header size and idle time are set here; so is what
 * every reply carries (nosniff, a content security policy, no-cache).
 */
#ifndef SS_RPC_HTTP_H
#define SS_RPC_HTTP_H

#include "base/arena.h"
#include "base/err.h"

enum ss_http_method { SS_HTTP_GET, SS_HTTP_HEAD, SS_HTTP_POST, SS_HTTP_OTHER };

struct ss_http_arg {
	struct ss_str name, value;	/* decoded; value "" when there is no "=" */
};

/* Lives as long as the call of the handler. */
struct ss_http_req {
	enum ss_http_method method;
	struct ss_str path;		/* decoded */
	const struct ss_http_arg *args;	/* of the query, in its order */
	size_t nargs;
	struct ss_str host, origin, if_none_match; /* headers, "" when absent */
	struct ss_str fetch_site;	/* Sec-Fetch-Site: what a browser says of the page that asks */
	bool accepts_gzip;
	struct ss_str body;		/* of a POST: its first SS_HTTP_BODY_BYTES */
	bool body_cut;			/* there was more */
	int client;			/* socket of who asks, for ss_http_client_left; -1: there is none */
	struct ss_arena *arena;
};

/* Has who asks closed the connection? An answer is for nobody then. */
bool ss_http_client_left(int client);

#define SS_HTTP_BODY_BYTES ((size_t)64 << 10)	/* questions are short; more is not held */

/* The first argument of this name; false leaves *out alone. */
bool ss_http_arg(const struct ss_http_req *req, const char *name, struct ss_str *out);

/*
 * Up to `n` bytes of the body into `buf`: how many, 0 at the end, -1 to break off (the client sees
 * that the answer is not whole). May block. Called from one thread at a time.
 */
typedef long ss_http_read_fn(void *arg, char *buf, size_t n);
typedef void ss_http_done_fn(void *arg);

struct ss_http_reply {
	unsigned status;
	const char *type;		/* content type, a static text */
	bool gzip;			/* the body is gzip'ed */
	bool vary;			/* it would not be for another client */
	struct ss_str etag;		/* with its quotes; "" for none */
	struct ss_str disposition;	/* Content-Disposition, "" for none */
	struct ss_str link;		/* Link: what the page will ask for, "" for nothing */
	const char *allow;		/* for status 405, or NULL */
	const char *csp;		/* instead of the server's, or NULL */
	bool ends;			/* the connection, too */
	const char *location;		/* for a status that leads elsewhere, or NULL */
	struct ss_str body;		/* whole */
	void *owned;			/* freed after the reply, when not NULL: the body, if it is on the heap */
	ss_http_read_fn *read;		/* instead of the body */
	ss_http_done_fn *done;		/* called once with read_arg after the reply, however it ends; not with `owned` */
	void *read_arg;
};

/* Must set status, type and a body. Runs on the connection's thread, so it may run for long. */
typedef void ss_http_handler(void *arg, const struct ss_http_req *req, struct ss_http_reply *reply);

struct ss_http_config {
	const char *bind;		/* an address: "127.0.0.1", "::1", "0.0.0.0" */
	uint16_t port;			/* 0: any that is free */
	unsigned max_connections;	/* 0: 256 */
	unsigned request_s;		/* from a request's first byte to its last; 0: 30 */
	unsigned idle_s;		/* a connection without traffic is closed after so long; 0: 60 */
	const char *csp;		/* Content-Security-Policy */
	/*
	 * The secret that each request must have, or NULL: as "Authorization: Bearer ...", or once as
	 * ?token=..., for which a browser gets a cookie. Handlers see neither.
	 */
	const char *token;
	const char *tls_cert, *tls_key;	/* texts in PEM, until the server has stopped; NULL: without TLS */
	ss_http_handler *handler;
	void *arg;
};

struct ss_http;

/*
 * Listens when it returns. NULL: SS_EIO says why the address could not be had. *loopback, set
 * before the first request: can only this machine reach it?
 */
struct ss_http *ss_http_start(const struct ss_http_config *config, bool *loopback, struct ss_err *err);
uint16_t ss_http_port(const struct ss_http *h);
/*
 * Take no more connections, wait up to `wait_ms` for requests in work. True: none is left, and
 * ss_http_stop returns at once.
 */
bool ss_http_quiesce(struct ss_http *h, unsigned wait_ms);
void ss_http_stop(struct ss_http *h);

#endif
