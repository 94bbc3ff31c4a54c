/* timeline_gap.c - why a device does nothing: one gap explained; and the steps of a timeline. */
#include "tools/timeline.h"

#include "base/bisect.h"
#include "base/cxx_name.h"
#include "base/safe.h"
#include "model/attribution/idle.h"
#include "model/model.h"
#include "model/preprocess/flows.h"
#include "model/steps/inferred.h"
#include "tools/timeline_build.h"
#include "tools/words.h"

#include <stdlib.h>

struct search {
	struct ss_model *m;
	const struct ss_model_trace *mt;
	const struct ss_timeline_gap_query *q;
	struct ss_arena *arena;
	size_t h; /* host */
	const struct ss_idle *idle;
	const struct ss_idle_unit *unit;
	const struct ss_idle_gap *gap;
};

/* ---- which gap ---- */

static size_t host_of_track(const struct ss_model_trace *mt, uint32_t track)
{
	size_t h = 0;
	while (h + 1 < mt->nhosts && track >= mt->first_track[h + 1])
		h++;
	return h;
}

/* The device that a track belongs to; of a track of threads the first one. */
static const struct ss_idle_unit *unit_of(const struct search *s)
{
	const struct ss_idle *idle = s->idle;
	uint32_t own = s->q->track == SS_NONE ? SS_NONE : s->q->track - s->mt->first_track[s->h];
	if (own < s->mt->hosts[s->h]->ntracks) {
		const struct ss_plane *p = s->mt->hosts[s->h]->tracks[own].plane;
		for (size_t i = 0; i < idle->nunits; i++)
			if (ss_str_eq(idle->units[i].device, p->name))
				return &idle->units[i];
		if (idle->nunits >= SS_MOST_UNITS && p->kind != SS_PLANE_HOST_CPU)
			return NULL; /* it was not looked at */
	}
	return idle->nunits ? &idle->units[0] : NULL;
}

static bool find_unit(struct search *s, struct ss_err *err)
{
	size_t first = s->q->track == SS_NONE ? 0 : host_of_track(s->mt, s->q->track);
	size_t last = s->q->track == SS_NONE ? s->mt->nhosts : first + 1;
	for (s->h = first; s->h < last && s->h < s->mt->nhosts; s->h++) {
		s->idle = ss_host_idle(s->m->hosts[s->h], err);
		if (!s->idle)
			return false;
		s->unit = unit_of(s);
		if (s->unit)
			return true;
	}
	return true;
}

static uint64_t length_ps(const struct ss_idle_gap *g)
{
	return ss_safe_between(g->begin_ps, g->end_ps);
}

static const struct ss_idle_gap *find_gap(const struct search *s)
{
	const struct ss_idle_unit *u = s->unit;
	int64_t at_ps = (int64_t)ss_trace_own(s->mt, s->h, s->q->at_ps);
	size_t lo = 0, hi = u->n;
	if (s->q->where == SS_GAP_PREVIOUS) {
		SS_BISECT(lo, hi, mid, u->v[mid].begin_ps < at_ps);
		for (; lo > 0; lo--)
			if (length_ps(&u->v[lo - 1]) >= s->q->least_ps)
				return &u->v[lo - 1];
		return NULL;
	}
	if (s->q->where == SS_GAP_HERE) {
		SS_BISECT(lo, hi, mid, u->v[mid].end_ps <= at_ps);
		return lo < u->n && u->v[lo].begin_ps <= at_ps ? &u->v[lo] : NULL;
	}
	SS_BISECT(lo, hi, mid, u->v[mid].begin_ps <= at_ps);
	for (; lo < u->n; lo++)
		if (length_ps(&u->v[lo]) >= s->q->least_ps)
			return &u->v[lo];
	return NULL;
}

/* ---- events around it ---- */

struct place {
	uint32_t track, pos;
	uint64_t begin_ps, dur_ps;
	bool known;
};

static struct place place_of(const struct ss_trace *tr, uint32_t track, uint32_t pos)
{
	const struct ss_track *t = &tr->tracks[track];
	return (struct place){ track, pos, ss_track_begin_ps(t, pos), ss_track_dur_ps(t, pos), true };
}

/* The operation that begins where the gap ends: of several the innermost, which is the shortest. */
static struct place find_end(const struct search *s)
{
	const struct ss_trace *tr = s->mt->hosts[s->h];
	uint64_t end_ps = (uint64_t)s->gap->end_ps;
	struct place best = { 0 };
	for (uint32_t i = 0; i < tr->ntracks; i++) {
		const struct ss_track *t = &tr->tracks[i];
		bool works = !s->unit->device.n || (ss_str_eq(t->plane->name, s->unit->device) && t->line->line &&
						    ss_is_work_line(t->plane, t->line->line));
		if (t->kind != SS_TRACE_SLICES || !works)
			continue;
		for (uint32_t k = ss_track_lower(t, end_ps); k < t->n && ss_track_begin_ps(t, k) == end_ps; k++) {
			struct place p = place_of(tr, i, k);
			if (t->level[k] != SS_TRACE_HIDDEN && p.dur_ps && (!best.known || p.dur_ps <= best.dur_ps))
				best = p;
		}
	}
	return best;
}

