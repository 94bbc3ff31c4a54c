/* plane_sums.c - see plane_sums.h. */
#include "model/timeline/plane_sums.h"

#include "model/host/host.h"
#include "model/timeline/display_lines.h"

#include <stdlib.h>

static void add_line(struct ss_plane_sum *s, const struct ss_display_line *l)
{
	s->events += l->n;
	s->dropped += l->line ? l->line->ev.dropped : 0;
	for (uint32_t k = 0; k < l->n; k++)
		s->busy_ps += ss_display_dur_ps(l, k);
}

static void *build(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	const struct ss_display_plane *planes = ss_host_display_planes(h, err);
	struct ss_plane_sum *v = planes ? calloc((size_t)h->nplanes + 1, sizeof(*v)) : NULL;
	if (planes && !v)
		ss_fail_mem(err);
	for (uint32_t i = 0; v && i < h->nplanes; i++) {
		v[i].lines = planes[i].nlines;
		for (uint32_t k = 0; k < planes[i].nlines; k++)
			add_line(&v[i], &planes[i].lines[k]);
	}
	return v;
}

const struct ss_plane_sum *ss_host_plane_sums(struct ss_host *h, struct ss_err *err)
{
	return ss_part_get(&h->parts[SS_HOST_PLANE_SUMS], build, free, h, err);
}
