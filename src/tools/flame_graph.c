/*
 * flame_graph.c - where the time went, by stack: of a device the plane, the program, the parts of the
 * name scope and the operation; of a host the thread and events inside of events. Instead, a device's
 * operations stand below the lines of the program's text that made them, or below their category.
 *
 * Of a stretch of time what lies inside of it counts, as in the sums of the timeline; of tracks of the
 * timeline a thread is itself, and any track of a device is the device's work.
 *
 * A row is a stack, its time that of its last frame with all inside of it, once however often it came.
 * An event is inside of the innermost one of its line that is open and ends no earlier; its own time
 * is its duration without the events directly inside. Of a TPU core the line of operations counts, of
 * a GPU every stream: others say the same time again. Stacks below a ten thousandth of their plane's
 * time are left out, as is what would make more than ROWS_MOST rows; their time stays with the
 * stack around them.
 */
#include "base/bisect.h"
#include "base/safe.h"
#include "base/vec.h"
#include "model/attribution/host_kinds.h"
#include "model/host/event_order.h"
#include "model/ops/name_scope.h"
#include "model/preprocess/load.h"
#include "model/steps/meaning.h"
#include "model/timeline/trace.h"
#include "model/torch/torch.h"
#include "tools/timeline.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <math.h>
#include <stdlib.h>

#define STACKS_MOST (1u << 20)	/* that differ; what is inside of further ones counts as their own time */
#define ROWS_MOST 20000u
#define LEAST 10000		/* of a plane's time: its part */
#define TRACKS_MOST 65536u	/* bytes of the list */

enum { COL_PARENT, COL_NAME, COL_TIME_PS, COL_SELF_PS, COL_COUNT, COL_SHARE };

static const struct ss_col cols[] = {
	INT("parent", "Parent", NONE, "Row of the frame around it, -1: none"),
	STR("name", "Frame", "The innermost frame of the stack"),
	INT("time_ps", "Time", PS, "Of the stack, with all inside of it; of a plane the sum over its lines"),
	INT("self_ps", "Self time", PS, "Without what is inside of it"),
	INT("count", "Events", COUNT, "Events that are this stack"),
	NUM("share", "Share", FRAC, "Time / time of the plane"),
};

extern const struct ss_tool ss_tool_flame_graph;

enum by { BY_STACK, BY_SOURCE, BY_CATEGORY };

static const struct ss_param params[] = {
	{ "by", "stack|source|category", "stack",
	  "What a device's operations stand below: program and name scope, lines of the program's text, or category" },
	{ "from", "ms", NULL, "Begin of a stretch of time, as in the timeline: what lies inside of it counts" },
	{ "to", "ms", NULL, "End of the stretch" },
	{ "clocks", "recorded|aligned", "recorded", "The clock of from and to if there are several hosts, as in the timeline" },
	{ "tracks", "number,...", NULL, "Tracks of the timeline, by number: of a thread itself, of a device all its work" },
};

struct stack {
	uint32_t parent, frame; /* of stacks, SS_NONE; of frames */
	int64_t self_ps, time_ps;
	uint64_t count;
	uint32_t row;
};

struct stacks {
	struct ss_model *m;
	struct ss_result *out;
	SS_VEC(struct stack) v; /* parents before what is inside of them */
	struct ss_strmap frames;
	struct ss_u64map children; /* parent << 32 | frame */
	enum by by;
	int64_t from_ps, to_ps;	   /* of the common origin, */
	struct ss_clock_map clock; /* ... to which times of the host at hand go */
	const struct ss_model_trace *mt; /* NULL: of one host, or without a stretch */
	struct ss_str tracks;	   /* "": all */
	uint32_t first_track;	   /* of the host at hand */
	bool full;
};

/* The stack with one frame more. SS_NONE: memory is out. */
static uint32_t push(struct stacks *s, uint32_t parent, struct ss_str name)
{
	struct ss_str text = name.n ? name : SS_STR("(no name)");
	uint32_t f = ss_strmap_get(&s->frames, text);
	if (f == SS_NONE)
		f = ss_strmap_add(&s->frames, ss_intern_str(&s->out->texts, text));
	if (f == SS_NONE)
		return SS_NONE;
	uint64_t key = (uint64_t)parent << 32 | f;
	uint32_t at = ss_u64map_get(&s->children, key);
	if (at != SS_NONE)
		return at;
	if (s->v.n >= STACKS_MOST && parent != SS_NONE) {
		s->full = true;
		return parent;
	}
	if (!ss_vec_push(&s->v, (struct stack){ .parent = parent, .frame = f, .row = SS_NONE }))
		return SS_NONE;
	return ss_u64map_add(&s->children, key, (uint32_t)s->v.n - 1);
}

