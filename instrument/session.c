/*
 * session.c - from start to stop: the spool file, the buffers in stock, and putting the file in
 * order at the end, one line a thread.
 */
#include "base/write.h"
#include "gather.h"
#include "joined.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *ss_trace_error(void)
{
	const struct recorder_table *other = ss_rec_other();
	return other ? other->error() : ss_rec.error;
}

/* --- start and stop ---------------------------------------------------------------------- */

/*
 * The C library's conversions of times take a lock that another thread may hold in the moment of a fork, and the child then has
 * it for good: a child goes by its parent's distance from UTC.
 */
static struct {
	pid_t of;
	int64_t east_s;
} zone;

static void look_at_zone(void)
{
	time_t now = time(NULL);
	struct tm tm = { 0 };
	localtime_r(&now, &tm);
	zone.east_s = tm.tm_gmtoff;
	zone.of = getpid();
}

__attribute__((constructor)) static void on_load(void)
{
	look_at_zone();
}

/* The local time; the calendar by years that begin in March, as leap days then are the last of them. */
static void session_name(char *out, size_t n)
{
	if (zone.of == getpid())
		look_at_zone();
	int64_t s = (int64_t)time(NULL) + zone.east_s, days = s / 86400 + 719468;
	unsigned second = (unsigned)(s % 86400), of_era = (unsigned)(days % 146097);
	unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	unsigned of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
	unsigned day = of_year - (153 * month + 2) / 5 + 1, calendar = month < 10 ? month + 3 : month - 9;
	long long in_year = (long long)(days / 146097 * 400 + year + (calendar <= 2));
	snprintf(out, n, "%04lld_%02u_%02u_%02u_%02u_%02u", in_year, calendar, day, second / 3600, second / 60 % 60, second % 60);
}

