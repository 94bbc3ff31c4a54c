/*
 * scratch.h - a directory of one process for files that are made to be read again: below $TMPDIR,
 * else /var/tmp, for this user alone.
 *
 * It is removed when it is closed. What a killed program left behind is removed by the next one
 * that makes such a directory: each is locked as long as its program runs.
 */
#ifndef SS_LOCATION_SCRATCH_H
#define SS_LOCATION_SCRATCH_H

#include "base/err.h"

#include <limits.h>

struct ss_scratch {
	int fd;			/* holds the lock; -1: there is none */
	char parent[PATH_MAX];	/* the user's, where those of all processes lie */
	char path[PATH_MAX];
};

bool ss_scratch_open(struct ss_scratch *s, struct ss_err *err);
/* The same below `parent`, a directory of this user's that may have to be made. */
bool ss_scratch_open_in(struct ss_scratch *s, const char *parent, struct ss_err *err);
void ss_scratch_close(struct ss_scratch *s);
/* Remove a file or a directory with all below it. */
void ss_scratch_remove(int dir, const char *name);

#endif
