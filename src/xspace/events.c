/*
 * events.c - decoding a line's events into columns: the hot loop of everything.
 *
 * One pass; the arrays start at an estimate from the line's size and grow by remapping. Pages of
 * the file that were passed are given back every few megabytes, so that resident memory is the
 * columns plus a window, not the file.
 */
#include "xspace/events.h"

#include "base/huge.h"
#include "base/safe.h"
#include "base/vec.h"
#include "xspace/fields.h"

#include <stdio.h>
#include <stdlib.h>

#define FORGET_STRIDE ((size_t)1 << 20)
/*
 * A line's end is worth a system call from this size on; hundreds of small lines make a file too.
 */
#define FORGET_MIN ((size_t)128 << 10)

struct loader {
	struct ss_xevents *e;
	const struct ss_xspace *x;
	const struct ss_xplane *plane;
	struct ss_xline *line;
	const uint8_t *wanted;	/* by metadata; NULL: all */
	size_t cap;
	uint64_t start_ps;	/* of the line, as known while reading: what begin_ps already holds */
	bool too_much;		/* the hold is exhausted */
};

/* Count the columns of `cap` events. */
static bool count_columns(struct loader *l, size_t cap)
{
	struct ss_xevents *e = l->e;
	uint64_t bytes = cap * (sizeof(*e->begin_ps) + sizeof(*e->dur_ps) + sizeof(*e->meta) + (e->off ? sizeof(*e->off) : 0));
	if (bytes < e->held_bytes)
		ss_hold_give(e->hold, e->held_bytes - bytes);
	else
		l->too_much = !ss_hold_take(e->hold, bytes - e->held_bytes);
	if (!l->too_much)
		e->held_bytes = bytes;
	return !l->too_much;
}

static bool set_cap(struct loader *l, size_t cap)
{
	struct ss_xevents *e = l->e;
	size_t chunks = cap / SS_EVENT_CHUNK + 1;
	void *p;
	if (e->hold && !count_columns(l, cap))
		return false;
#define RESIZE(column, count)                                                    \
	do {                                                                     \
		p = realloc(e->column, ((count) + 1) * sizeof(*e->column));      \
		if (!p)                                                          \
			return false;                                            \
		e->column = p;                                                   \
		ss_huge_advise(p, ((count) + 1) * sizeof(*e->column));              \
	} while (0)
	RESIZE(begin_ps, cap);
	RESIZE(dur_ps, cap);
	RESIZE(meta, cap);
	if (e->off)
		RESIZE(off, cap);
	RESIZE(base, chunks);
	if (e->occurrences) {
		RESIZE(occurrences, cap);
		for (size_t i = l->cap; i < cap; i++)
			e->occurrences[i] = 1;
	}
#undef RESIZE
	l->cap = cap;
	return true;
}

/*
 * Room for more: from the bytes an event took so far, how many the rest may hold, plus a sixteenth.
 */
static bool more_room(struct loader *l, const uint8_t *at)
{
	const uint8_t *start = l->line->events;
	const uint8_t *end = (const uint8_t *)l->line->body.p + l->line->body.n;
	size_t total = (size_t)(end - start), done = (size_t)(at - start);
	size_t cap = 16;
	if (l->e->n) {
		double each = (double)done / l->e->n;
		cap = (size_t)((double)total / each * 1.0625) + 16;
		if (cap > (size_t)l->e->n * 256 + 1024)
			cap = (size_t)l->e->n * 256 + 1024;
		if (cap <= l->cap)
			cap = l->cap + l->cap / 2 + 16;
	}
	return cap < UINT32_MAX && set_cap(l, cap);
}

static bool set_occurrences(struct loader *l, uint32_t i, uint64_t n)
{
	if (!l->e->occurrences) {
		l->e->occurrences = malloc((l->cap + 1) * sizeof(*l->e->occurrences));
		if (!l->e->occurrences)
			return false;
		for (size_t k = 0; k <= l->cap; k++)
			l->e->occurrences[k] = 1;
	}
	l->e->occurrences[i] = n;
	return true;
}

/*
 * The bytes of events are read for their stats: the first event with stats brings the positions
 * about. The bytes of those before it have none, so that of these the first of a chunk stands for
 * all of it: its position is 0.
 */
static bool need_positions(struct loader *l)
{
	struct ss_xevents *e = l->e;
	e->off = calloc(l->cap + 1, sizeof(*e->off));
	return e->off && (!e->hold || count_columns(l, l->cap));
}

