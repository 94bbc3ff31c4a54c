/*
 * memory_profile.c - stored memory profiles: MemoryProfile in JSON, which TensorFlow 2.3 and
 * 2.4 packed beside a profile.
 *
 * A file of version 0 has the points of its timeline in the list that a newer one (version 1) has
 * the allocations of the peak in, and those of the timeline in a list of their own. In both, what
 * was allocated at the peak refers to the first list by number.
 *
 * Points are many: they are read one by one, each in memory that the next one uses again. Times
 * count from the start of the line that the event stood on, as XProf counts; of other lines the
 * file tells nothing.
 */
#include "base/vec.h"

#include "legacy/answers.h"
#include "model/host/host.h"
#include "model/model.h"
#include "tools/memory_cols.h"

#include <stdlib.h>

/* Brackets down to a point: document, allocators, allocator, list. */
#define LEVELS 4
#define MAX_POINTS 1000

struct stored_profile {
	struct ss_result *out;
	struct ss_arena scratch;	/* of one point */
	struct ss_str id;		/* of the allocator at hand */
};

/* What was left as it stands, read; NULL when memory is out. It was found well-formed before. */
static const struct ss_jnode *open_node(struct stored_profile *j, const struct ss_jnode *n)
{
	static const struct ss_jnode nothing = { .kind = SS_J_NULL, .key = { "", 0 }, .text = { "", 0 } };
	struct ss_err why = { 0 };
	ss_arena_release(&j->scratch);
	if (!n || n->kind != SS_J_OBJECT)
		return &nothing;
	const struct ss_jnode *open = ss_jtree_of_json(n->text, &j->scratch, &why);
	return open || why.code == SS_ENOMEM ? open : &nothing;
}

static int64_t sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void set_text(struct ss_table *t, size_t col, const struct ss_jnode *n, const char *key)
{
	struct ss_str s = ss_jnode_text(n, key);
	if (s.n)
		s = ss_arena_str(t->arena, s);
	ss_set_str(t, col, s);
}

/* Fill the last row with the stats of an allocation or a deallocation. */
static void set_activity(struct ss_table *t, const struct ss_jnode *a)
{
	ss_set_i64(t, E_REQUESTED, ss_jnode_i64(a, "requestedBytes"));
	ss_set_i64(t, E_BYTES, ss_jnode_i64(a, "allocationBytes"));
	ss_set_i64(t, E_ADDRESS, ss_jnode_i64(a, "address"));
	ss_set_i64(t, E_STEP, ss_jnode_i64(a, "stepId"));
	set_text(t, E_ACTIVITY, a, "memoryActivity");
	set_text(t, E_OP, a, "tfOpName");
	set_text(t, E_REGION, a, "regionType");
	set_text(t, E_TYPE, a, "dataType");
	set_text(t, E_SHAPE, a, "tensorShape");
}

static void set_point(struct ss_table *t, const struct ss_jnode *point)
{
	const struct ss_jnode *stats = ss_jnode_get(point, "aggregationStats");
	int64_t at_ps = ss_jnode_i64(point, "timeOffsetPs");
	ss_set_i64(t, E_TIME, at_ps);
	ss_set_i64(t, E_OFFSET, at_ps);
	ss_set_i64(t, E_STACK, ss_jnode_i64(stats, "stackReservedBytes"));
	ss_set_i64(t, E_HEAP, ss_jnode_i64(stats, "heapAllocatedBytes"));
	ss_set_i64(t, E_FREE, ss_jnode_i64(stats, "freeMemoryBytes"));
	ss_set_f64(t, E_FRAGMENTATION, ss_jnode_num(stats, "fragmentation", 0));
	ss_set_i64(t, E_LIFETIME_PEAK, ss_jnode_i64(stats, "peakBytesInUse"));
	set_activity(t, ss_jnode_get(point, "activityMetadata"));
}

/* Counts of an allocator's timeline during the walk. */
struct walk {
	int64_t allocations, deallocations;
	int64_t peak_bytes, peak_step;	/* the step of the last point with so much in use */
};

/* Returns what is in use after it. */
static int64_t count_point(struct walk *w, const struct ss_jnode *point)
{
	const struct ss_jnode *stats = ss_jnode_get(point, "aggregationStats"), *a = ss_jnode_get(point, "activityMetadata");
	int64_t bytes = sum(ss_jnode_i64(stats, "stackReservedBytes"), ss_jnode_i64(stats, "heapAllocatedBytes"));
	struct ss_str what = ss_jnode_text(a, "memoryActivity");
	w->allocations += ss_str_is(what, "ALLOCATION");
	w->deallocations += ss_str_is(what, "DEALLOCATION");
	if (bytes == w->peak_bytes)
		w->peak_step = ss_jnode_i64(a, "stepId");
	return bytes;
}

