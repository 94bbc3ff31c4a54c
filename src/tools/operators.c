/*
 * operators.c - the operators of a PyTorch program as torch.profiler's key_averages() has them: by
 * name, by input shape, and when asked by stack and by module; and the ranges that the program
 * marked.
 *
 * Times of the host: total is the operator's own length, self what is left without operators below
 * it and without the outermost calls of the device's library that it made. Times of the device:
 * self is what its own calls started, also through a CUDA graph; total adds the operators below. An
 * operator that calls itself counts in total each time, as in torch.
 */
#include "model/torch/allocations.h"
#include "model/model.h"
#include "tools/torch_tool.h"
#include "tools/words.h"

enum {
	O_NAME, O_KEY, O_CALLS, O_CPU_TOTAL, O_CPU_SELF, O_DEVICE_TOTAL, O_DEVICE_SELF, O_CPU_BYTES, O_CPU_SELF_BYTES,
	O_DEVICE_BYTES, O_DEVICE_SELF_BYTES
};

#define TIMES                                                                                                                \
	INT("calls", "Calls", COUNT, NULL), NUM("cpu_total_us", "CPU total", US, "Time of the calls on the CPU"),                 \
		NUM("cpu_self_us", "CPU self", US,                                                                            \
		    "Time of the calls without nested operators and calls of the device's library"),                          \
		PART("device_total_us", "Device total", US,                                                                    \
		    "Device time of operations launched by the operator and by nested operators"),                            \
		PART("device_self_us", "Device self", US, "Device time of operations launched by the operator itself"),        \
		INT("cpu_memory_bytes", "CPU memory", BYTES, "Allocated minus freed bytes, with nested operators"),           \
		INT("cpu_memory_self_bytes", "CPU memory self", BYTES,                                                        \
		    "Allocated minus freed bytes, without nested operators"),                                                 \
		INT("device_memory_bytes", "Device memory", BYTES,                                                            \
		    "Allocated minus freed bytes on devices, with nested operators"),                                         \
		INT("device_memory_self_bytes", "Device memory self", BYTES,                                                  \
		    "Allocated minus freed bytes on devices, without nested operators")

/* The last columns are left out where profile_memory=True recorded nothing of them. */
#define MEMORY_COLS 4
#define DEVICE_MEMORY_COLS 2

static const struct ss_col name_cols[] = { STR("name", "Operator", NULL), TIMES };
static const struct ss_col shape_cols[] = {
	STR("name", "Operator", NULL), STR("input_dims", "Input shapes", "Input Dims of record_shapes=True"), TIMES,
};
static const struct ss_col stack_cols[] = {
	STR("name", "Operator", NULL), STR("stack", "Stack", "Enclosing Python functions, the innermost first"), TIMES,
};
static const struct ss_col module_cols[] = {
	STR("name", "Operator", NULL), STR("module", "Module", "The innermost enclosing nn.Module"), TIMES,
};

#define NOTED_FRAC 0.01 /* so much of the work of devices without an operator is noted */

enum { R_NAME, R_CALLS, R_TOTAL, R_COLS };

static const struct ss_col range_cols[R_COLS] = {
	STR("name", "Range", NULL),
	INT("calls", "Calls", COUNT, NULL),
	NUM("cpu_total_us", "CPU total", US, NULL),
};

static const struct ss_param params[] = {
	{ "by", "stack|module", NULL, "add a table of operators by their Python stack or by their module" },
};

enum by { BY_NAME, BY_SHAPE, BY_STACK, BY_MODULE };

struct row {
	uint32_t name, key;
	int64_t calls, cpu_total_ns, cpu_self_ns, device_total_ns, device_self_ns;
	struct ss_torch_op_bytes bytes;
};

/* For each operator. */
struct costs {
	struct ss_torch_op_times *times;
	struct ss_torch_op_bytes *bytes; /* NULL: no allocation was recorded */
	size_t unknown_cols;		 /* at the end of each table */
};

