/*
 * trace_file.c - trace_viewer: a whole host as one file of Chrome trace JSON, for other viewers
 * (docs/tools/trace_viewer.md).
 *
 * No levels of detail, flows or counters: every event with all its arguments. Of more than
 * `max_events` the earliest are kept. Millions of events with their arguments would not fit memory
 * beside the profile, so the answer is pulled in pieces.
 */
#include "base/bisect.h"

#include "model/host/derived_line.h"
#include "model/host/host.h"
#include "model/model.h"
#include "tools/timeline_build.h"
#include "tools/timeline_words.h"
#include "tools/tool.h"

#include <stdlib.h>

/* Events of a piece: what they take stays in the processor's nearest memory. */
#define PIECE 256u
/* Pages of the file are given back when they are so many. */
#define FORGET_BYTES ((ptrdiff_t)256 << 10)

static const struct ss_param params[] = {
	{ "max_events", "number", "5000000", "Maximum number of events; the earliest are kept" },
};

const struct ss_tool ss_tool_trace_viewer;

/* A part of the file that was read and not given back yet. */
struct seen {
	const char *from, *to;
};

struct trace_file {
	struct ss_tl_pull pull;
	const struct ss_trace *tr;
	const uint32_t *thread;		/* per track of the trace: number in the answer, SS_NONE: not shown */
	uint64_t until_ps;		/* events that begin at or after this are left out */
	uint32_t track, pos;		/* where the next piece begins */
	size_t run;			/* ss_track_raw_args, on this track */
	struct ss_tl_event events[PIECE]; /* the piece that was pulled last */
	size_t nevents;
	SS_VEC(struct ss_tl_arg) args;
	SS_VEC(struct ss_tl_arg) kind_args; /* of the kind that was asked for last */
	struct seen events_seen, kinds_seen;
};

/* ---- which planes and lines ---- */

/* Devices of the first of these kinds that there is, and the host's own threads. */
static struct ss_str device_prefix(const struct ss_host *h)
{
	static const struct ss_str prefixes[] = {
		SS_STR_INIT("/device:GPU:"), SS_STR_INIT("/device:TPU:"), SS_STR_INIT("/device:CUSTOM:"),
	};
	for (size_t i = 0; i < SS_COUNT(prefixes); i++)
		for (uint32_t k = 0; k < h->nplanes; k++)
			if (ss_str_starts(h->planes[k].name, prefixes[i]))
				return prefixes[i];
	return SS_STR("/device:GPU:");
}

static bool is_shown(const struct ss_plane *p, struct ss_str devices)
{
	return p->kind == SS_PLANE_HOST_CPU || ss_str_starts(p->name, devices);
}

/* Of asynchronous ops only the name of their line is there. */
static bool has_events(const struct ss_display_line *l)
{
	return !ss_str_is(l->display_name.n ? l->display_name : l->name, "Async XLA Ops");
}

/* Preprocessing takes empty lines from the devices it adds lines to. */
static bool is_line_shown(const struct ss_host *h, const struct ss_plane *p, const struct ss_display_line *l)
{
	return l->n || h->preprocessed || (p->kind != SS_PLANE_TENSOR_CORE && p->kind != SS_PLANE_GPU);
}

static uint32_t thread_id(const struct ss_display_line *l)
{
	return (uint32_t)(uint64_t)(l->display_id ? l->display_id : l->id);
}

static int by_pid(const void *a, const void *b)
{
	const struct ss_tl_section *sa = a, *sb = b;
	return SS_CMP(sa->pid, sb->pid) ?: SS_CMP(sa->first_track, sb->first_track);
}

static void add_plane(struct ss_timeline *tl, const struct ss_plane *p, uint32_t index)
{
	/* first_track is the plane's number until its tracks are known. */
	struct ss_tl_section *s = &tl->sections[tl->nsections++];
	*s = (struct ss_tl_section){ .name = p->name, .first_track = index };
	s->pid = p->kind == SS_PLANE_HOST_CPU ? 701 : 1 + (uint32_t)(uint64_t)p->id;
	s->sort_index = s->pid;
}

struct numbered {
	uint32_t tid, line;
};

