/*
 * trace_build.c - which planes and lines are shown, under which numbers and names, and in which
 * order (docs/tools/trace_viewer.md).
 *
 * Lines are prepared in parallel: order in time, flows, names, and what is not shown. Then tracks
 * are laid out one after the other, since counters and asynchronous events of a line make tracks of
 * their own.
 */
#include "model/timeline/trace_build.h"

#include "base/huge.h"
#include "base/pool.h"
#include "base/vec.h"
#include "model/host/forget.h"
#include "model/host/host.h"
#include "model/preprocess/flows.h"
#include "model/preprocess/preprocess.h"

#include <stdlib.h>

enum { FIRST_DEVICE = 1, LAST_DEVICE = 500, FIRST_CUSTOM = 501, HOST_THREADS = 701 };

/* One line on its way to a track. */
struct prep {
	uint32_t section;
	const struct ss_plane *plane;
	const struct ss_display_line *line;
	const uint8_t *hidden_meta;	/* of the plane: names that are never shown; NULL: none */
	bool counter;
	uint32_t *order;		/* as in ss_track */
	struct ss_track_flow *flows;
	uint32_t nflows;
	struct ss_track_name *names;
	uint32_t nnames;
	uint32_t *async;		/* positions of asynchronous events, ascending */
	uint32_t nasync;
};

struct build {
	struct ss_trace *tr;
	struct prep *preps;
	size_t npreps;
	uint8_t **hidden;		/* per section */
	size_t track_cap;
	struct ss_u64map flow_ids;
};

/* Event types that are bookkeeping for other tools. */
static bool is_internal_name(struct ss_str name)
{
	static const struct ss_str names[] = {
		SS_STR_INIT("MemoryAllocation"), SS_STR_INIT("MemoryDeallocation"),
		SS_STR_INIT("PrefetchProduce"), SS_STR_INIT("PrefetchConsume"),
		SS_STR_INIT("ParallelInterleaveProduce"), SS_STR_INIT("ParallelInterleaveConsume"),
		SS_STR_INIT("ParallelInterleaveInitializeInput"), SS_STR_INIT("ParallelInterleaveInitializedInput"),
		SS_STR_INIT("ParallelMapProduce"), SS_STR_INIT("ParallelMapConsume"),
		SS_STR_INIT("MapAndBatchProduce"), SS_STR_INIT("MapAndBatchConsume"),
		SS_STR_INIT("ParseExampleProduce"), SS_STR_INIT("ParseExampleConsume"),
	};
	if (name.n < 15 || (name.p[0] != 'M' && name.p[0] != 'P'))
		return false;
	for (size_t i = 0; i < SS_COUNT(names); i++)
		if (ss_str_eq(name, names[i]))
			return true;
	return false;
}

/* ---- sections ---- */

static uint32_t device_number(int64_t id)
{
	uint32_t n = FIRST_DEVICE + (uint32_t)(uint64_t)id;
	return n > LAST_DEVICE ? FIRST_DEVICE : n;
}

/* However large, as in XProf: a number may then be one of another host's. */
static uint32_t custom_number(int64_t id)
{
	return FIRST_CUSTOM + (uint32_t)(uint64_t)id;
}

static void add_section(struct ss_trace *tr, const struct ss_display_plane *p, int kind, uint32_t device)
{
	/* A plane without lines is not there at all; one whose lines are empty is. */
	if (p->nlines == 0)
		return;
	struct ss_trace_section *s = &tr->sections[tr->nsections++];
	*s = (struct ss_trace_section){ .plane = p, .device = device };
	if (kind == SS_TRACE_HOST)
		s->kind = SS_TRACE_HOST;
	else
		s->kind = kind == SS_TRACE_CUSTOM ? SS_TRACE_CUSTOM : SS_TRACE_DEVICE;
	s->tensor_core = p->base.kind == SS_PLANE_TENSOR_CORE;
	tr->any_tensor_core |= s->tensor_core;
}

static int by_plane_name(const void *a, const void *b)
{
	const struct ss_display_plane *pa = *(const struct ss_display_plane *const *)a;
	const struct ss_display_plane *pb = *(const struct ss_display_plane *const *)b;
	return ss_str_cmp(pa->base.name, pb->base.name) ?: SS_CMP(pa, pb);
}

