/*
 * session.c - from start to stop: the spool file, the buffers in stock, and putting the file in
 * order at the end, one line a thread.
 */
#include "gather.h"
#include "joined.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int ss_trace_level_now;

struct recorder ss_rec = { .lock = PTHREAD_MUTEX_INITIALIZER, .used_stock = PTHREAD_COND_INITIALIZER };

bool ss_rec_fail(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(ss_rec.error, sizeof(ss_rec.error), fmt, ap);
	va_end(ap);
	return false;
}

const char *ss_trace_error(void)
{
	const struct recorder_table *other = ss_rec_other();
	return other ? other->error() : ss_rec.error;
}

/* --- buffers: the lock is held ------------------------------------------------------------------ */

struct buffer *ss_rec_new_buffer(struct buffer **first, struct buffer *last)
{
	struct buffer *b = calloc(1, sizeof(*b));
	if (b && ss_rec.nstock)
		b->base = ss_rec.stock[--ss_rec.nstock];
	else if (b)
		b->base = ss_spool_buffer(&ss_rec.spool);
	pthread_cond_signal(&ss_rec.used_stock);
	if (!b || !b->base) {
		free(b);
		return NULL;
	}
	if (last)
		last->next = b;
	else
		*first = b;
	return b;
}

/*
 * The maker keeps a few buffers ready, so that a thread in need of one does not wait for the disk
 * or the kernel. It ends when there is no more room: then every thread finds out for itself, and
 * counts.
 */
static void *make_stock(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&ss_rec.lock);
	while (!ss_rec.quit) {
		if (ss_rec.nstock == STOCK) {
			pthread_cond_wait(&ss_rec.used_stock, &ss_rec.lock);
			continue;
		}
		unsigned char *made = ss_spool_buffer(&ss_rec.spool);
		if (!made)
			break;
		ss_rec.stock[ss_rec.nstock++] = made;
		/* Let those in that wait for the lock. */
		pthread_mutex_unlock(&ss_rec.lock);
		pthread_mutex_lock(&ss_rec.lock);
	}
	pthread_mutex_unlock(&ss_rec.lock);
	return NULL;
}

bool ss_rec_thread(pthread_t *out, void *(*run)(void *))
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool made = pthread_create(out, NULL, run, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return made;
}

void ss_rec_free_buffers(struct buffer *b)
{
	while (b) {
		struct buffer *next = b->next;
		munmap(b->base, SPOOL_BUFFER);
		free(b);
		b = next;
	}
}

/* --- start and stop ---------------------------------------------------------------------- */

/* A child shares the file's memory but must not write to it. */
static void in_child(void)
{
	__atomic_store_n(&ss_trace_level_now, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ss_rec.session, 1, __ATOMIC_RELAXED);
	ss_rec.running = ss_rec.making = ss_rec.joinable = false;
	ss_rec.source = NULL;
	ss_rec.joined = 0;
	ss_rec_forget_self();
	for (struct thread *t = ss_rec.threads; t; t = t->next)
		t->gone = true;
	pthread_mutex_init(&ss_rec.lock, NULL);
}

static bool make_folders(char *path)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		bool ok = mkdir(path, 0777) == 0 || errno == EEXIST;
		*p = '/';
		if (!ok)
			return false;
	}
	return true;
}

static void session_name(char *out, size_t n)
{
	time_t now = time(NULL);
	struct tm tm;
	localtime_r(&now, &tm);
	strftime(out, n, "%Y_%m_%d_%H_%M_%S", &tm);
}

