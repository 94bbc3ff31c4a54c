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

bool ss_export_takes(const struct ss_export *x, const struct ss_sql_line *line)
{
	if (!line->l.ev.n)
		return false;
	return !x->plane ||
	       ss_regex_search(x->plane, line->plane->name, NULL, 0, NULL, NULL) == SS_REGEX_YES;
}

bool ss_export_range(const struct ss_export *x, struct ss_sql_line *line, uint32_t *lo,
		     uint32_t *hi)
{
	if (!ss_sql_time_line(x->d, line))
		return false;
	*lo = x->start_ps == INT64_MIN
		      ? 0
		      : ss_sql_first_from(line, ss_clock_own(&line->clock, x->start_ps));
	*hi = x->end_ps == INT64_MAX
		      ? line->l.ev.n
		      : ss_sql_first_from(line, ss_clock_own(&line->clock, x->end_ps));
	return true;
}
