/* derived.c - see derived.h. */
#include "model/timeline/display_lines.h"

#include "model/timeline/derived.h"

bool ss_display_add_lines(struct ss_display_plane *p, struct ss_arena *arena, struct ss_derived *lines, size_t n)
{
	size_t filled = 0;
	for (size_t i = 0; i < n; i++)
		filled += lines[i].nest.spans.n > 0;
	if (!filled)
		return true;
	struct ss_display_line *all = SS_NEW_N(arena, struct ss_display_line, p->nlines + filled);
	if (!all)
		return false;
	if (p->nlines)
		memcpy(all, p->lines, p->nlines * sizeof(*all));
	p->lines = all;
	for (size_t i = 0; i < n; i++) {
		if (!lines[i].nest.spans.n)
			continue;
		struct ss_display_line *l = &all[p->nlines];
		*l = (struct ss_display_line){ .id = ss_derived_line_id(lines[i].id),
					       .display_id = lines[i].display_id, .name = lines[i].name,
					       .display_name = SS_STR("") };
		if (!ss_nest_to_spans(&lines[i].nest, &l->spans, &l->sorted))
			return false;
		l->n = l->spans.n;
		p->nlines++;
	}
	return true;
}
