/* gs.c - Google Cloud Storage, by its JSON interface. An object is asked for in the generation that the list has. */
#include "location/bucket_ask.h"
#include "location/google_credentials.h"
#include "rpc/download.h"
#include "wire/json_tree.h"

#include <stdio.h>
#include <stdlib.h>

#define LIST_BYTES ((size_t)16 << 20)

struct gs {
	struct ss_google who;
	struct ss_str at;	/* "https://storage.googleapis.com" */
};

static bool find_who(struct ss_bucket *b, struct ss_err *err)
{
	struct gs *s = b->own;
	unsigned requests = 0;
	bool ok = ss_google_find(&s->who, &b->arena, &requests, err);
	b->requests += requests;
	return ok && (!b->arena.no_memory || ss_fail_mem(err));
}

/* An emulator asks nobody who he is. */
static bool open_gs(struct ss_bucket *b, struct ss_err *err)
{
	struct gs *s = b->own = SS_NEW(&b->arena, struct gs);
	const char *emulator = getenv("STORAGE_EMULATOR_HOST");
	if (!s)
		return ss_fail_mem(err);
	s->at = SS_STR("https://storage.googleapis.com");
	s->who.token = SS_STR("");
	if (!emulator || !*emulator)
		return find_who(b, err);
	struct ss_str at = ss_str_from(emulator);
	s->at = ss_arena_printf(&b->arena, "%s" SS_FMT, ss_str_contains(at, SS_STR("://")) ? "" : "http://", SS_ARG(at));
	if (!s->at.p)
		return ss_fail_mem(err);
	while (s->at.n && s->at.p[s->at.n - 1] == '/')
		s->at.n--;
	return ss_address_allowed(s->at, err);
}

static struct ss_str url_of(struct ss_bucket *b, struct ss_str key, struct ss_str tag, struct ss_arena *arena)
{
	struct gs *s = b->own;
	struct ss_str name = ss_percent(key, false, arena), generation = ss_percent(tag, false, arena);
	if (!name.p || !generation.p)
		return (struct ss_str){ NULL, 0 };
	return ss_arena_printf(arena, SS_FMT "/storage/v1/b/" SS_FMT "/o/" SS_FMT "?alt=media%s" SS_FMT, SS_ARG(s->at),
		SS_ARG(b->name),
			       SS_ARG(name), tag.n ? "&generation=" : "", SS_ARG(generation));
}

static bool explain(void *arg, const struct ss_refusal *r, struct ss_err *err)
{
	struct ss_bucket *b = arg;
	struct gs *s = b->own;
	pthread_mutex_lock(&b->lock);
	bool nobody = !s->who.token.n;
	char from[300];
	snprintf(from, sizeof(from), SS_FMT, SS_ARG(s->who.from));
	pthread_mutex_unlock(&b->lock);
	if (r->status == 404 || r->status == 410)
		return ss_fail(err, SS_ENOTFOUND, "there is no '%s' (status %u)", r->shown, r->status);
	if (nobody && (r->status == 401 || r->status == 403))
		return ss_fail(err, SS_EIO, "'%s' may not be read without credentials, and none were found (status %u): run "
			"'gcloud auth "
			       "application-default login', or set GOOGLE_APPLICATION_CREDENTIALS", r->shown, r->status);
	if (r->status == 401)
		return ss_fail(err, SS_EIO, "'%s' may not be read (status 401): the credentials %s are not valid, or have expired: "
			"run "
			       "'gcloud auth application-default login', and try again", r->shown, from);
	if (r->status == 403)
		return ss_fail(err, SS_EIO, "'%s' may not be read (status 403): the credentials %s do not allow it; "
			"storage.objects.list "
			       "and storage.objects.get are needed", r->shown, from);
	if (r->status == 412)
		return ss_fail(err, SS_EIO, "'%s' changed while it was fetched: try again", r->shown);
	if (r->status >= 300 && r->status < 400)
		return ss_fail(err, SS_EIO, "'%s' is redirected to another host (status %u); stepscope sends credentials to "
		    "no other host",
			       r->shown, r->status);
	return ss_fail(err, SS_EIO, "'%s' was answered with status %u", r->shown, r->status);
}

