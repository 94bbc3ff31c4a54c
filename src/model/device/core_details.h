/*
 * core_details.h - the facts of a device's plane: its chip and core, and the times of its events.
 */
#ifndef SS_MODEL_DEVICE_CORE_DETAILS_H
#define SS_MODEL_DEVICE_CORE_DETAILS_H

#include "model/host/plane.h"
#include "xprof/quirks/quirks.h"

/* Plane stat core_details. */
struct ss_core_details {
	bool present; /* the stat is there, */
	bool empty;   /* ... but says nothing */
	struct ss_str hostname;
	uint32_t device_ordinal, core_num, local_chip_id, global_chip_id, global_core_id;
};

struct ss_core_details ss_plane_core_details(const struct ss_plane *p);

/* When an event of a device plane ran by the device's clock: its stats device_offset_ps and device_duration_ps. */
struct ss_device_time {
	bool has_offset, has_dur;
	uint64_t offset_ps, dur_ps;
};

/* The timespan of an event: as preprocessing set it, else as its stats say, else the host's. */
static inline void ss_device_place(const struct ss_line *l, uint32_t i, const struct ss_device_time *t, int64_t *begin_ps,
				   uint64_t *dur_ps)
{
	if (l->dev_begin_ps && l->dev_begin_ps[i] >= 0) {
		*begin_ps = l->dev_begin_ps[i];
		*dur_ps = l->dev_dur_ps[i];
	} else if (t->has_offset && t->has_dur) {
		*begin_ps = (int64_t)t->offset_ps;
		*dur_ps = ss_quirk_device_dur_ps(t->dur_ps);
	} else {
		*begin_ps = l->ev.begin_ps[i];
		*dur_ps = l->ev.dur_ps[i];
	}
}

/* The same, with the stats read here. */
void ss_device_span(const struct ss_plane *p, const struct ss_line *l, uint32_t i, int64_t *begin_ps, uint64_t *dur_ps);

#endif
