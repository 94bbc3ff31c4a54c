/*
 * modules.c - the tree of a PyTorch program's nn.Modules, as their calls nest in time: calls, time
 * on the host and on devices, and what the backward pass spent on them.
 *
 * A row is a path, `Outer_0/Inner_2`. Device time is that of what was launched while the module was
 * called. The backward pass runs elsewhere: a node of it belongs to the module around the forward
 * operator of its sequence number, the one that began last before it.
 */
#include "tools/torch_tool.h"
#include "tools/words.h"

enum {
	C_MODULE, C_PARENT, C_CALLS, C_CPU_TOTAL, C_CPU_SELF, C_DEVICE_TOTAL, C_DEVICE_SELF, C_BACKWARD_CPU, C_BACKWARD_DEVICE,
	C_COLS
};

static const struct ss_col cols[C_COLS] = {
	STR("module", "Module", "Path of the call: enclosing modules, then its own name"),
	INT("parent", "Parent", NONE, "Row of the enclosing module; -1: none"),
	INT("calls", "Calls", COUNT, NULL),
	NUM("cpu_total_us", "CPU total", US, "Time of the calls on the CPU"),
	NUM("cpu_self_us", "CPU self", US, "Time of the calls without nested modules"),
	PART("device_total_us", "Device total", US, "Device time of operations that the calls launched"),
	PART("device_self_us", "Device self", US, "Device time of operations launched outside of nested modules"),
	NUM("backward_cpu_us", "Backward CPU", US, "CPU time of the nodes of the backward pass that belong to its operators, "
	    "nested modules included"),
	PART("backward_device_us", "Backward device", US, "Device time of operations that those nodes launched"),
};

struct row {
	uint32_t path, parent; /* parent: of rows, SS_NONE */
	int64_t calls, cpu_total_ns, cpu_self_ns, device_total_ns, device_self_ns, backward_cpu_ns, backward_device_ns;
};

struct rows {
	SS_VEC(struct row) v;
	struct ss_u64map by_path;
	uint32_t *of; /* row of each module's call */
};

static bool make_rows(struct rows *r, const struct ss_torch *t)
{
	r->of = malloc((t->modules.n + 1) * sizeof(*r->of));
	for (uint32_t i = 0; r->of && i < t->modules.n; i++) {
		const struct ss_torch_module *m = &t->modules.v[i];
		uint32_t at = ss_u64map_add(&r->by_path, m->path, (uint32_t)r->v.n);
		if (at == SS_NONE)
			return false;
		uint32_t parent = m->parent == SS_NONE ? SS_NONE : r->of[m->parent];
		if (at == r->v.n && !ss_vec_push(&r->v, ((struct row){ .path = m->path, .parent = parent })))
			return false;
		r->of[i] = at;
	}
	return r->of;
}

static void sum_host(struct rows *r, const struct ss_torch *t)
{
	for (uint32_t i = 0; i < t->modules.n; i++) {
		const struct ss_torch_module *m = &t->modules.v[i];
		struct row *row = &r->v.v[r->of[i]];
		row->calls++;
		row->cpu_total_ns += m->end_ns - m->begin_ns;
		row->cpu_self_ns += m->end_ns - m->begin_ns;
		if (m->parent == SS_NONE)
			continue;
		const struct ss_torch_module *p = &t->modules.v[m->parent];
		int64_t end_ns = m->end_ns < p->end_ns ? m->end_ns : p->end_ns;
		r->v.v[r->of[m->parent]].cpu_self_ns -= end_ns - m->begin_ns;
	}
}

/* Into the sums of calls: each hands its total on to the one around it, which stands before it. */
static bool sum_device(struct rows *r, const struct ss_torch *t)
{
	int64_t *total = calloc(t->modules.n + 1, sizeof(*total));
	if (!total)
		return false;
	for (size_t i = 0; i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[i];
		uint32_t m = e->call == SS_NONE ? SS_NONE : t->calls.v[e->call].module;
		if (m == SS_NONE)
			continue;
		total[m] += e->end_ns - e->begin_ns;
		r->v.v[r->of[m]].device_self_ns += e->end_ns - e->begin_ns;
	}
	for (size_t i = t->modules.n; i-- > 0;) {
		uint32_t parent = t->modules.v[i].parent;
		r->v.v[r->of[i]].device_total_ns += total[i];
		if (parent != SS_NONE)
			total[parent] += total[i];
	}
	free(total);
	return true;
}

/* The forward operator of each sequence number: of several the one that begins last. */
static bool map_forward(const struct ss_torch *t, struct ss_u64map *forward)
{
	for (uint32_t i = 0; i < t->ops.n; i++) {
		const struct ss_torch_op *op = &t->ops.v[i];
		if (op->sequence == SS_NONE || op->backward ||
		    ss_str_starts(ss_torch_text(t, op->name), SS_STR("autograd::engine::")))
			continue;
		uint32_t had = ss_u64map_get(forward, op->sequence);
		bool later = had == SS_NONE || t->ops.v[had].begin_ns <= op->begin_ns;
		if (later && !ss_u64map_put(forward, op->sequence, i))
			return false;
	}
	return true;
}