/* Where the event's length stands, relative to its chunk. False: further away than 32 bits hold. */
static inline bool set_position(struct loader *l, uint32_t i, const uint8_t *length)
{
	uint64_t at = (uint64_t)(length - (const uint8_t *)l->line->body.p);
	uint64_t *base = &l->e->base[i / SS_EVENT_CHUNK];
	if (i % SS_EVENT_CHUNK == 0)
		*base = at;
	if (l->e->off)
		l->e->off[i] = (uint32_t)(at - *base);
	return at - *base < SS_EVENT_SYNTHETIC;
}

enum outcome { PASSED, SKIPPED, NO_MEMORY };

struct event {
	uint64_t id, offset_ps, dur_ps, occurrences;
};

/*
 * The fields of an event. Writers put stats last; once id, offset and duration are known, nothing
 * behind the first stat can matter (num_occurrences excludes an offset), and most of the event need
 * not be looked at.
 */
static bool read_event(struct event *ev, struct ss_str body)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	unsigned seen = 0;
	*ev = (struct event){ .occurrences = 1 };
	while (ss_pb_next(&c, &f)) {
		switch (f.key) {
		case PB_VAR(XEVENT_METADATA_ID):
			ev->id = f.u;
			seen |= 1;
			break;
		case PB_VAR(XEVENT_OFFSET_PS):
			ev->offset_ps = f.u;
			seen |= 2;
			break;
		case PB_VAR(XEVENT_DURATION_PS):
			ev->dur_ps = f.u;
			seen |= 4;
			break;
		case PB_VAR(XEVENT_NUM_OCCURRENCES):
			ev->occurrences = f.u;
			break;
		case PB_LEN(XEVENT_STATS):
			if (seen == 7)
				return true;
			break;
		}
	}
	return !c.bad;
}

/* A varint of at most 8 bytes that may be read beyond; false for longer ones. */
static inline bool short_varint(const uint8_t **p, uint64_t *out)
{
	return ss_pb_varint(p, *p + 8, out);
}

/*
 * Bytes that must follow an event for read_usual: a tag, a length, and what four fields can take.
 */
#define SLACK 64

/*
 * An event as all known writers spell it: metadata id, offset and duration, in this order, then
 * stats or nothing. Two of three instructions of a profile's loading are here, so there is one test
 * a field and no loop. Moves *at behind the event; false, and nothing done, for any other spelling.
 */
static inline bool read_usual(const uint8_t **at, const uint8_t *end, struct event *ev, const uint8_t **length,
			      const uint8_t **stats)
{
	const uint8_t *p = *at;
	uint64_t n;
	if (end - p < SLACK || *p != PB_LEN(XLINE_EVENTS))
		return false;
	*length = ++p;
	n = *p++;
	if (n >= 0x80) {
		if (*p >= 0x80)
			return false;
		n = (n & 0x7f) | (uint64_t)*p++ << 7;
	}
	if (n > (uint64_t)(end - p))
		return false;
	const uint8_t *stop = p + n;
	if (*p++ != PB_VAR(XEVENT_METADATA_ID) || !short_varint(&p, &ev->id) ||
	    *p++ != PB_VAR(XEVENT_OFFSET_PS) || !short_varint(&p, &ev->offset_ps) ||
	    *p++ != PB_VAR(XEVENT_DURATION_PS) || !short_varint(&p, &ev->dur_ps))
		return false;
	if (p > stop || (p < stop && *p != PB_LEN(XEVENT_STATS)))
		return false;
	*stats = p;
	*at = stop;
	return true;
}

/*
 * The bit of the id at `p` in ss_xevents.stat_ids. An id may be spelled longer than it need be, so
 * what begins like a large one is read to its end.
 */
static inline uint64_t id_bit(const uint8_t *p, const uint8_t *end)
{
	uint64_t id = *p;
	if (id >= 0x80 && !ss_pb_varint(&p, end, &id))
		return UINT64_MAX;
	return ss_stat_id_bit(id);
}

/* Of an event's stats, where nothing else follows. */
static inline uint64_t ids_of(const uint8_t *p, const uint8_t *end)
{
	uint64_t ids = 0;
	while (end - p >= 4 && p[0] == PB_LEN(XEVENT_STATS) && p[1] < 0x80 && p[2] == PB_VAR(XSTAT_METADATA_ID)) {
		ids |= id_bit(p + 3, end);
		p += 2 + p[1];
	}
	return p == end ? ids : UINT64_MAX;
}

