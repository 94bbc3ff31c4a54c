/*
 * ss_trace.c - the recorder: per-thread buffers in a spool file, names, and putting the file in
 * order at the end.
 *
 * A thread writes events into a buffer of its own, in the order in which they begin, which is the
 * order readers want (parents before children). A scope's record is complete from the start but for
 * its duration, which the end fills in. Nobody else touches the buffer until the session has ended;
 * then stopping copies it, and puts anonymous memory in its place, so that a scope that ends later
 * writes to harmless ground.
 *
 * What was dropped: rdtsc instead of clock_gettime (15 ns less, but neither comparable between
 * sockets nor to other tracers); a ring that keeps the newest (needs the oldest events removed from
 * a file that must stay readable).
 */
#include "ss_trace.h"

#include "spool.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
	XSPACE_PLANES = 1,
	XPLANE_ID = 1, XPLANE_NAME = 2, XPLANE_LINES = 3, XPLANE_EVENT_METADATA = 4, XPLANE_STAT_METADATA = 5,
	XLINE_ID = 1, XLINE_NAME = 2, XLINE_EVENTS = 4,
	XEVENT_METADATA_ID = 1, XEVENT_OFFSET_PS = 2, XEVENT_DURATION_PS = 3, XEVENT_STATS = 4,
	XSTAT_METADATA_ID = 1, XSTAT_DOUBLE = 2, XSTAT_UINT64 = 3, XSTAT_INT64 = 4, XSTAT_STR = 5,
};

#define TEXT_MAX 1000u		/* bytes of a name or text that are kept */
#define ARGS_MAX 12u
#define EVENT_BYTES 32u
#define DURATION_AT 22u		/* where in an event's record the duration's varint stands */
#define RECORD_MAX (EVENT_BYTES + ARGS_MAX * (TEXT_MAX + 32))
#define COUNTERS_LINE "_counters_"
#define STOCK 4u

struct buffer {
	struct buffer *next;	/* in order of use */
	unsigned char *base;
	uint32_t events_at;	/* after the line's header */
	uint32_t used;		/* up to here there are records; written by the owner */
};

struct thread {
	struct thread *next;
	struct buffer *first, *last;
	unsigned char *tail, *end; /* free part of the last buffer; NULL: none */
	uint64_t session;
	uint64_t dropped;
	int64_t tid;
	char name[64];
	bool gone;		/* the thread has ended; freed when no session needs it */
};

struct interned {
	struct ss_trace_name name;
	struct interned *next;
};

int ss_trace_level_now;

/* One recorder a program; everything but `session` and what is said to be atomic is guarded by the lock. */
static struct recorder {
	pthread_mutex_t lock;
	struct spool spool;
	bool running;
	uint64_t session;	/* counts starts; atomic */
	uint64_t start_ns;	/* CLOCK_MONOTONIC; set before the level */
	uint64_t start_unix_ns;
	char host[256];
	struct thread *threads;
	struct thread counters;
	struct buffer *names;	/* metadata */
	unsigned char *names_tail, *names_end;
	uint32_t nnames;
	struct interned *interned[256];
	unsigned char *stock[STOCK]; /* buffers made ahead */
	unsigned nstock;
	pthread_cond_t used_stock;
	pthread_t maker;
	bool making, quit;
	pthread_key_t key;
	bool ready;		/* key and fork handler exist */
	char error[512];
} rec = { .lock = PTHREAD_MUTEX_INITIALIZER, .used_stock = PTHREAD_COND_INITIALIZER };

static __thread struct thread *self;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static bool fail(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(rec.error, sizeof(rec.error), fmt, ap);
	va_end(ap);
	return false;
}

const char *ss_trace_error(void)
{
	return rec.error;
}

/* --- buffers: the lock is held ----------------------------------------------------------- */

