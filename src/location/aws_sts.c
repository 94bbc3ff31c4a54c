/*
 * aws_sts.c - the token service of AWS: credentials of a role for those of somebody else, or for a
 * token of a web identity.
 */
#include "location/aws_finding.h"

#include "location/bucket.h"
#include "rpc/download.h"
#include "wire/xml.h"

#include <stdio.h>

#define NAMED "the AWS security token service"

void ss_aws_code_of(struct ss_str body, char code[SS_AWS_CODE_BYTES])
{
	struct ss_arena a = { 0 };
	struct ss_str s = ss_xml_find(body, "Code", &a);
	bool word = s.n > 0 && s.n < SS_AWS_CODE_BYTES;
	for (size_t i = 0; word && i < s.n; i++)
		word = (s.p[i] >= 'A' && s.p[i] <= 'Z') || (s.p[i] >= 'a' && s.p[i] <= 'z') ||
		       (s.p[i] >= '0' && s.p[i] <= '9');
	snprintf(code, SS_AWS_CODE_BYTES, SS_FMT, (int)(word ? s.n : 0), s.n ? s.p : "");
	ss_arena_release(&a);
}

static struct ss_str region_of(const struct ss_aws_finding *f)
{
	return f->a->region.n ? f->a->region : SS_STR("us-east-1");
}

static struct ss_str url_of(struct ss_aws_finding *f)
{
	struct ss_str region = region_of(f);
	const char *china = ss_str_starts(region, SS_STR("cn-")) ? ".cn" : "";
	return ss_aws_endpoint(
		f, "STS", "sts",
		ss_arena_printf(f->arena, "https://sts." SS_FMT ".amazonaws.com%s", SS_ARG(region), china));
}

static void put(struct ss_aws_finding *f, struct ss_buf *b, const char *name, struct ss_str value)
{
	if (!value.n)
		return;
	ss_buf_printf(b, "&%s=", name);
	ss_buf_str(b, ss_percent(value, false, f->arena));
}

static struct ss_str body_of(struct ss_aws_finding *f, const char *action, const struct ss_aws_role *role,
			     struct ss_str token)
{
	struct ss_buf b = { 0 };
	ss_buf_printf(&b, "Action=%s&Version=2011-06-15", action);
	put(f, &b, "RoleArn", role->arn);
	put(f, &b, "RoleSessionName", role->session.n ? role->session : SS_STR("stepscope"));
	put(f, &b, "ExternalId", role->external_id);
	put(f, &b, "DurationSeconds", role->duration_s);
	put(f, &b, "WebIdentityToken", token);
	return ss_buf_to_arena(&b, f->arena);
}

static bool refuse(struct ss_aws_finding *f, const struct ss_aws_role *role, const char *whose,
		   const struct ss_reply *r)
{
	char code[SS_AWS_CODE_BYTES];
	ss_aws_code_of(ss_buf_get(&r->body), code);
	return ss_fail(f->err, SS_EIO, NAMED " refuses the role '%.200s' to %s: %s%sstatus %ld", role->arn.p, whose,
		       code, code[0] ? ", " : "", r->status);
}

/* `whose` credentials or token those are that go with it. */
static bool ask(struct ss_aws_finding *f, struct ss_question *q, const struct ss_aws_role *role, const char *whose)
{
	struct ss_reply r;
	struct ss_str from = ss_arena_printf(f->arena, "of the role '%.200s'", role->arn.p);
	if (f->arena->no_memory)
		return ss_fail_mem(f->err);
	q->named = NAMED;
	q->direct = ss_str_starts(ss_str_from(q->url), SS_STR("http://"));
	++*f->requests;
	bool ok = ss_ask(q, &r, f->err);
	struct ss_str xml = ok ? ss_arena_str(f->arena, ss_buf_get(&r.body)) : SS_STR("");
	if (ok && r.status != 200)
		ok = refuse(f, role, whose, &r);
	ss_buf_free(&r.body);
	if (!ok)
		return false;
	const struct ss_aws_given g = { ss_xml_find(xml, "AccessKeyId", f->arena),
					ss_xml_find(xml, "SecretAccessKey", f->arena),
					ss_xml_find(xml, "SessionToken", f->arena),
					ss_utc_ns(ss_xml_find(xml, "Expiration", f->arena)) };
	return ss_aws_take(f, &g, from);
}

bool ss_aws_web_identity(struct ss_aws_finding *f, const struct ss_aws_role *role, struct ss_str token_file)
{
	struct ss_str path = ss_arena_str(f->arena, token_file);
	struct ss_str token = path.p ? ss_aws_trim(ss_small_file(path.p, SS_AWS_TOKEN_BYTES, f->arena)) : path;
	if (!token.p)
		return ss_fail_mem(f->err);
	if (!token.n)
		return ss_fail(f->err, SS_EIO,
			       "cannot read the token in '%.300s', which AWS_WEB_IDENTITY_TOKEN_FILE or the profile "
			       "names",
			       path.p);
	struct ss_str url = url_of(f), body = url.p ? body_of(f, "AssumeRoleWithWebIdentity", role, token) : url;
	struct ss_question q = { .url = url.p, .body = body.p };
	return url.p && ask(f, &q, role, "the web identity");
}

bool ss_aws_assume_role(struct ss_aws_finding *f, const struct ss_aws_role *role)
{
	struct ss_str url = url_of(f), body = url.p ? body_of(f, "AssumeRole", role, SS_STR("")) : url;
	struct ss_arena *a = f->arena;
	if (!url.p)
		return false;
	/* libcurl would sign the host without its port. */
	struct ss_str host = ss_str_sub(url, ss_str_find(url, SS_STR("://")) + 3, url.n),
		      session = ss_arena_str(a, f->a->session);
	const char *const headers[] = {
		ss_arena_printf(a, "Host: " SS_FMT, SS_ARG(ss_str_sub(host, 0, ss_str_chr(host, '/')))).p,
		session.n ? ss_arena_printf(a, "x-amz-security-token: %s", session.p).p : NULL, NULL
	};
	const struct ss_auth auth = { .headers = headers,
				      .sigv4 = ss_arena_printf(a, "aws:amz:" SS_FMT ":sts", SS_ARG(region_of(f))).p,
				      .user = ss_arena_str(a, f->a->key).p,
				      .password = ss_arena_str(a, f->a->secret).p };
	struct ss_str whose = ss_arena_printf(a, "the credentials " SS_FMT, SS_ARG(f->a->from));
	struct ss_question q = { .url = url.p, .body = body.p, .auth = &auth };
	return ask(f, &q, role, whose.p);
}
