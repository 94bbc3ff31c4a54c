/*
 * rocpd.h - the database that rocprofv3 writes by default since ROCm 7 (PID_results.db): kernels, copies, regions.
 *
 * Its tables carry the session's number behind their names, which is found; its views, which would join them, are not
 * used. Tables and columns are those of rocprofiler-sdk's documentation; one that is not there is empty.
 */
#ifndef SS_IMPORT_ROCPD_H
#define SS_IMPORT_ROCPD_H

#include "import/space_out.h"
#include "sqlite/db.h"

struct ss_rocpd_loss {
	uint64_t malformed;	/* rows without times, or whose end is before their begin */
	bool cut;		/* the database is damaged; the rows read before are shown */
};

bool ss_rocpd_is(struct ss_db *db);
/* Put the events into `o`, whose planes then have names. */
bool ss_rocpd_read(struct ss_db *db, struct ss_space_out *o, struct ss_str *hostname, struct ss_rocpd_loss *loss,
		   struct ss_err *err);

#endif
