/*
 * timeline_bands.c - how busy each section of the timeline was over a range, in as many parts as are asked for: what a
 * section shows while it is closed.
 *
 * A device is busy while an operation runs on its line of operations, or a kernel or copy on any of
 * its streams, counted once. What it was busy with is self time by meaning: that of events inside
 * of an event is taken off the event's own. Streams that work at the same time count each, so the
 * meanings of a part may come to more than its busy time. Of other sections the outermost events of
 * each thread count. Of three or more devices of one kind the one with the most work of its own,
 * communication and waiting for input not counted, is the slowest if that is more than SLOWER times
 * their median: then the others wait for it.
 */
#include "tools/timeline.h"

#include "model/steps/inferred.h"
#include "model/steps/meaning.h"
#include "model/timeline/trace_level.h"

#include <stdlib.h>

#define SLOWER 1.02
#define FEWEST_ALIKE 3u
#define DEPTH 256u

struct bands {
	const struct ss_trace *tr;
	uint64_t begin_ps, end_ps;	/* in the host's time */
	uint32_t bins;
	struct ss_arena *arena;
	int64_t *busy;			/* ps, per bin; scratch of the section at hand */
	int64_t *parts;			/* meaning by meaning */
	uint8_t *known;			/* per metadata of the plane: 1 + its meaning */
	struct open {
		uint64_t end_ps;
		uint8_t meaning;
	} *open;			/* per track of the section, DEPTH rows each */
};

/* Adds the part of [begin_ps, end_ps) that lies in each bin. */
static void spread(const struct bands *b, int64_t *bins, uint64_t begin_ps, uint64_t end_ps, int sign)
{
	uint64_t from = begin_ps > b->begin_ps ? begin_ps : b->begin_ps, to = end_ps < b->end_ps ? end_ps : b->end_ps;
	if (to <= from)
		return;
	double width_ps = (double)(b->end_ps - b->begin_ps) / b->bins;
	uint32_t first = (uint32_t)((double)(from - b->begin_ps) / width_ps);
	uint32_t last = (uint32_t)((double)(to - b->begin_ps) / width_ps);
	first = first < b->bins ? first : b->bins - 1;
	last = last < b->bins ? last : b->bins - 1;
	for (uint32_t i = first; i <= last; i++) {
		uint64_t left = i == first ? from : b->begin_ps + (uint64_t)(i * width_ps);
		uint64_t right = i == last ? to : b->begin_ps + (uint64_t)((i + 1) * width_ps);
		if (right > left)
			bins[i] += sign * (int64_t)(right - left);
	}
}

/* The first position that can reach into the range: the outermost event around its begin, or the first in it. */
static uint32_t first_pos(const struct bands *b, const struct ss_track *t)
{
	uint32_t pos = ss_track_lower(t, b->begin_ps);
	while (pos > 0 && (pos == t->n || ss_track_row(t, pos) || ss_track_begin_ps(t, pos) >= b->begin_ps)) {
		pos--;
		if (!ss_track_row(t, pos) && ss_track_begin_ps(t, pos) < b->begin_ps)
			break;
	}
	return pos;
}

static uint32_t position(const void *lists, const struct ss_trace *tr, uint32_t track, uint32_t at)
{
	(void)lists;
	(void)tr;
	(void)track;
	return at;
}

static bool is_work_track(const struct ss_track *t)
{
	return t->kind == SS_TRACE_SLICES && t->line->line && ss_is_work_line(t->plane, t->line->line);
}

static enum ss_meaning meaning_of(const struct bands *b, const struct ss_plane *p, uint32_t meta)
{
	size_t slot = meta < p->x->nevent_meta ? meta : p->x->nevent_meta;
	if (!b->known[slot] || slot == p->x->nevent_meta)
		b->known[slot] = (uint8_t)(1 + ss_event_meaning(p, meta));
	return (enum ss_meaning)(b->known[slot] - 1);
}

/* Self time by meaning: what is inside of an event is not its own. */
static void add_parts(struct bands *b, const struct ss_track *t, uint32_t track, uint32_t pos, uint64_t begin_ps, uint64_t end_ps)
{
	struct open *rows = b->open + (size_t)track * DEPTH;
	unsigned row = ss_track_row(t, pos);
	enum ss_meaning m = meaning_of(b, t->plane, ss_display_meta(t->line, ss_track_event(t, pos)));
	rows[row] = (struct open){ end_ps, (uint8_t)m };
	spread(b, b->parts + (size_t)m * b->bins, begin_ps, end_ps, 1);
	if (row && rows[row - 1].end_ps >= end_ps)
		spread(b, b->parts + (size_t)rows[row - 1].meaning * b->bins, begin_ps, end_ps, -1);
}

