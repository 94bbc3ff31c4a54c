/*
 * space_out.h - making an XSpace of a trace in another format.
 *
 * Old traces are turned into the bytes of the format that everything here reads, once, when they
 * are opened: timeline, search, event details, steps and op tables then work on them as they do on
 * a profile taken today, and no tool knows of a second format.
 *
 * Planes and lines are made on first mention, by a key of the source's own (a process, a thread).
 * Events may come in any order; they are sorted by time when the bytes are written. Strings are
 * held once per plane. What is put in is copied, or borrowed where it says so.
 *
 * What comes of the source's words:
 *	- an event with the argument `long_name` gets that as its name and its own as the name shown,
 *	  as XProf had it before it wrote the trace;
 *	- a name that analyses know in other words ("Memcpy HtoD (...)", "ProfilerStep#3") becomes those,
 *	  and the file's name stays beside it for people to be shown;
 *	- arguments that describe an XLA operation rather than one execution of it go to the metadata
 *	  of the event, held once for all executions; the program is that of the event on the line
 *	  "XLA Modules" around it, where the trace leaves it out;
 *	- a flow point belongs to the innermost event around it;
 *	- what ran on a GPU gets the operation around the call that launched it as its framework op.
 *
 * Memory is bounded by `hold`; events beyond it are counted in `left_out`.
 */
#ifndef SS_IMPORT_SPACE_OUT_H
#define SS_IMPORT_SPACE_OUT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/hold.h"
#include "base/map.h"
#include "base/vec.h"

enum ss_so_kind { SS_SO_INT, SS_SO_UINT, SS_SO_DOUBLE, SS_SO_STR };

struct ss_so_arg {
	struct ss_str name;
	enum ss_so_kind kind;
	uint64_t u;		/* bits of an integer or a double */
	struct ss_str s;
};

/* A point in time: whole nanoseconds and the rest. */
struct ss_so_time {
	int64_t ns;
	uint32_t ps;		/* 0 .. 999 */
};

struct ss_so_event {
	struct ss_so_time begin;
	uint64_t dur_ps;
	struct ss_str name;
	struct ss_str name_in_file; /* where analyses know the event by another name; "": it is `name` */
	const struct ss_so_arg *args;
	size_t nargs;
	bool shares;		/* arguments that describe all executions alike may be held once for all */
};

/* Millions are held, so that they are packed. */
#define SS_SO_MOST_STATS (UINT64_C(1) << 36)	/* of a line, in bytes */
#define SS_SO_EVENT_STATS (UINT64_C(1) << 18)	/* of an event */

struct ss_so_record {
	int64_t begin_ns;
	uint64_t dur_ps;
	uint64_t stats : 36;	/* where its stats begin in the line's `stats` */
	uint64_t nstats : 18;	/* bytes of them */
	uint64_t begin_sub_ps : 10;
	uint32_t meta;
	uint32_t link;		/* number of its correlation id in `links` + 1, 0: it has none and may need a flow */
};

enum ss_so_dir { SS_SO_FLOW_IN = 1, SS_SO_FLOW_OUT = 2, SS_SO_FLOW_BOTH = 3 };

struct ss_so_flow {
	struct ss_so_time at;
	uint64_t id;
	enum ss_so_dir dir;
	bool next;		/* it belongs to the next event that begins, not to the one around it */
};

struct ss_so_line {
	struct ss_str name;
	int64_t id;
	SS_VEC(struct ss_so_record) events;
	struct ss_buf stats;	/* of events */
	SS_VEC(struct ss_so_flow) flows;
	SS_VEC(uint32_t) open;	/* events that were begun and not ended, the innermost last */
	SS_VEC(struct ss_so_time) ends; /* of events whose begin had not come yet */
	uint32_t *ops;		/* by event: number in `names` of the operation around it + 1, 0: none; NULL: of no event */
};

struct ss_so_meta {
	struct ss_str name, display_name, name_in_file, stats;
	bool op;		/* describes an XLA operation; stats do not name its program */
};

