/*
 * fetcher_wire.h - the messages between a server and its fetcher. Both are one program on one machine, so numbers are sent as they
 * lie in memory.
 */
#ifndef SS_LOCATION_FETCHER_WIRE_H
#define SS_LOCATION_FETCHER_WIRE_H

#include "location/tree.h"

#include <limits.h>

#define SS_FETCH_MOST 32		/* questions that are open at a time */
#define SS_FETCH_PATH_BYTES PATH_MAX
#define SS_FETCH_REPLY_BYTES ((size_t)1 << 20)

/* A question, and behind it `n` bytes: the path below the tree, "" for a list. */
struct ss_fetch_question {
	uint32_t id, n;
	uint64_t bytes;		/* of the file, that the server needs */
};

/* An answer, and behind it `n` bytes: why it failed, or of a list its notes ("PATH\0WHY\0" each). */
struct ss_fetch_answer {
	uint32_t id, n;
	uint32_t code;		/* enum ss_errcode */
	uint32_t nnotes_all;
	struct ss_tree_cost cost;
};

/* All `n` bytes; false: the other side is gone. */
bool ss_fetch_read(int fd, void *p, size_t n);

#endif
