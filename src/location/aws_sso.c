/*
 * aws_sso.c - credentials for the token of a single sign-on, which 'aws sso login' leaves in
 * ~/.aws/sso/cache.
 */
#include "location/aws_finding.h"

#include "base/sha1.h"
#include "location/bucket.h"
#include "wire/json_tree.h"

#include <stdlib.h>
#include <time.h>

struct sso {
	struct ss_str session; /* the section of it; p is NULL: the profile has all of it */
	struct ss_str start, region, account, role;
	struct ss_str token;
};

static bool explain_missing(struct ss_aws_finding *f, const char *profile, const char *name)
{
	return ss_fail(f->err, SS_EINVAL,
		       "the profile '%.100s' has a single sign-on without %s: 'aws configure sso --profile %.100s' "
		       "sets it",
		       profile, name, profile);
}

/* A setting of the profile, or of the session that it names; both, if they say the same. */
static bool read_setting(struct ss_aws_finding *f, const char *profile, const struct sso *s, const char *name,
			 struct ss_str *to)
{
	struct ss_str own = ss_aws_of_profile(&f->config, profile, name), shared = { NULL, 0 };
	if (s->session.p)
		shared = ss_aws_of_section(&f->config, "sso-session", s->session, NULL, name);
	if (own.p && shared.p && !ss_str_eq(own, shared))
		return ss_fail(f->err, SS_EINVAL,
			       "the profile '%.100s' and its sso-session '" SS_FMT "' differ in %s", profile,
			       SS_ARG(ss_str_sub(s->session, 0, 100)), name);
	*to = own.p ? own : shared;
	return to->n || explain_missing(f, profile, name);
}

static bool read_settings(struct ss_aws_finding *f, const char *profile, struct sso *s)
{
	s->session = ss_aws_of_profile(&f->config, profile, "sso_session");
	if (s->session.p && !ss_aws_has_section(&f->config, "sso-session", s->session))
		return ss_fail(f->err, SS_EINVAL,
			       "the profile '%.100s' names the sso-session '" SS_FMT "', which is not in the "
			       "config file of the AWS tools",
			       profile, SS_ARG(ss_str_sub(s->session, 0, 100)));
	return read_setting(f, profile, s, "sso_start_url", &s->start) &&
	       read_setting(f, profile, s, "sso_region", &s->region) &&
	       read_setting(f, profile, s, "sso_account_id", &s->account) &&
	       read_setting(f, profile, s, "sso_role_name", &s->role);
}

static bool log_in(struct ss_aws_finding *f, const char *profile, const char *why)
{
	return ss_fail(f->err, SS_EIO,
		       "the single sign-on of the profile '%.100s' %s: run 'aws sso login --profile %.100s', and try "
		       "again",
		       profile, why, profile);
}

static bool read_token(struct ss_aws_finding *f, const char *profile, struct sso *s)
{
	const char *home = getenv("HOME");
	char name[SS_SHA1_HEX_BYTES];
	struct ss_err why = { 0 };
	ss_sha1_hex(s->session.p ? s->session : s->start, name);
	struct ss_str path = ss_arena_printf(f->arena, "%s/.aws/sso/cache/%s.json", home ? home : "", name);
	struct ss_str text = path.p ? ss_small_file(path.p, SS_AWS_TOKEN_BYTES, f->arena) : path;
	const struct ss_jnode *n = text.n ? ss_jtree_of_json(text, f->arena, &why) : NULL;
	s->token = ss_jnode_text(n, "accessToken");
	if (f->arena->no_memory)
		return ss_fail_mem(f->err);
	if (!ss_is_token(s->token))
		return log_in(f, profile, "has no token");
	int64_t expires_ns = ss_utc_ns(ss_jnode_text(n, "expiresAt"));
	return (expires_ns && expires_ns > (int64_t)time(NULL) * 1000000000) || log_in(f, profile, "has expired");
}

static bool take_answer(struct ss_aws_finding *f, const char *profile, struct ss_str body)
{
	struct ss_err why = { 0 };
	struct ss_str from = ss_arena_printf(f->arena, "of the single sign-on of the profile '%.100s'", profile);
	body = ss_arena_str(f->arena, body);
	const struct ss_jnode *n =
		body.p ? ss_jnode_get(ss_jtree_of_json(body, f->arena, &why), "roleCredentials") : NULL;
	double expires_ms = ss_jnode_num(n, "expiration", 0);
	bool known = expires_ms > 0 && expires_ms < 9e12;
	const struct ss_aws_given g = { ss_jnode_text(n, "accessKeyId"), ss_jnode_text(n, "secretAccessKey"),
					ss_jnode_text(n, "sessionToken"), known ? (int64_t)expires_ms * 1000000 : 0 };
	return from.p ? ss_aws_take(f, &g, from) : ss_fail_mem(f->err);
}

static bool ask(struct ss_aws_finding *f, const char *profile, const struct sso *s)
{
	struct ss_arena *a = f->arena;
	const char *china = ss_str_starts(s->region, SS_STR("cn-")) ? ".cn" : "";
	struct ss_str usual =
		ss_arena_printf(a, "https://portal.sso." SS_FMT ".amazonaws.com%s", SS_ARG(s->region), china);
	struct ss_str at = ss_aws_endpoint(f, "SSO", "sso", usual);
	if (!at.p)
		return false;
	struct ss_str token = ss_arena_str(a, s->token);
	const char *const headers[] = { ss_arena_printf(a, "x-amz-sso_bearer_token: %s", token.p ? token.p : "").p,
					NULL };
	struct ss_str url =
		ss_arena_printf(a, SS_FMT "federation/credentials?role_name=" SS_FMT "&account_id=" SS_FMT, SS_ARG(at),
				SS_ARG(ss_percent(s->role, false, a)), SS_ARG(ss_percent(s->account, false, a)));
	if (a->no_memory)
		return ss_fail_mem(f->err);
	const struct ss_question q = { .url = url.p,
				       .named = "the single sign-on of AWS",
				       .headers = headers,
				       .direct = ss_str_starts(url, SS_STR("http://")) };
	struct ss_reply r;
	++*f->requests;
	bool ok = ss_ask(&q, &r, f->err);
	if (ok && r.status == 401)
		ok = log_in(f, profile, "is over");
	else if (ok && r.status != 200)
		ok = ss_fail(
			f->err, SS_EIO,
			"the single sign-on of AWS gives no credentials for the profile '%.100s' (status %ld): its "
			"sso_account_id or sso_role_name is wrong, or the role was not assigned",
			profile, r.status);
	ok = ok && take_answer(f, profile, ss_buf_get(&r.body));
	ss_buf_free(&r.body);
	return ok;
}

bool ss_aws_sso(struct ss_aws_finding *f, const char *profile)
{
	struct sso s = { .token = SS_STR("") };
	return read_settings(f, profile, &s) && read_token(f, profile, &s) && ask(f, profile, &s);
}
