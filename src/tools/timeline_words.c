/* timeline_words.c - see timeline_words.h. */
#include "tools/timeline_words.h"

#include "model/host/identity.h"
#include "model/steps/inferred.h"
#include "model/timeline/trace.h"
#include "table/units.h"

#include <stdlib.h>

/* ---- one device ---- */

/* A device's next event on one of its tracks. */
struct head {
	uint64_t begin_ps;
	const struct ss_track *track;
	uint32_t pos;
};

struct use {
	uint64_t busy_ps, first_ps, last_ps;
	uint64_t pause_begin_ps, pause_ps;
};

static void sift(struct head *heap, size_t n, size_t i)
{
	struct head moved = heap[i];
	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && heap[child + 1].begin_ps < heap[child].begin_ps)
			child++;
		if (heap[child].begin_ps >= moved.begin_ps)
			break;
		heap[i] = heap[child];
	}
	heap[i] = moved;
}

static bool works(const struct ss_track *t, uint32_t pos, uint8_t *known)
{
	enum { UNREAD, WORKS, WAITS };
	uint32_t n = t->plane->x->nevent_meta, meta = ss_display_meta(t->line, ss_track_event(t, pos)), at = meta < n ? meta : n;
	if (known[at] == UNREAD) {
		enum ss_work work = ss_device_event_work(t->plane, meta);
		known[at] = work == SS_WORK_UNKNOWN || work == SS_WORK_DEVICE_WAIT_HOST ? WAITS : WORKS;
	}
	return known[at] == WORKS;
}

/* Events come in the order of their begins. */
static void add_work(struct use *u, uint64_t begin_ps, uint64_t end_ps)
{
	if (!u->last_ps && !u->busy_ps)
		u->first_ps = u->last_ps = begin_ps;
	if (begin_ps > u->last_ps && begin_ps - u->last_ps > u->pause_ps) {
		u->pause_begin_ps = u->last_ps;
		u->pause_ps = begin_ps - u->last_ps;
	}
	if (end_ps <= u->last_ps)
		return;
	u->busy_ps += end_ps - (begin_ps > u->last_ps ? begin_ps : u->last_ps);
	u->last_ps = end_ps;
}

static bool read_device(const struct ss_trace *tr, const struct ss_trace_section *s, struct use *u)
{
	struct head *heap = calloc((size_t)s->ntracks + 1, sizeof(*heap));
	uint8_t *known = calloc((size_t)s->plane->base.x->nevent_meta + 1, 1);
	size_t n = 0;
	bool ok = heap && known;
	*u = (struct use){ 0 };
	for (uint32_t i = s->first_track; ok && i < s->first_track + s->ntracks; i++) {
		const struct ss_track *t = &tr->tracks[i];
		if (t->kind == SS_TRACE_SLICES && t->n && t->line->line && ss_is_work_line(t->plane, t->line->line))
			heap[n++] = (struct head){ ss_track_begin_ps(t, 0), t, 0 };
	}
	for (size_t i = n / 2; ok && i-- > 0;)
		sift(heap, n, i);
	while (ok && n) {
		struct head *h = &heap[0];
		if (works(h->track, h->pos, known))
			add_work(u, h->begin_ps, ss_trace_end_ps(h->begin_ps, ss_track_dur_ps(h->track, h->pos)));
		if (++h->pos < h->track->n)
			h->begin_ps = ss_track_begin_ps(h->track, h->pos);
		else
			*h = heap[--n];
		sift(heap, n, 0);
	}
	free(heap);
	free(known);
	return ok;
}

/* ---- all of them ---- */

struct sums {
	uint64_t busy_ps, first_ps, last_ps; /* summed; of all devices */
	uint64_t pause_begin_ps, pause_ps;
	size_t ndevices, nworking, nthreads;
	uint64_t min_ps;
	struct ss_str min, paused;	/* names of devices */
	struct ss_str max;		/* the host thread with most events */
	uint32_t max_events;
	size_t max_host;
};

static struct ss_str name_of(const struct ss_model_trace *mt, size_t h, struct ss_str name, struct ss_arena *a)
{
	if (mt->nhosts < 2)
		return name;
	return ss_arena_printf(a, SS_FMT " " SS_FMT, SS_ARG(ss_host_name(mt->hosts[h]->host)), SS_ARG(name));
}