/* ---- what an operation is below ---- */

static struct ss_str stat_text(const struct ss_plane *p, const struct ss_line *l, uint32_t i, enum ss_stat which)
{
	struct ss_xstat s;
	if (!ss_xplane_has(p->x, which))
		return SS_STR("");
	if (ss_xstats_find(ss_line_stats(p, l, i), which, &s) ||
	    (l->ev.meta[i] < p->x->nevent_meta && ss_xstats_find(ss_xevent_meta_stats(p->x, l->ev.meta[i]), which, &s)))
		return ss_xstat_str(&s);
	return SS_STR("");
}

/* The program of a TPU core at a time: its last that began by then, if it goes on. SS_NONE: none. */
static uint32_t program_at(const struct ss_line *modules, int64_t begin_ps)
{
	uint32_t lo = 0, hi = modules && modules->ev.sorted ? modules->ev.n : 0;
	SS_BISECT(lo, hi, mid, modules->ev.begin_ps[mid] <= begin_ps);
	return lo && ss_xevents_end_ps(&modules->ev, lo - 1) > begin_ps ? modules->ev.meta[lo - 1] : SS_NONE;
}

/* A frame for each part of a name scope. What is no scope, as an operator of PyTorch or an NVTX range ("a/b: c"), is one frame. */
static uint32_t push_scopes(struct stacks *s, uint32_t at, struct ss_str scope, bool whole)
{
	if (whole)
		return at == SS_NONE || !scope.n ? at : push(s, at, scope);
	struct ss_str path = ss_scope_path(scope), part;
	while (at != SS_NONE && ss_scope_next(&path, &part))
		at = push(s, at, part);
	return at;
}

struct line {
	const struct ss_plane *p;
	const struct ss_line *l, *modules;
	uint32_t root;
	bool device, whole;
	struct ss_u64map known; /* program << 32 | name: the stack, of a TPU core; of a thread name: is it the profiler? */
};

/* The lines of the program's text, "file:line" each, the outermost call first. */
static uint32_t push_source(struct stacks *s, uint32_t at, const struct line *w, uint32_t i)
{
	struct ss_str text = stat_text(w->p, w->l, i, SS_STAT_SOURCE_STACK);
	if (!text.n)
		text = stat_text(w->p, w->l, i, SS_STAT_SOURCE);
	if (!text.n)
		return push(s, at, SS_STR("(no source line)"));
	while (at != SS_NONE && text.n) {
		size_t end = ss_str_chr(text, '\n');
		struct ss_str call = ss_str_sub(text, 0, end == SS_NPOS ? text.n : end);
		at = call.n ? push(s, at, call) : at;
		text = ss_str_sub(text, end == SS_NPOS ? text.n : end + 1, text.n);
	}
	return at;
}

/* That of the compiler; of an operation without, what its name tells. */
static struct ss_str category_of(const struct line *w, uint32_t i)
{
	struct ss_str c = stat_text(w->p, w->l, i, SS_STAT_HLO_CATEGORY);
	return c.n ? c : ss_str_from(ss_meaning_name(ss_event_meaning(w->p, w->l->ev.meta[i])));
}

static uint32_t push_program(struct stacks *s, const struct line *w, uint32_t i, uint32_t program)
{
	struct ss_str name = w->p->kind == SS_PLANE_GPU ? stat_text(w->p, w->l, i, SS_STAT_HLO_MODULE)
			     : program != SS_NONE	? ss_event_name(w->p, program)
							: SS_STR("");
	return name.n ? push(s, w->root, name) : w->root;
}

