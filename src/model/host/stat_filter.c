/* stat_filter.c - hopping over stats. */
#include "model/host/stat_filter.h"

#include "xspace/fields.h"

struct ss_stat_filter ss_stat_filter_of(const struct ss_xplane *x, const enum ss_stat *stats,
					size_t n)
{
	struct ss_stat_filter f = { 0 };
	bool any = false;
	for (size_t k = 0; k < n; k++)
		if (ss_xplane_has(x, stats[k]))
			any = true;
	for (uint32_t i = 0; any && i < x->nstat_meta; i++) {
		const struct ss_xstat_meta *m = &x->stat_meta[i];
		for (size_t k = 0; k < n; k++)
			if (m->stat == stats[k]) {
				f.line_ids |= ss_stat_id_bit((uint64_t)m->id);
				if ((uint64_t)m->id < 128)
					f.ids[m->id / 64] |= (uint64_t)1 << (m->id % 64);
			}
	}
	return f;
}

bool ss_stat_filter_event(const struct ss_stat_filter *f, struct ss_str event)
{
	const uint8_t *p = (const uint8_t *)event.p, *end = p + event.n;
	/*
	 * Id, offset and duration stand first; an event without room for a stat behind them has
	 * none.
	 */
	while (p < end && (*p & 0x87) == 0) {
		const uint8_t *value = p + 1;
		if (!ss_pb_skip(&value, end)) {
			while (value < end && *value >= 0x80)
				value++;
			value++;
		}
		p = value;
	}
	/*
	 * `<tag> <length> 08 <id>`: anything written otherwise, ids of two bytes included, may be
	 * what is looked for.
	 */
	while (end - p >= 4) {
		uint8_t n = ss_pb_once(p + 1), id = ss_pb_once(p + 3);
		if (p[0] != PB_LEN(XEVENT_STATS) || n >= 0x80 || p[2] != PB_VAR(XSTAT_METADATA_ID) || id >= 0x80)
			return true;
		if (f->ids[id / 64] >> (id % 64) & 1)
			return true;
		p += 2 + n;
	}
	return p != end;
}