static bool set_path(const struct ss_trace_options *o)
{
	char session[64], system_host[256] = "localhost";
	const char *dir = o->logdir ? o->logdir : getenv("SS_TRACE_LOGDIR");
	session_name(session, sizeof(session));
	gethostname(system_host, sizeof(system_host) - 1);
	snprintf(ss_rec.host, sizeof(ss_rec.host), "%s", o->host ? o->host : system_host);
	const char *name = o->session ? o->session : session;
	if (strchr(ss_rec.host, '/') || strchr(name, '/') || !*name || !ss_rec.host[0])
		return ss_rec_fail("--session and --host must be valid file names: '%s', '%s' cannot be", name, ss_rec.host);
	int n = o->dir ? snprintf(ss_rec.spool.path, sizeof(ss_rec.spool.path), "%s/%s.xplane.pb", o->dir, ss_rec.host)
		       : snprintf(ss_rec.spool.path, sizeof(ss_rec.spool.path), "%s/plugins/profile/%s/%s.xplane.pb",
				  dir ? dir : ".", name, ss_rec.host);
	if (n < 0 || (size_t)n >= sizeof(ss_rec.spool.path) - 8)
		return ss_rec_fail("the path of the profile is longer than %zu bytes", sizeof(ss_rec.spool.path));
	if (!make_folders(ss_rec.spool.path))
		return ss_rec_fail("cannot make the folder of '%s': %s", ss_rec.spool.path, strerror(errno));
	return true;
}

void ss_rec_sweep_threads(void)
{
	for (struct thread **at = &ss_rec.threads; *at;) {
		struct thread *t = *at;
		if (!t->gone) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		ss_rec_free_buffers(t->first);
		ss_rec_free_buffers(t->parked);
		for (size_t i = 0; i < THREAD_MEMORIES; i++)
			free(t->memory[i]);
		free(t);
	}
}

static bool write_plane_name(void)
{
	/*
	 * In whole words: an id of 0 as a varint of 4 bytes, then tag, length and 9 bytes of name.
	 */
	unsigned char name[16];
	name[0] = XPLANE_ID << 3;
	put_bytes(put_varint_n(name + 1, 0, 4), XPLANE_NAME, "/host:CPU", 9);
	struct buffer *b = ss_rec_new_buffer(&ss_rec.names, NULL);
	if (!b)
		return false;
	append_record(b->base, b->base + SPOOL_BUFFER, name, sizeof(name));
	b->used = sizeof(name);
	ss_rec.names_tail = b->base + b->used;
	ss_rec.names_end = b->base + SPOOL_BUFFER;
	return true;
}

/* Ids beyond those of threads. Counters are known by the name of their line. */
static void name_shared_lines(void)
{
	static const char *const names[SHARED_LINES] = { "_counters_", "CUDA memory", "NVTX ranges" };
	for (int i = 0; i < SHARED_LINES; i++) {
		struct thread *t = &ss_rec.shared[i];
		t->tid = i ? INT32_MAX - i : 0;
		snprintf(t->name, sizeof(t->name), "%s", names[i]);
	}
}

static bool prepare(void)
{
	if (!ss_rec.ready && pthread_key_create(&ss_rec.key, ss_rec_thread_gone) == 0) {
		pthread_atfork(NULL, NULL, in_child);
		ss_rec.ready = true;
	}
	return ss_rec.ready;
}

bool ss_rec_prepare(void)
{
	pthread_mutex_lock(&ss_rec.lock);
	bool ready = prepare();
	pthread_mutex_unlock(&ss_rec.lock);
	return ready;
}

