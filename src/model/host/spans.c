/* spans.c - packing spans of derived events. */
#include "model/host/spans.h"

#include "base/bisect.h"
#include "base/huge.h"

#include <stdlib.h>

/* A chunk that is being packed: its drafts, and what it will tell of them. */
struct packing {
	const struct ss_span_draft *d;
	uint32_t first, n;
	struct ss_span_chunk c;
	uint32_t field[SS_SPAN_FIELDS][SS_SPAN_CHUNK];
};

/* How many ns before the end of the event of the file that it ends with; false: it is not told so. */
static bool ns_less(const struct ss_xevents *of, const struct ss_span_draft *d, uint32_t *out)
{
	if (d->first == SS_NONE || d->last == SS_NONE || d->last < d->first || of->begin_ps[d->first] != d->begin_ps)
		return false;
	uint64_t less_ps = (uint64_t)ss_xevents_end_ps(of, d->last) - (uint64_t)d->end_ps;
	*out = 0;
	if (less_ps == 0)
		return true;
	*out = (uint32_t)(less_ps / SS_SPAN_PS_PER_NS);
	return less_ps == (uint64_t)*out * SS_SPAN_PS_PER_NS;
}

/* By events of the file, if all that are set can be told so. */
static bool tell_events(const struct ss_spans *s, struct packing *p)
{
	int64_t late[SS_SPAN_CHUNK], base = INT64_MAX, most = INT64_MIN;
	for (uint32_t k = 0; k < p->n; k++) {
		const struct ss_span_draft *d = &p->d[k];
		if (!d->set)
			continue;
		if (!ns_less(s->of, d, &p->field[SS_SPAN_LESS][k]))
			return false;
		late[k] = (int64_t)d->first - (int64_t)(p->first + k);
		base = late[k] < base ? late[k] : base;
		most = late[k] > most ? late[k] : most;
		p->field[SS_SPAN_END][k] = d->last - d->first;
	}
	if (most >= base && most - base > UINT32_MAX)
		return false;
	for (uint32_t k = 0; k < p->n && most > base; k++)
		p->field[SS_SPAN_BEGIN][k] = p->d[k].set ? (uint32_t)(late[k] - base) : 0;
	p->c.base = base;
	p->c.by_event = true;
	return true;
}

bool ss_spans_set_apart(struct ss_spans *s, uint32_t event, int64_t begin_ps, int64_t end_ps)
{
	return ss_vec_push(&s->apart, (struct ss_span_apart){ event, begin_ps, (uint64_t)end_ps - (uint64_t)begin_ps });
}

static bool tell_times(struct ss_spans *s, struct packing *p)
{
	int64_t base = INT64_MAX;
	for (uint32_t k = 0; k < p->n; k++)
		if (p->d[k].set && p->d[k].begin_ps < base)
			base = p->d[k].begin_ps;
	memset(p->field, 0, sizeof(p->field)); /* events may have been tried */
	for (uint32_t k = 0; k < p->n; k++) {
		const struct ss_span_draft *d = &p->d[k];
		if (!d->set)
			continue;
		uint64_t late_ps = (uint64_t)d->begin_ps - (uint64_t)base, dur_ps = (uint64_t)d->end_ps - (uint64_t)d->begin_ps;
		if (late_ps <= UINT32_MAX && dur_ps <= UINT32_MAX) {
			p->field[SS_SPAN_BEGIN][k] = (uint32_t)late_ps;
			p->field[SS_SPAN_END][k] = (uint32_t)dur_ps;
		} else {
			p->c.apart |= UINT64_C(1) << k;
			if (!ss_spans_set_apart(s, p->first + k, d->begin_ps, d->end_ps))
				return false;
		}
	}
	p->c.base = base;
	return true;
}

/* Names, and which events are still open: those are told apart once they are set. */
static void tell_rest(struct packing *p)
{
	uint64_t open = 0;
	uint32_t least = UINT32_MAX;
	for (uint32_t k = 0; k < p->n; k++) {
		open |= (uint64_t)!p->d[k].set << k;
		least = p->d[k].meta < least ? p->d[k].meta : least;
	}
	p->c.apart |= open;
	p->c.meta = least;
	for (uint32_t k = 0; k < p->n; k++)
		p->field[SS_SPAN_META][k] = p->d[k].meta - p->c.meta;
}