static uint32_t stack_of_op(struct stacks *s, struct line *w, uint32_t i)
{
	bool gpu = w->p->kind == SS_PLANE_GPU;
	uint32_t meta = w->l->ev.meta[i];
	uint32_t program = gpu || s->by != BY_STACK ? SS_NONE : program_at(w->modules, w->l->ev.begin_ps[i]);
	uint64_t key = (uint64_t)program << 32 | meta;
	uint32_t at = gpu ? SS_NONE : ss_u64map_get(&w->known, key);
	if (at != SS_NONE)
		return at;
	if (s->by == BY_CATEGORY) {
		at = push(s, w->root, category_of(w, i));
	} else if (s->by == BY_SOURCE) {
		at = push_source(s, w->root, w, i);
	} else {
		at = push_program(s, w, i, program);
		at = at == SS_NONE ? at : push_scopes(s, at, stat_text(w->p, w->l, i, SS_STAT_TF_OP), w->whole);
	}
	at = at == SS_NONE ? at : push(s, at, ss_event_label(w->p, meta));
	return gpu || at == SS_NONE ? at : ss_u64map_add(&w->known, key, at);
}

/* ---- events of a line ---- */

struct open {
	uint32_t event, stack;
};

/* What of an event lies inside the stretch; negative: it is beside it. */
static int64_t inside_ps(const struct stacks *s, const struct ss_xevents *ev, uint32_t i)
{
	int64_t begin_ps = ss_clock_shown(&s->clock, ev->begin_ps[i]),
		end_ps = ss_clock_shown(&s->clock, ss_xevents_end_ps(ev, i));
	if (begin_ps > s->to_ps || end_ps < s->from_ps)
		return -1;
	int64_t from_ps = begin_ps > s->from_ps ? begin_ps : s->from_ps, to_ps = end_ps < s->to_ps ? end_ps : s->to_ps;
	uint64_t inside = ss_safe_between(from_ps, to_ps);
	return !inside && end_ps > begin_ps ? -1 : ss_safe_end(0, inside);
}

/* Does the profiler start or stop there: nothing that the program did? */
static bool is_of_profiler(struct line *w, uint32_t meta)
{
	uint32_t known = ss_u64map_get(&w->known, meta);
	if (known == SS_NONE) {
		known = ss_host_kind_of_name(ss_event_label(w->p, meta)) == SS_KIND_PROFILER;
		ss_u64map_add(&w->known, meta, known); /* without memory it is asked again */
	}
	return known;
}

static bool add_events(struct stacks *s, struct line *w, const uint32_t *order, size_t n, struct open *open)
{
	const struct ss_xevents *ev = &w->l->ev;
	int64_t profiler_end_ps = INT64_MIN;
	size_t depth = 0;
	for (size_t k = 0; k < n; k++) {
		uint32_t i = order[k];
		if (ev->begin_ps[i] < profiler_end_ps)
			continue;
		if (ev->off && ev->off[i] == SS_EVENT_SYNTHETIC)
			continue; /* preprocessing added it: the file has no such event */
		int64_t part_ps = inside_ps(s, ev, i);
		if (part_ps < 0)
			continue; /* nor does what is inside of it */
		while (depth && ss_xevents_end_ps(ev, open[depth - 1].event) < ss_xevents_end_ps(ev, i))
			depth--;
		uint32_t around = depth ? open[depth - 1].stack : SS_NONE;
		if (!w->device && is_of_profiler(w, ev->meta[i])) {
			profiler_end_ps = ss_xevents_end_ps(ev, i);
			if (depth)
				s->v.v[around].self_ps = ss_safe_sum(s->v.v[around].self_ps, -part_ps);
			continue;
		}
		uint32_t at = w->device ? stack_of_op(s, w, i)
					: push(s, depth ? around : w->root, ss_event_label(w->p, ev->meta[i]));
		if (at == SS_NONE)
			return false;
		s->v.v[at].self_ps = ss_safe_sum(s->v.v[at].self_ps, part_ps);
		s->v.v[at].count++;
		if (depth)
			s->v.v[around].self_ps = ss_safe_sum(s->v.v[around].self_ps, -part_ps);
		open[depth++] = (struct open){ i, at };
	}
	return true;
}

static bool add_line(struct stacks *s, struct line *w)
{
	size_t n;
	uint32_t *order = ss_events_outer_first(&w->l->ev, &n);
	struct open *open = malloc((n + 1) * sizeof(*open));
	bool ok = order && open && add_events(s, w, order, n, open);
	free(order);
	free(open);
	ss_u64map_free(&w->known);
	return ok;
}

