/* google_credentials.c - see google_credentials.h. */
#include "location/google_finding.h"

#include "location/bucket.h"
#include "rpc/download.h"
#include "rpc/sign.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MACHINE_MS 1000L /* elsewhere nothing answers at all */
#define LIFE_S 3600
#define TOKENS "https://oauth2.googleapis.com/token"
#define LEVELS 4 /* of credentials that act for others */

static int64_t now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec;
}

bool ss_google_is_token(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] > '~')
			return false;
	return s.n;
}

void ss_google_put(struct ss_google_finding *f, struct ss_buf *b, const char *name, struct ss_str value)
{
	ss_buf_printf(b, "%s%s=", b->n ? "&" : "", name);
	ss_buf_str(b, ss_percent(value, false, f->arena));
}

/* {"access_token": ..., "expires_in": 3599}. */
static bool take_token(struct ss_google_finding *f, struct ss_str body, struct ss_str from)
{
	struct ss_err why = { 0 };
	body = ss_arena_str(f->arena, body);
	const struct ss_jnode *n = body.p ? ss_jtree_of_json(body, f->arena, &why) : NULL;
	struct ss_str token = ss_jnode_text(n, "access_token");
	int64_t life_s = ss_jnode_int(n, "expires_in", LIFE_S);
	if (!ss_google_is_token(token))
		return ss_fail(f->err, SS_EFORMAT, "the answer for the credentials " SS_FMT " holds no token",
			       SS_ARG(from));
	life_s = life_s < 0 ? 0 : life_s > 24 * LIFE_S ? 24 * LIFE_S : life_s;
	*f->g = (struct ss_google){ token, from, (now_s() + life_s) * 1000000000 };
	return true;
}

/* ---- application default credentials ---- */

bool ss_google_exchange(struct ss_google_finding *f, struct ss_str url, struct ss_str body, const char *const *headers,
			struct ss_str from)
{
	const char *all[] = { "Content-Type: application/x-www-form-urlencoded", headers ? headers[0] : NULL, NULL };
	url = ss_arena_str(f->arena, url.n ? url : SS_STR(TOKENS));
	if (!url.p || !body.p || f->arena->no_memory)
		return ss_fail_mem(f->err);
	const struct ss_question q = {
		.url = url.p, .named = "Google's token service", .body = body.p, .headers = all
	};
	struct ss_reply r;
	if (!ss_address_allowed(url, f->err))
		return false;
	++*f->requests;
	bool ok = ss_ask(&q, &r, f->err);
	bool renews = ss_str_starts(body, SS_STR("grant_type=refresh_token"));
	if (ok && r.status != 200 && renews && ss_str_contains(ss_buf_get(&r.body), SS_STR("invalid_grant")))
		ok = ss_fail(f->err, SS_EIO,
			     "the credentials " SS_FMT " have expired or were revoked (invalid_grant): run 'gcloud "
			     "auth application-default login', and try again",
			     SS_ARG(from));
	else if (ok && r.status != 200)
		ok = ss_fail(f->err, SS_EIO, "Google's token service refuses the credentials " SS_FMT " (status %ld)",
			     SS_ARG(from), r.status);
	ok = ok && take_token(f, ss_buf_get(&r.body), from);
	ss_buf_free(&r.body);
	return ok;
}

static bool of_user(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from)
{
	static const char *const names[] = { "client_id", "client_secret", "refresh_token" };
	struct ss_buf b = { 0 };
	ss_buf_lit(&b, "grant_type=refresh_token");
	for (size_t i = 0; i < SS_COUNT(names); i++)
		ss_google_put(f, &b, names[i], ss_jnode_text(n, names[i]));
	return ss_google_exchange(f, ss_jnode_text(n, "token_uri"), ss_buf_to_arena(&b, f->arena), NULL, from);
}