/* The call that asked for it. */
static struct place find_launch(const struct search *s, const struct place *end)
{
	const struct ss_trace *tr = s->mt->hosts[s->h];
	const struct ss_track_flow *own = end->known ? ss_track_flow(&tr->tracks[end->track], end->pos) : NULL;
	struct place best = { 0 };
	for (uint32_t i = 0; own && (own->dir & SS_FLOW_IN) && i < tr->ntracks; i++) {
		const struct ss_track *t = &tr->tracks[i];
		for (uint32_t k = 0; i != end->track && k < t->nflows; k++) {
			if (t->flows[k].flow != own->flow || !(t->flows[k].dir & SS_FLOW_OUT))
				continue;
			struct place p = place_of(tr, i, t->flows[k].pos);
			if (p.begin_ps <= end->begin_ps && (!best.known || p.begin_ps > best.begin_ps))
				best = p;
		}
	}
	return best;
}

/* The innermost event that takes at least half of the gap, on the thread that starts programs. */
static bool find_host(const struct search *s, struct place *best, struct ss_err *err)
{
	const struct ss_trace *tr = s->mt->hosts[s->h];
	uint8_t *wanted = calloc((size_t)tr->ntracks + 1, 1);
	struct ss_trace_range r = { .begin_ps = (uint64_t)s->gap->begin_ps, .end_ps = (uint64_t)s->gap->end_ps,
				    .flow_mids = true, .tracks = wanted };
	struct ss_trace_hits hits;
	if (!wanted)
		return ss_fail_mem(err);
	for (uint32_t i = 0; i < tr->ntracks; i++)
		wanted[i] = s->idle->has_starter && tr->tracks[i].plane->kind == SS_PLANE_HOST_CPU &&
			    tr->tracks[i].line->id == s->idle->starter_id && tr->tracks[i].kind == SS_TRACE_SLICES;
	bool ok = ss_trace_select(tr, &r, &hits, err);
	for (uint32_t i = 0; ok && i < tr->ntracks; i++)
		for (uint32_t k = 0; k < hits.tracks[i].n; k++) {
			struct place p = place_of(tr, i, hits.pos[hits.tracks[i].first + k]);
			uint64_t end_ps = ss_trace_end_ps(p.begin_ps, p.dur_ps);
			uint64_t from_ps = p.begin_ps > r.begin_ps ? p.begin_ps : r.begin_ps;
			uint64_t to_ps = end_ps < r.end_ps ? end_ps : r.end_ps;
			bool half = to_ps > from_ps && to_ps - from_ps >= length_ps(s->gap) / 2;
			if (half && (!best->known || p.dur_ps <= best->dur_ps) &&
			    !ss_is_step_marker_name(ss_track_event_name(&tr->tracks[i], p.pos)))
				*best = p;
		}
	if (ok)
		ss_trace_hits_free(&hits);
	free(wanted);
	return ok;
}

/* ---- in words ---- */

/* What happens in time of a class, as the end of "for most of it". */
static const char *meaning(enum ss_time_class c, bool device)
{
	switch (c) {
	case SS_TIME_COLLECTIVE:
		return "the host exchanges data with other processes";
	case SS_TIME_COPY:
		return "the host copies data";
	case SS_TIME_CALLBACK:
		return "the compiled program runs Python";
	case SS_TIME_INPUT:
		return "the program waits for input data";
	case SS_TIME_COMPILE:
		return "a program is traced or compiled";
	case SS_TIME_GC:
		return "Python collects garbage";
	case SS_TIME_LOCK:
		return "the program waits for another of its threads";
	case SS_TIME_HOST_CODE:
		return "the program's own code runs on the host";
	case SS_TIME_LAUNCH:
		return "the host starts work";
	case SS_TIME_SYNC:
		return "the host waits for a result";
	default:
		return device ? "the recording does not show what the device waits for"
			      : "the recording does not show what the program does";
	}
}

/* "12.3 ms" */
#define TIME(ps) ss_value_words(SS_UNIT_PS, (double)(ps)).s

static struct ss_str name_at(const struct search *s, const struct place *p)
{
	const struct ss_trace *tr = s->mt->hosts[s->h];
	return ss_cxx_short_name(ss_track_event_name(&tr->tracks[p->track], p->pos), s->arena);
}

