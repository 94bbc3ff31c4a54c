/*
 * timeline_tables.c - a timeline for those who read tables: which tracks there are and how full they
 * are, or the events of a stretch that was asked for.
 */
#include "table/timeline.h"

#include "model/timeline/trace.h"
#include "tools/timeline.h"
#include "tools/timeline_words.h"

enum { TR_SECTION, TR_TRACK, TR_KIND, TR_EVENTS, TR_DEPTH, TR_BEGIN, TR_END, TR_BUSY };

static const struct ss_col track_cols[] = {
	{ "section", "Section", SS_TYPE_STR, SS_UNIT_NONE, "Device, or threads of a host", NULL },
	{ "track", "Track", SS_TYPE_STR, SS_UNIT_NONE, "Line of the profile: stream, thread or counter", NULL },
	{ "kind", "Kind", SS_TYPE_STR, SS_UNIT_NONE, "slices, counter or async", NULL },
	{ "events", "Events", SS_TYPE_I64, SS_UNIT_COUNT, "Events on it", NULL },
	{ "depth", "Depth", SS_TYPE_I64, SS_UNIT_COUNT, "Maximum nesting depth of the events", NULL },
	{ "begin_ps", "First begin", SS_TYPE_I64, SS_UNIT_PS, "Since the start of the profile", NULL },
	{ "end_ps", "Last end", SS_TYPE_I64, SS_UNIT_PS, "Since the start of the profile", NULL },
	{ "busy_ps", "In events", SS_TYPE_I64, SS_UNIT_PS, "Sum of the durations of its outermost events", NULL },
};

static int64_t clamped(uint64_t ps)
{
	return ps > INT64_MAX ? INT64_MAX : (int64_t)ps;
}

static void add_track(struct ss_table *out, struct ss_str section, const struct ss_track *t,
		      const struct ss_model_trace *mt, size_t h)
{
	static const char *const kinds[] = {
		[SS_TRACE_SLICES] = "slices", [SS_TRACE_COUNTER] = "counter", [SS_TRACE_ASYNC] = "async",
	};
	uint64_t begin_ps = UINT64_MAX, end_ps = 0, busy_ps = 0;
	for (uint32_t pos = 0; pos < t->n; pos++) {
		if (t->level[pos] == SS_TRACE_HIDDEN)
			continue;
		uint64_t at_ps = ss_track_begin_ps(t, pos), dur_ps = ss_track_dur_ps(t, pos);
		uint64_t until_ps = ss_trace_end_ps(at_ps, dur_ps);
		begin_ps = at_ps < begin_ps ? at_ps : begin_ps;
		end_ps = until_ps > end_ps ? until_ps : end_ps;
		busy_ps = t->kind == SS_TRACE_SLICES && !ss_track_row(t, pos) ? ss_trace_end_ps(busy_ps, dur_ps) : busy_ps;
	}
	if (!t->nshown)
		return;
	ss_table_row(out);
	ss_set_str(out, TR_SECTION, section);
	ss_set_str(out, TR_TRACK, t->name);
	ss_set_str(out, TR_KIND, ss_str_from(kinds[t->kind]));
	ss_set_i64(out, TR_EVENTS, t->nshown);
	ss_set_i64(out, TR_DEPTH, t->nrows);
	ss_set_i64(out, TR_BEGIN, clamped(ss_trace_shown(mt, h, begin_ps)));
	ss_set_i64(out, TR_END, clamped(ss_trace_shown(mt, h, end_ps)));
	ss_set_i64(out, TR_BUSY, clamped(busy_ps));
}

bool ss_timeline_tracks(struct ss_result *out, struct ss_model *m, struct ss_err *err)
{
	const struct ss_timeline *tl = ss_timeline_layout(m, out->arena, err);
	const struct ss_model_trace *mt = tl ? ss_model_trace(m, err) : NULL;
	struct ss_table *t = mt ? ss_result_table(out, "tracks", "Tracks", track_cols, SS_COUNT(track_cols)) : NULL;
	if (!t)
		return mt ? ss_fail_mem(err) : false;
	for (size_t h = 0; h < mt->nhosts; h++)
		for (uint32_t i = 0; i < mt->hosts[h]->ntracks; i++) {
			size_t section = tl->tracks[mt->first_track[h] + i].section;
			add_track(t, tl->sections[section].name, &mt->hosts[h]->tracks[i], mt, h);
		}
	return true;
}

enum { EV_NAME, EV_SECTION, EV_TRACK, EV_BEGIN, EV_DUR, EV_DEPTH, EV_GROUP, EV_UID };

static const struct ss_col event_cols[] = {
	{ "name", "Event", SS_TYPE_STR, SS_UNIT_NONE, NULL, NULL },
	{ "section", "Section", SS_TYPE_STR, SS_UNIT_NONE, "Device, or threads of a host", NULL },
	{ "track", "Track", SS_TYPE_STR, SS_UNIT_NONE, "Line of the profile: stream, thread or counter", NULL },
	{ "begin_ps", "Begin", SS_TYPE_I64, SS_UNIT_PS, "Since the start of the profile", NULL },
	{ "dur_ps", "Duration", SS_TYPE_I64, SS_UNIT_PS, NULL, NULL },
	{ "depth", "Depth", SS_TYPE_I64, SS_UNIT_COUNT, "Number of enclosing events on its track", NULL },
	{ "group_id", "Step group", SS_TYPE_I64, SS_UNIT_NONE, "Number of the step of the event; -1: no step", "id" },
	{ "uid", "Number", SS_TYPE_I64, SS_UNIT_NONE, "Number of the event on its host: the parameter unique_id that selects "
	    "it", NULL },
};

void ss_timeline_events(struct ss_result *out)
{
	const struct ss_timeline *tl = out->timeline;
	struct ss_table *t = ss_result_table(out, "events", "Events", event_cols, SS_COUNT(event_cols));
	ss_table_reserve(t, tl->nslices);
	if (!tl->nslices)
		ss_result_note(out, SS_INFO, SS_STR("the trace holds no event of the selection"));
	for (size_t i = 0; i < tl->nslices; i++) {
		const struct ss_tl_slice *s = &tl->slices[i];
		const struct ss_tl_track *track = &tl->tracks[s->track];
		ss_table_row(t);
		ss_set_str(t, EV_NAME, tl->names[s->name]);
		ss_set_str(t, EV_SECTION, tl->sections[track->section].name);
		ss_set_str(t, EV_TRACK, track->name);
		ss_set_i64(t, EV_BEGIN, clamped(s->begin_ps));
		ss_set_i64(t, EV_DUR, clamped(s->dur_ps));
		ss_set_i64(t, EV_DEPTH, s->row);
		ss_set_i64(t, EV_GROUP, s->group);
		ss_set_i64(t, EV_UID, s->uid);
	}
	out->timeline = NULL;
}
