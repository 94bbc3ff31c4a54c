/*
 * download.h - a file over HTTPS, by libcurl: its begin first, and the rest in ranges, several at
 * once. It is whole and of one version, or it is refused.
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
	const struct ss_auth *auth;		/* for places that ask; NULL: nothing is sent */
	uint64_t most;		/* only so many bytes of its begin, up to 8 MiB; 0: all of it */
	bool same;		/* what was known is still right, and nothing was fetched */
	bool no_store;		/* the server forbids keeping it */
	uint64_t bytes;		/* of the file */
	unsigned requests;
};

/*
 * "https://HOST/..." without what may be secret in it: a name and password, a query. Written to
 * `shown`, cut if need be.
 */
void ss_address_shown(struct ss_str url, char *shown, size_t bytes);
/* May a file be fetched from there: https, or http from this machine, and no password in it? */
bool ss_address_allowed(struct ss_str url, struct ss_err *err);

/* A connection that is kept from one file to the next, for one thread. */
struct ss_connection;
/* NULL without libcurl, or without memory. */
struct ss_connection *ss_connection_open(struct ss_err *err);
void ss_connection_close(struct ss_connection *c);

/*
 * The file into `fd`, an empty one. `d` tells of what is known already by its etag, or "" there,
 * and afterwards of what came. Redirections are followed to the same server, or to another over
 * https. SS_ENOTFOUND without libcurl or where there is no such file.
 */
bool ss_download(struct ss_connection *c, const char *url, int fd, struct ss_download *d, struct ss_err *err);

#endif