static bool start(const struct ss_trace_options *o)
{
	/* Not one that wants its file to itself. */
	if (ss_rec.running && ss_rec.joinable && !o->dir)
		return ++ss_rec.joined;
	if (ss_rec.running)
		return ss_rec_fail("a recording is running already, to '%s'", ss_rec.spool.path);
	if (!prepare())
		return ss_rec_fail("no thread-specific storage is left");
	if (!set_path(o))
		return false;
	ss_rec_sweep_threads();
	ss_rec.start_unix_ns = now_ns(CLOCK_REALTIME);
	struct spool_info info = { ss_rec.host, ss_rec.start_unix_ns, 0 };
	if (!ss_spool_open(&ss_rec.spool, &info, o->max_bytes ? o->max_bytes : (uint64_t)256 << 20))
		return ss_rec_fail("cannot write '%s': %s", ss_rec.spool.path, strerror(errno));
	ss_rec.nnames = 0;
	if (!write_plane_name()) {
		int why = errno;
		unlink(ss_rec.spool.path);
		ss_spool_close(&ss_rec.spool);
		return ss_rec_fail("no room for '%s': %s", ss_rec.spool.path, strerror(why));
	}
	ss_rec.quit = false;
	/* Without the maker threads make their buffers themselves. */
	ss_rec.making = ss_rec_thread(&ss_rec.maker, make_stock);
	name_shared_lines();
	ss_rec.start_ns = now_ns(CLOCK_MONOTONIC);
	ss_rec.start_ps = ss_rec.start_ns * 1000;
	ss_rec.running = true;
	__atomic_fetch_add(&ss_rec.session, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&ss_trace_level_now, o->level ? o->level : SS_TRACE_INFO, __ATOMIC_RELEASE);
	return true;
}