static bool add_host_planes(struct ss_trace *tr, struct ss_err *err)
{
	const struct ss_host *h = tr->host;
	const struct ss_display_plane **planes = malloc(((size_t)h->nplanes + 1) * sizeof(*planes));
	size_t n = 0;
	if (!planes)
		return ss_fail_mem(err);
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (ss_str_starts(h->planes[i].name, SS_STR("/host:CPU")))
			planes[n++] = &tr->planes[i];
	qsort(planes, n, sizeof(*planes), by_plane_name);
	for (size_t i = 0; i < n; i++)
		add_section(tr, planes[i], SS_TRACE_HOST, HOST_THREADS + (uint32_t)i);
	free(planes);
	return true;
}

static size_t add_planes_of(struct ss_trace *tr, struct ss_str prefix, int kind)
{
	size_t n = 0;
	for (uint32_t i = 0; i < tr->host->nplanes; i++) {
		const struct ss_display_plane *p = &tr->planes[i];
		if (!ss_str_starts(p->base.name, prefix))
			continue;
		add_section(tr, p, kind, kind == SS_TRACE_CUSTOM ? custom_number(p->base.id) : device_number(p->base.id));
		n++;
	}
	return n;
}

static int by_device(const void *a, const void *b)
{
	const struct ss_trace_section *sa = a, *sb = b;
	return SS_CMP(sa->device, sb->device) ?: SS_CMP(sa->plane, sb->plane);
}

static bool build_sections(struct ss_trace *tr, struct ss_err *err)
{
	tr->sections = calloc((size_t)tr->host->nplanes + 1, sizeof(*tr->sections));
	if (!tr->sections)
		return ss_fail_mem(err);
	if (!add_host_planes(tr, err))
		return false;
	if (add_planes_of(tr, SS_STR("/device:GPU:"), SS_TRACE_DEVICE) == 0)
		add_planes_of(tr, SS_STR("/device:TPU:"), SS_TRACE_DEVICE);
	add_planes_of(tr, SS_STR("/device:CUSTOM:"), SS_TRACE_CUSTOM);
	qsort(tr->sections, tr->nsections, sizeof(*tr->sections), by_device);
	return true;
}

/* ---- lines, in parallel ---- */

/* Merge sort of event numbers by (begin, longer first), stable; `tmp` holds as many. */
static void sort_order(const struct ss_display_line *l, uint32_t *v, uint32_t *tmp, size_t n)
{
	if (n < 2)
		return;
	size_t half = n / 2, i = 0, j = half, k = 0;
	sort_order(l, v, tmp, half);
	sort_order(l, v + half, tmp, n - half);
	while (i < half && j < n) {
		uint32_t a = v[i], b = v[j];
		int64_t begin_a = ss_display_begin_ps(l, a), begin_b = ss_display_begin_ps(l, b);
		bool later = begin_b < begin_a || (begin_b == begin_a && ss_display_dur_ps(l, b) > ss_display_dur_ps(l, a));
		tmp[k++] = later ? v[j++] : v[i++];
	}
	while (i < half)
		tmp[k++] = v[i++];
	/* What is left of the second half is in its place. */
	memcpy(v, tmp, k * sizeof(*v));
}

static bool make_order(struct prep *p)
{
	const struct ss_display_line *l = p->line;
	if (l->sorted)
		return true;
	uint32_t *tmp = malloc(l->n * sizeof(*tmp));
	p->order = malloc(l->n * sizeof(*p->order));
	if (tmp && p->order) {
		for (uint32_t i = 0; i < l->n; i++)
			p->order[i] = i;
		sort_order(l, p->order, tmp, l->n);
	}
	bool ok = tmp && p->order;
	free(tmp);
	return ok;
}

static int flow_by_pos(const void *a, const void *b)
{
	const struct ss_track_flow *fa = a, *fb = b;
	return SS_CMP(fa->pos, fb->pos);
}

static int name_by_pos(const void *a, const void *b)
{
	const struct ss_track_name *na = a, *nb = b;
	return SS_CMP(na->pos, nb->pos);
}