struct rows {
	SS_VEC(struct row) v;
	struct ss_u64map by_key;
};

static struct row *row_of(struct rows *r, uint32_t name, uint32_t key)
{
	uint32_t i = ss_u64map_add(&r->by_key, (uint64_t)name << 32 | key, (uint32_t)r->v.n);
	if (i == SS_NONE || (i == r->v.n && !ss_vec_push(&r->v, ((struct row){ .name = name, .key = key }))))
		return NULL;
	return &r->v.v[i];
}

static uint32_t key_of(const struct ss_torch *t, const struct ss_torch_op *op, enum by by)
{
	switch (by) {
	case BY_SHAPE:
		return t->shapes.v[op->shape].dims;
	case BY_STACK:
		return op->stack;
	case BY_MODULE:
		return op->module == SS_NONE ? 0 : t->modules.v[op->module].path;
	default:
		return 0;
	}
}

static bool sum_operators(struct rows *r, const struct ss_torch *t, const struct costs *c, enum by by)
{
	for (uint32_t i = 0; i < t->ops.n; i++) {
		const struct ss_torch_op *op = &t->ops.v[i];
		if (op->head != i)
			continue;
		struct row *to = row_of(r, op->name, key_of(t, op, by));
		if (!to)
			return false;
		to->calls++;
		to->cpu_total_ns += op->end_ns - op->begin_ns;
		to->cpu_self_ns += c->times[i].cpu_self_ns;
		to->device_total_ns += c->times[i].device_total_ns;
		to->device_self_ns += c->times[i].device_self_ns;
		if (!c->bytes)
			continue;
		to->bytes.cpu_total += c->bytes[i].cpu_total;
		to->bytes.cpu_self += c->bytes[i].cpu_self;
		to->bytes.device_total += c->bytes[i].device_total;
		to->bytes.device_self += c->bytes[i].device_self;
	}
	return true;
}

static int dearest_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return SS_CMP(y->device_self_ns, x->device_self_ns) ?: SS_CMP(y->cpu_self_ns, x->cpu_self_ns) ?:
	       SS_CMP(x->name, y->name) ?: SS_CMP(x->key, y->key);
}

static void put(struct ss_table *table, const struct ss_torch *t, const struct row *r, const struct costs *c, enum by by)
{
	size_t shift = by == BY_NAME;
	struct ss_str key = by == BY_STACK ? ss_torch_stack(t, r->key, table->arena) : ss_torch_text(t, r->key);
	ss_table_row(table);
	ss_set_str(table, O_NAME, ss_torch_text(t, r->name));
	if (by != BY_NAME)
		ss_set_str(table, O_KEY, key);
	ss_set_i64(table, O_CALLS - shift, r->calls);
	ss_set_f64(table, O_CPU_TOTAL - shift, ss_us(r->cpu_total_ns));
	ss_set_f64(table, O_CPU_SELF - shift, ss_us(r->cpu_self_ns));
	ss_set_f64(table, O_DEVICE_TOTAL - shift, ss_us(r->device_total_ns));
	ss_set_f64(table, O_DEVICE_SELF - shift, ss_us(r->device_self_ns));
	if (c->unknown_cols < MEMORY_COLS) {
		ss_set_i64(table, O_CPU_BYTES - shift, r->bytes.cpu_total);
		ss_set_i64(table, O_CPU_SELF_BYTES - shift, r->bytes.cpu_self);
	}
	if (!c->unknown_cols) {
		ss_set_i64(table, O_DEVICE_BYTES - shift, r->bytes.device_total);
		ss_set_i64(table, O_DEVICE_SELF_BYTES - shift, r->bytes.device_self);
	}
}

