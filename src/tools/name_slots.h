/*
 * name_slots.h - one number for each name of a plane's events, so that a walk over events looks a name up once.
 */
#ifndef SS_TOOLS_NAME_SLOTS_H
#define SS_TOOLS_NAME_SLOTS_H

#include "model/timeline/trace.h"

struct ss_name_slots {
	uint32_t *v; /* by event metadata, SS_NONE before first use; the last is of events whose metadata is not defined */
	const struct ss_plane *plane;
};

/* Slots for the events of this plane, all SS_NONE unless it was the plane before. False: memory is out. */
bool ss_name_slots_use(struct ss_name_slots *s, const struct ss_plane *p);

/* The slot of an event; NULL: the slots are of another plane, or the track names each of its events. */
static inline uint32_t *ss_name_slot(const struct ss_name_slots *s, const struct ss_track *t, uint32_t pos)
{
	if (t->nnames || s->plane != t->plane)
		return NULL;
	uint32_t meta = ss_display_meta(t->line, ss_track_event(t, pos));
	return &s->v[meta == SS_NONE ? (size_t)t->plane->x->nevent_meta + t->plane->nsynthetic : meta];
}

#endif
