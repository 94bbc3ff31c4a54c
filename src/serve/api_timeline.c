/*
 * api_timeline.c - the timeline of the page: tracks, what to draw, one event, search, sums
 * (docs/api.md).
 */
#include "emit/json.h"
#include "emit/slices.h"
#include "model/cluster/aligned.h"
#include "serve/call.h"
#include "tools/timeline.h"
#include "tools/timeline_words.h"

#include <stddef.h>
#include <stdlib.h>

#define MAX_WIDTH_PX 32768
#define MAX_LIST 65536		/* tracks or rows in one request */
#define DEFAULT_LIMIT 200
#define MAX_LIMIT 10000
#define MAX_BINS 2048

/* A parameter that is a whole number; absent: `preset`, or a failure where that is UINT64_MAX. */
static bool number(const struct ss_call *c, const char *name, uint64_t preset, uint64_t max, uint64_t *out,
		   struct ss_err *err)
{
	struct ss_str v = ss_call_arg(c, name);
	*out = preset;
	if (!v.n && preset != UINT64_MAX)
		return true;
	if (!v.n)
		return ss_fail(err, SS_EINVAL, "the parameter '%s' is missing", name);
	if (ss_str_to_u64(v, out) && *out <= max)
		return true;
	return ss_fail(err, SS_EINVAL, "the parameter '%s' is '%.*s', not a whole number up to %llu", name,
		       v.n > 60 ? 60 : (int)v.n, v.p, (unsigned long long)max);
}

static bool range(const struct ss_call *c, uint64_t *begin_ps, uint64_t *end_ps, struct ss_err *err)
{
	if (!number(c, "begin_ps", UINT64_MAX, INT64_MAX, begin_ps, err) ||
	    !number(c, "end_ps", UINT64_MAX, INT64_MAX, end_ps, err))
		return false;
	return *begin_ps <= *end_ps || ss_fail(err, SS_EINVAL, "begin_ps is after end_ps");
}

/* A question and what is asked behind it, in one piece of memory. */
struct asked {
	ss_job_fn *make;
	bool aligned;		/* of the hosts with their clocks aligned */
	_Alignas(max_align_t) char arg[];
};

static bool make_asked(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	struct asked *a = arg;
	struct ss_model *of = a->aligned ? ss_model_aligned(m, err) : m;
	return of && a->make(of, a->arg, arena, o, err);
}

static bool read_clocks(const struct ss_call *c, bool *aligned, struct ss_err *err)
{
	struct ss_str clocks = ss_call_arg(c, "clocks");
	*aligned = ss_str_is(clocks, "aligned");
	return *aligned || !clocks.n || ss_str_is(clocks, "recorded") ||
	       ss_fail(err, SS_EINVAL, "the parameter 'clocks' must be recorded or aligned");
}

/* The run and hosts asked for; all parameters of the route as part of the key. */
static bool answer(struct ss_call *c, const char *route, const char *const *names, size_t nnames, const char *type,
		   ss_job_fn *make, const void *arg, size_t arg_bytes, struct ss_err *err)
{
	static const struct ss_tool timeline = { .name = "", .kind = SS_KIND_TIMELINE, .flags = SS_TOOL_ALL_HOSTS };
	struct ss_selection sel;
	struct ss_out key;
	struct asked *a = ss_arena_zalloc(c->req->arena, 1, sizeof(*a) + arg_bytes);
	if (!a)
		return ss_fail_mem(err);
	a->make = make;
	memcpy(a->arg, arg, arg_bytes);
	const struct ss_run *run = ss_call_session(c, err);
	if (!run || !read_clocks(c, &a->aligned, err) ||
	    !ss_call_select(c, run, &timeline, ss_call_arg(c, "host"), &sel, err))
		return false;
	ss_out_init(&key, NULL, NULL);
	ss_out_printf(&key, "%s%s", route, a->aligned ? "|aligned" : "");
	for (size_t i = 0; i < nnames; i++) {
		struct ss_str v = ss_call_arg(c, names[i]);
		ss_out_printf(&key, "|%zu:", v.n);
		ss_out_str(&key, v);
	}
	bool ok = ss_out_finish(&key, err) &&
		  ss_reply_model(c, &sel, (struct ss_str){ key.buf, key.n }, type, make_asked, a, sizeof(*a) + arg_bytes, err);
	ss_out_free(&key);
	return ok;
}

static bool make_layout(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	(void)arg;
	const struct ss_timeline *tl = ss_timeline_layout(m, arena, err);
	if (tl)
		ss_emit_timeline_layout(o, tl);
	return tl;
}

bool ss_route_timeline(struct ss_call *c, struct ss_err *err)
{
	return answer(c, "timeline", NULL, 0, "application/json", make_layout, "", 0, err);
}

