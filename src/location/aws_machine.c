/*
 * aws_machine.c - the role of a container (ECS, EKS) and of a machine (EC2), which services on it
 * give credentials for.
 */
#include "location/aws_finding.h"

#include "location/bucket.h"
#include "rpc/download.h"
#include "wire/json_tree.h"

#define PATIENCE "AWS_METADATA_SERVICE_TIMEOUT"
#define ROLE_MS 1000L /* a machine without a role does not answer at all */

static bool take_json(struct ss_aws_finding *f, struct ss_str body, const char *from)
{
	struct ss_err why = { 0 };
	body = ss_arena_str(f->arena, body);
	const struct ss_jnode *n = body.p ? ss_jtree_of_json(body, f->arena, &why) : NULL;
	if (!n)
		return ss_fail(f->err, SS_EFORMAT, "the answer for the credentials %s is not JSON", from);
	const struct ss_aws_given g = { ss_jnode_text(n, "AccessKeyId"), ss_jnode_text(n, "SecretAccessKey"),
					ss_jnode_text(n, "Token"), ss_utc_ns(ss_jnode_text(n, "Expiration")) };
	return ss_aws_take(f, &g, ss_str_from(from));
}

/* ECS, EKS' pod identity. */
bool ss_aws_of_container(struct ss_aws_finding *f)
{
	struct ss_str relative = ss_aws_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
		      full = ss_aws_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	static const struct ss_str hosts[] = { SS_STR_INIT("http://169.254.170.2/"),
					       SS_STR_INIT("http://169.254.170.23/"),
					       SS_STR_INIT("http://[fd00:ec2::23]/") };
	if (!relative.n && !full.n)
		return true;
	struct ss_str url =
		relative.n ? ss_arena_printf(f->arena, "http://169.254.170.2/%s", relative.p + (relative.p[0] == '/'))
			   : ss_arena_str(f->arena, full);
	bool known = false;
	for (size_t i = 0; url.p && i < SS_COUNT(hosts); i++)
		known |= ss_str_starts(url, hosts[i]);
	if (!url.p)
		return ss_fail_mem(f->err);
	if (!known && !ss_address_allowed(url, f->err))
		return false;
	struct ss_str file = ss_aws_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
		      token = ss_aws_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	if (file.n)
		token = ss_aws_trim(ss_small_file(file.p, SS_AWS_TOKEN_BYTES, f->arena));
	for (size_t i = 0; i < token.n; i++)
		if ((unsigned char)token.p[i] < ' ' || token.p[i] == 0x7f)
			return ss_fail(f->err, SS_EFORMAT, "the token for the container's role has control characters");
	token = ss_arena_str(f->arena, token);
	struct ss_str header = ss_arena_printf(f->arena, "Authorization: %s", token.p ? token.p : "");
	if (f->arena->no_memory)
		return ss_fail_mem(f->err);
	const char *const headers[] = { token.n ? header.p : NULL, NULL };
	const struct ss_question q = { .url = url.p,
				       .named = "the container's role",
				       .headers = headers,
				       .timeout_ms = ss_patience_ms(PATIENCE, 3 * ROLE_MS),
				       .direct = ss_str_starts(url, SS_STR("http://")) };
	struct ss_reply r;
	++*f->requests;
	bool ok = ss_ask(&q, &r, f->err);
	if (ok && r.status != 200)
		ok = ss_fail(f->err, SS_EIO,
			     "the request for the credentials of the container's role was answered with status %ld", r.status);
	ok = ok && take_json(f, ss_buf_get(&r.body), "of the container's role");
	ss_buf_free(&r.body);
	return ok;
}

/* The machine's metadata service, version 2; false: it does not answer so. */
static bool ask_machine(struct ss_aws_finding *f, const char *path, const char *token, struct ss_str *answer)
{
	struct ss_str set = ss_aws_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	bool six = ss_str_ieq(ss_aws_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"), SS_STR("IPv6"));
	struct ss_str host = set.n ? set : six ? SS_STR("http://[fd00:ec2::254]") : SS_STR("http://169.254.169.254");
	const char *slash = ss_str_ends(host, SS_STR("/")) ? "" : "/";
	struct ss_str url = ss_arena_printf(f->arena, SS_FMT "%slatest/%s", SS_ARG(host), slash, path);
	struct ss_str header = token ? ss_arena_printf(f->arena, "X-aws-ec2-metadata-token: %s", token)
				     : SS_STR("X-aws-ec2-metadata-token-ttl-seconds: 21600");
	const char *const headers[] = { header.p, NULL };
	const struct ss_question q = { .url = url.p,
				       .method = token ? NULL : "PUT",
				       .headers = headers,
				       .timeout_ms = ss_patience_ms(PATIENCE, ROLE_MS),
				       .limit_bytes = SS_AWS_TOKEN_BYTES,
				       .direct = true };
	struct ss_reply r = { .status = 0 };
	struct ss_err why = { 0 };
	if (!url.p || !header.p)
		return false;
	++*f->requests;
	bool ok = ss_ask(&q, &r, &why) && r.status == 200;
	*answer = ok ? ss_arena_str(f->arena, ss_aws_trim(ss_buf_get(&r.body))) : SS_STR("");
	ss_buf_free(&r.body);
	return ok && answer->n;
}

bool ss_aws_of_machine(struct ss_aws_finding *f)
{
	struct ss_str token, role, json;
	if (ss_str_ieq(ss_aws_variable("AWS_EC2_METADATA_DISABLED"), SS_STR("true")) ||
	    !ask_machine(f, "api/token", NULL, &token) ||
	    !ask_machine(f, "meta-data/iam/security-credentials/", token.p, &role))
		return true;
	struct ss_str path =
		ss_arena_printf(f->arena, "meta-data/iam/security-credentials/" SS_FMT,
				SS_ARG(ss_percent(ss_str_sub(role, 0, ss_str_chr(role, '\n')), false, f->arena)));
	if (!path.p)
		return ss_fail_mem(f->err);
	if (!ask_machine(f, path.p, token.p, &json))
		return true;
	if (!f->a->region.n && ask_machine(f, "meta-data/placement/region", token.p, &role))
		f->a->region = role;
	return take_json(f, json, "of this machine's role");
}
