/*
 * processes.h - traces of PyTorch whose names say that one process followed the other: the trace
 * "vm_4711.1790000000000000000.pt.trace.json" is of process 4711 on vm, and was written at that time since 1970.
 *
 * Ranks of one job write theirs within seconds, and are hosts of one run. Processes of one machine that wrote
 * theirs further apart are other runs of a program.
 */
#ifndef SS_STORE_PROCESSES_H
#define SS_STORE_PROCESSES_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* Recordings of ranks of one job are written at most so far apart. */
#define SS_RANKS_SECONDS 10

struct ss_recording {
	struct ss_str name;	/* of the file */
	uint32_t older;		/* in: recordings of its process that are newer; out: with those of processes that came later */
};

/* `v` by process, the newest first. False: memory is out. */
bool ss_processes_in_turn(struct ss_recording *v, size_t n);

#endif
