/*
 * google_credentials.h - the credentials for Google Cloud, found as its tools find them. The first of these sources that has any is
 * used: an access token in the environment, application default credentials (of a user, a service account or an external account),
 * the machine's service account.
 */
#ifndef SS_LOCATION_GOOGLE_CREDENTIALS_H
#define SS_LOCATION_GOOGLE_CREDENTIALS_H

#include "base/arena.h"
#include "base/err.h"

struct ss_google {
	struct ss_str token;	/* "": there is none, and requests carry none */
	struct ss_str from;	/* "of the environment", for messages */
	int64_t expires_ns;	/* since the Unix epoch; 0: never, or not known */
};

/*
 * Texts are in `arena`. It succeeds without a token if no source has credentials, and fails if a source has some that cannot be
 * used. Adds the requests that it makes to `requests`.
 */
bool ss_google_find(struct ss_google *g, struct ss_arena *arena, unsigned *requests, struct ss_err *err);

#endif
