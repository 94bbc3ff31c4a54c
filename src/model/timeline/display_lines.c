/* display_lines.c - a host's planes as they are shown, and lines derived onto them. */
#include "model/timeline/display_lines.h"

#include "base/pool.h"
#include "model/preprocess/load.h"
#include "model/timeline/derived.h"

#include <stdlib.h>

struct display {
	struct ss_host *h;
	struct ss_display_plane *planes;
	struct ss_arena *arenas;	/* per plane: each is derived on a thread of its own */
	struct ss_arena arena;
};

static struct ss_display_line line_of_host(const struct ss_line *l)
{
	return (struct ss_display_line){ .id = l->id, .display_id = l->display_id, .name = l->name, .display_name = l->display_name,
					 .n = l->ev.n, .sorted = l->ev.sorted, .line = l };
}

static bool begin_plane(struct ss_display_plane *to, const struct ss_plane *p, struct ss_arena *arena)
{
	*to = (struct ss_display_plane){ .base = *p, .lines = SS_NEW_N(arena, struct ss_display_line, p->nlines) };
	for (uint32_t i = 0; to->lines && i < p->nlines; i++)
		to->lines[to->nlines++] = line_of_host(&p->lines[i]);
	return to->lines;
}

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

static bool derive_plane(void *display, size_t i, struct ss_err *err)
{
	struct display *s = display;
	struct ss_display_plane *p = &s->planes[i];
	if (!begin_plane(p, &s->h->planes[i], &s->arenas[i]))
		return ss_fail_mem(err);
	if (s->h->preprocessed)
		return true;
	if (p->base.kind == SS_PLANE_GPU)
		return ss_derive_gpu(s->h, p, &s->arenas[i], err);
	return p->base.kind != SS_PLANE_TENSOR_CORE || ss_derive_tensor_core(s->h, p, &s->arenas[i], err);
}

static bool derive(struct display *s, struct ss_err *err)
{
	return ss_parallel(s->h->nplanes, 0, derive_plane, s, err) &&
	       (s->h->preprocessed || ss_derive_launches(s->h, s->planes, &s->arena, err));
}

/* The columns of the host's own lines stay with it. */
static void release(void *data)
{
	struct display *s = data;
	for (uint32_t i = 0; s->planes && i < s->h->nplanes; i++)
		for (uint32_t k = s->h->planes[i].nlines; k < s->planes[i].nlines; k++) {
			ss_spans_free(&s->planes[i].lines[k].spans);
			free(s->planes[i].lines[k].added.v);
		}
	for (uint32_t i = 0; s->arenas && i < s->h->nplanes; i++)
		ss_arena_release(&s->arenas[i]);
	ss_arena_release(&s->arena);
	free(s);
}

static void *build(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	struct display *s = ss_host_load(h, err) ? calloc(1, sizeof(*s)) : NULL;
	if (!s) {
		ss_fail_mem(err);
		return NULL;
	}
	s->h = h;
	s->planes = SS_NEW_N(&s->arena, struct ss_display_plane, h->nplanes);
	s->arenas = SS_NEW_N(&s->arena, struct ss_arena, h->nplanes);
	if (s->planes && s->arenas ? derive(s, err) : ss_fail_mem(err))
		return s;
	release(s);
	return NULL;
}

const struct ss_display_plane *ss_host_display_planes(struct ss_host *h, struct ss_err *err)
{
	const struct display *s = ss_part_get(&h->parts[SS_HOST_DISPLAY_LINES], build, release, h, err);
	return s ? s->planes : NULL;
}
