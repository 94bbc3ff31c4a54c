/*
 * nsys.h - the SQLite export of Nsight Systems (nsys export --type sqlite): kernels, copies, calls,
 * NVTX ranges, system calls.
 *
 * They become what a trace of PyTorch becomes, by the same words, so that everything that is known
 * of such traces works. Tables and columns come and go with versions: one that is not there is
 * empty.
 */
#ifndef SS_IMPORT_NSYS_H
#define SS_IMPORT_NSYS_H

#include "import/space_out.h"
#include "sqlite/db.h"

struct ss_nsys_loss {
	uint64_t malformed;	/* rows whose end is before their begin */
	uint64_t nameless;	/* whose name is not in the table of strings */
	struct ss_str warning;	/* the first thing that Nsight Systems warned of, in the space's arena; or "" */
	bool cut;		/* the database is damaged; the rows read before are shown */
};

bool ss_nsys_is(struct ss_db *db);
/* Put the events into `o`, whose planes then have names. */
bool ss_nsys_read(struct ss_db *db, struct ss_space_out *o, struct ss_str *hostname, struct ss_nsys_loss *loss,
		  struct ss_err *err);

#endif
