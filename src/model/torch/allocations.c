/* allocations.c - see allocations.h. */
#include "model/torch/allocations.h"

#include "base/huge.h"
#include "model/torch/device.h"
#include "model/torch/memory_order.h"

#include <stdlib.h>

#define MOST_DEVICES 256 /* of one trace; more are left out */

bool ss_torch_is_host_memory(const struct ss_torch *t, const struct ss_torch_memory *m)
{
	return ss_str_is(ss_torch_text(t, m->device), "CPU");
}

/* ---- blocks ---- */

/* An allocation opens its address, the next release of it closes it. `open`: 1 where it is open. */
static bool pair_blocks(const struct ss_torch *t, const struct ss_torch_memory_at *v, size_t n, struct ss_torch_allocator *a)
{
	struct ss_u64map open = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < n; i++) {
		const struct ss_torch_memory *m = &t->memory.v[v[i].event];
		if (m->reserved_bytes > a->reserved_peak_bytes)
			a->reserved_peak_bytes = m->reserved_bytes;
		a->allocations += m->bytes > 0;
		a->releases += m->bytes < 0;
		if (!m->addressed || !m->bytes)
			continue;
		uint32_t was = ss_u64map_get(&open, m->address);
		bool is_open = was == 1;
		if (m->bytes > 0) {
			a->unreleased++;
		} else if (is_open) {
			a->paired++;
			a->unreleased--;
		} else {
			a->unallocated++;
		}
		ok = ss_u64map_put(&open, m->address, m->bytes > 0);
	}
	ss_u64map_free(&open);
	return ok;
}

/* ---- operators ---- */

struct sum {
	int64_t increase, allocated, allocations;
	bool any;
};

struct sums {
	struct sum *self, *total; /* by operator */
	uint32_t *row;		  /* by name, SS_NONE */
};

struct ss_torch_op_bytes *ss_torch_op_bytes(const struct ss_torch *t)
{
	struct ss_torch_op_bytes *v = calloc(t->ops.n + 1, sizeof(*v));
	ss_huge_advise(v, v ? (t->ops.n + 1) * sizeof(*v) : 0);
	for (size_t i = 0; v && i < t->memory.n; i++) {
		const struct ss_torch_memory *m = &t->memory.v[i];
		if (m->op != SS_NONE)
			*(ss_torch_is_host_memory(t, m) ? &v[m->op].cpu_self : &v[m->op].device_self) += m->bytes;
	}
	for (uint32_t i = (uint32_t)t->ops.n; v && i-- > 0;) {
		uint32_t above = t->ops.v[i].head == i ? ss_torch_above(t, i) : SS_NONE;
		v[i].cpu_total += v[i].cpu_self;
		v[i].device_total += v[i].device_self;
		if (above != SS_NONE) {
			v[above].cpu_total += v[i].cpu_total;
			v[above].device_total += v[i].device_total;
		}
	}
	return v;
}

static void add_sum(struct sum *to, const struct sum *of)
{
	to->increase += of->increase;
	to->allocated += of->allocated;
	to->allocations += of->allocations;
	to->any |= of->any;
}

static void sum_events(const struct ss_torch *t, const struct ss_torch_memory_at *v, size_t n, struct sums *s)
{
	memset(s->self, 0, t->ops.n * sizeof(*s->self));
	for (size_t i = 0; i < n; i++) {
		const struct ss_torch_memory *m = &t->memory.v[v[i].event];
		if (m->op == SS_NONE || !m->bytes)
			continue;
		bool more = m->bytes > 0;
		add_sum(&s->self[m->op], &(struct sum){ m->bytes, more ? m->bytes : 0, more, true });
	}
	memcpy(s->total, s->self, t->ops.n * sizeof(*s->self));
	for (uint32_t i = (uint32_t)t->ops.n; i-- > 0;) {
		uint32_t above = t->ops.v[i].head == i ? ss_torch_above(t, i) : SS_NONE;
		if (above != SS_NONE)
			add_sum(&s->total[above], &s->total[i]);
	}
}

/* Rows of the names that have any, then the calls of all operators of those names. */
static bool add_rows(const struct ss_torch *t, uint32_t device, struct sums *s, struct ss_torch_allocations *out)
{
	size_t first = out->ops.n;
	memset(s->row, 0xff, t->texts.n * sizeof(*s->row));
	for (uint32_t i = 0; i < t->ops.n; i++) {
		const struct ss_torch_op *op = &t->ops.v[i];
		if (op->head != i || !s->total[i].any || s->row[op->name] != SS_NONE)
			continue;
		s->row[op->name] = (uint32_t)out->ops.n;
		if (!ss_vec_push(&out->ops, ((struct ss_torch_op_memory){ .device = device, .name = op->name })))
			return false;
	}
	for (uint32_t i = 0; out->ops.n > first && i < t->ops.n; i++) {
		const struct ss_torch_op *op = &t->ops.v[i];
		if (op->head != i || s->row[op->name] == SS_NONE)
			continue;
		struct ss_torch_op_memory *r = &out->ops.v[s->row[op->name]];
		r->calls++;
		r->self_increase_bytes += s->self[i].increase;
		r->self_allocated_bytes += s->self[i].allocated;
		r->self_allocations += s->self[i].allocations;
		r->increase_bytes += s->total[i].increase;
		r->allocated_bytes += s->total[i].allocated;
		r->allocations += s->total[i].allocations;
	}
	return true;
}

static int most_first(const void *a, const void *b)
{
	const struct ss_torch_op_memory *x = a, *y = b;
	return SS_CMP(y->self_allocated_bytes, x->self_allocated_bytes) ?: SS_CMP(x->name, y->name);
}

static bool add_device(const struct ss_torch *t, const struct ss_torch_memory_at *v, size_t n, struct sums *s,
		       struct ss_torch_allocations *out)
{
	struct ss_torch_allocator a = { .device = v->device };
	size_t first = out->ops.n;
	a.capacity_bytes = ss_torch_capacity(t, ss_torch_text(t, v->device));
	if (!pair_blocks(t, v, n, &a) || !ss_vec_push(&out->devices, a))
		return false;
	sum_events(t, v, n, s);
	if (!add_rows(t, v->device, s, out))
		return false;
	if (out->ops.n > first)
		qsort(out->ops.v + first, out->ops.n - first, sizeof(*out->ops.v), most_first);
	return true;
}

bool ss_torch_allocations(const struct ss_torch *t, struct ss_torch_allocations *out)
{
	struct sums s = { .self = malloc((t->ops.n + 1) * sizeof(*s.self)), .total = malloc((t->ops.n + 1) * sizeof(*s.total)),
			  .row = malloc((t->texts.n + 1) * sizeof(*s.row)) };
	struct ss_torch_memory_at *v = ss_torch_memory_order(t);
	bool ok = s.self && s.total && s.row && v;
	*out = (struct ss_torch_allocations){ .ops = { 0 } };
	for (size_t i = 0, end; ok && i < t->memory.n && out->devices.n < MOST_DEVICES; i = end) {
		for (end = i; end < t->memory.n && v[end].device == v[i].device; end++)
			;
		ok = add_device(t, v + i, end - i, &s, out);
	}
	free(s.self);
	free(s.total);
	free(s.row);
	free(v);
	if (!ok)
		ss_torch_allocations_free(out);
	return ok;
}

void ss_torch_allocations_free(struct ss_torch_allocations *a)
{
	ss_vec_free(&a->devices);
	ss_vec_free(&a->ops);
}