static bool walk_device(struct bands *b, const struct ss_trace_section *s)
{
	struct ss_trace_merge m;
	struct ss_merge_head h;
	uint64_t covered_ps = 0;
	if (!ss_merge_init(&m, b->tr, position, NULL))
		return false;
	for (uint32_t i = s->first_track; i < s->first_track + s->ntracks; i++)
		if (is_work_track(&b->tr->tracks[i]))
			ss_merge_add(&m, i, first_pos(b, &b->tr->tracks[i]), b->tr->tracks[i].n);
	while (ss_merge_next(&m, &h) && h.begin_ps < b->end_ps) {
		const struct ss_track *t = &b->tr->tracks[h.track];
		uint64_t end_ps = ss_trace_end_ps(h.begin_ps, h.dur_ps);
		uint64_t fresh_ps = h.begin_ps > covered_ps ? h.begin_ps : covered_ps;
		if (end_ps > fresh_ps) {
			spread(b, b->busy, fresh_ps, end_ps, 1);
			covered_ps = end_ps;
		}
		add_parts(b, t, h.track - s->first_track, h.at, h.begin_ps, end_ps);
	}
	ss_merge_free(&m);
	return true;
}

static uint32_t walk_threads(struct bands *b, const struct ss_trace_section *s)
{
	uint32_t nthreads = 0;
	for (uint32_t i = s->first_track; i < s->first_track + s->ntracks; i++) {
		const struct ss_track *t = &b->tr->tracks[i];
		if (t->kind != SS_TRACE_SLICES || !t->line->line || t->line->line->derived || !t->nshown)
			continue;
		nthreads++;
		for (uint32_t pos = first_pos(b, t); pos < t->n && ss_track_begin_ps(t, pos) < b->end_ps; pos++)
			if (!ss_track_row(t, pos) && t->level[pos] != SS_TRACE_HIDDEN)
				spread(b, b->busy, ss_track_begin_ps(t, pos),
				       ss_trace_end_ps(ss_track_begin_ps(t, pos), ss_track_dur_ps(t, pos)), 1);
	}
	return nthreads;
}

static uint8_t *shares(const struct bands *b, const int64_t *ps, size_t n, uint32_t threads)
{
	uint8_t *out = SS_NEW_N(b->arena, uint8_t, n + 1);
	double whole = (double)(b->end_ps - b->begin_ps) / b->bins * (threads ? threads : 1);
	for (size_t i = 0; out && i < n; i++) {
		double v = ps[i] <= 0 ? 0 : 255 * (double)ps[i] / whole;
		/* What is there is seen. */
		out[i] = (uint8_t)(v > 254.5 ? 255 : v > 0 && v < 1 ? 1 : v + 0.5);
	}
	return out;
}

static uint64_t sum_of(const int64_t *ps, size_t n)
{
	int64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += ps[i];
	return sum > 0 ? (uint64_t)sum : 0;
}

static bool has_work(const struct ss_trace *tr, const struct ss_trace_section *s)
{
	for (uint32_t i = s->first_track; i < s->first_track + s->ntracks; i++)
		if (is_work_track(&tr->tracks[i]))
			return true;
	return false;
}

static bool add_section(struct bands *b, const struct ss_trace_section *s, struct ss_tl_band *out)
{
	size_t nparts = (size_t)SS_MEANING_COUNT * b->bins;
	bool ok = true;
	memset(b->busy, 0, b->bins * sizeof(*b->busy));
	memset(b->parts, 0, nparts * sizeof(*b->parts));
	out->device = s->kind == SS_TRACE_DEVICE && has_work(b->tr, s);
	if (out->device) {
		b->known = calloc((size_t)s->plane->base.x->nevent_meta + 1, 1);
		b->open = calloc((size_t)s->ntracks * DEPTH + 1, sizeof(*b->open));
		ok = b->known && b->open && walk_device(b, s);
		free(b->known);
		free(b->open);
	} else {
		out->nthreads = walk_threads(b, s);
	}
	if (!ok)
		return false;
	out->busy_ps = sum_of(b->busy, b->bins);
	out->busy_frac = (double)out->busy_ps / ((double)(b->end_ps - b->begin_ps) * (out->nthreads ? out->nthreads : 1));
	out->own_ps = sum_of(b->parts, nparts) - sum_of(b->parts + (size_t)SS_MEANING_COMMUNICATION * b->bins, b->bins) -
		      sum_of(b->parts + (size_t)SS_MEANING_INPUT * b->bins, b->bins);
	out->busy = shares(b, b->busy, b->bins, out->nthreads);
	out->parts = out->device ? shares(b, b->parts, nparts, 0) : NULL;
	return out->busy && (!out->device || out->parts);
}

