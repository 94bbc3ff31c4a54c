/*
 * trace_viewer.c - trace_viewer@: the events of a stretch of time, as XProf's own page asks for
 * them (docs/tools/trace_viewer.md).
 *
 * Three questions, told apart by their parameters:
 * - event_name: one event with all its arguments, named by what the page knows of it (its name,
 *   start, duration, and unique_id);
 * - search_prefix: all events whose name begins so, whatever the range;
 * - otherwise: what to draw of [start_time_ms, end_time_ms] at `resolution` points across.
 * As tables these are rows of events; without any parameter, the tracks there are.
 *
 * unique_id (the argument `uid` of events that are sent without their arguments) is the number of
 * the event within its host. XProf gives the serial number among events of equal time, drops what
 * goes beyond 255 of them, and so cannot tell more than 256 apart; we drop nothing.
 */
#include "base/vec.h"

#include "model/cluster/aligned.h"
#include "model/model.h"
#include "tools/timeline_build.h"
#include "tools/timeline_words.h"
#include "tools/tool.h"

#include <math.h>
#include <stdlib.h>

/* Hosts with fewer events are always answered in full. */
#define ALWAYS_WHOLE 500000u

static const struct ss_param params[] = {
	{ "start_time_ms", "ms", NULL, "Begin of the range" },
	{ "end_time_ms", "ms", NULL, "End of the range" },
	{ "resolution", "points", "8000", "Width of the drawing in points; 0: every event" },
	{ "full_dma", "true|false", "false", "Also flow events between begin and end of a transfer" },
	{ "search_prefix", "text", NULL, "All events whose name begins so, over the whole trace" },
	{ "search_metadata", "true|false", "false", "With search_prefix: send the arguments as well" },
	{ "event_name", "name", NULL, "One event with its arguments, together with the next two and unique_id" },
	{ "duration_ms", "ms", NULL, "Its duration" },
	{ "unique_id", "number", NULL, "Its uid" },
	{ "clocks", "recorded|aligned", "recorded", "aligned: several hosts' times on one clock, found from their collectives" },
};

struct options {
	uint64_t start_ps, end_ps;	/* end 0: to the end */
	uint64_t dur_ps, unique_id;
	uint64_t resolution;
	bool full_dma, search_metadata;
	struct ss_str event_name, search_prefix;
};

const struct ss_tool ss_tool_trace_viewer_stream;

/* ms as ps; absent is 0. */
static bool time_param(const struct ss_request *q, const char *name, uint64_t *out, struct ss_err *err)
{
	int64_t ps = 0;
	bool ok = ss_request_time_ps(q, &ss_tool_trace_viewer_stream, name, &ps, err);
	*out = (uint64_t)ps;
	return ok;
}

static bool number_param(const struct ss_request *q, const char *name, uint64_t *out, struct ss_err *err)
{
	struct ss_str v = ss_request_param(q, &ss_tool_trace_viewer_stream, name);
	double n;
	*out = 0;
	if (v.n == 0)
		return true;
	if (!ss_str_to_f64(v, &n) || isnan(n))
		return ss_fail(err, SS_EINVAL, "%s must be a number, not '" SS_FMT "'", name, SS_ARG(v));
	*out = n <= 0 ? 0 : n >= 9e18 ? (uint64_t)INT64_MAX : (uint64_t)n;
	return true;
}

static bool bool_param(const struct ss_request *q, const char *name)
{
	struct ss_str v = ss_request_param(q, &ss_tool_trace_viewer_stream, name);
	return ss_str_is(v, "true") || ss_str_is(v, "True") || ss_str_is(v, "1");
}

static bool read_options(const struct ss_request *q, struct options *o, struct ss_err *err)
{
	*o = (struct options){
		.full_dma = bool_param(q, "full_dma"), .search_metadata = bool_param(q, "search_metadata"),
		.event_name = ss_request_param(q, &ss_tool_trace_viewer_stream, "event_name"),
		.search_prefix = ss_request_param(q, &ss_tool_trace_viewer_stream, "search_prefix"),
	};
	return time_param(q, "start_time_ms", &o->start_ps, err) && time_param(q, "end_time_ms", &o->end_ps, err) &&
	       time_param(q, "duration_ms", &o->dur_ps, err) && number_param(q, "resolution", &o->resolution, err) &&
	       number_param(q, "unique_id", &o->unique_id, err);
}

