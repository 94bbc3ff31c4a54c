/*
 * memory_profile.c - the memory of a host's devices over time, as its allocators reported it, and
 * what was allocated at the peak.
 *
 * Four tables: each allocator with its peak, at most 1000 points of each allocator's timeline, what
 * was allocated at its peak, and the programs that ran on TPUs, to see which of them a time belongs
 * to. Rules and sources: model/runtime/memory.h.
 *
 * XProf counts all times from the start of their own line and orders events so, which mixes up
 * lines that began at different times; here times count from the start of the profile. `offset_ps`
 * is XProf's number.
 */
#include "model/host/partial_read.h"
#include "model/host/host.h"
#include "model/model.h"
#include "model/runtime/memory.h"
#include "tools/memory_cols.h"
#include "tools/memory_torch.h"
#include "tools/tool.h"
#include "tools/words.h"

#define MAX_POINTS 1000

/* What PyTorch alone tells, of the allocator that was added last. */
static void set_torch(struct ss_table *t, const struct ss_torch *torch, const struct ss_torch_allocations *all, struct ss_str id)
{
	for (size_t i = 0; i < all->devices.n; i++) {
		const struct ss_torch_allocator *a = &all->devices.v[i];
		if (!ss_str_eq(ss_torch_text(torch, a->device), id))
			continue;
		if (a->capacity_bytes)
			ss_set_i64(t, A_CAPACITY, a->capacity_bytes);
		ss_set_i64(t, A_ALLOCATIONS, a->allocations);
		ss_set_i64(t, A_DEALLOCATIONS, a->releases);
		ss_set_i64(t, A_RESERVED_PEAK, a->reserved_peak_bytes);
		ss_set_i64(t, A_PAIRED, a->paired);
		ss_set_i64(t, A_UNRELEASED, a->unreleased);
		ss_set_i64(t, A_UNALLOCATED, a->unallocated);
	}
}

static bool add_allocator(struct ss_table *t, const struct ss_memory *m, const struct ss_mem_allocator *a)
{
	const struct ss_mem_event *peak = &a->events[a->peak];
	struct ss_mem_details d;
	int64_t freed = 0;
	if (!ss_mem_details(m, a, a->peak, t->arena, &d))
		return false;
	ss_table_row(t);
	for (uint32_t i = 0; i < a->n; i++)
		freed += a->events[i].freed;
	ss_set_str(t, A_ID, a->id);
	ss_set_i64(t, A_ALLOCATIONS, a->n - freed);
	ss_set_i64(t, A_DEALLOCATIONS, freed);
	ss_set_i64(t, A_LIFETIME_PEAK, a->lifetime_peak_bytes);
	ss_set_i64(t, A_PEAK, peak->in_use_bytes);
	ss_set_i64(t, A_PEAK_TIME, peak->time_ps);
	ss_set_i64(t, A_PEAK_OFFSET, d.offset_ps);
	ss_set_i64(t, A_PEAK_STEP, ss_mem_peak_step(a));
	ss_set_i64(t, A_STACK, d.stats.stack_bytes);
	ss_set_i64(t, A_HEAP, d.stats.heap_bytes);
	ss_set_i64(t, A_FREE, d.stats.free_bytes);
	ss_set_f64(t, A_FRAGMENTATION, d.stats.fragmentation);
	ss_set_i64(t, A_CAPACITY, (int64_t)((uint64_t)peak->in_use_bytes + (uint64_t)d.stats.free_bytes));
	return true;
}

static void set_details(struct ss_table *t, const struct ss_mem_details *d)
{
	ss_set_i64(t, E_OFFSET, d->offset_ps);
	ss_set_i64(t, E_STACK, d->stats.stack_bytes);
	ss_set_i64(t, E_HEAP, d->stats.heap_bytes);
	ss_set_i64(t, E_FREE, d->stats.free_bytes);
	ss_set_f64(t, E_FRAGMENTATION, d->stats.fragmentation);
	ss_set_i64(t, E_LIFETIME_PEAK, d->stats.peak_bytes);
	ss_set_i64(t, E_REQUESTED, d->requested_bytes);
	ss_set_i64(t, E_BYTES, d->allocation_bytes);
	ss_set_str(t, E_OP, d->tf_op);
	ss_set_str(t, E_REGION, d->region_type);
	ss_set_str(t, E_TYPE, d->data_type);
	ss_set_str(t, E_SHAPE, d->shape);
}

