/*
 * recorder.h - what the recording and the session around it share. For nobody else. Each of these files calls only those above it:
 *
 *	recorder.c	the state
 *	buffers.c	memory of buffers
 *	fork.c		forks, and staying loaded
 *	locks.c		into the recorder and out
 *	maker.c		the thread that makes buffers ahead
 *	joined.c	another recorder in the program (joined.h)
 *	ss_trace.c	names, threads, events
 *	session.c	start and stop
 */
#ifndef SS_INSTRUMENT_RECORDER_H
#define SS_INSTRUMENT_RECORDER_H

#include "spool.h"
#include "ss_trace.h"

#include <pthread.h>
#include <semaphore.h>
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
};

/* Data of a thread that other modules own. */
enum thread_memory { THREAD_RANGES, THREAD_CALLS, THREAD_MEMORIES };

/*
 * The members that recording an event needs come first, in one cache line. A thread is a mapping of its
 * own that the kernel gives to the children of a fork as zeros: what a child finds is a thread of no
 * session, without a tid.
 */
struct thread {
	unsigned char *tail, *end; /* free part of the last buffer; NULL: none. The owner writes the tail, atomic */
	uint64_t session;
	uint64_t named;		/* ss_trace_name.id of this session and of a name of events, but for the number */
	uint64_t start_ps;	/* of the session */
	uint64_t entered_ps;	/* when the thread came to it */
	int64_t tid;		/* of the system: the thread has ended when no thread has it */
	uint64_t open;		/* scopes without an end; written by the owner, atomic */
	bool deposit;		/* wire_deposits() */
	bool full;		/* there was no room the last time */
	uint64_t dropped;	/* as open */
	struct buffer *first, *last;
	struct thread *next;
	char name[64];
	char line[64];		/* the name at the stop */
	void *memory[THREAD_MEMORIES];
};

/*
 * The activity of a thread of the program in the recorder. A signal's handler that interrupts the
 * recorder must not enter it: what it records then is dropped and counted.
 */
enum busy { BUSY_NOT, BUSY_RECORDING, BUSY_FORKING };
struct self {
	struct thread *thread;	/* NULL: it has recorded nothing yet */
	unsigned busy;		/* enum busy */
	bool in_session;	/* it holds session_lock, and cannot be cancelled */
	int cancel;		/* whether it could be before */
};

/*
 * At a place that is known when the library is loaded: without a call of the loader's at each
 * event, which may allocate. Room for that is scarce in libraries that are loaded late, so all else
 * of a thread is behind a pointer.
 */
#if defined(__GLIBC__)
extern __thread struct self ss_rec_self __attribute__((tls_model("initial-exec"), visibility("hidden")));
#else
extern __thread struct self ss_rec_self __attribute__((visibility("hidden")));
#endif

/* Lines that no thread owns: their events are rare enough for a lock. */
enum shared_line { SHARED_COUNTERS, SHARED_DEVICE_MEMORY, SHARED_RANGES, SHARED_LINES };

/* Recorders of planes other than the host's: GPUs. */
struct recorder_source {
	void (*stop)(void);		/* deliver the buffers that are in flight; the session is still open, `lock` is not held */
	bool (*write)(int fd);		/* planes and warnings, whole fields of an XSpace */
	void (*finish)(bool written);	/* the session has ended, its file is in order or not */
};

struct interned {
	struct ss_trace_name name;
	struct interned *next;
	uint64_t hash;
};

/*
 * One recorder a program. Its locks, in the order in which they are taken:
 *	session_lock	starts and stops. Held for as long as a stop writes; no event waits for it.
 *	intern_lock	names of callers without static storage
 *	shared_lock	the shared lines
 *	lock		all else that is not said to be atomic or the session's; held for no longer than a buffer takes
 * An event may come from a signal's handler, which may have interrupted malloc: whoever holds the
 * last two neither allocates nor waits for anything else, and a thread that holds one is busy.
 */
