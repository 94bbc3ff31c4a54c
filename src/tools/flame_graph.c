/*
 * flame_graph.c - where the time went, by stack: of a device the plane, the program, the parts of
 * the name scope and the operation; of a host the thread and events inside of events. Instead, a
 * device's operations stand below the lines of the program's text that made them, or below their
 * category.
 *
 * Of a stretch of time what lies inside of it counts, as in the sums of the timeline; of tracks of
 * the timeline a thread is itself, and any track of a device is the device's work.
 *
 * A row is a stack, its time that of its last frame with all inside of it, once however often it
 * came. An event is inside of the innermost one of its line that is open and ends no earlier; its
 * own time is its duration without the events directly inside. Of a TPU core the line of operations
 * counts, of a GPU every stream: others say the same time again. Stacks below a ten thousandth of
 * their plane's time are left out, as is what would make more than ROWS_MOST rows; their time stays
 * with the stack around them.
 */
#include "base/bisect.h"

#include "base/cxx_name.h"
#include "base/safe.h"
#include "base/vec.h"
#include "model/attribution/host_kinds.h"
#include "model/host/event_order.h"
#include "model/host/host.h"
#include "model/model.h"
#include "model/ops/stack_tree.h"
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
#define PLANES_SAID 3u		/* in the conclusion */

enum { COL_PARENT, COL_NAME, COL_TIME_PS, COL_SELF_PS, COL_COUNT, COL_SHARE };

static const struct ss_col cols[] = {
	INT("parent", "Parent", NONE, "Row of the enclosing frame; -1: none"),
	STR("name", "Frame", "The innermost frame of the stack"),
	INT("time_ps", "Time", PS, "Time of the stack with nested events; of a plane the sum over its lines"),
	INT("self_ps", "Self time", PS, "Time without nested events"),
	INT("count", "Events", COUNT, "Number of events with this stack"),
	NUM("share", "Share", FRAC, "Time / time of the plane"),
};

extern const struct ss_tool ss_tool_flame_graph;

enum by { BY_STACK, BY_SOURCE, BY_CATEGORY };

static const struct ss_param params[] = {
	{ "by", "stack|source|category", "stack",
	  "grouping of a device's operations: program and name scope, lines of the source, or category" },
	{ "from", "ms", NULL, "begin of a time range, as in the timeline: only time within it counts" },
	{ "to", "ms", NULL, "end of the time range" },
	{ "clocks", "recorded|aligned", "recorded", "clock of from and to with several hosts, as in the timeline" },
	{ "tracks", "number,...", NULL, "tracks of the timeline, by number: a thread, or all work of a device" },
};

struct stacks {
	struct ss_model *m;
	struct ss_result *out;
	struct ss_stack_tree tree;
	enum by by;
	int64_t from_ps, to_ps;	   /* of the common origin, */
	struct ss_clock_map clock; /* ... to which times of the host at hand go */
	const struct ss_model_trace *mt; /* NULL: of one host, or without a stretch */
	struct ss_str tracks;	   /* "": all */
	uint32_t first_track;	   /* of the host at hand */
};

struct line {
	const struct ss_plane *p;
	const struct ss_line *l, *modules;
	uint32_t root;
	bool device, whole;
	struct ss_u64map known; /* program << 32 | name: the stack, of a TPU core; of a thread name: is it the profiler? */
};

/* The lines of the program's text, "file:line" each, the outermost call first. */
static uint32_t push_source(struct ss_stack_tree *t, uint32_t at, const struct line *w, uint32_t i)
{
	struct ss_str text = ss_stack_text(w->p, w->l, i, SS_STAT_SOURCE_STACK);
	if (!text.n)
		text = ss_stack_text(w->p, w->l, i, SS_STAT_SOURCE);
	if (!text.n)
		return ss_stack_push(t, at, SS_STR("(no source line)"));
	while (at != SS_NONE && text.n) {
		size_t end = ss_str_chr(text, '\n');
		struct ss_str call = ss_str_sub(text, 0, end == SS_NPOS ? text.n : end);
		at = call.n ? ss_stack_push(t, at, call) : at;
		text = ss_str_sub(text, end == SS_NPOS ? text.n : end + 1, text.n);
	}
	return at;
}

/* The category of the compiler; for an operation without one, that of its name. */
static struct ss_str category_of(const struct line *w, uint32_t i)
{
	struct ss_str c = ss_stack_text(w->p, w->l, i, SS_STAT_HLO_CATEGORY);
	return c.n ? c : ss_str_from(ss_meaning_name(ss_event_meaning(w->p, w->l->ev.meta[i])));
}

/* The program of a TPU core at a time: its name, SS_NONE: none. */
static uint32_t program_at(const struct ss_line *modules, int64_t begin_ps)
{
	uint32_t at = modules && modules->ev.sorted ? ss_stack_running(modules, NULL, begin_ps) : SS_NONE;
	return at == SS_NONE ? SS_NONE : modules->ev.meta[at];
}

