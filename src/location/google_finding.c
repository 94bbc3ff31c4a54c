/* google_finding.c - see google_finding.h. */
#include "location/google_finding.h"

#include "location/bucket.h"
#include "rpc/download.h"

#include <stdio.h>
#include <time.h>

void ss_google_put(struct ss_google_finding *f, struct ss_buf *b, const char *name, struct ss_str value)
{
	ss_buf_printf(b, "%s%s=", b->n ? "&" : "", name);
	ss_buf_str(b, ss_percent(value, false, f->arena));
}

int64_t ss_google_now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec;
}

/* {"access_token": ..., "expires_in": 3599}. */
bool ss_google_take_token(struct ss_google_finding *f, struct ss_str body, struct ss_str from)
{
	struct ss_err why = { 0 };
	body = ss_arena_str(f->arena, body);
	const struct ss_jnode *n = body.p ? ss_jtree_of_json(body, f->arena, &why) : NULL;
	struct ss_str token = ss_jnode_text(n, "access_token");
	int64_t life_s = ss_jnode_int(n, "expires_in", SS_GOOGLE_LIFE_S);
	if (!ss_is_token(token))
		return ss_fail(f->err, SS_EFORMAT, "the answer for the credentials " SS_FMT " holds no token",
			       SS_ARG(from));
	life_s = life_s < 0 ? 0 : life_s > 24 * SS_GOOGLE_LIFE_S ? 24 * SS_GOOGLE_LIFE_S : life_s;
	*f->g = (struct ss_google){ token, from, (ss_google_now_s() + life_s) * 1000000000 };
	return true;
}

void ss_google_put_base64(struct ss_buf *b, struct ss_str s, bool of_url)
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

bool ss_google_exchange(struct ss_google_finding *f, struct ss_str url, struct ss_str body, const char *const *headers,
			struct ss_str from)
{
	const char *all[] = { "Content-Type: application/x-www-form-urlencoded", headers ? headers[0] : NULL, NULL };
	url = ss_arena_str(f->arena, url.n ? url : SS_STR(SS_GOOGLE_TOKENS));
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
	ok = ok && ss_google_take_token(f, ss_buf_get(&r.body), from);
	ss_buf_free(&r.body);
	return ok;
}

struct ss_str ss_google_basic(struct ss_google_finding *f, struct ss_str id, struct ss_str secret)
{
	struct ss_buf plain = { 0 }, b = { 0 };
	ss_buf_str(&plain, id);
	ss_buf_char(&plain, ':');
	ss_buf_str(&plain, secret);
	ss_buf_lit(&b, "Authorization: Basic ");
	ss_google_put_base64(&b, ss_buf_get(&plain), false);
	b.no_memory |= plain.no_memory;
	ss_buf_free(&plain);
	return ss_buf_to_arena(&b, f->arena);
}