static void say_gap(struct ss_result *r, const struct search *s)
{
	const struct ss_idle_gap *g = s->gap;
	bool device = s->unit->device.n > 0;
	struct ss_str who = device ? s->unit->device : SS_STR("The program");
	const char *does = device ? "does" : "computes", *what = meaning(g->class, device);
	if (g->class_ps >= length_ps(g))
		ss_say(r, SS_FMT " %s nothing for %s: %s.", SS_ARG(who), does, TIME(length_ps(g)), what);
	else
		ss_say(r, SS_FMT " %s nothing for %s. For %s of this, %s.", SS_ARG(who), does, TIME(length_ps(g)),
		       TIME(g->class_ps), what);
}

/* Was what ended the gap asked for in it, or long before? */
static void say_launch(struct ss_result *r, const struct search *s, const struct place *launch, const struct place *end)
{
	uint64_t begin_ps = (uint64_t)s->gap->begin_ps, done_ps = ss_trace_end_ps(launch->begin_ps, launch->dur_ps);
	struct ss_str name = name_at(s, launch);
	bool after = end->begin_ps > done_ps;
	if (done_ps <= begin_ps)
		ss_say(r, "Its launch, '" SS_FMT "', ended %s before the gap: the launch is not what the device waited for.",
		       SS_ARG(name), TIME(begin_ps - done_ps));
	else if (launch->begin_ps < begin_ps)
		ss_say(r, "Its launch, '" SS_FMT "', was under way when the gap began.", SS_ARG(name));
	else
		ss_say(r,
		       "Its launch, '" SS_FMT "', began %s after the gap began, and the device began %s after the %s of "
		       "the launch.",
		       SS_ARG(name), TIME(launch->begin_ps - begin_ps),
		       TIME(after ? end->begin_ps - done_ps : end->begin_ps - launch->begin_ps), after ? "end" : "begin");
}

static void say_share(struct ss_result *r, const struct search *s)
{
	const struct ss_idle_unit *u = s->unit;
	enum ss_time_class c = s->gap->class;
	uint64_t count = 0, window_ps = ss_safe_between(s->idle->begin_ps, s->idle->end_ps);
	struct ss_str class = ss_time_class_name(c);
	for (int i = 0; i < SS_TIME_COUNT; i++)
		count += u->count[i];
	struct ss_words share = ss_value_words(SS_UNIT_FRAC, window_ps ? (double)u->ps[c] / (double)window_ps : 0);
	if (u->count[c] < 2)
		ss_say(r, "No other of %s has this main cause (" SS_FMT "). It is %s of the time that was searched.",
		       ss_count_words((double)count, "gap").s, SS_ARG(class), share.s);
	else
		ss_say(r, "%llu of %llu gaps have the same main cause (" SS_FMT "): %s in all, %s of the time that was searched.",
		       (unsigned long long)u->count[c], (unsigned long long)count, SS_ARG(class), TIME(u->ps[c]), share.s);
}

static void say(struct ss_result *r, const struct search *s, const struct place *end, const struct place *launch,
		const struct place *host)
{
	say_gap(r, s);
	if (!end->known && s->gap->end_ps >= s->idle->end_ps)
		ss_say(r, "It lasts until the end of the time that was searched.");
	if (end->known)
		ss_say(r, "'" SS_FMT "' ends it.", SS_ARG(name_at(s, end)));
	if (launch->known)
		say_launch(r, s, launch, end);
	if (host->known && s->idle->starter.n)
		ss_say(r, "Meanwhile the thread that starts programs, '" SS_FMT "', is mostly in '" SS_FMT "'.",
		       SS_ARG(s->idle->starter), SS_ARG(name_at(s, host)));
	else if (host->known)
		ss_say(r, "Meanwhile the thread that starts programs is mostly in '" SS_FMT "'.", SS_ARG(name_at(s, host)));
	say_share(r, s);
}

static void say_none(struct ss_result *r, const struct search *s)
{
	if (!s->unit) {
		ss_say(r, "This trace does not show what devices do.");
		return;
	}
	struct ss_str who = s->unit->device.n ? s->unit->device : SS_STR("the program");
	if (s->q->where == SS_GAP_HERE)
		ss_say(r, SS_FMT " works at this moment, or the moment lies outside of the steps.", SS_ARG(who));
	else if (s->q->least_ps)
		ss_say(r, "There is no %s gap of at least %s on " SS_FMT ". Zoom in to find shorter ones.",
		       s->q->where == SS_GAP_NEXT ? "later" : "earlier", TIME(s->q->least_ps), SS_ARG(who));
	else
		ss_say(r, "There is no %s gap on " SS_FMT ".", s->q->where == SS_GAP_NEXT ? "later" : "earlier", SS_ARG(who));
}

/* ---- the answer ---- */