/*
 * Each host is cut to its own length and judged at its own resolution, as XProf has a store for
 * each.
 */
static struct ss_trace_range range_of(const struct ss_model_trace *mt, size_t h, const struct options *o)
{
	const struct ss_trace *tr = mt->hosts[h];
	struct ss_trace_range r = { .flow_mids = o->full_dma, .begin_ps = tr->begin_ps, .end_ps = tr->end_ps };
	uint64_t start_ps = ss_trace_own(mt, h, o->start_ps), end_ps = ss_trace_own(mt, h, o->end_ps);
	if (start_ps > r.begin_ps)
		r.begin_ps = start_ps;
	if (o->end_ps && end_ps < r.end_ps)
		r.end_ps = end_ps;
	if (o->resolution && tr->nshown >= ALWAYS_WHOLE && r.end_ps > r.begin_ps)
		r.res_ps = (uint64_t)llround((double)(r.end_ps - r.begin_ps) / (double)o->resolution);
	return r;
}

/* What one host contributes, by track. */
static bool add_hits(struct ss_timeline_build *b, size_t h, const struct ss_trace_hits *hits, struct ss_err *err)
{
	for (uint32_t i = 0; i < b->mt->hosts[h]->ntracks; i++) {
		const uint32_t *pos = hits->pos ? hits->pos + hits->tracks[i].first : NULL;
		if (!ss_timeline_add(b, h, i, pos, hits->tracks[i].n, err))
			return false;
	}
	return true;
}

/* Fills *out for one host; what is left of it after a failure is for the caller to free. */
typedef bool find_fn(const struct ss_timeline_build *b, size_t h, const struct options *o, struct ss_trace_hits *out,
		     struct ss_err *err);

static bool find_range(const struct ss_timeline_build *b, size_t h, const struct options *o, struct ss_trace_hits *out,
		       struct ss_err *err)
{
	struct ss_trace_range r = range_of(b->mt, h, o);
	return ss_trace_select(b->mt->hosts[h], &r, out, err);
}

static bool find_prefix(const struct ss_timeline_build *b, size_t h, const struct options *o, struct ss_trace_hits *out,
			struct ss_err *err)
{
	return ss_trace_match(b->mt->hosts[h], o->search_prefix, SS_MATCH_PREFIX, out, err);
}

/* Is this the event that the page means? Its times went through doubles of ms and back. */
static bool is_meant(const struct ss_track *t, uint32_t pos, const struct options *o)
{
	uint64_t begin_ps = ss_track_begin_ps(t, pos), dur_ps = ss_track_dur_ps(t, pos);
	uint64_t slack_ps = 1 + (begin_ps >> 50), off_ps = begin_ps > o->start_ps ? begin_ps - o->start_ps : o->start_ps - begin_ps;
	/* A point is sent as 1 ps long. */
	return off_ps <= slack_ps && (dur_ps == o->dur_ps || (dur_ps == 0 && o->dur_ps == 1)) &&
	       t->level[pos] != SS_TRACE_HIDDEN && ss_str_eq(ss_track_event_name(t, pos), o->event_name);
}

static bool add_one(const struct ss_trace *tr, uint32_t track, uint32_t pos, struct ss_trace_hits *out)
{
	if (!ss_grow((void **)&out->pos, &out->cap, 1, sizeof(*out->pos)))
		return false;
	for (uint32_t i = track; i < tr->ntracks; i++)
		out->tracks[i].first = i > track;
	out->tracks[track].n = 1;
	out->pos[out->n++] = pos;
	return true;
}

/*
 * By its number; or else, as numbers may come from another selection or from XProf, the first of
 * this name at this time.
 */
