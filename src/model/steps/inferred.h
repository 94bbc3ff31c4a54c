/*
 * inferred.h - steps of a program that marked none, inferred from repetition: of one host
 * (SS_HOST_INFERRED_STEPS) and of all hosts (SS_MODEL_INFERRED_STEPS).
 *
 * The sources, where the profile has them, are the programs and the operations or kernels that a
 * device ran, the calls that start programs on host threads, the operations that threads ran, and
 * other outermost events of a thread. Each is searched for a period (period.h); the one with the
 * highest confidence is used. Confidence is the product of
 *
 *	segments that are alike, and how regular they are (period.h)
 *	n / (n + 1) of n repetitions
 *	the share of all computing that lies within the repetitions (of all work, where nobody computes)
 *	a weight of the source: what is nearer to the program counts more
 *
 * Where nothing repeats there are no steps. Steps are by kind of
 * work (steps.h) on any hardware; at one moment computing on a device counts before copying, that
 * before waiting for input, that before work of the host, that before starting programs.
 */
#ifndef SS_MODEL_STEPS_INFERRED_H
#define SS_MODEL_STEPS_INFERRED_H

#include "model/host/stat_filter.h"
#include "model/steps/period.h"
#include "model/steps/steps.h"

struct ss_host;
struct ss_model;

/* More repetitions than this are of something smaller than a step. */
#define SS_MAX_INFERRED_STEPS 20000

/* No steps, and SS_INFERRED_NOT, if no thread or device worked. */
const struct ss_host_steps *ss_host_inferred_steps(struct ss_host *h, struct ss_err *err);
/* The steps that all hosts with inferred steps have in common. */
const struct ss_steps *ss_model_inferred_steps(struct ss_model *m, struct ss_err *err);

/*
 * Is the confidence of inferred steps high enough to show a step time? Others may be one of many
 * calls within a step.
 */
bool ss_steps_are_sure(const struct ss_steps *s);

/* "programs", "calls", "kernels", "ops", "outermost"; "" for marked steps. */
struct ss_str ss_inferred_from_name(enum ss_inferred_from how);

/* inferred_work.c: what a host did, and in which order. */

/* The kind of an event of a thread, by its name. */
enum ss_thread_event {
	SS_THREAD_UNREAD,
	SS_THREAD_NOTHING,  /* frames of Python, marks of thread pools */
	SS_THREAD_DRIVER_CALL, /* of the GPU's driver: one of many in a step */
	SS_THREAD_OTHER,    /* may be outermost, else of no use */
	SS_THREAD_OP,	    /* an operation of the framework, or an instruction of a program */
	SS_THREAD_CALL,	    /* starts the program that its name says */
	SS_THREAD_OP_CALL,  /* starts the operation that its name says */
	SS_THREAD_ANY_CALL, /* starts something, with the same name for all */
	SS_THREAD_INPUT,
	SS_THREAD_COPY,
	SS_THREAD_COMPILE
};

enum ss_thread_event ss_thread_event_of(struct ss_str name);

/*
 * The same for the events of /host:CPU, found once for each name; instructions of XLA programs say
 * in a stat that they are.
 */
struct ss_thread_kinds {
	const struct ss_plane *p;
	struct ss_stat_filter filter;
	uint8_t *known; /* enum ss_thread_event by metadata */
};

/* False when memory is out. */
bool ss_thread_kinds_init(struct ss_thread_kinds *t, const struct ss_plane *p);
enum ss_thread_event ss_thread_kind(struct ss_thread_kinds *t, const struct ss_line *l, uint32_t i);
void ss_thread_kinds_free(struct ss_thread_kinds *t);

/* Is an instruction with this category, or with this name if it was not renamed, a collective? */
bool ss_is_collective(struct ss_str category);

/* Operations of a TPU, or kernels and copies of a GPU. */
bool ss_is_work_line(const struct ss_plane *p, const struct ss_line *l);
/* The work of an event on a line of a device; SS_WORK_UNKNOWN: it only contains others. */
enum ss_work ss_device_event_work(const struct ss_plane *p, uint32_t meta);
/*
 * Is it a part of a transfer between slices of a multislice TPU? Its category is that of transfers
 * from and to the host, through whose network it goes.
 */
bool ss_is_slice_transfer(const struct ss_plane *p, uint32_t meta);

/*
 * When work was done, gathered from lines one after another. Lines mostly do the same at the same
 * time, so spans of one kind of work that touch become one whenever there are twice as many.
 */
struct ss_busy {
	struct ss_work_span *v; /* group unused */
	size_t n, cap;
	size_t first;	/* of the line */
	size_t united;	/* how many there were when spans of different lines became one */
	uint64_t work_ps[SS_WORK_COUNT]; /* of each line without overlaps, summed over lines */
};

/* The spans added from now on are of another line. */
void ss_busy_begin_line(struct ss_busy *b);
bool ss_busy_add(struct ss_busy *b, int64_t begin_ps, int64_t end_ps, enum ss_work work);
/* By their begin, those of one kind disjoint; in place, in no more memory than they need. */
void ss_busy_unite(struct ss_busy *b);

/*
 * Give each moment within n disjoint ascending ranges to one kind of work: work_ps is n times
 * SS_WORK_COUNT. The spans are sorted; memory grows with the number of open candidates.
 */
bool ss_busy_share(const struct ss_busy *b, const int64_t *begin_ps, const int64_t *end_ps, size_t n,
		   uint64_t *work_ps);

#endif
