/* aws_credentials.c - see aws_credentials.h; in the order of botocore. */
#include "location/aws_finding.h"

#include "location/bucket.h"

#include <stdio.h>
#include <stdlib.h>

#define CHAIN 16 /* profiles that take their credentials from one another */

/* ---- the environment ---- */

static bool of_environment(struct ss_aws_finding *f)
{
	struct ss_str key = ss_aws_variable("AWS_ACCESS_KEY_ID"), secret = ss_aws_variable("AWS_SECRET_ACCESS_KEY");
	if (!key.n)
		return true;
	if (!secret.n)
		return ss_fail(f->err, SS_EINVAL,
			       "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not: set both");
	f->a->key = key;
	f->a->secret = secret;
	f->a->session = ss_aws_first(ss_aws_variable("AWS_SECURITY_TOKEN"), ss_aws_variable("AWS_SESSION_TOKEN"));
	f->a->from = SS_STR("of the environment");
	return true;
}

/* ---- profiles ---- */

static struct ss_str setting(const struct ss_aws_finding *f, const char *profile, const char *name)
{
	return ss_aws_of_profile(&f->config, profile, name);
}

/* Keys as they stand in one of the files; none is no failure. */
static bool take_static(struct ss_aws_finding *f, const char *profile,
			struct ss_str (*of)(const struct ss_aws_config *, const char *, const char *))
{
	struct ss_str token = of(&f->config, profile, "aws_security_token");
	struct ss_aws_given g = { of(&f->config, profile, "aws_access_key_id"),
				  of(&f->config, profile, "aws_secret_access_key"),
				  token.p ? token : of(&f->config, profile, "aws_session_token"), 0 };
	struct ss_str from = ss_arena_printf(f->arena, "of the profile '%.100s'", profile);
	if (!from.p)
		return ss_fail_mem(f->err);
	if (!g.key.p)
		return true;
	if (!g.key.n || !g.secret.n)
		return ss_fail(f->err, SS_EINVAL,
			       "the profile '%.100s' of the AWS tools has only one of aws_access_key_id and "
			       "aws_secret_access_key",
			       profile);
	g.session = g.session.p ? g.session : SS_STR("");
	return ss_aws_take(f, &g, from);
}

/* The environment goes before the profile, unless that is the source of another. */
static struct ss_str web_setting(const struct ss_aws_finding *f, const char *profile, const char *variable,
				 const char *name)
{
	const char *v = variable ? getenv(variable) : NULL;
	return v ? ss_str_from(v) : setting(f, profile, name);
}

static bool of_web_identity(struct ss_aws_finding *f, const char *profile, bool environment)
{
	struct ss_str file =
		web_setting(f, profile, environment ? "AWS_WEB_IDENTITY_TOKEN_FILE" : NULL, "web_identity_token_file");
	const struct ss_aws_role role = {
		.arn = ss_arena_str(f->arena, web_setting(f, profile, environment ? "AWS_ROLE_ARN" : NULL, "role_arn")),
		.session = web_setting(f, profile, environment ? "AWS_ROLE_SESSION_NAME" : NULL, "role_session_name"),
	};
	if (!file.n)
		return true;
	if (!role.arn.p)
		return ss_fail_mem(f->err);
	return role.arn.n ? ss_aws_web_identity(f, &role, file)
			  : ss_fail(f->err, SS_EINVAL,
				    "a web identity token is set, but no role: set AWS_ROLE_ARN, or "
				    "role_arn in the profile '%.100s'",
				    profile);
}

/* All that a profile can have but a role that is assumed by others. */
static bool of_profile(struct ss_aws_finding *f, const char *profile, bool environment)
{
	const struct ss_aws *a = f->a;
	if (!of_web_identity(f, profile, environment))
		return false;
	if (!a->key.n && (setting(f, profile, "sso_role_name").p || setting(f, profile, "sso_account_id").p) &&
	    !ss_aws_sso(f, profile))
		return false;
	if (!a->key.n && !take_static(f, profile, ss_aws_of_credentials))
		return false;
	if (!a->key.n && setting(f, profile, "login_session").p && !ss_aws_login(f, profile))
		return false;
	struct ss_str command = setting(f, profile, "credential_process");
	if (!a->key.n && command.p && !ss_aws_process(f, profile, command))
		return false;
	return a->key.n || take_static(f, profile, ss_aws_of_config);
}

/* ---- roles ---- */

static bool has_role(const struct ss_aws_finding *f, const char *profile)
{
	return setting(f, profile, "role_arn").p && !setting(f, profile, "web_identity_token_file").p;
}

static bool has_keys(const struct ss_aws_finding *f, const char *profile)
{
	return setting(f, profile, "aws_access_key_id").p || setting(f, profile, "aws_secret_access_key").p;
}

static bool of_named_source(struct ss_aws_finding *f, const char *profile, struct ss_str source)
{
	static const struct {
		const char *name;
		bool (*find)(struct ss_aws_finding *f);
	} known[] = { { "Environment", of_environment },
		      { "EcsContainer", ss_aws_of_container },
		      { "Ec2InstanceMetadata", ss_aws_of_machine } };
	for (size_t i = 0; i < SS_COUNT(known); i++)
		if (ss_str_is(source, known[i].name))
			return known[i].find(f) &&
			       (f->a->key.n || ss_fail(f->err, SS_EINVAL,
						       "the profile '%.100s' takes its credentials from "
						       "credential_source = %s, which has none",
						       profile, known[i].name));
	return ss_fail(f->err, SS_EINVAL,
		       "credential_source of the profile '%.100s' must be Environment, EcsContainer or "
		       "Ec2InstanceMetadata",
		       profile);
}

