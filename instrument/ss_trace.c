/*
 * ss_trace.c - the recorder: names, threads with buffers of their own, and events.
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
#include "joined.h"
#include "record.h"
#include "recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGS_MAX 12u

/* A count that its thread alone writes. */
static inline void count(uint64_t *counter, uint64_t change)
{
	__atomic_store_n(counter, *counter + change, __ATOMIC_RELEASE);
}

/* The event found no room: not if the recording has just ended. */
static void drop(struct thread *t)
{
	if (ss_trace_on(SS_TRACE_CRITICAL))
		count(&t->dropped, 1);
}

/* --- buffers: the lock is held ------------------------------------------------------------------ */

static bool add_line_buffer(struct thread *t)
{
	struct buffer *b = ss_rec_new_buffer(&t->first, t->last);
	if (!b)
		return false;
	if (t->last)
		t->last->used = (uint32_t)(t->tail - t->last->base);
	size_t n = put_line_header(b->base + 8, t->tid, t->name);
	b->events_at = b->used = (uint32_t)(8 + n);
	put_rest(b->base + b->used, b->base + SPOOL_BUFFER);
	store_word(b->base, message_word(XPLANE_LINES, SPOOL_BUFFER - 8));
	t->last = b;
	t->tail = b->base + b->used;
	t->end = b->base + SPOOL_BUFFER;
	return true;
}

/* --- names: the lock is held ----------------------------------------------------------------------- */

enum { NAME_EVENT = 1, NAME_STAT = 2 };

static bool write_name(unsigned field, uint32_t id, const char *text)
{
	size_t length = strnlen(text, TEXT_MAX);
	struct buffer *last = ss_rec.names;
	while (last && last->next)
		last = last->next;
	if ((size_t)(ss_rec.names_end - ss_rec.names_tail) < NAME_HEAD_MAX + length) {
		last = ss_rec_new_buffer(&ss_rec.names, last);
		if (!last)
			return false;
		last->used = 0;
		ss_rec.names_tail = last->base;
		ss_rec.names_end = last->base + SPOOL_BUFFER;
	}
	size_t n = append_name(ss_rec.names_tail, ss_rec.names_end, field, id, text, length);
	ss_rec.names_tail += n;
	last->used += (uint32_t)n;
	return true;
}

