/*
 * lanes.h - events of a line laid out so that those of one lane nest: what viewers ask for that draw begins and ends.
 *
 * Mostly a line is one lane. An event that overlaps another without being inside of it goes to the next lane.
 */
#ifndef SS_EXPORT_LANES_H
#define SS_EXPORT_LANES_H

#include "base/vec.h"
#include "export/export.h"

#define SS_EXPORT_LANES 64u	/* an event that fits into none of them is left out */
#define SS_EXPORT_NO_LANE UINT8_MAX
#define SS_EXPORT_OVERLAP "more than 64 overlap each other"

struct ss_lanes {
	uint8_t *of;		/* of the events in [lo, hi), by place in time */
	uint32_t lo, hi;
	unsigned n;
	uint64_t nleft_out;
};

bool ss_lanes_of(struct ss_lanes *l, const struct ss_export *x, struct ss_sql_line *line);
void ss_lanes_free(struct ss_lanes *l);

/* Begins and ends of one lane in the order of time: of equal times ends first, inner ones before outer ones. */
struct ss_lane_writer {
	bool (*begin)(void *arg, const struct ss_sql_line *line, uint32_t event, int64_t ps);
	bool (*end)(void *arg, const struct ss_sql_line *line, uint32_t event, int64_t ps);
	void *arg;
};
/* False: the writer said so, or memory is out. */
bool ss_lane_write(const struct ss_lanes *l, unsigned lane, const struct ss_sql_line *line, const struct ss_lane_writer *w);

#endif
