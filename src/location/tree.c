/* tree.c - see tree.h. */
#include "location/tree.h"

#include "base/provide.h"
#include "base/system.h"
#include "base/write.h"
#include "location/bucket.h"
#include "location/remote.h"
#include "location/unpack.h"
#include "rpc/download.h"
#include "wire/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_PAGES 2000		/* of a list: two million objects */
#define MOST_FILES 200000
#define PIECE_BYTES ((size_t)1 << 16)
#define SHRINK_BYTES ((uint64_t)256 << 20)
#define IDLE 4			/* connections that are kept: as many files are fetched at once */
#define MOST_HEAD_BYTES ((uint64_t)4 << 20)	/* of a beginning that is fetched alone */

struct file {
	struct ss_str path;	/* below the tree, NUL-terminated */
	struct ss_object object;
	uint64_t have;		/* bytes from its begin on that are there */
	bool busy;		/* somebody fetches */
};

struct ss_tree {
	struct ss_bucket *bucket;
	struct ss_scratch scratch;
	struct ss_str root;	/* canonical */
	struct ss_provider provider;
	SS_VEC(struct file) files;	/* by path */
	pthread_mutex_t lock;
	pthread_cond_t changed;	/* a file is no longer busy */
	struct ss_connection *idle[IDLE];	/* those that nobody uses */
	size_t nidle;
	uint64_t grown_bytes;	/* of the cache, since it was last held to its limit */
	pid_t owner;		/* whose they are: a process that was forked does not share them */
	struct ss_tree_cost cost;
	struct ss_arena arena;
};

/* ---- fetching ---- */

static int64_t shorter(uint64_t a, uint64_t b)
{
	return (int64_t)(a < b ? a : b);
}

static void set_time(int fd, int64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	const struct timespec times[] = { t, t };
	if (ns > 0)
		(void)futimens(fd, times);
}

static bool copy(int from, int to, int64_t bytes)
{
	char piece[PIECE_BYTES];
	for (int64_t at = 0; at < bytes;) {
		ssize_t n = pread(from, piece, (size_t)shorter(sizeof(piece), (uint64_t)(bytes - at)), at);
		if (n <= 0 || pwrite(to, piece, (size_t)n, at) != n)
			return false;
		at += n;
	}
	return true;
}

/* All of it: the file of the cache takes the place of the empty one, as a link, or copied where there can be none. */
static bool place_whole(const struct file *f, int dir, const char *name, const char *path, struct ss_err *err)
{
	char part[PATH_MAX];
	struct stat above;
	bool ok = snprintf(part, sizeof(part), "%s.part", path) < (int)sizeof(part);
	char *slash = ok ? strrchr(part, '/') : NULL;
	if (slash)
		*slash = '\0';
	int home = slash ? open(part, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (slash)
		*slash = '/';
	/* The directory keeps its time: nothing has come or gone. */
	bool timed = home >= 0 && fstat(home, &above) == 0;
	(void)unlink(part);
	if (ok && linkat(dir, name, AT_FDCWD, part, 0) != 0) {
		int from = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), to = open(part,
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		ok = from >= 0 && to >= 0 && copy(from, to, (int64_t)f->object.bytes);
		if (to >= 0)
			set_time(to, f->object.mtime_ns);
		if (from >= 0)
			close(from);
		ok = to >= 0 && close(to) == 0 && ok;
	}
	ok = ok && rename(part, path) == 0;
	if (!ok)
		ss_fail(err, SS_EIO, "cannot write '%s': %s", path, strerror(errno));
	if (timed)
		set_time(home, ss_mtime_ns(&above));
	if (home >= 0)
		close(home);
	return ok;
}

/* The first `bytes`, into the file as it stands. */
static bool place_begin(const struct file *f, int dir, const char *name, const char *path, uint64_t bytes, struct ss_err *err)
{
	int from = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), to = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	bool ok = from >= 0 && to >= 0 && copy(from, to, (int64_t)bytes);
	if (to >= 0)
		set_time(to, f->object.mtime_ns);
	if (from >= 0)
		close(from);
	ok = to >= 0 && close(to) == 0 && ok;
	return ok || ss_fail(err, SS_EIO, "cannot write '%s': %s", path, strerror(errno));
}

