/* preprocess.c - names that it adds, and room for groups. */
#include "model/preprocess/preprocess.h"
#include "model/host/plane.h"

#include "model/host/host.h"

#include <stdlib.h>

/* The arena keeps outgrown copies: doubling bounds them to the size of the last. */
uint32_t ss_plane_add_synthetic_name(struct ss_arena *arena, struct ss_plane *p, struct ss_str name, struct ss_str display_name)
{
	if ((p->nsynthetic & (p->nsynthetic - 1)) == 0) {
		struct ss_synthetic_name *synthetic = SS_NEW_N(arena, struct ss_synthetic_name, (size_t)p->nsynthetic * 2 + 1);
		if (!synthetic)
			return SS_NONE;
		if (p->nsynthetic)
			memcpy(synthetic, p->synthetic, p->nsynthetic * sizeof(*synthetic));
		p->synthetic = synthetic;
	}
	if (p->nsynthetic >= SS_NONE - 1 - p->x->nevent_meta)
		return SS_NONE;
	p->synthetic[p->nsynthetic] = (struct ss_synthetic_name){ name, display_name };
	return p->x->nevent_meta + p->nsynthetic++;
}

static uint32_t count_runs(const struct ss_line *l)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->ev.n; i++)
		n += i == 0 || l->group[i] != l->group[i - 1];
	return n;
}

/* If memory is out, nothing changes. */
static void pack_groups(struct ss_line *l)
{
	uint32_t n = count_runs(l);
	struct ss_group_run *runs = n && n <= ss_line_max_runs(l) ? malloc(n * sizeof(*runs)) : NULL;
	if (!runs)
		return;
	for (uint32_t i = 0; i < l->ev.n; i++)
		if (i == 0 || l->group[i] != l->group[i - 1])
			runs[l->nruns++] = (struct ss_group_run){ i, l->group[i] };
	free(l->group);
	l->group = NULL;
	l->runs = runs;
}

void ss_preprocess_pack_groups(struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		for (uint32_t j = 0; j < h->planes[i].nlines; j++)
			if (h->planes[i].lines[j].group)
				pack_groups(&h->planes[i].lines[j]);
}