/* Event numbers of flows and names become positions. */
static bool to_positions(struct prep *p)
{
	if (!p->order || (!p->nflows && !p->nnames))
		return true;
	uint32_t n = p->line->n, *pos = malloc(n * sizeof(*pos));
	if (!pos)
		return false;
	for (uint32_t i = 0; i < n; i++)
		pos[p->order[i]] = i;
	for (uint32_t i = 0; i < p->nflows; i++)
		p->flows[i].pos = pos[p->flows[i].pos];
	for (uint32_t i = 0; i < p->nnames; i++)
		p->names[i].pos = pos[p->names[i].pos];
	free(pos);
	if (p->nflows)
		qsort(p->flows, p->nflows, sizeof(*p->flows), flow_by_pos);
	if (p->nnames)
		qsort(p->names, p->nnames, sizeof(*p->names), name_by_pos);
	return true;
}

/*
 * Flows keep their place in `ids` for later numbering: the id goes through the map of the whole
 * host, one line after the other.
 */
static bool find_flows(struct prep *p, const struct ss_host *h, struct ss_flow **ids, struct ss_err *err)
{
	size_t n = 0;
	if (p->line->line && !ss_preprocess_flows(h, p->plane, p->line->line, ids, &n, err))
		return false;
	if (n == 0)
		return true;
	p->flows = malloc(n * sizeof(*p->flows));
	if (!p->flows)
		return ss_fail_mem(err);
	for (size_t i = 0; i < n; i++) {
		const struct ss_flow *f = &(*ids)[i];
		if (f->event < p->line->n)
			p->flows[p->nflows++] = (struct ss_track_flow){ f->event, (uint32_t)i, f->dir, f->category };
	}
	return true;
}

static bool add_name(struct prep *p, size_t *cap, uint32_t event, struct ss_str name)
{
	if (!(p->nnames + 1 <= *cap || ss_grow((void **)&p->names, cap, (size_t)p->nnames + 1, sizeof(*p->names))))
		return false;
	p->names[p->nnames++] = (struct ss_track_name){ event, name };
	return true;
}

/* Step names written in the file. */
static bool find_file_names(struct prep *p, const struct ss_host *h, size_t *cap)
{
	const struct ss_line *l = p->line->line;
	struct ss_forget forget = { .h = h };
	struct ss_xstat s;
	if (!l || !l->ev.off || !ss_xplane_has(p->plane->x, SS_STAT_STEP_NAME))
		return true;
	for (uint32_t i = 0; i < l->ev.n; i++) {
		ss_forget_passed(&forget, l, i);
		if (ss_xstats_find(ss_line_stats(p->plane, l, i), SS_STAT_STEP_NAME, &s) && s.kind == SS_X_STR &&
		    !add_name(p, cap, i, s.s))
			return false;
	}
	ss_forget_line(&forget, l);
	ss_forget_rest(&forget);
	return true;
}

/* Those, and the ones that preprocessing set; by event. */
static bool find_names(struct prep *p, const struct ss_host *h)
{
	const struct ss_added_stats *added = p->line->line ? &p->line->line->added : &p->line->added;
	size_t cap = 0;
	if (!find_file_names(p, h, &cap))
		return false;
	uint32_t from_file = p->nnames;
	for (size_t i = 0; i < added->n; i++)
		if (added->v[i].stat == SS_STAT_STEP_NAME && added->v[i].kind == SS_X_STR &&
		    !add_name(p, &cap, added->v[i].event, added->v[i].s))
			return false;
	if (from_file && from_file < p->nnames)
		qsort(p->names, p->nnames, sizeof(*p->names), name_by_pos);
	return true;
}

static bool is_async(const struct prep *p, uint32_t event)
{
	struct ss_xstat s;
	return ss_xstats_find(ss_line_stats(p->plane, p->line->line, event), SS_STAT_IS_ASYNC, &s);
}

/* With a flow and the mark "_a", whatever its value, an event is drawn on a track of its own. */
static bool find_async(struct prep *p)
{
	const struct ss_line *l = p->line->line;
	if (!p->nflows || !l || !l->ev.off || !ss_xplane_has(p->plane->x, SS_STAT_IS_ASYNC))
		return true;
	p->async = malloc(p->nflows * sizeof(*p->async));
	if (!p->async)
		return false;
	for (uint32_t i = 0; i < p->nflows; i++) {
		uint32_t pos = p->flows[i].pos;
		if (is_async(p, p->order ? p->order[pos] : pos))
			p->async[p->nasync++] = pos;
	}
	return true;
}

