/* s3.c - S3 and what speaks as it does: lists of its version 2, requests signed by libcurl (SigV4), or by nobody. */
#include "location/aws_finding.h"
#include "location/bucket_ask.h"
#include "rpc/download.h"
#include "wire/xml.h"

#include <stdio.h>
#include <stdlib.h>

#define LIST_BYTES ((size_t)16 << 20)
#define OF_NOTHING "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct s3 {
	struct ss_aws who;
	char region[SS_REGION_BYTES];
	char told[SS_REGION_BYTES];	/* the bucket's, as a refusal says; "": none has */
	struct ss_str endpoint;		/* that was set; "": Amazon's */
};

static bool is_region(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");
	return n && !s[n];
}

/* ---- who asks ---- */

static bool find_who(struct ss_bucket *b, struct ss_err *err)
{
	struct s3 *s = b->own;
	unsigned requests = 0;
	bool ok = ss_aws_find(&s->who, &b->arena, &requests, err);
	b->requests += requests;
	b->runs_programs = s->who.of_program;
	return ok && (!b->arena.no_memory || ss_fail_mem(err));
}

static bool open_s3(struct ss_bucket *b, struct ss_err *err)
{
	struct s3 *s = b->own = SS_NEW(&b->arena, struct s3);
	if (!s)
		return ss_fail_mem(err);
	if (!find_who(b, err))
		return false;
	struct ss_str region = s->who.region.n ? s->who.region : SS_STR("us-east-1"), at = s->who.endpoint;
	snprintf(s->region, sizeof(s->region), SS_FMT, SS_ARG(region));
	if (!is_region(s->region))
		return ss_fail(err, SS_EINVAL, "'%s' is not a region of AWS: correct AWS_REGION or the profile", s->region);
	while (at.n && at.p[at.n - 1] == '/')
		at.n--;
	s->endpoint = at;
	if (ss_str_chr(at, '@') != SS_NPOS)
		return ss_fail(err, SS_EINVAL, "the endpoint of S3 (AWS_ENDPOINT_URL or endpoint_url of the profile) has a name or "
			       "a password: leave them out; AWS_ACCESS_KEY_ID and the profile give the keys");
	return !at.n || ss_address_allowed(at, err);
}

/* "https://BUCKET.s3.REGION.amazonaws.com"; of another endpoint, and of a name with dots, the bucket begins the path. */
static struct ss_str place_of(struct ss_bucket *b, struct ss_arena *arena)
{
	struct s3 *s = b->own;
	const char *china = strncmp(s->region, "cn-", 3) == 0 ? ".cn" : "";
	pthread_mutex_lock(&b->lock);
	struct ss_str place = s->endpoint.n ? ss_arena_printf(arena, SS_FMT "/" SS_FMT, SS_ARG(s->endpoint), SS_ARG(b->name))
		: ss_str_chr(b->name, '.') != SS_NPOS
		? ss_arena_printf(arena, "https://s3.%s.amazonaws.com%s/" SS_FMT, s->region, china, SS_ARG(b->name))
		: ss_arena_printf(arena, "https://" SS_FMT ".s3.%s.amazonaws.com%s", SS_ARG(b->name), s->region, china);
	pthread_mutex_unlock(&b->lock);
	return place;
}

static struct ss_str url_of(struct ss_bucket *b, struct ss_str key, struct ss_str tag, struct ss_arena *arena)
{
	struct ss_str place = place_of(b, arena), path = ss_percent(key, true, arena);
	(void)tag;
	if (!place.p || !path.p)
		return (struct ss_str){ NULL, 0 };
	return ss_arena_printf(arena, SS_FMT "/" SS_FMT, SS_ARG(place), SS_ARG(path));
}

/* ---- refusals ---- */

static void take_region(struct s3 *s, const struct ss_refusal *r)
{
	struct ss_arena a = { 0 };
	struct ss_str region = r->region[0] ? ss_str_from(r->region) : ss_xml_find(r->body, "Region", &a);
	snprintf(s->told, sizeof(s->told), SS_FMT, SS_ARG(region));
	if (region.n >= sizeof(s->told) || !is_region(s->told) || strcmp(s->told, s->region) == 0)
		s->told[0] = '\0';
	ss_arena_release(&a);
}

static const struct {
	const char *code;
	const char *says;
} refusals[] = {
	{ "ExpiredToken", "have expired: get new ones (for example with 'aws sso login'), and try again" },
	{ "TokenRefreshRequired", "have expired: get new ones (for example with 'aws sso login'), and try again" },
	{ "RequestExpired", "have expired: get new ones (for example with 'aws sso login'), and try again" },
	{ "InvalidAccessKeyId", "are not known there: check the account and the endpoint" },
	{ "InvalidToken", "are not known there: check the account and the endpoint" },
	{ "InvalidClientTokenId", "are not known there: check the account and the endpoint" },
	{ "SignatureDoesNotMatch", "are not valid: the secret does not belong to the key" },
	{ "RequestTimeTooSkewed", "are refused because the clock of this machine is wrong" },
	{ "AccessDenied", "do not allow it: s3:ListBucket and s3:GetObject are needed" },
	{ "AllAccessDisabled", "do not allow it: all access to the bucket is switched off" },
};