static bool set_path(const struct ss_trace_options *o)
{
	char session[64] = "session", system_host[256] = "localhost";
	const char *dir = o->logdir ? o->logdir : getenv("SS_TRACE_LOGDIR");
	if (!o->session && !o->dir)
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
	if (!ss_make_dirs_above(ss_rec.spool.path, NULL))
		return ss_rec_fail("cannot make the directory '%s': %s", ss_rec.spool.path, strerror(errno));
	return true;
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

/* All that events use, also the shared lines. */
static void lock_all(void)
{
	ss_rec_enter();
	pthread_mutex_lock(&ss_rec.shared_lock);
	pthread_mutex_lock(&ss_rec.lock);
}

static void unlock_all(void)
{
	pthread_mutex_unlock(&ss_rec.lock);
	pthread_mutex_unlock(&ss_rec.shared_lock);
	ss_rec_leave();
}

static bool is_shared(const struct thread *t)
{
	return t >= ss_rec.shared && t < ss_rec.shared + SHARED_LINES;
}

/* The shared lines, then the threads. */
static struct thread *line_after(struct thread *t)
{
	if (is_shared(t))
		return t + 1 < ss_rec.shared + SHARED_LINES ? t + 1 : ss_rec.stopping;
	return t->next;
}

#define FOR_EACH_LINE(t)                                                        \
	for (struct thread *t = ss_rec.shared; t; t = line_after(t))            \
		if (t->session == ss_rec.session && t->first)

/*
 * Owners may still end a scope in their buffers: give them memory that is nobody's. The kernel lays
 * mappings one below the other, so that many buffers are one piece.
 */
static void detach(const struct thread *t)
{
	struct extent extent = { NULL, NULL };
	for (const struct buffer *b = t->first; b; b = b->next)
		ss_rec_add_to_extent(&extent, b->base, true);
	ss_rec_end_extent(&extent, true);
}

/* What is left of a session that is written goes. */
static void take_down(void)
{
	FOR_EACH_LINE(t)
		detach(t);
	lock_all();
	for (struct thread *t = ss_rec.shared; t < ss_rec.shared + SHARED_LINES; t++) {
		ss_rec_free_buffers(t->first);
		*t = (struct thread){ 0 };
	}
	ss_rec_free_buffers(ss_rec.names);
	while (ss_rec.nstock)
		ss_rec_free_buffers(ss_rec.stock[--ss_rec.nstock]);
	ss_rec.names = NULL;
	ss_rec.names_tail = ss_rec.names_end = NULL;
	unlock_all();
	ss_spool_close(&ss_rec.spool);
}

/* From now on threads may record. */
static void open_session(int level)
{
	lock_all();
	ss_rec.nnames = 0;
	name_shared_lines();
	__atomic_store_n(&ss_rec.interrupted, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ss_rec.start_ns, now_ns(CLOCK_MONOTONIC), __ATOMIC_RELAXED);
	__atomic_store_n(&ss_rec.start_ps, ss_rec.start_ns * 1000, __ATOMIC_RELAXED);
	/* Behind the start: the ends of scopes that are older are no longer written. */
	ss_rec_sweep_threads();
	ss_rec.running = true;
	__atomic_fetch_add(&ss_rec.session, 1, __ATOMIC_RELEASE);
	unlock_all();
	ss_rec_begin_stock(take_down);
	__atomic_store_n(&ss_trace_level_now, level, __ATOMIC_RELEASE);
}

static bool start(const struct ss_trace_options *o)
{
	/* Do not join if the new session wants its own file. */
	if (ss_rec.running && ss_rec.joinable && !o->dir)
		return ++ss_rec.joined;
	if (ss_rec.running)
		return ss_rec_fail("a recording is running already, to '%s'", ss_rec.spool.path);
	if (!ss_rec_prepare())
		return ss_rec_fail("out of memory: forks cannot be detected");
	ss_rec_wait_for_maker();
	if (!set_path(o))
		return false;
	ss_rec.start_unix_ns = now_ns(CLOCK_REALTIME);
	struct spool_info info = { ss_rec.host, ss_rec.start_unix_ns, 0 };
	if (!ss_spool_open(&ss_rec.spool, &info, o->max_bytes ? o->max_bytes : (uint64_t)256 << 20))
		return ss_rec_fail("cannot write '%s': %s", ss_rec.spool.path, strerror(errno));
	ss_rec_lock();
	bool named = write_plane_name();
	int why = errno;
	ss_rec_unlock();
	if (!named) {
		unlink(ss_rec.spool.path);
		ss_spool_close(&ss_rec.spool);
		return ss_rec_fail("no space for '%s': %s", ss_rec.spool.path, strerror(why));
	}
	open_session(o->level ? o->level : SS_TRACE_INFO);
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
	if (!ss_rec_lock_session())
		return false;
	bool ok = start(&o);
	ss_rec_unlock_session();
	return ok;
}

static size_t events_bytes(const struct thread *t)
{
	size_t n = 0;
	for (const struct buffer *b = t->first; b; b = b->next)
		n += b->kept - b->events_at;
	return n;
}

/* The number of scopes of the buffer without an end. */
static uint64_t count_open(const struct buffer *b)
{
	uint64_t n = 0;
	for (uint32_t at = b->events_at; at < b->kept;) {
		struct event_at e = event_at(b->base + at);
		n += load_word(e.duration) == OPEN_DURATION;
		at += e.bytes;
	}
	return n;
}

/*
 * The buffer's events with the stop as the end of those that have none. Their owners may end them
 * in this moment, in the buffer: so what is written is a copy.
 */
static const unsigned char *end_open_scopes(const struct buffer *b, uint64_t stop_ps)
{
	static unsigned char copy[SPOOL_BUFFER] __attribute__((aligned(8)));	/* session_lock is held */
	for (uint32_t at = b->events_at; at < b->kept;) {
		struct event_at e = event_at(b->base + at);
		uint32_t duration = (uint32_t)(e.duration - b->base);
		uint64_t word = load_word(e.duration);
		if (word == OPEN_DURATION)
			word = duration_word(stop_ps > e.offset_ps ? stop_ps - e.offset_ps : 1, false);
		memcpy(copy + at, b->base + at, duration - at);
		memcpy(copy + duration, &word, 8);
		memcpy(copy + duration + 8, e.duration + 8, at + e.bytes - duration - 8);
		at += e.bytes;
	}
	return copy + b->events_at;
}

static bool write_line(struct gather *g, const struct thread *t, uint64_t stop_ps)
{
	unsigned char line[128], head[16];
	unsigned char *end = put_field(line, XLINE_ID, (uint64_t)t->tid);
	end = put_bytes(end, XLINE_NAME, t->line, strlen(t->line));
	size_t n = (size_t)(end - line);
	end = put_varint(put_varint(head, XPLANE_LINES << 3 | 2), n + events_bytes(t));
	bool ok = ss_gather(g, head, (size_t)(end - head)) && ss_gather(g, line, n);
	/*
	 * To look at every event is a third of the stop, and of most threads few scopes are open
	 * then, or none.
	 */
	uint64_t open = is_shared(t) ? UINT64_MAX : __atomic_load_n(&t->open, __ATOMIC_ACQUIRE);
	for (const struct buffer *b = t->first; ok && b; b = b->next) {
		uint64_t found = open ? count_open(b) : 0;
		open -= found < open ? found : open;
		ok = ss_gather(g, found ? end_open_scopes(b, stop_ps) : b->base + b->events_at, b->kept - b->events_at) &&
		     (!found || ss_gather_flush(g));
	}
	return ok;
}

static size_t line_bytes(const struct thread *t)
{
	size_t events = events_bytes(t), name = strlen(t->line);
	size_t inner = 1 + varint_size((uint64_t)t->tid) + 1 + varint_size(name) + name + events;
	return 1 + varint_size(inner) + inner;
}

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

/* The lock is held. */
static uint64_t dropped_now(void)
{
	uint64_t n = __atomic_load_n(&ss_rec.interrupted, __ATOMIC_RELAXED);
	for (const struct thread *t = ss_rec.threads; t; t = t->next)
		n += t->session == ss_rec.session || !t->first ? __atomic_load_n(&t->dropped, __ATOMIC_RELAXED) : 0;
	for (const struct thread *t = ss_rec.shared; t < ss_rec.shared + SHARED_LINES; t++)
		n += __atomic_load_n(&t->dropped, __ATOMIC_RELAXED);
	return n;
}

/*
 * No thread begins another buffer or name from here on, and what each has recorded so far is what
 * is kept: an owner in the middle of an event may add it still. Returns what was dropped.
 */
static uint64_t close_session(void)
{
	ss_rec_lock();
	ss_rec.running = false;
	ss_rec.stopping = ss_rec.threads;
	uint64_t dropped = dropped_now();
	FOR_EACH_LINE(t) {
		memcpy(t->line, t->name, sizeof(t->line));
		for (struct buffer *b = t->first; b; b = b->next)
			b->kept = b == t->last ? (uint32_t)(__atomic_load_n(&t->tail, __ATOMIC_ACQUIRE) - b->base) : b->used;
	}
	ss_rec_unlock();
	return dropped;
}

/* The whole profile again, one line a thread: header, then bytes as they are. */
static bool write_final(int fd, uint64_t dropped)
{
	unsigned char head[1024], drop[128];
	struct spool_info info = { ss_rec.host, ss_rec.start_unix_ns, now_ns(CLOCK_REALTIME) };
	uint64_t stop_ps = (now_ns(CLOCK_MONOTONIC) - ss_rec.start_ns) * 1000;
	size_t plane = 0, ndrop = dropped ? put_dropped(drop, dropped) : 0;
	for (const struct buffer *b = ss_rec.names; b; b = b->next)
		plane += b->used;
	FOR_EACH_LINE(t)
		plane += line_bytes(t);
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

/*
 * Put the new file in the old one's place, atomically. Exchanging them spares what ext4 does for a
 * file that replaces another, to write it to the disk at once: a sixth of the stop, and the
 * recording was not there either.
 */
static bool replace(const char *temporary, const char *path)
{
#ifdef SYS_renameat2	/* a C library may be older than the system */
	const unsigned exchange = 2;
	if (syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, path, exchange) == 0) {
		unlink(temporary);
		return true;
	}
#endif
	return rename(temporary, path) == 0;
}

static const char *stop(void)
{
	char temporary[sizeof(ss_rec.spool.path) + 8];
	uint64_t dropped = close_session();
	snprintf(temporary, sizeof(temporary), "%s.tmp", ss_rec.spool.path);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool ok = fd >= 0 && write_final(fd, dropped);
	ok = fd >= 0 && close(fd) == 0 && ok;
	ok = ok && replace(temporary, ss_rec.spool.path);
	if (!ok) {
		ss_rec_fail("cannot sort '%s': %s; its records stay in the order of the recording",
		     ss_rec.spool.path, strerror(errno));
		unlink(temporary);
	}
	const struct recorder_source *source = ss_rec.source;
	ss_rec.source = NULL;
	if (source)
		source->finish(ok);
	ss_rec_leave_to_maker();
	return ok ? ss_rec.spool.path : NULL;
}

/* The source delivers events and names, which take the lock. */
static void stop_source(void)
{
	ss_rec_lock();
	const struct recorder_source *source = ss_rec.source;
	ss_rec_unlock();
	if (source)
		source->stop();
}

static const char *stop_or_leave(void)
{
	if (ss_rec.joined) {
		ss_rec.joined--;
		return ss_rec.spool.path;
	}
	if (!ss_rec.running) {
		ss_rec_fail("no recording is running");
		return NULL;
	}
	stop_source();
	__atomic_store_n(&ss_trace_level_now, 0, __ATOMIC_RELEASE);
	ss_rec_end_stock();
	return stop();
}

const char *ss_trace_stop(void)
{
	const struct recorder_table *other = ss_rec_other();
	if (other) {
		const char *theirs = other->stop();
		take_level(other);
		return theirs;
	}
	if (!ss_rec_lock_session())
		return NULL;
	const char *path = stop_or_leave();
	ss_rec_unlock_session();
	return path;
}

uint64_t ss_trace_dropped(void)
{
	const struct recorder_table *other = ss_rec_other();
	if (other)
		return other->dropped();
	if (!ss_rec_lock())
		return __atomic_load_n(&ss_rec.interrupted, __ATOMIC_RELAXED);
	uint64_t n = dropped_now();
	ss_rec_unlock();
	return n;
}
