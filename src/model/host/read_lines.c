/* read_lines.c - see read_lines.h. */
#include "model/host/read_lines.h"
#include "model/host/derived_line.h"

#include "base/pool.h"
#include "model/host/host.h"
#include "model/host/plane.h"

#include <stdlib.h>

struct reading {
	struct ss_host *h;
	struct ss_line_read *reads;
};

/* Longest lines first, so that threads end together. */
static int longer_first(const void *a, const void *b)
{
	const struct ss_xline *la = ((const struct ss_line_read *)a)->line->src, *lb = ((const struct ss_line_read *)b)->line->src;
	/* The file's order among equals: lines stand in it one after the other. */
	return SS_CMP(lb->body.n, la->body.n) ?: SS_CMP(la->body.p, lb->body.p);
}

/* The facts of a line before its events are read; some may be more exact afterwards. */
static void line_take_header(struct ss_line *l)
{
	l->id = l->src->id;
	l->display_id = l->src->display_id;
	l->name = l->src->name;
	l->display_name = l->src->display_name;
	l->derived = ss_line_id_is_derived(l->id);
}

static bool read_line(void *arg, size_t i, struct ss_err *err)
{
	struct reading *r = arg;
	struct ss_line_read *job = &r->reads[i];
	struct ss_line *l = job->line;
	if (!ss_xevents_load_some(&l->ev, &r->h->x, job->plane->x, l->src, job->wanted, err))
		return false;
	line_take_header(l);
	return true;
}

const struct ss_line *ss_line_as_read(struct ss_host *h, uint32_t plane, uint32_t line)
{
	if (plane >= h->nplanes || !ss_part_is_built(&h->parts[SS_HOST_EVENTS]) || line >= h->planes[plane].nlines)
		return NULL;
	const struct ss_line *l = &h->planes[plane].lines[line];
	return l->src && l->src->events == h->planes[plane].x->lines[line].events && l->ev.base && !l->ev.rebuilt ? l : NULL;
}

struct ss_line ss_line_borrow(const struct ss_line *l)
{
	struct ss_line own = { .src = l->src, .ev = l->ev, .borrowed = true };
	line_take_header(&own);
	return own;
}

bool ss_read_lines(struct ss_host *h, struct ss_line_read *reads, size_t n, struct ss_err *err)
{
	struct reading r = { h, reads };
	if (n)
		qsort(reads, n, sizeof(*reads), longer_first);
	return ss_parallel(n, h->threads, read_line, &r, err);
}
