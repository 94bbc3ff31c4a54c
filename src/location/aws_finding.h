/*
 * aws_finding.h - what the sources of AWS credentials share: aws_sts.c (roles), aws_sso.c,
 * aws_process.c, aws_machine.c. Each puts the keys that it finds into `a` and succeeds; it also
 * succeeds where it has none.
 */
#ifndef SS_LOCATION_AWS_FINDING_H
#define SS_LOCATION_AWS_FINDING_H

#include "location/aws_config.h"
#include "location/aws_credentials.h"
#include "rpc/fetch.h"

#define SS_AWS_TOKEN_BYTES ((size_t)65536)
#define SS_AWS_CODE_BYTES 64

struct ss_aws_finding {
	struct ss_aws *a;
	struct ss_arena *arena;
	unsigned *requests;
	struct ss_err *err;
	struct ss_aws_config config;
	const char *profile;		/* AWS_PROFILE */
};

struct ss_aws_given {
	struct ss_str key, secret, session;
	int64_t expires_ns;
};

/* The first of the two that is not empty. */
static inline struct ss_str ss_aws_first(struct ss_str a, struct ss_str b)
{
	return a.n ? a : b;
}

/* A variable of the environment; "": it is not set, or empty. */
struct ss_str ss_aws_variable(const char *name);
/*
 * Use the keys that a source gave. Fails where they are incomplete or have expired. `from` names
 * the source for messages: "of the role ...".
 */
bool ss_aws_take(struct ss_aws_finding *f, const struct ss_aws_given *g, struct ss_str from);
/* The address that the user set for a service, as below; "": none is set. */
struct ss_str ss_aws_set_endpoint(const struct ss_aws_finding *f, const char *upper, const char *lower);
/*
 * The address of a service other than S3: AWS_ENDPOINT_URL_<upper>, else AWS_ENDPOINT_URL, else the
 * profile's setting, else `usual`. p is NULL after a failure.
 */
struct ss_str ss_aws_endpoint(struct ss_aws_finding *f, const char *upper, const char *lower, struct ss_str usual);
/* The error code in an XML answer of AWS ("AccessDenied"), or "". */
void ss_aws_code_of(struct ss_str body, char code[SS_AWS_CODE_BYTES]);

struct ss_aws_role {
	struct ss_str arn;
	struct ss_str session;		/* its name; "": stepscope */
	struct ss_str external_id;	/* "": none */
	struct ss_str duration_s;	/* "": as the role has it */
};
/* Exchange the credentials in f->a for those of the role (AssumeRole). */
bool ss_aws_assume_role(struct ss_aws_finding *f, const struct ss_aws_role *role);
/* Exchange the token in a file for credentials of the role (AssumeRoleWithWebIdentity). */
bool ss_aws_web_identity(struct ss_aws_finding *f, const struct ss_aws_role *role, struct ss_str token_file);
/* For a profile with a single sign-on: exchange the token that 'aws sso login' stored. */
bool ss_aws_sso(struct ss_aws_finding *f, const char *profile);
/* For a profile with a session of 'aws login': run the AWS command line, which alone renews it. */
bool ss_aws_login(struct ss_aws_finding *f, const char *profile);
/* Run the program of the profile and read the credentials that it prints. */
bool ss_aws_process(struct ss_aws_finding *f, const char *profile, struct ss_str command);
/* The role of a container, and of a machine. */
bool ss_aws_of_container(struct ss_aws_finding *f);
bool ss_aws_of_machine(struct ss_aws_finding *f);

#endif
