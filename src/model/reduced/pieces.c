/* pieces.c - see pieces.h. */
#include "model/reduced/pieces.h"

#include <stdlib.h>

static void add(struct ss_piece *p, const struct ss_item *item)
{
	uint64_t ps = item->end_ps > item->begin_ps ? (uint64_t)item->end_ps - (uint64_t)item->begin_ps : 0;
	p->ps += ps;
	if (!p->any || ps < p->min_ps)
		p->min_ps = ps;
	if (!p->any || ps > p->longest_ps) {
		p->longest_ps = ps;
		p->longest = item->number;
		p->is_comm = item->is_comm;
	}
	p->any = true;
}

static bool know_sums(struct ss_pieces *m)
{
	m->same = calloc(m->n, sizeof(*m->same));
	for (uint32_t i = (uint32_t)m->n; m->same && --i;) {
		uint32_t first = m->host[i].ps ? ss_u64map_get(&m->by_ps, m->host[i].ps) : SS_NONE;
		m->same[i] = first == SS_NONE ? i : first;
		if (m->host[i].ps && !ss_u64map_put(&m->by_ps, m->host[i].ps, i))
			return false;
	}
	/* The last one is followed by the first. */
	for (uint32_t i = 1; m->same && i < m->n; i++)
		if (m->same[i] == i && m->host[i].ps)
			m->same[i] = ss_u64map_get(&m->by_ps, m->host[i].ps);
	return m->same;
}

bool ss_pieces_init(struct ss_pieces *m, const struct ss_skeleton *s, bool writing)
{
	*m = (struct ss_pieces){ .s = s, .n = 2 * s->ops.n + 1 };
	m->host = calloc(m->n, sizeof(*m->host));
	m->device = calloc(m->n, sizeof(*m->device));
	m->category = calloc(m->n, sizeof(*m->category));
	m->open = calloc(s->ops.n + 1, 1);
	if (!m->host || !m->device || !m->category || !m->open)
		return false;
	for (size_t i = 0; i < s->devices.n; i++) {
		struct ss_items it = ss_items_of(m, i);
		struct ss_item item;
		while (ss_items_next(&it, &item))
			add(&m->host[item.piece], &item);
	}
	return !writing || know_sums(m);
}

void ss_pieces_free(struct ss_pieces *m)
{
	free(m->host);
	free(m->device);
	free(m->category);
	free(m->open);
	free(m->same);
	ss_u64map_free(&m->by_ps);
	ss_vec_free(&m->of_text);
	ss_vec_free(&m->of_op);
}

uint32_t ss_pieces_find(struct ss_pieces *m, uint64_t ps)
{
	uint32_t piece = ps ? ss_u64map_get(&m->by_ps, ps) : SS_NONE;
	if (piece == SS_NONE)
		return 0;
	if (m->same[piece] != piece)
		ss_u64map_put(&m->by_ps, ps, m->same[piece]); /* it is there: no memory is needed */
	return piece;
}

bool ss_pieces_name(struct ss_pieces *m, uint64_t text, uint32_t piece)
{
	while (m->of_text.n <= text)
		if (!ss_vec_push(&m->of_text, 0))
			return false;
	if (!m->of_text.v[text])
		m->of_text.v[text] = piece;
	return true;
}

uint32_t ss_pieces_named(const struct ss_pieces *m, uint64_t text)
{
	return text < m->of_text.n ? m->of_text.v[text] : 0;
}

/* ---- executions ---- */

struct ss_items ss_items_of(struct ss_pieces *m, size_t device)
{
	memset(m->open, 0, m->s->ops.n + 1);
	return (struct ss_items){ .pieces = m, .d = device < m->s->devices.n ? &m->s->devices.v[device] : NULL };
}

/* Starts and dones of an operation take turns. */
static uint32_t piece_of(const struct ss_pieces *m, uint32_t op)
{
	bool done = m->s->ops.v[op].cls == SS_SPAN_COMM && m->open[op];
	m->open[op] = !done;
	return 2 * op + 1 + done;
}