/* A tag that the cache can write down. */
static bool is_tag(struct ss_str tag)
{
	for (size_t i = 0; i < tag.n; i++)
		if ((unsigned char)tag.p[i] < ' ')
			return false;
	return tag.n && tag.n < SS_CACHE_TAG_BYTES;
}

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
	bool kept = t->nidle < IDLE;
	if (kept)
		t->idle[t->nidle++] = c;
	pthread_mutex_unlock(&t->lock);
	if (!kept)
		ss_connection_close(c);
}

/* From the bucket into e->part. */
static bool download(struct ss_tree *t, const struct file *f, const char *url, struct ss_cache_entry *e, uint64_t bytes,
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
		return ss_fail(err, SS_EIO, "'%s' changed after it was listed: try again", shown.p);
	if (ok && !d.most)
		set_time(e->part, f->object.mtime_ns);
	pthread_mutex_lock(&t->lock);
	t->cost.fetched_bytes += ok ? (d.most ? d.most : d.bytes) : 0;
	t->cost.nfetched += ok && !d.most;
	pthread_mutex_unlock(&t->lock);
	return ok;
}

/* From the cache, or into it, and then to its place. */
static bool fetch_by_cache(struct ss_tree *t, const struct file *f, const char *path, uint64_t bytes, struct ss_arena *a,
	struct ss_err *err)
{
	struct ss_cache_entry e;
	struct ss_bucket *b = t->bucket;
	struct ss_str tag = is_tag(f->object.tag) ? f->object.tag : SS_STR(""), url = b->kind->url(b, f->object.key, tag, a);
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
	const char *from = known || keeps ? strrchr(e.path.p, '/') + 1 : "part";
	ok = ok && (whole ? place_whole(f, e.fd, from, path, err) : place_begin(f, e.fd, from, path, bytes, err));
	if (ok)
		ss_cache_touch(&e);
	pthread_mutex_lock(&t->lock);
	t->cost.nkept += known && whole;
	t->grown_bytes += ok && !known ? bytes : 0;
	bool shrinks = t->grown_bytes > SHRINK_BYTES || t->grown_bytes > ss_cache_limit_bytes() / 8;
	if (shrinks)
		t->grown_bytes = 0;
	pthread_mutex_unlock(&t->lock);
	if (shrinks)
		ss_cache_shrink(e.root);
	ss_cache_close(&e);
	return ok;
}

