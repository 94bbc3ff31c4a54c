/*
 * session.c - the cache of opened profiles.
 *
 * One lock guards the lists and counts; opening a file happens outside of it, under the lock of
 * that file's own entry, so that a slow disk holds up only those who want that file. Both lists are
 * short (tens of entries, of a large run as many as it has hosts) and searched from the front.
 *
 * Of many hosts a session may hold none open: its entries then only tell whether the files are
 * still the same.
 */
#include "serve/session.h"
#include "model/host/host.h"

#include "base/heap.h"
#include "base/provide.h"
#include "location/cache.h"
#include "model/reduced/part.h"
#include "store/kinds.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define BRING_MS 20000	/* for files that come from elsewhere */

struct slot {
	struct slot *next;
	char *path, *name, *top; /* of the file; its label; the log directory, which links do not lead out of */
	const char *kind;	/* as in struct ss_host_file */
	uint64_t path_hash;
	uint64_t bytes;
	int64_t mtime_ns;
	pthread_mutex_t opening;
	bool open;		/* under `opening`; set once */
	bool unreadable;	/* set with it: no profile, an empty host stands for it, `err` says why */
	struct ss_err err;
	struct ss_host host;
	/* Under the cache's lock. */
	unsigned refs;		/* sessions, and requests that are opening it */
	int64_t used_s;
	bool opened;		/* a session was made of it */
	bool stale;		/* the file is another by now */
};

struct ss_session {
	struct ss_session *next;
	struct slot **slots;
	size_t nslots;
	struct ss_model model;
	struct ss_shard shard;	/* that the model is of, where the file is a merged part */
	unsigned refs;
	int64_t used_s;
	bool stale;
};

struct ss_sessions {
	pthread_mutex_t lock;
	struct slot *slots;
	struct ss_session *sessions;
	uint64_t memory_bytes;
	int64_t idle_s;
	size_t most_open;	/* hosts, for somebody who visits them */
};

static int64_t now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec;
}

struct ss_sessions *ss_sessions_new(uint64_t memory_bytes, unsigned idle_s)
{
	struct ss_sessions *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->memory_bytes = memory_bytes;
	c->idle_s = idle_s;
	c->most_open = SS_MAX_OPEN_HOSTS;
	return c;
}

void ss_sessions_visit_all(struct ss_sessions *c)
{
	c->most_open = 0;
}

static void free_slot(struct slot *s)
{
	if (s->open)
		ss_host_close(&s->host);
	pthread_mutex_destroy(&s->opening);
	free(s->path);
	free(s->name);
	free(s->top);
	free(s);
}

/*
 * What a host takes: its columns are some 0.8 of the file, its pages in the cache are the system's.
 */
static uint64_t slot_cost(struct slot *s)
{
	struct ss_part *events = &s->host.parts[SS_HOST_EVENTS];
	bool loaded = true;
	if (!s->opened)
		return 0;
	/* No profile: what is made of a graph takes about as much as the file. */
	if (s->kind)
		return 2 * s->bytes;
	/* Held: it is being loaded. */
	if (pthread_mutex_trylock(&events->lock) == 0) {
		loaded = events->built;
		pthread_mutex_unlock(&events->lock);
	}
	return loaded ? s->bytes + s->bytes / 4 : s->bytes / 16;
}

static uint64_t total_cost(const struct ss_sessions *c)
{
	uint64_t sum = 0;
	for (struct slot *s = c->slots; s; s = s->next)
		sum += slot_cost(s);
	return sum;
}

/*
 * Take idle entries off the lists: all stale ones, those idle since before `before_s`, and the
 * oldest until the rest fits.
 */
struct garbage {
	struct ss_session *sessions;
	struct slot *slots;
};

static void drop_session(struct ss_session **at, struct garbage *g)
{
	struct ss_session *s = *at;
	*at = s->next;
	for (size_t i = 0; i < s->nslots; i++) {
		s->slots[i]->refs--;
		if (s->slots[i]->used_s < s->used_s)
			s->slots[i]->used_s = s->used_s;
	}
	s->next = g->sessions;
	g->sessions = s;
}

static void collect_before(struct ss_sessions *c, int64_t before_s, struct garbage *g)
{
	for (struct ss_session **at = &c->sessions; *at;) {
		if ((*at)->refs == 0 && ((*at)->stale || (*at)->used_s < before_s))
			drop_session(at, g);
		else
			at = &(*at)->next;
	}
	for (struct slot **at = &c->slots; *at;) {
		struct slot *s = *at;
		if (s->refs == 0 && (s->stale || s->used_s < before_s)) {
			*at = s->next;
			s->next = g->slots;
			g->slots = s;
		} else {
			at = &s->next;
		}
	}
}

