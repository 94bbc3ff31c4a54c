/*
 * memory_viewer.c - how a compiled program uses a memory space: its heap over the program's
 * instructions, who lives at the peak, and what lives as long as the program.
 *
 * The program's buffer assignment is played as model/program/heap.h describes. Memory that is never
 * reused (parameters, constants, results) is added to every point. All sizes are bytes; XProf's
 * clients get the same numbers in MiB (xprof/shape_memory_viewer.c).
 */
#include "base/buf.h"
#include "base/sort.h"
#include "hlo/config.h"
#include "hlo/shape.h"
#include "hlo/stack.h"
#include "model/program/heap.h"
#include "tools/module_pick.h"
#include "xprof/quirks/quirks.h"
#include "tools/words.h"

#include <math.h>

/* Smaller buffers at the peak are shown as one. */
#define SMALL_BYTES (16 * 1024)
#define VMEM 1

enum { T_ORDER, T_HEAP, T_UNPADDED, T_INSTR };

static const struct ss_col timeline_cols[] = {
	INT("order", "Program order", COUNT, "Events of the heap simulator before this point"),
	INT("heap_bytes", "Size", BYTES, "Allocated at this point"),
	INT("unpadded_bytes", "Unpadded size", BYTES, "Without tiling and padding"),
	STR("instruction", "HLO instruction", "Instruction of the next event"),
};

/* Columns of a buffer, shared by the tables below. */
#define BUFFER_COLS											\
	ID("buffer_id", "Buffer ID", "Logical buffer ID; -1: none"),				\
	STR("name", "HLO instruction", "Instruction that defines it, with the tuple index"),		\
	INT("size_bytes", "Size", BYTES, "Size with the device's padding"),					\
	INT("unpadded_bytes", "Unpadded size", BYTES, "Elements x bytes per element"),			\
	INT("padding_bytes", "Padding", BYTES, "Size - unpadded size"),		\
	NUM("expansion", "Expansion", NONE, "Size / unpadded size"),					\
	STR("shape", "Shape", "Shape with memory layout"),						\
	STR("op_name", "Framework op", NULL),								\
	STR("category", "Allocation type", "Parameter, Output, Thread-local, Constant or Temporary"),	\
	STR("source_file", "Source file", NULL),							\
	INT("source_line", "Source line", NONE, NULL),							\
	STR("source_stack", "Source stack", "Innermost first")

enum {
	B_ID, B_NAME, B_SIZE, B_UNPADDED, B_PADDING, B_EXPANSION, B_SHAPE, B_OP, B_CATEGORY, B_FILE, B_LINE, B_STACK, B_COUNT
};
enum { P_INSTR = B_COUNT, P_OPCODE, P_LABEL, P_NUMBER, P_BY_SIZE, P_AT_PLACE };

static const struct ss_col peak_cols[] = {
	BUFFER_COLS,
	STR("instruction", "Plain name", "Instruction name without tuple index"),
	STR("opcode", "Opcode", NULL),
	STR("label", "Label", "Name, shape and framework op in one line"),
	INT("number", "Number", NONE, "Index in allocation order"),
	INT("by_size", "Rank by size", NONE, "Rank by size; 0: largest"),
	INT("at_place", "Number at this place", NONE,
	    "Allocation index of the buffer whose size rank equals this row"),
};

enum { K_OFFSET = B_COUNT, K_BEGIN, K_END, K_AT_PEAK };

static const struct ss_col block_cols[] = {
	BUFFER_COLS,
	INT("offset_bytes", "Offset", BYTES, "Offset in the memory space, allocations laid out one after another"),
	INT("begin", "First point", COUNT, "In program order"),
	INT("end", "Last point", COUNT, NULL),
	ID("peak_number", "Index at the peak", "Index of the buffer among those at the peak; -1: not live at the peak"),
};

enum { S_ID, S_BEGIN, S_END };

static const struct ss_col span_cols[] = {
	ID("buffer_id", "Buffer ID", NULL),
	INT("begin", "First point", COUNT, "In program order"),
	INT("end", "Last point", COUNT, NULL),
};

