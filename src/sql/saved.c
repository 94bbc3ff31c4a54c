/* saved.c - the list of questions with a name. */
#include "sql/saved.h"

#define SAVED_VALUES(...) \
	{ \
		__VA_ARGS__ \
	}
#define SAVED(name, doc, values, sql) { name, doc, values, sql },
static const struct ss_sql_saved saved[] = {
#include "sql/saved.def"
};

const struct ss_sql_saved *ss_sql_saved_at(size_t i)
{
	return i < SS_COUNT(saved) ? &saved[i] : NULL;
}

const struct ss_sql_saved *ss_sql_saved_find(struct ss_str name)
{
	for (size_t i = 0; i < SS_COUNT(saved); i++)
		if (ss_str_is(name, saved[i].name))
			return &saved[i];
	return NULL;
}