/* The time of last use of the oldest idle entry; false when all are in use. */
static bool oldest(const struct ss_sessions *c, int64_t *used_s)
{
	bool any = false;
	for (const struct ss_session *s = c->sessions; s; s = s->next)
		if (s->refs == 0 && (!any || s->used_s < *used_s)) {
			*used_s = s->used_s;
			any = true;
		}
	for (const struct slot *s = c->slots; s; s = s->next)
		if (s->refs == 0 && (!any || s->used_s < *used_s)) {
			*used_s = s->used_s;
			any = true;
		}
	return any;
}

static void collect(struct ss_sessions *c, struct garbage *g)
{
	int64_t used_s = 0;
	collect_before(c, now_s() - c->idle_s, g);
	while (total_cost(c) > c->memory_bytes && oldest(c, &used_s))
		collect_before(c, used_s + 1, g);
}

static void free_session(struct ss_session *s)
{
	ss_model_release(&s->model);
	ss_shard_free(&s->shard);
	free(s->slots);
	free(s);
}

/* Outside of the lock: unmapping a large profile takes its time. */
static void free_garbage(struct garbage *g)
{
	bool any = g->sessions || g->slots;
	while (g->sessions) {
		struct ss_session *s = g->sessions;
		g->sessions = s->next;
		free_session(s);
	}
	while (g->slots) {
		struct slot *s = g->slots;
		g->slots = s->next;
		free_slot(s);
	}
	if (any)
		ss_heap_trim();
}

