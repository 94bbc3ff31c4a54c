/*
 * skeleton_column.h - the columns of a packed skeleton, and what each value is expected to be.
 *
 * A packed skeleton consists of its texts, deflated, and columns of integers. Each value is stored as its
 * difference from a prediction: the operation that followed last time, its recent mean duration, the
 * begin of the operation that starts the collective. Training steps repeat, so most differences are 0,
 * and a run of zeros takes two bytes. All others are zigzag varints, which are never 0. Columns of
 * times, whose lowest digits are not predictable, are bits (lengths.h).
 *
 * The writer and the reader make the same predictions, in units of the greatest common divisor of
 * times (clocks that count in ns leave three digits unused): those of devices, and those of the host's threads.
 */
#ifndef SS_MODEL_CLUSTER_SKELETON_COLUMN_H
#define SS_MODEL_CLUSTER_SKELETON_COLUMN_H

#include "model/cluster/lengths.h"
#include "model/cluster/skeleton_read.h"

#define SS_SKEL_MAGIC "stepscope skeleton 4\n"

/*
 * COLUMN(name, zeros that a run may have, how it is written). Counts of rows are checked against the
 * bytes of the columns whose runs are short, so that few bytes cannot ask for much memory.
 */
#define SS_SKEL_COLUMNS(COLUMN)                                                                             \
	COLUMN(STEP_NUM, 64, VARINTS) COLUMN(STEP_BEGIN, 1 << 20, VARINTS)                                  \
	COLUMN(STEP_DUR, 1 << 20, VARINTS) COLUMN(OP, 64, VARINTS) COLUMN(IS_COMM, 1 << 20, VARINTS)        \
	COLUMN(STREAM, 1 << 20, VARINTS) COLUMN(GAP, 1 << 20, BITS) COLUMN(DUR, 1 << 20, BITS)              \
	COLUMN(LAUNCH, 1 << 20, VARINTS) COLUMN(ASYNC_OP, 64, VARINTS) COLUMN(HOPS, 1 << 20, VARINTS)       \
	COLUMN(ASYNC_BEGIN, 1 << 20, BITS) COLUMN(ASYNC_END, 1 << 20, BITS)                                 \
	COLUMN(ASYNC_STREAM, 1 << 20, VARINTS) COLUMN(ASYNC_LAUNCH, 1 << 20, VARINTS)                       \
	COLUMN(COMM_STEP, 1 << 20, VARINTS) COLUMN(RUN, 1 << 20, VARINTS) COLUMN(SEQ, 1 << 20, VARINTS)     \
	COLUMN(WAITED, 1 << 20, VARINTS) COLUMN(EVENT, 64, VARINTS) COLUMN(EVENT_GAP, 1 << 20, BITS)        \
	COLUMN(EVENT_DUR, 1 << 20, BITS)

enum ss_skel_written { SS_SKEL_VARINTS, SS_SKEL_BITS };

enum ss_skel_column {
#define COLUMN(name, zeros, written) SS_COL_##name,
	SS_SKEL_COLUMNS(COLUMN)
#undef COLUMN
	SS_COL_COUNT
};

#define SS_COL_SHORT_ZEROS 64 /* rows that two bytes of a short column may stand for */
#define SS_SKEL_SLOTS 64
#define SS_SKEL_MOST_HOPS 8

/* The prediction for an execution, in units. */
struct ss_skel_guess {
	uint32_t op, stream;
	int64_t gap, dur, launch;
};

/* Facts about an operation. */
struct ss_skel_known {
	struct ss_skel_guess last; /* execution, wherever it stood */
	int64_t seq, seq_more;
	uint32_t comm_next;	/* what comes behind this collective: 0, a single event, or an asynchronous operation + 1 */
	uint32_t async_stream;
	uint32_t twin;		/* of a collective: the operation of its starts and dones, SS_NONE */
	uint32_t device;	/* that `cursor` is of, counted from 1 */
	uint32_t cursor, tail;	/* spans of this operation that no collective took yet, SS_NONE; the last of them */
	bool waited;
	uint8_t gap_bits, dur_bits;	/* that the last differences took */
	uint8_t begin_bits, end_bits;	/* of an asynchronous collective */
};

/* What is known of the events of one thread and class. */
struct ss_skel_known_event {
	uint32_t next;		/* what came behind it */
	uint8_t gap_bits, dur_bits;
	int64_t gap, dur;
};

struct ss_skel_model {
	struct ss_skel_known *ops;	/* one more than there are operations: what comes first */
	size_t nops;
	struct ss_skel_guess *behind;	/* what came behind three operations, by their hash */
	uint64_t behind_mask;
	uint32_t before[3];		/* the last three operations */
	uint32_t *next;			/* by span: the next of its operation */
	size_t next_room;
	uint32_t device;		/* counted from 1 */
	int64_t launch;			/* of the item before */
	int64_t stream_end[SS_SKEL_SLOTS]; /* of the last span or kernel of a stream */
	int64_t thread_end[SS_SKEL_SLOTS];
	struct ss_skel_known_event events[4 * SS_SKEL_SLOTS];
};

/* False: memory is out. skeleton_model.c */
bool ss_skel_model_init(struct ss_skel_model *m, const struct ss_skeleton *s);
/* Before a device of so many spans. */
bool ss_skel_model_device(struct ss_skel_model *m, size_t nspans);
/* A span that starts or ends an asynchronous collective. */
void ss_skel_model_span(struct ss_skel_model *m, uint32_t span, uint32_t op);
/*
 * The spans that start and end the next collective of this operation, `hops` further than expected;
 * SS_NONE.
 */
uint32_t ss_skel_model_start(const struct ss_skel_model *m, uint32_t op, unsigned hops);
uint32_t ss_skel_model_done(struct ss_skel_model *m, uint32_t op, uint32_t start);
void ss_skel_model_free(struct ss_skel_model *m);

/* The next prediction. The caller stores the actual value there. */
static inline struct ss_skel_guess *ss_skel_model_next(const struct ss_skel_model *m)
{
	return &m->behind[ss_mix(ss_mix(m->before[0], m->before[1]), m->before[2]) >> 8 & m->behind_mask];
}

/* The operation of the next execution is known: what is expected of the rest. */
static inline struct ss_skel_guess ss_skel_model_rest(const struct ss_skel_model *m, const struct ss_skel_guess *next, uint32_t op)
{
	return next->op == op ? *next : m->ops[op].last;
}

/* Differences of any two values: they may wrap, and wrap back. */
static inline int64_t ss_skel_minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t ss_skel_plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Durations scatter: about their mean of late is a better guess than the last one. */
static inline int64_t ss_skel_dur_of_late(int64_t of_late, int64_t dur)
{
	int64_t more = ss_skel_minus(dur, of_late);
	return !of_late || (more < 16 && more > -16) ? dur : ss_skel_plus(of_late, more / 4);
}

static inline void ss_skel_model_seen(struct ss_skel_model *m, struct ss_skel_guess *next, const struct ss_skel_guess *expected,
				      struct ss_skel_guess seen)
{
	seen.dur = ss_skel_dur_of_late(expected->dur, seen.dur);
	*next = m->ops[seen.op].last = seen;
	m->before[0] = m->before[1];
	m->before[1] = m->before[2];
	m->before[2] = seen.op;
}

#endif
