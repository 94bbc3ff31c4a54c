/* time_walk.c - merging the lines of a plane by a heap of the next event of each. */
#include "model/host/time_walk.h"

#include "base/apart.h"
#include "model/host/plane.h"

#include <stdlib.h>

/* Beyond this many events ties are left in the order of the lines. */
#define MAX_SORTED ((size_t)4 << 20)

/* Are there events that begin together or out of order? */
static bool needs_order(const struct ss_xevents *e)
{
	for (uint32_t i = 1; i < e->n; i++)
		if (e->begin_ps[i] <= e->begin_ps[i - 1])
			return true;
	return false;
}

uint32_t *ss_time_order(const struct ss_xevents *e, bool *ok)
{
	*ok = true;
	if (!needs_order(e))
		return NULL;
	struct ss_moment *all = malloc(((size_t)e->n + 1) * sizeof(*all));
	uint32_t *order = malloc(((size_t)e->n + 1) * sizeof(*order));
	*ok = all && order;
	for (uint32_t i = 0; *ok && i < e->n; i++)
		all[i] = (struct ss_moment){ e->begin_ps[i], e->dur_ps[i], 0, i };
	if (*ok)
		ss_introsort(all, e->n);
	for (uint32_t i = 0; *ok && i < e->n; i++)
		order[i] = all[i].event;
	free(all);
	if (!*ok) {
		free(order);
		order = NULL;
	}
	return order;
}

static bool before(const struct ss_time_head *a, const struct ss_time_head *b)
{
	if (a->begin_ps != b->begin_ps)
		return a->begin_ps < b->begin_ps;
	if (a->dur_ps != b->dur_ps)
		return a->dur_ps < b->dur_ps;
	return a->line < b->line;
}

static void sift(struct ss_time_walk *w, uint32_t i)
{
	struct ss_time_head moved = w->heap[i];
	for (uint32_t child; (child = 2 * i + 1) < w->n; i = child) {
		if (child + 1 < w->n && before(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (!before(&w->heap[child], &moved))
			break;
		w->heap[i] = w->heap[child];
	}
	w->heap[i] = moved;
}

static uint32_t event_at(const struct ss_time_walk *w, const struct ss_time_head *h)
{
	return w->order[h->line] ? w->order[h->line][h->at] : h->at;
}

static void load_head(const struct ss_time_walk *w, struct ss_time_head *h)
{
	const struct ss_xevents *e = &w->p->lines[h->line].ev;
	uint32_t i = event_at(w, h);
	h->begin_ps = e->begin_ps[i];
	h->dur_ps = e->dur_ps[i];
}

static bool walks(const struct ss_time_walk *w, uint32_t line)
{
	return !w->p->lines[line].derived && !(w->skip && w->skip[line]);
}

static void fill_heap(struct ss_time_walk *w)
{
	w->n = 0;
	for (uint32_t i = 0; i < w->p->nlines; i++)
		if (walks(w, i) && w->p->lines[i].ev.n) {
			w->heap[w->n] = (struct ss_time_head){ .line = i };
			load_head(w, &w->heap[w->n++]);
		}
	for (uint32_t i = w->n / 2; i-- > 0;)
		sift(w, i);
}

static bool heap_next(struct ss_time_walk *w, struct ss_line **line, uint32_t *event)
{
	if (!w->n)
		return false;
	struct ss_time_head *top = &w->heap[0];
	*line = &w->p->lines[top->line];
	*event = event_at(w, top);
	if (w->n == 1) {
		w->n = ++top->at < (*line)->ev.n;
		return true;
	}
	if (++top->at < (*line)->ev.n)
		load_head(w, top);
	else
		*top = w->heap[--w->n];
	sift(w, 0);
	return true;
}

/* Walks all of it, unless there is but one line, in the order of the file. */
static bool has_links(struct ss_time_walk *w)
{
	struct ss_line *l, *last = NULL;
	uint32_t i, k = 0;
	if (w->n == 1 && !w->order[w->heap[0].line])
		return false;
	for (; heap_next(w, &l, &i); last = l, k = i)
		if (last && last->ev.begin_ps[k] == l->ev.begin_ps[i] && last->ev.dur_ps[k] == l->ev.dur_ps[i])
			return true;
	return false;
}

/* All events in the order of the file, sorted as XProf does it. */
static bool sort_all(struct ss_time_walk *w, size_t n)
{
	w->sorted = malloc((n + 1) * sizeof(*w->sorted));
	if (!w->sorted)
		return false;
	for (uint32_t j = 0; j < w->p->nlines; j++) {
		const struct ss_line *l = &w->p->lines[j];
		for (uint32_t i = 0; !l->derived && i < l->ev.n; i++)
			w->sorted[w->nsorted++] = (struct ss_moment){ l->ev.begin_ps[i], l->ev.dur_ps[i], j, i };
	}
	ss_introsort(w->sorted, w->nsorted);
	return true;
}

/*
 * A walk writes into its heap with each event, and another thread may do so in the next block of
 * memory.
 */
static struct ss_time_head *new_heap(const struct ss_plane *p)
{
	return malloc(((size_t)p->nlines + 1) * sizeof(struct ss_time_head) + SS_APART_BYTES);
}

bool ss_time_walk_init(struct ss_time_walk *w, struct ss_plane *p, const bool *skip)
{
	size_t n = 0;
	*w = (struct ss_time_walk){ .p = p, .skip = skip };
	w->order = calloc((size_t)p->nlines + 1, sizeof(*w->order));
	w->heap = new_heap(p);
	bool ok = w->order && w->heap;
	for (uint32_t i = 0; ok && i < p->nlines; i++) {
		n += p->lines[i].derived ? 0 : p->lines[i].ev.n;
		if (walks(w, i))
			w->order[i] = ss_time_order(&p->lines[i].ev, &ok);
	}
	if (!ok)
		return false;
	fill_heap(w);
	if (n <= MAX_SORTED && has_links(w))
		return sort_all(w, n);
	fill_heap(w);
	return true;
}

bool ss_time_walk_fork(struct ss_time_walk *w, const struct ss_time_walk *from)
{
	*w = *from;
	w->forked = true;
	w->heap = new_heap(from->p);
	if (w->heap)
		memcpy(w->heap, from->heap, from->n * sizeof(*w->heap));
	return w->heap;
}

bool ss_time_walk_next(struct ss_time_walk *w, struct ss_line **line, uint32_t *event)
{
	if (!w->sorted)
		return heap_next(w, line, event);
	while (w->at < w->nsorted) {
		const struct ss_moment *m = &w->sorted[w->at++];
		*line = &w->p->lines[m->line];
		*event = m->event;
		if (walks(w, m->line))
			return true;
	}
	return false;
}

bool ss_time_walk_run(struct ss_time_walk *w, struct ss_line **line, uint32_t *event, uint32_t *n)
{
	*n = 1;
	if (w->sorted || w->n != 1 || w->order[w->heap[0].line])
		return ss_time_walk_next(w, line, event);
	*line = &w->p->lines[w->heap[0].line];
	*event = w->heap[0].at;
	*n = (*line)->ev.n - *event;
	w->n = 0;
	return true;
}

void ss_time_walk_free(struct ss_time_walk *w)
{
	for (uint32_t i = 0; !w->forked && w->order && i < w->p->nlines; i++)
		free(w->order[i]);
	free(w->heap);
	if (!w->forked) {
		free(w->order);
		free(w->sorted);
	}
	*w = (struct ss_time_walk){ 0 };
}