void ss_sessions_free(struct ss_sessions *c)
{
	struct garbage g = { 0 };
	if (!c)
		return;
	for (struct ss_session *s = c->sessions; s; s = s->next)
		s->refs = 0;
	collect_before(c, INT64_MAX, &g);
	free_garbage(&g);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* Under the lock: the entry of this very file, added when new, with a reference for the caller. */
static struct slot *get_slot(struct ss_sessions *c, const struct ss_host_file *file)
{
	uint64_t hash = ss_str_hash(file->path);
	for (struct slot *s = c->slots; s; s = s->next) {
		if (s->stale || s->path_hash != hash || s->kind != file->kind || strcmp(s->path, file->path.p) != 0)
			continue;
		if (s->bytes == file->bytes && s->mtime_ns == file->mtime_ns) {
			s->refs++;
			return s;
		}
		s->stale = true;
	}
	struct slot *s = calloc(1, sizeof(*s));
	if (s) {
		s->path = strdup(file->path.p);
		s->name = strndup(file->name.p, file->name.n);
		s->top = file->top ? strdup(file->top) : NULL;
	}
	if (!s || !s->path || !s->name || (file->top && !s->top)) {
		if (s) {
			free(s->path);
			free(s->name);
			free(s->top);
		}
		free(s);
		return NULL;
	}
	s->kind = file->kind;
	s->path_hash = hash;
	s->bytes = file->bytes;
	s->mtime_ns = file->mtime_ns;
	pthread_mutex_init(&s->opening, NULL);
	s->refs = 1;
	s->used_s = now_s();
	s->next = c->slots;
	c->slots = s;
	return s;
}

/*
 * Open the file unless that was done. A failure is not kept: the next one who asks tries again. Of
 * several files one that is no profile stands for an empty host (`unreadable`); who asks for it
 * alone is told why.
 */
static bool open_slot(struct slot *s, bool alone, struct ss_err *err)
{
	pthread_mutex_lock(&s->opening);
	if (!s->open) {
		s->err = (struct ss_err){ 0 };
		if (ss_file_kind_is_raw(s->kind))
			s->open = ss_host_open_raw(&s->host, s->top, s->path, ss_str_from(s->name), &s->err);
		else if (alone)
			s->open = ss_host_open_below(&s->host, s->top, s->path, &s->err);
		else
			s->open = ss_host_open_among(&s->host, s->top, s->path, &s->err, err);
		s->unreadable = s->open && s->err.code;
	}
	bool ok = s->open && !(alone && s->unreadable);
	if (!ok && s->err.code)
		ss_fail(err, s->err.code, "%s", s->err.text);
	pthread_mutex_unlock(&s->opening);
	return ok;
}

/* Some of them can be read, or else the first says why it cannot. */
static bool open_slots(struct slot **slots, size_t n, struct ss_err *err)
{
	bool any = false;
	for (size_t i = 0; i < n; i++) {
		if (!open_slot(slots[i], n == 1, err))
			return false;
		any = any || !slots[i]->unreadable;
	}
	return any || !n || ss_fail(err, slots[0]->err.code, "%s", slots[0]->err.text);
}

static bool same_slots(const struct ss_session *s, struct slot *const *slots, size_t n)
{
	return s->nslots == n && memcmp(s->slots, slots, n * sizeof(*slots)) == 0;
}

/* Under the lock: a session of exactly these; `visits`: its hosts need not be open. */
static struct ss_session *find_session(struct ss_sessions *c, struct slot *const *slots, size_t n, bool visits)
{
	for (struct ss_session *s = c->sessions; s; s = s->next)
		if (!s->stale && same_slots(s, slots, n) && (visits || !s->model.visited))
			return s;
	return NULL;
}

static bool init_model(struct ss_model *m, struct slot **slots, size_t n, bool visits, struct ss_err *err)
{
	struct ss_host **hosts = malloc((n + 1) * sizeof(*hosts));
	struct ss_host_file_at *files = malloc((n + 1) * sizeof(*files));
	bool ok = (hosts && files) || ss_fail_mem(err);
	for (size_t i = 0; ok && i < n; i++) {
		hosts[i] = &slots[i]->host;
		files[i] = (struct ss_host_file_at){ slots[i]->path, slots[i]->bytes, slots[i]->top };
	}
	if (ok)
		ok = visits ? ss_model_init_visited(m, files, n, err) : ss_model_init(m, hosts, n, err);
	free(hosts);
	free(files);
	return ok;
}

static bool is_part(const struct slot *s)
{
	return s->kind && strcmp(s->kind, SS_KIND_FILE_PART) == 0;
}

/* For all hosts whose skeletons are in the file. */
static bool init_from_part(struct ss_session *s, const struct slot *slot, struct ss_err *err)
{
	struct ss_file f;
	struct ss_err why = { 0 };
	if (!ss_file_open_below(&f, slot->top, slot->path, err))
		return false;
	bool ok = ss_shard_read(&s->shard, f.bytes, &why);
	ss_file_close(&f);
	if (!ok)
		return ss_fail(err, why.code, "'%s' cannot be used: %s", slot->path, why.text);
	if (s->shard.count != 1)
		ok = ss_fail(err, SS_EINVAL, "'%s' is one of %llu parts: 'stepscope merge' joins them", slot->path,
			     (unsigned long long)s->shard.count);
	ok = ok && ss_model_init_shard(&s->model, &s->shard, err);
	if (!ok)
		ss_shard_free(&s->shard);
	return ok;
}

static struct ss_session *new_session(struct slot **slots, size_t n, bool visits, struct ss_err *err)
{
	struct ss_session *s = calloc(1, sizeof(*s));
	bool ok = s || ss_fail_mem(err);
	if (ok)
		ok = n == 1 && is_part(slots[0]) ? init_from_part(s, slots[0], err) : init_model(&s->model, slots, n, visits, err);
	if (!ok) {
		free(s);
		return NULL;
	}
	s->slots = slots;
	s->nslots = n;
	return s;
}

/* The slots are open. */
static void take_slots(struct ss_session *s)
{
	for (size_t i = 0; i < s->nslots; i++) {
		struct slot *slot = s->slots[i];
		slot->opened = true;
		/*
		 * Replaced between the look at it and its opening: good for this request, then no
		 * more.
		 */
		if (slot->host.source.file_bytes != slot->bytes || slot->host.source.file_mtime_ns != slot->mtime_ns)
			s->stale = slot->stale = true;
	}
}

/*
 * Somebody else's session of these slots takes over the references and the array, too. NULL: there
 * is none.
 */
static struct ss_session *join_known(struct ss_sessions *c, struct slot **slots, size_t n, bool visits)
{
	pthread_mutex_lock(&c->lock);
	struct ss_session *s = find_session(c, slots, n, visits);
	for (size_t i = 0; s && i < n; i++)
		slots[i]->refs--;
	if (s) {
		s->refs++;
		s->used_s = now_s();
	}
	pthread_mutex_unlock(&c->lock);
	if (s)
		free(slots);
	return s;
}

/*
 * Make the session of the slots, or find that somebody has; takes over the references and the
 * array.
 */
static struct ss_session *join_session(struct ss_sessions *c, struct slot **slots, size_t n, bool visits, struct ss_err *err)
{
	struct ss_session *s = join_known(c, slots, n, visits);
	if (s)
		return s;
	struct ss_session *made = new_session(slots, n, visits, err);
	if (!made)
		return NULL;
	pthread_mutex_lock(&c->lock);
	s = find_session(c, slots, n, visits);
	if (!s) {
		made->next = c->sessions;
		c->sessions = made;
		s = made;
		if (!visits)
			take_slots(s);
		else if (s->shard.count)
			slots[0]->opened = true;
	} else {
		for (size_t i = 0; i < n; i++)
			slots[i]->refs--;
	}
	s->refs++;
	s->used_s = now_s();
	pthread_mutex_unlock(&c->lock);
	if (s != made)
		free_session(made);
	return s;
}

static void unref_slots(struct ss_sessions *c, struct slot **slots, size_t n)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < n; i++)
		slots[i]->refs--;
	pthread_mutex_unlock(&c->lock);
	free(slots);
}