static int by_tid(const void *a, const void *b)
{
	const struct numbered *na = a, *nb = b;
	return SS_CMP(na->tid, nb->tid) ?: SS_CMP(na->line, nb->line);
}

static bool add_threads(struct ss_timeline *tl, struct ss_tl_section *s, const struct ss_host *h,
			const struct ss_display_plane *p, struct ss_arena *arena)
{
	struct numbered *v = SS_NEW_N(arena, struct numbered, p->nlines);
	uint32_t n = 0;
	if (!v)
		return false;
	for (uint32_t i = 0; i < p->nlines; i++)
		if (is_line_shown(h, &p->base, &p->lines[i]))
			v[n++] = (struct numbered){ thread_id(&p->lines[i]), i };
	if (n)
		qsort(v, n, sizeof(*v), by_tid);
	s->first_track = (uint32_t)tl->ntracks;
	s->ntracks = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct ss_display_line *l = &p->lines[v[i].line];
		tl->tracks[tl->ntracks++] = (struct ss_tl_track){
			.section = (uint32_t)(s - tl->sections), .tid = v[i].tid,
			.name = l->display_name.n ? l->display_name : l->name,
		};
	}
	return true;
}

/* *planes: number of the plane of each section. */
static bool add_layout(struct ss_timeline *tl, const struct ss_trace *tr, struct ss_arena *arena, uint32_t **planes)
{
	const struct ss_host *h = tr->host;
	size_t nlines = 0;
	for (uint32_t i = 0; i < h->nplanes; i++)
		nlines += tr->planes[i].nlines;
	tl->sections = SS_NEW_N(arena, struct ss_tl_section, h->nplanes);
	tl->tracks = SS_NEW_N(arena, struct ss_tl_track, nlines);
	*planes = SS_NEW_N(arena, uint32_t, (size_t)h->nplanes + 1);
	if (!tl->sections || !tl->tracks || !*planes)
		return false;
	const struct ss_str devices = device_prefix(h);
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (is_shown(&tr->planes[i].base, devices))
			add_plane(tl, &tr->planes[i].base, i);
	if (tl->nsections)
		qsort(tl->sections, tl->nsections, sizeof(*tl->sections), by_pid);
	for (size_t i = 0; i < tl->nsections; i++) {
		(*planes)[i] = tl->sections[i].first_track;
		if (!add_threads(tl, &tl->sections[i], h, &tr->planes[(*planes)[i]], arena))
			return false;
	}
	return true;
}

/* The thread of this id; the last one where several lines have it. Threads of a section are sorted. */
static uint32_t find_thread(const struct ss_timeline *tl, const struct ss_tl_section *s, uint32_t tid)
{
	uint32_t lo = s->first_track, hi = s->first_track + s->ntracks;
	SS_BISECT(lo, hi, mid, tl->tracks[mid].tid <= tid);
	return lo > s->first_track && tl->tracks[lo - 1].tid == tid ? lo - 1 : SS_NONE;
}

/* The answer's thread of each track of the trace: the same plane and thread id. */
static uint32_t *map_tracks(const struct ss_timeline *tl, const uint32_t *section_planes, const struct ss_trace *tr,
			    struct ss_arena *arena)
{
	uint32_t *thread = SS_NEW_N(arena, uint32_t, (size_t)tr->ntracks + 1);
	uint32_t *section = SS_NEW_N(arena, uint32_t, (size_t)tr->host->nplanes + 1);
	if (!thread || !section)
		return NULL;
	memset(section, 0xff, (size_t)tr->host->nplanes * sizeof(*section));
	for (uint32_t i = 0; i < tl->nsections; i++)
		section[section_planes[i]] = i;
	for (uint32_t i = 0; i < tr->ntracks; i++) {
		const struct ss_track *t = &tr->tracks[i];
		uint32_t k = section[tr->sections[t->section].plane - tr->planes];
		thread[i] = k == SS_NONE || !has_events(t->line) ? SS_NONE : find_thread(tl, &tl->sections[k], t->tid);
	}
	return thread;
}

/* ---- how many ---- */