static int by_own(const void *a, const void *b)
{
	const struct ss_tl_band *x = *(struct ss_tl_band *const *)a, *y = *(struct ss_tl_band *const *)b;
	return SS_CMP(x->own_ps, y->own_ps) ?: SS_CMP(y->section, x->section);
}

/* kinds: of the plane of each section. */
static bool mark_slowest(struct ss_tl_bands *out, const uint8_t *kinds, struct ss_arena *arena)
{
	struct ss_tl_band **alike = SS_NEW_N(arena, struct ss_tl_band *, out->n + 1);
	for (unsigned kind = 0; alike && kind < UINT8_MAX; kind++) {
		size_t n = 0;
		for (size_t i = 0; i < out->n; i++)
			if (out->v[i].device && kinds[i] == kind)
				alike[n++] = &out->v[i];
		if (n < FEWEST_ALIKE)
			continue;
		qsort(alike, n, sizeof(struct ss_tl_band *), by_own);
		struct ss_tl_band *most = alike[n - 1];
		most->median_own_ps = alike[n / 2]->own_ps;
		most->slowest = (double)most->own_ps > SLOWER * (double)most->median_own_ps;
	}
	return alike;
}

static bool add_hosts(struct ss_tl_bands *out, const struct ss_model_trace *mt, struct bands *b, uint8_t *kinds)
{
	for (size_t h = 0; h < mt->nhosts; h++) {
		b->tr = mt->hosts[h];
		b->begin_ps = ss_trace_own(mt, h, out->begin_ps);
		b->end_ps = ss_trace_own(mt, h, out->end_ps);
		for (uint32_t i = 0; i < b->tr->nsections; i++) {
			struct ss_tl_band *v = &out->v[out->n];
			kinds[out->n] = (uint8_t)b->tr->sections[i].plane->base.kind;
			v->section = (uint32_t)out->n++;
			if (b->end_ps > b->begin_ps && !add_section(b, &b->tr->sections[i], v))
				return false;
		}
	}
	return true;
}

struct ss_tl_bands *ss_timeline_bands(struct ss_model *m, const struct ss_timeline_bands_query *q, struct ss_arena *arena,
				      struct ss_err *err)
{
	const struct ss_model_trace *mt = ss_model_trace(m, err);
	struct ss_tl_bands *out = SS_NEW(arena, struct ss_tl_bands);
	struct bands b = { .bins = q->bins, .arena = arena };
	size_t nsections = 0;
	if (!mt)
		return NULL;
	ss_assert(q->bins && q->end_ps > q->begin_ps);
	for (size_t h = 0; h < mt->nhosts; h++)
		nsections += mt->hosts[h]->nsections;
	uint8_t *kinds = SS_NEW_N(arena, uint8_t, nsections + 1);
	const char **meanings = SS_NEW_N(arena, const char *, SS_MEANING_COUNT);
	b.busy = SS_NEW_N(arena, int64_t, q->bins);
	b.parts = SS_NEW_N(arena, int64_t, (size_t)q->bins * SS_MEANING_COUNT);
	bool ok = out && kinds && meanings && b.busy && b.parts;
	if (ok) {
		for (int k = 0; k < SS_MEANING_COUNT; k++)
			meanings[k] = ss_meaning_name((enum ss_meaning)k);
		*out = (struct ss_tl_bands){
			.begin_ps = q->begin_ps, .end_ps = q->end_ps, .bins = q->bins, .meanings = meanings,
			.nmeanings = SS_MEANING_COUNT, .v = SS_NEW_N(arena, struct ss_tl_band, nsections + 1),
		};
		ok = out->v && add_hosts(out, mt, &b, kinds) && mark_slowest(out, kinds, arena);
	}
	if (!ok)
		ss_fail_mem(err);
	return ok ? out : NULL;
}
