/*
 * cluster.h - a run of many hosts as one machine: its hosts and devices, the offset of each host's clock,
 * and the events of different devices that are one collective.
 *
 * Made of skeletons (skeleton.h) alone, hosts in natural order of their names, so the answer is the
 * same whether hosts were read here or in shards elsewhere. Times are ps on the common clock, from
 * the session's earliest start.
 *
 * Part of the model. Hosts are visited, not kept open; only the packed skeleton of each is kept, and
 * ss_cluster_part unpacks it for a caller that needs single operations.
 */
#ifndef SS_MODEL_CLUSTER_CLUSTER_H
#define SS_MODEL_CLUSTER_CLUSTER_H

#include "base/err.h"
#include "base/map.h"
#include "model/cluster/members.h"
#include "model/cluster/outline.h"
#include "model/cluster/skeleton.h"

struct ss_host;
struct ss_model;

#define SS_NO_HOST UINT32_MAX

enum ss_host_state { SS_HOST_OK, SS_HOST_CUT, SS_HOST_MISSING, SS_HOST_UNREADABLE };
const char *ss_host_state_name(enum ss_host_state state);

enum ss_clock_state { SS_CLOCK_GOOD, SS_CLOCK_CORRECTED, SS_CLOCK_UNKNOWN };
const char *ss_clock_state_name(enum ss_clock_state state);

/*
 * A host's clock relative to the common one. Its reading is t + offset + drift (t - middle), with t the
 * common time.
 */
struct ss_clock {
	double offset_ps, drift;	/* estimated, for the middle of the recording; drift: ps per ps */
	double uncertainty_ps;		/* of the offset; 0: not known */
	double bound_ps;		/* half of the range that causality allows; NAN: unbounded */
	uint32_t points;		/* collectives that the estimate uses */
	enum ss_clock_state state;
	bool applied;			/* offset and drift were subtracted from this host's times */
	bool aligned;			/* collectives connect it with the reference, or it is the only host */
	bool failed;			/* the estimate was outside of what causality allows */
};

struct ss_cluster_host {
	struct ss_str name, run, note;
	enum ss_host_state state;
	uint32_t first_device, ndevices;
	uint32_t nfiles;
	bool has_start;			/* the recording says when it began */
	bool stranger;			/* it runs another program than the others */
	int64_t first_step, last_step;	/* SS_NO_STEP: none */
	struct ss_clock clock;
};

struct ss_cluster_device {
	uint32_t host, part, index;	/* index: in the part's skeleton */
	int32_t ordinal;
	int64_t number;			/* among all devices of the run */
	uint32_t first_member, nmembers;
	uint32_t first_step, nsteps;	/* in `steps` */
	bool left_out;			/* some of its steps, or runs, cannot be told from their repeats */
};

/* The way in which an operation names its groups. */
enum ss_group_scope {
	SS_SCOPE_DEVICES,	/* numbers of devices: members.h */
	SS_SCOPE_HOST,		/* all devices of the host */
	SS_SCOPE_TORCH,		/* a process group, by its name and ranks: all that say the same */
};

#define SS_MOST_CLUSTER_OPS (UINT32_C(1) << 30)

/* An operation of any host. */
struct ss_cluster_op {
	struct ss_str name, program;
	enum ss_comm kind;
	uint64_t bytes;
	uint32_t expected;
	enum ss_group_scope scope;
	uint32_t groups;	/* index into `groups` */
	uint32_t key;		/* equal for what may be one collective on different hosts */
	uint32_t like;		/* equal for what groups do side by side: the same, of as many and as much */
};

/* One device's part in a collective. */
struct ss_member {
	int64_t arrive_ps, end_ps;
	uint32_t device;
	uint32_t op : 30;
	bool waited : 1, async : 1;
	uint32_t collective;	/* index, UINT32_MAX: not joined */
};

/* The key by which a member is joined; freed after that. */
struct ss_member_key {
	/*
	 * Index into step_nums; number of the run; UINT32_MAX: none. A step beyond step_nums is one that is left out (rounds.c):
	 * none, once run_repeats.c has told runs by it.
	 */
	uint32_t step, run;
	int32_t seq;		/* -1: none */
};