static struct ss_str program_name(const struct line *w, uint32_t i, uint32_t program)
{
	return w->p->kind == SS_PLANE_GPU ? ss_stack_text(w->p, w->l, i, SS_STAT_HLO_MODULE)
	       : program != SS_NONE	  ? ss_event_name(w->p, program)
					  : SS_STR("");
}

static uint32_t stack_of_op(struct stacks *s, struct line *w, uint32_t i)
{
	struct ss_stack_tree *t = &s->tree;
	bool gpu = w->p->kind == SS_PLANE_GPU;
	uint32_t meta = w->l->ev.meta[i];
	uint32_t program = gpu || s->by != BY_STACK ? SS_NONE : program_at(w->modules, w->l->ev.begin_ps[i]);
	uint64_t key = (uint64_t)program << 32 | meta;
	uint32_t at = gpu ? SS_NONE : ss_u64map_get(&w->known, key);
	if (at != SS_NONE)
		return at;
	if (s->by == BY_STACK) {
		at = ss_stack_of_op(t, w->root, program_name(w, i, program), w->p, w->l, i, w->whole);
	} else {
		at = s->by == BY_CATEGORY ? ss_stack_push(t, w->root, category_of(w, i)) : push_source(t, w->root, w, i);
		at = at == SS_NONE ? at : ss_stack_push(t, at, ss_event_label(w->p, meta));
	}
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

static void take_away(struct ss_stack *around, int64_t inside_ps)
{
	around->self_ps = ss_safe_sum(around->self_ps, -inside_ps);
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
		if (ss_xevents_is_added(ev, i))
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
				take_away(&s->tree.v.v[around], part_ps);
			continue;
		}
		uint32_t at = w->device ? stack_of_op(s, w, i)
					: ss_stack_push(&s->tree, depth ? around : w->root, ss_event_kind_label(w->p, ev->meta[i]));
		if (at == SS_NONE)
			return false;
		ss_stack_count(&s->tree, at, part_ps);
		if (depth)
			take_away(&s->tree.v.v[around], part_ps);
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

/*
 * The recording itself, for which torch.profiler writes lines of their own: nothing that the
 * program did.
 */
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
		w.root = ss_stack_push(&s->tree, SS_NONE, name);
		if (!device && w.root != SS_NONE)
			w.root = ss_stack_push(&s->tree, w.root, w.l->display_name.n ? w.l->display_name : w.l->name);
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

/* The frames inside of one frame, the longest first. */
static int by_parent(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->parent != y->parent)
		return SS_CMP(x->parent, y->parent);
	if (x->time_ps != y->time_ps && x->parent != SS_NONE)
		return SS_CMP(y->time_ps, x->time_ps);
	return SS_CMP(x->stack, y->stack);
}

/* While rows are put: by stack, its time with all inside of it, and its row. */
struct rows {
	const struct ss_stack_tree *tree;
	struct ss_table *t;
	int64_t *time_ps;
	uint32_t *row;
};

static void sum_up(struct rows *r)
{
	const struct ss_stack *v = r->tree->v.v;
	for (size_t i = r->tree->v.n; i-- > 0;) {
		r->time_ps[i] = ss_safe_sum(r->time_ps[i], v[i].self_ps);
		if (v[i].parent != SS_NONE)
			r->time_ps[v[i].parent] = ss_safe_sum(r->time_ps[v[i].parent], r->time_ps[i]);
	}
}

static void put_row(struct rows *r, uint32_t at, int64_t whole_ps)
{
	const struct ss_stack *k = &r->tree->v.v[at];
	struct ss_table *t = r->t;
	r->row[at] = (uint32_t)t->nrows;
	ss_table_row(t);
	ss_set_i64(t, COL_PARENT, k->parent == SS_NONE ? -1 : (int64_t)r->row[k->parent]);
	ss_set_str(t, COL_NAME, r->tree->frames.keys[k->frame]);
	ss_set_i64(t, COL_TIME_PS, r->time_ps[at]);
	ss_set_i64(t, COL_SELF_PS, k->self_ps);
	ss_set_i64(t, COL_COUNT, (int64_t)k->count);
	if (whole_ps > 0)
		ss_set_f64(t, COL_SHARE, (double)r->time_ps[at] / (double)whole_ps);
}

/* Those inside of `at` begin there in the list; n: none. */
static size_t first_inside(const struct place *v, size_t n, uint32_t at)
{
	size_t lo = 0, hi = n;
	SS_BISECT(lo, hi, mid, v[mid].parent < at);
	return lo;
}

/*
 * Each row is followed by what is inside of it. `v`: the stacks by_parent; `next` has room for as
 * many.
 */
