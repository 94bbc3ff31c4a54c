/* lanes.c - see lanes.h. */
#include "export/lanes.h"

#include "sql/directory.h"

#include <stdlib.h>

/* Ends of the open events of a lane, the innermost last. */
struct open {
	SS_VEC(int64_t) ends;
};

static bool fits(struct open *lane, int64_t start_ps, int64_t end_ps)
{
	while (lane->ends.n && lane->ends.v[lane->ends.n - 1] <= start_ps)
		lane->ends.n--;
	return !lane->ends.n || lane->ends.v[lane->ends.n - 1] >= end_ps;
}

/* The first lane in which it nests. False: memory is out. */
static bool find_lane(struct open *lanes, unsigned *n, int64_t start_ps, int64_t end_ps,
		      uint8_t *lane)
{
	for (unsigned k = 0; k < SS_EXPORT_LANES; k++) {
		if (k < *n && !fits(&lanes[k], start_ps, end_ps))
			continue;
		*n = k < *n ? *n : k + 1;
		*lane = (uint8_t)k;
		return ss_vec_push(&lanes[k].ends, end_ps);
	}
	*lane = SS_EXPORT_NO_LANE;
	return true;
}

bool ss_lanes_of(struct ss_lanes *l, const struct ss_export *x, struct ss_sql_line *line)
{
	struct open lanes[SS_EXPORT_LANES] = { 0 };
	*l = (struct ss_lanes){ 0 };
	if (!ss_export_range(x, line, &l->lo, &l->hi))
		return false;
	l->of = malloc(l->hi - l->lo + 1u);
	bool ok = l->of;
	for (uint32_t k = l->lo; ok && k < l->hi; k++) {
		uint32_t i = ss_sql_in_time(line, k);
		uint8_t *lane = &l->of[k - l->lo];
		ok = find_lane(lanes, &l->n, ss_sql_start_ps(line, i), ss_sql_end_ps(line, i),
			       lane);
		l->nleft_out += ok && *lane == SS_EXPORT_NO_LANE;
	}
	for (unsigned k = 0; k < SS_EXPORT_LANES; k++)
		ss_vec_free(&lanes[k].ends);
	if (!ok)
		ss_lanes_free(l);
	return ok;
}

void ss_lanes_free(struct ss_lanes *l)
{
	free(l->of);
	l->of = NULL;
}

bool ss_lane_write(const struct ss_lanes *l, unsigned lane, const struct ss_sql_line *line,
		   const struct ss_lane_writer *w)
{
	SS_VEC(uint32_t) open = { 0 };
	bool ok = true;
	for (uint32_t k = l->lo; ok && k <= l->hi; k++) {
		bool last = k == l->hi;
		if (!last && l->of[k - l->lo] != lane)
			continue;
		uint32_t i = last ? 0 : ss_sql_in_time(line, k);
		int64_t start_ps = last ? INT64_MAX : ss_sql_start_ps(line, i);
		while (ok && open.n && ss_sql_end_ps(line, open.v[open.n - 1]) <= start_ps) {
			open.n--;
			ok = w->end(w->arg, line, open.v[open.n],
				    ss_sql_end_ps(line, open.v[open.n]));
		}
		if (ok && !last)
			ok = w->begin(w->arg, line, i, start_ps) && ss_vec_push(&open, i);
	}
	ss_vec_free(&open);
	return ok;
}