/* Events of several devices that are one collective. */
struct ss_collective {
	uint32_t first, n;	/* of `order`, whose entries are indices into `members`, by device */
	uint32_t op, nth;	/* nth of its operation and group in the step, from 0 */
	uint32_t group;
	uint32_t expected;
	bool is_told;		/* `expected` is what the recording says, not the most that came */
	int64_t step;		/* or SS_NO_STEP */
	uint64_t bytes;
	uint32_t last;		/* index into members: who came last */
	uint32_t group_host;	/* the host that all members are on, else SS_NO_HOST */
	int64_t last_ps, done_ps; /* L and C of its definition; done_ps is estimated where is_bound */
	int64_t margin_ps;	/* from the last but one to the last */
	int64_t transfer_ps;	/* as observed; where is_bound, at most that */
	int64_t min_ps;		/* shortest duration of a member */
	bool is_bound;		/* no participant waited for its end */
	bool is_clear;		/* the last is last by more than the clocks are uncertain */
	bool pairs;		/* point to point: members wait for their source, not for the last */
};

struct ss_cluster_step {
	int64_t num, begin_ps, end_ps;
};

/*
 * Steps whose numbers repeat: a job restarts from a checkpoint, or counts anew in each epoch. The k-th time that a number
 * comes is a step of its own, and a round ends where numbers go back. Within a cluster the number of a step is
 * number + round * span, so that steps of a later round follow those of earlier ones; ss_step_number and ss_step_round
 * tell number and round for whoever shows them. Without repeats span is 0, and the number is the recorded one.
 */
struct ss_step_rounds {
	int64_t least;
	uint64_t span;
};

static inline uint64_t ss_step_round(const struct ss_step_rounds *r, int64_t step)
{
	return r->span ? ((uint64_t)step - (uint64_t)r->least) / r->span : 0;
}

static inline int64_t ss_step_number(const struct ss_step_rounds *r, int64_t step)
{
	return (int64_t)((uint64_t)step - ss_step_round(r, step) * r->span);
}

/* The packed skeleton of one file, and facts from it. */
struct ss_cluster_part {
	struct ss_str packed;
	size_t number;		/* of its host in the model, and of its outline: parts are in natural order of names */
	struct ss_str file, hostname, run, note;
	enum ss_skel_state state;
	bool is_rank;
	int64_t start_unix_ns;
	uint64_t world;
	uint32_t first_device, ndevices; /* before devices are in the order of hosts */
	int64_t zero_ps;	/* from the session's start to this recording's, before clocks are corrected */
	uint32_t host;
	struct ss_skeleton *open; /* unpacked, on the common clock; the cluster's own business */
	uint64_t used;
};

struct ss_cluster_note {
	bool warning;
	struct ss_str text;
};

struct ss_cluster {
	struct ss_cluster_part *parts;
	uint32_t nparts;
	struct ss_outlines *outlines, *own_outlines; /* the latter are freed with it */
	SS_VEC(struct ss_cluster_host) hosts;	/* in natural order of names, missing ones among them */
	SS_VEC(struct ss_cluster_device) devices; /* by host, then ordinal */
	SS_VEC(struct ss_cluster_op) ops;
	SS_VEC(struct ss_members) groups;
	SS_VEC(struct ss_member) members;	/* by device, then begin */
	SS_VEC(struct ss_member_key) keys;	/* of members, until they are joined */
	SS_VEC(struct ss_collective) collectives; /* by step, then last arrival */
	uint32_t *order;
	SS_VEC(struct ss_cluster_step) steps;	/* of devices, by begin */
	SS_VEC(int64_t) step_nums;	/* of all hosts, as they came */
	bool steps_go_back;		/* on some device a step has no higher number than the one before */
	struct ss_step_rounds rounds;
	int64_t step_stride;		/* from the number of a step to that of the next: programs may count by others than 1 */
	uint32_t nruns;			/* different run ids */
	SS_VEC(struct ss_cluster_note) notes;
	struct ss_str apart;		/* the note on hosts that were recorded at other times and that nothing links; "" */
	uint64_t ndevices_expected;
	int64_t start_unix_ns;		/* of the session; 0: unknown */
	int64_t middle_ps;		/* of the recording: where offsets hold */
	uint64_t nranks_missing; /* processes of the job, as its files tell (distributedInfo), without a file */
	uint32_t nmissing;
	bool of_ranks;			/* recordings of ranks that name no host: each rank counts as a host */
	bool by_run;			/* collectives were joined by run ids */
	struct ss_arena arena;
	struct ss_strmap names;		/* what is in the arena once */
	uint64_t clock_of_use, open_bytes; /* for ss_cluster_part */
	pthread_mutex_t lock;		/* of unpacked parts */
};

/* What one of its hosts is: "host", "rank". */
static inline const char *ss_cluster_noun(const struct ss_cluster *c)
{
	return c->of_ranks ? "rank" : "host";
}