enum { I_ID, I_SIZE, I_PARAMETER, I_LIVE_OUT, I_REUSABLE, I_SHAPE, I_CATEGORY };

static const struct ss_col indefinite_cols[] = {
	INT("allocation", "Allocation", NONE, NULL),
	INT("size_bytes", "Size", BYTES, NULL),
	FLAG("parameter", "Parameter", "Parameter of the entry computation"),
	FLAG("live_out", "May be live out", "May be (part of) the program's output"),
	FLAG("reusable", "Reusable", "Neither thread-local nor a tuple"),
	STR("shape", "Shape", "Shape of the buffers, if all have the same shape"),
	STR("category", "Allocation type", NULL),
};

enum { L_ALLOCATION, L_ID, L_SIZE, L_SHAPE, L_INSTR, L_INDEX };

static const struct ss_col assigned_cols[] = {
	INT("allocation", "Allocation", NONE, NULL),
	ID("buffer_id", "Buffer ID", NULL),
	INT("size_bytes", "Size", BYTES, NULL),
	STR("shape", "Shape", NULL),
	STR("instruction", "HLO instruction", NULL),
	STR("shape_index", "Index", "Tuple index"),
};

static const struct ss_param params[] = {
	SS_MODULE_PARAMS,
	{ "memory_space", "number", "0", "0 HBM, 1 VMEM, 2 Sflag, 3 CMEM, 4 SMEM, 5 host, 6 SparseCore" },
};

const struct ss_tool ss_tool_memory_viewer;

/* What all parts work with. */
struct view {
	const struct ss_request *q;
	struct ss_result *out;
	struct ss_module_pick pick;
	struct ss_hlo_buffers b;
	struct ss_heap heap;
	struct ss_hlo_stacks stacks;
	int64_t space;
	struct ss_buf text;	/* scratch */
	uint64_t budget_bytes;	/* of texts: names that many buffers refer to */
	uint32_t *peak_number;	/* by buffer: its number among those at the peak, SS_NONE */
	int64_t indefinite_bytes; /* that live as long as the program */
};

/* Take the scratch text over into the request's memory. */
static bool take(struct view *v, struct ss_str *out, struct ss_err *err)
{
	if (!ss_buf_ok(&v->text, "a buffer's description", err))
		return false;
	if (v->text.n > v->budget_bytes)
		return ss_fail(err, SS_EFORMAT, "program '" SS_FMT "': its buffers reference long names too many times",
			       SS_ARG(v->pick.file));
	v->budget_bytes -= v->text.n;
	*out = ss_arena_str(v->q->arena, ss_buf_get(&v->text));
	v->text.n = 0;
	return out->p || ss_fail_mem(err);
}

static const char *category(const struct view *v, const struct ss_hlo_buffer *b)
{
	return ss_hlo_alloc_category(&v->b.allocs[b->alloc]);
}

/*
 * Memory that lives as long as the program and counts: what only threads have is no part of the
 * memory space.
 */
static bool counts_as_indefinite(const struct view *v, const struct ss_hlo_alloc *a)
{
	return a->memory_space == v->space && (a->parameter || a->live_out || a->constant);
}

static bool set_source(struct view *v, struct ss_table *t, const struct ss_hlo_instr *i, struct ss_err *err)
{
	struct ss_str stack, file = i->source_file;
	int64_t line = i->source_line;
	if (i->stack_frame_id > 0)
		ss_hlo_stack_print(&v->text, &v->stacks, i->stack_frame_id);
	if (!take(v, &stack, err))
		return false;
	if (!file.n) {
		const struct ss_hlo_location *l = ss_hlo_frame_location(&v->stacks, i->stack_frame_id);
		file = ss_hlo_location_file(&v->stacks, l);
		line = l && file.n ? l->line : 0;
	}
	ss_set_str(t, B_FILE, file);
	ss_set_i64(t, B_LINE, line);
	ss_set_str(t, B_STACK, stack);
	return true;
}