static void mark_stale(struct ss_sessions *c)
{
	for (struct ss_session *s = c->sessions; s; s = s->next)
		for (size_t i = 0; i < s->nslots; i++)
			s->stale = s->stale || s->slots[i]->stale;
}

/*
 * Files that come from elsewhere are brought first, and before anybody waits for them under a lock.
 */
static bool bring(const struct ss_host_file *const *files, size_t n, struct ss_err *err)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < n; i++)
		bytes += files[i]->bytes;
	/* Files that do not fit into the cache together are fetched one after the other. */
	if (!n || !ss_provides(files[0]->path) || (n > 1 && bytes > ss_cache_limit_bytes() / 2))
		return true;
	const char **paths = calloc(n, sizeof(*paths));
	for (size_t i = 0; paths && i < n; i++)
		paths[i] = files[i]->path.p;
	bool ok = paths ? ss_provide_all(paths, n, SS_WHOLE_FILE, BRING_MS, err) : ss_fail_mem(err);
	free(paths);
	return ok;
}

static struct ss_session *open_session(struct ss_sessions *c, const struct ss_host_file *const *files, size_t n, bool visits,
				       struct ss_err *err)
{
	struct garbage g = { 0 };
	if (!bring(files, n, err))
		return NULL;
	struct slot **slots = calloc(n + 1, sizeof(*slots));
	if (!slots) {
		ss_fail_mem(err);
		return NULL;
	}
	size_t have = 0;
	pthread_mutex_lock(&c->lock);
	while (have < n && (slots[have] = get_slot(c, files[have])))
		have++;
	mark_stale(c);
	collect(c, &g);
	pthread_mutex_unlock(&c->lock);
	free_garbage(&g);
	bool ok = have == n || ss_fail_mem(err);
	/* No file of a part is a host of its own. */
	visits = visits || (ok && n == 1 && is_part(slots[0]));
	ok = ok && (visits || open_slots(slots, n, err));
	struct ss_session *s = ok ? join_session(c, slots, n, visits, err) : NULL;
	if (!s)
		unref_slots(c, slots, have);
	return s;
}

struct ss_session *ss_session_open(struct ss_sessions *c, const struct ss_host_file *const *files, size_t n,
				   struct ss_err *err)
{
	return open_session(c, files, n, false, err);
}

struct ss_session *ss_session_open_visiting(struct ss_sessions *c, const struct ss_host_file *const *files, size_t n,
					    struct ss_err *err)
{
	/* Files that are no profiles are few, and small. */
	return open_session(c, files, n, n > c->most_open && !files[0]->kind, err);
}

struct ss_model *ss_session_model(const struct ss_session *s)
{
	return (struct ss_model *)(uintptr_t)&s->model;
}

bool ss_session_intact(const struct ss_session *s, struct ss_err *err)
{
	/* A visit looks for itself. */
	for (size_t i = 0; !s->model.visited && i < s->nslots; i++)
		if (ss_file_torn(&s->slots[i]->host.x.file))
			return ss_fail(err, SS_EIO, "'%s' was truncated while it was being read: try again", s->slots[i]->path);
	return true;
}

void ss_session_close(struct ss_sessions *c, struct ss_session *s)
{
	struct garbage g = { 0 };
	if (!s)
		return;
	pthread_mutex_lock(&c->lock);
	s->refs--;
	s->used_s = now_s();
	collect(c, &g);
	pthread_mutex_unlock(&c->lock);
	free_garbage(&g);
}

void ss_sessions_sweep(struct ss_sessions *c)
{
	struct garbage g = { 0 };
	pthread_mutex_lock(&c->lock);
	collect(c, &g);
	pthread_mutex_unlock(&c->lock);
	free_garbage(&g);
}