bool ss_items_next(struct ss_items *it, struct ss_item *item)
{
	const struct ss_skel_device *d = it->d;
	/* Asynchronous ones are among the spans, as start and done. */
	while (d && it->comm < d->comms.n && d->comms.v[it->comm].async)
		it->comm++;
	bool comm = d && it->comm < d->comms.n, span = d && it->span < d->spans.n;
	if (!comm && !span)
		return false;
	if (!span || (comm && d->comms.v[it->comm].begin_ps < d->spans.v[it->span].begin_ps)) {
		const struct ss_skel_comm *c = &d->comms.v[it->comm];
		*item = (struct ss_item){ c->begin_ps, c->end_ps, it->comm++, piece_of(it->pieces, c->op), true };
	} else {
		const struct ss_skel_span *s = &d->spans.v[it->span];
		*item = (struct ss_item){ s->begin_ps, s->end_ps, it->span++, piece_of(it->pieces, s->op), false };
	}
	return true;
}

/* ---- time by class ---- */

/* What a moment belongs to, the first that runs: as in attribution.h. */
static const enum ss_time_class order[] = { SS_TIME_COMPUTE, SS_TIME_COLLECTIVE, SS_TIME_COPY, SS_TIME_INPUT };

static unsigned place_in_order(enum ss_span_class c)
{
	return c == SS_SPAN_COMPUTE ? 0 : c == SS_SPAN_COMM || c == SS_SPAN_COLLECTIVE ? 1 : c == SS_SPAN_COPY ? 2 : 3;
}

struct sweep {
	const struct ss_windows *w;
	struct ss_unit_step *steps;
	size_t at;			/* window */
	int64_t now_ps, until_ps[SS_COUNT(order)];
};

/* The time of a class from now until `to`, cut at windows. */
static void claim(struct sweep *s, enum ss_time_class c, int64_t to_ps)
{
	while (s->now_ps < to_ps && s->at < s->w->n) {
		const struct ss_window *w = &s->w->v[s->at];
		int64_t from = s->now_ps > w->begin_ps ? s->now_ps : w->begin_ps, to = to_ps < w->end_ps ? to_ps : w->end_ps;
		if (to > from)
			s->steps[s->at].ps[c] += (uint64_t)to - (uint64_t)from;
		if (to_ps < w->end_ps)
			break;
		s->at++;
	}
	s->now_ps = to_ps;
}

static void advance(struct sweep *s, int64_t to_ps)
{
	for (unsigned i = 0; i < SS_COUNT(order) && s->now_ps < to_ps; i++) {
		int64_t end = s->until_ps[i] < to_ps ? s->until_ps[i] : to_ps;
		if (end > s->now_ps)
			claim(s, order[i], end);
	}
	if (s->now_ps < to_ps)
		s->now_ps = to_ps;
}

/* The window that a moment is in, which comes at or behind `*at`; NULL. */
static const struct ss_window *window_at(const struct ss_windows *w, size_t *at, int64_t t_ps)
{
	while (*at < w->n && w->v[*at].end_ps <= t_ps)
		++*at;
	return *at < w->n && w->v[*at].begin_ps <= t_ps ? &w->v[*at] : NULL;
}

void ss_pieces_device(struct ss_pieces *m, size_t device, const struct ss_windows *w, struct ss_unit_step *steps)
{
	static const struct ss_windows none;
	struct sweep s = { .w = steps ? w : &none, .steps = steps, .now_ps = INT64_MIN };
	struct ss_items it = ss_items_of(m, device);
	struct ss_item item;
	size_t at = 0;
	memset(m->device, 0, m->n * sizeof(*m->device));
	for (size_t i = 0; i < SS_COUNT(order); i++)
		s.until_ps[i] = INT64_MIN;
	while (ss_items_next(&it, &item)) {
		int64_t *until = &s.until_ps[place_in_order(m->s->ops.v[(item.piece - 1) / 2].cls)];
		const struct ss_window *in = window_at(w, &at, item.begin_ps);
		if (in && !in->outlier)
			add(&m->device[item.piece], &item);
		advance(&s, item.begin_ps);
		*until = item.end_ps > *until ? item.end_ps : *until;
	}
	advance(&s, INT64_MAX);
}