/* The columns that all tables of buffers share. The last row of `t` is the buffer's. */
static bool set_buffer(struct view *v, struct ss_table *t, const struct ss_hlo_buffer *b, struct ss_hlo_instr *i,
		       struct ss_err *err)
{
	struct ss_str name, shape;
	ss_hlo_instr_read(b->instr == SS_NONE ? SS_STR("") : v->pick.module->instrs[b->instr], i);
	ss_buf_str(&v->text, i->name);
	ss_hlo_buffer_index_print(&v->text, b);
	if (!take(v, &name, err))
		return false;
	ss_hlo_shape_print(&v->text, b->shape, true);
	if (!take(v, &shape, err))
		return false;
	ss_set_i64(t, B_ID, b->id);
	ss_set_str(t, B_NAME, name);
	ss_set_i64(t, B_SIZE, b->size_bytes);
	ss_set_i64(t, B_UNPADDED, b->unpadded_bytes);
	ss_set_i64(t, B_PADDING, (int64_t)((uint64_t)b->size_bytes - (uint64_t)b->unpadded_bytes));
	ss_set_f64(t, B_EXPANSION, b->unpadded_bytes > 0 ? (double)b->size_bytes / (double)b->unpadded_bytes : NAN);
	ss_set_str(t, B_SHAPE, shape);
	ss_set_str(t, B_OP, i->op_name);
	ss_set_str(t, B_CATEGORY, ss_str_from(category(v, b)));
	return set_source(v, t, i, err);
}

/* A buffer that is large enough gets a row; the small ones are summed up. */
static bool add_peak(struct view *v, struct ss_table *t, uint32_t buffer, int64_t *small_bytes, struct ss_err *err)
{
	const struct ss_hlo_buffer *b = &v->b.buffers[buffer];
	struct ss_hlo_instr i;
	struct ss_str label;
	if (b->size_bytes < SMALL_BYTES) {
		*small_bytes += b->size_bytes;
		return true;
	}
	ss_table_row(t);
	if (!set_buffer(v, t, b, &i, err))
		return false;
	ss_buf_str(&v->text, i.name);
	ss_buf_lit(&v->text, ": ");
	ss_hlo_shape_print(&v->text, b->shape, true);
	ss_buf_lit(&v->text, " # ");
	ss_buf_str(&v->text, i.op_name);
	if (!take(v, &label, err))
		return false;
	ss_set_str(t, P_INSTR, i.name);
	ss_set_str(t, P_OPCODE, i.opcode);
	ss_set_str(t, P_LABEL, label);
	ss_set_i64(t, P_NUMBER, (int64_t)t->nrows - 1);
	v->peak_number[buffer] = (uint32_t)t->nrows - 1;
	return true;
}

/* Of memory that lives as long as the program each allocation's largest buffer stands for it. */
static uint32_t largest_buffer(const struct view *v, const struct ss_hlo_alloc *a)
{
	uint32_t best = SS_NONE;
	int64_t max = 0;
	for (uint32_t i = 0; i < a->nassigned; i++) {
		uint32_t buffer = v->b.assigned[a->first + i].buffer;
		if (buffer != SS_NONE && v->b.buffers[buffer].size_bytes > max) {
			max = v->b.buffers[buffer].size_bytes;
			best = buffer;
		}
	}
	return best;
}

static bool larger(const void *ctx, uint32_t a, uint32_t b)
{
	const int64_t *bytes = ctx;
	return bytes[a] > bytes[b];
}

static bool rank_by_size(struct view *v, struct ss_table *t)
{
	uint32_t *order = SS_NEW_N(v->q->arena, uint32_t, t->nrows);
	if (!order)
		return false;
	for (size_t i = 0; i < t->nrows; i++)
		order[i] = (uint32_t)i;
	/* Many buffers of a program are of one size, and XProf's order of them shows. */
	ss_sort_gnu(order, t->nrows, larger, t->data[B_SIZE].i64);
	for (size_t i = 0; i < t->nrows; i++) {
		t->data[P_BY_SIZE].i64[order[i]] = (int64_t)i;
		t->data[P_AT_PLACE].i64[i] = order[i];
	}
	return true;
}

