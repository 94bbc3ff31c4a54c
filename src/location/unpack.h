/* unpack.h - an archive becomes files in a directory. */
#ifndef SS_LOCATION_UNPACK_H
#define SS_LOCATION_UNPACK_H

#include "location/location.h"

enum ss_archive { SS_ARCHIVE_NOT, SS_ARCHIVE_TAR, SS_ARCHIVE_ZIP, SS_ARCHIVE_ZSTD /* of one file */ };

/* What is it, by its bytes? False when memory is out. */
bool ss_archive_of(struct ss_str bytes, enum ss_archive *what, struct ss_err *err);
/*
 * Its members below the directory `to`, or the file itself that it holds: p->path. `shown` is what
 * messages call the archive. False when there is nothing to be read, or no room for it.
 */
bool ss_archive_unpack(struct ss_location *p, struct ss_str bytes, enum ss_archive what, struct ss_str to, const char *shown,
	struct ss_err *err);
/* A member, or the archive itself for "", and why it is not there. */
bool ss_location_note(struct ss_location *p, const char *shown, struct ss_str member, const char *why);

#endif