extern struct recorder {
	pthread_mutex_t session_lock, intern_lock, shared_lock, lock;
	struct spool spool;	/* its path is the session's */
	bool running;
	uint64_t session;	/* counts starts; atomic */
	uint64_t start_ns, start_ps; /* CLOCK_MONOTONIC; set before the level; atomic */
	uint64_t start_unix_ns;	/* the session's, as the host */
	char host[256];
	struct thread *threads;	/* the last to come first; taken out by a start only */
	struct thread *stopping; /* as they were when the session ended; the session's */
	struct thread shared[SHARED_LINES];
	uint64_t interrupted;	/* events dropped because they interrupted the recorder; atomic */
	struct buffer *names;	/* metadata */
	unsigned char *names_tail, *names_end;
	uint32_t nnames;
	struct interned **interned; /* slots, a power of two, at least as many as entries */
	size_t ninterned, interned_slots;
	struct buffer *stock[STOCK]; /* made ahead */
	unsigned nstock;
	struct buffer *spare;	/* without memory */
	struct buffer_page *buffer_pages; /* all buffers */
	sem_t used_stock, stock_ended, written, taken_down; /* between the maker and others, in the order of a session */
	bool making;		/* there is a maker; the session's */
	bool taking_down;	/* a maker is left of the last session; the session's */
	bool quit;
	void (*take_down)(void);	/* the session's */
	uint64_t *parent;	/* a word that is 0 in a forked child that nobody has told of; NULL: not known; atomic */
	bool ready;		/* fork handler and semaphores exist; the session's */
	const struct recorder_source *source; /* or NULL; reset when the session ends */
	bool joinable;		/* a start while it runs joins the session instead of failing; the session's */
	unsigned joined;	/* starts that joined; as many stops do not end the session; the session's */
	const struct recorder_table *other; /* joined.h; atomic, as the next */
	bool looked;		/* for it */
	char error[512];	/* the session's */
} ss_rec;

/* Between the thread and a handler of its own: for the compiler, not for the processor. */
static inline void ss_rec_set_busy(unsigned busy)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&ss_rec_self.busy, busy, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * Into the recorder; false: this interrupted it, and what it wants to record is counted as dropped.
 */
bool ss_rec_enter(void);
void ss_rec_leave(void);
/* The same with `lock`. */
bool ss_rec_lock(void);
void ss_rec_unlock(void);
/* session_lock; false: this interrupted a start or a stop. */
bool ss_rec_lock_session(void);
void ss_rec_unlock_session(void);

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
/* Without a place in a list. */
struct buffer *ss_rec_make_buffer(void);
/*
 * The maker, who keeps some in stock and takes them down after the session: `take_down` lets go what is left of a session that is
 * written. Nothing here is called under `lock`.
 */
bool ss_rec_init_maker(void);
void ss_rec_begin_stock(void (*take_down)(void));
void ss_rec_end_stock(void);
void ss_rec_leave_to_maker(void);
void ss_rec_wait_for_maker(void);
/*
 * In a forked child: free the data of the parent. When the fork interrupted the recorder, which goes on
 * when the signal's handler returns, memory that is nobody's takes its place.
 */
void ss_rec_forget_buffers(bool interrupted);
/*
 * Memory of buffers that goes, in as few pieces as it has: those that are beside each other are
 * added up. Kept, it becomes memory that is nobody's.
 */
struct extent {
	unsigned char *from, *to;
};
void ss_rec_add_to_extent(struct extent *e, unsigned char *base, bool keep);
void ss_rec_end_extent(struct extent *e, bool keep);

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

/* A thread of the library's own, which takes no signal that is meant for the program. False: there is none. */
bool ss_rec_thread(pthread_t *out, void *(*run)(void *));

/* Children of forks are told, once; false: no memory is left. session_lock is held. */
bool ss_rec_prepare(void);
/* Whatever the program unloads. No lock is held: the loader has its own. */
void ss_rec_stay_loaded(void);
/*
 * This process is a child that was made without the handlers of a fork, and the recorder still the
 * parent's.
 */
bool ss_rec_is_orphan(void);
void ss_rec_adopt(void);

/*
 * Memory of whole pages that a forked child finds zeroed; NULL: none is left. Safe in handlers of
 * signals.
 */
void *ss_rec_map_wiped(size_t bytes);
/*
 * Memory of the calling thread for one purpose, zeroed at first, gone with the thread. NULL: none
 * is left.
 */
void *ss_rec_mine(enum thread_memory which, size_t bytes);

/* `lock` is held and no session runs: threads that have ended go. */
void ss_rec_sweep_threads(void);

#endif
