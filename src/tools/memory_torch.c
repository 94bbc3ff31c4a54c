/*
 * memory_torch.c - of a trace of PyTorch: which operators allocate, what each step adds, what holds
 * the peak (docs/tools/memory_profile.md).
 */
#include "tools/memory_torch.h"

#include "model/torch/held.h"

#include <math.h>

enum { O_ID, O_NAME, O_CALLS, O_SELF_INCREASE, O_SELF_BYTES, O_SELF_ALLOCATIONS, O_INCREASE, O_BYTES, O_ALLOCATIONS, O_COLS };

static const struct ss_col op_cols[O_COLS] = {
	STR("memory_id", "Memory ID", "Device"),
	STR("name", "Operator", NULL),
	INT("calls", "Calls", COUNT, "All calls of the operator, with or without allocations"),
	INT("self_increase_bytes", "Self increase", BYTES, "Allocated minus released bytes, without nested operators"),
	INT("self_allocated_bytes", "Self allocated", BYTES, "Without nested operators"),
	INT("self_allocations", "Self allocations", COUNT, NULL),
	INT("increase_bytes", "Increase", BYTES, "Allocated minus released bytes, with nested operators"),
	INT("allocated_bytes", "Allocated", BYTES, NULL),
	INT("allocations", "Allocations", COUNT, NULL),
};

static void fill_operators(struct ss_result *out, const struct ss_torch *torch, const struct ss_torch_allocations *all)
{
	struct ss_table *t = ss_result_table(out, "operators", "Memory of operators", op_cols, O_COLS);
	for (size_t i = 0; i < all->ops.n; i++) {
		const struct ss_torch_op_memory *o = &all->ops.v[i];
		ss_table_row(t);
		ss_set_str(t, O_ID, ss_torch_text(torch, o->device));
		ss_set_str(t, O_NAME, ss_torch_text(torch, o->name));
		ss_set_i64(t, O_CALLS, o->calls);
		ss_set_i64(t, O_SELF_INCREASE, o->self_increase_bytes);
		ss_set_i64(t, O_SELF_BYTES, o->self_allocated_bytes);
		ss_set_i64(t, O_SELF_ALLOCATIONS, o->self_allocations);
		ss_set_i64(t, O_INCREASE, o->increase_bytes);
		ss_set_i64(t, O_BYTES, o->allocated_bytes);
		ss_set_i64(t, O_ALLOCATIONS, o->allocations);
	}
}

enum { S_ID, S_STEP, S_ALLOCATED, S_RELEASED, S_GROWTH, S_PEAK, S_END, S_COLS };

static const struct ss_col step_cols[S_COLS] = {
	STR("memory_id", "Memory ID", "Device"),
	INT("step", "Step", NONE, "Number of the step"),
	INT("allocated_bytes", "Allocated", BYTES, "During the step"),
	INT("released_bytes", "Released", BYTES, "During the step"),
	INT("growth_bytes", "Growth", BYTES, "Allocated minus released bytes: a value above 0 in every step is a leak"),
	INT("peak_growth_bytes", "Peak above the begin", BYTES, "Peak use minus the use at the begin of the step"),
	NUM("end_bytes", "In use at the end", BYTES, "Memory in use at the end of the step; empty: the allocator does not "
	    "report it"),
};

static void fill_steps(struct ss_result *out, const struct ss_torch *torch, const struct ss_torch_held *held)
{
	struct ss_table *t = ss_result_table(out, "steps", "Memory of steps", step_cols, S_COLS);
	for (size_t i = 0; i < held->steps.n; i++) {
		const struct ss_torch_step_memory *m = &held->steps.v[i];
		ss_table_row(t);
		ss_set_str(t, S_ID, ss_torch_text(torch, m->device));
		ss_set_i64(t, S_STEP, m->step);
		ss_set_i64(t, S_ALLOCATED, m->allocated_bytes);
		ss_set_i64(t, S_RELEASED, m->released_bytes);
		ss_set_i64(t, S_GROWTH, m->allocated_bytes - m->released_bytes);
		ss_set_i64(t, S_PEAK, m->peak_growth_bytes);
		ss_set_f64(t, S_END, m->end_bytes >= 0 ? (double)m->end_bytes : NAN);
	}
}

enum { H_ID, H_NAME, H_MODULE, H_BLOCKS, H_BYTES, H_BEFORE, H_COLS };

static const struct ss_col holder_cols[H_COLS] = {
	STR("memory_id", "Memory ID", "Device"),
	STR("name", "Operator", "The innermost operator that requested the memory"),
	STR("module", "Module", "The innermost enclosing module"),
	NUM("blocks", "Allocations", COUNT, "Allocations that live at the peak; empty: not known"),
	INT("bytes", "Bytes", BYTES, NULL),
	FLAG("before", "Before the recording", "Held since before the recording: parameters, optimizer state"),
};

static void fill_holders(struct ss_result *out, const struct ss_torch *torch, const struct ss_torch_held *held)
{
	struct ss_table *t = ss_result_table(out, "holders", "What holds the peak", holder_cols, H_COLS);
	for (size_t i = 0; i < held->holders.n; i++) {
		const struct ss_torch_holder *h = &held->holders.v[i];
		ss_table_row(t);
		ss_set_str(t, H_ID, ss_torch_text(torch, h->device));
		ss_set_str(t, H_NAME, ss_torch_text(torch, h->op));
		ss_set_str(t, H_MODULE, ss_torch_text(torch, h->module));
		ss_set_f64(t, H_BLOCKS, h->before ? NAN : (double)h->blocks);
		ss_set_i64(t, H_BYTES, h->bytes);
		ss_set_bool(t, H_BEFORE, h->before);
	}
}

bool ss_memory_torch_tables(struct ss_result *out, const struct ss_torch *torch, const struct ss_torch_allocations *all)
{
	struct ss_torch_held held;
	if (!ss_torch_held(torch, &held))
		return false;
	fill_operators(out, torch, all);
	fill_steps(out, torch, &held);
	fill_holders(out, torch, &held);
	ss_torch_held_free(&held);
	return true;
}
