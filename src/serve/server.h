/*
 * server.h - profiles over HTTP: the page, its interface (docs/api.md) and the routes of XProf
 * 2.24.2.
 */
#ifndef SS_SERVE_SERVER_H
#define SS_SERVE_SERVER_H

#include "base/buf.h"
#include "location/location.h"
#include "rpc/http.h"

#include <stdint.h>

struct ss_server;

struct ss_server_config {
	const char *logdir;
	const struct ss_location *place;	/* where it leads, open as long as the server runs; NULL: a path of this machine */
	const char *bind;		/* NULL: 127.0.0.1 */
	uint16_t port;			/* 0: any that is free */
	uint64_t memory_bytes;		/* for opened profiles; 0: half of the machine's */
	unsigned idle_s;		/* profiles without requests are closed after this time; 0: 300 */
	bool offline;			/* no port is opened: only ss_server_ask asks */
	bool visits;			/* tools that need no open host read each and close it: less memory, more work */
	size_t most_rows;		/* of a table in JSON, a note says how many there are; 0: all */
	const char *token;		/* required of each HTTP request (http.h); NULL: none */
	bool open;			/* other machines may ask without a token; without this that is SS_EINVAL */
	const char *allow_host;		/* a further host name of this server; NULL: none */
	const char *src_prefix;		/* for XProf's page, /config; NULL: none */
	const char *history;		/* a file of `stepscope track` to show; NULL: none */
	/*
	 * Take profiles of running programs for clients, and write them to the log directory. Only
	 * where nobody but this machine can ask: SS_EINVAL for another address, and for what is no
	 * log directory.
	 */
	bool capture_by_get;		/* with allow_capture: GET is enough, whoever asks */
	bool allow_capture;
	bool grpc;			/* ProfileAnalysis as well, at `bind`: analysis.h */
	uint16_t grpc_port;		/* 0: any that is free */
	const char *tls_cert, *tls_key;	/* files in PEM: TLS on both ports; NULL: none */
	const char *grpc_token;		/* required of each call; must be set if other machines can ask */
};

/* Listens when it returns; NULL on failure. The log directory was scanned once by then. */
struct ss_server *ss_server_start(const struct ss_server_config *config, struct ss_err *err);
uint16_t ss_server_port(const struct ss_server *s);
/* 0: there is none. */
uint16_t ss_server_grpc_port(const struct ss_server *s);
/*
 * Runs found at the start, and, when there are none, why: for the user, lives as long as the
 * server.
 */
uint64_t ss_server_nruns(const struct ss_server *s);
const char *ss_server_why_empty(const struct ss_server *s);
/*
 * The answer to a GET of this path, without a network. False: `err` has the sentence that was
 * answered.
 */
bool ss_server_ask(struct ss_server *s, const char *path, const struct ss_http_arg *args, size_t nargs, struct ss_buf *body,
		   struct ss_err *err);
/* Closes idle profiles. To be called about every 30 s. */
void ss_server_sweep(struct ss_server *s);
/*
 * Stop at once. False: requests are still in progress; nothing was freed, and the process should
 * exit.
 */
bool ss_server_stop(struct ss_server *s);

#endif
