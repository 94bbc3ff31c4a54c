/*
 * legacy.h - which tools read files of older programs, read off legacy.def.
 *
 * The code for profiles does not handle such files: code that opens a run checks here first
 * (request/request.h).
 */
#ifndef SS_LEGACY_LEGACY_H
#define SS_LEGACY_LEGACY_H

#include "tools/tool.h"

typedef bool ss_legacy_fn(const struct ss_request *q, struct ss_result *out, struct ss_err *err);

/* The kind of files that hold this tool's answer as an older program stored it; NULL: there are none. */
const char *ss_legacy_answers(const struct ss_tool *t);
/* The reader of the files; NULL: they open as a profile. The model's hosts are then such files, opened but not parsed. */
ss_legacy_fn *ss_legacy_reader(const struct ss_tool *t);
/* The kind of files that the tool reads in place of profiles; NULL: it reads profiles. */
const char *ss_legacy_files(const struct ss_tool *t);

#endif