static uint64_t count_before(const struct trace_file *f, uint64_t ps)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < f->tr->ntracks; i++)
		if (f->thread[i] != SS_NONE)
			n += ss_track_lower(&f->tr->tracks[i], ps);
	return n;
}

/* The latest moment before which at most `max` events begin. */
static uint64_t find_end(const struct trace_file *f, uint64_t max)
{
	uint64_t lo = 1, hi = UINT64_MAX;
	if (count_before(f, hi) <= max)
		return hi;
	SS_BISECT(lo, hi, mid, count_before(f, mid) <= max);
	return lo - 1;
}

/* ---- pieces ---- */

/* Neighbours are mostly read one after the other. */
static void see(struct seen *s, struct ss_str part)
{
	if (part.n && (!s->from || part.p < s->from))
		s->from = part.p;
	if (part.n && (!s->to || part.p + part.n > s->to))
		s->to = part.p + part.n;
}

static void forget_seen(const struct trace_file *f, struct seen *s)
{
	if (!s->from || s->to - s->from < FORGET_BYTES)
		return;
	ss_file_forget(&f->tr->host->x.file, (struct ss_str){ s->from, (size_t)(s->to - s->from) });
	*s = (struct seen){ NULL, NULL };
}

static struct ss_tl_arg arg_of(struct ss_str name, const struct ss_xstat *s)
{
	struct ss_tl_arg a = { name, ss_timeline_value(s) };
	if (s->kind == SS_X_BYTES)
		a.value.s = SS_STR("<opaque bytes>");
	return a;
}

static bool add_arg(void *arg, struct ss_str name, const struct ss_xstat *s)
{
	struct trace_file *f = arg;
	return ss_vec_push(&f->args, arg_of(name, s));
}

static bool add_kind_arg(void *arg, struct ss_str name, const struct ss_xstat *s)
{
	struct trace_file *f = arg;
	return ss_vec_push(&f->kind_args, arg_of(name, s));
}

/* Events of one name of a plane are a kind. */
static uint64_t kind_of(const struct trace_file *f, const struct ss_track *t, uint32_t meta)
{
	return (uint64_t)(f->tr->sections[t->section].plane - f->tr->planes) << 32 | meta;
}

static bool get_kind(struct ss_tl_pull *pull, uint64_t kind, struct ss_tl_kind *out, struct ss_err *err)
{
	struct trace_file *f = (struct trace_file *)pull;
	const struct ss_plane *p = &f->tr->planes[kind >> 32].base;
	f->kind_args.n = 0;
	if (!ss_plane_raw_args(p, (uint32_t)kind, add_kind_arg, f))
		return ss_fail_mem(err);
	if ((uint32_t)kind < p->x->nevent_meta)
		see(&f->kinds_seen, p->x->event_meta[(uint32_t)kind].body);
	*out = (struct ss_tl_kind){ ss_event_label(p, (uint32_t)kind), f->kind_args.v, f->kind_args.n };
	return true;
}

/*
 * Transfers between host and device, which are drawn on rows made for them, bear the mark of
 * asynchronous events.
 */
static bool is_offload(const struct ss_display_line *l)
{
	uint32_t number = (uint32_t)(uint64_t)l->id - SS_DERIVED_BASE;
	return !l->line && number >= SS_DERIVED_HOST_OFFLOAD && number < SS_DERIVED_HOST_XLA;
}

static bool add_event(struct trace_file *f, const struct ss_track *t, uint32_t pos)
{
	static const struct ss_xstat async = { .stat = SS_STAT_IS_ASYNC, .kind = SS_X_INT, .meta = SS_NONE, .u = 1 };
	uint32_t event = ss_track_event(t, pos);
	struct ss_tl_event *e = &f->events[f->nevents++];
	*e = (struct ss_tl_event){
		.begin_ps = (uint64_t)ss_display_begin_ps(t->line, event), .dur_ps = ss_display_dur_ps(t->line, event),
		.kind = kind_of(f, t, ss_display_meta(t->line, event)), .track = f->thread[f->track], .first_arg = f->args.n,
	};
	if (t->nnames)
		e->name = ss_track_own_name(t, pos);
	const struct ss_line *l = t->line->line;
	if (l && l->src && l->ev.off)
		see(&f->events_seen, ss_xevents_body(&l->ev, l->src, event));
	if (!ss_track_raw_args(t, pos, &f->run, add_arg, f) || (is_offload(t->line) && !add_arg(f, SS_STR("_a"), &async)))
		return false;
	size_t nargs = f->args.n - e->first_arg;
	e->nargs = (uint32_t)nargs;
	return nargs <= UINT32_MAX;
}