static void put_stretch(struct ss_out *o, const char *key, uint64_t begin_ps, uint64_t end_ps)
{
	ss_out_printf(o, ",\"%s\":", key);
	if (end_ps)
		ss_out_printf(o, "{\"begin_ps\":%llu,\"end_ps\":%llu}", (unsigned long long)begin_ps, (unsigned long long)end_ps);
	else
		ss_out_lit(o, "null");
}

static bool make_words(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	struct ss_timeline_words words;
	(void)arg;
	if (!ss_timeline_words(&words, m, arena, err))
		return false;
	ss_out_lit(o, "{\"conclusion\":");
	ss_emit_json_conclusion(o, &words.conclusion);
	put_stretch(o, "work", words.work_begin_ps, words.work_end_ps);
	put_stretch(o, "pause", words.pause_begin_ps, words.pause_end_ps);
	ss_out_char(o, '}');
	return true;
}

bool ss_route_timeline_conclusion(struct ss_call *c, struct ss_err *err)
{
	return answer(c, "conclusion", NULL, 0, "application/json", make_words, "", 0, err);
}

static bool make_gap(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	struct ss_tl_gap gap;
	if (!ss_timeline_gap(&gap, m, arg, arena, err))
		return false;
	ss_emit_timeline_gap(o, &gap);
	return true;
}

bool ss_route_timeline_gap(struct ss_call *c, struct ss_err *err)
{
	static const char *const names[] = { "at_ps", "track", "where", "least_ps" };
	struct ss_timeline_gap_query q = { .where = SS_GAP_HERE };
	struct ss_str where = ss_call_arg(c, "where");
	uint64_t track;
	if (!number(c, "at_ps", UINT64_MAX, INT64_MAX, &q.at_ps, err) || !number(c, "track", SS_NONE, SS_NONE, &track, err) ||
	    !number(c, "least_ps", 0, INT64_MAX, &q.least_ps, err))
		return false;
	if (ss_str_is(where, "next"))
		q.where = SS_GAP_NEXT;
	else if (ss_str_is(where, "previous"))
		q.where = SS_GAP_PREVIOUS;
	else if (where.n && !ss_str_is(where, "here"))
		return ss_fail(err, SS_EINVAL, "the parameter 'where' must be here, next or previous");
	q.track = (uint32_t)track;
	return answer(c, "gap", names, SS_COUNT(names), "application/json", make_gap, &q, sizeof(q), err);
}

static bool make_steps(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	struct ss_tl_steps steps;
	(void)arg;
	if (!ss_timeline_steps(&steps, m, arena, err))
		return false;
	ss_emit_timeline_steps(o, &steps);
	return true;
}

bool ss_route_timeline_steps(struct ss_call *c, struct ss_err *err)
{
	return answer(c, "steps", NULL, 0, "application/json", make_steps, "", 0, err);
}

static bool make_bands(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	const struct ss_tl_bands *bands = ss_timeline_bands(m, arg, arena, err);
	if (bands)
		ss_emit_timeline_bands(o, bands);
	return bands;
}

bool ss_route_timeline_bands(struct ss_call *c, struct ss_err *err)
{
	static const char *const names[] = { "begin_ps", "end_ps", "bins" };
	struct ss_timeline_bands_query q = { 0 };
	uint64_t bins;
	if (!range(c, &q.begin_ps, &q.end_ps, err) || !number(c, "bins", 512, MAX_BINS, &bins, err))
		return false;
	if (!bins || q.begin_ps == q.end_ps)
		return ss_fail(err, SS_EINVAL, "the parameters 'bins', 'begin_ps' and 'end_ps' leave nothing to show");
	q.bins = (uint32_t)bins;
	return answer(c, "bands", names, SS_COUNT(names), "application/json", make_bands, &q, sizeof(q), err);
}

/* A query and the tracks behind it, in one piece of memory. */
struct slices_arg {
	struct ss_timeline_request q;
	bool some;		/* tracks were named */
	uint32_t tracks[];
};

static bool make_slices(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	struct slices_arg *a = arg;
	a->q.tracks = a->some ? a->tracks : NULL;
	const struct ss_timeline *tl = ss_timeline_slices(m, &a->q, arena, err);
	if (tl)
		ss_emit_timeline_slices(o, tl);
	return tl;
}

static size_t count_items(struct ss_str list)
{
	size_t n = list.n > 0;
	for (size_t i = 0; i < list.n; i++)
		n += list.p[i] == ',';
	return n;
}

static struct ss_str next_item(struct ss_str *list, char sep)
{
	size_t at = ss_str_chr(*list, sep);
	struct ss_str item = ss_str_sub(*list, 0, at == SS_NPOS ? list->n : at);
	*list = ss_str_sub(*list, at == SS_NPOS ? list->n : at + 1, list->n);
	return item;
}

