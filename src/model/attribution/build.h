/*
 * build.h - the pieces that attribution.c puts together for one host. Internal to this folder.
 *
 *	*_claims.c	what devices and threads did, as claims to moments
 *	device_walk.c	those of one line of a device, a batch at a time
 *	sweep.c		each moment to one claim
 *	sums.c		time by class, region, step and owner
 *	subjects.c	the sums by name
 *	pieces.c	the pieces one by one, for a reader
 */
#ifndef SS_MODEL_ATTRIBUTION_BUILD_H
#define SS_MODEL_ATTRIBUTION_BUILD_H

#include "base/exclusive.h"
#include "base/safe.h"
#include "base/vec.h"
#include "model/attribution/attribution.h"
#include "model/attribution/host_kinds.h"
#include "model/attribution/pieces.h"
#include "model/host/async_ends.h"

struct ss_host;

/* If several claim a moment, the one with the least rank gets it. */
enum ss_claim_rank {
	SS_RANK_COMPUTE,
	SS_RANK_COLLECTIVE,   /* of a device */
	SS_RANK_CALLBACK,
	SS_RANK_GOES_ON,      /* an operation was started, and its end is reported later: a callback behind it may delay that */
	SS_RANK_THREAD_MEETS, /* a collective operation that threads run */
	SS_RANK_COPY,
	SS_RANK_DEVICE_WAITS, /* the device says for what: infeed */
	SS_RANK_STARTER,      /* the thread that starts programs does something */
	SS_RANK_OTHERS,	      /* another thread: data is waited for, a program runs between its operations */
	SS_RANK_OTHER_CALLS,  /* another thread starts programs */
	SS_RANK_WAITS,	      /* the thread that starts programs waits */
};

/* A call path on the thread that starts programs. Parents stand before children. */
struct ss_call {
	uint32_t parent, meta;
	enum ss_time_class class;
};

/* Facts that follow from the name alone. */
struct ss_named {
	enum ss_time_class class;
	uint32_t plane, meta;
	uint32_t ref;	/* into refs, SS_NONE */
	bool overhead; /* not an operation: what lies between operations */
	uint64_t count; /* events of devices; for a reader of pieces those of threads, too */
};

struct ss_stretch {
	int64_t begin_ps, end_ps;
};

/* Owners of claims: calls with this bit, else named. */
#define SS_OWNER_CALL UINT32_C(0x80000000)
/* Work of a device that is in the sums already. */
#define SS_OWNER_GIVEN UINT32_C(0x7fffffff)

struct ss_tally {
	uint64_t ps[SS_REGION_COUNT];
	int64_t begin_ps, end_ps; /* the longest stretch */
};

/* Sums of a unit; of a reader's none by step and owner. */
/* A step, the time between two, or all time where there are no steps. */
struct ss_sums_step {
	int64_t begin_ps, end_ps;
	enum ss_time_region region;
	struct ss_unit_step *kept; /* NULL */
	size_t at;		   /* the window; SIZE_MAX between steps */
};

struct ss_time_sums {
	uint64_t ps[SS_TIME_COUNT][SS_REGION_COUNT];
	struct ss_unit_step *steps;	      /* in the build's arena; NULL */
	/* By owner: what the device names, from `first` on; what threads name, from first_host_owner on; calls. Those that own
	 * nothing may lack at the end. */
	SS_VEC(struct ss_tally) device, host, calls;
	uint32_t first;
	size_t at;			      /* windows before it are over */
	struct ss_sums_step step;	      /* of the last piece */
};

struct ss_time_piece {
	int64_t begin_ps, end_ps;
	enum ss_time_class class;
	uint32_t owner; /* SS_NONE: no owner */
};

/*
 * The claims of a device: disjoint pieces in the order of time. No other claim can take the time in which it computes and
 * communicates: without a reader, the sums hold that time, and consecutive pieces are one claim here.
 */
struct ss_device_claims {
	SS_VEC(struct ss_claim) v;
	struct ss_time_sums sums;
	SS_VEC(struct ss_meeting) meetings;
	uint64_t ops, op_ps;
	int64_t first_ps, last_ps;
};