/* The host's skeleton, packed: a part of the host. NULL on failure. */
const struct ss_buf *ss_host_skeleton(struct ss_host *h, struct ss_err *err);
/* Skeletons of all hosts, joined and aligned. NULL on failure. */
struct ss_cluster *ss_model_cluster(struct ss_model *m, struct ss_err *err);
/* The same of packed skeletons and their outlines, which must outlive it; NULL: outlines of its own. */
struct ss_cluster *ss_cluster_of(const struct ss_str *packed, size_t n, struct ss_outlines *outlines, struct ss_err *err);
void ss_cluster_free(struct ss_cluster *c);

/* Hold the lock while using unpacked parts. */
static inline void ss_cluster_lock(struct ss_cluster *c)
{
	pthread_mutex_lock(&c->lock);
}

static inline void ss_cluster_unlock(struct ss_cluster *c)
{
	pthread_mutex_unlock(&c->lock);
}

/*
 * A part's skeleton, with times on the common clock. The caller holds the lock. Pointers into it are
 * valid until the next call for another part, which may need its room. NULL on failure.
 */
const struct ss_skeleton *ss_cluster_part(struct ss_cluster *c, uint32_t part, struct ss_err *err);
/* The same for a caller that reads all parts once. */
const struct ss_skeleton *ss_cluster_part_once(struct ss_cluster *c, uint32_t part, struct ss_err *err);
/* The caller needs no unpacked part any more: frees those that take much memory. */
void ss_cluster_rest(struct ss_cluster *c);
/* Read the outline of a part, which the caller owns, without the lock; ss_outline_close frees it. */
bool ss_cluster_outline(const struct ss_cluster *c, uint32_t part, struct ss_outline *o, struct ss_err *err);
static inline const struct ss_skel_device *ss_cluster_device(const struct ss_skeleton *s, const struct ss_cluster_device *d)
{
	return &s->devices.v[d->index];
}

/* A time of a host's recording on the common clock. */
int64_t ss_cluster_time(const struct ss_cluster *c, const struct ss_cluster_part *p, int64_t own_ps);
/* The uncertainty of a difference between times of two hosts. 0 for one host. */
double ss_cluster_uncertainty_ps(const struct ss_cluster *c, uint32_t host_a, uint32_t host_b);
/* The time that a member waited for others. */
int64_t ss_member_wait_ps(const struct ss_cluster *c, const struct ss_collective *k, const struct ss_member *m);
/*
 * The end of a member's wait for others: the last arrival, or for point to point that of its source,
 * if it is later than the member's own.
 */
int64_t ss_member_meets_ps(const struct ss_cluster *c, const struct ss_collective *k, const struct ss_member *m);
/* The member that sends to this one, and its device; UINT32_MAX: nobody, or it is not there. */
uint32_t ss_member_source_member(const struct ss_cluster *c, const struct ss_collective *k, const struct ss_member *m);
uint32_t ss_member_source(const struct ss_cluster *c, const struct ss_collective *k, const struct ss_member *m);
bool ss_cluster_note(struct ss_cluster *c, bool warning, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * The stages that make it, in this order. False: memory is out. union.c, rounds.c, hosts.c, join.c, clocks.c,
 * timing.c, strangers.c
 */
bool ss_cluster_unite(struct ss_cluster *c, struct ss_err *err); /* what is in the parts; false for what cannot be read, too */
bool ss_cluster_number_steps(struct ss_cluster *c); /* those whose numbers repeat: rounds.c */
bool ss_cluster_place(struct ss_cluster *c);	/* hosts, devices, their numbers, missing ones */
bool ss_cluster_join(struct ss_cluster *c);	/* members to collectives */
bool ss_cluster_tell_runs(struct ss_cluster *c); /* a part of that: run_repeats.c */
bool ss_cluster_align(struct ss_cluster *c);	/* clocks; times are the common ones afterwards */
bool ss_cluster_time_collectives(struct ss_cluster *c); /* last arrivals, transfers */
bool ss_cluster_find_strangers(struct ss_cluster *c);
/* Starts of the recordings, not on the common clock. */
bool ss_cluster_find_apart(struct ss_cluster *c);

/* Is step `num` the one behind `before`? */
static inline bool ss_cluster_follows(const struct ss_cluster *c, int64_t num, int64_t before)
{
	return num > before && (uint64_t)num - (uint64_t)before == (uint64_t)c->step_stride;
}

/* Does any host have a device, or run compiled programs that count as one? */
bool ss_cluster_any_device(const struct ss_cluster *c);

#endif
