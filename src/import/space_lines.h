/*
 * space_lines.h - the events of a collected line, made ready to be written: begins and ends that came
 * apart are matched, what never ended lasts as long as its line, and events stand in the order of time.
 */
#ifndef SS_IMPORT_SPACE_LINES_H
#define SS_IMPORT_SPACE_LINES_H

#include "import/space_out.h"

/* Times that are farther from the others than this are no times. */
#define SS_SO_FAR_NS (INT64_C(100) * 86400 * 1000000000)

/* Costs a look at each event when it is done already. False: no memory. */
bool ss_so_line_settle(struct ss_space_out *o, struct ss_so_line *l);

static inline bool ss_so_begins_by(const struct ss_so_record *r, struct ss_so_time t)
{
	return r->begin_ns < t.ns || (r->begin_ns == t.ns && r->begin_sub_ps <= t.ps);
}

/* Is the event, which began by `t`, open then? */
static inline bool ss_so_lasts_to(const struct ss_so_record *r, struct ss_so_time t)
{
	uint64_t ns = (uint64_t)t.ns - (uint64_t)r->begin_ns;
	return ns < INT64_MAX / 1000 && ns * 1000 + t.ps <= r->dur_ps + r->begin_sub_ps;
}

#endif