/* The profile that a chain of roles goes on with. */
static const char *next_source(struct ss_aws_finding *f, const char *const *chain, size_t n)
{
	const char *profile = chain[n - 1];
	struct ss_str source = ss_arena_str(f->arena, setting(f, profile, "source_profile"));
	bool seen = n == CHAIN;
	if (!source.p) {
		ss_fail_mem(f->err);
		return NULL;
	}
	if (!ss_aws_has_profile(&f->config, source.p)) {
		ss_fail(f->err, SS_EINVAL,
			"the profile '%.100s' names source_profile = %.100s, which is in no file of the AWS tools",
			profile, source.p);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		seen |= strcmp(chain[i], source.p) == 0;
	if (!seen || (strcmp(source.p, profile) == 0 && has_keys(f, profile)))
		return source.p;
	ss_fail(f->err, SS_EINVAL, "the profile '%.100s' takes its credentials from itself, by source_profile = %.100s",
		chain[0], source.p);
	return NULL;
}

static bool check_role(struct ss_aws_finding *f, const char *profile)
{
	bool source = setting(f, profile, "source_profile").p, named = setting(f, profile, "credential_source").p;
	if (source == named)
		return ss_fail(f->err, SS_EINVAL,
			       "the profile '%.100s' has role_arn and %s source_profile %s credential_source: one of "
			       "them is needed",
			       profile, source ? "both" : "neither", source ? "and" : "nor");
	return !setting(f, profile, "mfa_serial").n ||
	       ss_fail(f->err, SS_EINVAL,
		       "the role of the profile '%.100s' asks for a second factor (mfa_serial), and only the AWS command "
		       "line asks for its code: run 'eval \"$(aws configure export-credentials --profile %.100s --format "
		       "env)\"', and try again",
		       profile, f->profile);
}

/* The roles of a chain are assumed from its end on. */
static bool assume_all(struct ss_aws_finding *f, const char *const *chain, size_t n)
{
	while (n--) {
		const char *p = chain[n];
		uint64_t s = 0;
		struct ss_str duration = setting(f, p, "duration_seconds");
		const struct ss_aws_role role = { .arn = ss_arena_str(f->arena, setting(f, p, "role_arn")),
						  .session = setting(f, p, "role_session_name"),
						  .external_id = setting(f, p, "external_id"),
						  .duration_s = ss_str_to_u64(duration, &s) ? duration : SS_STR("") };
		if (!role.arn.p)
			return ss_fail_mem(f->err);
		if (!ss_aws_assume_role(f, &role))
			return false;
	}
	return true;
}

/* A profile with a role that those of another profile, or of this machine, may assume. */
static bool of_role(struct ss_aws_finding *f)
{
	const char *chain[CHAIN] = { f->profile };
	size_t n = 1;
	if (!has_role(f, f->profile))
		return true;
	for (;; n++) {
		const char *profile = chain[n - 1];
		struct ss_str named = setting(f, profile, "credential_source");
		if (!check_role(f, profile))
			return false;
		if (named.p)
			return of_named_source(f, profile, named) && assume_all(f, chain, n);
		const char *source = next_source(f, chain, n);
		if (!source)
			return false;
		if (has_keys(f, source) || !has_role(f, source))
			return of_profile(f, source, false) &&
			       (f->a->key.n || ss_fail(f->err, SS_EINVAL,
						       "the profile '%.100s', the source_profile of '%.100s', has no "
						       "credentials",
						       source, profile)) &&
			       assume_all(f, chain, n);
		chain[n] = source;
	}
}

/* ---- all of them ---- */

static bool set_profile(struct ss_aws_finding *f)
{
	struct ss_str set = ss_aws_first(ss_aws_variable("AWS_DEFAULT_PROFILE"), ss_aws_variable("AWS_PROFILE"));
	f->profile = set.n ? set.p : "default";
	if (!ss_aws_config_read(&f->config, f->arena))
		return ss_fail_mem(f->err);
	return !set.n || ss_aws_has_profile(&f->config, f->profile) ||
	       ss_fail(f->err, SS_EINVAL,
		       "the profile '%.100s' is in no file of the AWS tools (~/.aws/config, ~/.aws/credentials)",
		       f->profile);
}

bool ss_aws_find(struct ss_aws *a, struct ss_arena *arena, unsigned *requests, struct ss_err *err)
{
	struct ss_aws_finding f = { .a = a, .arena = arena, .requests = requests, .err = err };
	*a = (struct ss_aws){ .region = SS_STR("") };
	if (!set_profile(&f))
		return false;
	a->region = ss_aws_first(ss_aws_first(ss_aws_variable("AWS_REGION"), ss_aws_variable("AWS_DEFAULT_REGION")),
			     setting(&f, f.profile, "region"));
	a->endpoint = ss_aws_set_endpoint(&f, "S3", "s3");
	return of_environment(&f) && (a->key.n || of_role(&f)) && (a->key.n || of_profile(&f, f.profile, true)) &&
	       (a->key.n || ss_aws_of_container(&f)) && (a->key.n || ss_aws_of_machine(&f));
}