static void take_device(struct sums *sums, const struct use *u, struct ss_str name, const struct ss_model_trace *mt,
			size_t h)
{
	if (!u->busy_ps)
		return;
	if (!sums->nworking || u->busy_ps < sums->min_ps) {
		sums->min_ps = u->busy_ps;
		sums->min = name;
	}
	uint64_t first_ps = ss_trace_shown(mt, h, u->first_ps), last_ps = ss_trace_shown(mt, h, u->last_ps);
	if (!sums->nworking || first_ps < sums->first_ps)
		sums->first_ps = first_ps;
	if (!sums->nworking || last_ps > sums->last_ps)
		sums->last_ps = last_ps;
	sums->busy_ps += u->busy_ps;
	sums->nworking++;
	if (u->pause_ps > sums->pause_ps) {
		sums->pause_ps = u->pause_ps;
		sums->pause_begin_ps = ss_trace_shown(mt, h, u->pause_begin_ps);
		sums->paused = name;
	}
}

static void take_threads(struct sums *sums, const struct ss_model_trace *mt, size_t h, const struct ss_trace_section *s)
{
	const struct ss_trace *tr = mt->hosts[h];
	sums->nthreads += s->nthreads;
	for (uint32_t i = s->first_track; i < s->first_track + s->ntracks; i++)
		if (tr->tracks[i].kind == SS_TRACE_SLICES && tr->tracks[i].n > sums->max_events) {
			sums->max_events = tr->tracks[i].n;
			sums->max = tr->tracks[i].name;
			sums->max_host = h;
		}
}

static bool sum_up(struct sums *sums, const struct ss_model_trace *mt, struct ss_arena *arena)
{
	for (size_t h = 0; h < mt->nhosts; h++) {
		const struct ss_trace *tr = mt->hosts[h];
		for (uint32_t i = 0; i < tr->nsections; i++) {
			const struct ss_trace_section *s = &tr->sections[i];
			struct ss_str name = name_of(mt, h, s->plane->base.name, arena);
			struct use u;
			if (s->kind == SS_TRACE_HOST)
				take_threads(sums, mt, h, s);
			if (s->kind != SS_TRACE_DEVICE)
				continue;
			if (!read_device(tr, s, &u))
				return false;
			sums->ndevices++;
			take_device(sums, &u, name, mt, h);
		}
	}
	return true;
}

/* ---- in words ---- */

static double frac_of(uint64_t part_ps, double whole_ps)
{
	return whole_ps > 0 ? (double)part_ps / whole_ps : 0;
}

/* Where one device works much less than the others. */
static struct ss_str min_text(struct ss_arena *a, const struct sums *s, double mean_frac, double window_ps)
{
	double min_frac = frac_of(s->min_ps, window_ps);
	struct ss_str min = ss_unit_text(a, SS_UNIT_FRAC, min_frac);
	if (mean_frac - min_frac < 0.005 || !min.p)
		return min.p ? SS_STR("") : min;
	return ss_arena_printf(a, ", the least busy one, '" SS_FMT "', for " SS_FMT, SS_ARG(s->min), SS_ARG(min));
}

static void say_devices(struct ss_result *r, const struct sums *s, double trace_ps, uint64_t begin_ps)
{
	struct ss_arena *a = r->arena;
	double window_ps = (double)(s->last_ps - s->first_ps), frac = frac_of(s->busy_ps, window_ps * (double)s->nworking);
	struct ss_str window = ss_unit_text(a, SS_UNIT_PS, window_ps), share = ss_unit_text(a, SS_UNIT_FRAC, frac);
	struct ss_str min = min_text(a, s, frac, window_ps), trace = ss_unit_text(a, SS_UNIT_PS, trace_ps);
	struct ss_str pause = ss_unit_text(a, SS_UNIT_PS, (double)s->pause_ps);
	struct ss_str at = ss_unit_text(a, SS_UNIT_PS, (double)(s->pause_begin_ps - begin_ps));
	r->conclusion.mood = frac < 0.5 ? SS_MOOD_WARN : frac >= 0.9 ? SS_MOOD_GOOD : SS_MOOD_PLAIN;
	struct ss_str who = s->nworking == 1 ? ss_arena_printf(a, "'" SS_FMT "' works", SS_ARG(s->min)) :
					       ss_arena_printf(a, "The %zu devices work", s->nworking);
	ss_result_say(r, ss_arena_printf(a, SS_FMT " for " SS_FMT " of the " SS_FMT
					 " between the first and the last operation" SS_FMT ".", SS_ARG(who),
					 SS_ARG(share), SS_ARG(window), SS_ARG(min)));
	if (s->pause_ps)
		ss_result_say(r, ss_arena_printf(a, "The longest pause lasts " SS_FMT ": on '" SS_FMT "', " SS_FMT
						 " after the trace begins.", SS_ARG(pause), SS_ARG(s->paused),
						 SS_ARG(at)));
	if (window_ps <= trace_ps / 2)
		ss_result_say(r, ss_arena_printf(a, "All operations lie within " SS_FMT " of the " SS_FMT " that were traced: for "
						    "the rest no device was at work.", SS_ARG(window), SS_ARG(trace)));
}