/* Ours is what the program's header looks at. */
static void take_level(const struct recorder_table *other)
{
	__atomic_store_n(&ss_trace_level_now, __atomic_load_n(other->level, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

bool ss_trace_start(const struct ss_trace_options *options)
{
	ss_rec_find_other();
	const struct recorder_table *other = ss_rec_other();
	if (other) {
		bool begun = other->start(options);
		take_level(other);
		return begun;
	}
	struct ss_trace_options o = { .size = sizeof(o) };
	if (options)
		memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	pthread_mutex_lock(&ss_rec.lock);
	bool ok = start(&o);
	pthread_mutex_unlock(&ss_rec.lock);
	return ok;
}

bool ss_rec_write(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;
	while (n) {
		ssize_t got = write(fd, p, n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}

static size_t events_bytes(const struct thread *t)
{
	size_t n = 0;
	for (const struct buffer *b = t->first; b; b = b->next)
		n += b->kept - b->events_at;
	return n;
}

/* Scopes without an end, of which there are as many as the stack is deep, end now. */
static void end_open_scopes(struct buffer *b, uint64_t stop_ps)
{
	for (uint32_t at = b->events_at; at < b->kept;) {
		struct event_at e = event_at(b->base + at);
		uint64_t open = OPEN_DURATION, now = duration_word(stop_ps > e.offset_ps ? stop_ps - e.offset_ps : 1, false);
		/* Its owner may end it in this moment. */
		b->open += __atomic_compare_exchange_n((uint64_t *)(void *)e.duration, &open, now, false, __ATOMIC_ACQ_REL,
						       __ATOMIC_RELAXED);
		at += e.bytes;
	}
}

static bool is_shared(const struct thread *t)
{
	return t >= ss_rec.shared && t < ss_rec.shared + SHARED_LINES;
}

static bool write_line(struct gather *g, struct thread *t, uint64_t stop_ps)
{
	unsigned char line[128], head[16];
	unsigned char *end = put_field(line, XLINE_ID, (uint64_t)t->tid);
	end = put_bytes(end, XLINE_NAME, t->name, strlen(t->name));
	size_t n = (size_t)(end - line);
	end = put_varint(put_varint(head, XPLANE_LINES << 3 | 2), n + events_bytes(t));
	bool ok = ss_gather(g, head, (size_t)(end - head)) && ss_gather(g, line, n);
	/* To look at every event is a third of the stop, and most threads are in no scope then. */
	bool look = is_shared(t) || __atomic_load_n(&t->open, __ATOMIC_ACQUIRE);
	for (struct buffer *b = t->first; ok && b; b = b->next) {
		if (look)
			end_open_scopes(b, stop_ps);
		ok = ss_gather(g, b->base + b->events_at, b->kept - b->events_at);
	}
	return ok;
}

static size_t line_bytes(const struct thread *t)
{
	size_t events = events_bytes(t), name = strlen(t->name);
	size_t inner = 1 + varint_size((uint64_t)t->tid) + 1 + varint_size(name) + name + events;
	return 1 + varint_size(inner) + inner;
}

/* The shared lines, then the threads. */
static struct thread *line_after(struct thread *t)
{
	if (is_shared(t))
		return t + 1 < ss_rec.shared + SHARED_LINES ? t + 1 : ss_rec.threads;
	return t->next;
}

#define FOR_EACH_LINE(t)                                                        \
	for (struct thread *t = ss_rec.shared; t; t = line_after(t))            \
		if (t->session == ss_rec.session && t->first)

/* "N events dropped" as a plane stat, where readers look for it. */
static size_t put_dropped(unsigned char *p, uint64_t dropped)
{
	unsigned char meta[32], entry[48], stat[24];
	uint32_t id = ss_rec.nnames + 1;
	unsigned char *end = put_bytes(put_field(meta, 1, id), 2, "dropped_traces", 14);
	size_t n = (size_t)(end - meta);
	end = put_bytes(put_field(entry, 1, id), 2, meta, n);
	unsigned char *at = put_bytes(p, XPLANE_STAT_METADATA, entry, (size_t)(end - entry));
	end = put_field(put_field(stat, XSTAT_METADATA_ID, id), XSTAT_UINT64, dropped);
	return (size_t)(put_bytes(at, 6, stat, (size_t)(end - stat)) - p);
}

static uint64_t dropped_now(void)
{
	uint64_t n = 0;
	for (const struct thread *t = ss_rec.threads; t; t = t->next)
		n += t->session == ss_rec.session || !t->first ? t->dropped : 0;
	for (const struct thread *t = ss_rec.shared; t < ss_rec.shared + SHARED_LINES; t++)
		n += t->dropped;
	return n;
}

/* The whole profile again, one line a thread: header, then bytes as they are. */
static bool write_final(int fd)
{
	unsigned char head[1024], drop[128];
	struct spool_info info = { ss_rec.host, ss_rec.start_unix_ns, now_ns(CLOCK_REALTIME) };
	uint64_t stop_ps = (now_ns(CLOCK_MONOTONIC) - ss_rec.start_ns) * 1000, dropped = dropped_now();
	size_t plane = 0, ndrop = dropped ? put_dropped(drop, dropped) : 0;
	for (const struct buffer *b = ss_rec.names; b; b = b->next)
		plane += b->used;
	/* An owner that was in the middle of an event may add it still: lengths are taken once. */
	FOR_EACH_LINE(t) {
		for (struct buffer *b = t->first; b; b = b->next)
			b->kept = b == t->last ? (uint32_t)(__atomic_load_n(&t->tail, __ATOMIC_ACQUIRE) - b->base) : b->used;
		plane += line_bytes(t);
	}
	unsigned char *end = head + ss_spool_put_info(head, &info);
	end = put_varint(put_varint(end, XSPACE_PLANES << 3 | 2), plane + ndrop);
	struct gather g;
	ss_gather_init(&g, fd);
	bool ok = ss_gather(&g, head, (size_t)(end - head));
	for (const struct buffer *b = ss_rec.names; ok && b; b = b->next)
		ok = ss_gather(&g, b->base, b->used);
	FOR_EACH_LINE(t)
		ok = ok && write_line(&g, t, stop_ps);
	ok = ok && ss_gather(&g, drop, ndrop) && ss_gather_flush(&g);
	return ok && (!ss_rec.source || ss_rec.source->write(fd));
}

static void put_nobodys_memory(unsigned char *from, const unsigned char *to)
{
	if (from < to)
		mmap(from, (size_t)(to - from), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
		     0);
}

/*
 * Owners may still end a scope in their buffers: give them memory that is nobody's. The kernel lays
 * mappings one below the other, so that many buffers are one piece.
 */
static void detach(struct thread *t)
{
	unsigned char *from = NULL, *to = NULL;
	for (struct buffer *b = t->first; b; b = b->next) {
		if (b->base + SPOOL_BUFFER == from) {
			from = b->base;
		} else if (b->base == to) {
			to += SPOOL_BUFFER;
		} else {
			put_nobodys_memory(from, to);
			from = b->base;
			to = from + SPOOL_BUFFER;
		}
	}
	put_nobodys_memory(from, to);
}

static void finish(bool written)
{
	FOR_EACH_LINE(t)
		detach(t);
	for (struct thread *t = ss_rec.shared; t < ss_rec.shared + SHARED_LINES; t++) {
		ss_rec_free_buffers(t->first);
		*t = (struct thread){ 0 };
	}
	ss_rec_free_buffers(ss_rec.names);
	while (ss_rec.nstock)
		munmap(ss_rec.stock[--ss_rec.nstock], SPOOL_BUFFER);
	ss_rec.names = NULL;
	ss_rec.names_tail = ss_rec.names_end = NULL;
	ss_spool_close(&ss_rec.spool);
	ss_rec.running = false;
	if (ss_rec.source)
		ss_rec.source->finish(written);
	ss_rec.source = NULL;
}

/*
 * Put the new file in the old one's place, atomically. Exchanging them spares what ext4 does for a
 * file that replaces another, to write it to the disk at once: a sixth of the stop, and the
 * recording was not there either.
 */
static bool replace(const char *temporary, const char *path)
{
#ifdef RENAME_EXCHANGE
	if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_EXCHANGE) == 0) {
		unlink(temporary);
		return true;
	}
#endif
	return rename(temporary, path) == 0;
}

static const char *stop(void)
{
	char temporary[sizeof(ss_rec.spool.path) + 8];
	if (!ss_rec.running) {
		ss_rec_fail("no recording is running");
		return NULL;
	}
	snprintf(temporary, sizeof(temporary), "%s.tmp", ss_rec.spool.path);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool ok = fd >= 0 && write_final(fd);
	ok = fd >= 0 && close(fd) == 0 && ok;
	ok = ok && replace(temporary, ss_rec.spool.path);
	if (!ok) {
		ss_rec_fail("cannot put '%s' in order: %s; it stays as it was while recording",
		     ss_rec.spool.path, strerror(errno));
		unlink(temporary);
	}
	finish(ok);
	return ok ? ss_rec.spool.path : NULL;
}

/* The maker takes the lock, so it is joined without. */
static void end_maker(void)
{
	bool making = ss_rec.running && ss_rec.making;
	pthread_t maker = ss_rec.maker;
	ss_rec.quit = true;
	ss_rec.making = false;
	pthread_cond_signal(&ss_rec.used_stock);
	if (!making)
		return;
	pthread_mutex_unlock(&ss_rec.lock);
	pthread_join(maker, NULL);
	pthread_mutex_lock(&ss_rec.lock);
}

/* What the source delivers are events and names, which take the lock. */
static void stop_source(void)
{
	const struct recorder_source *source = ss_rec.source;
	if (!source)
		return;
	pthread_mutex_unlock(&ss_rec.lock);
	source->stop();
	pthread_mutex_lock(&ss_rec.lock);
}

const char *ss_trace_stop(void)
{
	const struct recorder_table *other = ss_rec_other();
	if (other) {
		const char *theirs = other->stop();
		take_level(other);
		return theirs;
	}
	pthread_mutex_lock(&ss_rec.lock);
	if (ss_rec.joined) {
		ss_rec.joined--;
		pthread_mutex_unlock(&ss_rec.lock);
		return ss_rec.spool.path;
	}
	stop_source();
	__atomic_store_n(&ss_trace_level_now, 0, __ATOMIC_RELEASE);
	end_maker();
	const char *path = stop();
	pthread_mutex_unlock(&ss_rec.lock);
	return path;
}

uint64_t ss_trace_dropped(void)
{
	const struct recorder_table *other = ss_rec_other();
	if (other)
		return other->dropped();
	pthread_mutex_lock(&ss_rec.lock);
	uint64_t n = dropped_now();
	pthread_mutex_unlock(&ss_rec.lock);
	return n;
}