struct ss_attr_build {
	struct ss_host *h;
	const struct ss_plane *planes; /* its planes */
	uint32_t nplanes;
	struct ss_arena *arena;
	struct ss_time_host *out;
	const struct ss_windows *w;
	const struct ss_plane *host; /* NULL: no threads */
	uint32_t host_at;	     /* its place among the planes */
	struct ss_host_kinds kinds;
	struct ss_async_ends ends; /* of the host's events */
	bool has_device, is_gpu;
	bool no_groups; /* nothing says which process group of several a collective of the threads is of */
	uint32_t planes_end; /* behind the last one that has a unit */
	const struct ss_line *starter;
	struct ss_device_claims *devices; /* by plane; NULL without devices */
	/* When some device does nothing that goes before what threads do, ascending and disjoint: claims of threads at
	 * other moments decide nothing, and are not made. */
	SS_VEC(struct ss_stretch) idle;
	SS_VEC(struct ss_claim) threads; /* claims of the host that are held */
	struct ss_thread_walks *walks;	 /* that tell the others; NULL: all are held */
	bool any_claim;			 /* of threads */
	SS_VEC(struct ss_call) calls;
	struct ss_u64map by_call;
	SS_VEC(struct ss_named) named; /* those of one device after those of another, then those of threads */
	uint32_t first_host_owner;     /* SS_NONE until all devices have claimed */
	struct ss_u64map by_named;
	uint64_t ops, op_ps, starts;	 /* on threads, within the window */
	SS_VEC(struct ss_meeting) meetings;
	const struct ss_piece_reader *reader; /* NULL: the sums by name are made instead */
	struct ss_pieces pieces;
	SS_VEC(struct ss_op_ref) refs; /* of a reader */
	struct ss_u64map by_ref;
	const struct ss_time_sums *sums; /* of the unit in the works */
};

static inline bool ss_is_attributed_device(const struct ss_plane *p)
{
	return p->kind == SS_PLANE_GPU || p->kind == SS_PLANE_TENSOR_CORE;
}

/* Does it have a unit of its own? */
static inline bool ss_is_unit(const struct ss_attr_build *b, uint32_t plane)
{
	return b->has_device && plane < b->planes_end && ss_is_attributed_device(&b->planes[plane]);
}

/* SS_NONE when memory is out. */
uint32_t ss_named_owner(struct ss_attr_build *b, enum ss_time_class class, uint32_t plane, uint32_t meta, uint32_t ref,
			bool overhead);
enum ss_time_class ss_owner_class(const struct ss_attr_build *b, uint32_t owner);

/* The step at a moment: an index into windows, SIZE_MAX between steps. `at` walks along. */
size_t ss_window_at(const struct ss_windows *w, int64_t t_ps, size_t *at);

/* extra.c: what the thread that marks the steps, or starts programs, does in those alone that take far longer. */
bool ss_find_extra(struct ss_attr_build *b);

/* device_claims.c: of all devices, and when one of them is idle. */
bool ss_claim_devices(struct ss_attr_build *b);
void ss_device_claims_free(struct ss_device_claims *d);
/* thread_claims.c: behind those of devices. `once`: one unit will ask for what they claim. */
bool ss_claim_threads(struct ss_attr_build *b, bool once);
/* The number of streams of claims besides the held ones; if `out` is not NULL, it receives the streams at their begin. */
size_t ss_thread_streams(const struct ss_attr_build *b, struct ss_claims *out);
void ss_thread_walks_free(struct ss_attr_build *b);

/* Add the time of one piece. */
static inline void ss_tally_add(struct ss_tally *t, enum ss_time_region region, int64_t begin_ps, int64_t end_ps)
{
	uint64_t ps = ss_safe_between(begin_ps, end_ps);
	t->ps[region] += ps;
	if (ps > ss_safe_between(t->begin_ps, t->end_ps)) {
		t->begin_ps = begin_ps;
		t->end_ps = end_ps;
	}
}

/* sums.c */
bool ss_sums_begin(struct ss_time_sums *s, struct ss_attr_build *b);
/* A piece of time, cut at the bounds of steps; SS_NONE: it has no owner. Begins ascend until `at` is set to 0. */
bool ss_sums_add(struct ss_time_sums *s, struct ss_attr_build *b, const struct ss_time_piece *p);
void ss_sums_free(struct ss_time_sums *s);
/* sweep.c: what threads claim, and a device unless it is NULL, into `sums`. */
bool ss_attr_sweep(struct ss_attr_build *b, const struct ss_device_claims *d, struct ss_time_sums *sums);
/*
 * pieces.c: the operation that the event's stats name; SS_NONE without a reader, and where they
 * name none. False: no memory.
 */
bool ss_op_ref_of(struct ss_attr_build *b, const struct ss_plane *p, const struct ss_line *l, uint32_t i, uint32_t *ref);
/* subjects.c */
bool ss_attr_subjects(struct ss_attr_build *b, struct ss_time_unit *out);

#endif
