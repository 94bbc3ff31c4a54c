/* tree.c - see tree.h. */
#include "location/tree_files.h"

#include "base/write.h"
#include "location/fetcher.h"
#include "location/remote.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SHRINK_BYTES ((uint64_t)256 << 20)

/* ---- fetching ---- */

static struct ss_connection *take_connection(struct ss_tree *t, struct ss_err *err)
{
	pthread_mutex_lock(&t->lock);
	if (t->owner != getpid())
		t->nidle = 0;
	t->owner = getpid();
	struct ss_connection *c = t->nidle ? t->idle[--t->nidle] : NULL;
	pthread_mutex_unlock(&t->lock);
	return c ? c : ss_connection_open(err);
}

static void leave_connection(struct ss_tree *t, struct ss_connection *c)
{
	pthread_mutex_lock(&t->lock);
	bool kept = t->nidle < SS_TREE_IDLE;
	if (kept)
		t->idle[t->nidle++] = c;
	pthread_mutex_unlock(&t->lock);
	if (!kept)
		ss_connection_close(c);
}

/* From the bucket into e->part. */
static bool download(struct ss_tree *t, const struct ss_tree_file *f, const char *url, struct ss_cache_entry *e, uint64_t bytes,
	struct ss_arena *a,
		     struct ss_err *err)
{
	struct ss_bucket *b = t->bucket;
	struct ss_auth auth;
	struct ss_str shown = ss_arena_printf(a, SS_FMT SS_FMT "/" SS_FMT, SS_ARG(b->kind->scheme), SS_ARG(b->name),
		SS_ARG(f->object.key));
	struct ss_download d = { .auth = &auth, .named = shown.p, .most = bytes < f->object.bytes ? bytes : 0 };
	if (!shown.p)
		return ss_fail_mem(err);
	if (!b->kind->auth(b, &auth, a, err) || !ss_cache_begin(e, err))
		return false;
	struct ss_connection *c = take_connection(t, err);
	bool ok = c && ss_download(c, url, e->part, &d, err);
	if (c)
		leave_connection(t, c);
	b->requests += d.requests;
	if (ok && (d.bytes != f->object.bytes || (b->kind->tagged && f->object.tag.n && !ss_str_is(f->object.tag, d.etag))))
		return ss_fail(err, SS_ELATER, "'%s' changed after it was listed: try again", shown.p);
	pthread_mutex_lock(&t->lock);
	t->cost.fetched_bytes += ok ? (d.most ? d.most : d.bytes) : 0;
	t->cost.nfetched += ok && !d.most;
	pthread_mutex_unlock(&t->lock);
	return ok;
}

/* To where it belongs, unless the list has another version by now. */
static bool place(struct ss_tree *t, struct ss_tree_file *f, struct ss_cache_entry *e, const char *name, uint64_t bytes,
	struct ss_err *err)
{
	bool whole = bytes >= f->object.bytes, ok = true;
	pthread_mutex_lock(&t->lock);
	if (t->ended)
		ok = ss_fail(err, SS_EIO, "the server has ended");
	else if (!f->gone)
		ok = whole ? ss_tree_place_whole(t, f, e->fd, name, err) : ss_tree_place_begin(t, f, e->fd, name, bytes, err);
	pthread_mutex_unlock(&t->lock);
	return ok;
}

static void count(struct ss_tree *t, struct ss_cache_entry *e, bool known, bool whole, uint64_t grown_bytes)
{
	pthread_mutex_lock(&t->lock);
	t->cost.nkept += known && whole;
	t->grown_bytes += grown_bytes;
	bool shrinks = t->grown_bytes > SHRINK_BYTES || t->grown_bytes > ss_cache_limit_bytes() / 8;
	if (shrinks)
		t->grown_bytes = 0;
	pthread_mutex_unlock(&t->lock);
	if (shrinks)
		ss_cache_shrink(e->root);
}

