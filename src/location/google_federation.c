/*
 * google_federation.c - identities of other providers (workload identity federation), whose token is exchanged for one of
 * Google's, and service accounts that act for somebody.
 */
#include "location/google_finding.h"

#include "location/bucket.h"
#include "rpc/download.h"

#define TOKEN_TYPE "urn:ietf:params:oauth:token-type:access_token"
#define EXCHANGE "urn:ietf:params:oauth:grant-type:token-exchange"
#define HEADERS 16

static struct ss_str trimmed(struct ss_str s)
{
	while (s.n && (unsigned char)s.p[s.n - 1] <= ' ')
		s.n--;
	while (s.n && (unsigned char)s.p[0] <= ' ')
		s = ss_str_sub(s, 1, s.n);
	return s;
}

/* ---- service accounts that act for somebody ---- */

/* {"accessToken": ..., "expireTime": ...} */
static bool take_token(struct ss_google_finding *f, struct ss_str body, struct ss_str from)
{
	struct ss_err why = { 0 };
	body = ss_arena_str(f->arena, body);
	const struct ss_jnode *n = body.p ? ss_jtree_of_json(body, f->arena, &why) : NULL;
	struct ss_str token = ss_jnode_text(n, "accessToken");
	if (!ss_is_token(token))
		return ss_fail(f->err, SS_EFORMAT,
			       "the answer for the service account that acts for the credentials " SS_FMT
			       " holds no token",
			       SS_ARG(from));
	*f->g = (struct ss_google){ token, from, ss_utc_ns(ss_jnode_text(n, "expireTime")) };
	return true;
}

static struct ss_str body_of(struct ss_google_finding *f, const struct ss_jnode *delegates, int64_t life_s)
{
	struct ss_buf b = { 0 };
	ss_buf_printf(&b, "{\"scope\":[\"%s\"],\"lifetime\":\"%llds\",\"delegates\":[", f->scope, (long long)life_s);
	for (const struct ss_jnode *d = delegates ? delegates->first : NULL; d; d = d->next) {
		ss_buf_z(&b, d == delegates->first ? "" : ",");
		ss_buf_json_str(&b, d->text);
	}
	ss_buf_lit(&b, "]}");
	return ss_buf_to_arena(&b, f->arena);
}

/* The token in f->g becomes one of the service account's. */
static bool act_as(struct ss_google_finding *f, struct ss_str url, struct ss_str body, struct ss_str from)
{
	url = ss_arena_str(f->arena, url);
	struct ss_str bearer =
		ss_arena_printf(f->arena, "Authorization: Bearer %s", ss_arena_str(f->arena, f->g->token).p);
	const char *const headers[] = { bearer.p, "Content-Type: application/json", NULL };
	const struct ss_question q = { .url = url.p,
				       .named = "Google's service for acting as a service account",
				       .body = body.p,
				       .headers = headers,
				       .direct = ss_str_starts(url, SS_STR("http://")) };
	struct ss_reply r;
	if (f->arena->no_memory || !url.p)
		return ss_fail_mem(f->err);
	if (!ss_address_allowed(url, f->err))
		return false;
	++*f->requests;
	bool ok = ss_ask(&q, &r, f->err);
	if (ok && r.status != 200)
		ok = ss_fail(f->err, SS_EIO,
			     "the credentials " SS_FMT " may not act as their service account (status %ld): "
			     "roles/iam.serviceAccountTokenCreator is needed",
			     SS_ARG(from), r.status);
	ok = ok && take_token(f, ss_buf_get(&r.body), from);
	ss_buf_free(&r.body);
	return ok;
}

static int64_t life_of(const struct ss_jnode *n)
{
	int64_t s = ss_jnode_int(ss_jnode_get(n, "service_account_impersonation"), "token_lifetime_seconds", SS_GOOGLE_LIFE_S);
	return s < 600 || s > 12 * SS_GOOGLE_LIFE_S ? SS_GOOGLE_LIFE_S : s;
}