/* The recording itself, for which torch.profiler writes lines of their own: nothing that the program did. */
static bool is_recording(const struct ss_plane *p, const struct ss_line *l)
{
	static const struct ss_str marks[] = { SS_STR_INIT("PyTorch Profiler ("), SS_STR_INIT("Iteration Start: PyTorch Profiler"),
					       SS_STR_INIT("Record Window End") };
	bool all = true;
	for (uint32_t i = 0; all && i < l->ev.n; i++) {
		all = false;
		for (size_t k = 0; !all && k < SS_COUNT(marks); k++)
			all = ss_str_starts(ss_event_name(p, l->ev.meta[i]), marks[k]);
	}
	return all;
}

static bool has_work(const struct ss_plane *p, const struct ss_line *l)
{
	if (!l->ev.n || l->derived || is_recording(p, l))
		return false;
	return p->kind != SS_PLANE_TENSOR_CORE || ss_str_is(l->name, "XLA Ops");
}

/* Does an event of the line lie in the stretch at all? A plane or thread without one is no row. */
static bool has_part(const struct stacks *s, const struct ss_line *l)
{
	for (uint32_t i = 0; i < l->ev.n; i++)
		if (inside_ps(s, &l->ev, i) >= 0)
			return true;
	return false;
}

static bool is_asked(struct ss_str list, uint32_t number)
{
	while (list.n) {
		size_t comma = ss_str_chr(list, ',');
		uint64_t v;
		if (ss_str_to_u64(ss_str_sub(list, 0, comma == SS_NPOS ? list.n : comma), &v) && v == number)
			return true;
		list = ss_str_sub(list, comma == SS_NPOS ? list.n : comma + 1, list.n);
	}
	return false;
}

/* Which lines the tracks asked for stand for. */
struct chosen {
	const struct ss_trace *tr; /* NULL: all */
	uint8_t *tracks;
};

static bool is_chosen(const struct chosen *c, const struct ss_host *h, const struct ss_plane *p, uint32_t line)
{
	bool device = p->kind == SS_PLANE_TENSOR_CORE || p->kind == SS_PLANE_GPU;
	if (!c->tr)
		return true;
	const struct ss_display_plane *shown = &c->tr->planes[p - h->planes];
	for (uint32_t i = 0; i < c->tr->ntracks; i++) {
		const struct ss_track *t = &c->tr->tracks[i];
		if (c->tracks[i] && t->plane == &shown->base && (device || t->line == &shown->lines[line]))
			return true;
	}
	return false;
}

static bool add_plane(struct stacks *s, const struct ss_host *h, struct ss_str host, const struct ss_plane *p,
		      const struct chosen *c, bool whole)
{
	bool device = p->kind == SS_PLANE_TENSOR_CORE || p->kind == SS_PLANE_GPU, ok = true;
	struct ss_str name = s->m->nhosts > 1 ? ss_arena_printf(s->out->arena, SS_FMT " " SS_FMT, SS_ARG(host), SS_ARG(p->name))
					      : p->name;
	for (uint32_t k = 0; ok && k < p->nlines; k++) {
		struct line w = { .p = p, .l = &p->lines[k], .device = device, .whole = whole };
		if (!has_work(p, w.l) || !is_chosen(c, h, p, k) || !has_part(s, w.l))
			continue;
		w.modules = p->kind == SS_PLANE_TENSOR_CORE ? ss_plane_line(p, SS_STR("XLA Modules")) : NULL;
		w.root = push(s, SS_NONE, name);
		if (!device && w.root != SS_NONE)
			w.root = push(s, w.root, w.l->display_name.n ? w.l->display_name : w.l->name);
		ok = w.root != SS_NONE && add_line(s, &w);
	}
	return ok;
}

static bool read_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	const struct stacks *s = arg;
	(void)i;
	return s->tracks.n ? (bool)ss_host_trace(h, err) : ss_host_load(h, err);
}

static bool choose(struct stacks *s, struct ss_host *h, struct chosen *c, struct ss_err *err)
{
	*c = (struct chosen){ 0 };
	if (!s->tracks.n)
		return true;
	c->tr = ss_host_trace(h, err);
	if (!c->tr)
		return false;
	c->tracks = ss_arena_zalloc(s->out->arena, (size_t)c->tr->ntracks + 1, 1);
	if (!c->tracks)
		return ss_fail_mem(err);
	for (uint32_t i = 0; i < c->tr->ntracks; i++)
		c->tracks[i] = is_asked(s->tracks, s->first_track + i);
	s->first_track += c->tr->ntracks;
	return true;
}

