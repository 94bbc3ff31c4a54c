/* registry.c - the list of tools, read off the .def files. */
#include "request/registry.h"

#include "legacy/legacy.h"

#define TOOL(name) extern const struct ss_tool ss_tool_##name;
#include "legacy/tools.def"
#include "tools/tools.def"
#undef TOOL

const struct ss_tool *const ss_tools[] = {
#define TOOL(name) &ss_tool_##name,
#include "tools/tools.def"
/* After those that read profiles. */
#include "legacy/tools.def"
#undef TOOL
	NULL,
};

const struct ss_tool *ss_tool_find(struct ss_str name)
{
	for (size_t i = 0; ss_tools[i]; i++)
		if (ss_str_is(name, ss_tools[i]->name))
			return ss_tools[i];
	return NULL;
}

bool ss_tool_reads_profiles(const struct ss_tool *t)
{
	return !ss_legacy_files(t);
}
