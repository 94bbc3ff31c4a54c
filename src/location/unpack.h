/* unpack.h - unpacking an archive into a directory. */
#ifndef SS_LOCATION_UNPACK_H
#define SS_LOCATION_UNPACK_H

#include "location/location.h"

enum ss_archive { SS_ARCHIVE_NOT, SS_ARCHIVE_TAR, SS_ARCHIVE_ZIP, SS_ARCHIVE_ZSTD /* of one file */ };

/* The kind of archive, by its bytes. False when memory is out. */
bool ss_archive_of(struct ss_str bytes, enum ss_archive *what, struct ss_err *err);
/*
 * Unpack the members below the directory `to`, or the one file that it holds, as p->path. Messages call
 * the archive `shown`. False when there is nothing to read, or no room for it.
 */
bool ss_archive_unpack(struct ss_location *p, struct ss_str bytes, enum ss_archive what, struct ss_str to, const char *shown,
	struct ss_err *err);
/* Note that a member ("": the archive itself) is missing, and why. */
bool ss_location_note(struct ss_location *p, const char *shown, struct ss_str member, const char *why);

#endif
