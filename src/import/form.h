/*
 * form.h - the format of a file, by its first bytes and its name: the only list of formats that are
 * read, and of formats that people try to open and that are not read.
 *
 * A format that is not read is refused by its name, with what to do instead. Bytes decide where
 * they can; a name decides where a format has no sign of its own.
 */
#ifndef SS_IMPORT_FORM_H
#define SS_IMPORT_FORM_H

#include "base/str.h"

enum ss_form_id {
	SS_FORM_XSPACE,		/* or what nobody knows */
	SS_FORM_TRACE,		/* Trace message of Cloud TPU tools (trace_proto.h) */
	SS_FORM_JSON,		/* Chrome trace events, as far as can be told (chrome_trace.h) */
	SS_FORM_PERFETTO,	/* perfetto.h */
	SS_FORM_SQLITE,		/* a database: nsys.h, or one of those that import.c names */
	SS_FORM_ROCPROF,	/* rocprof.h */
	SS_FORM_ROCPROF_CSV,	/* rocprof_csv.h */
	SS_FORM_RUN_METADATA,	/* run_metadata.h */
	SS_FORM_RIEGELI,	/* riegeli.h */
	SS_FORM_PROGRAM,	/* a compiled program (hlo_json.h) */
	SS_FORM_SNAPSHOT,	/* of memory: snapshot.h, pprof.h; it becomes no profile */
	SS_FORM_REFUSED,	/* known, and not read */
	SS_FORM_REFUSED_LINE,	/* the same, and its first line says more: messages show it */
};

struct ss_form {
	enum ss_form_id id;
	const char *name;	/* "a report of Nsight Systems": for messages */
	const char *advice;	/* of a refused one: what to do */
};

#define SS_FORM_HEAD_BYTES 4096	/* of the unpacked file, which identify its format */

/*
 * The beginning of a file, unpacked into `head` (SS_FORM_HEAD_BYTES) where it is packed; p is
 * NULL when memory is out.
 */
struct ss_str ss_form_head(struct ss_str bytes, char *head);
/* `path` may end in .gz; `head` is what stands in the file unpacked. */
const struct ss_form *ss_form_of(struct ss_str path, struct ss_str head);

/* Does a plane of an XSpace begin here, behind its tag and its length? */
bool ss_form_is_plane(struct ss_str bytes);

#endif