static struct file *find_file(struct ss_tree *t, struct ss_str path)
{
	size_t lo = 0, hi = t->files.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = ss_str_cmp(t->files.v[mid].path, path);
		if (order == 0)
			return &t->files.v[mid];
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* The first bytes of a file are needed; who fetches them already is waited for. */
static bool provide(void *arg, const char *path, uint64_t bytes, struct ss_err *err)
{
	struct ss_tree *t = arg;
	struct ss_arena a = { 0 };
	struct ss_str below = ss_str_sub(ss_str_from(path), t->root.n + 1, SIZE_MAX);
	pthread_mutex_lock(&t->lock);
	struct file *f = find_file(t, below);
	while (f && f->busy)
		pthread_cond_wait(&t->changed, &t->lock);
	if (f && bytes > MOST_HEAD_BYTES)
		bytes = f->object.bytes;
	uint64_t want = f && bytes > f->object.bytes ? f->object.bytes : bytes;
	bool there = !f || f->have >= want;
	if (!there)
		f->busy = true;
	pthread_mutex_unlock(&t->lock);
	if (there)
		return true;
	bool ok = fetch_by_cache(t, f, path, want, &a, err);
	ss_arena_release(&a);
	pthread_mutex_lock(&t->lock);
	f->busy = false;
	f->have = ok ? want : f->have;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	return ok;
}

/* ---- the list ---- */

struct listing {
	struct ss_tree *t;
	struct ss_location *p;
	size_t npages;
	bool over;
};

static bool note(struct listing *l, struct ss_str below, const char *why, struct ss_err *err)
{
	struct ss_str shown = ss_arena_printf(&l->p->arena, "%s/" SS_FMT, l->p->named, SS_ARG(below));
	return (shown.p && ss_location_note(l->p, shown.p, SS_STR(""), why)) || ss_fail_mem(err);
}

/* A file of that name, length and time, whose bytes are a hole. */
static bool make_file(struct listing *l, const struct file *f, struct ss_err *err)
{
	struct ss_tree *t = l->t;
	struct ss_str path = ss_arena_printf(&t->arena, SS_FMT "/" SS_FMT, SS_ARG(t->root), SS_ARG(f->path));
	if (!path.p)
		return ss_fail_mem(err);
	bool made = ss_make_dirs_above((char *)(uintptr_t)path.p, NULL);
	int fd = made ? open(path.p, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
	bool of_name = errno == ENOTDIR || errno == EISDIR || errno == EEXIST || errno == ENAMETOOLONG || errno == EILSEQ ||
		errno == EINVAL;
	if (fd < 0 && of_name)
		return note(l, f->path, "is not read: its name collides with that of another object, or is too long for a file",
			err);
	bool ok = fd >= 0 && ftruncate(fd, (off_t)f->object.bytes) == 0;
	if (fd >= 0)
		set_time(fd, f->object.mtime_ns);
	if (fd >= 0)
		close(fd);
	if (!ok && fd >= 0 && errno == EFBIG) {
		(void)unlink(path.p);
		return note(l, f->path, "is not read: no file is that large", err);
	}
	return ok ? ss_vec_push(&t->files, *f) || ss_fail_mem(err)
		  : ss_fail(err, SS_EIO, "cannot write '%s': %s. STEPSCOPE_CACHE sets another place", path.p, strerror(errno));
}

/* Can a file be called so? Objects can have any name. */
static bool is_path(struct ss_str name)
{
	if (ss_member_refused(name))
		return false;
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] < ' ')
			return false;
	while (name.n) {
		size_t slash = ss_str_chr(name, '/');
		struct ss_str one = ss_str_sub(name, 0, slash);
		name = ss_str_sub(name, slash == SS_NPOS ? name.n : slash + 1, name.n);
		if (!one.n || ss_str_is(one, "."))
			return false;
	}
	return true;
}

/* An object of the list, if its name says that somebody reads it. */
static bool take_object(struct listing *l, const struct ss_object *o, size_t skip, struct ss_err *err)
{
	struct ss_tree *t = l->t;
	struct ss_str below = ss_str_sub(o->key, skip, o->key.n);
	t->cost.nlisted++;
	if (!below.n || ss_str_ends(below, SS_STR("/")) || !ss_store_reads(below) || o->bytes > INT64_MAX)
		return true;
	if (!is_path(below))
		return note(l, below, "is not read: no file can be called so", err);
	if (t->files.n >= MOST_FILES) {
		l->over = true;
		return true;
	}
	struct file f = { .path = ss_arena_str(&t->arena, below),
			  .object = { ss_arena_str(&t->arena, o->key), ss_arena_str(&t->arena, o->tag), o->bytes, o->mtime_ns } };
	return f.path.p && f.object.key.p && f.object.tag.p ? make_file(l, &f, err) : ss_fail_mem(err);
}

static bool list_page(struct listing *l, struct ss_str prefix, struct ss_str from, struct ss_arena *arena, struct ss_page *page,
		      struct ss_err *err)
{
	struct ss_bucket *b = l->t->bucket;
	struct ss_err why = { 0 };
	bool ok = b->kind->list(b, prefix, from, arena, page, &why);
	if (!ok && b->kind->again(b)) {
		why = (struct ss_err){ 0 };
		ok = b->kind->list(b, prefix, from, arena, page, &why);
	}
	return ok || ss_fail(err, why.code, "%s", why.text);
}