struct track_prep {
	struct build *b;
	struct ss_flow **ids;	/* per line, by what find_flows put into ss_track_flow.flow */
};

static bool prepare_line(void *arg, size_t i, struct ss_err *err)
{
	struct track_prep *job = arg;
	struct prep *p = &job->b->preps[i];
	if (!make_order(p))
		return ss_fail_mem(err);
	if (!p->counter && !find_flows(p, job->b->tr->host, &job->ids[i], err))
		return false;
	if ((!p->counter && !find_names(p, job->b->tr->host)) || !to_positions(p) || !find_async(p))
		return ss_fail_mem(err);
	return true;
}

/* Number the flows of the host from 0, in the order of lines and positions. */
static bool number_flows(struct build *b, struct ss_flow **ids)
{
	for (size_t i = 0; i < b->npreps; i++) {
		struct prep *p = &b->preps[i];
		for (uint32_t k = 0; k < p->nflows; k++) {
			const struct ss_flow *f = &ids[i][p->flows[k].flow];
			uint32_t next = (uint32_t)b->flow_ids.n;
			p->flows[k].flow = ss_u64map_add(&b->flow_ids, f->id, next);
			if (p->flows[k].flow == SS_NONE)
				return false;
		}
	}
	b->tr->nflows = (uint32_t)b->flow_ids.n;
	return true;
}

static bool prepare_lines(struct build *b, struct ss_err *err)
{
	struct track_prep job = { b, calloc(b->npreps + 1, sizeof(*job.ids)) };
	if (!job.ids)
		return ss_fail_mem(err);
	bool ok = ss_parallel(b->npreps, 0, prepare_line, &job, err);
	if (ok && !number_flows(b, job.ids))
		ok = ss_fail_mem(err);
	for (size_t i = 0; i < b->npreps; i++)
		free(job.ids[i]);
	free(job.ids);
	ss_u64map_free(&b->flow_ids);
	return ok;
}

/* One byte for each event name of the plane; NULL when all are shown. False when memory is out. */
static bool find_hidden(const struct ss_plane *p, uint8_t **out)
{
	const struct ss_xplane *x = p->x;
	for (uint32_t i = 0; i < x->nevent_meta; i++) {
		if (!is_internal_name(x->event_meta[i].name))
			continue;
		if (!*out && !(*out = calloc((size_t)x->nevent_meta + p->nsynthetic, 1)))
			return false;
		(*out)[i] = 1;
	}
	return true;
}

/* Thread ids are 64 bits in the file; XProf's clients, and its order, know the low half. */
static uint32_t thread_of(const struct ss_display_line *l)
{
	return (uint32_t)(uint64_t)(l->display_id ? l->display_id : l->id);
}

static int by_resource(const void *a, const void *b)
{
	const struct prep *pa = a, *pb = b;
	uint32_t ra = thread_of(pa->line), rb = thread_of(pb->line);
	/*
	 * Counters and asynchronous events first is XProf's order; for people, threads by number
	 * are the frame.
	 */
	return SS_CMP(pa->section, pb->section) ?: SS_CMP(ra, rb) ?: SS_CMP(pa->line, pb->line);
}

static bool list_lines(struct build *b, struct ss_err *err)
{
	struct ss_trace *tr = b->tr;
	size_t n = 0;
	for (uint32_t i = 0; i < tr->nsections; i++)
		n += tr->sections[i].plane->nlines;
	b->preps = calloc(n + 1, sizeof(*b->preps));
	b->hidden = calloc((size_t)tr->nsections + 1, sizeof(*b->hidden));
	if (!b->preps || !b->hidden)
		return ss_fail_mem(err);
	for (uint32_t i = 0; i < tr->nsections; i++) {
		const struct ss_display_plane *p = tr->sections[i].plane;
		if (!find_hidden(&p->base, &b->hidden[i]))
			return ss_fail_mem(err);
		for (uint32_t k = 0; k < p->nlines; k++)
			if (p->lines[k].n)
				b->preps[b->npreps++] = (struct prep){
					.section = i, .plane = &p->base, .line = &p->lines[k], .hidden_meta = b->hidden[i],
					.counter = ss_str_is(p->lines[k].name, "_counters_"),
				};
	}
	qsort(b->preps, b->npreps, sizeof(*b->preps), by_resource);
	return true;
}