static struct buffer *new_buffer(struct buffer **first, struct buffer *last)
{
	struct buffer *b = calloc(1, sizeof(*b));
	if (b && rec.nstock)
		b->base = rec.stock[--rec.nstock];
	else if (b)
		b->base = spool_buffer(&rec.spool);
	pthread_cond_signal(&rec.used_stock);
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

/* Header of a line that fills its buffer: id and name in whole words; the width of their varints takes up the slack. */
static size_t put_line_header(unsigned char *p, int64_t id, const char *name)
{
	size_t n = strlen(name);
	unsigned narrow = varint_size((uint64_t)id), width = narrow, length = 1;
	while ((1 + width + 1 + length + n) % 8) {
		if (++width <= 10)
			continue;
		width = narrow;
		length++;
	}
	unsigned char *at = p;
	*at++ = XLINE_ID << 3;
	at = put_varint_n(at, (uint64_t)id, width);
	*at++ = XLINE_NAME << 3 | 2;
	at = put_varint_n(at, n, length);
	memcpy(at, name, n);
	return (size_t)(at + n - p);
}

static bool add_line_buffer(struct thread *t)
{
	struct buffer *b = new_buffer(&t->first, t->last);
	if (!b)
		return false;
	size_t n = put_line_header(b->base + 8, t->tid, t->name);
	b->events_at = b->used = (uint32_t)(8 + n);
	put_rest(b->base + b->used, b->base + SPOOL_BUFFER);
	store_word(b->base, message_word(XPLANE_LINES, SPOOL_BUFFER - 8));
	t->last = b;
	t->tail = b->base + b->used;
	t->end = b->base + SPOOL_BUFFER;
	return true;
}

/*
 * The maker keeps a few buffers ready, so that a thread in need of one does not wait for the disk
 * or the kernel. It ends when there is no more room: then every thread finds out for itself, and
 * counts.
 */
static void *make_stock(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&rec.lock);
	while (!rec.quit) {
		if (rec.nstock == STOCK) {
			pthread_cond_wait(&rec.used_stock, &rec.lock);
			continue;
		}
		unsigned char *made = spool_buffer(&rec.spool);
		if (!made)
			break;
		rec.stock[rec.nstock++] = made;
		/* Let those in that wait for the lock. */
		pthread_mutex_unlock(&rec.lock);
		pthread_mutex_lock(&rec.lock);
	}
	pthread_mutex_unlock(&rec.lock);
	return NULL;
}

static void free_buffers(struct buffer *b)
{
	while (b) {
		struct buffer *next = b->next;
		munmap(b->base, SPOOL_BUFFER);
		free(b);
		b = next;
	}
}

static void append(struct thread *t, const unsigned char *record, size_t n)
{
	append_record(t->tail, t->end, record, n);
	t->tail += n;
	__atomic_store_n(&t->last->used, (uint32_t)(t->tail - t->last->base), __ATOMIC_RELEASE);
}

/* --- names ------------------------------------------------------------------------------- */

enum { NAME_EVENT = 1, NAME_STAT = 2 };

/* An entry of event_metadata or stat_metadata, padded to whole words by the width of its key. */
static size_t put_name(unsigned char *p, unsigned field, uint32_t id, const char *text)
{
	unsigned char meta[TEXT_MAX + 32], *end = put_field(meta, 1, id);
	size_t n = strlen(text);
	end = put_bytes(end, 2, text, n < TEXT_MAX ? n : TEXT_MAX);
	size_t metan = (size_t)(end - meta);
	size_t inner = 1 + 1 + varint_size(metan) + metan; /* key's tag, value's tag, its length */
	unsigned width = varint_size(id);
	while ((3 + inner + width) % 8)
		width++;
	unsigned char *at = p;
	*at++ = (unsigned char)(field << 3 | 2);
	at = put_varint_n(at, inner + width, 2);
	*at++ = 1 << 3;
	at = put_varint_n(at, id, width);
	at = put_bytes(at, 2, meta, metan);
	return (size_t)(at - p);
}

static bool write_name(unsigned field, uint32_t id, const char *text)
{
	unsigned char record[TEXT_MAX + 64];
	size_t n = put_name(record, field, id, text);
	if ((size_t)(rec.names_end - rec.names_tail) < n) {
		struct buffer *last = rec.names;
		while (last && last->next)
			last = last->next;
		struct buffer *b = new_buffer(&rec.names, last);
		if (!b)
			return false;
		b->used = 0;
		rec.names_tail = b->base;
		rec.names_end = b->base + SPOOL_BUFFER;
	}
	append_record(rec.names_tail, rec.names_end, record, n);
	rec.names_tail += n;
	struct buffer *b = rec.names;
	while (b->next)
		b = b->next;
	b->used += (uint32_t)n;
	return true;
}