static bool auth_of(struct ss_bucket *b, struct ss_auth *auth, struct ss_arena *arena, struct ss_err *err)
{
	struct gs *s = b->own;
	const char **headers = SS_NEW_N(arena, const char *, 3);
	*auth = (struct ss_auth){ .headers = headers, .stays = true, .explain = explain, .arg = b };
	pthread_mutex_lock(&b->lock);
	bool ok = !ss_expires_soon(s->who.expires_ns) || find_who(b, err);
	if (ok && headers) {
		headers[0] = "Accept-Encoding: gzip";	/* the bytes as they are kept, not unpacked on the way */
		struct ss_str token = ss_arena_str(arena, s->who.token);
		headers[1] = token.n ? ss_arena_printf(arena, "Authorization: Bearer %s", token.p).p : NULL;
	}
	pthread_mutex_unlock(&b->lock);
	return ok && (!arena->no_memory || ss_fail_mem(err));
}

/* ---- lists ---- */

static bool take_objects(const struct ss_jnode *items, struct ss_page *page)
{
	for (const struct ss_jnode *n = items ? items->first : NULL; n; n = n->next) {
		struct ss_object o = { ss_jnode_text(n, "name"), ss_jnode_text(n, "generation"), 0, ss_utc_ns(ss_jnode_text(n,
			"updated")) };
		if (!o.key.n || !ss_str_to_u64(ss_jnode_text(n, "size"), &o.bytes) || !ss_vec_push(&page->v, o))
			return false;
	}
	return true;
}

static bool read_list(struct ss_bucket *b, struct ss_str body, struct ss_page *page, struct ss_arena *arena, struct ss_err *err)
{
	struct ss_err why = { 0 };
	body = ss_arena_str(arena, body);
	const struct ss_jnode *n = body.p ? ss_jtree_of_json(body, arena, &why) : NULL;
	const struct ss_jnode *items = ss_jnode_get(n, "items");
	if (arena->no_memory)
		return ss_fail_mem(err);
	bool list = n && n->kind == SS_J_OBJECT && ss_jnode_get(n, "error") == NULL && (!items || items->kind == SS_J_ARRAY);
	if (!list || !take_objects(items, page))
		return ss_fail(err, SS_EFORMAT, "the list of '" SS_FMT "' does not have the format of Google Cloud Storage",
			SS_ARG(b->named));
	page->next = ss_jnode_text(n, "nextPageToken");
	return true;
}

static bool list_page(struct ss_bucket *b, struct ss_str prefix, struct ss_str from, struct ss_arena *arena, struct ss_page *page,
	struct ss_err *err)
{
	struct gs *s = b->own;
	struct ss_auth auth;
	struct ss_reply r;
	*page = (struct ss_page){ .next = SS_STR("") };
	if (!auth_of(b, &auth, arena, err))
		return false;
	struct ss_str token = ss_percent(from, false, arena), below = ss_percent(prefix, false, arena);
	struct ss_str url = ss_arena_printf(arena,
		SS_FMT "/storage/v1/b/" SS_FMT "/o?fields=items(name,size,generation,updated),nextPageToken"
					    "&maxResults=1000&prefix=" SS_FMT "%s" SS_FMT, SS_ARG(s->at), SS_ARG(b->name),
						SS_ARG(below),
					    from.n ? "&pageToken=" : "", SS_ARG(token));
	struct ss_str shown = ss_arena_str(arena, b->named);
	if (!url.p || !shown.p || arena->no_memory)
		return ss_fail_mem(err);
	const struct ss_question q = { .url = url.p, .named = shown.p, .auth = &auth, .limit_bytes = LIST_BYTES,
				       .direct = ss_str_starts(url, SS_STR("http://")) };
	bool ok = ss_bucket_ask(b, &q, &r, err);
	if (ok && r.status == 404)
		ok = ss_fail(err, SS_ENOTFOUND, "there is no bucket '" SS_FMT "' (status 404)", SS_ARG(b->name));
	else if (ok && r.status != 200)
		ok = explain(b, &(struct ss_refusal){ (unsigned)r.status, ss_buf_get(&r.body), "", shown.p }, err);
	ok = ok && read_list(b, ss_buf_get(&r.body), page, arena, err);
	ss_buf_free(&r.body);
	if (!ok)
		ss_vec_free(&page->v);
	return ok;
}

static bool never_again(struct ss_bucket *b)
{
	(void)b;
	return false;
}

const struct ss_bucket_kind ss_bucket_gs = {
	.scheme = SS_STR_INIT("gs://"),
	.open = open_gs,
	.list = list_page,
	.url = url_of,
	.auth = auth_of,
	.again = never_again,
};
