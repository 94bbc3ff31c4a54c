/*
 * host_kinds.h - what an event on a host's thread is, by its name: the vocabulary of the
 * frameworks' runtimes.
 */
#ifndef SS_MODEL_ATTRIBUTION_HOST_KINDS_H
#define SS_MODEL_ATTRIBUTION_HOST_KINDS_H

#include "model/attribution/windows.h"
#include "model/host/stat_filter.h"
#include "model/program/hlo_map.h"

enum ss_host_kind {
	SS_KIND_UNREAD,
	SS_KIND_SKIP,	    /* marks of thread pools, steps: not what is done */
	SS_KIND_OP,	    /* an operation of a compiled program or graph, run by this thread */
	SS_KIND_COLLECTIVE, /* likewise */
	SS_KIND_MESSAGE,    /* a call of MPI: the thread itself exchanges data with other processes, and waits for them */
	SS_KIND_CALLBACK,   /* an operation that runs Python */
	SS_KIND_EXECUTE,    /* a compiled program or graph runs; also an operation that holds others */
	SS_KIND_EAGER_OP,   /* an operation run on its own: aten::mm, EagerLocalExecute: MatMul */
	SS_KIND_FUNCTION,   /* starts the program that it names: PjitFunction(f), a tf.function */
	SS_KIND_LAUNCH,	    /* the framework's own work to start programs, operations, kernels */
	SS_KIND_WAIT,	    /* likewise, in which the thread waits for a graph that others run */
	SS_KIND_COMPILE,
	SS_KIND_DEMAND,	    /* data is asked for, and waited for: IteratorGetNext */
	SS_KIND_INPUT,	    /* data is read, decoded, batched */
	SS_KIND_COPY,
	SS_KIND_SYNC,
	SS_KIND_LOCK,
	SS_KIND_GC,
	SS_KIND_GC_MARK,    /* is called before and behind a collection of garbage: the time between is the collection's */
	SS_KIND_PROFILER,   /* the recording's own work: nothing that the program would do without it */
	SS_KIND_PYTHON,	    /* a frame of Python */
	SS_KIND_OTHER,	    /* the program's annotation, or a detail of the enclosing event */
};
#define SS_KIND_COUNT (SS_KIND_OTHER + 1)

/* The kind by the name alone; a stat may refine it (ss_host_kinds_of). */
enum ss_host_kind ss_host_kind_of_name(struct ss_str name);

/* The same for the events of /host:CPU, found once for each name. */
struct ss_host_kinds {
	const struct ss_plane *p;
	struct ss_str marker; /* name of the program's step marker */
	struct ss_stat_filter hlo_op, function, root;
	uint8_t *known;	   /* by metadata */
	uint64_t *letters; /* of the words that names are held against */
	bool has_device;
	bool eager_cpu;	/* PyTorch on the CPU alone: to read a tensor waits for nothing */
	struct ss_hlo_map *programs; /* what instructions are that programs call otherwise; NULL: by their names alone */
	bool no_memory;
	bool any_compile; /* of the names asked for until now */
};

/*
 * With a device, a call of its driver that copies waits for the copy, which is an event of its own.
 */
bool ss_host_kinds_init(struct ss_host_kinds *k, const struct ss_plane *p, struct ss_str marker, bool has_device);
enum ss_host_kind ss_host_kinds_find(struct ss_host_kinds *k, const struct ss_line *l, uint32_t i);

static inline enum ss_host_kind ss_host_kinds_of(struct ss_host_kinds *k, const struct ss_line *l, uint32_t i)
{
	uint32_t meta = l->ev.meta[i];
	bool known = meta < k->p->x->nevent_meta && k->known[meta] != SS_KIND_UNREAD;
	return known ? (enum ss_host_kind)k->known[meta] : ss_host_kinds_find(k, l, i);
}

/* Is the instruction one that runs others: "while.3"? */
bool ss_hlo_holds_others(struct ss_str name);

void ss_host_kinds_free(struct ss_host_kinds *k);

/*
 * "update" of "PjitFunction(update)", "damp" of "EagerLocalExecute: __inference_damp_512", "Mul" of
 * "EagerLocalExecute: Mul".
 */
struct ss_str ss_called_name(struct ss_str event);

#endif
