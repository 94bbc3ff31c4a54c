/* google_credentials.c - see google_credentials.h. */
#include "location/google_credentials.h"

#include "location/bucket.h"
#include "rpc/download.h"
#include "rpc/fetch.h"
#include "rpc/sign.h"
#include "wire/json_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FILE_BYTES ((size_t)1 << 20)
#define MACHINE_MS 1000L	/* elsewhere nothing answers at all */
#define LIFE_S 3600
#define SCOPE "https://www.googleapis.com/auth/devstorage.read_only"
#define TOKENS "https://oauth2.googleapis.com/token"

struct finding {
	struct ss_google *g;
	struct ss_arena *arena;
	unsigned *requests;
	struct ss_err *err;
};

static int64_t now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec;
}

/* {"access_token": ..., "expires_in": 3599}. */
static bool take_token(struct finding *f, struct ss_str body, struct ss_str from)
{
	struct ss_err why = { 0 };
	body = ss_arena_str(f->arena, body);
	const struct ss_jnode *n = body.p ? ss_jtree_of_json(body, f->arena, &why) : NULL;
	struct ss_str token = ss_jnode_text(n, "access_token");
	int64_t life_s = ss_jnode_int(n, "expires_in", LIFE_S);
	for (size_t i = 0; i < token.n; i++)
		if ((unsigned char)token.p[i] <= ' ' || (unsigned char)token.p[i] > '~')
			token.n = 0;
	if (!token.n)
		return ss_fail(f->err, SS_EFORMAT, "the answer for the credentials " SS_FMT " holds no token", SS_ARG(from));
	life_s = life_s < 0 ? 0 : life_s > 24 * LIFE_S ? 24 * LIFE_S : life_s;
	*f->g = (struct ss_google){ token, from, (now_s() + life_s) * 1000000000 };
	return true;
}

/* ---- application default credentials ---- */

/* What Google's token service gives for this. */
static bool exchange(struct finding *f, const char *url, const char *body, struct ss_str from)
{
	static const char *const headers[] = { "Content-Type: application/x-www-form-urlencoded", NULL };
	const struct ss_question q = { .url = url, .named = "Google's token service", .body = body, .headers = headers };
	struct ss_reply r;
	if (!ss_address_allowed(ss_str_from(url), f->err))
		return false;
	++*f->requests;
	bool ok = ss_ask(&q, &r, f->err);
	if (ok && r.status != 200 && ss_str_contains(ss_buf_get(&r.body), SS_STR("invalid_grant")))
		ok = ss_fail(f->err, SS_EIO, "the credentials " SS_FMT " have expired or were revoked (invalid_grant): run 'gcloud "
			"auth "
			     "application-default login', and try again", SS_ARG(from));
	else if (ok && r.status != 200)
		ok = ss_fail(f->err, SS_EIO, "Google's token service refuses the credentials " SS_FMT " (status %ld)", SS_ARG(from),
			r.status);
	ok = ok && take_token(f, ss_buf_get(&r.body), from);
	ss_buf_free(&r.body);
	return ok;
}

static bool of_user(struct finding *f, const struct ss_jnode *n, struct ss_str from)
{
	static const char *const names[] = { "client_id", "client_secret", "refresh_token" };
	struct ss_buf b = { 0 };
	struct ss_str url = ss_jnode_text(n, "token_uri");
	ss_buf_lit(&b, "grant_type=refresh_token");
	for (size_t i = 0; i < SS_COUNT(names); i++) {
		ss_buf_printf(&b, "&%s=", names[i]);
		ss_buf_str(&b, ss_percent(ss_jnode_text(n, names[i]), false, f->arena));
	}
	struct ss_str body = ss_buf_to_arena(&b, f->arena);
	url = ss_arena_str(f->arena, url.n ? url : SS_STR(TOKENS));
	return body.p && url.p ? exchange(f, url.p, body.p, from) : ss_fail_mem(f->err);
}

/* Base 64 in the letters of URLs, without "=". */
static void put_base64(struct ss_buf *b, struct ss_str s)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	for (size_t i = 0; i < s.n; i += 3) {
		uint32_t v = 0;
		size_t n = s.n - i < 3 ? s.n - i : 3;
		for (size_t k = 0; k < 3; k++)
			v = v << 8 | (k < n ? (unsigned char)s.p[i + k] : 0);
		for (size_t k = 0; k <= n; k++)
			ss_buf_char(b, letters[v >> (18 - 6 * k) & 63]);
	}
}