static void measure(struct packing *p)
{
	for (unsigned f = 0; f < SS_SPAN_FIELDS; f++) {
		uint32_t any = 0;
		for (uint32_t k = 0; k < SS_SPAN_CHUNK; k++)
			any |= p->field[f][k];
		p->c.width[f] = any ? (uint8_t)(32 - __builtin_clz(any)) : 0;
		p->c.bits = (uint8_t)(p->c.bits + p->c.width[f]);
	}
	p->c.plain = p->c.by_event && p->c.bits == p->c.width[SS_SPAN_META];
}

/* 64 events of so many bits each are as many words. */
static void write_bits(const struct packing *p, uint64_t *to)
{
	uint64_t word = 0;
	unsigned at = 0, from = p->c.plain ? SS_SPAN_META : 0;
	for (uint32_t k = 0; k < SS_SPAN_CHUNK; k++)
		for (unsigned f = from; f < SS_SPAN_FIELDS; f++) {
			uint64_t v = p->field[f][k];
			word |= v << at;
			at += p->c.width[f];
			if (at < 64)
				continue;
			*to++ = ss_le64(word);
			at -= 64;
			word = at ? v >> (p->c.width[f] - at) : 0;
		}
}

static bool reserve_words(struct ss_spans *s, size_t more)
{
	size_t cap = s->words.cap;
	if (!ss_vec_reserve(&s->words, s->words.n + more))
		return false;
	if (s->words.cap != cap)
		ss_huge_advise(s->words.v, s->words.cap * sizeof(*s->words.v));
	return true;
}

static bool pack(struct ss_spans *s)
{
	uint32_t left = s->n - s->packed;
	struct packing p = { .d = &s->draft[s->packed % SS_SPAN_DRAFTS], .first = s->packed,
			     .n = left < SS_SPAN_CHUNK ? left : SS_SPAN_CHUNK, .c.word = (uint32_t)s->words.n };
	if (!(s->of && tell_events(s, &p)) && !tell_times(s, &p))
		return false;
	tell_rest(&p);
	measure(&p);
	/* One word more: what is read may reach into it. */
	if (!ss_vec_push(&s->chunks, p.c) || !reserve_words(s, (size_t)p.c.bits + 1))
		return false;
	write_bits(&p, s->words.v + s->words.n);
	s->words.n += p.c.bits;
	s->words.v[s->words.n] = 0;
	s->packed += p.n;
	return true;
}

bool ss_spans_make_room(struct ss_spans *s)
{
	if (s->draft)
		return s->n <= UINT32_MAX / 2 && pack(s);
	s->draft = malloc(SS_SPAN_DRAFTS * sizeof(*s->draft));
	return s->draft;
}

bool ss_spans_begin_group(struct ss_spans *s, int32_t group)
{
	s->last_group = group;
	return ss_vec_push(&s->runs, (struct ss_group_run){ s->n, group });
}

static int by_event(const void *a, const void *b)
{
	const struct ss_span_apart *x = a, *y = b;
	return SS_CMP(x->event, y->event);
}

bool ss_spans_finish(struct ss_spans *s)
{
	while (s->packed < s->n)
		if (!pack(s))
			return false;
	free(s->draft);
	s->draft = NULL;
	if (s->apart.n)
		qsort(s->apart.v, s->apart.n, sizeof(*s->apart.v), by_event);
	return true;
}

void ss_spans_free(struct ss_spans *s)
{
	ss_vec_free(&s->chunks);
	ss_vec_free(&s->words);
	free(s->draft);
	ss_vec_free(&s->apart);
	ss_vec_free(&s->runs);
	*s = (struct ss_spans){ 0 };
}

struct ss_span_times ss_spans_apart(const struct ss_spans *s, uint32_t event)
{
	size_t lo = 1, hi = s->apart.n;
	SS_BISECT(lo, hi, mid, s->apart.v[mid].event <= event);
	const struct ss_span_apart *a = &s->apart.v[lo - 1];
	return (struct ss_span_times){ a->begin_ps, a->dur_ps };
}

size_t ss_runs_find(const struct ss_group_run *runs, size_t n, uint32_t event)
{
	size_t lo = 1, hi = n;
	SS_BISECT(lo, hi, mid, runs[mid].first <= event);
	return lo - 1;
}