/* ss_trace_name.id: session << 34 | kinds << 32 | number. */
static uint32_t register_name(struct ss_trace_name *name, unsigned kind, uint64_t session)
{
	pthread_mutex_lock(&rec.lock);
	uint64_t id = __atomic_load_n(&name->id, __ATOMIC_RELAXED);
	if (!rec.running || session != rec.session) {
		pthread_mutex_unlock(&rec.lock);
		return 0;
	}
	if (id >> 34 != session)
		id = session << 34 | ++rec.nnames;
	if (!(id >> 32 & kind) &&
	    write_name(kind == NAME_EVENT ? XPLANE_EVENT_METADATA : XPLANE_STAT_METADATA,
		       (uint32_t)id, name->text))
		id |= (uint64_t)kind << 32;
	bool known = id >> 32 & kind;
	__atomic_store_n(&name->id, id, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&rec.lock);
	return known ? (uint32_t)id : 0;
}

/* Number of a name in this session, 0 if there is no room for it. */
static inline uint32_t name_id(struct ss_trace_name *name, unsigned kind, uint64_t session)
{
	uint64_t id = __atomic_load_n(&name->id, __ATOMIC_RELAXED);
	if (id >> 34 == session && id >> 32 & kind)
		return (uint32_t)id;
	return register_name(name, kind, session);
}

