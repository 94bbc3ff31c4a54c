/*
 * scratch.h - a directory of one process for its temporary files, below $TMPDIR or else /var/tmp,
 * readable by this user only.
 *
 * Closing removes it. A process that makes such a directory also removes those of killed processes:
 * a process holds a lock on its directory as long as it runs.
 */
#ifndef SS_LOCATION_SCRATCH_H
#define SS_LOCATION_SCRATCH_H

#include "base/err.h"

#include <limits.h>

struct ss_scratch {
	int fd;			/* holds the lock; -1: there is none */
	char parent[PATH_MAX];	/* the directory of this user that holds those of all processes */
	char path[PATH_MAX];
};

bool ss_scratch_open(struct ss_scratch *s, struct ss_err *err);
/* The same below `parent`, a directory of this user; it is made if it is missing. */
bool ss_scratch_open_in(struct ss_scratch *s, const char *parent, struct ss_err *err);
void ss_scratch_close(struct ss_scratch *s);
/* Remove a file, or a directory with its contents. */
void ss_scratch_remove(int dir, const char *name);

#endif
