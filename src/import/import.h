/*
 * import.h - profiles in other formats than XSpace: which file is one, and its XSpace.
 *
 * form.h has the list: traces in JSON and protobuf of many tools, programs, and any of them packed
 * with gzip. A file of another format that people may take for a profile is refused by its name.
 */
#ifndef SS_IMPORT_IMPORT_H
#define SS_IMPORT_IMPORT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hold.h"

struct ss_imported {
	struct ss_buf space;	/* the XSpace; it counts in `hold` */
	struct ss_hold *hold;	/* what the file takes in memory, to be closed after the space */
	const char *form;	/* the format of the file: "a trace of Perfetto"; a static text */
	struct ss_str notes[12];	/* the missing parts, for the user; in the arena */
	size_t nnotes;
	bool launch_ops; /* operations of GPUs are the events around their launches */
	bool own;	/* it was an XSpace, packed: nothing was converted */
	bool cut;	/* it ends early, or is damaged from some point on */
};

/* Is this file no plain XSpace, but something that becomes one? */
bool ss_import_is(const struct ss_file *f, struct ss_str path);
/*
 * Make it. Notes go to `arena`; the space and the hold are the caller's to free, also after a
 * failure.
 */
bool ss_import(const struct ss_file *f, struct ss_str path, struct ss_arena *arena, struct ss_imported *out,
	       struct ss_err *err);

#endif