bool ss_google_impersonated(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from, unsigned level)
{
	struct ss_str body = body_of(f, ss_jnode_get(n, "delegates"), SS_GOOGLE_LIFE_S);
	struct ss_google_finding source = *f;
	source.scope = SS_GOOGLE_ALL;
	return f->of_json(&source, ss_jnode_get(n, "source_credentials"), from, level + 1) &&
	       act_as(f, ss_jnode_text(n, "service_account_impersonation_url"), body, from);
}

/* ---- the token of another provider ---- */

static bool is_header(const struct ss_jnode *n)
{
	bool ok = n->kind == SS_J_STRING && n->key.n;
	for (size_t i = 0; i < n->key.n; i++)
		ok &= (unsigned char)n->key.p[i] > ' ' && (unsigned char)n->key.p[i] <= '~' && n->key.p[i] != ':';
	for (size_t i = 0; ok && i < n->text.n; i++)
		ok = (unsigned char)n->text.p[i] >= ' ' && n->text.p[i] != 0x7f;
	return ok;
}

static bool read_headers(struct ss_google_finding *f, const struct ss_jnode *n, const char *headers[HEADERS + 1])
{
	size_t count = 0;
	for (n = n ? n->first : NULL; n; n = n->next) {
		if (count == HEADERS || !is_header(n))
			return ss_fail(f->err, SS_EFORMAT,
				       "the headers of a credential_source cannot be sent");
		headers[count++] = ss_arena_printf(f->arena, SS_FMT ": " SS_FMT, SS_ARG(n->key), SS_ARG(n->text)).p;
	}
	headers[count] = NULL;
	return !f->arena->no_memory || ss_fail_mem(f->err);
}

/* Services of the machine answer over http: at 127.0.0.1, and at the address that clouds have for them. */
static bool ask_url(struct ss_google_finding *f, const struct ss_jnode *source, struct ss_str url, struct ss_str *text)
{
	const char *headers[HEADERS + 1];
	struct ss_reply r;
	url = ss_arena_str(f->arena, url);
	if (!url.p)
		return ss_fail_mem(f->err);
	if ((!ss_str_starts(url, SS_STR("http://169.254.169.254/")) && !ss_address_allowed(url, f->err)) ||
	    !read_headers(f, ss_jnode_get(source, "headers"), headers))
		return false;
	const struct ss_question q = { .url = url.p,
				       .named = "the credential_source of the credentials",
				       .headers = headers,
				       .direct = ss_str_starts(url, SS_STR("http://")) };
	++*f->requests;
	bool ok = ss_ask(&q, &r, f->err);
	if (ok && r.status != 200)
		ok = ss_fail(f->err, SS_EIO, "the credential_source of the credentials answers with status %ld",
			     r.status);
	*text = ok ? ss_arena_str(f->arena, ss_buf_get(&r.body)) : SS_STR("");
	ss_buf_free(&r.body);
	return ok;
}

/* The text itself, or a field of it. */
static bool token_of(struct ss_google_finding *f, const struct ss_jnode *source, struct ss_str text,
		     struct ss_str *token)
{
	const struct ss_jnode *format = ss_jnode_get(source, "format");
	struct ss_str field = ss_arena_str(f->arena, ss_jnode_text(format, "subject_token_field_name"));
	struct ss_err why = { 0 };
	*token = trimmed(text);
	if (ss_str_is(ss_jnode_text(format, "type"), "json"))
		*token = text.n ? ss_jnode_text(ss_jtree_of_json(text, f->arena, &why), field.p ? field.p : "")
				: SS_STR("");
	if (f->arena->no_memory || !text.p)
		return ss_fail_mem(f->err);
	return token->n || ss_fail(f->err, SS_EIO, "the credential_source of the credentials holds no token");
}