static bool fill_peak(struct view *v, struct ss_err *err)
{
	struct ss_table *t = ss_result_table(v->out, "peak", "Buffers at the peak", peak_cols, SS_COUNT(peak_cols));
	int64_t small_bytes = 0;
	for (uint32_t i = 0; i < v->b.nallocs; i++) {
		uint32_t buffer = largest_buffer(v, &v->b.allocs[i]);
		if (!counts_as_indefinite(v, &v->b.allocs[i]) || buffer == SS_NONE)
			continue;
		v->indefinite_bytes += v->b.allocs[i].size_bytes;
		if (v->space == 0 && !add_peak(v, t, buffer, &small_bytes, err))
			return false;
	}
	for (uint32_t i = 0; i < v->heap.nlive; i++)
		if (!add_peak(v, t, v->heap.live[i].shown, &small_bytes, err))
			return false;
	if (small_bytes) {
		ss_table_row(t);
		ss_set_i64(t, B_ID, -1);
		ss_set_i64(t, B_SIZE, small_bytes);
		ss_set_f64(t, B_EXPANSION, NAN);
		ss_set_str(t, P_LABEL, SS_STR("small (<16384 bytes)"));
		ss_set_i64(t, P_NUMBER, (int64_t)t->nrows - 1);
	}
	return rank_by_size(v, t) || ss_fail_mem(err);
}

static void fill_timeline(struct view *v, struct ss_table *t)
{
	const struct ss_heap *h = &v->heap;
	if (h->trace == SS_NONE)
		return;
	ss_table_reserve(t, (size_t)h->nevents + 1);
	for (uint32_t i = 0; i <= h->nevents; i++) {
		ss_table_row(t);
		ss_set_i64(t, T_ORDER, i);
		ss_set_i64(t, T_HEAP, (int64_t)((uint64_t)h->bytes[i] + (uint64_t)v->indefinite_bytes));
		ss_set_i64(t, T_UNPADDED, (int64_t)((uint64_t)h->unpadded_bytes[i] + (uint64_t)v->indefinite_bytes));
		ss_set_str(t, T_INSTR, h->instr_names[i]);
	}
}

static void fill_spans(struct view *v)
{
	struct ss_table *t = ss_result_table(v->out, "spans", "Buffer lifetimes", span_cols, SS_COUNT(span_cols));
	for (uint32_t i = 0; i < v->b.nbuffers; i++) {
		if (v->heap.span_begin[i] == SS_NONE)
			continue;
		ss_table_row(t);
		ss_set_i64(t, S_ID, v->b.buffers[i].id);
		ss_set_i64(t, S_BEGIN, v->heap.span_begin[i]);
		ss_set_i64(t, S_END, v->heap.span_end[i]);
	}
}

static bool add_assigned(struct view *v, struct ss_table *t, int64_t allocation, const struct ss_hlo_assigned *a,
			 struct ss_err *err)
{
	struct ss_str shape, index;
	struct ss_hlo_instr i;
	const struct ss_hlo_buffer *b = a->buffer == SS_NONE ? NULL : &v->b.buffers[a->buffer];
	if (b)
		ss_hlo_shape_print(&v->text, b->shape, true);
	if (!take(v, &shape, err))
		return false;
	if (b)
		ss_hlo_buffer_index_print(&v->text, b);
	if (!take(v, &index, err))
		return false;
	ss_hlo_instr_read(b && b->instr != SS_NONE ? v->pick.module->instrs[b->instr] : SS_STR(""), &i);
	ss_table_row(t);
	ss_set_i64(t, L_ALLOCATION, allocation);
	ss_set_i64(t, L_ID, a->id);
	ss_set_i64(t, L_SIZE, a->size_bytes);
	ss_set_str(t, L_SHAPE, shape);
	ss_set_str(t, L_INSTR, i.name);
	ss_set_str(t, L_INDEX, index);
	return true;
}

static void add_indefinite(struct ss_table *t, const struct ss_hlo_alloc *a, struct ss_str common_shape)
{
	ss_set_i64(t, I_ID, a->index);
	ss_set_i64(t, I_SIZE, a->size_bytes);
	ss_set_bool(t, I_PARAMETER, a->parameter);
	ss_set_bool(t, I_LIVE_OUT, a->live_out);
	ss_set_bool(t, I_REUSABLE, !a->thread_local_ && !a->tuple);
	ss_set_str(t, I_SHAPE, common_shape);
	ss_set_str(t, I_CATEGORY, ss_str_from(ss_hlo_alloc_category(a)));
}

