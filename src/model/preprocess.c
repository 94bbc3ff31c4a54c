/* preprocess.c - whether a file needs preprocessing at all, and names that it adds. */
#include "model/preprocess.h"

bool ss_host_came_grouped(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++) {
		const struct ss_plane *p = &h->planes[i];
		if ((ss_plane_is_host(p) || ss_plane_is_device(p)) && !ss_xplane_has(p->x, SS_STAT_GROUP_ID))
			return false;
	}
	return true;
}

/* The arena keeps outgrown copies: doubling bounds them to the size of the last. */
uint32_t ss_plane_make_name(struct ss_arena *arena, struct ss_plane *p, struct ss_str name, struct ss_str display_name)
{
	if ((p->nmade & (p->nmade - 1)) == 0) {
		struct ss_made_name *made = SS_NEW_N(arena, struct ss_made_name, (size_t)p->nmade * 2 + 1);
		if (!made)
			return SS_NONE;
		if (p->nmade)
			memcpy(made, p->made, p->nmade * sizeof(*made));
		p->made = made;
	}
	if (p->nmade >= SS_NONE - 1 - p->x->nevent_meta)
		return SS_NONE;
	p->made[p->nmade] = (struct ss_made_name){ name, display_name };
	return p->x->nevent_meta + p->nmade++;
}
