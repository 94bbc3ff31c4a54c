/* export.c - the list of formats, and what all of them ask. */
#include "export/export.h"

#define EXPORT(name) extern const struct ss_export_format ss_export_##name;
#include "export/exports.def"
#undef EXPORT

static const struct ss_export_format *const formats[] = {
#define EXPORT(name) &ss_export_##name,
#include "export/exports.def"
#undef EXPORT
};

const struct ss_export_format *ss_export_at(size_t i)
{
	return i < SS_COUNT(formats) ? formats[i] : NULL;
}

const struct ss_export_format *ss_export_find(struct ss_str name)
{
	for (size_t i = 0; i < SS_COUNT(formats); i++)
		if (ss_str_is(name, formats[i]->name))
			return formats[i];
	return NULL;
}