/* From the cache, or into it, and then to its place. */
static bool fetch_by_cache(struct ss_tree *t, struct ss_tree_file *f, uint64_t bytes, struct ss_arena *a, struct ss_err *err)
{
	struct ss_cache_entry e;
	struct ss_bucket *b = t->bucket;
	struct ss_str tag = f->object.tag, url = b->kind->url(b, f->object.key, tag, a);
	struct ss_str name = ss_location_file_name(f->path, a);
	bool whole = bytes >= f->object.bytes;
	/* Of one address in all versions; an object that was fetched by itself has another tag where the list has no ETags. */
	struct ss_str any = b->kind->url(b, f->object.key, SS_STR(""), a);
	struct ss_str key = !any.p || (whole && b->kind->tagged) ? any : ss_arena_printf(a, SS_FMT "\n%llu", SS_ARG(any),
		(unsigned long long)(whole ? 0 : bytes));
	if (!url.p || !name.p || !key.p)
		return ss_fail_mem(err);
	bool ok = ss_cache_open(&e, key.p, name, a, err);
	bool known = ok && tag.n && ss_str_is(tag, e.tag), keeps = tag.n && f->object.bytes <= ss_cache_limit_bytes();
	ok = ok && (known || download(t, f, url.p, &e, bytes, a, err));
	if (ok && !known && keeps)
		ok = ss_cache_keep(&e, tag.p, err);
	ok = ok && place(t, f, &e, known || keeps ? strrchr(e.path.p, '/') + 1 : "part", bytes, err);
	if (ok)
		ss_cache_touch(&e);
	if (ok)
		count(t, &e, known, whole, known ? 0 : bytes);
	ss_cache_close(&e);
	return ok;
}

