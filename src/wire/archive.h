/*
 * archive.h - the events that readers of archives report, and the names that a member must not
 * have. The readers (tar.h, zip.h) allocate at most a name; the caller handles the content of
 * members.
 */
#ifndef SS_WIRE_ARCHIVE_H
#define SS_WIRE_ARCHIVE_H

#include "base/err.h"
#include "base/str.h"

#define SS_MEMBER_NAME_BYTES 4096	/* longer ones are refused */

/* Called in the order of the archive. */
struct ss_members {
	/*
	 * A file of this name begins. False: its bytes are not wanted, and neither `bytes` nor
	 * `end` is called.
	 */
	bool (*begin)(void *arg, struct ss_str name, int64_t mtime_ns);
	/* False: nothing more of the archive is to be read; the caller knows why. */
	bool (*bytes)(void *arg, struct ss_str piece);
	bool (*end)(void *arg);
	/*
	 * A missing or incomplete member, and why, as a static text. `name` is "" for the archive
	 * itself.
	 */
	void (*note)(void *arg, struct ss_str name, const char *why);
	void *arg;
};

/* Why a member of this name is not taken, as a static text; NULL: it may be. */
const char *ss_member_refused(struct ss_str name);

#endif
