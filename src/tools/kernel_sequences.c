/*
 * kernel_sequences.c - sequences of kernels that operators of a PyTorch program launch again and
 * again: what torch.compile, or a fused kernel, could make one of.
 *
 * Of each operator that no other is around: the names of the kernels that it and operators below it
 * launched, in the order of their launches. Sequences of 3 to 64 kernels; a whole backward pass is
 * no pattern.
 */
#include "base/buf.h"
#include "tools/torch_tool.h"
#include "tools/words.h"

#define LEAST 3
#define MOST 64

enum { C_OPERATOR, C_LENGTH, C_KERNELS, C_OCCURRENCES, C_DEVICE, C_CPU, C_COLS };

static const struct ss_col cols[C_COLS] = {
	STR("operator", "Operator", "Operator that no other operator encloses"),
	INT("length", "Length", COUNT, "Kernels of the sequence"),
	STR("kernels", "Kernels", "Names of the kernels in the order of their launches"),
	INT("occurrences", "Occurrences", COUNT, NULL),
	NUM("device_us", "Device", US, "Time of the kernels on the device, summed over all occurrences"),
	NUM("cpu_us", "CPU", US, "Time of the operators on the CPU"),
};

struct launched {
	int64_t call_ns, begin_ns;
	uint32_t top, event;
};

static int by_launch(const void *a, const void *b)
{
	const struct launched *x = a, *y = b;
	return SS_CMP(x->top, y->top) ?: SS_CMP(x->call_ns, y->call_ns) ?: SS_CMP(x->begin_ns, y->begin_ns) ?:
	       SS_CMP(x->event, y->event);
}

/* For each operator, the outermost operator around it. */
static uint32_t *find_tops(const struct ss_torch *t)
{
	uint32_t *top = malloc((t->ops.n + 1) * sizeof(*top));
	for (uint32_t i = 0; top && i < t->ops.n; i++)
		top[i] = t->ops.v[i].parent == SS_NONE ? i : top[t->ops.v[i].parent];
	return top;
}

struct row {
	struct ss_str text; /* of the interner: name of the operator, a zero, the kernels */
	uint32_t name, length;
	int64_t occurrences, device_ns, cpu_ns;
};

struct rows {
	SS_VEC(struct row) v;
	struct ss_strmap by_text;
	struct ss_buf text;
	struct ss_arena *arena;
};

static bool add(struct rows *r, const struct ss_torch *t, const struct launched *v, size_t n)
{
	const struct ss_torch_op *op = &t->ops.v[v->top];
	int64_t device_ns = 0;
	r->text.n = 0;
	ss_buf_str(&r->text, ss_torch_text(t, op->name));
	ss_buf_char(&r->text, '\0');
	for (size_t i = 0; i < n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[v[i].event];
		if (i)
			ss_buf_lit(&r->text, " | ");
		ss_buf_str(&r->text, ss_torch_text(t, e->name));
		device_ns += e->end_ns - e->begin_ns;
	}
	if (r->text.no_memory)
		return false;
	uint32_t at = ss_strmap_get(&r->by_text, ss_buf_get(&r->text));
	if (at == SS_NONE) {
		struct ss_str text = ss_arena_str(r->arena, ss_buf_get(&r->text));
		at = text.p ? ss_strmap_add(&r->by_text, text) : SS_NONE;
		if (at == SS_NONE || !ss_vec_push(&r->v, ((struct row){ .text = text, .name = op->name, .length = (uint32_t)n })))
			return false;
	}
	r->v.v[at].occurrences++;
	r->v.v[at].device_ns += device_ns;
	r->v.v[at].cpu_ns += op->end_ns - op->begin_ns;
	return true;
}

