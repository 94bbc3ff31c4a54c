/*
 * spans.h - the events of a derived line: about two bytes each, where columns take 24.
 *
 * There are as many derived events as ops, and several lines of them, so they would take more
 * memory than the profile itself. They are packed in chunks of 64, with as many bits for each event
 * as the events of its chunk differ by. Most begin and end with an event of one line of the file:
 * then a chunk holds the numbers of these events, and the times are in that line's columns. Other
 * chunks hold times. Events that stay open while several chunks are filled, or whose times do not
 * fit 32 bits of picoseconds (4.3 ms), are in a separate list. Groups are stored where they change.
 */
#ifndef SS_MODEL_HOST_SPANS_H
#define SS_MODEL_HOST_SPANS_H

#include "base/assert.h"
#include "base/le.h"
#include "base/vec.h"
#include "xspace/events.h"

#include <stdint.h>
#include <string.h>

#define SS_SPAN_CHUNK 64u
#define SS_SPAN_DRAFTS 128u	/* so many of the last events are not packed yet: whole chunks */
#define SS_SPAN_PS_PER_NS 1000

/* What a chunk tells of each event, by events of the file or by times. */
enum ss_span_field {
	SS_SPAN_BEGIN,	/* number of the one that it begins with, less its own and `base`; or ps after `base` */
	SS_SPAN_END,	/* how many behind that is the one that it ends with; or duration in ps */
	SS_SPAN_LESS,	/* so many ns before that one's end; or nothing */
	SS_SPAN_META,	/* name, less `meta` */
	SS_SPAN_FIELDS
};

struct ss_span_chunk {
	int64_t base;
	uint64_t apart;		/* a bit an event: its times are in the list `apart` */
	uint32_t word;		/* where its bits begin */
	uint32_t meta;		/* least */
	uint8_t width[SS_SPAN_FIELDS], bits; /* of each field, and of all */
	bool by_event;
	bool plain;		/* by event, each from one to the next and as long as that: only names have bits */
};

/* An event that is not packed yet. */
struct ss_span_draft {
	int64_t begin_ps, end_ps;
	uint32_t first, last;	/* events of the file that it begins and ends with; SS_NONE: not known */
	uint32_t meta;
	bool set;		/* its times are known */
};

struct ss_span_apart {
	uint32_t event;
	int64_t begin_ps;
	uint64_t dur_ps;
};

struct ss_group_run {
	uint32_t first;		/* event from which on the group is this one */
	int32_t group;
};

struct ss_spans {
	const struct ss_xevents *of;	/* of which `first` and `last` are told; they outlive the spans. NULL: none are */
	uint32_t n, packed;
	int32_t last_group;
	SS_VEC(struct ss_span_chunk) chunks;
	SS_VEC(uint64_t) words;		/* little-endian, so that bits count through; one more than are filled */
	struct ss_span_draft *draft;	/* SS_SPAN_DRAFTS, by number; NULL before the first and once all are set */
	SS_VEC(struct ss_span_apart) apart; /* by event, once all are set */
	SS_VEC(struct ss_group_run) runs; /* by event */
};

struct ss_span_times {
	int64_t begin_ps;
	uint64_t dur_ps;
};

/* Room for one more draft, half of what 32 bits can number at most; false when memory is out. */
bool ss_spans_make_room(struct ss_spans *s);
bool ss_spans_begin_group(struct ss_spans *s, int32_t group);
bool ss_spans_set_apart(struct ss_spans *s, uint32_t event, int64_t begin_ps, int64_t end_ps);
/* All are set. What room is left over is given back. False when memory is out. */
bool ss_spans_finish(struct ss_spans *s);
void ss_spans_free(struct ss_spans *s);

/* The run, of one or more, that an event is in. */
size_t ss_runs_find(const struct ss_group_run *runs, size_t n, uint32_t event);

/*
 * The group of the event. *at is the run of the event of the previous call, 0 at first: the next event
 * is mostly in this run or in the next one.
 */
static inline int32_t ss_runs_group_at(const struct ss_group_run *runs, size_t n, uint32_t event, size_t *at)
{
	ss_assert(n && runs[0].first <= event);
	for (unsigned tries = 0; tries < 2; tries++, ++*at)
		if (*at >= n || event < runs[*at].first)
			break;
		else if (*at + 1 == n || event < runs[*at + 1].first)
			return runs[*at].group;
	*at = ss_runs_find(runs, n, event);
	return runs[*at].group;
}