/* ---- tracks, one after the other ---- */

static struct ss_track *new_track(struct build *b, const struct prep *p, enum ss_track_kind kind, uint32_t n)
{
	struct ss_trace *tr = b->tr;
	size_t blocks = n / SS_TRACE_BLOCK + 1;
	if (!((size_t)tr->ntracks + 1 <= b->track_cap ||
	      ss_grow((void **)&tr->tracks, &b->track_cap, (size_t)tr->ntracks + 1, sizeof(*tr->tracks))))
		return NULL;
	/* Large blocks are zeros that no one has written: the threads that find the levels then clear their pages. */
	uint8_t *bytes = calloc(n + blocks, 1);
	if (!bytes)
		return NULL;
	ss_huge_advise(bytes, n + blocks);
	struct ss_track *t = &tr->tracks[tr->ntracks++];
	*t = (struct ss_track){
		.plane = p->plane, .line = p->line, .section = p->section, .kind = kind, .n = n,
		.level = bytes, .block = bytes + n,
		.tid = thread_of(p->line),
		.name = p->line->display_name.n ? p->line->display_name : p->line->name,
	};
	return t;
}

static void hide_one(struct ss_track *t, uint32_t pos)
{
	t->level[pos] = SS_TRACE_HIDDEN;
	t->hides = true;
}

/*
 * What is never drawn: internal names, and times before the start of the session, which only damage
 * makes.
 */
static void hide(struct ss_track *t, const struct prep *p)
{
	for (uint32_t pos = 0; pos < t->n && (int64_t)ss_track_begin_ps(t, pos) < 0; pos++)
		hide_one(t, pos);
	for (uint32_t pos = 0; p->hidden_meta && pos < t->n; pos++) {
		uint32_t meta = ss_display_meta(p->line, ss_track_event(t, pos));
		if (meta != SS_NONE && p->hidden_meta[meta])
			hide_one(t, pos);
	}
	/* The flow of a hidden event is not drawn either. */
	uint32_t kept = 0;
	for (uint32_t i = 0; t->hides && i < t->nflows; i++)
		if (t->level[t->flows[i].pos] != SS_TRACE_HIDDEN)
			t->flows[kept++] = t->flows[i];
	t->nflows = t->hides ? kept : t->nflows;
}

/* Positions of a line grouped by the name of the event; each group becomes a track. */
struct named {
	struct ss_str name;
	uint32_t pos;
};

static int by_name_pos(const void *a, const void *b)
{
	const struct named *na = a, *nb = b;
	return ss_str_cmp(na->name, nb->name) ?: SS_CMP(na->pos, nb->pos);
}

static bool add_named_track(struct build *b, const struct prep *p, const struct ss_track *line, const struct named *v,
			    uint32_t n, enum ss_track_kind kind)
{
	struct ss_track *t = new_track(b, p, kind, n);
	if (!t)
		return false;
	t->name = v[0].name;
	t->order = malloc(n * sizeof(*t->order));
	if (kind == SS_TRACE_ASYNC)
		t->flows = malloc(n * sizeof(*t->flows));
	if (!t->order || (kind == SS_TRACE_ASYNC && !t->flows))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		t->order[i] = ss_track_event(line, v[i].pos);
		const struct ss_track_flow *f = kind == SS_TRACE_ASYNC ? ss_track_flow(line, v[i].pos) : NULL;
		if (f)
			t->flows[t->nflows++] = (struct ss_track_flow){ i, f->flow, f->dir, f->category };
	}
	hide(t, p);
	return true;
}

static struct ss_str plain_name(const struct ss_track *t, uint32_t pos)
{
	return ss_event_name_in_file(t->plane, ss_display_meta(t->line, ss_track_event(t, pos)));
}

