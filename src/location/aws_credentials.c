/* aws_credentials.c - see aws_credentials.h. */
#include "location/aws_credentials.h"

#include "location/bucket.h"
#include "rpc/download.h"
#include "rpc/fetch.h"
#include "wire/json_tree.h"
#include "wire/xml.h"

#include <stdio.h>
#include <stdlib.h>

#define SETTINGS_BYTES ((size_t)1 << 20)
#define TOKEN_BYTES ((size_t)65536)
#define PATIENCE "AWS_METADATA_SERVICE_TIMEOUT"
#define ROLE_MS 1000L	/* a machine without a role does not answer at all */

struct finding {
	struct ss_aws *a;
	struct ss_arena *arena;
	unsigned *requests;
	struct ss_err *err;
	const char *profile;
	const char *foreign;	/* a setting that names credentials which others have to fetch */
};

static struct ss_str variable(const char *name)
{
	const char *v = getenv(name);
	return v ? ss_str_from(v) : SS_STR("");
}

static struct ss_str first_of(struct ss_str a, struct ss_str b)
{
	return a.n ? a : b;
}

/* ---- the environment ---- */

static bool of_environment(struct finding *f)
{
	struct ss_str key = variable("AWS_ACCESS_KEY_ID"), secret = variable("AWS_SECRET_ACCESS_KEY");
	if (!key.n && !secret.n)
		return true;
	if (!key.n || !secret.n)
		return ss_fail(f->err, SS_EINVAL, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together, and %s is not set",
			       key.n ? "the second" : "the first");
	f->a->key = key;
	f->a->secret = secret;
	f->a->session = first_of(variable("AWS_SESSION_TOKEN"), variable("AWS_SECURITY_TOKEN"));
	f->a->from = SS_STR("of the environment");
	return true;
}

/* ---- files ---- */

static struct ss_str trim(struct ss_str s)
{
	while (s.n && (unsigned char)s.p[0] <= ' ')
		s = ss_str_sub(s, 1, s.n);
	while (s.n && (unsigned char)s.p[s.n - 1] <= ' ')
		s.n--;
	return s;
}

static bool is_section(struct ss_str line, const char *profile)
{
	line = trim(line);
	if (!ss_str_take(&line, SS_STR("[")) || !ss_str_ends(line, SS_STR("]")))
		return false;
	line = trim(ss_str_sub(line, 0, line.n - 1));
	if (ss_str_take(&line, SS_STR("profile ")) || ss_str_take(&line, SS_STR("profile\t")))
		line = trim(line);
	return ss_str_is(line, profile);
}

static void take_setting(struct finding *f, struct ss_str name, struct ss_str value)
{
	static const char *const others[] = { "sso_session", "sso_start_url", "credential_process", "role_arn", "login_session" };
	struct ss_aws *a = f->a;
	const struct {
		const char *name;
		struct ss_str *to;
	} known[] = { { "aws_access_key_id", &a->key },
		      { "aws_secret_access_key", &a->secret },
		      { "aws_session_token", &a->session },
		      { "region", &a->region }, { "endpoint_url", &a->endpoint } };
	for (size_t i = 0; i < SS_COUNT(known); i++)
		if (ss_str_is(name, known[i].name) && !known[i].to->n)
			*known[i].to = value;
	for (size_t i = 0; i < SS_COUNT(others); i++)
		if (ss_str_is(name, others[i]))
			f->foreign = others[i];
}

/* What a file says of the profile, unless it is known already. Lines that are indented belong to others. */
static void read_settings(struct finding *f, const char *set, const char *usual)
{
	const char *path = getenv(set), *home = getenv("HOME");
	struct ss_str at = path && *path ? ss_str_from(path)
			   : home	 ? ss_arena_printf(f->arena, "%s/.aws/%s", home, usual)
					 : SS_STR("");
	struct ss_str text = at.p && at.n ? ss_small_file(at.p, SETTINGS_BYTES, f->arena) : SS_STR("");
	bool inside = false;
	while (text.n) {
		size_t end = ss_str_chr(text, '\n');
		struct ss_str line = ss_str_sub(text, 0, end);
		text = ss_str_sub(text, end == SS_NPOS ? text.n : end + 1, text.n);
		size_t equals = ss_str_chr(line, '=');
		if (line.n && line.p[0] == '[')
			inside = is_section(line, f->profile);
		else if (inside && equals != SS_NPOS && line.p[0] != ' ' && line.p[0] != '\t' && line.p[0] != '#' &&
			line.p[0] != ';')
			take_setting(f, trim(ss_str_sub(line, 0, equals)), trim(ss_str_sub(line, equals + 1, line.n)));
	}
}

