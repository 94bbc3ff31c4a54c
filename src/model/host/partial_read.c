/* partial_read.c - see partial_read.h. */
#include "model/host/partial_read.h"

#include "base/vec.h"
#include "model/host/host.h"
#include "model/host/identity.h"
#include "model/host/read_lines.h"

#include <stdlib.h>

struct ss_partial {
	struct ss_plane *planes; /* first: what the getter returns stands here */
	uint32_t nplanes;
	struct ss_arena arena;
};

/* A partial read while it is made. */
struct making {
	struct ss_host *h;
	const struct ss_partial_read *what;
	struct ss_partial *e;
	SS_VEC(struct ss_line_read) reads;
	SS_VEC(uint8_t *) wanted; /* of planes, one after another */
	uint64_t ndropped, nclipped;
};

/* A line without a name may have it behind its events: it is read first and judged then. */
static bool may_be_asked_for(const struct making *m, const struct ss_xline *l)
{
	return !m->what->line || m->what->line(l->name) || (!l->name.n && l->events);
}

/* Marks the names that are asked for; *any: there are some. False when memory is out. */
static bool mark_names(struct making *m, const struct ss_plane *p, uint8_t **marks, bool *any)
{
	*marks = NULL;
	*any = true;
	if (!m->what->event)
		return true;
	uint8_t *v = calloc((size_t)p->x->nevent_meta + 1, 1);
	if (!v || !ss_vec_push(&m->wanted, v)) {
		free(v);
		return false;
	}
	*any = false;
	for (uint32_t i = 0; i < p->x->nevent_meta; i++) {
		v[i] = m->what->event(p, i);
		*any |= v[i];
	}
	*marks = v;
	return true;
}

/* What a loaded host has need not be read once more. */
static const struct ss_line *there(const struct making *m, uint32_t line, const uint8_t *marks)
{
	const struct ss_line *l = marks ? NULL : ss_line_as_read(m->h, m->e->nplanes, line);
	return l && (l->ev.sorted || !m->what->in_time) ? l : NULL;
}

static bool list_lines(struct making *m, struct ss_plane *p)
{
	struct ss_arena *a = &m->e->arena;
	uint8_t *marks;
	uint32_t n = 0;
	bool any;
	p->lines = NULL;
	p->nlines = 0;
	if (m->what->plane && !m->what->plane(p))
		return true;
	if (!mark_names(m, p, &marks, &any))
		return false;
	for (uint32_t i = 0; any && i < p->x->nlines; i++)
		n += may_be_asked_for(m, &p->x->lines[i]);
	struct ss_line *lines = SS_NEW_N(a, struct ss_line, n);
	struct ss_xline *src = SS_NEW_N(a, struct ss_xline, n);
	if (!lines || !src)
		return false;
	p->lines = lines;
	for (uint32_t i = 0; p->nlines < n && i < p->x->nlines; i++) {
		if (!may_be_asked_for(m, &p->x->lines[i]))
			continue;
		struct ss_line *l = &lines[p->nlines++];
		const struct ss_line *loaded = there(m, i, marks);
		if (loaded) {
			*l = ss_line_borrow(loaded);
			continue;
		}
		src[p->nlines - 1] = p->x->lines[i];
		l->src = &src[p->nlines - 1];
		if (!ss_vec_push(&m->reads, ((struct ss_line_read){ p, l, marks })))
			return false;
	}
	return true;
}

/* What ss_xevents.stat_ids shows where the stat may be: one of these bits. */
static uint64_t bits_of(const struct ss_plane *p, enum ss_stat stat)
{
	const struct ss_xplane *x = p->x;
	struct ss_xstat s;
	uint64_t bits = 0;
	if (stat == SS_STAT_OTHER)
		return UINT64_MAX;
	for (uint32_t i = 0; i < x->nstat_meta; i++)
		if (x->stat_meta[i].stat == stat)
			bits |= ss_stat_id_bit((uint64_t)x->stat_meta[i].id);
	for (uint32_t i = 0; bits && i < x->nevent_meta; i++)
		if (ss_xstats_find(ss_xevent_meta_stats(x, i), stat, &s))
			return UINT64_MAX;
	return bits;
}