static bool make_rows(struct rows *r, const struct ss_torch *t)
{
	uint32_t *top = find_tops(t);
	struct launched *v = malloc((t->device.n + 1) * sizeof(*v));
	bool ok = top && v;
	size_t n = 0;
	for (uint32_t i = 0; ok && i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[i];
		if (!ss_torch_is_kernel(e) || e->op == SS_NONE)
			continue;
		int64_t call_ns = e->call == SS_NONE ? e->begin_ns : t->calls.v[e->call].begin_ns;
		v[n++] = (struct launched){ call_ns, e->begin_ns, top[e->op], i };
	}
	if (ok && n)
		qsort(v, n, sizeof(*v), by_launch);
	for (size_t i = 0, end; ok && i < n; i = end) {
		for (end = i; end < n && v[end].top == v[i].top; end++)
			;
		ok = end - i < LEAST || end - i > MOST || add(r, t, v + i, end - i);
	}
	free(top);
	free(v);
	return ok;
}

static bool any_of_operator(const struct ss_torch *t)
{
	for (size_t i = 0; i < t->device.n; i++)
		if (ss_torch_is_kernel(&t->device.v[i]) && t->device.v[i].op != SS_NONE)
			return true;
	return false;
}

static int frequent_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return SS_CMP(y->occurrences, x->occurrences) ?: SS_CMP(y->device_ns, x->device_ns) ?: ss_str_cmp(x->text, y->text);
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_torch *t = ss_torch_asked(q, out, err);
	struct ss_table *table = ss_result_table(out, "sequences", "Sequences of kernels", cols, C_COLS);
	struct rows r = { .arena = q->arena };
	if (!t)
		return false;
	bool ok = make_rows(&r, t);
	if (ok && r.v.n)
		qsort(r.v.v, r.v.n, sizeof(*r.v.v), frequent_first);
	for (size_t i = 0; ok && i < r.v.n; i++) {
		const struct row *w = &r.v.v[i];
		struct ss_str name = ss_torch_text(t, w->name);
		ss_table_row(table);
		if (!ok)
			break;
		ss_set_str(table, C_OPERATOR, name);
		ss_set_i64(table, C_LENGTH, w->length);
		ss_set_str(table, C_KERNELS, ss_str_sub(w->text, name.n + 1, w->text.n));
		ss_set_i64(table, C_OCCURRENCES, w->occurrences);
		ss_set_f64(table, C_DEVICE, ss_us(w->device_ns));
		ss_set_f64(table, C_CPU, ss_us(w->cpu_ns));
	}
	if (ok && t->device.n && !any_of_operator(t))
		ss_result_note(out, SS_INFO,
			       SS_STR("No kernel of the recording belongs to an operator, so sequences of kernels are not known."));
	else if (ok && t->is_torch && !r.v.n)
		ss_result_say(out, SS_STR("No operator launches 3 to 64 kernels, so there are no sequences that one kernel or "
					  "a graph could replace."));
	ss_vec_free(&r.v);
	ss_strmap_free(&r.by_text);
	ss_buf_free(&r.text);
	return ok || ss_fail_mem(err);
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_at(out, 0);
	struct ss_greatest top = ss_greatest_row(t, "device_us", NULL, NULL);
	(void)q;
	if (top.row != SS_NPOS)
		ss_say(out,
		       "'" SS_FMT "' launches the sequence of kernels with the most time: %.0f "
				  "kernels, %s, %s on the device. One "
		       "kernel in their place, or a graph, would launch less.",
		       SS_ARG(ss_cell_str(t, top.row, "operator")),
		       ss_cell_f64(t, top.row, "length"), ss_count_words(ss_cell_f64(t, top.row, "occurrences"), "time").s,
		       ss_value_words(SS_UNIT_US, top.value).s);
	return true;
}

const struct ss_tool ss_tool_kernel_sequences = {
	.name = "kernel_sequences",
	.title = "Kernel sequences",
	.summary = "Sequences of kernels that operators launch repeatedly",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_OURS,
	.present = ss_host_is_torch,
	.needs = SS_NEEDS_OPERATORS | SS_NEEDS_CALLS | SS_NEEDS_KERNELS,
	.run = run,
	.conclude = conclude,
};
