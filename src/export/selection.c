/* selection.c - see export.h: what of a profile is asked for. */
#include "export/export.h"
#include "sql/directory.h"

bool ss_export_counter(const struct ss_sql_line *line, uint32_t i, double *v)
{
	struct ss_xstats it = ss_xevents_stats(&line->l.ev, line->plane->x, line->l.src, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		if (s.kind != SS_X_INT && s.kind != SS_X_UINT && s.kind != SS_X_DOUBLE)
			continue;
		*v = s.kind == SS_X_DOUBLE ? ss_pb_double(s.u)
		     : s.kind == SS_X_INT  ? (double)(int64_t)s.u
					   : (double)s.u;
		return true;
	}
	return false;
}

void ss_export_lose(struct ss_export *x, uint64_t n, const char *why)
{
	unsigned k = 0;
	while (k < x->nlosses && x->losses[k].why != why)
		k++;
	if (!n || k == SS_EXPORT_LOSSES)
		return;
	x->nlosses += k == x->nlosses;
	x->losses[k].why = why;
	x->losses[k].n += n;
}

bool ss_export_count(struct ss_export *x)
{
	x->nasked = 0;
	for (uint32_t k = 0; k < x->d->nlines; k++) {
		uint32_t lo, hi;
		if (!ss_export_takes(x, &x->d->lines[k]))
			continue;
		if (!ss_export_range(x, &x->d->lines[k], &lo, &hi))
			return false;
		x->nasked += hi > lo ? hi - lo : 0;
	}
	return true;
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
