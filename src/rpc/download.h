/*
 * download.h - a file over HTTPS, by libcurl: its begin first, and the rest in ranges, several at
 * once. It is whole and of one version, or it is refused.
 */
#ifndef SS_RPC_DOWNLOAD_H
#define SS_RPC_DOWNLOAD_H

#include "base/err.h"
#include "base/str.h"

#define SS_VALIDATOR_BYTES 300

struct ss_download {
	char etag[SS_VALIDATOR_BYTES];		/* as the server gives it, with its quotes; "" where it gives none */
	char modified[SS_VALIDATOR_BYTES];	/* likewise Last-Modified */
	bool same;		/* what was known is still right, and nothing was fetched */
	bool no_store;		/* the server forbids keeping it */
	uint64_t bytes;
	unsigned requests;
};

/*
 * "https://HOST/..." without what may be secret in it: a name and password, a query. Written to
 * `shown`, cut if need be.
 */
void ss_address_shown(struct ss_str url, char *shown, size_t bytes);
/* May a file be fetched from there: https, or http from this machine, and no password in it? */
bool ss_address_allowed(struct ss_str url, struct ss_err *err);
/*
 * The file into `fd`, an empty one. `d` tells of what is known already by its etag, or "" there,
 * and afterwards of what came. Redirections are followed to the same server, or to another over
 * https. SS_ENOTFOUND without libcurl or where there is no such file.
 */
bool ss_download(const char *url, int fd, struct ss_download *d, struct ss_err *err);

#endif