/* The rows of table `assigned` from `first` on are the allocation's. */
static struct ss_str common_shape(const struct ss_table *assigned, size_t first)
{
	const struct ss_str *shapes = assigned->data[L_SHAPE].str;
	for (size_t i = first; i < assigned->nrows; i++)
		if (!ss_str_eq(shapes[i], shapes[first]))
			return SS_STR("");
	return first < assigned->nrows ? shapes[first] : SS_STR("");
}

static bool fill_indefinite(struct view *v, struct ss_err *err)
{
	/* Both tables are made first: a pointer is good until the next one. */
	struct ss_result *out = v->out;
	size_t at = out->ntables;
	if (!ss_result_table(out, "indefinite", "Memory that is never reused", indefinite_cols, SS_COUNT(indefinite_cols)) ||
	    !ss_result_table(out, "assigned", "Buffers in it", assigned_cols, SS_COUNT(assigned_cols)))
		return ss_fail_mem(err);
	struct ss_table *t = ss_result_at(out, at), *assigned = ss_result_at(out, at + 1);
	for (uint32_t i = 0; i < v->b.nallocs; i++) {
		const struct ss_hlo_alloc *a = &v->b.allocs[i];
		size_t first = assigned->nrows;
		if (!counts_as_indefinite(v, a))
			continue;
		for (uint32_t k = 0; k < a->nassigned; k++)
			if (!add_assigned(v, assigned, a->index, &v->b.assigned[a->first + k], err))
				return false;
		ss_table_row(t);
		add_indefinite(t, a, common_shape(assigned, first));
	}
	return true;
}

static bool has_blocks(const struct view *v, const struct ss_hlo_alloc *a)
{
	return a->memory_space == v->space && a->trace != SS_NONE && !ss_hlo_alloc_is_indefinite(a);
}

static bool add_block(struct view *v, struct ss_table *t, uint32_t buffer, int64_t offset_bytes, struct ss_err *err)
{
	struct ss_hlo_instr i;
	ss_table_row(t);
	ss_set_i64(t, K_OFFSET, offset_bytes);
	ss_set_i64(t, K_BEGIN, v->heap.span_begin[buffer]);
	ss_set_i64(t, K_END, v->heap.span_end[buffer]);
	ss_set_i64(t, K_AT_PEAK, v->peak_number[buffer] == SS_NONE ? -1 : (int64_t)v->peak_number[buffer]);
	return set_buffer(v, t, &v->b.buffers[buffer], &i, err);
}

/* An allocation as a rectangle of its own, then its buffers over it. */
static bool add_blocks(struct view *v, struct ss_table *t, const struct ss_hlo_alloc *a, int64_t offset_bytes, uint32_t end,
		       struct ss_err *err)
{
	ss_table_row(t);
	ss_set_i64(t, B_ID, -1);
	ss_set_str(t, B_NAME, ss_str_from(ss_hlo_alloc_category(a)));
	ss_set_str(t, B_CATEGORY, ss_str_from(ss_hlo_alloc_category(a)));
	ss_set_i64(t, B_SIZE, a->size_bytes);
	ss_set_f64(t, B_EXPANSION, NAN);
	ss_set_i64(t, K_OFFSET, offset_bytes);
	ss_set_i64(t, K_END, end);
	ss_set_i64(t, K_AT_PEAK, -1);
	for (uint32_t i = 0; i < a->nassigned; i++) {
		const struct ss_hlo_assigned *part = &v->b.assigned[a->first + i];
		if (part->buffer == SS_NONE || v->heap.span_begin[part->buffer] == SS_NONE)
			continue;
		if (!add_block(v, t, part->buffer, (int64_t)((uint64_t)offset_bytes + (uint64_t)part->offset_bytes), err))
			return false;
	}
	return true;
}