static bool is_asked_for(const struct making *m, const struct ss_line *l, uint64_t bits)
{
	return (!m->what->line || m->what->line(l->name)) && (bits == UINT64_MAX || (l->ev.stat_ids & bits));
}

/*
 * Let go of lines of which only reading showed that they are not asked for; put the others in
 * order.
 */
static bool finish_lines(struct making *m, struct ss_plane *p)
{
	uint32_t kept = 0;
	uint64_t bits = bits_of(p, m->what->stat);
	for (uint32_t i = 0; i < p->nlines; i++) {
		struct ss_line *l = &p->lines[i];
		uint32_t *from = NULL;
		m->ndropped += l->ev.dropped;
		m->nclipped += l->ev.clipped;
		if (!is_asked_for(m, l, bits)) {
			ss_line_free(l);
			continue;
		}
		if (m->what->in_time && !l->ev.sorted && !ss_xevents_sort(&l->ev, &from))
			return false;
		free(from);
		if (kept != i) {
			p->lines[kept] = *l;
			*l = (struct ss_line){ .src = l->src };
		}
		kept++;
	}
	p->nlines = kept;
	return true;
}

static bool make(struct making *m, struct ss_err *err)
{
	struct ss_partial *e = m->e;
	e->planes = SS_NEW_N(&e->arena, struct ss_plane, m->h->nplanes);
	bool ok = e->planes;
	for (; ok && e->nplanes < m->h->nplanes; e->nplanes++) {
		const struct ss_plane *p = &m->h->planes[e->nplanes];
		e->planes[e->nplanes] = (struct ss_plane){ .x = p->x, .name = p->name, .kind = p->kind, .id = p->id };
		ok = list_lines(m, &e->planes[e->nplanes]);
	}
	if (!ok)
		return ss_fail_mem(err);
	if (!ss_read_lines(m->h, m->reads.v, m->reads.n, err))
		return false;
	for (uint32_t i = 0; ok && i < e->nplanes; i++)
		ok = finish_lines(m, &e->planes[i]);
	ss_host_note_losses(m->h, m->ndropped, m->nclipped);
	return ok || ss_fail_mem(err);
}

void ss_partial_forget(struct ss_partial *p, uint32_t plane)
{
	for (uint32_t k = 0; k < p->planes[plane].nlines; k++)
		ss_line_free(&p->planes[plane].lines[k]);
	p->planes[plane].nlines = 0;
}

void ss_partial_free(struct ss_partial *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->nplanes; i++)
		ss_partial_forget(p, i);
	ss_arena_release(&p->arena);
	free(p);
}

static void release(void *data)
{
	ss_partial_free(data);
}

struct question {
	struct ss_host *h;
	const struct ss_partial_read *what;
};

static bool is_open(const struct ss_host *h, struct ss_err *err)
{
	return !ss_host_is_described(h) || ss_fail(err, SS_EINVAL, "host '" SS_FMT "' is not open", SS_ARG(h->name));
}

struct ss_partial *ss_host_read_once(struct ss_host *h, const struct ss_partial_read *what, struct ss_err *err)
{
	if (!is_open(h, err))
		return NULL;
	struct making m = { .h = h, .what = what, .e = calloc(1, sizeof(*m.e)) };
	bool ok = m.e ? make(&m, err) : ss_fail_mem(err);
	for (size_t i = 0; i < m.wanted.n; i++)
		free(m.wanted.v[i]);
	ss_vec_free(&m.wanted);
	ss_vec_free(&m.reads);
	if (ok)
		return m.e;
	ss_partial_free(m.e);
	return NULL;
}

const struct ss_plane *ss_partial_planes(const struct ss_partial *p)
{
	return p->planes;
}

static void *build(void *question, struct ss_err *err)
{
	const struct question *q = question;
	return ss_host_read_once(q->h, q->what, err);
}

const struct ss_plane *ss_host_read_partially(struct ss_host *h, enum ss_host_part part, const struct ss_partial_read *what,
				       struct ss_err *err)
{
	if (!is_open(h, err))
		return NULL;
	struct question q = { h, what };
	const struct ss_partial *e = ss_part_get(&h->parts[part], build, release, &q, err);
	return e ? e->planes : NULL;
}
