/*
 * download.h - downloads a file over HTTPS with libcurl: its begin first, then the rest in several
 * ranges at once. A file that is incomplete, or changes meanwhile, is refused.
 */
#ifndef SS_RPC_DOWNLOAD_H
#define SS_RPC_DOWNLOAD_H

#include "base/err.h"
#include "base/str.h"
#include "rpc/auth.h"

#define SS_VALIDATOR_BYTES 300

struct ss_download {
	char etag[SS_VALIDATOR_BYTES];		/* as the server gives it, with its quotes; "" where it gives none */
	char modified[SS_VALIDATOR_BYTES];	/* likewise Last-Modified */
	const char *named;			/* what messages call it; NULL: its address without the query */
	const struct ss_auth *auth;		/* credentials to send; NULL: none */
	uint64_t most;		/* fetch only this many of its first bytes, at most 8 MiB; 0: all of it */
	bool same;		/* the file has not changed, and nothing was fetched */
	bool no_store;		/* the server forbids keeping it */
	uint64_t bytes;		/* of the file */
	unsigned requests;
};

/*
 * "https://HOST/..." without what may be secret in it: a name and password, a query. Written to
 * `shown`, cut if need be.
 */
void ss_address_shown(struct ss_str url, char *shown, size_t bytes);
/* Is it an address to fetch from: https, or http of this machine, without a password in it? */
bool ss_address_allowed(struct ss_str url, struct ss_err *err);

/* A connection that one thread uses for several files. */
struct ss_connection;
/* NULL without libcurl, or without memory. */
struct ss_connection *ss_connection_open(struct ss_err *err);
void ss_connection_close(struct ss_connection *c);

/*
 * Writes the file into `fd`, which is empty. `d` holds the etag of the copy that the caller has ("":
 * none), and afterwards describes the fetched file. Redirections are followed to the same server, or to another over
 * https. SS_ENOTFOUND without libcurl or where there is no such file.
 */
bool ss_download(struct ss_connection *c, const char *url, int fd, struct ss_download *d, struct ss_err *err);

#endif