static bool add(struct ss_timeline_build *b, const struct search *s, const struct place *p, size_t *at, struct ss_err *err)
{
	*at = p->known ? b->tl->nslices : SIZE_MAX;
	return !p->known || ss_timeline_add(b, s->h, p->track, &p->pos, 1, err);
}

static bool explain(struct ss_tl_gap *out, struct ss_timeline_build *b, struct search *s, struct ss_result *r, struct ss_err *err)
{
	struct place end = find_end(s), launch = find_launch(s, &end), host = { 0 };
	out->found = true;
	out->begin_ps = ss_trace_shown(s->mt, s->h, (uint64_t)s->gap->begin_ps);
	out->end_ps = ss_trace_shown(s->mt, s->h, (uint64_t)s->gap->end_ps);
	out->device = s->unit->device;
	out->class = ss_time_class_name(s->gap->class);
	if (!find_host(s, &host, err) || !ss_timeline_reserve(b, 3, err) || !add(b, s, &end, &out->ended_by, err) ||
	    !add(b, s, &launch, &out->launch, err) || !add(b, s, &host, &out->host, err))
		return false;
	say(r, s, &end, &launch, &host);
	return true;
}

bool ss_timeline_gap(struct ss_tl_gap *out, struct ss_model *m, const struct ss_timeline_gap_query *q, struct ss_arena *arena,
		     struct ss_err *err)
{
	struct ss_timeline_build b;
	struct ss_result r;
	struct search s = { .m = m, .q = q, .arena = arena };
	*out = (struct ss_tl_gap){ .device = SS_STR(""), .class = SS_STR(""), .ended_by = SIZE_MAX, .launch = SIZE_MAX,
				   .host = SIZE_MAX };
	ss_result_init(&r, arena);
	bool ok = ss_timeline_begin(&b, m, 0, arena, err);
	s.mt = b.mt;
	if (ok && q->track != SS_NONE && q->track >= b.tl->ntracks)
		ok = ss_fail(err, SS_ENOTFOUND, "there is no track %u; this selection has %zu", q->track, b.tl->ntracks);
	ok = ok && find_unit(&s, err);
	if (ok && s.unit)
		s.gap = find_gap(&s);
	if (ok && s.gap)
		ok = explain(out, &b, &s, &r, err);
	else if (ok)
		say_none(&r, &s);
	ok = ok && ss_result_is_whole(&r, err);
	if (!ss_timeline_end(&b) && ok)
		ok = ss_fail_mem(err);
	out->tl = b.tl;
	out->conclusion = r.conclusion;
	return ok;
}

/* ---- steps ---- */

static int by_length(const void *a, const void *b)
{
	const struct ss_tl_step *const *sa = a, *const *sb = b;
	uint64_t la = (*sa)->end_ps - (*sa)->begin_ps, lb = (*sb)->end_ps - (*sb)->begin_ps;
	return SS_CMP(la, lb) ?: SS_CMP(*sa, *sb);
}

/* Which of them is in the middle by its length, and which is last. */
static bool rank(struct ss_tl_steps *out)
{
	struct ss_tl_step **order = calloc(out->n + 1, sizeof(*order));
	if (!order)
		return false;
	for (size_t i = 0; i < out->n; i++)
		order[i] = &out->v[i];
	if (out->n) {
		qsort(order, out->n, sizeof(*order), by_length);
		out->median = (size_t)(order[(out->n - 1) / 2] - out->v);
		out->slowest = (size_t)(order[out->n - 1] - out->v);
	}
	free(order);
	return true;
}

bool ss_timeline_steps(struct ss_tl_steps *out, struct ss_model *m, struct ss_arena *arena, struct ss_err *err)
{
	const struct ss_model_trace *mt = ss_model_trace(m, err);
	*out = (struct ss_tl_steps){ .source = ss_step_source_name(SS_STEPS_NONE) };
	if (!mt)
		return false;
	for (size_t h = 0; h < m->nhosts; h++) {
		const struct ss_time_host *t = ss_host_attribution(m->hosts[h], err);
		if (!t)
			return false;
		if (!t->windows.n)
			continue;
		out->source = ss_step_source_name(t->windows.source);
		out->v = SS_NEW_N(arena, struct ss_tl_step, t->windows.n);
		if (!out->v)
			return ss_fail_mem(err);
		for (; out->n < t->windows.n; out->n++) {
			const struct ss_window *w = &t->windows.v[out->n];
			out->v[out->n] = (struct ss_tl_step){
				w->num, ss_trace_shown(mt, h, (uint64_t)w->begin_ps),
				ss_trace_shown(mt, h, (uint64_t)w->end_ps), w->outlier,
			};
		}
		break;
	}
	return rank(out) || ss_fail_mem(err);
}
