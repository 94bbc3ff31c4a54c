/*
 * ss_trace.h - record a profile from inside a program (libsstrace, C11 and C++).
 *
 *	ss_trace_start(&(struct ss_trace_options){ .size = sizeof(struct ss_trace_options), .logdir = "/tmp/run1" });
 *	for (int step = 0; step < 100; step++) {
 *		SS_TRACE_STEP("train", step);
 *		{
 *			SS_TRACE("read batch");
 *			...
 *		}
 *	}
 *	ss_trace_stop();
 *
 * The result is `<logdir>/plugins/profile/<session>/<host>.xplane.pb`, an XSpace that stepscope and
 * XProf open. While recording, the file is the buffer: at any moment, after a crash or a kill too,
 * it is a whole profile of what was recorded so far.
 *
 * Cost of an event while nothing is recorded: a load and a predictable branch. While recording: two
 * clock readings and 24 bytes, 32 and more with arguments. Recording takes no lock but where a
 * thread needs another 256 KiB or uses a name for the first time. The memory (of the page cache) is
 * bounded by max_bytes; what no longer fits is counted and said in the profile.
 *
 * Handlers of signals may record events; starting, stopping, interning and naming threads are not for them. An event that
 * has interrupted the recorder is dropped and counted.
 *
 * A forked child records nothing until it starts a recording of its own, to a file of its own. Its parent's goes on.
 *
 * From the first start on the library stays in the program, whatever is unloaded. It does nothing when a thread ends.
 *
 * Functions that fail return false (or NULL) and set errno-like text, see ss_trace_error. They
 * never end the program.
 */
#ifndef SS_TRACE_H
#define SS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#ifndef SS_TRACE_API
#define SS_TRACE_API __attribute__((visibility("default")))
#endif
#define SS_TRACE_DATA __attribute__((visibility("default")))
#define SS_TRACE_LIKELY_OFF(x) __builtin_expect(!!(x), 0)
#else
#define SS_TRACE_API
#define SS_TRACE_DATA
#define SS_TRACE_LIKELY_OFF(x) (x)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The detail of the recording: events of a higher level than the session's are not recorded. */
enum ss_trace_level { SS_TRACE_CRITICAL = 1, SS_TRACE_INFO = 2, SS_TRACE_VERBOSE = 3 };

struct ss_trace_options {
	size_t size;		/* sizeof(struct ss_trace_options) */
	const char *logdir;	/* where profiles are kept; NULL: the environment's SS_TRACE_LOGDIR, else "." */
	const char *session;	/* name of the run; NULL: local time as YYYY_MM_DD_HH_MM_SS */
	const char *host;	/* name of this host; NULL: the system's */
	uint64_t max_bytes;	/* bound of the recording; 0: 256 MiB */
	int level;		/* enum ss_trace_level; 0: SS_TRACE_INFO */
	const char *dir;	/* where the file itself is kept, whatever logdir and session say; NULL: as they say */
};

/* Begin to record. False if it runs already or the file cannot be made. */
SS_TRACE_API bool ss_trace_start(const struct ss_trace_options *options);
/*
 * End the recording and put the file in order: one line a thread. Scopes that are open get the time
 * of the stop as their end. Returns the path of the profile, good until the next start; NULL on
 * failure (then the file stays as it was while recording).
 */
SS_TRACE_API const char *ss_trace_stop(void);
/* Why the last start or stop failed. */
SS_TRACE_API const char *ss_trace_error(void);
/* Events that found no room since the start. */
SS_TRACE_API uint64_t ss_trace_dropped(void);

/* Level of the running session, 0: none. Read it through ss_trace_on. */
extern SS_TRACE_DATA int ss_trace_level_now;

static inline bool ss_trace_on(int level)
{
#if defined(__GNUC__)
	return SS_TRACE_LIKELY_OFF(__atomic_load_n(&ss_trace_level_now, __ATOMIC_RELAXED) >= level);
#else
	return *(volatile int *)&ss_trace_level_now >= level;
#endif
}

/* A name, found once. Static, one a place in the program: struct ss_trace_name n = { "read batch", 0 }. */
struct ss_trace_name {
	const char *text;
	uint64_t id;		/* of the running session; the library's */
};

/* A fact about an event: key and value. */
enum ss_trace_kind { SS_TRACE_INT, SS_TRACE_UINT, SS_TRACE_DOUBLE, SS_TRACE_TEXT };

struct ss_trace_arg {
	struct ss_trace_name *key;
	enum ss_trace_kind kind;
	union {
		int64_t i;
		uint64_t u;
		double d;
		const char *text;
	} v;
};

/* An open scope. Ends on the thread where it began. Two words, which stay in registers. */
struct ss_trace_scope {
	unsigned char *record;	/* where its duration goes; NULL: not recorded */
	uint64_t begin_ps;	/* CLOCK_MONOTONIC, modulo 2^64 */
};