/* Devices first. */
static bool take_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct stacks *s = arg;
	struct chosen c;
	bool ok = true, whole = ss_host_names_ranges(h);
	if (!choose(s, h, &c, err))
		return false;
	s->clock = s->mt ? s->mt->clocks[i] : (struct ss_clock_map){ 0 };
	for (int devices = 1; devices >= 0; devices--)
		for (uint32_t k = 0; ok && k < h->nplanes; k++)
			if (h->planes[k].kind != SS_PLANE_METADATA && ss_plane_is_device(&h->planes[k]) == devices)
				ok = add_plane(s, h, s->m->hosts[i]->name, &h->planes[k], &c, whole);
	return ok || ss_fail_mem(err);
}

/* ---- rows ---- */

struct place {
	uint32_t parent, stack;
	int64_t time_ps;
};

/* What is inside of one together, the longest first. */
static int by_parent(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->time_ps != y->time_ps && x->parent != SS_NONE)
		return x->time_ps > y->time_ps ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void sum_up(struct stacks *s)
{
	for (size_t i = s->v.n; i-- > 0;) {
		struct stack *k = &s->v.v[i];
		k->time_ps = ss_safe_sum(k->time_ps, k->self_ps);
		if (k->parent != SS_NONE)
			s->v.v[k->parent].time_ps = ss_safe_sum(s->v.v[k->parent].time_ps, k->time_ps);
	}
}

static void put_row(struct stacks *s, struct ss_table *t, uint32_t at, int64_t whole_ps)
{
	struct stack *k = &s->v.v[at];
	k->row = (uint32_t)t->nrows;
	ss_table_row(t);
	ss_set_i64(t, COL_PARENT, k->parent == SS_NONE ? -1 : (int64_t)s->v.v[k->parent].row);
	ss_set_str(t, COL_NAME, s->frames.keys[k->frame]);
	ss_set_i64(t, COL_TIME_PS, k->time_ps);
	ss_set_i64(t, COL_SELF_PS, k->self_ps);
	ss_set_i64(t, COL_COUNT, (int64_t)k->count);
	if (whole_ps > 0)
		ss_set_f64(t, COL_SHARE, (double)k->time_ps / (double)whole_ps);
}

/* Those inside of `at` begin there in the list; n: none. */
static size_t first_inside(const struct place *v, size_t n, uint32_t at)
{
	size_t lo = 0, hi = n;
	SS_BISECT(lo, hi, mid, v[mid].parent < at);
	return lo;
}

/* Each row is followed by what is inside of it. */
static bool put_rows(struct stacks *s, struct ss_table *t)
{
	size_t n = s->v.n, depth = 0;
	struct place *v = malloc((n + 1) * sizeof(*v));
	size_t *next = malloc((n + 1) * sizeof(*next));
	bool ok = v && next;
	for (size_t i = 0; ok && i < n; i++)
		v[i] = (struct place){ s->v.v[i].parent, (uint32_t)i, s->v.v[i].time_ps };
	if (ok && n)
		qsort(v, n, sizeof(*v), by_parent);
	int64_t whole_ps = 0;
	uint32_t parent = SS_NONE;
	if (ok && n)
		next[depth++] = first_inside(v, n, SS_NONE);
	while (ok && depth) {
		size_t at = next[depth - 1];
		bool any = at < n && v[at].parent == parent && t->nrows < ROWS_MOST &&
			   (depth == 1 || v[at].time_ps >= whole_ps / LEAST);
		if (!any) {
			depth--;
			parent = parent == SS_NONE ? SS_NONE : s->v.v[parent].parent;
			continue;
		}
		next[depth - 1]++;
		whole_ps = depth == 1 ? v[at].time_ps : whole_ps;
		put_row(s, t, v[at].stack, whole_ps);
		parent = v[at].stack;
		next[depth++] = first_inside(v, n, parent);
	}
	free(v);
	free(next);
	return ok;
}

