/* known.c - see known.h. */
#include "model/reduced/known.h"

#include "base/bisect.h"

/*
 * How far is looked for: operations that last until others have begun, and those that are no
 * meetings.
 */
#define MOST_BACK 64
#define MOST_STEPS 24

struct ss_known ss_known_device(const struct ss_skeleton *s, size_t device)
{
	bool any = s && device < s->devices.n;
	return (struct ss_known){ .s = s, .d = any ? &s->devices.v[device] : NULL };
}

/* ---- when ---- */

enum { AT_SPAN_BEGIN, AT_SPAN_END, AT_COMM_BEGIN, AT_COMM_END, AT_COUNT };

static uint64_t *last_of(struct ss_known *k, uint64_t at)
{
	return at <= AT_SPAN_END ? &k->span : &k->comm;
}

static bool time_at(const struct ss_known *k, uint64_t at, uint64_t i, int64_t *t_ps)
{
	const struct ss_skel_device *d = k->d;
	if (!d || i >= (at <= AT_SPAN_END ? d->spans.n : d->comms.n))
		return false;
	*t_ps = at == AT_SPAN_BEGIN ? d->spans.v[i].begin_ps : at == AT_SPAN_END ? d->spans.v[i].end_ps :
		at == AT_COMM_BEGIN ? d->comms.v[i].begin_ps : d->comms.v[i].end_ps;
	return true;
}

/* Behind the last one that begins before the moment, or at it. */
static size_t behind(const struct ss_skel_device *d, bool spans, int64_t t_ps)
{
	size_t lo = 0, hi = spans ? d->spans.n : d->comms.n;
	SS_BISECT(lo, hi, mid, (spans ? d->spans.v[mid].begin_ps : d->comms.v[mid].begin_ps) <= t_ps);
	return lo;
}

static bool find(const struct ss_known *k, int64_t t_ps, uint64_t *at, uint64_t *i)
{
	for (*at = 0; k->d && *at < AT_COUNT; ++*at) {
		size_t n = behind(k->d, *at <= AT_SPAN_END, t_ps), first = n > MOST_BACK ? n - MOST_BACK : 0;
		int64_t found;
		for (size_t c = n; c-- > first;)
			if (time_at(k, *at, c, &found) && found == t_ps) {
				*i = c;
				return true;
			}
	}
	return false;
}

/* 0 and the number; else from 1 which end of what, and how far it stands from the last one. */
void ss_pack_known_time(struct ss_pack *p, struct ss_known *k, int64_t *t_ps, int64_t guess)
{
	uint64_t at = 0, i = 0, code = 0;
	if (!p->reading && *t_ps != guess && find(k, *t_ps, &at, &i))
		code = (ss_pack_zigzag(i - *last_of(k, at)) * AT_COUNT + at) + 1;
	PACK_U(p, code);
	if (!code) {
		PACK_NEAR(p, *t_ps, guess);
		return;
	}
	at = (code - 1) % AT_COUNT;
	if (p->reading) {
		i = *last_of(k, at) + ss_pack_unzigzag((code - 1) / AT_COUNT);
		p->bad |= !time_at(k, at, i, t_ps);
	}
	*last_of(k, at) = i;
}

/* ---- how long ---- */

static uint64_t between_ps(int64_t begin_ps, int64_t end_ps)
{
	return (uint64_t)end_ps - (uint64_t)begin_ps;
}

static bool communicates(const struct ss_known *k, uint64_t span)
{
	return k->s->ops.v[k->d->spans.v[span].op].cls == SS_SPAN_COMM;
}

/* The n-th span from here on that communicates; its number, or that of the end of the list. */
static uint64_t nth_span(const struct ss_known *k, uint64_t from, uint64_t n)
{
	for (; from < k->d->spans.n; from++)
		if (communicates(k, from) && !n--)
			break;
	return from;
}

/* How many are passed over, doubled; and 1 for one of the list of collectives. */
static bool find_stay(const struct ss_known *k, uint64_t dur_ps, uint64_t *code)
{
	const struct ss_skel_device *d = k->d;
	for (uint64_t n = 0; d && n < MOST_STEPS && k->next_comm + n < d->comms.n; n++) {
		const struct ss_skel_comm *c = &d->comms.v[k->next_comm + n];
		if (between_ps(c->begin_ps, c->end_ps) == dur_ps) {
			*code = 2 * n + 1;
			return true;
		}
	}
	uint64_t at = d ? nth_span(k, k->next_span, 0) : 0;
	for (uint64_t n = 0; d && n < MOST_STEPS && at < d->spans.n; n++, at = nth_span(k, at + 1, 0))
		if (between_ps(d->spans.v[at].begin_ps, d->spans.v[at].end_ps) == dur_ps) {
			*code = 2 * n;
			return true;
		}
	return false;
}

static bool take_stay(struct ss_known *k, uint64_t code, uint64_t *dur_ps)
{
	const struct ss_skel_device *d = k->d;
	uint64_t n = code / 2;
	if (!d || n >= MOST_STEPS)
		return false;
	if (code % 2) {
		uint64_t at = k->next_comm + n;
		if (at >= d->comms.n)
			return false;
		*dur_ps = between_ps(d->comms.v[at].begin_ps, d->comms.v[at].end_ps);
		k->next_comm = at + 1;
		return true;
	}
	uint64_t at = nth_span(k, k->next_span, n);
	if (at >= d->spans.n)
		return false;
	*dur_ps = between_ps(d->spans.v[at].begin_ps, d->spans.v[at].end_ps);
	k->next_span = at + 1;
	return true;
}

void ss_pack_known_stay(struct ss_pack *p, struct ss_known *k, uint64_t *dur_ps)
{
	uint64_t found = 0, code = 0;
	if (!p->reading && find_stay(k, *dur_ps, &found))
		code = found + 1;
	PACK_U(p, code);
	if (!code)
		PACK_U(p, *dur_ps);
	else
		p->bad |= !take_stay(k, code - 1, dur_ps);
}
