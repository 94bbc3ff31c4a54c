/*
 * display_lines.h - what people are shown of a host: its planes with all derived lines behind their own
 * (docs/tools/trace_viewer.md).
 *
 * Scopes, framework ops, source lines, programs, launches: nothing is computed from them, and they
 * are a third of the work and half of the memory of reading a profile. So the host does without,
 * and what is shown is a part of its own.
 */
#ifndef SS_MODEL_TIMELINE_DISPLAY_LINES_H
#define SS_MODEL_TIMELINE_DISPLAY_LINES_H

#include "model/host/host.h"

/*
 * As many planes as the host has, in its order. Lines of the file are copies that share the host's
 * columns. Loads the host; lives as long as it. NULL on failure.
 */
const struct ss_plane *ss_host_display_planes(struct ss_host *h, struct ss_err *err);

#endif
