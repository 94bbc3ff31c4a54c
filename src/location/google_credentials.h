/*
 * google_credentials.h - who asks Google, found as its tools find it: an access token in the environment, application default
 * credentials (a user's, a service account's, an external account's), the machine's service account. The first that there is.
 */
#ifndef SS_LOCATION_GOOGLE_CREDENTIALS_H
#define SS_LOCATION_GOOGLE_CREDENTIALS_H

#include "base/arena.h"
#include "base/err.h"

struct ss_google {
	struct ss_str token;	/* "": nobody, so requests carry none */
	struct ss_str from;	/* "of the environment", for messages */
	int64_t expires_ns;	/* since the Unix epoch; 0: not known to */
};

/* Texts in `arena`. None is no failure; that there are some which cannot be used is. `requests` grows by those that were made. */
bool ss_google_find(struct ss_google *g, struct ss_arena *arena, unsigned *requests, struct ss_err *err);

#endif