static bool list_all(struct listing *l, struct ss_err *err)
{
	const struct ss_str path = l->t->bucket->path;
	struct ss_str next = SS_STR("");
	struct ss_arena arenas[2] = { { 0 } };
	bool ok = true;
	do {
		struct ss_arena *a = &arenas[l->npages++ & 1];	/* the other holds `next` */
		struct ss_page page;
		ss_arena_release(a);
		struct ss_str prefix = path.n ? ss_arena_printf(a, SS_FMT "/", SS_ARG(path)) : SS_STR(""), before = next;
		ok = prefix.p ? list_page(l, prefix, next, a, &page, err) : ss_fail_mem(err);
		for (size_t i = 0; ok && i < page.v.n; i++)
			ok = !ss_str_starts(page.v.v[i].key, prefix) || take_object(l, &page.v.v[i], prefix.n, err);
		if (ok)
			ss_vec_free(&page.v);
		next = ok ? page.next : SS_STR("");
		if (ok && next.n && ss_str_eq(next, before))
			ok = ss_fail(err, SS_EFORMAT, "the list of '" SS_FMT "' does not end: the server gives the same page again",
				     SS_ARG(l->t->bucket->named));
		l->over |= next.n && l->npages == MOST_PAGES;
	} while (ok && next.n && !l->over);
	ss_arena_release(&arenas[0]);
	ss_arena_release(&arenas[1]);
	if (ok && l->over)
		ok = ss_location_note(l->p, l->p->named, SS_STR(""),
			"holds too many objects: the rest is not shown. Name a part of it") ||
		     ss_fail_mem(err);
	return ok;
}

static int by_path(const void *a, const void *b)
{
	return ss_str_cmp(((const struct file *)a)->path, ((const struct file *)b)->path);
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
	struct listing l = { .t = t, .p = p };
	if (!make_root(t, err) || !list_all(&l, err))
		return false;
	if (t->files.n)
		qsort(t->files.v, t->files.n, sizeof(*t->files.v), by_path);
	return true;
}

bool ss_tree_open(struct ss_tree **tree, struct ss_bucket *b, struct ss_location *p, struct ss_err *err)
{
	struct ss_tree *t = calloc(1, sizeof(*t));
	*tree = NULL;
	if (!t || (b->path.n && !is_path(b->path))) {
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
	t->provider = (struct ss_provider){ .below = t->root, .provide = provide, .arg = t };
	ss_provider_add(&t->provider);
	*tree = t;
	return true;
}

bool ss_tree_fetch_all(struct ss_tree *t, struct ss_err *err)
{
	struct ss_arena a = { 0 };
	const char **paths = SS_NEW_N(&a, const char *, t->files.n + 1);
	bool ok = true;
	for (size_t i = 0; paths && i < t->files.n; i++)
		paths[i] = ss_arena_printf(&a, SS_FMT "/" SS_FMT, SS_ARG(t->root), SS_ARG(t->files.v[i].path)).p;
	if (a.no_memory)
		ok = ss_fail_mem(err);
	else
		ss_provide_all(paths, t->files.n);
	/* Those that are not there say why. */
	for (size_t i = 0; ok && i < t->files.n; i++)
		ok = ss_provide(paths[i], SS_WHOLE_FILE, err);
	ss_arena_release(&a);
	return ok;
}

void ss_tree_close(struct ss_tree *t)
{
	if (!t)
		return;
	if (t->provider.provide)
		ss_provider_remove(&t->provider);
	while (t->nidle && t->owner == getpid())
		ss_connection_close(t->idle[--t->nidle]);
	ss_scratch_close(&t->scratch);
	char root[PATH_MAX];
	if (t->grown_bytes && ss_cache_root(root, sizeof(root), &(struct ss_err){ 0 }))
		ss_cache_shrink(root);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->changed);
	ss_vec_free(&t->files);
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
	return t->scratch.parent;
}

struct ss_tree_cost ss_tree_cost(struct ss_tree *t)
{
	pthread_mutex_lock(&t->lock);
	struct ss_tree_cost c = t->cost;
	c.nshown = t->files.n;
	c.requests = t->bucket->requests;
	pthread_mutex_unlock(&t->lock);
	return c;
}