static bool explain_nobody(const struct ss_refusal *r, const char *code, struct ss_err *err)
{
	return ss_fail(err, SS_EIO, "'%s' may not be read without credentials, and none were found (status %u%s%s): "
		       "set AWS_PROFILE, or "
		       "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", r->shown, r->status, code[0] ? " " : "", code);
}

/* With the lock held. */
static bool explain_known(struct ss_bucket *b, const struct ss_refusal *r, const char *code, struct ss_err *err)
{
	struct s3 *s = b->own;
	if (strcmp(code, "NoSuchBucket") == 0)
		return ss_fail(err, SS_ENOTFOUND, "there is no bucket '" SS_FMT "' (NoSuchBucket)", SS_ARG(b->name));
	if (strcmp(code, "InvalidObjectState") == 0)
		return ss_fail(err, SS_EIO, "'%s' is archived (InvalidObjectState): restore it first", r->shown);
	if (r->status == 404 || r->status == 410)
		return ss_fail(err, SS_ENOTFOUND, "there is no '%s' (status %u)", r->shown, r->status);
	if (r->status == 412)
		return ss_fail(err, SS_EIO, "'%s' changed while it was fetched: try again", r->shown);
	if (s->told[0])
		return ss_fail(err, SS_EIO, "'%s' is in the region %s, and was asked for in %s: set AWS_REGION=%s", r->shown,
			       s->told, s->region, s->told);
	if (r->status >= 300 && r->status < 400)
		return ss_fail(err, SS_EIO, "'%s' is redirected to another host (status %u%s%s); stepscope sends credentials "
		    "to no other host",
			       r->shown, r->status, code[0] ? " " : "", code);
	for (size_t i = 0; s->who.key.n && i < SS_COUNT(refusals); i++)
		if (strcmp(code, refusals[i].code) == 0)
			return ss_fail(err, SS_EIO, "'%s' may not be read (%s): the credentials " SS_FMT " %s", r->shown, code,
				       SS_ARG(s->who.from), refusals[i].says);
	if (!s->who.key.n && (r->status == 401 || r->status == 403))
		return explain_nobody(r, code, err);
	if (r->status == 401 || r->status == 403)
		return ss_fail(err, SS_EIO, "'%s' may not be read with the credentials " SS_FMT " (status %u%s%s)", r->shown,
			       SS_ARG(s->who.from), r->status, code[0] ? " " : "", code);
	return ss_fail(err, SS_EIO, "'%s' was answered with status %u%s%s", r->shown, r->status, code[0] ? " " : "", code);
}

static bool explain(void *arg, const struct ss_refusal *r, struct ss_err *err)
{
	struct ss_bucket *b = arg;
	struct s3 *s = b->own;
	char code[SS_AWS_CODE_BYTES];
	ss_aws_code_of(r->body, code);
	pthread_mutex_lock(&b->lock);
	if (r->status == 301 || r->status == 307 || r->status == 400 || r->status == 403)
		take_region(s, r);
	explain_known(b, r, code, err);
	pthread_mutex_unlock(&b->lock);
	return false;
}

/* The bucket is in another region: ask there, and tell the user. */
static bool ask_again(struct ss_bucket *b)
{
	struct s3 *s = b->own;
	pthread_mutex_lock(&b->lock);
	bool moves = s->told[0] && !b->note;
	if (moves) {
		struct ss_str text = ss_arena_printf(&b->arena,
			"the bucket is in the region %s, not in %s: AWS_REGION=%s saves requests",
						     s->told, s->region, s->told);
		b->note = text.p;
		memcpy(s->region, s->told, sizeof(s->region));
		s->told[0] = '\0';
		moves = text.p;
	}
	pthread_mutex_unlock(&b->lock);
	return moves;
}

/* ---- requests ---- */

/* "Host: 127.0.0.1:9000": libcurls sign it without the port if it is not among the headers. */
static struct ss_str host_header(struct ss_bucket *b, struct ss_arena *arena)
{
	struct ss_str place = place_of(b, arena);
	size_t begin = ss_str_find(place, SS_STR("://"));
	struct ss_str host = ss_str_sub(place, begin == SS_NPOS ? 0 : begin + 3, place.n);
	return ss_arena_printf(arena, "Host: " SS_FMT, SS_ARG(ss_str_sub(host, 0, ss_str_chr(host, '/'))));
}

