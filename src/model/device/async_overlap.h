/*
 * async_overlap.h - the part of each asynchronous operation of a TPU that ran while its core computed:
 * this part is hidden, the rest is exposed.
 *
 * The window of an operation is its event on the line "Async XLA Ops", or without that line the time
 * from its start operation to its done operation (`copy-start.1`, `copy-done.1`; `send`, `recv` begin
 * one, too), the first start with the first done. Computation is the union of the other operations of
 * the plane, so a loop counts with all that runs in it.
 *
 * Read from the file line by line; the host need not be loaded. Names live as long as the host, the
 * rest in the arena.
 */
#ifndef SS_MODEL_DEVICE_ASYNC_OVERLAP_H
#define SS_MODEL_DEVICE_ASYNC_OVERLAP_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct ss_host;

/* A part of its duration is hidden: at least so much of it, or at most. */
struct ss_overlap_limits {
	double hidden, exposed;
};

enum ss_overlap_class { SS_OVERLAP_HIDDEN, SS_OVERLAP_PARTIAL, SS_OVERLAP_EXPOSED };

struct ss_async_op {
	struct ss_str name, kind; /* "copy-start.1"; "copy" */
	uint32_t plane;		  /* into ss_async_overlap.planes */
	double begin_ps; /* whole; XProf's reading of it (event_query.h) where that was asked for */
	double span_ps, exposed_ps;
};

struct ss_async_plane {
	struct ss_str host, name; /* host: as the caller labels it */
	bool from_line;		  /* windows are events of the line, not pairs */
	bool has_windows;
};

/* One line of operations, as an engine that is busy at times. */
struct ss_async_engine {
	uint32_t plane;
	struct ss_str line;
	uint32_t chip; /* UINT32_MAX: it is no plane of a TPU */
	double busy_ps;
	double *begin_ps, *end_ps; /* disjoint, ascending */
	uint32_t n;
};

struct ss_async_overlap {
	struct ss_async_op *ops;
	struct ss_async_plane *planes;	 /* by host, then name */
	struct ss_async_engine *engines; /* by plane, then line */
	size_t nops, nplanes, nengines;
	uint64_t unpaired; /* starts without a done, and the other way round */
	bool any;	   /* there is a line of operations */
	struct ss_arena arena;
};

/* One host to be read, under its label. */
struct ss_async_host {
	struct ss_host *host;
	struct ss_str label;
};

bool ss_async_overlap_read(struct ss_async_overlap *o, const struct ss_async_host *hosts, size_t n,
			   bool as_xprof, struct ss_err *err);
void ss_async_overlap_free(struct ss_async_overlap *o);

static inline enum ss_overlap_class ss_overlap_class_of(const struct ss_async_op *a,
							const struct ss_overlap_limits *l)
{
	double share = (a->span_ps - a->exposed_ps) / a->span_ps;
	return share >= l->hidden    ? SS_OVERLAP_HIDDEN
	       : share <= l->exposed ? SS_OVERLAP_EXPOSED
				     : SS_OVERLAP_PARTIAL;
}

/* Time in which both are busy. */
double ss_async_concurrent_ps(const struct ss_async_engine *a, const struct ss_async_engine *b);

#endif
