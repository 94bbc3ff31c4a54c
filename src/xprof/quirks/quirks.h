/*
 * quirks.h - rules of XProf that are not the truth, or no better than another rule would be: its clients see their outcome, so
 * they are kept, each under a name. Nothing else in the program may take over such a rule unnamed.
 *
 * Where a client of ours is told something else, the caller decides (struct ss_request.as_xprof).
 */
#ifndef SS_XPROF_QUIRKS_QUIRKS_H
#define SS_XPROF_QUIRKS_QUIRKS_H

#include "xspace/events.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The maximum of samples starts from the smallest normal double, not from their first: of zeros alone it is 2e-308. */
static inline double ss_quirk_first_max(void)
{
	return DBL_MIN;
}

/* The deviation of a single sample that is not above 0 is no number; the text for it. */
#define SS_QUIRK_NO_NUMBER "-nan"

/* Shares of single events, and occupancies, are floats: 66.666 is shown as 66.66600036621094. */
static inline double ss_quirk_float(double v)
{
	return (double)(float)v;
}

/* A plane without any activity counts as one picosecond long. */
static inline uint64_t ss_quirk_empty_plane_ps(void)
{
	return 1;
}

/* The stall of a DMA is read as a signed number: one that was written unsigned counts as 0. */
static inline uint64_t ss_quirk_dma_stall_ps(const struct ss_xstat *s)
{
	return (uint64_t)ss_xstat_int(s);
}

/* A device time that no int64 holds counts as 0. */
static inline uint64_t ss_quirk_device_dur_ps(uint64_t dur_ps)
{
	return dur_ps > (uint64_t)INT64_MAX ? 0 : dur_ps;
}

/* An instant at time 0 is a span that was never set: the next event gives it its begin. */
static inline bool ss_quirk_span_is_unset(int64_t begin_ps, int64_t end_ps)
{
	return begin_ps == 0 && end_ps == 0;
}

/* Ids of derived lines are cut to 32 bits with a sign. */
static inline int64_t ss_quirk_line_id(uint32_t id)
{
	return (int32_t)id;
}

/* If parts of a step took equally long, the part with the alphabetically last name is the bottleneck. */
static inline bool ss_quirk_is_bottleneck_before(const char *label, const char *other)
{
	return strcmp(label, other) > 0;
}

/* A memory space that is no number is number 0. */
static inline int64_t ss_quirk_memory_space(struct ss_str text)
{
	int64_t space;
	return ss_str_to_i64(text, &space) ? space : 0;
}

#endif
