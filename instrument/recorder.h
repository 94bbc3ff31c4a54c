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
	XSPACE_PLANES = 1,
	XPLANE_ID = 1, XPLANE_NAME = 2, XPLANE_LINES = 3, XPLANE_EVENT_METADATA = 4, XPLANE_STAT_METADATA = 5,
	XLINE_ID = 1, XLINE_NAME = 2, XLINE_EVENTS = 4,
	XEVENT_METADATA_ID = 1, XEVENT_OFFSET_PS = 2, XEVENT_DURATION_PS = 3, XEVENT_STATS = 4,
	XSTAT_METADATA_ID = 1, XSTAT_DOUBLE = 2, XSTAT_UINT64 = 3, XSTAT_INT64 = 4, XSTAT_STR = 5,
};

#define EVENT_BYTES 32u
#define DURATION_AT 22u		/* where in an event's record the duration's varint stands */
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

/* One recorder a program; everything but `session` and what is said to be atomic is guarded by the lock. */
extern struct recorder {
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
} ss_rec;

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

/* At the end of a thread: its buffers stay with the session. */
void ss_rec_thread_gone(void *thread);

#endif
