/* saved.c - the list of questions with a name. */
#include "sql/saved.h"

#include "sql/sql.h"

#include <stdio.h>

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

static bool refuse_name(const struct ss_sql_saved *q, struct ss_str name, struct ss_err *err)
{
	char has[160] = "";
	for (size_t k = 0, n = 0; q->values[k].name && n < sizeof(has); k++)
		n += (size_t)snprintf(has + n, sizeof(has) - n, "%s%s", k ? ", " : ": it has ", q->values[k].name);
	return ss_fail(err, SS_EINVAL, "%s has no parameter '" SS_FMT "'%s", q->name, SS_ARG(name), *has ? has : ": it takes none");
}

bool ss_sql_saved_takes(const struct ss_sql_saved *q, struct ss_str name, struct ss_str value, struct ss_err *err)
{
	double d;
	uint64_t rows;
	size_t k = 0;
	while (q->values[k].name && !ss_str_is(name, q->values[k].name))
		k++;
	if (!q->values[k].name)
		return refuse_name(q, name, err);
	if (ss_str_is(name, "rows") && !ss_str_to_u64(value, &rows))
		return ss_fail(err, SS_EINVAL, "rows of %s takes a whole number of at least 0, not '" SS_FMT "'",
			       q->name, SS_ARG(value));
	if (ss_sql_decimal(ss_str_from(q->values[k].preset), &d) && !ss_sql_decimal(value, &d))
		return ss_fail(err, SS_EINVAL, SS_FMT " of %s takes a number, not '" SS_FMT "'", SS_ARG(name),
			       q->name, SS_ARG(value));
	return true;
}