/* Region and endpoint in any case; keys where there are none yet. */
static bool of_profile(struct finding *f)
{
	struct ss_aws *a = f->a, before = *a;
	read_settings(f, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
	read_settings(f, "AWS_CONFIG_FILE", "config");
	if (before.key.n) {
		a->session = before.session;
		return true;
	}
	if (a->key.n && a->secret.n) {
		a->from = ss_arena_printf(f->arena, "of the profile '%.100s'", f->profile);
		return a->from.p || ss_fail_mem(f->err);
	}
	if (a->key.n || a->secret.n)
		return ss_fail(f->err, SS_EINVAL, "the profile '%.100s' of the AWS tools has only one of aws_access_key_id and "
			       "aws_secret_access_key", f->profile);
	a->session = SS_STR("");
	if (!f->foreign)
		return true;
	return ss_fail(f->err, SS_EINVAL, "the profile '%.100s' takes its credentials from %s, which the AWS tools have to do: run "
		       "'eval \"$(aws configure export-credentials --profile %.100s --format env)\"', and try again", f->profile,
		       f->foreign, f->profile);
}

/* ---- others that give some for a time ---- */

static bool take_reply(struct finding *f, struct ss_str key, struct ss_str secret, struct ss_str session, struct ss_str expires,
		       const char *from)
{
	if (!key.p || !secret.p || !session.p || !expires.p)
		return ss_fail_mem(f->err);
	if (!key.n || !secret.n)
		return ss_fail(f->err, SS_EFORMAT, "the answer for the credentials %s holds none", from);
	*f->a = (struct ss_aws){ key, secret, session, ss_str_from(from), ss_utc_ns(expires), f->a->region, f->a->endpoint };
	return true;
}

static bool take_json(struct finding *f, struct ss_str body, const char *from)
{
	struct ss_err why = { 0 };
	body = ss_arena_str(f->arena, body);
	const struct ss_jnode *n = body.p ? ss_jtree_of_json(body, f->arena, &why) : NULL;
	if (!n)
		return ss_fail(f->err, SS_EFORMAT, "the answer for the credentials %s is not JSON", from);
	return take_reply(f, ss_jnode_text(n, "AccessKeyId"), ss_jnode_text(n, "SecretAccessKey"), ss_jnode_text(n, "Token"),
			  ss_jnode_text(n, "Expiration"), from);
}

/* Has a token of somebody else's, and exchanges it: clusters of Kubernetes. */
static bool of_web_identity(struct finding *f)
{
	struct ss_str path = variable("AWS_WEB_IDENTITY_TOKEN_FILE"), role = variable("AWS_ROLE_ARN");
	struct ss_str name = first_of(variable("AWS_ROLE_SESSION_NAME"), SS_STR("stepscope")),
		set = variable("AWS_ENDPOINT_URL_STS");
	const char *from = "of the web identity in AWS_WEB_IDENTITY_TOKEN_FILE";
	if (!path.n || !role.n)
		return true;
	struct ss_str token = trim(ss_small_file(path.p, TOKEN_BYTES, f->arena));
	if (!token.n)
		return ss_fail(f->err, SS_EIO, "cannot read the token in '%s', which AWS_WEB_IDENTITY_TOKEN_FILE names", path.p);
	struct ss_str region = first_of(f->a->region, SS_STR("us-east-1"));
	struct ss_str url = set.n ? ss_arena_str(f->arena, set)
				  : ss_arena_printf(f->arena, "https://sts." SS_FMT ".amazonaws.com/", SS_ARG(region));
	struct ss_buf b = { 0 };
	ss_buf_lit(&b, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=");
	ss_buf_str(&b, ss_percent(role, false, f->arena));
	ss_buf_lit(&b, "&RoleSessionName=");
	ss_buf_str(&b, ss_percent(name, false, f->arena));
	ss_buf_lit(&b, "&WebIdentityToken=");
	ss_buf_str(&b, ss_percent(token, false, f->arena));
	struct ss_str body = ss_buf_to_arena(&b, f->arena);
	if (!url.p || !body.p)
		return ss_fail_mem(f->err);
	if (!ss_address_allowed(url, f->err))
		return false;
	const struct ss_question q = { .url = url.p, .named = "the AWS security token service", .body = body.p };
	struct ss_reply r;
	++*f->requests;
	bool ok = ss_ask(&q, &r, f->err);
	struct ss_str xml = ok ? ss_arena_str(f->arena, ss_buf_get(&r.body)) : SS_STR("");
	ss_buf_free(&r.body);
	if (ok && r.status != 200)
		return ss_fail(f->err, SS_EIO, "the AWS security token service refuses the web identity (status %ld)", r.status);
	return ok && take_reply(f, ss_xml_find(xml, "AccessKeyId", f->arena), ss_xml_find(xml, "SecretAccessKey", f->arena),
				ss_xml_find(xml, "SessionToken", f->arena), ss_xml_find(xml, "Expiration", f->arena), from);
}

/* ECS, EKS' pod identity. */
static bool of_container(struct finding *f)
{
	struct ss_str relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
		full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	static const struct ss_str hosts[] = { SS_STR_INIT("http://169.254.170.2/"), SS_STR_INIT("http://169.254.170.23/"),
					       SS_STR_INIT("http://[fd00:ec2::23]/") };
	if (!relative.n && !full.n)
		return true;
	struct ss_str url = relative.n ? ss_arena_printf(f->arena, "http://169.254.170.2/%s", relative.p + (relative.p[0] == '/'))
				       : ss_arena_str(f->arena, full);
	bool known = false;
	for (size_t i = 0; url.p && i < SS_COUNT(hosts); i++)
		known |= ss_str_starts(url, hosts[i]);
	if (!url.p)
		return ss_fail_mem(f->err);
	if (!known && !ss_address_allowed(url, f->err))
		return false;
	struct ss_str file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
		token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	if (file.n)
		token = trim(ss_small_file(file.p, TOKEN_BYTES, f->arena));
	struct ss_str header = ss_arena_printf(f->arena, "Authorization: " SS_FMT, SS_ARG(token));
	const char *const headers[] = { token.n ? header.p : NULL, NULL };
	const struct ss_question q = { .url = url.p, .named = "the container's role", .headers = headers,
				       .timeout_ms = ss_patience_ms(PATIENCE, 3 * ROLE_MS),
				       .direct = ss_str_starts(url, SS_STR("http://")) };
	struct ss_reply r;
	++*f->requests;
	bool ok = ss_ask(&q, &r, f->err);
	if (ok && r.status != 200)
		ok = ss_fail(f->err, SS_EIO, "the container's role was asked for credentials, and answers with status %ld",
			     r.status);
	ok = ok && take_json(f, ss_buf_get(&r.body), "of the container's role");
	ss_buf_free(&r.body);
	return ok;
}

/* The machine's metadata service, version 2; false: it does not answer so. */
static bool ask_machine(struct finding *f, const char *path, const char *token, struct ss_str *answer)
{
	struct ss_str set = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	struct ss_str host = first_of(set, SS_STR("http://169.254.169.254"));
	const char *slash = ss_str_ends(host, SS_STR("/")) ? "" : "/";
	struct ss_str url = ss_arena_printf(f->arena, SS_FMT "%slatest/%s", SS_ARG(host), slash, path);
	struct ss_str header = token ? ss_arena_printf(f->arena, "X-aws-ec2-metadata-token: %s", token)
		: SS_STR("X-aws-ec2-metadata-token-ttl-seconds: 21600");
	const char *const headers[] = { header.p, NULL };
	const struct ss_question q = { .url = url.p, .method = token ? NULL : "PUT", .headers = headers,
				       .timeout_ms = ss_patience_ms(PATIENCE, ROLE_MS),
				       .limit_bytes = TOKEN_BYTES, .direct = true };
	struct ss_reply r = { .status = 0 };
	struct ss_err why = { 0 };
	if (!url.p || !header.p)
		return false;
	++*f->requests;
	bool ok = ss_ask(&q, &r, &why) && r.status == 200;
	*answer = ok ? ss_arena_str(f->arena, trim(ss_buf_get(&r.body))) : SS_STR("");
	ss_buf_free(&r.body);
	return ok && answer->n;
}

static bool of_machine(struct finding *f)
{
	struct ss_str token, role, json;
	if (ss_str_ieq(variable("AWS_EC2_METADATA_DISABLED"), SS_STR("true")) || !ask_machine(f, "api/token", NULL, &token) ||
	    !ask_machine(f, "meta-data/iam/security-credentials/", token.p, &role))
		return true;
	struct ss_str path = ss_arena_printf(f->arena, "meta-data/iam/security-credentials/" SS_FMT,
					     SS_ARG(ss_percent(ss_str_sub(role, 0, ss_str_chr(role, '\n')), false, f->arena)));
	if (!path.p)
		return ss_fail_mem(f->err);
	if (!ask_machine(f, path.p, token.p, &json))
		return true;
	if (!f->a->region.n && ask_machine(f, "meta-data/placement/region", token.p, &role))
		f->a->region = role;
	return take_json(f, json, "of this machine's role");
}

bool ss_aws_find(struct ss_aws *a, struct ss_arena *arena, unsigned *requests, struct ss_err *err)
{
	static bool (*const sources[])(struct finding *) = { of_web_identity, of_container, of_machine };
	struct ss_str profile = first_of(variable("AWS_PROFILE"), first_of(variable("AWS_DEFAULT_PROFILE"), SS_STR("default")));
	struct finding f = { .a = a, .arena = arena, .requests = requests, .err = err, .profile = profile.p };
	*a = (struct ss_aws){ .region = first_of(variable("AWS_REGION"), variable("AWS_DEFAULT_REGION")),
			      .endpoint = first_of(variable("AWS_ENDPOINT_URL_S3"), variable("AWS_ENDPOINT_URL")) };
	if (!of_environment(&f))
		return false;
	bool web = !a->key.n && variable("AWS_WEB_IDENTITY_TOKEN_FILE").n && variable("AWS_ROLE_ARN").n;
	if (!web && !of_profile(&f))
		return false;
	for (size_t i = 0; i < SS_COUNT(sources); i++)
		if (!a->key.n && !sources[i](&f))
			return false;
	return true;
}
