/*
 * recordings.h - files of one directory that are no hosts of one run: one process recorded them one after the other.
 */
#ifndef SS_CLI_RECORDINGS_H
#define SS_CLI_RECORDINGS_H

#include "base/arena.h"
#include "store/store.h"

struct cli_recordings {
	const struct ss_run *v; /* the run itself, or its recordings in the order of time, in the arena */
	size_t n;
};

/*
 * Files whose recordings overlap in time belong together. The run stays whole where a file does not say when it was recorded.
 * False: no memory.
 */
bool cli_recordings_of(const struct ss_run *run, struct ss_arena *arena, struct cli_recordings *out);

#endif
