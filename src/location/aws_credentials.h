/*
 * aws_credentials.h - the credentials for S3, found as the AWS tools find them. The first of these
 * sources that has any is used: the environment, the role of a profile, a token of a web identity,
 * a single sign-on, keys in ~/.aws/credentials, 'aws login', a program, keys in ~/.aws/config, the
 * role of the container, the role of the machine.
 */
#ifndef SS_LOCATION_AWS_CREDENTIALS_H
#define SS_LOCATION_AWS_CREDENTIALS_H

#include "base/arena.h"
#include "base/err.h"

struct ss_aws {
	struct ss_str key, secret, session;	/* all "": there are none, and requests are not signed */
	struct ss_str from;			/* "of the environment", for messages */
	int64_t expires_ns;			/* since the Unix epoch; 0: never, or not known */
	struct ss_str region, endpoint;		/* as set; "": not set */
	bool of_program;			/* a program gave them, and runs again to renew them */
};

/*
 * Texts are in `arena`. It succeeds with empty keys where no source has credentials, and fails
 * where a source has some that cannot be used. Adds the requests that it makes to `requests`.
 */
bool ss_aws_find(struct ss_aws *a, struct ss_arena *arena, unsigned *requests, struct ss_err *err);

#endif