/*
 * Is an argument the event's own, or held once for all events that are alike? By number of its
 * name.
 */
#define SS_SO_ARG_KINDS 256
#define SS_SO_RECENT 512
enum { SS_SO_ARG_NEW, SS_SO_ARG_OWN, SS_SO_ARG_SHARED };

struct ss_so_plane {
	struct ss_str key, name;
	int64_t id;
	SS_VEC(struct ss_so_line) lines;
	struct ss_strmap line_keys, names, metas;
	SS_VEC(struct ss_so_meta) meta;	/* by index of metas */
	struct ss_buf own;	/* of the plane itself */
	uint64_t nevents;
	uint8_t arg_kinds[SS_SO_ARG_KINDS];
	uint32_t recent[SS_SO_RECENT]; /* numbers of names and texts + 1 */
};

struct ss_space_out {
	struct ss_arena arena;
	struct ss_strmap plane_keys;
	SS_VEC(struct ss_so_plane) planes;
	SS_VEC(uint64_t) links;	/* correlation ids of launches and of the launched operations */
	struct ss_buf key;
	struct ss_hold *hold;
	uint64_t held_bytes, counted_bytes; /* the second in `hold` */
	uint64_t nevents, left_out;
	bool calls_linked;	/* calls have correlation ids, so events that have one need no flow */
	uint64_t unmatched;	/* ends without a begin, known when the bytes are written */
	uint64_t far;		/* events months away from the others, found when the bytes are written */
	SS_VEC(struct ss_so_arg) about; /* what the source says of the recording: stats of the plane "Task Environment" */
	int64_t start_unix_ns;	/* when the zero of the clock was, 0: unknown */
	bool launch_ops;	/* operations of GPUs are the events around their launches: the source names none */
	bool full;		/* no more events, planes and lines, whatever the hold bears */
	bool no_memory;		/* sticky */
};

/* A zeroed struct, with `hold` set or without a bound, is empty. */
void ss_so_free(struct ss_space_out *o);

/*
 * Number of the plane of this key, of the line of this key within it. SS_NONE when memory is out.
 * Beyond the bound on memory all new keys get one number, of a plane or line that is not written.
 */
#define SS_SO_NOWHERE "\1nowhere"
uint32_t ss_so_plane(struct ss_space_out *o, struct ss_str key);
uint32_t ss_so_line(struct ss_space_out *o, uint32_t plane, struct ss_str key);

/* Add an event; its number within the line, SS_NONE when it was left out. */
uint32_t ss_so_add(struct ss_space_out *o, uint32_t plane, uint32_t line, const struct ss_so_event *e);
/* The same of an event whose end is not known yet: the end is that of the innermost one open. */
void ss_so_open(struct ss_space_out *o, uint32_t plane, uint32_t line, const struct ss_so_event *e);
/*
 * `args` are added to those of the begin. An end may stand before its begin: they are matched by
 * time in the end.
 */
void ss_so_close(struct ss_space_out *o, uint32_t plane, uint32_t line, struct ss_so_time end, const struct ss_so_arg *args,
		 size_t nargs);
void ss_so_flow(struct ss_space_out *o, uint32_t plane, uint32_t line, const struct ss_so_flow *f);
/* Add a stat of the plane itself. */
void ss_so_plane_stat(struct ss_space_out *o, uint32_t plane, const struct ss_so_arg *a);
/* From the begin of `a` to `b`, 0 when b is the earlier one; saturates. */
uint64_t ss_so_between_ps(const struct ss_so_record *a, struct ss_so_time b);
/* The 64 bits of the stat "flow". */
uint64_t ss_so_flow_bits(uint64_t id, enum ss_so_dir dir);

/*
 * The XSpace. Planes without a name, and lines without events, are left out. Times are moved so
 * that the trace begins near 0 unless it does already; `start_unix_ns` becomes the profile's start.
 */
bool ss_so_finish(struct ss_space_out *o, struct ss_str hostname, struct ss_buf *out, struct ss_err *err);

#endif