static bool auth_of(struct ss_bucket *b, struct ss_auth *auth, struct ss_arena *arena, struct ss_err *err)
{
	struct s3 *s = b->own;
	struct ss_str host = host_header(b, arena);
	const char **headers = SS_NEW_N(arena, const char *, 4);
	*auth = (struct ss_auth){ .headers = headers, .stays = true, .explain = explain, .arg = b };
	pthread_mutex_lock(&b->lock);
	bool ok = !ss_expires_soon(s->who.expires_ns) || find_who(b, err);
	if (ok && s->who.key.n && headers) {
		struct ss_str session = ss_arena_printf(arena, "x-amz-security-token: %s", ss_arena_str(arena, s->who.session).p);
		headers[0] = OF_NOTHING;
		headers[1] = host.p;
		headers[2] = s->who.session.n ? session.p : NULL;
		auth->sigv4 = ss_arena_printf(arena, "aws:amz:%s:s3", s->region).p;
		auth->user = ss_arena_str(arena, s->who.key).p;
		auth->password = ss_arena_str(arena, s->who.secret).p;
	}
	pthread_mutex_unlock(&b->lock);
	return ok && (!arena->no_memory || ss_fail_mem(err));
}

/* ---- lists ---- */

static bool take_object(struct ss_xml *x, struct ss_page *page, struct ss_arena *arena)
{
	struct ss_object o = { .tag = SS_STR("") };
	struct ss_xmltok t;
	struct ss_str size = SS_STR(""), time = SS_STR("");
	for (unsigned own = x->depth; x->depth >= own && ss_xml_next(x, &t);) {
		struct ss_str *to = t.kind != SS_XML_OPEN		  ? NULL
				    : ss_str_is(t.text, "Key")		  ? &o.key
				    : ss_str_is(t.text, "ETag")		  ? &o.tag
				    : ss_str_is(t.text, "Size")		  ? &size
				    : ss_str_is(t.text, "LastModified") ? &time
									  : NULL;
		if (to)
			*to = ss_xml_text(x, arena);
	}
	o.mtime_ns = ss_utc_ns(time);
	if (x->bad || !o.key.n || !ss_str_to_u64(size, &o.bytes))
		return false;
	return ss_vec_push(&page->v, o);
}

static bool read_list(struct ss_bucket *b, struct ss_str body, struct ss_page *page, struct ss_arena *arena, struct ss_err *err)
{
	struct ss_xml x = ss_xml_of(body);
	struct ss_xmltok t;
	bool is_list = false, ok = true, more = false;
	while (ok && ss_xml_next(&x, &t)) {
		if (t.kind != SS_XML_OPEN)
			continue;
		is_list |= ss_str_is(t.text, "ListBucketResult");
		if (ss_str_is(t.text, "Contents"))
			ok = take_object(&x, page, arena);
		else if (ss_str_is(t.text, "IsTruncated"))
			more = ss_str_is(ss_xml_text(&x, arena), "true");
		else if (ss_str_is(t.text, "NextContinuationToken"))
			page->next = ss_xml_text(&x, arena);
	}
	if (arena->no_memory)
		return ss_fail_mem(err);
	if (!ok || x.bad || !is_list || (more && !page->next.n))
		return ss_fail(err, SS_EFORMAT,
			"the list of '" SS_FMT "' does not have the format of S3: check that this is the address of an S3 server",
			       SS_ARG(b->named));
	if (!more)
		page->next = SS_STR("");
	return true;
}

static bool list_page(struct ss_bucket *b, struct ss_str prefix, struct ss_str from, struct ss_arena *arena, struct ss_page *page,
		      struct ss_err *err)
{
	struct ss_auth auth;
	struct ss_reply r;
	*page = (struct ss_page){ .next = SS_STR("") };
	if (!auth_of(b, &auth, arena, err))
		return false;
	/* In the order of names, in which it is signed. */
	struct ss_str place = place_of(b, arena), token = ss_percent(from, false, arena), below = ss_percent(prefix, false, arena);
	struct ss_str url = ss_arena_printf(arena, SS_FMT "%s?%s" SS_FMT "%slist-type=2&prefix=" SS_FMT, SS_ARG(place),
					    ((struct s3 *)b->own)->endpoint.n || ss_str_chr(b->name, '.') != SS_NPOS ? "" : "/",
					    from.n ? "continuation-token=" : "", SS_ARG(token), from.n ? "&" : "", SS_ARG(below));
	if (!url.p || arena->no_memory)
		return ss_fail_mem(err);
	struct ss_str shown = ss_arena_str(arena, b->named);
	const struct ss_question q = { .url = url.p, .named = shown.p, .auth = &auth, .limit_bytes = LIST_BYTES,
				       .direct = ss_str_starts(url, SS_STR("http://")) };
	bool ok = ss_bucket_ask(b, &q, &r, err);
	if (ok && r.status != 200)
		ok = explain(b, &(struct ss_refusal){ (unsigned)r.status, ss_buf_get(&r.body), r.region, shown.p }, err);
	ok = ok && read_list(b, ss_buf_get(&r.body), page, arena, err);
	ss_buf_free(&r.body);
	if (!ok)
		ss_vec_free(&page->v);
	return ok;
}

const struct ss_bucket_kind ss_bucket_s3 = {
	.scheme = SS_STR_INIT("s3://"),
	.open = open_s3,
	.list = list_page,
	.url = url_of,
	.auth = auth_of,
	.again = ask_again,
	.tagged = true,
};
