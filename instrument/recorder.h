/*
 * recorder.h - what the recording (ss_trace.c) and the session around it (session.c) share. For nobody else.
 */
#ifndef SS_INSTRUMENT_RECORDER_H
#define SS_INSTRUMENT_RECORDER_H

#include "spool.h"
#include "ss_trace.h"

#include <pthread.h>
#include <time.h>

enum {
	XSPACE_PLANES = 1, XSPACE_WARNINGS = 3,
	XPLANE_ID = 1, XPLANE_NAME = 2, XPLANE_LINES = 3, XPLANE_EVENT_METADATA = 4, XPLANE_STAT_METADATA = 5,
	XLINE_ID = 1, XLINE_NAME = 2, XLINE_EVENTS = 4,
	XEVENT_METADATA_ID = 1, XEVENT_OFFSET_PS = 2, XEVENT_DURATION_PS = 3, XEVENT_STATS = 4,
	XSTAT_METADATA_ID = 1, XSTAT_DOUBLE = 2, XSTAT_UINT64 = 3, XSTAT_INT64 = 4, XSTAT_STR = 5,
};

#define EVENT_BYTES 32u		/* of an event with stats, without them */
#define STOCK 4u

struct buffer {
	struct buffer *next;	/* in order of use */
	unsigned char *base;
	uint32_t events_at;	/* after the line's header */
	uint32_t used;		/* up to here there are records; of a thread's last buffer its tail says it */
	uint32_t kept;		/* as much of it as the stop takes */
	uint32_t open;		/* scopes in it that the stop found open: they may end at any time */
};

/* What others keep of a thread. */
enum thread_memory { THREAD_RANGES, THREAD_CALLS, THREAD_MEMORIES };

/* What an event needs comes first, in one cache line. */
struct thread {
	unsigned char *tail, *end; /* free part of the last buffer; NULL: none. The owner writes the tail, atomic */
	uint64_t session;
	uint64_t named;		/* ss_trace_name.id of this session and of a name of events, but for the number */
	uint64_t start_ps;	/* of the session */
	bool deposit;		/* wire_deposits() */
	uint64_t open;		/* scopes without an end; written by the owner, atomic */
	uint64_t dropped;
	struct buffer *first, *last;
	struct buffer *parked;	/* of sessions that are over, with scopes that are open */
	struct thread *next;
	int64_t tid;
	char name[64];
	bool gone;		/* the thread has ended; freed when no session needs it */
	void *memory[THREAD_MEMORIES];
};

/* Lines that no thread owns: their events are rare enough for a lock. */
enum shared_line { SHARED_COUNTERS, SHARED_DEVICE_MEMORY, SHARED_RANGES, SHARED_LINES };

/* Who records planes besides the host's: the GPUs. */
struct recorder_source {
	void (*stop)(void);		/* deliver what is under way; the session is still open, the lock is not held */
	bool (*write)(int fd);		/* planes and warnings, whole fields of an XSpace; the lock is held */
	void (*finish)(bool written);	/* the session has ended, its file is in order or not; the lock is held */
};

struct interned {
	struct ss_trace_name name;
	struct interned *next;
	uint64_t hash;
};

/* One recorder a program; everything but `session` and what is said to be atomic is guarded by the lock. */
extern struct recorder {
	pthread_mutex_t lock;
	struct spool spool;
	bool running;
	uint64_t session;	/* counts starts; atomic */
	uint64_t start_ns, start_ps; /* CLOCK_MONOTONIC; set before the level */
	uint64_t start_unix_ns;
	char host[256];
	struct thread *threads;
	struct thread shared[SHARED_LINES];
	struct buffer *names;	/* metadata */
	unsigned char *names_tail, *names_end;
	uint32_t nnames;
	struct interned **interned; /* slots, a power of two, at least as many as entries */
	size_t ninterned, interned_slots;
	unsigned char *stock[STOCK]; /* buffers made ahead */
	unsigned nstock;
	pthread_cond_t used_stock;
	pthread_t maker;
	bool making, quit;
	pthread_key_t key;
	bool ready;		/* key and fork handler exist */
	const struct recorder_source *source; /* or NULL; reset when the session ends */
	bool joinable;		/* a start while it runs joins the session instead of failing */
	unsigned joined;	/* starts that joined; as many stops do not end the session */
	const struct recorder_table *other; /* joined.h; atomic, as the next */
	bool looked;		/* for it */
	char error[512];
} ss_rec;

static inline uint64_t ss_rec_session(void)
{
	return __atomic_load_n(&ss_rec.session, __ATOMIC_ACQUIRE);
}

/* CLOCK_MONOTONIC in ps. Wraps after half a year: only differences mean something. */
static inline uint64_t now_ps(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000000) + (uint64_t)t.tv_nsec * 1000u;
}

static inline uint64_t now_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Sets what ss_trace_error says; false, for callers to return. */
bool ss_rec_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The lock is held. One more buffer at the end of a list; NULL when the bound, the disk or memory is reached. */
struct buffer *ss_rec_new_buffer(struct buffer **first, struct buffer *last);
void ss_rec_free_buffers(struct buffer *b);

/*
 * An event on a shared line: its duration, for ss_rec_shared_end, or NULL. A time of 0 is now, one
 * before the session counts as its begin.
 */
unsigned char *ss_rec_shared_event(enum shared_line line, struct ss_trace_name *name, uint64_t begin_ns,
				   const struct ss_trace_arg *args, size_t nargs);
/* The session is that of the event's begin: ss_rec_session() then. */
void ss_rec_shared_end(unsigned char *duration, uint64_t duration_ns, uint64_t session);

/* An allocation as ss_trace_allocation records it, but on its own line and at a time that is past. */
void ss_rec_device_memory(bool freed, const struct ss_trace_memory *m, uint64_t at_ns);

/* Writes all or fails with errno. */
bool ss_rec_write(int fd, const void *bytes, size_t n);

/* A thread of the library's own, which takes no signal that is meant for the program. False: there is none. */
bool ss_rec_thread(pthread_t *out, void *(*run)(void *));

/* The key and the fork handler, which threads need; false: no more keys. The lock is not held. */
bool ss_rec_prepare(void);

/* Memory of the calling thread for one purpose, zeroed at first, gone with the thread. NULL: none is left. */
void *ss_rec_mine(enum thread_memory which, size_t bytes);

/* In a forked child: the thread's buffers are the parent's. */
void ss_rec_forget_self(void);
/* The lock is held and no session runs: threads that have ended go. */
void ss_rec_sweep_threads(void);
/* At the end of a thread: its buffers stay with the session. */
void ss_rec_thread_gone(void *thread);

#endif