static bool find_event(const struct ss_timeline_build *b, size_t h, const struct options *o, struct ss_trace_hits *out,
		       struct ss_err *err)
{
	const struct ss_trace *tr = b->mt->hosts[h];
	struct options own = *o;
	own.start_ps = ss_trace_own(b->mt, h, o->start_ps);
	uint32_t track = ss_trace_track_of(tr, o->unique_id);
	*out = (struct ss_trace_hits){ .tracks = calloc((size_t)tr->ntracks + 1, sizeof(*out->tracks)) };
	if (!out->tracks)
		return ss_fail_mem(err);
	if (track != SS_NONE) {
		uint32_t pos = (uint32_t)o->unique_id - tr->tracks[track].first;
		if (is_meant(&tr->tracks[track], pos, &own))
			return add_one(tr, track, pos, out) || ss_fail_mem(err);
	}
	for (uint32_t i = 0; i < tr->ntracks; i++) {
		const struct ss_track *t = &tr->tracks[i];
		uint64_t slack_ps = 1 + (own.start_ps >> 50);
		uint32_t pos = ss_track_lower(t, own.start_ps > slack_ps ? own.start_ps - slack_ps : 0);
		for (; pos < t->n && ss_track_begin_ps(t, pos) <= own.start_ps + slack_ps; pos++)
			if (is_meant(t, pos, &own))
				return add_one(tr, i, pos, out) || ss_fail_mem(err);
	}
	return true;
}

/* Count over all hosts, then fill. */
static bool collect(struct ss_timeline_build *b, const struct options *o, find_fn *find, struct ss_trace_hits *hits,
		    struct ss_err *err)
{
	size_t total = 0;
	for (size_t h = 0; h < b->mt->nhosts; h++) {
		if (!find(b, h, o, &hits[h], err))
			return false;
		total += hits[h].n;
		/* One event is looked for in one host after the other, until it is found. */
		if (find == find_event && total)
			break;
	}
	if (find == find_event && total == 0)
		return ss_fail(err, SS_ENOTFOUND, "event not found");
	if (!ss_timeline_reserve(b, total, err))
		return false;
	for (size_t h = 0; h < b->mt->nhosts; h++)
		if (hits[h].tracks && !add_hits(b, h, &hits[h], err))
			return false;
	return true;
}

static bool answer(const struct ss_request *q, struct ss_model *m, const struct options *o, find_fn *find, unsigned fill,
		   struct ss_result *out, struct ss_err *err)
{
	struct ss_timeline_build b;
	struct ss_trace_hits *hits = calloc(q->model->nhosts + 1, sizeof(*hits));
	if (!hits)
		return ss_fail_mem(err);
	bool ok = ss_timeline_begin(&b, m, fill, q->arena, err) && collect(&b, o, find, hits, err);
	for (size_t h = 0; h < q->model->nhosts; h++)
		ss_trace_hits_free(&hits[h]);
	free(hits);
	if (!ss_timeline_end(&b))
		ok = ss_fail_mem(err);
	if (!ok)
		return false;
	b.tl->full_dma = o->full_dma;
	out->timeline = b.tl;
	return true;
}

static bool note_clocks(struct ss_result *out, struct ss_model *m, struct ss_err *err)
{
	const struct ss_cluster *c = ss_model_cluster(m, err);
	if (!c)
		return false;
	ss_result_note(out, SS_INFO, ss_clocks_words(c, out->arena));
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct options o;
	struct ss_model *m = read_options(q, &o, err) ? ss_request_clocks(q, &ss_tool_trace_viewer_stream, err) : NULL;
	if (!m)
		return false;
	const unsigned fill = SS_TL_GROUPS | SS_TL_FLOWS;
	bool all = !o.event_name.n && !o.search_prefix.n && !o.start_ps && !o.end_ps, ok;
	if (q->as_tables && all)
		return ss_timeline_tracks(out, m, err) && (!m->aligned || note_clocks(out, m, err));
	if (o.event_name.n)
		ok = answer(q, m, &o, find_event, fill | SS_TL_ARGS, out, err);
	else if (o.search_prefix.n)
		ok = answer(q, m, &o, find_prefix, fill | (o.search_metadata ? SS_TL_ARGS : 0), out, err);
	else
		ok = answer(q, m, &o, find_range, fill, out, err);
	if (!ok)
		return false;
	if (q->as_tables)
		ss_timeline_events(out);
	return !m->aligned || note_clocks(out, m, err);
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_request own = *q;
	own.model = ss_request_clocks(q, &ss_tool_trace_viewer_stream, err);
	return own.model && ss_timeline_conclude(&own, out, err);
}

const struct ss_tool ss_tool_trace_viewer_stream = {
	.name = "trace_viewer@",
	.title = "Trace viewer",
	.summary = "Every event on a time line: devices, streams, threads, counters",
	.kind = SS_KIND_TIMELINE,
	.flags = SS_TOOL_ALL_HOSTS,
	.params = params,
	.nparams = SS_COUNT(params),
	.run = run,
	.conclude = conclude,
};