SS_TRACE_API struct ss_trace_scope ss_trace_begin_now(struct ss_trace_name *name, const struct ss_trace_arg *args, size_t nargs);
SS_TRACE_API void ss_trace_end_now(struct ss_trace_scope scope);

static inline struct ss_trace_scope ss_trace_begin(int level, struct ss_trace_name *name, const struct ss_trace_arg *args,
						   size_t nargs)
{
	struct ss_trace_scope none = { 0, 0 };
	return ss_trace_on(level) ? ss_trace_begin_now(name, args, nargs) : none;
}

static inline void ss_trace_end(struct ss_trace_scope *scope)
{
	if (SS_TRACE_LIKELY_OFF(scope->record))
		ss_trace_end_now(*scope);
}

/* A moment: an event without duration. */
SS_TRACE_API void ss_trace_instant(int level, struct ss_trace_name *name, const struct ss_trace_arg *args, size_t nargs);
/* A step of training or a request: groups everything that happens under it. `number` counts the steps. */
SS_TRACE_API struct ss_trace_scope ss_trace_step_begin(struct ss_trace_name *name, int64_t number);
/* A number over time, drawn as a curve. */
SS_TRACE_API void ss_trace_counter(struct ss_trace_name *name, double value);
/* An arrow from a producer to its consumers, on whatever threads: equal ids belong together. Zero-length events. */
SS_TRACE_API void ss_trace_produce(struct ss_trace_name *name, uint64_t id);
SS_TRACE_API struct ss_trace_scope ss_trace_consume_begin(struct ss_trace_name *name, uint64_t id);

/* Memory of an allocator, for the memory profile. Sizes in bytes. */
struct ss_trace_memory {
	const char *allocator;		/* "host", "GPU_0_bfc" */
	uint64_t address;
	uint64_t requested_bytes, allocation_bytes;
	uint64_t bytes_reserved, bytes_allocated, bytes_available, peak_bytes_in_use;
	double fragmentation;		/* 0..1 */
	const char *op;			/* what it is for, or NULL */
};
SS_TRACE_API void ss_trace_allocation(const struct ss_trace_memory *m);
SS_TRACE_API void ss_trace_deallocation(const struct ss_trace_memory *m);

/* Name of the calling thread in the profile; without it, the system's. Copied. */
SS_TRACE_API void ss_trace_thread_name(const char *name);

/* For callers without static storage (other languages): a name that stays, found by its text. NULL when memory is out, or in a
 * handler of a signal that interrupted the recorder. */
SS_TRACE_API struct ss_trace_name *ss_trace_intern(const char *text);

#ifdef __cplusplus
}
#endif

#define SS_TRACE_CAT2(a, b) a##b
#define SS_TRACE_CAT(a, b) SS_TRACE_CAT2(a, b)

/* A scope from here to the end of the block. */
#ifdef __cplusplus
namespace ss_trace_detail {
struct scope {
	struct ss_trace_scope s;
	explicit scope(struct ss_trace_scope begun) : s(begun) {}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;
	~scope() { ss_trace_end(&s); }
};
}
#define SS_TRACE_HOLD(begun) ss_trace_detail::scope SS_TRACE_CAT(ss_trace_scope_, __LINE__)(begun)
#else
#define SS_TRACE_HOLD(begun)                                                                      \
	__attribute__((unused, cleanup(ss_trace_end))) struct ss_trace_scope SS_TRACE_CAT(                \
		ss_trace_scope_, __LINE__) = (begun)
#endif
#define SS_TRACE_AT(level, name)                                                                  \
	static struct ss_trace_name SS_TRACE_CAT(ss_trace_name_, __LINE__) = { (name), 0 };       \
	SS_TRACE_HOLD(ss_trace_begin((level), &SS_TRACE_CAT(ss_trace_name_, __LINE__), NULL, 0))
#define SS_TRACE(name) SS_TRACE_AT(SS_TRACE_INFO, name)
/* A wait for input, told apart in the step time: the analyses know such a wait by how its name begins. */
#define SS_TRACE_WAIT_INPUT(name) SS_TRACE_AT(SS_TRACE_CRITICAL, SS_TRACE_WAIT_INPUT_PREFIX name)
#define SS_TRACE_WAIT_INPUT_PREFIX "IteratorGetNext: "
#define SS_TRACE_STEP(name, number)                                                               \
	static struct ss_trace_name SS_TRACE_CAT(ss_trace_name_, __LINE__) = { (name), 0 };       \
	SS_TRACE_HOLD(ss_trace_step_begin(&SS_TRACE_CAT(ss_trace_name_, __LINE__), (number)))

#endif