/* A claim of the account, signed with its key: "HEAD.CLAIMS.SIGNATURE". */
static struct ss_str signed_claim(struct finding *f, const struct ss_jnode *n, struct ss_str url)
{
	struct ss_buf claims = { 0 }, all = { 0 };
	char signature[SS_SIGNATURE_BYTES];
	size_t bytes = 0;
	int64_t now = now_s();
	ss_buf_lit(&claims, "{\"iss\":");
	ss_buf_json_str(&claims, ss_jnode_text(n, "client_email"));
	ss_buf_lit(&claims, ",\"scope\":\"" SCOPE "\",\"aud\":");
	ss_buf_json_str(&claims, url);
	ss_buf_printf(&claims, ",\"iat\":%lld,\"exp\":%lld}", (long long)now, (long long)now + LIFE_S);
	put_base64(&all, SS_STR("{\"alg\":\"RS256\",\"typ\":\"JWT\"}"));
	ss_buf_char(&all, '.');
	put_base64(&all, ss_buf_get(&claims));
	bool ok = !claims.no_memory && !all.no_memory ? ss_sign_rs256(ss_jnode_text(n, "private_key"), ss_buf_get(&all), signature,
		&bytes, f->err)
		: ss_fail_mem(f->err);
	ss_buf_char(&all, '.');
	put_base64(&all, (struct ss_str){ signature, bytes });
	ss_buf_free(&claims);
	struct ss_str text = ss_buf_to_arena(&all, f->arena);
	return ok ? text : SS_STR("");
}

static bool of_account(struct finding *f, const struct ss_jnode *n, struct ss_str from)
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
	return claim.n && exchange(f, url.p, body.p, from);
}

static bool of_text(struct finding *f, struct ss_str text, const char *path)
{
	struct ss_err why = { 0 };
	const struct ss_jnode *n = ss_jtree_of_json(text, f->arena, &why);
	struct ss_str type = n ? ss_jnode_text(n, "type") : SS_STR(""), from = ss_arena_printf(f->arena, "of '%.200s'", path);
	if (!from.p || f->arena->no_memory)
		return ss_fail_mem(f->err);
	if (ss_str_is(type, "authorized_user"))
		return of_user(f, n, from);
	if (ss_str_is(type, "service_account"))
		return of_account(f, n, from);
	return ss_fail(f->err, SS_EINVAL,
		"'%.200s' holds no credentials of a user or a service account, and stepscope knows no others: "
		       "set CLOUDSDK_AUTH_ACCESS_TOKEN to what 'gcloud auth print-access-token' prints", path);
}

static bool of_file(struct finding *f)
{
	const char *set = getenv("GOOGLE_APPLICATION_CREDENTIALS"), *config = getenv("CLOUDSDK_CONFIG"), *home = getenv("HOME");
	const char *usual = "application_default_credentials.json";
	struct ss_str path = set && *set ? ss_arena_str(f->arena, ss_str_from(set))
		: config && *config ? ss_arena_printf(f->arena, "%s/%s", config, usual)
		: home ? ss_arena_printf(f->arena, "%s/.config/gcloud/%s", home, usual) : SS_STR("");
	if (!path.p)
		return ss_fail_mem(f->err);
	struct ss_str text = path.n ? ss_small_file(path.p, FILE_BYTES, f->arena) : SS_STR("");
	if (text.p && !text.n)
		return !set || !*set ||
		       ss_fail(f->err, SS_EIO, "cannot read '%.200s', which GOOGLE_APPLICATION_CREDENTIALS names", set);
	return text.p ? of_text(f, text, path.p) : ss_fail_mem(f->err);
}

/* ---- machines of Google's ---- */

static bool of_machine(struct finding *f)
{
	static const char *const headers[] = { "Metadata-Flavor: Google", NULL };
	const char *host = getenv("GCE_METADATA_HOST"), *off = getenv("NO_GCE_CHECK");
	struct ss_str url = ss_arena_printf(f->arena, "http://%s/computeMetadata/v1/instance/service-accounts/default/token",
					    host && *host ? host : "metadata.google.internal");
	struct ss_reply r;
	struct ss_err why = { 0 };
	if (!url.p)
		return ss_fail_mem(f->err);
	if (off && ss_str_ieq(ss_str_from(off), SS_STR("true")))
		return true;
	const struct ss_question q = { .url = url.p, .headers = headers, .direct = true,
				       .timeout_ms = ss_patience_ms("GCE_METADATA_TIMEOUT", MACHINE_MS) };
	++*f->requests;
	bool ok = !ss_ask(&q, &r, &why) || r.status != 200 || take_token(f, ss_buf_get(&r.body),
		SS_STR("of this machine's service account"));
	ss_buf_free(&r.body);
	return ok;
}

bool ss_google_find(struct ss_google *g, struct ss_arena *arena, unsigned *requests, struct ss_err *err)
{
	struct finding f = { .g = g, .arena = arena, .requests = requests, .err = err };
	const char *token = getenv("CLOUDSDK_AUTH_ACCESS_TOKEN");
	*g = (struct ss_google){ .token = SS_STR("") };
	if (token && *token) {
		*g = (struct ss_google){ ss_str_from(token), SS_STR("of the environment"), 0 };
		return true;
	}
	return of_file(&f) && (g->token.n || of_machine(&f));
}
