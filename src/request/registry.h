/*
 * registry.h - all tools: those that read profiles (tools/tools.def), then those that read files of older programs
 * (legacy/tools.def).
 */
#ifndef SS_REQUEST_REGISTRY_H
#define SS_REQUEST_REGISTRY_H

#include "tools/tool.h"

/* All tools in the order of the menu, NULL-terminated. */
extern const struct ss_tool *const ss_tools[];
/* Is it in our own lists? All tools are, except files for other viewers (trace_viewer: we have a better one). */
static inline bool ss_tool_is_listed(const struct ss_tool *t)
{
	return t->kind != SS_KIND_TIMELINE || !(t->flags & SS_TOOL_UNLISTED);
}
/* Does it read profiles? Other tools read other files, and have no tables in SQL. */
bool ss_tool_reads_profiles(const struct ss_tool *t);
const struct ss_tool *ss_tool_find(struct ss_str name);

#endif
