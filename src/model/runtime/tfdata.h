/*
 * tfdata.h - what a tf.data input pipeline did for each element that the program asked for.
 *
 * An iterator call is an event "Iterator::...". Calls nest on a thread. Where a stage works ahead
 * on threads of its own, a pair of events, produce and consume, with the element's number hands an
 * element over: the calls below the producer then belong below the consumer's call. One call of a
 * root iterator is one element; its tree shows which stage the program waited for.
 *
 * An iterator is blocking in a call if the root waited for it: its parent is blocking and they
 * overlap in time. The bottleneck is the blocking iterator with most time of its own (duration
 * without what overlaps calls below it).
 */
#ifndef SS_MODEL_RUNTIME_TFDATA_H
#define SS_MODEL_RUNTIME_TFDATA_H

#include "base/err.h"
#include "base/str.h"

struct ss_host;

/* A stage of a pipeline, from the name of its events. */
struct ss_tfdata_iterator {
	uint64_t id, parent_id;	/* parent 0: a root */
	struct ss_str name;	/* "ParallelMapV2" */
	struct ss_str long_name; /* "Iterator::Root::Prefetch::ParallelMapV2" */
	bool is_root;
	bool is_device;		/* a root that feeds a device by a background copy */
	bool is_async;		/* works ahead on threads of its own */
	uint64_t parallelism;	/* calls at a time, where the program fixed it; 0: tuned, or not recorded */
	uint64_t cpu_budget;	/* of a root: processors that the pipeline may use; 0: not recorded */
};

/* The work of an iterator in one call of its root. */
struct ss_tfdata_stat {
	uint32_t iterator;	/* index into iterators */
	int64_t begin_ps;	/* of its first call */
	uint64_t dur_ps, self_ps, calls;
	bool is_blocking;
};

struct ss_tfdata_call {
	uint64_t dur_ps;
	uint32_t first, n;	/* into stats; the root is the first */
	uint32_t bottleneck;	/* index into stats, SS_NONE if there is none */
};

struct ss_tfdata_pipeline {
	uint32_t iterator;	/* its root */
	uint32_t number;	/* among the pipelines of its kind (host or device) */
	uint32_t first, n;	/* into calls, longest first */
	uint64_t sum_ps, min_ps, max_ps, slow;
};

/* Calls longer than this make a step wait. */
#define SS_TFDATA_SLOW_PS UINT64_C(50000000)

struct ss_tfdata {
	struct ss_tfdata_iterator *iterators;
	struct ss_tfdata_stat *stats;
	struct ss_tfdata_call *calls;
	struct ss_tfdata_pipeline *pipelines; /* in the order of their first call in the file */
	size_t niterators, nstats, ncalls, npipelines;
	uint64_t ncut;		/* calls below others that were not followed: the file refers to itself too often */
};

bool ss_host_has_tfdata(const struct ss_host *h);	/* of an opened host */
/*
 * Part of the host: what the events of the pipelines of /host:CPU say, of which no others are read (partial_read.h).
 * Strings live as long as the host. NULL on failure.
 */
const struct ss_tfdata *ss_host_tfdata(struct ss_host *h, struct ss_err *err);

/* "ParallelMapV2" is "ParallelMap": versions do not change what a stage is. */
struct ss_str ss_tfdata_base_name(struct ss_str name);

#endif