static bool read_params(const struct ss_request *q, struct stacks *s, struct ss_err *err)
{
	static const char *const words[] = { [BY_STACK] = "stack", [BY_SOURCE] = "source", [BY_CATEGORY] = "category" };
	struct ss_str by = ss_request_param(q, &ss_tool_flame_graph, "by");
	while (s->by < SS_COUNT(words) && !ss_str_is(by, words[s->by]))
		s->by++;
	if (s->by == SS_COUNT(words))
		return ss_fail(err, SS_EINVAL, "by must be stack, source or category, not '" SS_FMT "'", SS_ARG(by));
	s->tracks = ss_request_param(q, &ss_tool_flame_graph, "tracks");
	if (s->tracks.n > TRACKS_MOST)
		return ss_fail(err, SS_EINVAL, "tracks names more than can be looked for: %zu bytes", s->tracks.n);
	if (!ss_request_time_ps(q, &ss_tool_flame_graph, "from", &s->from_ps, err) ||
	    !ss_request_time_ps(q, &ss_tool_flame_graph, "to", &s->to_ps, err))
		return false;
	if (s->from_ps > s->to_ps)
		return ss_fail(err, SS_EINVAL, "from is after to");
	bool whole = s->from_ps == INT64_MIN && s->to_ps == INT64_MAX;
	if (whole || s->m->nhosts < 2)
		return true;
	if (s->m->visited)
		return ss_fail(err, SS_EINVAL,
			       "a stretch of time is one of a host: name the host (hosts are read one after the other here)");
	struct ss_model *of = ss_request_clocks(q, &ss_tool_flame_graph, err);
	s->mt = of ? ss_model_trace(of, err) : NULL;
	return s->mt;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct stacks s = { .m = q->model, .out = out, .from_ps = INT64_MIN, .to_ps = INT64_MAX };
	struct ss_table *t = ss_result_table(out, "stacks", "Stacks", cols, SS_COUNT(cols));
	const struct ss_visit visit = { .read = read_host, .take = take_host, .arg = &s };
	if (!read_params(q, &s, err))
		return false;
	bool ok = t || ss_fail_mem(err);
	ok = ok && ss_tool_visit(q, out, &visit, err);
	if (ok) {
		sum_up(&s);
		ok = put_rows(&s, t) || ss_fail_mem(err);
	}
	if (ok && s.full)
		ss_result_note(out, SS_WARNING,
			       SS_STR("There are more than a million stacks: what is inside of further ones counts as the own "
				      "time of the stack around them."));
	ss_vec_free(&s.v);
	ss_strmap_free(&s.frames);
	ss_u64map_free(&s.children);
	return ok;
}

/* Was a stretch of time asked for, or some tracks? */
static bool is_part(const struct ss_request *q)
{
	return ss_request_param(q, &ss_tool_flame_graph, "from").n || ss_request_param(q, &ss_tool_flame_graph, "to").n ||
	       ss_request_param(q, &ss_tool_flame_graph, "tracks").n;
}

/* Of each of the first planes the frame with most time of its own. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = ss_result_at(out, 0);
	(void)err;
	size_t root = 0, best = 0, said = 0;
	for (size_t i = 0; i <= t->nrows; i++) {
		bool begins = i == t->nrows || ss_cell_i64(t, i, "parent") < 0;
		if (begins && i > root && said < 3 && ss_cell_i64(t, best, "self_ps") > 0) {
			ss_say(out, "On " SS_FMT ", %s are spent in '" SS_FMT "' itself: no other stack takes more.",
			       SS_ARG(ss_cell_str(t, root, "name")),
			       ss_share_words(SS_UNIT_PS, ss_cell_f64(t, best, "self_ps"), ss_cell_f64(t, root, "time_ps")).s,
			       SS_ARG(ss_cell_str(t, best, "name")));
			said++;
		}
		if (i < t->nrows && (begins || ss_cell_i64(t, i, "self_ps") > ss_cell_i64(t, best, "self_ps")))
			best = i;
		root = begins ? i : root;
	}
	if (!said)
		ss_result_say(out, is_part(q) ? SS_STR("No event of what was chosen takes time.")
					      : SS_STR("No event of the profile takes time."));
	return true;
}

const struct ss_tool ss_tool_flame_graph = {
	.name = "flame_graph",
	.title = "Flame graph",
	.summary = "Time by stack: programs, name scopes and operations of devices, events inside of events of hosts",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS,
	.params = params,
	.nparams = SS_COUNT(params),
	.run = run,
	.conclude = conclude,
};
