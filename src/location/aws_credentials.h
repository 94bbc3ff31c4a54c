/*
 * aws_credentials.h - who asks S3, found as the AWS tools find it: the environment, the role of a
 * profile, a token of a web identity, a single sign-on, keys in ~/.aws/credentials, a program, keys
 * in ~/.aws/config, the container's and the machine's role. The first that there is.
 */
#ifndef SS_LOCATION_AWS_CREDENTIALS_H
#define SS_LOCATION_AWS_CREDENTIALS_H

#include "base/arena.h"
#include "base/err.h"

struct ss_aws {
	struct ss_str key, secret, session;	/* "" each: nobody, so requests are not signed */
	struct ss_str from;			/* "of the environment", for messages */
	int64_t expires_ns;			/* since the Unix epoch; 0: not known to */
	struct ss_str region, endpoint;		/* that are set; "": none */
	bool of_program;			/* which is run again to renew them */
};

/*
 * Texts in `arena`. None is no failure; that there are some which cannot be used is. `requests`
 * grows by those that were made.
 */
bool ss_aws_find(struct ss_aws *a, struct ss_arena *arena, unsigned *requests, struct ss_err *err);

#endif
