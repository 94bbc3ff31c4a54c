/*
 * nsys_when.h - when, where and in which job Nsight Systems recorded an export, without reading its
 * events: three tables of a few rows.
 */
#ifndef SS_IMPORT_NSYS_WHEN_H
#define SS_IMPORT_NSYS_WHEN_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct ss_nsys_when {
	int64_t begin_ns, end_ns; /* since 1970; 0: not told */
	uint64_t machine, job;	  /* hashes of the host's name and of Slurm's job and step; 0: not told */
};

/* Of a file below `top`. All zero for a file that is no such export or cannot be read. */
struct ss_nsys_when ss_nsys_when(const char *top, const char *path);
/*
 * Do they belong together? Recordings of one machine do if they overlap in time, those of different
 * machines also if they began within seconds or are of one step of Slurm. Those of different jobs
 * never do.
 */
bool ss_nsys_together(const struct ss_nsys_when *a, const struct ss_nsys_when *b);

#endif