/* The same of any event. */
static uint64_t ids_of_event(struct ss_str body)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	uint64_t ids = 0;
	while (ss_pb_next(&c, &f)) {
		const uint8_t *stat = (const uint8_t *)f.bytes.p;
		if (f.key != PB_LEN(XEVENT_STATS))
			continue;
		/* All known writers put the id first. */
		ids |= f.bytes.n > 1 && stat[0] == PB_VAR(XSTAT_METADATA_ID) ? id_bit(stat + 1, stat + f.bytes.n) : UINT64_MAX;
	}
	return ids;
}

static inline bool is_wanted(const struct loader *l, const struct event *ev)
{
	uint32_t meta = l->wanted ? ss_xplane_event_meta(l->plane, ev->id) : SS_NONE;
	return !l->wanted || (meta != SS_NONE && l->wanted[meta]);
}

static inline void store_event(struct loader *l, const struct event *ev)
{
	struct ss_xevents *e = l->e;
	int64_t begin_ps = (int64_t)(ev->offset_ps + l->start_ps);
	/*
	 * Negative durations are damage; they count as instants so that no end lies before its
	 * begin.
	 */
	uint64_t dur_ps = ev->dur_ps > (uint64_t)INT64_MAX ? 0 : ev->dur_ps;
	if (__builtin_expect(ss_safe_clips(begin_ps, dur_ps), 0)) {
		dur_ps = ss_safe_between(begin_ps, INT64_MAX);
		e->clipped++;
	}
	e->begin_ps[e->n] = begin_ps;
	e->dur_ps[e->n] = dur_ps;
	e->meta[e->n] = ss_xplane_event_meta(l->plane, ev->id);
	e->n++;
}

/* As many events as are spelled as usual and find room. */
static void walk_usual(struct loader *l, const uint8_t **at, const uint8_t *end, const uint8_t *forget_at)
{
	struct event ev = { .occurrences = 1 };
	const uint8_t *length, *stats;
	const uint8_t *p = *at;
	uint64_t ids = 0;
	while (l->e->n < l->cap && p < forget_at && read_usual(&p, end, &ev, &length, &stats)) {
		if (!is_wanted(l, &ev)) {
			*at = p;
			continue;
		}
		uint64_t own = ids_of(stats, p);
		if ((own && !l->e->off && !need_positions(l)) || !set_position(l, l->e->n, length))
			break;
		store_event(l, &ev);
		ids |= own;
		*at = p;
	}
	l->e->stat_ids |= ids;
}

static enum outcome add_event(struct loader *l, const uint8_t *length, struct ss_str body)
{
	struct ss_xevents *e = l->e;
	struct event ev;
	if (e->n == l->cap && !more_room(l, length))
		return NO_MEMORY;
	if (!read_event(&ev, body))
		return SKIPPED;
	if (!is_wanted(l, &ev))
		return PASSED;
	uint64_t ids = ids_of_event(body);
	if (ids && !e->off && !need_positions(l))
		return NO_MEMORY;
	if (!set_position(l, e->n, length))
		return SKIPPED;
	if (ev.occurrences != 1 && !set_occurrences(l, e->n, ev.occurrences))
		return NO_MEMORY;
	store_event(l, &ev);
	e->stat_ids |= ids;
	return PASSED;
}

static void header_field(struct ss_xline *line, const struct ss_pb_field *f)
{
	switch (f->key) {
	case PB_VAR(XLINE_ID):
		line->id = (int64_t)f->u;
		break;
	case PB_VAR(XLINE_DISPLAY_ID):
		line->display_id = (int64_t)f->u;
		break;
	case PB_LEN(XLINE_NAME):
		line->name = f->bytes;
		break;
	case PB_LEN(XLINE_DISPLAY_NAME):
		line->display_name = f->bytes;
		break;
	case PB_VAR(XLINE_TIMESTAMP_NS):
		line->timestamp_ns = (int64_t)f->u;
		break;
	case PB_VAR(XLINE_DURATION_PS):
		line->duration_ps = f->u;
		break;
	}
}

/* Give back the pages from *from up to `at` once they are many. */
static void forget(struct loader *l, const uint8_t **from, const uint8_t *at)
{
	if ((size_t)(at - *from) < FORGET_STRIDE)
		return;
	ss_file_forget(&l->x->file, (struct ss_str){ (const char *)*from, (size_t)(at - *from) });
	*from = at;
}

static bool too_much(const struct loader *l, struct ss_err *err)
{
	char file[200];
	snprintf(file, sizeof(file), "'" SS_FMT "'", SS_ARG(l->x->path));
	return ss_hold_fail(ss_str_from(file), err);
}