static bool fill_blocks(struct view *v, struct ss_err *err)
{
	struct ss_table *t = ss_result_table(v->out, "blocks", "Buffers in memory over time", block_cols, SS_COUNT(block_cols));
	uint64_t offset_bytes = 0;
	uint32_t end = 0;
	bool any = false;
	for (uint32_t i = 0; i < v->b.nallocs; i++) {
		const struct ss_hlo_alloc *a = &v->b.allocs[i];
		if (!has_blocks(v, a))
			continue;
		any |= a->size_bytes != 0;
		if (v->b.traces[a->trace].nevents > end)
			end = v->b.traces[a->trace].nevents;
	}
	/* Allocations without a byte would be lines, not rectangles. */
	if (!any)
		return true;
	for (uint32_t i = 0; i < v->b.nallocs; i++) {
		const struct ss_hlo_alloc *a = &v->b.allocs[i];
		if (!has_blocks(v, a))
			continue;
		if (!add_blocks(v, t, a, (int64_t)offset_bytes, end, err))
			return false;
		offset_bytes += (uint64_t)a->size_bytes;
	}
	return true;
}

/* Sums over allocations of the memory space, as properties. */
static void set_sums(struct view *v, struct ss_table *t)
{
	uint64_t parameters = 0, non_reusable = 0, live_out = 0, total = 0, indefinite = 0;
	for (uint32_t i = 0; i < v->b.nallocs; i++) {
		const struct ss_hlo_alloc *a = &v->b.allocs[i];
		uint64_t size = a->memory_space == v->space ? (uint64_t)a->size_bytes : 0;
		parameters += a->parameter ? size : 0;
		non_reusable += a->thread_local_ || a->tuple ? size : 0;
		live_out += a->live_out ? size : 0;
		total += a->thread_local_ ? 0 : size;
		indefinite += !a->thread_local_ && ss_hlo_alloc_is_indefinite(a) ? size : 0;
	}
	const struct {
		const char *id, *label;
		uint64_t bytes;
	} sums[] = {
		{ "peak_heap", "Peak memory allocation", (uint64_t)v->heap.peak_bytes + (uint64_t)v->indefinite_bytes },
		{ "peak_unpadded_heap", "Peak without padding",
		  (uint64_t)v->heap.peak_unpadded_bytes + (uint64_t)v->indefinite_bytes },
		{ "entry_computation_parameters", "Arguments", parameters },
		{ "non_reusable", "Not reusable: thread-local, tuples", non_reusable },
		{ "maybe_live_out", "Results", live_out },
		{ "total_buffer_allocation", "All allocations, with fragmentation", total },
		{ "indefinite_buffer_allocation", "Live for the whole program", indefinite },
	};
	for (size_t i = 0; i < SS_COUNT(sums); i++)
		ss_table_prop_num(t, sums[i].id, sums[i].label, SS_UNIT_BYTES, (double)(int64_t)sums[i].bytes, "%.0f");
}

static void set_scoped(struct view *v, struct ss_table *t)
{
	const struct ss_hlo_module *m = v->pick.module;
	struct ss_hlo_instr instr;
	int64_t max = 0;
	uint32_t who = SS_NONE;
	for (uint32_t i = 0; v->space == VMEM && i < m->ninstrs; i++) {
		int64_t bytes = ss_hlo_scoped_bytes(ss_hlo_backend_config(m->instrs[i]), VMEM);
		if (bytes > max) {
			max = bytes;
			who = i;
		}
	}
	if (who == SS_NONE)
		return;
	ss_hlo_instr_read(m->instrs[who], &instr);
	ss_table_prop_num(t, "max_scoped_vmem", "Largest scoped VMEM allocation", SS_UNIT_BYTES, (double)max, "%.0f");
	ss_table_prop(t, "max_scoped_vmem_instruction", instr.name);
}

static void set_props(struct view *v, struct ss_table *t)
{
	ss_table_prop(t, "module_name", v->pick.module->name);
	ss_table_prop(t, "module", v->pick.file);
	ss_table_prop(t, "entry_computation_name", v->pick.module->entry_name);
	ss_table_prop_num(t, "memory_space", "Memory space", SS_UNIT_NONE, (double)v->space, "%.0f");
	ss_table_prop_num(t, "peak_at", "Program order of the peak", SS_UNIT_COUNT, v->heap.peak_at, "%.0f");
	set_sums(v, t);
	set_scoped(v, t);
}