struct ss_trace_name *ss_trace_intern(const char *text)
{
	unsigned hash = 5381;
	for (const char *c = text; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	pthread_mutex_lock(&rec.lock);
	struct interned **slot = &rec.interned[hash % 256];
	while (*slot && strcmp((*slot)->name.text, text) != 0)
		slot = &(*slot)->next;
	if (!*slot) {
		struct interned *made = calloc(1, sizeof(*made));
		char *copy = strdup(text);
		if (made && copy) {
			made->name.text = copy;
			*slot = made;
		} else {
			free(made);
			free(copy);
		}
	}
	struct ss_trace_name *name = *slot ? &(*slot)->name : NULL;
	pthread_mutex_unlock(&rec.lock);
	return name;
}

/* --- threads ----------------------------------------------------------------------------- */

/* A thread that ends leaves its buffers to the session. */
static void thread_gone(void *arg)
{
	struct thread *t = arg;
	pthread_mutex_lock(&rec.lock);
	t->gone = true;
	pthread_mutex_unlock(&rec.lock);
}

static void system_thread_name(char *out, size_t n)
{
	if (pthread_getname_np(pthread_self(), out, n) != 0 || !out[0])
		snprintf(out, n, "thread");
}

static struct thread *new_thread(void)
{
	struct thread *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = (int64_t)syscall(SYS_gettid);
	system_thread_name(t->name, sizeof(t->name));
	pthread_mutex_lock(&rec.lock);
	t->next = rec.threads;
	rec.threads = t;
	pthread_mutex_unlock(&rec.lock);
	pthread_setspecific(rec.key, t);
	self = t;
	return t;
}

/* Make room for n bytes in the thread's buffer of this session; false: count the event as dropped. */
static bool make_room(struct thread *t, uint64_t session, size_t n)
{
	pthread_mutex_lock(&rec.lock);
	bool ok = rec.running && rec.session == session && n <= SPOOL_BUFFER / 2;
	if (ok && t->session != session) {
		free_buffers(t->first);
		t->first = t->last = NULL;
		t->tail = t->end = NULL;
		t->session = session;
		t->dropped = 0;
	}
	if (ok && (size_t)(t->end - t->tail) < n)
		ok = add_line_buffer(t);
	if (!ok)
		t->dropped++;
	pthread_mutex_unlock(&rec.lock);
	return ok;
}

/* --- events ------------------------------------------------------------------------------ */

static size_t put_value(unsigned char *p, const struct ss_trace_arg *arg)
{
	unsigned char *at = p;
	switch (arg->kind) {
	case SS_TRACE_INT:
		at = put_field(at, XSTAT_INT64, (uint64_t)arg->v.i);
		break;
	case SS_TRACE_UINT:
		at = put_field(at, XSTAT_UINT64, arg->v.u);
		break;
	case SS_TRACE_DOUBLE:
		*at++ = XSTAT_DOUBLE << 3 | 1;
		memcpy(at, &arg->v.d, 8);
		at += 8;
		break;
	case SS_TRACE_TEXT: {
		size_t n = arg->v.text ? strlen(arg->v.text) : 0;
		at = put_bytes(at, XSTAT_STR, arg->v.text ? arg->v.text : "", n < TEXT_MAX ? n : TEXT_MAX);
		break;
	}
	}
	return (size_t)(at - p);
}

/* A stat in whole words: the key's varint is as wide as it takes. 0 if the key found no room. */
static size_t put_arg(unsigned char *p, const struct ss_trace_arg *arg, uint64_t session)
{
	unsigned char value[TEXT_MAX + 32];
	uint32_t key = name_id(arg->key, NAME_STAT, session);
	if (!key)
		return 0;
	size_t n = put_value(value, arg), inner = 1 + n;
	unsigned width = varint_size(key);
	while ((3 + inner + width) % 8)
		width++;
	if (width > 10)		/* a key of four bytes and seven of slack */
		return 0;
	unsigned char *at = p;
	*at++ = XEVENT_STATS << 3 | 2;
	at = put_varint_n(at, inner + width, 2);
	*at++ = XSTAT_METADATA_ID << 3;
	at = put_varint_n(at, key, width);
	memcpy(at, value, n);
	return (size_t)(at + n - p);
}

/* 22 length(2) | 08 id(6) | 10 offset(10) | 18 duration(10): 32 bytes, then the stats. */
static inline void put_event(unsigned char *p, uint32_t id, uint64_t offset_ps, size_t stats)
{
	p[0] = XLINE_EVENTS << 3 | 2;
	put_varint_n(p + 1, EVENT_BYTES - 3 + stats, 2);
	p[3] = XEVENT_METADATA_ID << 3;
	put_varint_n(p + 4, id, 6);
	p[10] = XEVENT_OFFSET_PS << 3;
	put_varint10(p + 11, offset_ps);
	p[21] = XEVENT_DURATION_PS << 3;
	put_varint10(p + DURATION_AT, 0);
}

static unsigned char *record(struct thread *t, uint64_t session, uint32_t id, uint64_t at_ns, const struct ss_trace_arg *args,
			     size_t nargs)
{
	unsigned char buf[RECORD_MAX];
	size_t n = EVENT_BYTES;
	for (size_t i = 0; i < nargs && i < ARGS_MAX; i++)
		n += put_arg(buf + n, &args[i], session);
	if (__builtin_expect(t->session != session || (size_t)(t->end - t->tail) < n, 0) && !make_room(t, session, n))
		return NULL;
	put_event(buf, id, (at_ns - rec.start_ns) * 1000, n - EVENT_BYTES);
	unsigned char *at = t->tail;
	append(t, buf, n);
	return at;
}

/*
 * The common event, written as four words without a buffer between: length and id are constants of
 * the name, the offset spreads over two words, the duration is zero.
 *	22 LL LL 08 id(4 of 6) | id(2) 10 offset(5 of 10) | offset(5) 18 duration(2 of 10) | duration(8)
 */
static inline unsigned char *record_plain(struct thread *t, uint32_t id, uint64_t at_ns)
{
	unsigned char *at = t->tail;
	uint64_t offset_ps = (at_ns - rec.start_ns) * 1000, low = spread7(offset_ps & 0x00ffffffffffffffu) | 0x8080808080808080u;
	uint64_t ids = spread7(id) | 0x0000008080808080u, high = 0x80 | offset_ps >> 56;
	uint64_t w[4];
	w[0] = (XLINE_EVENTS << 3 | 2) | (uint64_t)(0x80 | (EVENT_BYTES - 3)) << 8 |
	       (uint64_t)(XEVENT_METADATA_ID << 3) << 24 | ids << 32;
	w[1] = (ids >> 32 & 0xffff) | (uint64_t)(XEVENT_OFFSET_PS << 3) << 16 | low << 24;
	w[2] = low >> 40 | high << 24 | (uint64_t)(XEVENT_DURATION_PS << 3) << 40 | UINT64_C(0x8080) << 48;
	w[3] = UINT64_C(0x0080808080808080);
	/* The buffer was touched by another core: fetch what the events after next will be written to. */
	__builtin_prefetch(at + 512, 1);
	put_rest(at + EVENT_BYTES, t->end);
	memcpy(at + 8, w + 1, EVENT_BYTES - 8);
	store_word(at, w[0]);
	t->tail = at + EVENT_BYTES;
	__atomic_store_n(&t->last->used, (uint32_t)(t->tail - t->last->base), __ATOMIC_RELEASE);
	return at;
}

struct ss_trace_scope ss_trace_begin_now(struct ss_trace_name *name, const struct ss_trace_arg *args,
					 size_t nargs)
{
	struct ss_trace_scope scope = { NULL, 0, __atomic_load_n(&rec.session, __ATOMIC_ACQUIRE) };
	struct thread *t = self ? self : new_thread();
	uint32_t id = t ? name_id(name, NAME_EVENT, scope.session) : 0;
	if (!id) {
		if (t)
			t->dropped++;
		return scope;
	}
	scope.begin_ns = now_ns(CLOCK_MONOTONIC);
	if (nargs == 0 && t->session == scope.session && (size_t)(t->end - t->tail) >= EVENT_BYTES)
		scope.record = record_plain(t, id, scope.begin_ns);
	else
		scope.record = record(t, scope.session, id, scope.begin_ns, args, nargs);
	return scope;
}

/* A duration of 0 means "still open" to the stop; a clock that did not move counts as 1 ps. */
void ss_trace_end_now(struct ss_trace_scope scope)
{
	uint64_t ns = now_ns(CLOCK_MONOTONIC) - scope.begin_ns;
	if (self && self->session == scope.session)
		patch_varint10(scope.record + DURATION_AT, ns ? ns * 1000 : 1);
}

static void instant_at(struct thread *t, uint64_t session, struct ss_trace_name *name,
		       const struct ss_trace_arg *args, size_t nargs)
{
	uint32_t id = name_id(name, NAME_EVENT, session);
	unsigned char *at = id ? record(t, session, id, now_ns(CLOCK_MONOTONIC), args, nargs) : NULL;
	if (at)
		patch_varint10(at + DURATION_AT, 1);
	else if (!id)
		t->dropped++;
}

void ss_trace_instant(int level, struct ss_trace_name *name, const struct ss_trace_arg *args, size_t nargs)
{
	if (!ss_trace_on(level))
		return;
	struct thread *t = self ? self : new_thread();
	if (t)
		instant_at(t, __atomic_load_n(&rec.session, __ATOMIC_ACQUIRE), name, args, nargs);
}

struct ss_trace_scope ss_trace_step_begin(struct ss_trace_name *name, int64_t number)
{
	static struct ss_trace_name root = { "_r", 0 }, step_num = { "step_num", 0 };
	const struct ss_trace_arg args[] = {
		{ &root, SS_TRACE_INT, { .i = 1 } },
		{ &step_num, SS_TRACE_INT, { .i = number } },
	};
	return ss_trace_begin(SS_TRACE_CRITICAL, name, args, 2);
}

/* Flows use the "generic" context type, 0. */
void ss_trace_produce(struct ss_trace_name *name, uint64_t id)
{
	static struct ss_trace_name type = { "_pt", 0 }, key = { "_p", 0 };
	const struct ss_trace_arg args[] = {
		{ &type, SS_TRACE_INT, { .i = 0 } },
		{ &key, SS_TRACE_UINT, { .u = id } },
	};
	ss_trace_instant(SS_TRACE_CRITICAL, name, args, 2);
}

struct ss_trace_scope ss_trace_consume_begin(struct ss_trace_name *name, uint64_t id)
{
	static struct ss_trace_name type = { "_ct", 0 }, key = { "_c", 0 };
	const struct ss_trace_arg args[] = {
		{ &type, SS_TRACE_INT, { .i = 0 } },
		{ &key, SS_TRACE_UINT, { .u = id } },
	};
	return ss_trace_begin(SS_TRACE_CRITICAL, name, args, 2);
}

/* Counters of all threads share a line: that is how readers know them. They are rare enough for a lock. */
void ss_trace_counter(struct ss_trace_name *name, double value)
{
	static struct ss_trace_name key = { "value", 0 };
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	const struct ss_trace_arg arg = { &key, SS_TRACE_DOUBLE, { .d = value } };
	if (!ss_trace_on(SS_TRACE_CRITICAL))
		return;
	pthread_mutex_lock(&one);
	instant_at(&rec.counters, __atomic_load_n(&rec.session, __ATOMIC_ACQUIRE), name, &arg, 1);
	pthread_mutex_unlock(&one);
}

static void memory_event(struct ss_trace_name *name, const struct ss_trace_memory *m)
{
	static struct ss_trace_name keys[] = {
		{ "allocator_name", 0 }, { "addr", 0 }, { "requested_bytes", 0 },
		{ "allocation_bytes", 0 }, { "bytes_reserved", 0 }, { "bytes_allocated", 0 },
		{ "bytes_available", 0 }, { "peak_bytes_in_use", 0 }, { "fragmentation", 0 },
		{ "tf_op", 0 },
	};
	const struct ss_trace_arg args[] = {
		{ &keys[0], SS_TRACE_TEXT, { .text = m->allocator } },
		{ &keys[1], SS_TRACE_UINT, { .u = m->address } },
		{ &keys[2], SS_TRACE_INT, { .i = (int64_t)m->requested_bytes } },
		{ &keys[3], SS_TRACE_INT, { .i = (int64_t)m->allocation_bytes } },
		{ &keys[4], SS_TRACE_INT, { .i = (int64_t)m->bytes_reserved } },
		{ &keys[5], SS_TRACE_INT, { .i = (int64_t)m->bytes_allocated } },
		{ &keys[6], SS_TRACE_INT, { .i = (int64_t)m->bytes_available } },
		{ &keys[7], SS_TRACE_INT, { .i = (int64_t)m->peak_bytes_in_use } },
		{ &keys[8], SS_TRACE_DOUBLE, { .d = m->fragmentation } },
		{ &keys[9], SS_TRACE_TEXT, { .text = m->op } },
	};
	ss_trace_instant(SS_TRACE_CRITICAL, name, args, m->op ? 10 : 9);
}

void ss_trace_allocation(const struct ss_trace_memory *m)
{
	static struct ss_trace_name name = { "MemoryAllocation", 0 };
	memory_event(&name, m);
}

void ss_trace_deallocation(const struct ss_trace_memory *m)
{
	static struct ss_trace_name name = { "MemoryDeallocation", 0 };
	memory_event(&name, m);
}

void ss_trace_thread_name(const char *name)
{
	struct thread *t = self;
	pthread_mutex_lock(&rec.lock);
	bool ready = rec.ready;
	pthread_mutex_unlock(&rec.lock);
	if (!t && ready)
		t = new_thread();
	if (t) {
		pthread_mutex_lock(&rec.lock);
		snprintf(t->name, sizeof(t->name), "%s", name);
		pthread_mutex_unlock(&rec.lock);
	}
}

/* --- start and stop ---------------------------------------------------------------------- */

/* A child shares the file's memory but must not write to it. */
static void in_child(void)
{
	__atomic_store_n(&ss_trace_level_now, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&rec.session, 1, __ATOMIC_RELAXED);
	rec.running = rec.making = false;
	pthread_mutex_init(&rec.lock, NULL);
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
	snprintf(rec.host, sizeof(rec.host), "%s", o->host ? o->host : system_host);
	const char *name = o->session ? o->session : session;
	if (strchr(rec.host, '/') || strchr(name, '/') || !*name || !rec.host[0])
		return fail("session and host are names of a folder and a file: '%s', '%s' cannot be", name, rec.host);
	int n = snprintf(rec.spool.path, sizeof(rec.spool.path), "%s/plugins/profile/%s/%s.xplane.pb", dir ? dir : ".", name,
			 rec.host);
	if (n < 0 || (size_t)n >= sizeof(rec.spool.path) - 8)
		return fail("the path of the profile is longer than %zu bytes", sizeof(rec.spool.path));
	if (!make_folders(rec.spool.path))
		return fail("cannot make the folder of '%s': %s", rec.spool.path, strerror(errno));
	return true;
}

/* Threads that ended in earlier sessions. */
static void sweep_threads(void)
{
	for (struct thread **at = &rec.threads; *at;) {
		struct thread *t = *at;
		if (!t->gone) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		free_buffers(t->first);
		free(t);
	}
}

static bool write_plane_name(void)
{
	/* In whole words: an id of 0 as a varint of 4 bytes, then tag, length and 9 bytes of name. */
	unsigned char name[16];
	name[0] = XPLANE_ID << 3;
	put_bytes(put_varint_n(name + 1, 0, 4), XPLANE_NAME, "/host:CPU", 9);
	struct buffer *b = new_buffer(&rec.names, NULL);
	if (!b)
		return false;
	append_record(b->base, b->base + SPOOL_BUFFER, name, sizeof(name));
	b->used = sizeof(name);
	rec.names_tail = b->base + b->used;
	rec.names_end = b->base + SPOOL_BUFFER;
	return true;
}

static bool start(const struct ss_trace_options *o)
{
	if (rec.running)
		return fail("a recording is running already, to '%s'", rec.spool.path);
	if (!rec.ready) {
		if (pthread_key_create(&rec.key, thread_gone) != 0)
			return fail("no thread-specific storage is left");
		pthread_atfork(NULL, NULL, in_child);
		rec.ready = true;
	}
	if (!set_path(o))
		return false;
	sweep_threads();
	rec.start_unix_ns = now_ns(CLOCK_REALTIME);
	struct spool_info info = { rec.host, rec.start_unix_ns, 0 };
	if (!spool_open(&rec.spool, &info, o->max_bytes ? o->max_bytes : (uint64_t)256 << 20))
		return fail("cannot write '%s': %s", rec.spool.path, strerror(errno));
	rec.nnames = 0;
	if (!write_plane_name()) {
		int why = errno;
		unlink(rec.spool.path);
		spool_close(&rec.spool);
		return fail("no room for '%s': %s", rec.spool.path, strerror(why));
	}
	rec.quit = false;
	/* Without the maker threads make their buffers themselves. */
	rec.making = pthread_create(&rec.maker, NULL, make_stock, NULL) == 0;
	rec.counters.tid = 0;
	snprintf(rec.counters.name, sizeof(rec.counters.name), COUNTERS_LINE);
	rec.start_ns = now_ns(CLOCK_MONOTONIC);
	rec.running = true;
	__atomic_fetch_add(&rec.session, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&ss_trace_level_now, o->level ? o->level : SS_TRACE_INFO, __ATOMIC_RELEASE);
	return true;
}

bool ss_trace_start(const struct ss_trace_options *options)
{
	struct ss_trace_options o = { .size = sizeof(o) };
	if (options)
		memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	pthread_mutex_lock(&rec.lock);
	bool ok = start(&o);
	pthread_mutex_unlock(&rec.lock);
	return ok;
}

static bool write_all(int fd, const void *bytes, size_t n)
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
		n += __atomic_load_n(&b->used, __ATOMIC_ACQUIRE) - b->events_at;
	return n;
}