static bool small_number(struct ss_str s, uint32_t *out)
{
	uint64_t v;
	if (!ss_str_to_u64(s, &v) || v >= UINT32_MAX)
		return false;
	*out = (uint32_t)v;
	return true;
}

static bool read_tracks(struct ss_str list, struct slices_arg *a, struct ss_err *err)
{
	while (list.n) {
		struct ss_str item = next_item(&list, ',');
		if (!small_number(item, &a->tracks[a->q.ntracks++]))
			return ss_fail(err, SS_EINVAL, "the parameter 'tracks' holds '%.*s', which is not the number of a track",
				       item.n > 60 ? 60 : (int)item.n, item.p);
	}
	return true;
}

bool ss_route_timeline_slices(struct ss_call *c, struct ss_err *err)
{
	static const char *const names[] = { "begin_ps", "end_ps", "width_px", "tracks", "flows" };
	struct ss_str tracks = ss_call_arg(c, "tracks"), flows = ss_call_arg(c, "flows");
	size_t n = count_items(tracks), bytes = sizeof(struct slices_arg) + n * sizeof(uint32_t);
	uint64_t width_px;
	if (n > MAX_LIST)
		return ss_fail(err, SS_EINVAL, "more than %d tracks are requested at once", MAX_LIST);
	struct slices_arg *a = ss_arena_zalloc(c->req->arena, 1, bytes);
	if (!a)
		return ss_fail_mem(err);
	a->some = n > 0;
	if (ss_str_is(flows, "1") || ss_str_is(flows, "true"))
		a->q.arrows = SS_ARROWS_FLOWS;
	else if (ss_str_is(flows, "path"))
		a->q.arrows = SS_ARROWS_PATH;
	if (!range(c, &a->q.begin_ps, &a->q.end_ps, err) ||
	    !number(c, "width_px", UINT64_MAX, MAX_WIDTH_PX, &width_px, err) || !read_tracks(tracks, a, err))
		return false;
	if (!width_px)
		return ss_fail(err, SS_EINVAL, "the parameter 'width_px' is 0: nothing can be drawn");
	a->q.width_px = (uint32_t)width_px;
	return answer(c, "slices", names, SS_COUNT(names), "application/octet-stream", make_slices, a, bytes, err);
}

static bool make_event(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	const struct ss_timeline *tl = ss_timeline_event(m, *(const uint64_t *)arg, arena, err);
	if (tl)
		ss_emit_timeline_event(o, tl);
	return tl;
}

bool ss_route_timeline_event(struct ss_call *c, struct ss_err *err)
{
	static const char *const names[] = { "event" };
	uint64_t event;
	return number(c, "event", UINT64_MAX, UINT32_MAX, &event, err) &&
	       answer(c, "event", names, 1, "application/json", make_event, &event, sizeof(event), err);
}

struct search_arg {
	struct ss_timeline_search q;
	char text[];
};

static bool make_search(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	struct search_arg *a = arg;
	a->q.text.p = a->text;
	const struct ss_timeline *tl = ss_timeline_search(m, &a->q, arena, err);
	if (tl)
		ss_emit_timeline_search(o, tl);
	return tl;
}

/* Where the hits begin: at most one of three parameters says so. */
static bool read_where(const struct ss_call *c, struct ss_timeline_search *q, struct ss_err *err)
{
	q->where = SS_SEARCH_FIRST;
	if (ss_call_arg(c, "after").n) {
		q->where = SS_SEARCH_AFTER;
		return number(c, "after", 0, UINT32_MAX, &q->event, err);
	}
	if (ss_call_arg(c, "before").n) {
		q->where = SS_SEARCH_BEFORE;
		return number(c, "before", 0, UINT32_MAX, &q->event, err);
	}
	if (ss_call_arg(c, "from_ps").n)
		q->where = SS_SEARCH_FROM;
	return number(c, "from_ps", 0, INT64_MAX, &q->from_ps, err);
}

bool ss_route_timeline_search(struct ss_call *c, struct ss_err *err)
{
	static const char *const names[] = { "q", "after", "before", "from_ps", "limit" };
	struct ss_str text = ss_call_arg(c, "q");
	uint64_t limit;
	struct search_arg *a = ss_arena_zalloc(c->req->arena, 1, sizeof(*a) + text.n);
	if (!a)
		return ss_fail_mem(err);
	if (text.n)
		memcpy(a->text, text.p, text.n);
	a->q.text.n = text.n;
	if (!read_where(c, &a->q, err) || !number(c, "limit", DEFAULT_LIMIT, MAX_LIMIT, &limit, err))
		return false;
	a->q.limit = (size_t)limit;
	return answer(c, "search", names, SS_COUNT(names), "application/json", make_search, a, sizeof(*a) + text.n, err);
}

struct sums_arg {
	struct ss_timeline_sums q;
	bool some;
	struct ss_timeline_rows rows[];
};