static bool fill(struct view *v, struct ss_err *err)
{
	struct ss_result *out = v->out;
	if (!ss_result_table(out, "timeline", "Memory by program order", timeline_cols, SS_COUNT(timeline_cols)))
		return ss_fail_mem(err);
	if (!fill_peak(v, err))
		return false;
	set_props(v, ss_result_at(out, 0));
	fill_timeline(v, ss_result_at(out, 0));
	fill_spans(v);
	return fill_indefinite(v, err) && fill_blocks(v, err) && ss_module_table(v->q, &v->pick, out, err);
}

static bool prepare(struct view *v, struct ss_err *err)
{
	struct ss_arena *arena = v->q->arena;
	const struct ss_hlo_module *m = v->pick.module;
	if (!ss_hlo_buffers_read(&v->b, m, err) || !ss_heap_play(&v->heap, &v->b, v->space, arena, err))
		return false;
	v->budget_bytes = m->bytes.n * 64 + 65536;
	v->text.limit_bytes = (size_t)v->budget_bytes;
	v->peak_number = SS_NEW_N(arena, uint32_t, v->b.nbuffers);
	if (!v->peak_number || !ss_hlo_stacks_read(&v->stacks, m, arena))
		return ss_fail_mem(err);
	for (uint32_t i = 0; i < v->b.nbuffers; i++)
		v->peak_number[i] = SS_NONE;
	return true;
}

static bool say_what_is_missing(struct view *v)
{
	if (v->b.nallocs == 0) {
		ss_result_note(v->out, SS_INFO,
			       SS_STR("this program was recorded without its buffer assignment, so its memory is unknown"));
		return true;
	}
	if (ss_result_at(v->out, 0)->nrows == 0 && v->indefinite_bytes == 0) {
		ss_result_note(v->out, SS_INFO, SS_STR("the program allocates nothing in this memory space"));
		return true;
	}
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct view v = { .q = q, .out = out };
	v.space = ss_quirk_memory_space(ss_request_param(q, &ss_tool_memory_viewer, "memory_space"));
	bool ok = ss_module_pick(q, &ss_tool_memory_viewer, &v.pick, err) && prepare(&v, err) && fill(&v, err) &&
		  (say_what_is_missing(&v) || ss_fail_mem(err));
	ss_hlo_buffers_free(&v.b);
	ss_buf_free(&v.text);
	return ok;
}

/* The buffer that takes most of the peak, and what padding and fragmentation cost. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *peak = ss_result_find(out, "peak");
	double top = ss_result_number(out, "peak_heap"), plain = ss_result_number(out, "peak_unpadded_heap");
	double total = ss_result_number(out, "total_buffer_allocation");
	struct ss_greatest most = ss_greatest_row(peak, "size_bytes", NULL, NULL);
	(void)q;
	if (!(top > 0))
		return true;
	ss_say(out, "The buffers of '" SS_FMT "' take %s at their peak.", SS_ARG(ss_prop_words(out, "module_name")),
	       ss_value_words(SS_UNIT_BYTES, top).s);
	if (most.row != SS_NPOS && ss_cell_str(peak, most.row, "name").n)
		ss_say(out, "The largest of them is '" SS_FMT "': %s.", SS_ARG(ss_cell_str(peak, most.row, "name")),
		       ss_share_words(SS_UNIT_BYTES, most.value, top).s);
	if (plain < top)
		ss_say(out, "Padding takes %s of the peak.", ss_share_words(SS_UNIT_BYTES, top - plain, top).s);
	if (total > top)
		ss_say(out, "The program allocates %s: %s more than the peak.", ss_value_words(SS_UNIT_BYTES, total).s,
		       ss_value_words(SS_UNIT_BYTES, total - top).s);
	return true;
}

const struct ss_tool ss_tool_memory_viewer = {
	.name = "memory_viewer",
	.title = "Memory viewer",
	.summary = "Memory of a compiled program: size by program order, buffers at the peak, padding",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_OF_PROGRAM,
	.params = params,
	.nparams = SS_COUNT(params),
	.present = ss_module_present,
	.run = run,
	.conclude = conclude,
};