/* Scopes without an end, of which there are as many as the stack is deep, end now. */
static void end_open_scopes(struct buffer *b, uint32_t used, uint64_t stop_ps)
{
	static const unsigned char zero[8] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80 };
	for (uint32_t at = b->events_at; at + EVENT_BYTES <= used;) {
		unsigned char *p = b->base + at;
		uint64_t offset = 0;
		if (memcmp(p + DURATION_AT, zero, 8) == 0) {
			for (unsigned i = 0; i < 9; i++)
				offset |= (uint64_t)(p[11 + i] & 0x7f) << (7 * i);
			patch_varint10(p + DURATION_AT, stop_ps > offset ? stop_ps - offset : 1);
		}
		at += 3u + (p[1] & 0x7fu) + ((uint32_t)p[2] << 7);
	}
}

static bool write_line(int fd, struct thread *t, uint64_t stop_ps)
{
	unsigned char line[128], head[16];
	unsigned char *end = put_field(line, XLINE_ID, (uint64_t)t->tid);
	end = put_bytes(end, XLINE_NAME, t->name, strlen(t->name));
	size_t n = (size_t)(end - line);
	end = put_varint(put_varint(head, XPLANE_LINES << 3 | 2), n + events_bytes(t));
	bool ok = write_all(fd, head, (size_t)(end - head)) && write_all(fd, line, n);
	for (struct buffer *b = t->first; ok && b; b = b->next) {
		end_open_scopes(b, b->used, stop_ps);
		ok = write_all(fd, b->base + b->events_at, b->used - b->events_at);
	}
	return ok;
}