static void put_in_order(struct rows *r, const struct place *v, size_t n, size_t *next)
{
	size_t depth = 0;
	int64_t whole_ps = 0;
	uint32_t parent = SS_NONE;
	if (n)
		next[depth++] = first_inside(v, n, SS_NONE);
	while (depth) {
		size_t at = next[depth - 1];
		bool any = at < n && v[at].parent == parent && r->t->nrows < ROWS_MOST &&
			   (depth == 1 || v[at].time_ps >= whole_ps / LEAST);
		if (!any) {
			depth--;
			parent = parent == SS_NONE ? SS_NONE : r->tree->v.v[parent].parent;
			continue;
		}
		next[depth - 1]++;
		whole_ps = depth == 1 ? v[at].time_ps : whole_ps;
		put_row(r, v[at].stack, whole_ps);
		parent = v[at].stack;
		next[depth++] = first_inside(v, n, parent);
	}
}

static bool put_rows(const struct ss_stack_tree *tree, struct ss_table *t)
{
	size_t n = tree->v.n;
	struct rows r = { tree, t, calloc(n + 1, sizeof(*r.time_ps)), malloc((n + 1) * sizeof(*r.row)) };
	struct place *v = malloc((n + 1) * sizeof(*v));
	size_t *next = malloc((n + 1) * sizeof(*next));
	bool ok = r.time_ps && r.row && v && next;
	if (ok)
		sum_up(&r);
	for (size_t i = 0; ok && i < n; i++)
		v[i] = (struct place){ tree->v.v[i].parent, (uint32_t)i, r.time_ps[i] };
	if (ok && n)
		qsort(v, n, sizeof(*v), by_parent);
	if (ok)
		put_in_order(&r, v, n, next);
	free(r.time_ps);
	free(r.row);
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
		return ss_fail(err, SS_EINVAL, "the parameter 'tracks' is too long: %zu bytes", s->tracks.n);
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
			       "a time range needs one host: name the host (here hosts are read one after the other)");
	struct ss_model *of = ss_request_clocks(q, &ss_tool_flame_graph, err);
	s->mt = of ? ss_model_trace(of, err) : NULL;
	return s->mt;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct stacks s = { .m = q->model, .out = out, .from_ps = INT64_MIN, .to_ps = INT64_MAX,
			    .tree = { .texts = &out->texts, .most_depth = UINT32_MAX, .most = STACKS_MOST } };
	struct ss_table *t = ss_result_table(out, "stacks", "Stacks", cols, SS_COUNT(cols));
	const struct ss_visit visit = { .read = read_host, .take = take_host, .arg = &s };
	if (!read_params(q, &s, err))
		return false;
	bool ok = t || ss_fail_mem(err);
	ok = ok && ss_tool_visit(q, out, &visit, err);
	ok = ok && (put_rows(&s.tree, t) || ss_fail_mem(err));
	if (ok && s.tree.cut)
		ss_result_note(out, SS_WARNING,
			       SS_STR("There are more than a million stacks: the time of further stacks counts as self time "
			       "of the enclosing stack."));
	ss_stack_tree_free(&s.tree);
	return ok;
}

/* Was a stretch of time asked for, or some tracks? */
static bool is_part(const struct ss_request *q)
{
	return ss_request_param(q, &ss_tool_flame_graph, "from").n || ss_request_param(q, &ss_tool_flame_graph, "to").n ||
	       ss_request_param(q, &ss_tool_flame_graph, "tracks").n;
}

/* The rows of a plane. */
struct plane_rows {
	size_t from, to;
	struct ss_arena *arena;
};

/* Frames of a name, as it is shown, on all stacks of the plane. */
static struct ss_str frame_of(const struct ss_table *t, size_t row, const void *arg)
{
	const struct plane_rows *p = arg;
	return row < p->from || row >= p->to ? (struct ss_str){ NULL, 0 }
					     : ss_cxx_short_name(ss_cell_str(t, row, "name"), p->arena);
}

/* For each of the first planes, the frame with most self time. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = ss_result_at(out, 0);
	(void)err;
	size_t said = 0, to;
	for (size_t from = 0; from < t->nrows && said < PLANES_SAID; from = to) {
		for (to = from + 1; to < t->nrows && ss_cell_i64(t, to, "parent") >= 0;)
			to++;
		double whole_ps = ss_cell_f64(t, from, "time_ps");
		struct plane_rows rows = { from, to, out->arena };
		struct ss_greatest top = { .row = SS_NPOS };
		if (whole_ps > 0)
			top = ss_greatest_kind(t, "self_ps", frame_of, &rows);
		if (top.row == SS_NPOS)
			continue;
		ss_say(out, "On " SS_FMT ", %s are spent in '" SS_FMT "' itself: no other frame takes more.",
		       SS_ARG(ss_cell_str(t, from, "name")), ss_share_words(SS_UNIT_PS, top.value, whole_ps).s,
		       SS_ARG(frame_of(t, top.row, &rows)));
		said++;
	}
	if (!said)
		ss_result_say(out, is_part(q) ? SS_STR("No event of the selection takes time.")
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
	.needs = SS_NEEDS_TIMES,
	.run = run,
	.conclude = conclude,
};