/*
 * A point for each of MAX_POINTS stretches of the list, the one with most in use: as timelines are
 * computed now. Before version 1 the files had all points.
 */
static bool add_timeline(struct stored_profile *j, struct ss_table *t, const struct ss_jnode *points, struct walk *w)
{
	const struct ss_jnode *p = points ? points->first : NULL;
	size_t n = ss_jnode_count(points), each = n / MAX_POINTS, nshort = MAX_POINTS * (each + 1) - n;
	for (size_t box = 0; p; box++) {
		size_t left = n <= MAX_POINTS ? 1 : box < nshort ? each : each + 1;
		const struct ss_jnode *best = p;
		int64_t max = INT64_MIN;
		for (; p && left; p = p->next, left--) {
			const struct ss_jnode *point = open_node(j, p);
			int64_t bytes = point ? count_point(w, point) : 0;
			if (!point)
				return false;
			if (bytes > max) {
				max = bytes;
				best = p;
			}
		}
		const struct ss_jnode *point = open_node(j, best);
		if (!point)
			return false;
		ss_table_row(t);
		ss_set_str(t, E_ID, j->id);
		set_point(t, point);
	}
	return true;
}

/* The elements of a list by number: what was allocated at the peak refers to them so. */
struct list {
	SS_VEC(const struct ss_jnode *) v;
};

static bool make_list(struct list *l, const struct ss_jnode *array)
{
	for (const struct ss_jnode *n = array ? array->first : NULL; n; n = n->next)
		if (!ss_vec_push(&l->v, n))
			return false;
	return true;
}

static bool add_active(struct stored_profile *j, struct ss_table *t, const struct ss_jnode *active, const struct list *points,
		       const struct list *special)
{
	const struct ss_jnode *a = open_node(j, active);
	if (!a)
		return false;
	int64_t at = ss_jnode_i64(a, "snapshotIndex"), extra = ss_jnode_i64(a, "specialIndex");
	int64_t n = ss_jnode_i64(a, "numOccurrences");
	bool made_up = at < 0;
	/* Special ones are numbered -1, -2 and so on where no number of their own is given. */
	if (made_up && (extra < 0 || (!extra && at < -1)))
		extra = -(at + 1);
	const struct list *from = made_up ? special : points;
	uint64_t index = (uint64_t)(made_up ? extra : at);
	if (index >= from->v.n)
		return true;
	const struct ss_jnode *x = open_node(j, from->v.v[index]);
	if (!x)
		return false;
	ss_table_row(t);
	ss_set_str(t, E_ID, j->id);
	ss_set_i64(t, E_COUNT, n > 0 ? n : 1);
	ss_set_bool(t, E_MADE_UP, made_up);
	if (made_up)
		set_activity(t, x);
	else
		set_point(t, x);
	return true;
}

static bool add_breakdown(struct stored_profile *j, struct ss_table *t, const struct ss_jnode *allocator)
{
	const struct ss_jnode *active = ss_jnode_get(allocator, "activeAllocations");
	struct list points = { 0 }, special = { 0 };
	bool ok = make_list(&points, ss_jnode_get(allocator, "memoryProfileSnapshots")) &&
		  make_list(&special, ss_jnode_get(allocator, "specialAllocations"));
	for (const struct ss_jnode *a = active ? active->first : NULL; ok && a; a = a->next)
		ok = add_active(j, t, a, &points, &special);
	ss_vec_free(&points.v);
	ss_vec_free(&special.v);
	return ok;
}