static bool walk(struct loader *l, struct ss_err *err)
{
	const uint8_t *kept = l->line->events;
	struct ss_pb c = ss_pb_of(l->line->body);
	struct ss_pb_field f;
	if (!kept)
		return true;
	c.at = kept;
	for (;;) {
		walk_usual(l, &c.at, c.end, (size_t)(c.end - kept) > FORGET_STRIDE ? kept + FORGET_STRIDE : c.end);
		const uint8_t *at = c.at;
		if (!ss_pb_next(&c, &f))
			break;
		if (f.key != PB_LEN(XLINE_EVENTS)) {
			header_field(l->line, &f);
			continue;
		}
		/*
		 * The tag of field 4 is one byte as everybody writes it; find the length behind any
		 * other spelling too.
		 */
		const uint8_t *length = at;
		uint64_t tag;
		ss_pb_varint(&length, c.end, &tag);
		enum outcome got = add_event(l, length, f.bytes);
		if (got == NO_MEMORY)
			return l->too_much ? too_much(l, err) : ss_fail_mem(err);
		l->e->dropped += got == SKIPPED;
		forget(l, &kept, c.at);
	}
	l->e->dropped += c.bad;
	if ((size_t)(c.at - kept) >= FORGET_MIN)
		ss_file_forget(&l->x->file, (struct ss_str){ (const char *)kept, (size_t)(c.at - kept) });
	return true;
}

static uint64_t start_of(const struct loader *l)
{
	return ((uint64_t)l->line->timestamp_ns - (uint64_t)l->x->origin_ns) * 1000;
}

/* Only now is the line's start known for sure: it may stand behind the events. */
static void place(struct loader *l)
{
	struct ss_xevents *e = l->e;
	uint64_t late_ps = start_of(l) - l->start_ps;
	for (uint32_t i = 0; late_ps && i < e->n; i++) {
		bool known = e->dur_ps[i] && ss_safe_end(e->begin_ps[i], e->dur_ps[i]) == INT64_MAX;
		e->begin_ps[i] = (int64_t)((uint64_t)e->begin_ps[i] + late_ps);
		if (ss_safe_clips(e->begin_ps[i], e->dur_ps[i])) {
			e->dur_ps[i] = ss_safe_between(e->begin_ps[i], INT64_MAX);
			e->clipped += !known;
		}
	}
	ss_xevents_check_order(e);
}

void ss_xevents_check_order(struct ss_xevents *e)
{
	e->sorted = true;
	for (uint32_t i = 1; i < e->n; i++)
		if (e->begin_ps[i] < e->begin_ps[i - 1] ||
		    (e->begin_ps[i] == e->begin_ps[i - 1] && e->dur_ps[i] > e->dur_ps[i - 1])) {
			e->sorted = false;
			return;
		}
}

static bool alloc_columns(struct ss_xevents *e, uint32_t n, bool occurrences)
{
	size_t count = (size_t)n + 1;
	e->begin_ps = malloc(count * sizeof(*e->begin_ps));
	e->dur_ps = malloc(count * sizeof(*e->dur_ps));
	e->meta = malloc(count * sizeof(*e->meta));
	e->off = malloc(count * sizeof(*e->off));
	e->base = malloc((n / SS_EVENT_CHUNK + 1) * sizeof(*e->base));
	e->occurrences = occurrences ? malloc(count * sizeof(*e->occurrences)) : NULL;
	return e->begin_ps && e->dur_ps && e->meta && e->off && e->base && (!occurrences || e->occurrences);
}

/*
 * The base of a chunk is the first position in it; false if another one is too far behind, which no
 * real line comes near.
 */
static bool rebase(struct ss_xevents *g, const struct ss_xevents *e, const uint32_t *from, uint32_t first)
{
	uint32_t last = g->n - first > SS_EVENT_CHUNK ? first + SS_EVENT_CHUNK : g->n;
	uint64_t base = UINT64_MAX, at;
	/* Without positions the first of a chunk stands for all of it, as in need_positions. */
#define POSITION(k) (e->base[from[k] / SS_EVENT_CHUNK] + (e->off ? e->off[from[k]] : 0))
#define HAS_BYTES(k) (from[k] != SS_NONE && !ss_xevents_is_added(e, from[k]))
	for (uint32_t k = first; k < last; k++)
		if (HAS_BYTES(k) && (at = POSITION(k)) < base)
			base = at;
	g->base[first / SS_EVENT_CHUNK] = base;
	for (uint32_t k = first; k < last; k++) {
		g->off[k] = SS_EVENT_SYNTHETIC;
		if (!HAS_BYTES(k))
			continue;
		if (POSITION(k) - base >= SS_EVENT_SYNTHETIC)
			return false;
		g->off[k] = (uint32_t)(POSITION(k) - base);
	}
#undef POSITION
#undef HAS_BYTES
	return true;
}

