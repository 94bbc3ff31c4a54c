/*
 * trace_file.c - trace_viewer: a whole host as one file of Chrome trace JSON, for other viewers
 * (02_trace_viewer section 5).
 *
 * No levels of detail, flows or counters: every event with all its arguments. Of more than
 * `max_events` the earliest are kept. Millions of events with their arguments would not fit memory
 * beside the profile, so the answer is pulled in pieces.
 */
#include "tools/timeline_build.h"
#include "tools/tool.h"

#include <stdlib.h>

#define PIECE 8192u	/* events */

static const struct ss_param params[] = {
	{ "max_events", "number", "5000000", "Keep no more than so many events, the earliest" },
};

const struct ss_tool ss_tool_trace_viewer;

struct trace_file {
	struct ss_tl_pull pull;
	const struct ss_trace *tr;
	const uint32_t *thread;		/* per track of the trace: number in the answer, SS_NONE: not shown */
	uint64_t until_ps;		/* events that begin at or after this are left out */
	uint32_t track, pos;		/* where the next piece begins */
	struct ss_arena arena;		/* of the piece that was pulled last */
	struct ss_timeline *piece;
	size_t arg_cap;
	const char *seen_from, *seen_to; /* the part of the file that the last piece was read from */
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
static bool has_events(const struct ss_line *l)
{
	return !ss_str_is(l->display_name.n ? l->display_name : l->name, "Async XLA Ops");
}

/* Preprocessing takes empty lines from the devices it adds lines to. */
static bool is_line_shown(const struct ss_host *h, const struct ss_plane *p, const struct ss_line *l)
{
	return l->ev.n || h->came_grouped || (p->kind != SS_PLANE_TENSOR_CORE && p->kind != SS_PLANE_GPU);
}

static uint32_t thread_id(const struct ss_line *l)
{
	return (uint32_t)(uint64_t)(l->display_id ? l->display_id : l->id);
}

static int by_pid(const void *a, const void *b)
{
	const struct ss_tl_section *sa = a, *sb = b;
	if (sa->pid != sb->pid)
		return sa->pid < sb->pid ? -1 : 1;
	return sa->first_track < sb->first_track ? -1 : sa->first_track > sb->first_track;
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
	if (na->tid != nb->tid)
		return na->tid < nb->tid ? -1 : 1;
	return na->line < nb->line ? -1 : na->line > nb->line;
}

static bool add_threads(struct ss_timeline *tl, struct ss_tl_section *s, const struct ss_host *h,
			const struct ss_plane *p, struct ss_arena *arena)
{
	struct numbered *v = SS_NEW_N(arena, struct numbered, p->nlines);
	uint32_t n = 0;
	if (!v)
		return false;
	for (uint32_t i = 0; i < p->nlines; i++)
		if (is_line_shown(h, p, &p->lines[i]))
			v[n++] = (struct numbered){ thread_id(&p->lines[i]), i };
	if (n)
		qsort(v, n, sizeof(*v), by_tid);
	s->first_track = (uint32_t)tl->ntracks;
	s->ntracks = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct ss_line *l = &p->lines[v[i].line];
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
		if (is_shown(&tr->planes[i], devices))
			add_plane(tl, &tr->planes[i], i);
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
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (tl->tracks[mid].tid <= tid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > s->first_track && tl->tracks[lo - 1].tid == tid ? lo - 1 : SS_NONE;
}

/* The answer's thread of each track of the trace: the same plane and thread id. */
static uint32_t *map_tracks(const struct ss_timeline *tl, const uint32_t *section_planes, const struct ss_trace *tr,
			    struct ss_arena *arena)
{
	const struct ss_plane *planes = tr->planes;
	uint32_t *thread = SS_NEW_N(arena, uint32_t, (size_t)tr->ntracks + 1);
	uint32_t *section = SS_NEW_N(arena, uint32_t, (size_t)tr->host->nplanes + 1);
	if (!thread || !section)
		return NULL;
	memset(section, 0xff, (size_t)tr->host->nplanes * sizeof(*section));
	for (uint32_t i = 0; i < tl->nsections; i++)
		section[section_planes[i]] = i;
	for (uint32_t i = 0; i < tr->ntracks; i++) {
		const struct ss_track *t = &tr->tracks[i];
		uint32_t k = section[t->plane - planes];
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
	uint64_t lo = 0, hi = UINT64_MAX;
	if (count_before(f, hi) <= max)
		return hi;
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;
		if (count_before(f, mid) <= max)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* ---- pieces ---- */

static bool add_arg(void *arg, struct ss_str name, const struct ss_xstat *s)
{
	struct trace_file *f = arg;
	struct ss_timeline *tl = f->piece;
	struct ss_tl_arg a = { name, ss_timeline_value(s) };
	if (s->kind == SS_X_BYTES)
		a.value.s = SS_STR("<opaque bytes>");
	if (!ss_arena_grow(&f->arena, (void **)&tl->args, &f->arg_cap, tl->nargs, tl->nargs + 1, sizeof(a)))
		return false;
	tl->args[tl->nargs++] = a;
	return true;
}

static int by_name(const void *a, const void *b)
{
	return ss_str_cmp(((const struct ss_tl_arg *)a)->name, ((const struct ss_tl_arg *)b)->name);
}

/* By name; of two with one name the later counts. Arguments are few. */
static size_t sort_args(struct ss_tl_arg *v, size_t n)
{
	size_t kept = 0;
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k && by_name(&v[k - 1], &v[k]) > 0; k--) {
			struct ss_tl_arg tmp = v[k];
			v[k] = v[k - 1];
			v[k - 1] = tmp;
		}
	for (size_t i = 0; i < n; i++) {
		if (kept && by_name(&v[kept - 1], &v[i]) == 0)
			kept--;
		v[kept++] = v[i];
	}
	return kept;
}

/*
 * Note what part of the file an event's arguments stand in; events of a line mostly follow each
 * other.
 */
static void see(struct trace_file *f, const struct ss_track *t, uint32_t pos)
{
	if (!t->line->src || !t->line->ev.off)
		return;
	struct ss_str body = ss_xevents_body(&t->line->ev, t->line->src, ss_track_event(t, pos));
	if (body.n && (!f->seen_from || body.p < f->seen_from))
		f->seen_from = body.p;
	if (body.n && (!f->seen_to || body.p + body.n > f->seen_to))
		f->seen_to = body.p + body.n;
}

/* The last piece was printed: its pages can go. */
static void forget_seen(struct trace_file *f)
{
	if (f->seen_from)
		ss_file_forget(&f->tr->host->x.file,
			       (struct ss_str){ f->seen_from, (size_t)(f->seen_to - f->seen_from) });
	f->seen_from = f->seen_to = NULL;
}

/*
 * Transfers between host and device, which are drawn on rows made for them, bear the mark of
 * asynchronous events.
 */
static bool is_offload(const struct ss_line *l)
{
	uint32_t number = (uint32_t)(uint64_t)l->id - SS_DERIVED_BASE;
	return !l->src && number >= SS_DERIVED_HOST_OFFLOAD && number < SS_DERIVED_HOST_XLA;
}

static bool add_event(struct trace_file *f, const struct ss_track *t, uint32_t pos)
{
	static const struct ss_xstat async = { .stat = SS_STAT_IS_ASYNC, .kind = SS_X_INT, .meta = SS_NONE, .u = 1 };
	struct ss_timeline *tl = f->piece;
	size_t i = tl->nslices++;
	tl->names[i] = ss_track_event_name(t, pos);
	tl->slices[i] = (struct ss_tl_slice){
		.begin_ps = ss_track_begin_ps(t, pos), .dur_ps = ss_track_dur_ps(t, pos), .group = -1,
		.track = f->thread[f->track], .name = (uint32_t)i, .flow = SS_NONE,
	};
	tl->slice_args[i].first = tl->nargs;
	see(f, t, pos);
	if (!ss_track_raw_args(t, pos, add_arg, f) || (is_offload(t->line) && !add_arg(f, SS_STR("_a"), &async)))
		return false;
	size_t n = tl->nargs - tl->slice_args[i].first;
	tl->slice_args[i].n = n ? sort_args(tl->args + tl->slice_args[i].first, n) : 0;
	tl->nargs = tl->slice_args[i].first + tl->slice_args[i].n;
	return true;
}

/* Events of the track at hand, as many as fit. False when memory is out. */
static bool fill(struct trace_file *f)
{
	const struct ss_track *t = &f->tr->tracks[f->track];
	for (; f->pos < t->n && f->piece->nslices < PIECE; f->pos++) {
		if (ss_track_begin_ps(t, f->pos) >= f->until_ps && (int64_t)ss_track_begin_ps(t, f->pos) >= 0) {
			f->pos = t->n;
			break;
		}
		if (t->level[f->pos] != SS_TRACE_HIDDEN && !add_event(f, t, f->pos))
			return false;
	}
	return true;
}

static bool next(struct ss_tl_pull *pull, struct ss_timeline *piece, struct ss_err *err)
{
	struct trace_file *f = (struct trace_file *)pull;
	ss_arena_release(&f->arena);
	forget_seen(f);
	*piece = (struct ss_timeline){ 0 };
	f->piece = piece;
	f->arg_cap = 0;
	piece->names = SS_NEW_N(&f->arena, struct ss_str, PIECE);
	piece->slices = SS_NEW_N(&f->arena, struct ss_tl_slice, PIECE);
	piece->slice_args = SS_NEW_N(&f->arena, struct ss_tl_args, PIECE);
	if (!piece->names || !piece->slices || !piece->slice_args)
		return ss_fail_mem(err);
	while (f->track < f->tr->ntracks && piece->nslices < PIECE) {
		if (f->thread[f->track] != SS_NONE && !fill(f))
			return ss_fail_mem(err);
		if (f->thread[f->track] == SS_NONE || f->pos == f->tr->tracks[f->track].n) {
			f->track++;
			f->pos = 0;
		}
	}
	piece->nnames = piece->nslices;
	return true;
}

static void close_file(struct ss_tl_pull *pull)
{
	ss_arena_release(&((struct trace_file *)pull)->arena);
}

static bool run(const struct ss_query *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_str max_text = ss_query_param(q, &ss_tool_trace_viewer, "max_events");
	uint64_t max;
	if (!ss_str_to_u64(max_text, &max))
		return ss_fail(err, SS_EINVAL, "max_events must be a number, not '" SS_FMT "'", SS_ARG(max_text));
	if (q->model->nhosts != 1)
		return ss_fail(err, SS_EINVAL, "the trace is of one host; ask for one of the %zu", q->model->nhosts);
	struct trace_file *f = SS_NEW(q->arena, struct trace_file);
	struct ss_timeline *tl = SS_NEW(q->arena, struct ss_timeline);
	const struct ss_trace *tr = ss_host_trace(q->model->hosts[0], err);
	if (!tr)
		return false;
	uint32_t *planes;
	if (!f || !tl || !add_layout(tl, tr, q->arena, &planes))
		return ss_fail_mem(err);
	*f = (struct trace_file){ .pull = { next, close_file }, .tr = tr, .thread = map_tracks(tl, planes, tr, q->arena) };
	if (!f->thread)
		return ss_fail_mem(err);
	f->until_ps = find_end(f, max);
	tl->pull = &f->pull;
	if (f->until_ps != UINT64_MAX &&
	    !ss_result_note(out, SS_WARNING, ss_arena_printf(q->arena, "only the first %llu events are in this file",
							     (unsigned long long)count_before(f, f->until_ps))))
		return ss_fail_mem(err);
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
};