static size_t line_bytes(const struct thread *t)
{
	size_t events = events_bytes(t), name = strlen(t->name);
	size_t inner = 1 + varint_size((uint64_t)t->tid) + 1 + varint_size(name) + name + events;
	return 1 + varint_size(inner) + inner;
}

#define FOR_EACH_LINE(t)                                                                            \
	for (struct thread *t = &rec.counters; t; t = t == &rec.counters ? rec.threads : t->next)   \
		if (t->session == rec.session && t->first)

/* "N events dropped" as a plane stat, where readers look for it. */
static size_t put_dropped(unsigned char *p, uint64_t dropped)
{
	unsigned char meta[32], entry[48], stat[24];
	uint32_t id = rec.nnames + 1;
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
	for (const struct thread *t = rec.threads; t; t = t->next)
		n += t->session == rec.session || !t->first ? t->dropped : 0;
	return n + rec.counters.dropped;
}

/* The whole profile again, one line a thread: header, then bytes as they are. */
static bool write_final(int fd)
{
	unsigned char head[1024], drop[128];
	struct spool_info info = { rec.host, rec.start_unix_ns, now_ns(CLOCK_REALTIME) };
	uint64_t stop_ps = (now_ns(CLOCK_MONOTONIC) - rec.start_ns) * 1000, dropped = dropped_now();
	size_t plane = 0, ndrop = dropped ? put_dropped(drop, dropped) : 0;
	for (const struct buffer *b = rec.names; b; b = b->next)
		plane += b->used;
	FOR_EACH_LINE(t)
		plane += line_bytes(t);
	unsigned char *end = head + spool_put_info(head, &info);
	end = put_varint(put_varint(end, XSPACE_PLANES << 3 | 2), plane + ndrop);
	bool ok = write_all(fd, head, (size_t)(end - head));
	for (const struct buffer *b = rec.names; ok && b; b = b->next)
		ok = write_all(fd, b->base, b->used);
	FOR_EACH_LINE(t)
		ok = ok && write_line(fd, t, stop_ps);
	return ok && write_all(fd, drop, ndrop);
}