static bool find_token(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from, struct ss_str *token)
{
	const struct ss_jnode *source = ss_jnode_get(n, "credential_source");
	struct ss_str file = ss_arena_str(f->arena, ss_jnode_text(source, "file")), url = ss_jnode_text(source, "url"),
		      text;
	if (!file.p)
		return ss_fail_mem(f->err);
	if (file.n) {
		text = ss_small_file(file.p, SS_GOOGLE_CREDENTIAL_BYTES, f->arena);
		if (text.p && !text.n)
			return ss_fail(f->err, SS_EIO,
				       "cannot read the token in '%.300s', which the credentials " SS_FMT " name",
				       file.p, SS_ARG(from));
		return token_of(f, source, text, token);
	}
	if (url.n && !ss_jnode_get(source, "environment_id"))
		return ask_url(f, source, url, &text) && token_of(f, source, text, token);
	return ss_fail(f->err, SS_EINVAL,
		       "the credentials " SS_FMT
		       " take their token from %s, and stepscope reads one from a file or an address: set "
		       "CLOUDSDK_AUTH_ACCESS_TOKEN to what 'gcloud auth print-access-token' prints",
		       SS_ARG(from),
		       ss_jnode_get(source, "environment_id") ? "AWS"
		       : ss_jnode_get(source, "executable")   ? "a program"
							      : "a credential_source of an unknown kind");
}

/* The client's name and secret, where there is one, in a header. */
static bool basic_of(struct ss_google_finding *f, const struct ss_jnode *n, const char *headers[2])
{
	struct ss_str id = ss_jnode_text(n, "client_id");
	if (id.n)
		headers[0] = ss_google_basic(f, id, ss_jnode_text(n, "client_secret")).p;
	return !f->arena->no_memory || ss_fail_mem(f->err);
}

static struct ss_str exchange_of(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str token,
				 const char *scope)
{
	struct ss_str project = ss_jnode_text(n, "workforce_pool_user_project");
	struct ss_buf b = { 0 }, options = { 0 };
	ss_google_put(f, &b, "grant_type", SS_STR(EXCHANGE));
	ss_google_put(f, &b, "audience", ss_jnode_text(n, "audience"));
	ss_google_put(f, &b, "scope", ss_str_from(scope));
	ss_google_put(f, &b, "requested_token_type", SS_STR(TOKEN_TYPE));
	ss_google_put(f, &b, "subject_token", token);
	ss_google_put(f, &b, "subject_token_type", ss_jnode_text(n, "subject_token_type"));
	if (project.n && !ss_jnode_text(n, "client_id").n) {
		ss_buf_lit(&options, "{\"userProject\":");
		ss_buf_json_str(&options, project);
		ss_buf_char(&options, '}');
		ss_google_put(f, &b, "options", ss_buf_get(&options));
	}
	b.no_memory |= options.no_memory;
	ss_buf_free(&options);
	return ss_buf_to_arena(&b, f->arena);
}

bool ss_google_external(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from)
{
	struct ss_str account = ss_jnode_text(n, "service_account_impersonation_url"), token;
	const char *headers[2] = { NULL, NULL };
	if (!find_token(f, n, from, &token) || !basic_of(f, n, headers))
		return false;
	struct ss_str body = exchange_of(f, n, token, account.n ? SS_GOOGLE_ALL : f->scope),
		      url = ss_jnode_text(n, "token_url");
	return ss_google_exchange(f, url.n ? url : SS_STR("https://sts.googleapis.com/v1/token"), body, headers,
				  from) &&
	       (!account.n || act_as(f, account, body_of(f, NULL, life_of(n)), from));
}

bool ss_google_external_user(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from)
{
	const char *headers[2] = { NULL, NULL };
	struct ss_buf b = { 0 };
	ss_google_put(f, &b, "grant_type", SS_STR("refresh_token"));
	ss_google_put(f, &b, "refresh_token", ss_jnode_text(n, "refresh_token"));
	struct ss_str body = ss_buf_to_arena(&b, f->arena);
	return basic_of(f, n, headers) && ss_google_exchange(f, ss_jnode_text(n, "token_url"), body, headers, from);
}
