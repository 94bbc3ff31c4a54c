/* preprocess.c - whether a file needs preprocessing at all. */
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
