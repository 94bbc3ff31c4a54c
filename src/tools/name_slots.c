/* name_slots.c - see name_slots.h. */
#include "tools/name_slots.h"

#include <stdlib.h>
#include <string.h>

bool ss_name_slots_use(struct ss_name_slots *s, const struct ss_plane *p)
{
	if (s->plane == p)
		return true;
	size_t n = (size_t)p->x->nevent_meta + p->nsynthetic + 1;
	free(s->v);
	s->v = malloc(n * sizeof(*s->v));
	s->plane = s->v ? p : NULL;
	if (s->v)
		memset(s->v, 0xff, n * sizeof(*s->v));
	return s->v;
}