static void set_event(struct ss_table *t, const struct ss_mem_allocator *a, const struct ss_mem_event *e)
{
	ss_set_i64(t, E_TIME, e->time_ps);
	ss_set_str(t, E_ACTIVITY, e->freed ? SS_STR("DEALLOCATION") : SS_STR("ALLOCATION"));
	ss_set_i64(t, E_ADDRESS, a->unaddressed ? 0 : (int64_t)e->address);
	ss_set_i64(t, E_STEP, e->step);
}

static bool add_timeline(struct ss_table *t, const struct ss_memory *m, const struct ss_mem_allocator *a)
{
	uint32_t picked[MAX_POINTS], n = ss_mem_sample(a, MAX_POINTS, picked);
	for (uint32_t i = 0; i < n; i++) {
		struct ss_mem_details d;
		if (!ss_mem_details(m, a, picked[i], t->arena, &d))
			return false;
		ss_table_row(t);
		ss_set_str(t, E_ID, a->id);
		set_event(t, a, &a->events[picked[i]]);
		set_details(t, &d);
	}
	return true;
}

static bool add_breakdown(struct ss_table *t, const struct ss_memory *m, const struct ss_mem_allocator *a, struct ss_err *err)
{
	struct ss_mem_active *rows;
	size_t n;
	if (!ss_mem_at_peak(m, a, t->arena, &rows, &n, err))
		return false;
	int64_t step = ss_mem_peak_step(a);
	for (size_t i = 0; i < n; i++) {
		ss_table_row(t);
		ss_set_str(t, E_ID, a->id);
		set_details(t, &rows[i].d);
		ss_set_i64(t, E_COUNT, (int64_t)rows[i].count);
		ss_set_bool(t, E_MADE_UP, rows[i].event == SS_NONE);
		ss_set_str(t, E_ACTIVITY, SS_STR("ALLOCATION"));
		ss_set_i64(t, E_STEP, step);
		if (rows[i].event != SS_NONE)
			set_event(t, a, &a->events[rows[i].event]);
	}
	return true;
}

static void add_modules(struct ss_table *t, const struct ss_host *h, const struct ss_plane *p, const struct ss_line *l)
{
	const struct ss_str device = SS_STR("/device:");
	uint64_t start_ps = ((uint64_t)l->src->timestamp_ns - (uint64_t)h->x.origin_ns) * 1000;
	for (uint32_t i = 0; i < l->ev.n; i++) {
		ss_table_row(t);
		ss_set_i64(t, M_ID, (int64_t)t->nrows - 1);
		ss_set_str(t, M_NAME, ss_event_name(p, l->ev.meta[i]));
		ss_set_str(t, M_PLANE, ss_str_sub(p->name, device.n, p->name.n));
		ss_set_i64(t, M_BEGIN, l->ev.begin_ps[i]);
		ss_set_i64(t, M_END, ss_xevents_end_ps(&l->ev, i));
		ss_set_i64(t, M_OFFSET, (int64_t)((uint64_t)l->ev.begin_ps[i] - start_ps));
	}
}

static bool is_tpu(const struct ss_plane *p)
{
	return ss_str_starts(p->name, SS_STR("/device:TPU:"));
}

static bool is_modules(struct ss_str line)
{
	return ss_str_eq(line, SS_STR("XLA Modules"));
}

static bool fill_modules(struct ss_result *out, struct ss_host *h, struct ss_err *err)
{
	static const struct ss_partial_read modules = { .plane = is_tpu, .line = is_modules, .in_time = true };
	struct ss_table *t = ss_result_table(out, "modules", "HLO modules on TPUs", ss_memory_module_cols, M_COLS);
	const struct ss_plane *planes = t ? ss_host_read_partially(h, SS_HOST_MODULES, &modules, err) : NULL;
	bool ok = planes;
	for (uint32_t i = 0; ok && i < h->nplanes; i++)
		for (uint32_t k = 0; ok && k < planes[i].nlines; k++)
			add_modules(t, h, &planes[i], &planes[i].lines[k]);
	return ok || ss_fail_mem(err);
}