static inline int32_t ss_runs_group(const struct ss_group_run *runs, size_t n, uint32_t event)
{
	return runs[ss_runs_find(runs, n, event)].group;
}

/* One more, whose times are not known yet. False when memory is out. */
static inline bool ss_spans_add(struct ss_spans *s, uint32_t meta, int32_t group)
{
	if (((!s->draft || s->n - s->packed == SS_SPAN_DRAFTS) && !ss_spans_make_room(s)) ||
	    ((!s->n || s->last_group != group) && !ss_spans_begin_group(s, group)))
		return false;
	s->draft[s->n++ % SS_SPAN_DRAFTS] = (struct ss_span_draft){ .meta = meta };
	return true;
}

/*
 * To be called once for each event; `first` and `last` as in its draft. False when memory is out.
 */
static inline bool ss_spans_set(struct ss_spans *s, uint32_t event, int64_t begin_ps, int64_t end_ps, uint32_t first,
				uint32_t last)
{
	if (event < s->packed)
		return ss_spans_set_apart(s, event, begin_ps, end_ps);
	struct ss_span_draft *d = &s->draft[event % SS_SPAN_DRAFTS];
	d->begin_ps = begin_ps;
	d->end_ps = end_ps;
	d->first = first;
	d->last = last;
	d->set = true;
	return true;
}

/* What follows is for finished spans. */

static inline uint64_t ss_span_bits(const struct ss_spans *s, uint64_t at, unsigned width)
{
	uint64_t word;
	ss_assert(at / 64 <= s->words.n && width <= 32);
	memcpy(&word, (const char *)s->words.v + at / 8, sizeof(word));
	return ss_le64(word) >> at % 8 & ((UINT64_C(1) << width) - 1);
}

/* Where the bits of an event's field stand. */
static inline uint64_t ss_span_at(const struct ss_span_chunk *c, uint32_t event, unsigned field)
{
	uint64_t at = (uint64_t)c->word * 64 + (uint64_t)(event % SS_SPAN_CHUNK) * c->bits;
	for (unsigned i = 0; i < field; i++)
		at += c->width[i];
	return at;
}

static inline uint64_t ss_span_field(const struct ss_spans *s, const struct ss_span_chunk *c, uint32_t event, unsigned field)
{
	return ss_span_bits(s, ss_span_at(c, event, field), c->width[field]);
}

struct ss_span_times ss_spans_apart(const struct ss_spans *s, uint32_t event);

static inline struct ss_span_times ss_spans_times(const struct ss_spans *s, uint32_t event)
{
	ss_assert(event < s->n && s->packed == s->n);
	const struct ss_span_chunk *c = &s->chunks.v[event / SS_SPAN_CHUNK];
	if (c->apart >> event % SS_SPAN_CHUNK & 1)
		return ss_spans_apart(s, event);
	if (c->plain) {
		uint32_t i = (uint32_t)c->base + event;
		ss_assert(i < s->of->n);
		return (struct ss_span_times){ s->of->begin_ps[i], s->of->dur_ps[i] };
	}
	uint64_t begin = ss_span_field(s, c, event, SS_SPAN_BEGIN) + (uint64_t)c->base;
	uint64_t end = ss_span_field(s, c, event, SS_SPAN_END);
	if (!c->by_event)
		return (struct ss_span_times){ (int64_t)begin, end };
	uint32_t first = (uint32_t)begin + event, last = first + (uint32_t)end;
	ss_assert(first <= last && last < s->of->n);
	uint64_t less_ps = ss_span_field(s, c, event, SS_SPAN_LESS) * SS_SPAN_PS_PER_NS;
	int64_t begin_ps = s->of->begin_ps[first];
	uint64_t end_ps = (uint64_t)ss_xevents_end_ps(s->of, last) - less_ps;
	return (struct ss_span_times){ begin_ps, end_ps - (uint64_t)begin_ps };
}

static inline int64_t ss_spans_begin_ps(const struct ss_spans *s, uint32_t event)
{
	return ss_spans_times(s, event).begin_ps;
}

static inline uint64_t ss_spans_dur_ps(const struct ss_spans *s, uint32_t event)
{
	return ss_spans_times(s, event).dur_ps;
}

static inline uint32_t ss_spans_meta(const struct ss_spans *s, uint32_t event)
{
	const struct ss_span_chunk *c = &s->chunks.v[event / SS_SPAN_CHUNK];
	return c->meta + (uint32_t)ss_span_field(s, c, event, SS_SPAN_META);
}

#endif
