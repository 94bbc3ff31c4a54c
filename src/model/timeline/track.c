/* track.c - see trace.h: one track. */
#include "model/timeline/trace.h"

#include "base/bisect.h"
#include "model/timeline/display_lines.h"
#include "model/timeline/trace_level.h"

struct ss_str ss_track_own_name(const struct ss_track *t, uint32_t pos)
{
	uint32_t lo = 0, hi = t->nnames;
	SS_BISECT(lo, hi, mid, t->names[mid].pos < pos);
	if (lo < t->nnames && t->names[lo].pos == pos)
		return t->names[lo].name;
	return (struct ss_str){ NULL, 0 };
}

struct ss_str ss_track_event_name(const struct ss_track *t, uint32_t pos)
{
	struct ss_str name = ss_track_own_name(t, pos);
	return name.p ? name : ss_event_label(t->plane, ss_display_meta(t->line, ss_track_event(t, pos)));
}

const struct ss_track_flow *ss_track_flow(const struct ss_track *t, uint32_t pos)
{
	uint32_t lo = 0, hi = t->nflows;
	SS_BISECT(lo, hi, mid, t->flows[mid].pos < pos);
	return lo < t->nflows && t->flows[lo].pos == pos ? &t->flows[lo] : NULL;
}