static bool add_allocator(struct stored_profile *j, struct ss_table *t, const struct ss_jnode *summary, const struct walk *w)
{
	const struct ss_jnode *peak = open_node(j, ss_jnode_get(summary, "peakStats"));
	if (!peak)
		return false;
	ss_table_row(t);
	int64_t at_ps = ss_jnode_i64(summary, "peakStatsTimePs");
	ss_set_str(t, A_ID, j->id);
	ss_set_i64(t, A_ALLOCATIONS, w->allocations);
	ss_set_i64(t, A_DEALLOCATIONS, w->deallocations);
	ss_set_i64(t, A_LIFETIME_PEAK, ss_jnode_i64(summary, "peakBytesUsageLifetime"));
	ss_set_i64(t, A_PEAK, w->peak_bytes);
	ss_set_i64(t, A_PEAK_TIME, at_ps);
	ss_set_i64(t, A_PEAK_OFFSET, at_ps);
	ss_set_i64(t, A_PEAK_STEP, w->peak_step);
	ss_set_i64(t, A_STACK, ss_jnode_i64(peak, "stackReservedBytes"));
	ss_set_i64(t, A_HEAP, ss_jnode_i64(peak, "heapAllocatedBytes"));
	ss_set_i64(t, A_FREE, ss_jnode_i64(peak, "freeMemoryBytes"));
	ss_set_f64(t, A_FRAGMENTATION, ss_jnode_num(peak, "fragmentation", 0));
	ss_set_i64(t, A_CAPACITY, ss_jnode_i64(summary, "memoryCapacity"));
	return true;
}

enum { T_ALLOCATORS, T_TIMELINE, T_BREAKDOWN, T_MODULES };

static void add_tables(struct ss_result *out)
{
	ss_result_table(out, "allocators", "Allocators", ss_memory_allocator_cols, NALLOCATOR_COLS);
	ss_result_table(out, "timeline", "Memory over time", ss_memory_event_cols, NTIMELINE_COLS);
	ss_result_table(out, "breakdown", "Allocated at the peak", ss_memory_event_cols, E_COLS);
	ss_result_table(out, "modules", "HLO modules on TPUs", ss_memory_module_cols, M_COLS);
	ss_table_prop(ss_result_at(out, T_ALLOCATORS), "host_plane", SS_STR("present"));
}

static void add_modules(struct ss_table *t, const struct ss_jnode *list)
{
	for (const struct ss_jnode *m = list ? list->first : NULL; m; m = m->next) {
		int64_t begin_ps = ss_jnode_i64(m, "startTimePs");
		ss_table_row(t);
		ss_set_i64(t, M_ID, ss_jnode_i64(m, "id"));
		ss_set_i64(t, M_BEGIN, begin_ps);
		ss_set_i64(t, M_END, ss_jnode_i64(m, "endTimePs"));
		ss_set_i64(t, M_OFFSET, begin_ps);
		set_text(t, M_NAME, m, "name");
		set_text(t, M_PLANE, m, "planeName");
	}
}

static bool add_all(struct stored_profile *j, const struct ss_jnode *root)
{
	struct ss_table *t = j->out->tables;
	const struct ss_jnode *all = ss_jnode_get(root, "memoryProfilePerAllocator");
	const char *points = ss_jnode_int(root, "version", 0) >= 1 ? "sampledTimelineSnapshots" : "memoryProfileSnapshots";
	for (const struct ss_jnode *a = all ? all->first : NULL; a; a = a->next) {
		const struct ss_jnode *summary = ss_jnode_get(a, "profileSummary");
		const struct ss_jnode *peak = open_node(j, ss_jnode_get(summary, "peakStats"));
		struct walk w = { .peak_bytes = peak ? ss_jnode_i64(peak, "peakBytesInUse") : 0 };
		j->id = a->key;
		if (!peak || !add_timeline(j, &t[T_TIMELINE], ss_jnode_get(a, points), &w) ||
		    !add_breakdown(j, &t[T_BREAKDOWN], a) || !add_allocator(j, &t[T_ALLOCATORS], summary, &w))
			return false;
	}
	add_modules(&t[T_MODULES], ss_jnode_get(root, "hloModules"));
	return true;
}

bool ss_legacy_memory_profile(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct stored_profile j = { .out = out };
	if (q->model->nhosts != 1)
		return ss_fail(err, SS_EINVAL, "memory is shown for one host: select one of the %zu hosts", q->model->nhosts);
	const struct ss_host *h = q->model->hosts[0];
	const struct ss_jnode *root = ss_legacy_read_to(q, h, NULL, LEVELS, out, err);
	if (!root)
		return false;
	const struct ss_jnode *all = ss_jnode_get(root, "memoryProfilePerAllocator");
	if (!all)
		return ss_fail(err, SS_EFORMAT, "'" SS_FMT "' holds no memory profile", SS_ARG(h->x.path));
	add_tables(out);
	bool ok = add_all(&j, root);
	ss_arena_release(&j.scratch);
	if (!q->as_xprof)
		ss_memory_blank_unknown(out);
	if (ok && !all->first)
		ss_result_note(out, SS_INFO, SS_STR("no allocation was recorded at capture time"));
	return ok || ss_fail_mem(err);
}
