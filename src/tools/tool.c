/* tool.c - the registry of tools, read off tools.def. */
#include "tools/tool.h"

#define TOOL(name) extern const struct ss_tool ss_tool_##name;
#include "tools/tools.def"
#undef TOOL

const struct ss_tool *const ss_tools[] = {
#define TOOL(name) &ss_tool_##name,
#include "tools/tools.def"
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

struct ss_str ss_query_param(const struct ss_query *q, const struct ss_tool *tool, const char *name)
{
	for (size_t i = 0; i < q->nparams; i++)
		if (ss_str_is(q->params[i].name, name))
			return q->params[i].value;
	for (size_t i = 0; i < tool->nparams; i++)
		if (strcmp(tool->params[i].name, name) == 0 && tool->params[i].preset)
			return ss_str_from(tool->params[i].preset);
	return SS_STR("");
}