/* Base 64, of URLs in their letters and without "=". */
static void put_base64(struct ss_buf *b, struct ss_str s, bool of_url)
{
	const char *letters = of_url ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
				     : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < s.n; i += 3) {
		uint32_t v = 0;
		size_t n = s.n - i < 3 ? s.n - i : 3;
		for (size_t k = 0; k < 3; k++)
			v = v << 8 | (k < n ? (unsigned char)s.p[i + k] : 0);
		for (size_t k = 0; k <= n; k++)
			ss_buf_char(b, letters[v >> (18 - 6 * k) & 63]);
		for (size_t k = n; k < 3 && !of_url; k++)
			ss_buf_char(b, '=');
	}
}

struct ss_str ss_google_basic(struct ss_google_finding *f, struct ss_str id, struct ss_str secret)
{
	struct ss_buf plain = { 0 }, b = { 0 };
	ss_buf_str(&plain, id);
	ss_buf_char(&plain, ':');
	ss_buf_str(&plain, secret);
	ss_buf_lit(&b, "Authorization: Basic ");
	put_base64(&b, ss_buf_get(&plain), false);
	b.no_memory |= plain.no_memory;
	ss_buf_free(&plain);
	return ss_buf_to_arena(&b, f->arena);
}

/* A claim of the account, signed with its key: "HEAD.CLAIMS.SIGNATURE". */
static struct ss_str signed_claim(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str url)
{
	struct ss_buf claims = { 0 }, all = { 0 };
	char signature[SS_SIGNATURE_BYTES];
	size_t bytes = 0;
	int64_t now = now_s();
	ss_buf_lit(&claims, "{\"iss\":");
	ss_buf_json_str(&claims, ss_jnode_text(n, "client_email"));
	ss_buf_printf(&claims, ",\"scope\":\"%s\",\"aud\":", f->scope);
	ss_buf_json_str(&claims, url);
	ss_buf_printf(&claims, ",\"iat\":%lld,\"exp\":%lld}", (long long)now, (long long)now + LIFE_S);
	put_base64(&all, SS_STR("{\"alg\":\"RS256\",\"typ\":\"JWT\"}"), true);
	ss_buf_char(&all, '.');
	put_base64(&all, ss_buf_get(&claims), true);
	bool ok = !claims.no_memory && !all.no_memory
			  ? ss_sign_rs256(ss_jnode_text(n, "private_key"), ss_buf_get(&all), signature, &bytes, f->err)
			  : ss_fail_mem(f->err);
	ss_buf_char(&all, '.');
	put_base64(&all, (struct ss_str){ signature, bytes }, true);
	ss_buf_free(&claims);
	struct ss_str text = ss_buf_to_arena(&all, f->arena);
	return ok ? text : SS_STR("");
}

static bool of_account(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from)
{
	struct ss_str url = ss_jnode_text(n, "token_uri");
	url = ss_arena_str(f->arena, url.n ? url : SS_STR(TOKENS));
	struct ss_str claim = url.p ? signed_claim(f, n, url) : SS_STR("");
	struct ss_buf b = { 0 };
	ss_buf_lit(&b, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=");
	ss_buf_str(&b, claim);
	struct ss_str body = ss_buf_to_arena(&b, f->arena);
	if (!url.p || !body.p)
		return ss_fail_mem(f->err);
	return claim.n && ss_google_exchange(f, url, body, NULL, from);
}

bool ss_google_of_json(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from, unsigned level)
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
	return ss_google_of_json(f, n, from, 0);
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
		  take_token(f, ss_buf_get(&r.body), SS_STR("of this machine's service account"));
	ss_buf_free(&r.body);
	return ok;
}

bool ss_google_find(struct ss_google *g, struct ss_arena *arena, unsigned *requests, struct ss_err *err)
{
	struct ss_google_finding f = {
		.g = g, .arena = arena, .requests = requests, .err = err, .scope = SS_GOOGLE_READ
	};
	const char *token = getenv("CLOUDSDK_AUTH_ACCESS_TOKEN");
	*g = (struct ss_google){ .token = SS_STR("") };
	if (token && *token) {
		*g = (struct ss_google){ ss_str_from(token), SS_STR("of the environment"), 0 };
		return true;
	}
	return of_file(&f) && (g->token.n || of_machine(&f));
}
