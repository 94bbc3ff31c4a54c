/*
 * import.h - profiles in other formats than XSpace: which file is one, and its XSpace.
 *
 *	*.trace			Trace message of Cloud TPU tools (trace_proto.h)
 *	*.trace.json, *.json	Chrome trace events (chrome_trace.h)
 *	*.memory_viewer.json	a compiled program (hlo_json.h)
 *	any of them, and *.xplane.pb, with .gz behind
 *
 * JSON and gzip are known by how they begin, whatever the file's name; a Trace looks like an
 * XSpace, so its name decides.
 */
#ifndef SS_IMPORT_IMPORT_H
#define SS_IMPORT_IMPORT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"

struct ss_imported {
	struct ss_buf space;	/* the XSpace */
	struct ss_str notes[6];	/* what is missing, for the user; in the arena */
	size_t nnotes;
};

/* Is this file no plain XSpace, but something that becomes one? */
bool ss_import_is(const struct ss_file *f, struct ss_str path);
/* Make it. Notes go to `arena`; the space is the caller's to free, also after a failure. */
bool ss_import(const struct ss_file *f, struct ss_str path, struct ss_arena *arena, struct ss_imported *out,
	       struct ss_err *err);

#endif