static struct ss_tree_file *find_file(struct ss_tree *t, struct ss_str path)
{
	size_t lo = 0, hi = t->files.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = ss_str_cmp(t->files.v[mid]->path, path);
		if (order == 0)
			return t->files.v[mid];
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* As many bytes as are fetched for who wants so many: what is there is known by the file's mode. */
static uint64_t wanted(const struct ss_tree_file *f, uint64_t bytes)
{
	uint64_t most = bytes <= SS_TREE_HEAD ? SS_TREE_HEAD : bytes <= SS_TREE_BEGIN ? SS_TREE_BEGIN : f->object.bytes;
	return most < f->object.bytes ? most : f->object.bytes;
}

/* *again: the list has another version now. */
static bool fetch_file(struct ss_tree *t, struct ss_tree_file *f, uint64_t bytes, bool *again, struct ss_err *err)
{
	struct ss_arena a = { 0 };
	bool ok = true;
	f->users++;
	while (f->busy)
		pthread_cond_wait(&t->changed, &t->lock);
	uint64_t want = wanted(f, bytes);
	if (!f->gone && f->have < want) {
		f->busy = true;
		pthread_mutex_unlock(&t->lock);
		ok = fetch_by_cache(t, f, want, &a, err);
		ss_arena_release(&a);
		pthread_mutex_lock(&t->lock);
		f->busy = false;
		pthread_cond_broadcast(&t->changed);
	}
	*again = ok && f->gone;
	if (!--f->users && f->gone)
		ss_tree_file_free(f);
	return ok;
}

bool ss_tree_fetch(struct ss_tree *t, struct ss_str below, uint64_t bytes, struct ss_err *err)
{
	bool ok = true, again = true;
	pthread_mutex_lock(&t->lock);
	while (ok && again) {
		struct ss_tree_file *f = find_file(t, below);
		again = false;
		ok = !f || fetch_file(t, f, bytes, &again, err);
	}
	pthread_mutex_unlock(&t->lock);
	return ok;
}

static bool provide(void *arg, const char *path, uint64_t bytes, struct ss_err *err)
{
	struct ss_tree *t = arg;
	return ss_tree_fetch(t, ss_str_sub(ss_str_from(path), t->root.n + 1, SIZE_MAX), bytes, err);
}

/* ---- the tree ---- */

/* The directory is called as the bucket and its path are: names of runs come from there. */
static bool make_root(struct ss_tree *t, struct ss_err *err)
{
	struct ss_bucket *b = t->bucket;
	char parent[PATH_MAX];
	if (!ss_cache_root(parent, sizeof(parent) - 5, err))
		return false;
	strcat(parent, "open");
	if (!ss_scratch_open_in(&t->scratch, parent, err))
		return false;
	char *real = realpath(t->scratch.path, NULL);
	t->root = real ? ss_arena_printf(&t->arena, "%s/" SS_FMT "%s" SS_FMT "/", real, SS_ARG(b->name), b->path.n ? "/" : "",
		SS_ARG(b->path))
		: (struct ss_str){ NULL, 0 };
	free(real);
	if (!t->root.p)
		return ss_fail_mem(err);
	if (!ss_make_dirs_above((char *)(uintptr_t)t->root.p, NULL))
		return ss_fail(err, SS_EIO, "cannot make '" SS_FMT "': %s. STEPSCOPE_CACHE sets another place", SS_ARG(t->root),
			strerror(errno));
	((char *)(uintptr_t)t->root.p)[--t->root.n] = '\0';
	return true;
}

static bool fill(struct ss_tree *t, struct ss_location *p, struct ss_err *err)
{
	struct ss_tree_change change;
	return make_root(t, err) && ss_tree_list(t, p, &change, err);
}

bool ss_tree_open(struct ss_tree **tree, struct ss_bucket *b, struct ss_location *p, struct ss_err *err)
{
	struct ss_tree *t = calloc(1, sizeof(*t));
	*tree = NULL;
	if (!t || (b->path.n && !ss_tree_is_path(b->path))) {
		bool memory = t;
		free(t);
		return memory ? ss_fail(err, SS_EINVAL,
			"'" SS_FMT "' cannot be shown as a directory: it has '.', '..' or an empty part",
					SS_ARG(b->named)) : ss_fail_mem(err);
	}
	t->bucket = b;
	t->scratch.fd = -1;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	bool ok = fill(t, p, err);
	if (!ok || (!t->cost.nlisted && b->path.n)) {
		t->bucket = NULL;
		ss_tree_close(t);
		return ok;
	}
	t->provider = (struct ss_provider){ .below = t->root, .provide = provide, .has = ss_tree_has, .arg = t };
	ss_provider_add(&t->provider);
	*tree = t;
	return true;
}

static void forget_files(struct ss_tree *t)
{
	for (size_t i = 0; i < t->files.n; i++)
		ss_tree_file_free(t->files.v[i]);
	ss_vec_free(&t->files);
}

bool ss_tree_leave_to_fetcher(struct ss_tree *t, ss_fetcher_fn *run, void (*tell)(struct ss_str text), struct ss_err *err)
{
	struct ss_tree_cost cost = ss_tree_cost(t);
	t->fetcher = ss_fetcher_start(t, &cost, run, tell, err);
	if (!t->fetcher)
		return false;
	/* From here on it is the other process that knows the list and the credentials, and cleans up. */
	ss_provider_remove(&t->provider);
	t->provider.provide = ss_fetcher_provide;
	t->provider.arg = t->fetcher;
	ss_provider_add(&t->provider);
	forget_files(t);
	ss_bucket_close(t->bucket);
	t->bucket = NULL;
	return true;
}

void ss_tree_refresh(struct ss_tree *t, bool waits)
{
	if (t->fetcher)
		ss_fetcher_refresh(t->fetcher, waits);
}

bool ss_tree_notes(struct ss_tree *t, struct ss_store *s, bool *own)
{
	*own = t->fetcher;
	return !*own || ss_fetcher_notes(t->fetcher, s);
}

void ss_tree_close(struct ss_tree *t)
{
	if (!t)
		return;
	if (t->provider.provide)
		ss_provider_remove(&t->provider);
	while (t->nidle && t->owner == getpid())
		ss_connection_close(t->idle[--t->nidle]);
	if (t->fetcher)
		ss_fetcher_end(t->fetcher);
	else
		ss_scratch_close(&t->scratch);
	char root[PATH_MAX];
	if (t->grown_bytes && ss_cache_root(root, sizeof(root), &(struct ss_err){ 0 }))
		ss_cache_shrink(root);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->changed);
	forget_files(t);
	ss_arena_release(&t->arena);
	ss_bucket_close(t->bucket);
	free(t);
}

const char *ss_tree_path(const struct ss_tree *t)
{
	return t->root.p;
}

const char *ss_tree_scratch(const struct ss_tree *t)
{
	return t->fetcher ? NULL : t->scratch.parent;
}

struct ss_tree_cost ss_tree_cost(struct ss_tree *t)
{
	if (t->fetcher)
		return ss_fetcher_cost(t->fetcher);
	pthread_mutex_lock(&t->lock);
	struct ss_tree_cost c = t->cost;
	c.nshown = t->files.n;
	c.requests = t->bucket->requests;
	pthread_mutex_unlock(&t->lock);
	return c;
}