static bool make_sums(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	struct sums_arg *a = arg;
	a->q.rows = a->some ? a->rows : NULL;
	const struct ss_tl_summary *s = ss_timeline_summary(m, &a->q, arena, err);
	if (s)
		ss_emit_timeline_summary(o, s);
	return s;
}

/* "3:0-2,4:0-0" */
static bool read_rows(struct ss_str list, struct sums_arg *a, struct ss_err *err)
{
	while (list.n) {
		struct ss_str item = next_item(&list, ','), rest = item;
		struct ss_timeline_rows *r = &a->rows[a->q.nrows++];
		struct ss_str track = next_item(&rest, ':'), first = next_item(&rest, '-');
		if (!small_number(track, &r->track) || !small_number(first, &r->first) || !small_number(rest, &r->last))
			return ss_fail(err, SS_EINVAL, "the parameter 'rows' holds '%.*s', not track:first-last",
				       item.n > 60 ? 60 : (int)item.n, item.p);
	}
	return true;
}

bool ss_route_timeline_summary(struct ss_call *c, struct ss_err *err)
{
	static const char *const names[] = { "begin_ps", "end_ps", "rows", "limit" };
	struct ss_str rows = ss_call_arg(c, "rows");
	size_t n = count_items(rows), bytes = sizeof(struct sums_arg) + n * sizeof(struct ss_timeline_rows);
	uint64_t limit;
	if (n > MAX_LIST)
		return ss_fail(err, SS_EINVAL, "more than %d rows are requested at once", MAX_LIST);
	struct sums_arg *a = ss_arena_zalloc(c->req->arena, 1, bytes);
	if (!a)
		return ss_fail_mem(err);
	a->some = n > 0;
	if (!range(c, &a->q.begin_ps, &a->q.end_ps, err) || !read_rows(rows, a, err) ||
	    !number(c, "limit", DEFAULT_LIMIT, MAX_LIMIT, &limit, err))
		return false;
	a->q.limit = (size_t)limit;
	return answer(c, "summary", names, SS_COUNT(names), "application/json", make_sums, a, bytes, err);
}

struct names_arg {
	struct ss_timeline_names_query q;
	uint32_t list[];	/* tracks, then the text */
};

static bool make_names(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err)
{
	struct names_arg *a = arg;
	a->q.tracks = a->q.ntracks ? a->list : NULL;
	a->q.text.p = (const char *)(a->list + a->q.ntracks);
	const struct ss_tl_names *names = ss_timeline_names(m, &a->q, arena, err);
	if (names)
		ss_emit_timeline_names(o, names);
	return names;
}

static bool read_how(const struct ss_call *c, enum ss_names_how *out, struct ss_err *err)
{
	static const char *const words[] = { "within", "exact", "regex" };
	struct ss_str how = ss_call_arg(c, "how");
	*out = SS_NAMES_WITHIN;
	for (size_t i = 0; i < SS_COUNT(words); i++)
		if (ss_str_is(how, words[i])) {
			*out = (enum ss_names_how)i;
			return true;
		}
	return !how.n || ss_fail(err, SS_EINVAL, "the parameter 'how' must be within, exact or regex");
}

bool ss_route_timeline_names(struct ss_call *c, struct ss_err *err)
{
	static const char *const names[] = { "q", "how", "begin_ps", "end_ps", "tracks", "limit" };
	struct ss_str text = ss_call_arg(c, "q"), tracks = ss_call_arg(c, "tracks");
	size_t n = count_items(tracks), bytes = sizeof(struct names_arg) + n * sizeof(uint32_t) + text.n;
	uint64_t limit;
	if (n > MAX_LIST)
		return ss_fail(err, SS_EINVAL, "more than %d tracks are requested at once", MAX_LIST);
	struct names_arg *a = ss_arena_zalloc(c->req->arena, 1, bytes);
	if (!a)
		return ss_fail_mem(err);
	while (tracks.n) {
		struct ss_str item = next_item(&tracks, ',');
		if (!small_number(item, &a->list[a->q.ntracks++]))
			return ss_fail(err, SS_EINVAL, "the parameter 'tracks' holds '%.*s', which is not the number of a track",
				       item.n > 60 ? 60 : (int)item.n, item.p);
	}
	if (text.n)
		memcpy(a->list + n, text.p, text.n);
	a->q.text.n = text.n;
	if (!read_how(c, &a->q.how, err) || !number(c, "begin_ps", 0, INT64_MAX, &a->q.begin_ps, err) ||
	    !number(c, "end_ps", INT64_MAX, INT64_MAX, &a->q.end_ps, err) || !number(c, "limit", 100, 200, &limit, err))
		return false;
	a->q.limit = (size_t)limit;
	return answer(c, "names", names, SS_COUNT(names), "application/json", make_names, a, bytes, err);
}
