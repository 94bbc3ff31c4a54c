/* display_lines.c - a host's planes as they are shown, and lines derived onto them. */
#include "model/timeline/display_lines.h"

#include "base/pool.h"
#include "model/host/host.h"
#include "model/preprocess/load.h"
#include "model/timeline/derived.h"

#include <stdlib.h>

void ss_display_run(const struct ss_display_line *l, uint32_t i, bool leaps, struct ss_display_run *out)
{
	const struct ss_span_chunk *c = l->line ? NULL : &l->spans.chunks.v[i / SS_SPAN_CHUNK];
	uint32_t first = c ? i - i % SS_SPAN_CHUNK : 0, n = l->n - first;
	out->begin_ps = l->line ? l->line->ev.begin_ps : out->own_begin_ps;
	out->dur_ps = l->line ? l->line->ev.dur_ps : out->own_dur_ps;
	if (c && n > SS_SPAN_CHUNK)
		n = SS_SPAN_CHUNK;
	if (c && c->plain && !c->apart) {
		out->begin_ps = l->spans.of->begin_ps + (uint32_t)(c->base + first);
		out->dur_ps = l->spans.of->dur_ps + (uint32_t)(c->base + first);
	} else if (c && leaps) {
		first = i;
		n = 1;
	}
	for (uint32_t k = 0; out->begin_ps == out->own_begin_ps && k < n; k++) {
		struct ss_span_times t = ss_spans_times(&l->spans, first + k);
		out->own_begin_ps[k] = t.begin_ps;
		out->own_dur_ps[k] = t.dur_ps;
	}
	out->first = first;
	out->n = n;
}

struct display {
	struct ss_host *h;
	struct ss_display_plane *planes;
	struct ss_arena *arenas;	/* per plane, for what is derived: on a thread of its own */
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

static bool derive_plane(void *display, size_t i, struct ss_err *err)
{
	struct display *s = display;
	struct ss_display_plane *p = &s->planes[i];
	if (s->h->preprocessed)
		return true;
	if (p->base.kind == SS_PLANE_GPU)
		return ss_derive_gpu(s->h, p, &s->arenas[i], err);
	return p->base.kind != SS_PLANE_TENSOR_CORE || ss_derive_tensor_core(s->h, p, &s->arenas[i], err);
}

static bool derive(struct display *s, struct ss_err *err)
{
	for (uint32_t i = 0; i < s->h->nplanes; i++)
		if (!begin_plane(&s->planes[i], &s->h->planes[i], &s->arena))
			return ss_fail_mem(err);
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