static bool is_node(struct ss_str name)
{
	struct ss_str rest = name;
	return ss_str_take(&rest, SS_STR("autograd::engine::evaluate_function: ")) &&
	       !ss_str_contains(rest, SS_STR("AccumulateGrad"));
}

/* Calls of modules hand what is theirs on to the one around them, which stands before them. */
static void hand_on(struct rows *r, const struct ss_torch *t, int64_t *cpu, int64_t *device)
{
	for (size_t i = t->modules.n; i-- > 0;) {
		uint32_t parent = t->modules.v[i].parent;
		r->v.v[r->of[i]].backward_cpu_ns += cpu[i];
		r->v.v[r->of[i]].backward_device_ns += device[i];
		if (parent != SS_NONE) {
			cpu[parent] += cpu[i];
			device[parent] += device[i];
		}
	}
}

static bool sum_backward(struct rows *r, const struct ss_torch *t)
{
	struct ss_u64map forward = { 0 };
	int64_t *cpu = calloc(2 * (t->modules.n + 1), sizeof(*cpu)), *device = cpu ? cpu + t->modules.n + 1 : NULL;
	struct ss_torch_op_times *times = ss_torch_op_times(t);
	bool ok = cpu && times && map_forward(t, &forward);
	for (uint32_t i = 0; ok && i < t->ops.n; i++) {
		const struct ss_torch_op *op = &t->ops.v[i];
		if (op->head != i || op->sequence == SS_NONE || !is_node(ss_torch_text(t, op->name)))
			continue;
		uint32_t f = ss_u64map_get(&forward, op->sequence);
		if (f == SS_NONE || t->ops.v[f].begin_ns >= op->begin_ns)
			continue;
		uint32_t m = t->ops.v[f].module;
		if (m == SS_NONE)
			continue;
		cpu[m] += op->end_ns - op->begin_ns;
		device[m] += times[i].device_total_ns;
	}
	if (ok)
		hand_on(r, t, cpu, device);
	free(cpu);
	free(times);
	ss_u64map_free(&forward);
	return ok;
}

static void put(struct ss_table *table, const struct ss_torch *t, const struct row *r)
{
	ss_table_row(table);
	ss_set_str(table, C_MODULE, ss_torch_text(t, r->path));
	ss_set_i64(table, C_PARENT, r->parent == SS_NONE ? -1 : (int64_t)r->parent);
	ss_set_i64(table, C_CALLS, r->calls);
	ss_set_f64(table, C_CPU_TOTAL, ss_us(r->cpu_total_ns));
	ss_set_f64(table, C_CPU_SELF, ss_us(r->cpu_self_ns));
	ss_set_f64(table, C_DEVICE_TOTAL, ss_us(r->device_total_ns));
	ss_set_f64(table, C_DEVICE_SELF, ss_us(r->device_self_ns));
	ss_set_f64(table, C_BACKWARD_CPU, ss_us(r->backward_cpu_ns));
	ss_set_f64(table, C_BACKWARD_DEVICE, ss_us(r->backward_device_ns));
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_torch *t = ss_torch_asked(q, out, err);
	struct ss_table *table = ss_result_table(out, "modules", "Modules", cols, C_COLS);
	struct rows r = { .of = NULL };
	if (!t)
		return false;
	bool ok = make_rows(&r, t);
	if (ok)
		sum_host(&r, t);
	ok = ok && sum_device(&r, t) && sum_backward(&r, t);
	for (size_t i = 0; ok && i < r.v.n; i++)
		put(table, t, &r.v.v[i]);
	if (ok && t->is_torch && !t->modules.n)
		ss_result_note(out, SS_INFO,
			       SS_STR("Modules were not recorded: profile with with_stack=True (before PyTorch 2.15 "
				      "with_modules=True as well)"));
	free(r.of);
	ss_vec_free(&r.v);
	ss_u64map_free(&r.by_path);
	return ok || ss_fail_mem(err);
}

/* Which module takes most, without the modules inside it. */
static void say_most(struct ss_result *out, const struct ss_table *t, const char *col,
		     const char *where)
{
	struct ss_greatest top = ss_greatest_row(t, col, NULL, NULL);
	if (top.row != SS_NPOS)
		ss_say(out,
		       "'" SS_FMT "' takes the most time %s in the forward pass, without nested modules: %s.",
		       SS_ARG(ss_cell_str(t, top.row, "module")), where,
		       ss_share_words(SS_UNIT_US, top.value, top.sum).s);
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_at(out, 0);
	(void)q;
	say_most(out, t, "device_self_us", "on devices");
	say_most(out, t, "cpu_self_us", "on the host");
	return true;
}

const struct ss_tool ss_tool_modules = {
	.name = "modules",
	.title = "Modules",
	.summary = "PyTorch: the tree of nn.Modules with their time forward and backward, on host "
		   "and device",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_OURS,
	.present = ss_host_names_torch_modules,
	.run = run,
	.conclude = conclude,
};
