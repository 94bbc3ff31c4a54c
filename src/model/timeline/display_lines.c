/* display_lines.c - copies of a host's planes, and lines derived onto them. */
#include "model/timeline/display_lines.h"

#include "base/pool.h"
#include "model/preprocess/load.h"
#include "model/timeline/derived.h"

#include <stdlib.h>

struct display {
	struct ss_host *h;
	struct ss_plane *planes;
	struct ss_arena *arenas;	/* per plane: each is derived on a thread of its own */
	struct ss_arena arena;
};

/* A plane that may get lines: its own are copied, for their numbers may change. */
static bool copy_lines(struct ss_plane *p, struct ss_arena *arena)
{
	struct ss_line *lines = SS_NEW_N(arena, struct ss_line, p->nlines);
	if (lines && p->nlines)
		memcpy(lines, p->lines, p->nlines * sizeof(*lines));
	p->lines = lines;
	return lines;
}

static bool derive_plane(void *display, size_t i, struct ss_err *err)
{
	struct display *s = display;
	struct ss_plane *p = &s->planes[i];
	struct ss_arena *arena = &s->arenas[i];
	if (p->kind != SS_PLANE_TENSOR_CORE && p->kind != SS_PLANE_GPU)
		return true;
	if (!copy_lines(p, arena))
		return ss_fail_mem(err);
	return p->kind == SS_PLANE_GPU ? ss_derive_gpu(s->h, p, arena, err)
				       : ss_derive_tensor_core(s->h, p, arena, err);
}

static bool derive(struct display *s, struct ss_err *err)
{
	for (uint32_t i = 0; i < s->h->nplanes; i++)
		s->planes[i] = s->h->planes[i];
	if (s->h->preprocessed)
		return true;
	return ss_parallel(s->h->nplanes, 0, derive_plane, s, err) && ss_derive_launches(s->h, s->planes, &s->arena, err);
}

/* The columns of the host's own lines stay with it. */
static void release(void *data)
{
	struct display *s = data;
	for (uint32_t i = 0; s->planes && i < s->h->nplanes; i++)
		for (uint32_t k = s->h->planes[i].nlines; k < s->planes[i].nlines; k++)
			ss_line_free(&s->planes[i].lines[k]);
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
	s->planes = SS_NEW_N(&s->arena, struct ss_plane, h->nplanes);
	s->arenas = SS_NEW_N(&s->arena, struct ss_arena, h->nplanes);
	if (s->planes && s->arenas ? derive(s, err) : ss_fail_mem(err))
		return s;
	release(s);
	return NULL;
}

const struct ss_plane *ss_host_display_planes(struct ss_host *h, struct ss_err *err)
{
	const struct display *s = ss_part_get(&h->parts[SS_HOST_DISPLAY_LINES], build, release, h, err);
	return s ? s->planes : NULL;
}
