/* comm.c - see comm.h. */
#include "model/torch/comm.h"

#include "model/torch/steps.h"

#include <stdlib.h>

/* "allreduce", "allgather", ... of PyTorch's name for it or of a kernel's; "unknown". */
static const char *torch_comm_kind(struct ss_str name)
{
	/* The first that the name holds: "reducescatter" holds "reduce" and "scatter". */
	static const char *const kinds[] = {
		"allreduce", "reducescatter", "allgather", "alltoall", "broadcast", "sendrecv",
		"barrier",   "gather",	      "scatter",   "reduce",   "send",	    "recv",
	};
	char text[256];
	size_t n = 0;
	for (size_t i = 0; i < name.n && n < sizeof(text); i++) {
		char c = name.p[i];
		if (c != '_')
			text[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	for (size_t i = 0; i < SS_COUNT(kinds); i++)
		if (ss_str_contains((struct ss_str){ text, n }, ss_str_from(kinds[i])))
			return kinds[i];
	return "unknown";
}

int64_t ss_torch_element_bytes(struct ss_str dtype)
{
	static const struct {
		struct ss_str name;
		int64_t bytes;
	} types[] = {
		{ SS_STR_INIT("Double"), 8 },	     { SS_STR_INIT("Long"), 8 },	{ SS_STR_INIT("ComplexFloat"), 8 },
		{ SS_STR_INIT("ComplexDouble"), 16 }, { SS_STR_INIT("Float"), 4 },	{ SS_STR_INIT("Int"), 4 },
		{ SS_STR_INIT("Half"), 2 },	     { SS_STR_INIT("BFloat16"), 2 },	{ SS_STR_INIT("Short"), 2 },
		{ SS_STR_INIT("Byte"), 1 },	     { SS_STR_INIT("Char"), 1 },	{ SS_STR_INIT("Bool"), 1 },
		{ SS_STR_INIT("c10::BFloat16"), 2 }, { SS_STR_INIT("c10::Half"), 2 },	{ SS_STR_INIT("long int"), 8 },
		{ SS_STR_INIT("unsigned char"), 1 }, { SS_STR_INIT("signed char"), 1 }, { SS_STR_INIT("short int"), 2 },
	};
	for (size_t i = 0; i < SS_COUNT(types); i++)
		if (ss_str_ieq(dtype, types[i].name))
			return types[i].bytes;
	return ss_str_istarts(dtype, SS_STR("Float8")) ? 1 : 0;
}

static bool is(const char *kind, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(kind, list[i]) == 0)
			return true;
	return false;
}

int64_t ss_torch_comm_bytes(const char *kind, int64_t in_elements, int64_t out_elements, int64_t element_bytes)
{
	static const char *const greater[] = { "allgather", "gather", "scatter", "broadcast", "recv" };
	bool out = is(kind, greater, SS_COUNT(greater)) && out_elements > in_elements;
	int64_t n = out ? out_elements : in_elements;
	return n > 0 && n <= INT64_MAX / 16 ? n * element_bytes : 0;
}

double ss_torch_bus_factor(const char *kind, int64_t n)
{
	static const char *const parts[] = { "allgather", "reducescatter", "alltoall", "gather", "scatter" };
	if (n <= 0)
		return 0;
	if (strcmp(kind, "allreduce") == 0)
		return 2 * ((double)n - 1) / (double)n;
	return is(kind, parts, SS_COUNT(parts)) ? ((double)n - 1) / (double)n : 1;
}

/* ---- calls ---- */

static uint32_t comm_of(const struct ss_torch *t, const struct ss_torch_device_event *e)
{
	uint32_t comm = e->comm;
	for (uint32_t op = e->op; comm == SS_NONE && op != SS_NONE; op = t->ops.v[op].parent)
		comm = ss_torch_op_comm(t, op);
	return comm;
}

static struct ss_torch_comm_call call_of(const struct ss_torch *t, const struct ss_torch_device_event *e)
{
	struct ss_torch_comm_call c = { .begin_ns = e->begin_ns, .end_ns = e->end_ns, .device = e->device, .sequence = -1,
					.group = SS_STR(""), .dtype = SS_STR("") };
	uint32_t comm = comm_of(t, e);
	struct ss_str name = ss_torch_text(t, e->name);
	if (comm != SS_NONE) {
		const struct ss_torch_comm *k = &t->comms.v[comm];
		name = k->name ? ss_torch_text(t, k->name) : name;
		c.group = ss_torch_text(t, k->group);
		c.dtype = ss_torch_text(t, k->dtype);
		c.group_size = k->group_size;
		c.in_elements = k->in_elements;
		c.out_elements = k->out_elements;
		c.sequence = k->sequence;
	}
	c.kind = torch_comm_kind(name);
	return c;
}

/* "[[2,3],[4]]": 10; of a list of tensors all of them. A product that overflows counts as 0. */
static int64_t elements_of(struct ss_str dims)
{
	int64_t sum = 0, product = 1, number = 0;
	bool in_shape = false, in_number = false;
	for (size_t i = 0; i < dims.n; i++) {
		char c = dims.p[i];
		if (c >= '0' && c <= '9') {
			in_number = true;
			number = number < INT64_MAX / 20 ? number * 10 + (c - '0') : 0;
			continue;
		}
		if (in_number) {
			bool over = __builtin_mul_overflow(product, number, &product);
			product = over ? 0 : product;
			in_shape = true;
		}
		in_number = false;
		number = 0;
		if (c == ']' && in_shape) {
			bool over = __builtin_add_overflow(sum, product, &sum);
			sum = over ? 0 : sum;
		}
		if (c == '[' || c == ']') {
			product = 1;
			in_shape = false;
		}
	}
	return sum;
}

/* "[\"float\",\"\"]": float. */
static struct ss_str first_type(struct ss_str types)
{
	size_t from = ss_str_chr(types, '"');
	if (from == SS_NPOS)
		return SS_STR("");
	struct ss_str rest = ss_str_sub(types, from + 1, types.n);
	return ss_str_sub(rest, 0, ss_str_chr(rest, '"'));
}

static struct ss_torch_comm_call gloo_call(const struct ss_torch *t, const struct ss_torch_range *r)
{
	struct ss_str name = ss_torch_text(t, r->name);
	struct ss_torch_comm_call c = { .begin_ns = r->begin_ns, .end_ns = r->end_ns, .device = -1, .sequence = -1,
					.group = SS_STR(""), .group_size = t->groups <= 1 && t->world_size > 0 ? t->world_size : 0,
					.any_group = t->groups > 1 };
	c.kind = torch_comm_kind(ss_str_sub(name, 5, name.n));
	c.dtype = first_type(ss_torch_text(t, r->types));
	c.in_elements = c.out_elements = elements_of(ss_torch_text(t, r->dims));
	if (strcmp(c.kind, "allgather") == 0 && __builtin_mul_overflow(c.in_elements, c.group_size, &c.out_elements))
		c.out_elements = 0;
	return c;
}

static int by_begin(const void *a, const void *b)
{
	const struct ss_torch_comm_call *x = a, *y = b;
	return SS_CMP(x->begin_ns, y->begin_ns) ?: SS_CMP(x->end_ns, y->end_ns);
}

bool ss_torch_comm_calls(const struct ss_torch *t, struct ss_torch_comm_call **out, size_t *n)
{
	SS_VEC(struct ss_torch_comm_call) v = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < t->device.n; i++)
		if (t->device.v[i].kind == SS_TORCH_COLLECTIVE)
			ok = ss_vec_push(&v, call_of(t, &t->device.v[i]));
	for (size_t i = 0; ok && i < t->ranges.n; i++)
		if (ss_torch_is_gloo(t, &t->ranges.v[i]))
			ok = ss_vec_push(&v, gloo_call(t, &t->ranges.v[i]));
	if (ok && v.n)
		qsort(v.v, v.n, sizeof(*v.v), by_begin);
	if (!ok)
		ss_vec_free(&v);
	*out = v.v;
	*n = v.n;
	return ok;
}
