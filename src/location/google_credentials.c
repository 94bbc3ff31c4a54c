/* google_credentials.c - see google_credentials.h. */
#include "location/google_finding.h"

#include "location/bucket.h"
#include "rpc/sign.h"

#include <stdio.h>
#include <stdlib.h>

#define MACHINE_MS 1000L /* elsewhere nothing answers at all */
#define LEVELS 4 /* of credentials that act for others */

/* ---- application default credentials ---- */

static bool of_user(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from)
{
	static const char *const names[] = { "client_id", "client_secret", "refresh_token" };
	struct ss_buf b = { 0 };
	ss_buf_lit(&b, "grant_type=refresh_token");
	for (size_t i = 0; i < SS_COUNT(names); i++)
		ss_google_put(f, &b, names[i], ss_jnode_text(n, names[i]));
	return ss_google_exchange(f, ss_jnode_text(n, "token_uri"), ss_buf_to_arena(&b, f->arena), NULL, from);
}

/* A claim of the account, signed with its key: "HEAD.CLAIMS.SIGNATURE". */
static struct ss_str signed_claim(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str url)
{
	struct ss_buf claims = { 0 }, all = { 0 };
	char signature[SS_SIGNATURE_BYTES];
	size_t bytes = 0;
	int64_t now = ss_google_now_s();
	ss_buf_lit(&claims, "{\"iss\":");
	ss_buf_json_str(&claims, ss_jnode_text(n, "client_email"));
	ss_buf_printf(&claims, ",\"scope\":\"%s\",\"aud\":", f->scope);
	ss_buf_json_str(&claims, url);
	ss_buf_printf(&claims, ",\"iat\":%lld,\"exp\":%lld}", (long long)now, (long long)now + SS_GOOGLE_LIFE_S);
	ss_google_put_base64(&all, SS_STR("{\"alg\":\"RS256\",\"typ\":\"JWT\"}"), true);
	ss_buf_char(&all, '.');
	ss_google_put_base64(&all, ss_buf_get(&claims), true);
	bool ok = !claims.no_memory && !all.no_memory
			  ? ss_sign_rs256(ss_jnode_text(n, "private_key"), ss_buf_get(&all), signature, &bytes, f->err)
			  : ss_fail_mem(f->err);
	ss_buf_char(&all, '.');
	ss_google_put_base64(&all, (struct ss_str){ signature, bytes }, true);
	ss_buf_free(&claims);
	struct ss_str text = ss_buf_to_arena(&all, f->arena);
	return ok ? text : SS_STR("");
}

static bool of_account(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from)
{
	struct ss_str url = ss_jnode_text(n, "token_uri");
	url = ss_arena_str(f->arena, url.n ? url : SS_STR(SS_GOOGLE_TOKENS));
	struct ss_str claim = url.p ? signed_claim(f, n, url) : SS_STR("");
	struct ss_buf b = { 0 };
	ss_buf_lit(&b, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=");
	ss_buf_str(&b, claim);
	struct ss_str body = ss_buf_to_arena(&b, f->arena);
	if (!url.p || !body.p)
		return ss_fail_mem(f->err);
	return claim.n && ss_google_exchange(f, url, body, NULL, from);
}

static bool of_json(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from, unsigned level)
{
	struct ss_str type = ss_jnode_text(n, "type");
	if (ss_str_is(type, "authorized_user"))
		return of_user(f, n, from);
	if (ss_str_is(type, "service_account"))
		return of_account(f, n, from);
	if (ss_str_is(type, "external_account"))
		return ss_google_external(f, n, from);
	if (ss_str_is(type, "external_account_authorized_user"))
		return ss_google_external_user(f, n, from);
	if (ss_str_is(type, "impersonated_service_account") && level < LEVELS)
		return ss_google_impersonated(f, n, from, level);
	return ss_fail(f->err, SS_EINVAL,
		       "the credentials " SS_FMT " are not of a kind that stepscope knows (a user, a service account, "
		       "an external account, a service account that acts for one of them): set "
		       "CLOUDSDK_AUTH_ACCESS_TOKEN to what "
		       "'gcloud auth print-access-token' prints",
		       SS_ARG(from));
}

static bool of_text(struct ss_google_finding *f, struct ss_str text, const char *path)
{
	struct ss_err why = { 0 };
	const struct ss_jnode *n = ss_jtree_of_json(text, f->arena, &why);
	struct ss_str from = ss_arena_printf(f->arena, "of '%.200s'", path);
	if (!from.p || f->arena->no_memory)
		return ss_fail_mem(f->err);
	return of_json(f, n, from, 0);
}

static bool of_file(struct ss_google_finding *f)
{
	const char *set = getenv("GOOGLE_APPLICATION_CREDENTIALS"), *config = getenv("CLOUDSDK_CONFIG"),
		   *home = getenv("HOME");
	const char *usual = "application_default_credentials.json";
	struct ss_str path = set && *set	 ? ss_arena_str(f->arena, ss_str_from(set))
			     : config && *config ? ss_arena_printf(f->arena, "%s/%s", config, usual)
			     : home		 ? ss_arena_printf(f->arena, "%s/.config/gcloud/%s", home, usual)
						 : SS_STR("");
	if (!path.p)
		return ss_fail_mem(f->err);
	struct ss_str text = path.n ? ss_small_file(path.p, SS_GOOGLE_CREDENTIAL_BYTES, f->arena) : SS_STR("");
	if (text.p && !text.n)
		return !set || !*set ||
		       ss_fail(f->err, SS_EIO, "cannot read '%.200s', which GOOGLE_APPLICATION_CREDENTIALS names", set);
	return text.p ? of_text(f, text, path.p) : ss_fail_mem(f->err);
}

/* ---- machines of Google's ---- */

static bool of_machine(struct ss_google_finding *f)
{
	static const char *const headers[] = { "Metadata-Flavor: Google", NULL };
	const char *host = getenv("GCE_METADATA_HOST"), *off = getenv("NO_GCE_CHECK");
	struct ss_str url =
		ss_arena_printf(f->arena, "http://%s/computeMetadata/v1/instance/service-accounts/default/token",
				host && *host ? host : "metadata.google.internal");
	struct ss_reply r;
	struct ss_err why = { 0 };
	if (!url.p)
		return ss_fail_mem(f->err);
	if (off && ss_str_ieq(ss_str_from(off), SS_STR("true")))
		return true;
	const struct ss_question q = { .url = url.p,
				       .headers = headers,
				       .direct = true,
				       .timeout_ms = ss_patience_ms("GCE_METADATA_TIMEOUT", MACHINE_MS) };
	++*f->requests;
	bool ok = !ss_ask(&q, &r, &why) || r.status != 200 ||
		  ss_google_take_token(f, ss_buf_get(&r.body), SS_STR("of this machine's service account"));
	ss_buf_free(&r.body);
	return ok;
}

bool ss_google_find(struct ss_google *g, struct ss_arena *arena, unsigned *requests, struct ss_err *err)
{
	struct ss_google_finding f = {
		.g = g, .arena = arena, .requests = requests, .err = err, .scope = SS_GOOGLE_READ, .of_json = of_json };
	const char *token = getenv("CLOUDSDK_AUTH_ACCESS_TOKEN");
	*g = (struct ss_google){ .token = SS_STR("") };
	if (token && *token) {
		*g = (struct ss_google){ ss_str_from(token), SS_STR("of the environment"), 0 };
		return true;
	}
	return of_file(&f) && (g->token.n || of_machine(&f));
}