static bool add_table(struct ss_result *out, const struct ss_torch *t, const struct costs *c, enum by by)
{
	static const struct {
		const char *name, *title;
		const struct ss_col *cols;
		size_t n;
	} tables[] = {
		[BY_NAME] = { "by_name", "Operators", name_cols, SS_COUNT(name_cols) },
		[BY_SHAPE] = { "by_shape", "Operators by input shapes", shape_cols, SS_COUNT(shape_cols) },
		[BY_STACK] = { "by_stack", "Operators by stack", stack_cols, SS_COUNT(stack_cols) },
		[BY_MODULE] = { "by_module", "Operators by module", module_cols, SS_COUNT(module_cols) },
	};
	struct rows r = { .by_key = { 0 } };
	struct ss_table *table = ss_result_table(out, tables[by].name, tables[by].title, tables[by].cols,
						 tables[by].n - c->unknown_cols);
	bool ok = sum_operators(&r, t, c, by);
	if (ok && r.v.n)
		qsort(r.v.v, r.v.n, sizeof(*r.v.v), dearest_first);
	for (size_t i = 0; ok && i < r.v.n; i++)
		put(table, t, &r.v.v[i], c, by);
	ss_vec_free(&r.v);
	ss_u64map_free(&r.by_key);
	return ok;
}

static bool add_ranges(struct ss_result *out, const struct ss_torch *t)
{
	struct rows r = { .by_key = { 0 } };
	struct ss_table *table = ss_result_table(out, "annotations", "Ranges that the program marked", range_cols, R_COLS);
	bool ok = true;
	for (size_t i = 0; ok && i < t->ranges.n; i++) {
		const struct ss_torch_range *g = &t->ranges.v[i];
		if (ss_kineto_is_step(ss_torch_text(t, g->name)))
			continue;
		struct row *to = row_of(&r, g->name, 0);
		ok = to;
		if (!ok)
			break;
		to->calls++;
		to->cpu_self_ns += g->end_ns - g->begin_ns;
	}
	if (ok && r.v.n)
		qsort(r.v.v, r.v.n, sizeof(*r.v.v), dearest_first);
	for (size_t i = 0; ok && i < r.v.n; i++) {
		ss_table_row(table);
		if (!ok)
			break;
		ss_set_str(table, R_NAME, ss_torch_text(t, r.v.v[i].name));
		ss_set_i64(table, R_CALLS, r.v.v[i].calls);
		ss_set_f64(table, R_TOTAL, ss_us(r.v.v[i].cpu_self_ns));
	}
	ss_vec_free(&r.v);
	ss_u64map_free(&r.by_key);
	return ok;
}

/* The facts of operators in the trace; false when memory is out. */
static bool find_costs(const struct ss_torch *t, struct costs *c)
{
	bool on_device = false;
	for (size_t i = 0; i < t->memory.n; i++)
		on_device = on_device || !ss_torch_is_host_memory(t, &t->memory.v[i]);
	*c = (struct costs){ .times = ss_torch_op_times(t), .bytes = t->memory.n ? ss_torch_op_bytes(t) : NULL };
	c->unknown_cols = !t->memory.n ? MEMORY_COLS : on_device ? 0 : DEVICE_MEMORY_COLS;
	return c->times && (c->bytes || !t->memory.n);
}

static bool has_shapes(const struct ss_torch *t)
{
	for (uint32_t i = 0; i < t->ops.n; i++)
		if (ss_torch_shape(t, i)->dims)
			return true;
	return false;
}

static void note_missing(const struct ss_torch *t, enum by by, struct ss_result *out)
{
	const char *why = NULL;
	if (t->is_torch && !t->ops.n && (t->calls.n || t->device.n))
		why = t->kineto ? "The trace holds no operators: record with activities=[ProfilerActivity.CPU, ...]" :
				  "The recording holds no operators of PyTorch";
	else if (t->ops.n && !has_shapes(t))
		why = "Input shapes were not recorded: profile with record_shapes=True";
	if (why)
		ss_result_note(out, SS_INFO, ss_str_from(why));
	if (t->ops.n && by == BY_STACK && !t->any_frame && t->stack_is_frame) {
		ss_result_note(out, SS_INFO, SS_STR("Stacks were not recorded: profile with with_stack=True"));
		return;
	}
	if (t->ops.n && by == BY_MODULE && !t->modules.n) {
		ss_result_note(out, SS_INFO,
			       SS_STR("Modules were not recorded: profile with with_stack=True (before PyTorch 2.15 "
				      "with_modules=True as well)"));
		return;
	}
}