/* Owners may still end a scope in their buffers: give them memory that is nobody's. */
static void detach(struct thread *t)
{
	for (struct buffer *b = t->first; b; b = b->next)
		mmap(b->base, SPOOL_BUFFER, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

static void finish(void)
{
	FOR_EACH_LINE(t)
		detach(t);
	free_buffers(rec.counters.first);
	rec.counters = (struct thread){ 0 };
	free_buffers(rec.names);
	while (rec.nstock)
		munmap(rec.stock[--rec.nstock], SPOOL_BUFFER);
	rec.names = NULL;
	rec.names_tail = rec.names_end = NULL;
	spool_close(&rec.spool);
	rec.running = false;
}

static const char *stop(void)
{
	char temporary[sizeof(rec.spool.path) + 8];
	if (!rec.running) {
		fail("no recording is running");
		return NULL;
	}
	snprintf(temporary, sizeof(temporary), "%s.tmp", rec.spool.path);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool ok = fd >= 0 && write_final(fd);
	ok = fd >= 0 && close(fd) == 0 && ok;
	ok = ok && rename(temporary, rec.spool.path) == 0;
	if (!ok) {
		fail("cannot put '%s' in order: %s; it stays as it was while recording",
		     rec.spool.path, strerror(errno));
		unlink(temporary);
	}
	finish();
	return ok ? rec.spool.path : NULL;
}

/* The maker takes the lock, so it is joined without. */
static void end_maker(void)
{
	bool making = rec.running && rec.making;
	pthread_t maker = rec.maker;
	rec.quit = true;
	rec.making = false;
	pthread_cond_signal(&rec.used_stock);
	if (!making)
		return;
	pthread_mutex_unlock(&rec.lock);
	pthread_join(maker, NULL);
	pthread_mutex_lock(&rec.lock);
}

const char *ss_trace_stop(void)
{
	pthread_mutex_lock(&rec.lock);
	__atomic_store_n(&ss_trace_level_now, 0, __ATOMIC_RELEASE);
	end_maker();
	const char *path = stop();
	pthread_mutex_unlock(&rec.lock);
	return path;
}

uint64_t ss_trace_dropped(void)
{
	pthread_mutex_lock(&rec.lock);
	uint64_t n = dropped_now();
	pthread_mutex_unlock(&rec.lock);
	return n;
}
