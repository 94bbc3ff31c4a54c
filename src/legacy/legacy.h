/*
 * legacy.h - which tools read files of older programs, read off legacy.def.
 *
 * The paths of a profile know nothing of such files: who opens a run asks here first (request/request.h).
 */
#ifndef SS_LEGACY_LEGACY_H
#define SS_LEGACY_LEGACY_H

#include "tools/tool.h"

typedef bool ss_legacy_fn(const struct ss_request *q, struct ss_result *out, struct ss_err *err);

/* The kind of files that hold this tool's answer as an older program stored it; NULL: there are none. */
const char *ss_legacy_answers(const struct ss_tool *t);
/* What reads them; NULL: they open as a profile. The model's hosts are then such files, opened and not looked at. */
ss_legacy_fn *ss_legacy_reader(const struct ss_tool *t);
/* The kind of files that the tool reads in place of profiles; NULL: it reads profiles. */
const char *ss_legacy_files(const struct ss_tool *t);

#endif