/* `line` gives positions their names and events. */
static bool add_named_tracks(struct build *b, const struct prep *p, const struct ss_track *line, const uint32_t *pos,
			     uint32_t n, enum ss_track_kind kind)
{
	struct named *v = malloc(((size_t)n + 1) * sizeof(*v));
	if (!v)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		v[i].pos = pos ? pos[i] : i;
		/* XProf shows counters by their plain name. */
		v[i].name = kind == SS_TRACE_COUNTER ? plain_name(line, v[i].pos) : ss_track_event_name(line, v[i].pos);
	}
	qsort(v, n, sizeof(*v), by_name_pos);
	bool ok = true;
	for (uint32_t i = 0, end; ok && i < n; i = end) {
		for (end = i + 1; end < n && ss_str_eq(v[end].name, v[i].name); end++)
			;
		ok = add_named_track(b, p, line, v + i, end - i, kind);
	}
	free(v);
	return ok;
}

/* A line as one track sees it, for looking things up by position; owns nothing. */
static struct ss_track view_of(const struct prep *p)
{
	return (struct ss_track){
		.plane = p->plane, .line = p->line, .n = p->line->n, .order = p->order,
		.flows = p->flows, .nflows = p->nflows, .names = p->names, .nnames = p->nnames,
	};
}

/* Asynchronous events leave the line's own track, with their flows. */
static void take_async_out(struct ss_track *t, const struct prep *p)
{
	for (uint32_t i = 0; i < p->nasync; i++)
		hide_one(t, p->async[i]);
}

static bool add_line(struct build *b, struct prep *p)
{
	struct ss_track view = view_of(p);
	if (p->counter)
		return add_named_tracks(b, p, &view, NULL, view.n, SS_TRACE_COUNTER);
	if (p->nasync && !add_named_tracks(b, p, &view, p->async, p->nasync, SS_TRACE_ASYNC))
		return false;
	struct ss_track *t = new_track(b, p, SS_TRACE_SLICES, p->line->n);
	if (!t)
		return false;
	t->order = p->order;
	t->flows = p->flows;
	t->nflows = p->nflows;
	t->names = p->names;
	t->nnames = p->nnames;
	p->order = NULL;
	p->flows = NULL;
	p->names = NULL;
	take_async_out(t, p);
	hide(t, p);
	/* Lines of one thread id are one thread: they stand next to each other. */
	struct ss_trace_section *s = &b->tr->sections[p->section];
	s->nthreads += !s->any_thread || s->last_thread != t->tid;
	s->any_thread = true;
	s->last_thread = t->tid;
	return true;
}

static bool add_tracks(struct build *b, struct ss_err *err)
{
	struct ss_trace *tr = b->tr;
	for (size_t i = 0; i < b->npreps; i++) {
		struct ss_trace_section *s = &tr->sections[b->preps[i].section];
		uint32_t before = tr->ntracks;
		if (s->ntracks == 0)
			s->first_track = before;
		if (!add_line(b, &b->preps[i]))
			return ss_fail_mem(err);
		s->ntracks += tr->ntracks - before;
	}
	for (uint32_t i = 0; i < tr->ntracks; i++) {
		tr->tracks[i].first = (uint32_t)tr->nevents;
		tr->nevents += tr->tracks[i].n;
	}
	if (tr->nevents > UINT32_MAX - 1)
		return ss_fail(err, SS_EINVAL, "the profile of '" SS_FMT "' has %llu events, more than the timeline can number",
			       SS_ARG(tr->host->name), (unsigned long long)tr->nevents);
	return true;
}

bool ss_trace_build(struct ss_trace *tr, struct ss_err *err)
{
	struct build b = { .tr = tr };
	bool ok = build_sections(tr, err) && list_lines(&b, err) && prepare_lines(&b, err) && add_tracks(&b, err);
	for (size_t i = 0; i < b.npreps; i++) {
		free(b.preps[i].order);
		free(b.preps[i].flows);
		free(b.preps[i].names);
		free(b.preps[i].async);
	}
	for (uint32_t i = 0; b.hidden && i < tr->nsections; i++)
		free(b.hidden[i]);
	free(b.hidden);
	free(b.preps);
	return ok;
}

void ss_trace_clear(struct ss_trace *tr)
{
	for (uint32_t i = 0; i < tr->ntracks; i++) {
		free(tr->tracks[i].order);
		free(tr->tracks[i].level);
		free(tr->tracks[i].row);
		free(tr->tracks[i].flows);
		free(tr->tracks[i].names);
	}
	free(tr->tracks);
	free(tr->sections);
	*tr = (struct ss_trace){ 0 };
}