static bool fill_allocators(struct ss_result *out, const struct ss_memory *m, const struct ss_torch *torch,
			    const struct ss_torch_allocations *all, struct ss_err *err)
{
	size_t ncols = torch->is_torch ? A_COLS : NALLOCATOR_COLS;
	struct ss_table *t = ss_result_table(out, "allocators", "Allocators", ss_memory_allocator_cols, ncols);
	ss_table_prop(t, "host_plane", m->plane ? SS_STR("present") : SS_STR("missing"));
	for (uint32_t i = 0; i < m->nallocators; i++) {
		if (!add_allocator(t, m, &m->allocators[i]))
			return ss_fail_mem(err);
		if (torch->is_torch)
			set_torch(t, torch, all, m->allocators[i].id);
	}
	t = ss_result_table(out, "timeline", "Memory over time", ss_memory_event_cols, NTIMELINE_COLS);
	for (uint32_t i = 0; i < m->nallocators; i++)
		if (!add_timeline(t, m, &m->allocators[i]))
			return ss_fail_mem(err);
	t = ss_result_table(out, "breakdown", "Allocated at the peak", ss_memory_event_cols, E_COLS);
	for (uint32_t i = 0; i < m->nallocators; i++)
		if (!add_breakdown(t, m, &m->allocators[i], err))
			return false;
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	if (q->model->nhosts != 1)
		return ss_fail(err, SS_EINVAL, "memory is shown for one host: select one of the %zu hosts", q->model->nhosts);
	struct ss_host *h = q->model->hosts[0];
	const struct ss_memory *m = ss_host_memory(h, err);
	const struct ss_torch *torch = m ? ss_host_torch(h, err) : NULL;
	struct ss_torch_allocations all;
	if (!torch)
		return false;
	if (!ss_torch_allocations(torch, &all))
		return ss_fail_mem(err);
	bool ok = fill_allocators(out, m, torch, &all, err) && fill_modules(out, h, err);
	if (ok && torch->is_torch)
		ok = ss_memory_torch_tables(out, torch, &all) || ss_fail_mem(err);
	ss_torch_allocations_free(&all);
	if (!ok)
		return false;
	if (!q->as_xprof)
		ss_memory_blank_unknown(out);
	if (m->nallocators)
		return true;
	const char *why = !m->plane	    ? "the profile holds no host events, and allocations are host events" :
			  torch->is_torch ? "no allocation was recorded: profile with profile_memory=True" :
					    "no allocation was recorded: profile again with host tracer level 2 or higher "
					    "(some allocators record nothing)";
	ss_result_note(out, SS_INFO, ss_str_from(why));
	return true;
}

/* The allocation that holds most of the peak of a memory; SS_NPOS: none is known. */
static size_t holder(const struct ss_table *t, struct ss_str memory)
{
	size_t best = SS_NPOS;
	double max = 0;
	for (size_t i = 0; i < t->nrows; i++) {
		double v = ss_cell_f64(t, i, "allocation_bytes");
		if (v > max && !ss_cell_bool(t, i, "made_up") && ss_cell_str(t, i, "tf_op").n &&
		    ss_str_eq(ss_cell_str(t, i, "memory_id"), memory)) {
			max = v;
			best = i;
		}
	}
	return best;
}

/* PyTorch's allocator of the host counts while it is profiled: what it had handed out before is unknown. */
static bool counts_from_begin(const struct ss_request *q, struct ss_str memory, struct ss_err *err)
{
	struct ss_host *h = q->model->nhosts == 1 ? q->model->hosts[0] : NULL;
	const struct ss_torch *t = h && ss_str_is(memory, "CPU") ? ss_host_torch(h, err) : NULL;
	return t && t->is_torch;
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = ss_result_find(out, "allocators"), *held = ss_result_find(out, "breakdown");
	struct ss_greatest top = ss_greatest_row(t, "peak_bytes", NULL, NULL);
	if (top.row == SS_NPOS)
		return true;
	struct ss_str memory = ss_cell_str(t, top.row, "memory_id");
	size_t most = holder(held, memory);
	ss_say(out, "Memory '" SS_FMT "' has the highest peak: %s in use%s, %s into the profile.", SS_ARG(memory),
	       ss_value_words(SS_UNIT_BYTES, top.value).s,
	       counts_from_begin(q, memory, err) ? " of what was allocated in the recording" : "",
	       ss_value_words(SS_UNIT_PS, ss_cell_f64(t, top.row, "peak_time_ps")).s);
	if (most != SS_NPOS)
		ss_say(out, "At that moment '" SS_FMT "' holds the largest allocation that is known: %s.",
		       SS_ARG(ss_cell_str(held, most, "tf_op")),
		       ss_value_words(SS_UNIT_BYTES, ss_cell_f64(held, most, "allocation_bytes")).s);
	return true;
}

const struct ss_tool ss_tool_memory_profile = {
	.name = "memory_profile",
	.title = "Memory profile",
	.summary = "Memory in use over time, fragmentation, and what was allocated at the peak",
	.kind = SS_KIND_TABLES,
	.needs = SS_NEEDS_ALLOCATIONS,
	.run = run,
	.conclude = conclude,
};