/* ss_trace_name.id: session << 34 | kinds << 32 | number. The thread is in the recorder. */
static uint32_t register_name(struct ss_trace_name *name, unsigned kind, uint64_t session)
{
	pthread_mutex_lock(&ss_rec.lock);
	uint64_t id = __atomic_load_n(&name->id, __ATOMIC_RELAXED);
	if (!ss_rec.running || session != ss_rec.session) {
		pthread_mutex_unlock(&ss_rec.lock);
		return 0;
	}
	if (id >> 34 != session)
		id = session << 34 | ++ss_rec.nnames;
	if (!(id >> 32 & kind) &&
	    write_name(kind == NAME_EVENT ? XPLANE_EVENT_METADATA : XPLANE_STAT_METADATA,
		       (uint32_t)id, name->text))
		id |= (uint64_t)kind << 32;
	bool known = id >> 32 & kind;
	__atomic_store_n(&name->id, id, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&ss_rec.lock);
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

/* intern_lock is held. Programs may have names by the million, with numbers in them. */
static bool grow_interned(void)
{
	size_t slots = ss_rec.interned_slots ? ss_rec.interned_slots * 2 : 1024;
	struct interned **grown = calloc(slots, sizeof(struct interned *));
	if (!grown)
		return ss_rec.interned_slots > 0; /* longer chains will do */
	for (size_t i = 0; i < ss_rec.interned_slots; i++)
		for (struct interned *e = ss_rec.interned[i], *next; e; e = next) {
			next = e->next;
			e->next = grown[e->hash & (slots - 1)];
			grown[e->hash & (slots - 1)] = e;
		}
	free(ss_rec.interned);
	ss_rec.interned = grown;
	ss_rec.interned_slots = slots;
	return true;
}

static struct interned *intern(const char *text, uint64_t hash)
{
	if (ss_rec.ninterned >= ss_rec.interned_slots && !grow_interned())
		return NULL;
	struct interned **slot = &ss_rec.interned[hash & (ss_rec.interned_slots - 1)];
	for (struct interned *e = *slot; e; e = e->next)
		if (e->hash == hash && strcmp(e->name.text, text) == 0)
			return e;
	struct interned *made = calloc(1, sizeof(*made));
	char *copy = strdup(text);
	if (!made || !copy) {
		free(made);
		free(copy);
		return NULL;
	}
	made->name.text = copy;
	made->hash = hash;
	made->next = *slot;
	ss_rec.ninterned++;
	return *slot = made;
}

struct ss_trace_name *ss_trace_intern(const char *text)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	for (const char *c = text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
	hash ^= hash >> 32;
	if (!ss_rec_enter())
		return NULL;
	pthread_mutex_lock(&ss_rec.intern_lock);
	struct interned *found = intern(text, hash);
	pthread_mutex_unlock(&ss_rec.intern_lock);
	ss_rec_leave();
	return found ? &found->name : NULL;
}

/* --- threads ----------------------------------------------------------------------------- */

/* The lock is held; the name in whole bytes of the system's, which may be longer. */
static void rename_thread(struct thread *t, const char *name)
{
	size_t n = strnlen(name, sizeof(t->name) - 1);
	memcpy(t->name, name, n);
	t->name[n] = '\0';
}

/* Nothing is done when the thread ends: a start finds out (ss_rec_sweep_threads). */
static struct thread *new_thread(void)
{
	char name[16] = "";
	struct thread *t = ss_rec_map_wiped(sizeof(*t));
	if (!t)
		return NULL;
	t->tid = (int64_t)syscall(SYS_gettid);
	prctl(PR_GET_NAME, name);
	rename_thread(t, name[0] ? name : "thread");
	pthread_mutex_lock(&ss_rec.lock);
	t->next = ss_rec.threads;
	ss_rec.threads = t;
	pthread_mutex_unlock(&ss_rec.lock);
	return ss_rec_self.thread = t;
}

static struct thread *my_thread(void)
{
	return ss_rec_self.thread ? ss_rec_self.thread : new_thread();
}

/*
 * A thread number that nobody has any more is of a thread that has ended. If another has it by now,
 * ours goes with that.
 */
static bool has_ended(const struct thread *t)
{
	return syscall(SYS_tgkill, getpid(), t->tid, 0) != 0 && errno == ESRCH;
}

void ss_rec_sweep_threads(void)
{
	for (struct thread **at = &ss_rec.threads; *at;) {
		struct thread *t = *at;
		if (!has_ended(t)) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		ss_rec_free_buffers(t->first);
		for (size_t i = 0; i < THREAD_MEMORIES; i++)
			free(t->memory[i]);
		munmap(t, sizeof(*t));
	}
}

void *ss_rec_mine(enum thread_memory which, size_t bytes)
{
	if (!ss_rec_self.thread && ss_rec_enter()) {
		new_thread();
		ss_rec_leave();
	}
	struct thread *t = ss_rec_self.thread;
	if (t && !t->memory[which])
		t->memory[which] = calloc(1, bytes);
	return t ? t->memory[which] : NULL;
}

/*
 * The thread comes to another session, before it reads the clock for its first event there. No end
 * of a scope from before is written: the buffers of older sessions can go.
 */
static void enter_session(struct thread *t, uint64_t session)
{
	ss_rec_free_buffers(t->first);
	t->first = t->last = NULL;
	t->tail = t->end = NULL;
	t->session = session;
	t->named = session << 34 | (uint64_t)NAME_EVENT << 32;
	t->start_ps = ss_rec.start_ps;
	t->entered_ps = now_ps();
	t->full = false;
	t->deposit = wire_deposits();
	__atomic_store_n(&t->dropped, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->open, 0, __ATOMIC_RELAXED);
}

/*
 * A thread without room looks for it again once in so many events that it drops: to look takes the
 * lock.
 */
#define DROPS_PER_LOOK 1024u

/*
 * Make room for n bytes in the thread's buffer of this session, which it enters; false: there is
 * none.
 */
static bool make_room(struct thread *t, uint64_t session, size_t n)
{
	if (t->session == session && t->full && t->dropped % DROPS_PER_LOOK)
		return false;
	int before = errno;	/* the program's, if this is a signal's handler */
	pthread_mutex_lock(&ss_rec.lock);
	bool ok = ss_rec.running && ss_rec.session == session && n <= SPOOL_BUFFER / 2;
	if (ok && t->session != session)
		enter_session(t, session);
	if (ok && (size_t)(t->end - t->tail) < n)
		t->full = !(ok = add_line_buffer(t));
	pthread_mutex_unlock(&ss_rec.lock);
	errno = before;
	return ok;
}

/* --- events ------------------------------------------------------------------------------ */

/* The encoded form of an argument: its bytes are counted before room is made for them. */
struct stat_plan {
	uint32_t key;
	unsigned width;
	size_t text, value;
};

/* Bytes of the event's stats; those whose key found no room are left out. */
static size_t plan_stats(struct stat_plan *plan, const struct ss_trace_arg *args, size_t nargs, uint64_t session)
{
	size_t n = 0;
	for (size_t i = 0; i < nargs; i++) {
		struct stat_plan *p = &plan[i];
		p->key = name_id(args[i].key, NAME_STAT, session);
		p->text = text_bytes(&args[i]);
		p->value = value_bytes(&args[i], p->text);
		p->width = p->key ? stat_width(p->key, p->value) : 0;
		n += p->width ? 4 + p->width + p->value : 0;
	}
	return n;
}

/*
 * Where the event's duration is; NULL: no room. The thread is in the recorder. The stats go to
 * their place first, which is within the rest until the event's first word is there. The duration
 * is OPEN_DURATION or final: a stop that sees the new tail sees the whole event.
 */
static unsigned char *record(struct thread *t, uint64_t session, uint32_t id, uint64_t at_ps, uint64_t duration,
			     const struct ss_trace_arg *args, size_t nargs)
{
	struct stat_plan plan[ARGS_MAX];
	unsigned char head[EVENT_BYTES];
	nargs = nargs < ARGS_MAX ? nargs : ARGS_MAX;
	size_t n = EVENT_BYTES + plan_stats(plan, args, nargs, session);
	if (__builtin_expect(t->session != session || (size_t)(t->end - t->tail) < n, 0) && !make_room(t, session, n))
		return NULL;
	unsigned char *at = t->tail, *stat = at + EVENT_BYTES;
	for (size_t i = 0; i < nargs; i++)
		if (plan[i].width)
			stat = put_value(put_stat_head(stat, plan[i].key, plan[i].width, plan[i].value), &args[i], plan[i].text);
	put_event(head, id, at_ps - t->start_ps, duration, n - EVENT_BYTES);
	put_rest(at + n, t->end);
	append_head(at, head);
	__atomic_store_n(&t->tail, at + n, __ATOMIC_RELEASE);
	return at + 24;
}

/* The thread is in the recorder. */
static struct ss_trace_scope begin(struct ss_trace_name *name, const struct ss_trace_arg *args, size_t nargs)
{
	struct ss_trace_scope scope = { NULL, 0 };
	uint64_t session = ss_rec_session();
	struct thread *t = my_thread();
	bool here = t && (t->session == session || make_room(t, session, 0));
	uint32_t id = here ? name_id(name, NAME_EVENT, session) : 0;
	scope.begin_ps = now_ps();
	if (id) {
		/*
		 * Open scopes tell the stop that it has to look for them: counted before the stop
		 * can see the event.
		 */
		count(&t->open, 1);
		scope.record = record(t, session, id, scope.begin_ps, OPEN_DURATION, args, nargs);
		if (!scope.record)
			count(&t->open, UINT64_MAX);
	}
	if (!scope.record && t)
		drop(t);
	return scope;
}

static __attribute__((noinline)) struct ss_trace_scope begin_slowly(struct ss_trace_name *name, const struct ss_trace_arg *args,
								    size_t nargs)
{
	const struct recorder_table *other = ss_rec_other();
	if (other)
		return other->begin(name, args, nargs);
	if (!ss_rec_enter())
		return (struct ss_trace_scope){ NULL, 0 };
	struct ss_trace_scope scope = begin(name, args, nargs);
	ss_rec_leave();
	return scope;
}

/*
 * The buffer was touched by another core: fetch what the events after next will be written to.
 * Compilers know the instruction that fetches for writing only if they are told so.
 */
static inline void prefetch_to_write(const unsigned char *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/*
 * The common event: no stats, a name that is known, room in the buffer, less than 20 hours from the
 * start. What stands behind the clock's reading is what an event costs: reading it waits for all
 * that is before. A signal's handler that recorded something meanwhile has moved the tail; this
 * event, which comes after its, is read anew.
 */
struct ss_trace_scope ss_trace_begin_now(struct ss_trace_name *name, const struct ss_trace_arg *args, size_t nargs)
{
	struct thread *t = ss_rec_self.thread;
	uint64_t id = __atomic_load_n(&name->id, __ATOMIC_RELAXED) & ~((uint64_t)NAME_STAT << 32);
	if (__builtin_expect(nargs || !t || ss_rec_self.busy || t->session != ss_rec_session() ||
				     id - t->named >= 1u << SHORT_ID_BITS || (size_t)(t->end - t->tail) < SHORT_EVENT_BYTES, 0))
		return begin_slowly(name, args, nargs);
	unsigned char *at = t->tail;
	uint64_t begin_ps = now_ps(), offset_ps = begin_ps - t->start_ps;
	ss_rec_set_busy(BUSY_RECORDING);
	if (__builtin_expect(t->tail != at || offset_ps > VARINT8_MAX, 0)) {
		ss_rec_set_busy(BUSY_NOT);
		return begin_slowly(name, args, nargs);
	}
	prefetch_to_write(at + 512);
	if (t->deposit)
		append_short_event(at, t->end, (uint32_t)id, offset_ps, true);
	else
		append_short_event(at, t->end, (uint32_t)id, offset_ps, false);
	count(&t->open, 1);
	__atomic_store_n(&t->tail, at + SHORT_EVENT_BYTES, __ATOMIC_RELEASE);
	ss_rec_set_busy(BUSY_NOT);
	return (struct ss_trace_scope){ at + 16, begin_ps };
}

/*
 * A scope that began before the thread came to its session is of one that is over: nobody reads its
 * end, and its buffer may be gone. If another thread began it, it is of the last session at least.
 * A thread without a number is a parent's: this process is a child of a fork. While this looks and
 * writes, no handler takes the thread to another session.
 */
static inline bool is_of_session(const struct thread *t, uint64_t begin_ps)
{
	return t->tid && (int64_t)(begin_ps - t->entered_ps) >= 0 &&
	       (int64_t)(begin_ps - __atomic_load_n(&ss_rec.start_ps, __ATOMIC_RELAXED)) >= 0;
}

void ss_trace_end_now(struct ss_trace_scope scope)
{
	struct thread *t = ss_rec_self.thread;
	uint64_t ps = now_ps() - scope.begin_ps;
	unsigned before = ss_rec_self.busy;
	if (__builtin_expect(!t, 0)) {
		if (ss_rec_other())
			ss_rec_other()->end(scope);
		return;
	}
	ss_rec_set_busy(BUSY_RECORDING);
	if (__builtin_expect(is_of_session(t, scope.begin_ps), 1)) {
		store_word(scope.record, duration_word(ps, t->deposit));
		count(&t->open, UINT64_MAX);
	}
	ss_rec_set_busy(before);
}

void ss_trace_instant(int level, struct ss_trace_name *name, const struct ss_trace_arg *args, size_t nargs)
{
	if (!ss_trace_on(level))
		return;
	const struct recorder_table *other = ss_rec_other();
	if (other) {
		other->instant(level, name, args, nargs);
		return;
	}
	if (!ss_rec_enter())
		return;
	uint64_t session = ss_rec_session();
	struct thread *t = my_thread();
	uint32_t id = t ? name_id(name, NAME_EVENT, session) : 0;
	bool recorded = id && record(t, session, id, now_ps(), duration_word(0, false), args, nargs);
	if (!recorded && t)
		drop(t);
	ss_rec_leave();
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

unsigned char *ss_rec_shared_event(enum shared_line line, struct ss_trace_name *name, uint64_t begin_ns,
				   const struct ss_trace_arg *args, size_t nargs)
{
	uint64_t session = ss_rec_session();
	struct thread *t = &ss_rec.shared[line];
	if (!ss_rec_enter())
		return NULL;
	pthread_mutex_lock(&ss_rec.shared_lock);
	uint32_t id = name_id(name, NAME_EVENT, session);
	if (begin_ns == 0)	/* in the lock, so that events stand in the order of their times */
		begin_ns = now_ns(CLOCK_MONOTONIC);
	uint64_t start_ns = __atomic_load_n(&ss_rec.start_ns, __ATOMIC_RELAXED);
	if (begin_ns < start_ns)
		begin_ns = start_ns;
	unsigned char *at = id ? record(t, session, id, begin_ns * 1000, OPEN_DURATION, args, nargs) : NULL;
	if (!at)
		drop(t);
	pthread_mutex_unlock(&ss_rec.shared_lock);
	ss_rec_leave();
	return at;
}

void ss_rec_shared_end(unsigned char *duration, uint64_t duration_ns, uint64_t session)
{
	if (!duration || !ss_rec_lock())
		return;
	if (ss_rec.running && session == ss_rec.session)
		store_word(duration, duration_word(duration_ns * 1000, false));
	ss_rec_unlock();
}

void ss_trace_counter(struct ss_trace_name *name, double value)
{
	static struct ss_trace_name key = { "value", 0 };
	const struct ss_trace_arg arg = { &key, SS_TRACE_DOUBLE, { .d = value } };
	if (!ss_trace_on(SS_TRACE_CRITICAL))
		return;
	const struct recorder_table *other = ss_rec_other();
	if (other) {
		other->counter(name, value);
		return;
	}
	uint64_t session = ss_rec_session();
	unsigned char *at = ss_rec_shared_event(SHARED_COUNTERS, name, 0, &arg, 1);
	ss_rec_shared_end(at, 0, session);
}

static void memory_event(bool freed, const struct ss_trace_memory *m, uint64_t shared_at_ns)
{
	static struct ss_trace_name names[] = { { "MemoryAllocation", 0 }, { "MemoryDeallocation", 0 } };
	static struct ss_trace_name keys[] = {
		{ "allocator_name", 0 }, { "addr", 0 }, { "requested_bytes", 0 },
		{ "allocation_bytes", 0 }, { "bytes_reserved", 0 }, { "bytes_allocated", 0 },
		{ "bytes_available", 0 }, { "peak_bytes_in_use", 0 }, { "fragmentation", 0 },
		{ "tf_op", 0 },
	};
	const struct ss_trace_arg args[] = {
		{ &keys[0], SS_TRACE_TEXT, { .text = m->allocator } },
		{ &keys[1], SS_TRACE_INT, { .i = (int64_t)m->address } },
		{ &keys[2], SS_TRACE_INT, { .i = (int64_t)m->requested_bytes } },
		{ &keys[3], SS_TRACE_INT, { .i = (int64_t)m->allocation_bytes } },
		{ &keys[4], SS_TRACE_INT, { .i = (int64_t)m->bytes_reserved } },
		{ &keys[5], SS_TRACE_INT, { .i = (int64_t)m->bytes_allocated } },
		{ &keys[6], SS_TRACE_INT, { .i = (int64_t)m->bytes_available } },
		{ &keys[7], SS_TRACE_INT, { .i = (int64_t)m->peak_bytes_in_use } },
		{ &keys[8], SS_TRACE_DOUBLE, { .d = m->fragmentation } },
		{ &keys[9], SS_TRACE_TEXT, { .text = m->op } },
	};
	size_t nargs = m->op ? 10 : 9;
	if (!shared_at_ns) {
		ss_trace_instant(SS_TRACE_CRITICAL, &names[freed], args, nargs);
		return;
	}
	uint64_t session = ss_rec_session();
	unsigned char *at = ss_rec_shared_event(SHARED_DEVICE_MEMORY, &names[freed], shared_at_ns, args, nargs);
	ss_rec_shared_end(at, 0, session);
}

void ss_rec_device_memory(bool freed, const struct ss_trace_memory *m, uint64_t at_ns)
{
	if (ss_trace_on(SS_TRACE_CRITICAL))
		memory_event(freed, m, at_ns);
}

void ss_trace_allocation(const struct ss_trace_memory *m)
{
	memory_event(false, m, 0);
}

void ss_trace_deallocation(const struct ss_trace_memory *m)
{
	memory_event(true, m, 0);
}

void ss_trace_thread_name(const char *name)
{
	ss_rec_find_other();
	const struct recorder_table *other = ss_rec_other();
	if (other) {
		other->thread_name(name);
		return;
	}
	if (!ss_rec_enter())
		return;
	struct thread *t = my_thread();
	if (t) {
		pthread_mutex_lock(&ss_rec.lock);
		rename_thread(t, name);
		pthread_mutex_unlock(&ss_rec.lock);
	}
	ss_rec_leave();
}