/* Work of devices, and the part of it that belongs to no operator. */
static double device_us(const struct ss_torch *t, double *of_none_us)
{
	int64_t all_ns = 0, none_ns = 0;
	for (size_t i = 0; i < t->device.n; i++) {
		int64_t ns = t->device.v[i].end_ns - t->device.v[i].begin_ns;
		all_ns += ns;
		none_ns += t->device.v[i].op == SS_NONE ? ns : 0;
	}
	*of_none_us = ss_us(none_ns);
	return ss_us(all_ns);
}

static void note_of_none(const struct ss_torch *t, struct ss_result *out)
{
	double none_us, all_us = device_us(t, &none_us);
	if (t->ops.n && none_us >= NOTED_FRAC * all_us && none_us > 0)
		ss_result_note(out, SS_INFO,
			       ss_arena_printf(out->arena, "%s of the devices' work belongs to no operator of the trace.",
					       ss_share_words(SS_UNIT_US, none_us, all_us).s));
}

const struct ss_tool ss_tool_operators;

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_str asked = ss_request_param(q, &ss_tool_operators, "by");
	enum by by = ss_str_is(asked, "stack") ? BY_STACK : ss_str_is(asked, "module") ? BY_MODULE : BY_NAME;
	if (asked.n && by == BY_NAME)
		return ss_fail(err, SS_EINVAL, "the parameter 'by' must be 'stack' or 'module', not '" SS_FMT "'", SS_ARG(asked));
	const struct ss_torch *t = ss_torch_asked(q, out, err);
	if (!t)
		return false;
	struct costs c;
	bool ok = find_costs(t, &c) && add_table(out, t, &c, BY_NAME) && add_table(out, t, &c, BY_SHAPE) &&
		  (by == BY_NAME || add_table(out, t, &c, by)) && add_ranges(out, t);
	free(c.times);
	free(c.bytes);
	if (ok) {
		note_missing(t, by, out);
		note_of_none(t, out);
	}
	return ok || ss_fail_mem(err);
}

/*
 * Which operator's own work takes most, on devices and on the host: of `whole`, 0: of the sum of
 * all rows.
 */
static void say_most(struct ss_result *out, const struct ss_table *t, const char *col,
		     const char *where, double whole)
{
	struct ss_greatest top = ss_greatest_row(t, col, NULL, NULL);
	if (top.row != SS_NPOS)
		ss_say(out, "'" SS_FMT "' takes the most self time %s: %s, in %s.",
		       SS_ARG(ss_cell_str(t, top.row, "name")), where,
		       ss_share_words(SS_UNIT_US, top.value, whole > 0 ? whole : top.sum).s,
		       ss_count_words(ss_cell_f64(t, top.row, "calls"), "call").s);
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *table = ss_result_at(out, 0);
	const struct ss_torch *t = q->model->nhosts == 1 ? ss_host_torch(q->model->hosts[0], err) : NULL;
	double none_us, all_us = t ? device_us(t, &none_us) : 0;
	say_most(out, table, "device_self_us", "on devices", all_us);
	say_most(out, table, "cpu_self_us", "on the host", 0);
	return true;
}

const struct ss_tool ss_tool_operators = {
	.name = "operators",
	.title = "Operators",
	.summary = "Operators by name, input shape, stack and module, with their time on "
		   "host and device",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_OURS,
	.params = params,
	.nparams = SS_COUNT(params),
	.present = ss_host_is_torch,
	.needs = SS_NEEDS_OPERATORS,
	.run = run,
	.conclude = conclude,
};