/* Without stats positions only tell the events that were added. */
static void drop_positions(struct ss_xevents *e)
{
	for (uint32_t i = 0; i < e->n; i++)
		if (ss_xevents_is_added(e, i))
			return;
	free(e->off);
	e->off = NULL;
}

bool ss_xevents_rebuild(struct ss_xevents *e, const uint32_t *from, uint32_t n)
{
	struct ss_xevents g = { .n = n, .dropped = e->dropped, .clipped = e->clipped, .sorted = e->sorted,
				.rebuilt = true, .stat_ids = e->stat_ids, .hold = e->hold };
	bool ok = alloc_columns(&g, n, e->occurrences);
	for (uint32_t k = 0; ok && k < n; k += SS_EVENT_CHUNK)
		ok = rebase(&g, e, from, k);
	if (!ok) {
		ss_xevents_free(&g);
		return false;
	}
	for (uint32_t k = 0; k < n; k++) {
		bool made = from[k] == SS_NONE;
		g.begin_ps[k] = made ? 0 : e->begin_ps[from[k]];
		g.dur_ps[k] = made ? 0 : e->dur_ps[from[k]];
		g.meta[k] = made ? SS_NONE : e->meta[from[k]];
		if (g.occurrences)
			g.occurrences[k] = made ? 1 : e->occurrences[from[k]];
	}
	if (!e->off)
		drop_positions(&g);
	g.held_bytes = e->held_bytes;
	e->held_bytes = 0;
	ss_xevents_free(e);
	*e = g;
	return true;
}

bool ss_xevents_load(struct ss_xevents *e, const struct ss_xspace *x, const struct ss_xplane *plane,
		     struct ss_xline *line, struct ss_err *err)
{
	return ss_xevents_load_some(e, x, plane, line, NULL, err);
}

bool ss_xevents_load_some(struct ss_xevents *e, const struct ss_xspace *x, const struct ss_xplane *plane,
			  struct ss_xline *line, const uint8_t *wanted, struct ss_err *err)
{
	*e = (struct ss_xevents){ .sorted = true, .hold = x->hold };
	struct loader l = { .e = e, .x = x, .plane = plane, .line = line, .wanted = wanted };
	l.start_ps = start_of(&l);
	if (!walk(&l, err)) {
		ss_xevents_free(e);
		return false;
	}
	if (e->n && l.cap > e->n && !set_cap(&l, e->n)) {
		ss_xevents_free(e);
		return ss_fail_mem(err);
	}
	place(&l);
	return true;
}

struct moment {
	int64_t begin_ps;
	uint64_t dur_ps;
	uint32_t event;
};

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;
	return SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(y->dur_ps, x->dur_ps) ?: SS_CMP(x->event, y->event);
}

bool ss_xevents_order(const struct ss_xevents *e, uint32_t *v, size_t n)
{
	struct moment *m = malloc((n + 1) * sizeof(*m));
	for (size_t i = 0; m && i < n; i++)
		m[i] = (struct moment){ e->begin_ps[v[i]], e->dur_ps[v[i]], v[i] };
	if (m)
		qsort(m, n, sizeof(*m), by_time);
	for (size_t i = 0; m && i < n; i++)
		v[i] = m[i].event;
	bool ok = m != NULL;
	free(m);
	return ok;
}

uint32_t *ss_xevents_in_order(const struct ss_xevents *e)
{
	uint32_t *v = malloc(((size_t)e->n + 1) * sizeof(*v));
	for (uint32_t i = 0; v && i < e->n; i++)
		v[i] = i;
	if (v && ss_xevents_order(e, v, e->n))
		return v;
	free(v);
	return NULL;
}

bool ss_xevents_sort(struct ss_xevents *e, uint32_t **from)
{
	*from = ss_xevents_in_order(e);
	if (*from && ss_xevents_rebuild(e, *from, e->n)) {
		e->sorted = true;
		return true;
	}
	free(*from);
	*from = NULL;
	return false;
}

void ss_xevents_free(struct ss_xevents *e)
{
	ss_hold_give(e->hold, e->held_bytes);
	free(e->begin_ps);
	free(e->dur_ps);
	free(e->meta);
	free(e->off);
	free(e->base);
	free(e->occurrences);
	*e = (struct ss_xevents){ 0 };
}
