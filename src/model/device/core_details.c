/* core_details.c - which chip and core a TPU plane is of, and when its events ran. */
#include "model/device/core_details.h"

enum {
	CORE_HOSTNAME = 1,
	CORE_DEVICE_ORDINAL = 2,
	CORE_CORE_NUM = 3,
	CORE_LOCAL_CHIP_ID = 4,
	CORE_GLOBAL_CHIP_ID = 5,
	CORE_GLOBAL_CORE_ID = 6,
};

static void parse(struct ss_core_details *d, struct ss_str bytes)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		switch (f.key) {
		case PB_LEN(CORE_HOSTNAME):
			d->hostname = f.bytes;
			break;
		case PB_VAR(CORE_DEVICE_ORDINAL):
			d->device_ordinal = (uint32_t)f.u;
			break;
		case PB_VAR(CORE_CORE_NUM):
			d->core_num = (uint32_t)f.u;
			break;
		case PB_VAR(CORE_LOCAL_CHIP_ID):
			d->local_chip_id = (uint32_t)f.u;
			break;
		case PB_VAR(CORE_GLOBAL_CHIP_ID):
			d->global_chip_id = (uint32_t)f.u;
			break;
		case PB_VAR(CORE_GLOBAL_CORE_ID):
			d->global_core_id = (uint32_t)f.u;
			break;
		}
	}
}

struct ss_core_details ss_plane_core_details(const struct ss_plane *p)
{
	struct ss_core_details d = { .hostname = SS_STR("") };
	struct ss_xstat s;
	if (ss_xstats_find(ss_xplane_stats(p->x), SS_STAT_CORE_DETAILS, &s)) {
		d.present = true;
		d.empty = s.kind != SS_X_BYTES || !s.s.n;
		if (s.kind == SS_X_BYTES)
			parse(&d, s.s);
	}
	return d;
}

void ss_device_span(const struct ss_plane *p, const struct ss_line *l, uint32_t i, int64_t *begin_ps, uint64_t *dur_ps)
{
	struct ss_device_time t = { 0 };
	struct ss_xstat s;
	struct ss_xstats it = l->dev_begin_ps ? (struct ss_xstats){ 0 } : ss_line_stats(p, l, i);
	while (!l->dev_begin_ps && ss_xstats_next(&it, &s)) {
		if (s.stat == SS_STAT_DEVICE_OFFSET_PS) {
			t.offset_ps = (uint64_t)ss_xstat_int_or_uint(&s);
			t.has_offset = true;
		} else if (s.stat == SS_STAT_DEVICE_DURATION_PS) {
			t.dur_ps = (uint64_t)ss_xstat_int_or_uint(&s);
			t.has_dur = true;
		}
	}
	ss_device_place(l, i, &t, begin_ps, dur_ps);
}