static void say_no_work(struct ss_result *r, const struct sums *s, const struct ss_model_trace *mt)
{
	ss_result_say(r, s->ndevices ? SS_STR("The trace holds no operation of a device.") :
				       SS_STR("No device was traced: all events are of the host."));
	struct ss_str max = s->max_events ? name_of(mt, s->max_host, s->max, r->arena) : s->max;
	if (s->max_events)
		ss_result_say(r, ss_arena_printf(r->arena, "The thread with most events is '" SS_FMT "': %u.", SS_ARG(max),
						 s->max_events));
}

/* "2 devices and 7 host threads", "1 host thread". */
static struct ss_str places(struct ss_arena *a, const struct sums *s)
{
	struct ss_str devices = SS_STR(""), threads = SS_STR("");
	if (s->ndevices)
		devices = ss_arena_printf(a, " on %zu device%s", s->ndevices, s->ndevices == 1 ? "" : "s");
	if (s->nthreads)
		threads = ss_arena_printf(a, " %s %zu host thread%s", s->ndevices ? "and" : "on", s->nthreads,
					  s->nthreads == 1 ? "" : "s");
	return devices.p && threads.p ? ss_arena_printf(a, SS_FMT SS_FMT, SS_ARG(devices), SS_ARG(threads)) :
					(struct ss_str){ NULL, 0 };
}

static void say(struct ss_result *r, const struct sums *s, const struct ss_model_trace *mt)
{
	double trace_ps = (double)(mt->end_ps - mt->begin_ps);
	struct ss_str whole = ss_unit_text(r->arena, SS_UNIT_PS, trace_ps), where = places(r->arena, s);
	if (!mt->nshown) {
		ss_result_say(r, SS_STR("Nothing was traced: the profile holds no events."));
		return;
	}
	if (s->nworking)
		say_devices(r, s, trace_ps, mt->begin_ps);
	else
		say_no_work(r, s, mt);
	struct ss_str when = trace_ps > 0 ? ss_arena_printf(r->arena, "in " SS_FMT, SS_ARG(whole)) : SS_STR("all at one moment");
	ss_result_say(r, ss_arena_printf(r->arena, "%llu event%s" SS_FMT ", " SS_FMT ".",
					 (unsigned long long)mt->nshown, mt->nshown == 1 ? "" : "s",
					 SS_ARG(where), SS_ARG(when)));
}

bool ss_timeline_words(struct ss_timeline_words *out, struct ss_model *m, struct ss_arena *arena, struct ss_err *err)
{
	const struct ss_model_trace *mt = ss_model_trace(m, err);
	struct sums sums = { .max = SS_STR("") };
	struct ss_result r;
	*out = (struct ss_timeline_words){ 0 };
	if (!mt)
		return false;
	ss_result_init(&r, arena);
	if (!sum_up(&sums, mt, arena))
		return ss_fail_mem(err);
	say(&r, &sums, mt);
	*out = (struct ss_timeline_words){
		.conclusion = r.conclusion,
		.work_begin_ps = sums.first_ps, .work_end_ps = sums.last_ps,
		.pause_begin_ps = sums.pause_begin_ps, .pause_end_ps = sums.pause_begin_ps + sums.pause_ps,
	};
	return true;
}

bool ss_timeline_conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_timeline_words words;
	if (!q->as_tables)
		return true;
	if (!ss_timeline_words(&words, q->model, q->arena, err))
		return false;
	out->conclusion = words.conclusion;
	return true;
}