/* Events of the track at hand, as many as fit. False when memory is out. */
static bool fill(struct trace_file *f)
{
	const struct ss_track *t = &f->tr->tracks[f->track];
	for (; f->pos < t->n && f->nevents < PIECE; f->pos++) {
		if (ss_track_begin_ps(t, f->pos) >= f->until_ps && (int64_t)ss_track_begin_ps(t, f->pos) >= 0) {
			f->pos = t->n;
			break;
		}
		if (t->level[f->pos] != SS_TRACE_HIDDEN && !add_event(f, t, f->pos))
			return false;
	}
	return true;
}

static bool next(struct ss_tl_pull *pull, struct ss_tl_piece *piece, struct ss_err *err)
{
	struct trace_file *f = (struct trace_file *)pull;
	/* What was pulled before is printed. */
	forget_seen(f, &f->events_seen);
	forget_seen(f, &f->kinds_seen);
	f->nevents = f->args.n = 0;
	while (f->track < f->tr->ntracks && f->nevents < PIECE) {
		if (f->thread[f->track] != SS_NONE && !fill(f))
			return ss_fail_mem(err);
		if (f->thread[f->track] == SS_NONE || f->pos == f->tr->tracks[f->track].n) {
			f->track++;
			f->pos = 0;
			f->run = 0;
		}
	}
	*piece = (struct ss_tl_piece){ f->events, f->nevents, f->args.v };
	return true;
}

static void close_file(struct ss_tl_pull *pull)
{
	struct trace_file *f = (struct trace_file *)pull;
	ss_vec_free(&f->args);
	ss_vec_free(&f->kind_args);
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_str max_text = ss_request_param(q, &ss_tool_trace_viewer, "max_events");
	uint64_t max;
	if (!ss_str_to_u64(max_text, &max))
		return ss_fail(err, SS_EINVAL, "max_events must be a number, not '" SS_FMT "'", SS_ARG(max_text));
	if (q->model->nhosts != 1)
		return ss_fail(err, SS_EINVAL, "the trace is of one host; ask for one of the %zu", q->model->nhosts);
	if (q->as_tables)
		return ss_timeline_tracks(out, q->model, err);
	struct trace_file *f = SS_NEW(q->arena, struct trace_file);
	struct ss_timeline *tl = SS_NEW(q->arena, struct ss_timeline);
	const struct ss_trace *tr = ss_host_trace(q->model->hosts[0], err);
	if (!tr)
		return false;
	uint32_t *planes;
	if (!f || !tl || !add_layout(tl, tr, q->arena, &planes))
		return ss_fail_mem(err);
	f->pull = (struct ss_tl_pull){ next, get_kind, close_file };
	f->tr = tr;
	f->thread = map_tracks(tl, planes, tr, q->arena);
	if (!f->thread)
		return ss_fail_mem(err);
	f->until_ps = find_end(f, max);
	tl->pull = &f->pull;
	tl->nevents = count_before(f, f->until_ps);
	if (f->until_ps != UINT64_MAX)
		ss_result_note(out, SS_WARNING, ss_arena_printf(q->arena, "only the first %llu event%s in this file",
								(unsigned long long)tl->nevents,
								tl->nevents == 1 ? " is" : "s are"));
	out->timeline = tl;
	return true;
}

const struct ss_tool ss_tool_trace_viewer = {
	.name = "trace_viewer",
	.title = "Trace file",
	.summary = "A whole host as one file of Chrome trace JSON, for other viewers",
	.kind = SS_KIND_TIMELINE,
	.flags = SS_TOOL_UNLISTED,
	.params = params,
	.nparams = SS_COUNT(params),
	.run = run,
	.conclude = ss_timeline_conclude,
};
