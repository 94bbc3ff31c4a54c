/* memory_peak.c - which device of all hosts came closest to the end of its memory. */
#include "model/fold.h"

#include "model/host/identity.h"
#include "model/runtime/memory.h"

#include <stdlib.h>

static const struct ss_memory_peak nothing = { .host = SS_STR_INIT(""), .id = SS_STR_INIT(""), .op = SS_STR_INIT("") };

/* The host's own memory is no bound that a program feels: "cpu", "mklcpu", "gpu_host_bfc". */
static bool is_of_device(struct ss_str id)
{
	return !ss_str_contains(id, SS_STR("cpu")) && !ss_str_contains(id, SS_STR("CPU")) && !ss_str_contains(id, SS_STR("host"));
}

static bool name_largest(struct ss_host_memory_peak *p, const struct ss_memory *m, const struct ss_mem_allocator *a,
			 struct ss_err *err)
{
	struct ss_arena arena = { 0 };
	struct ss_mem_active *rows;
	struct ss_str op = SS_STR("");
	size_t n;
	bool ok = ss_mem_at_peak(m, a, &arena, &rows, &n, err);
	p->peak.op_bytes = 0;
	for (size_t i = 0; ok && i < n; i++) {
		uint64_t bytes = (uint64_t)rows[i].bytes * rows[i].count;
		if (rows[i].event == SS_NONE || rows[i].bytes <= 0 || bytes <= p->peak.op_bytes)
			continue;
		op = rows[i].d.tf_op;
		p->peak.op_bytes = bytes;
	}
	p->peak.op = !op.n || ss_str_is(op, "(null)") ? SS_STR("") : ss_arena_str(&p->arena, op);
	ss_arena_release(&arena);
	return ok && (p->peak.op.p || ss_fail_mem(err));
}

static bool add_allocator(struct ss_host_memory_peak *p, struct ss_host *h, const struct ss_memory *m,
			  const struct ss_mem_allocator *a, struct ss_err *err)
{
	struct ss_mem_details d;
	if (!a->n || !is_of_device(a->id))
		return true;
	if (!ss_mem_details(m, a, a->peak, &p->arena, &d))
		return ss_fail_mem(err);
	int64_t used = a->events[a->peak].in_use_bytes, unused = d.stats.free_bytes;
	double frac = (double)used / ((double)used + (double)unused);
	if (used <= 0 || unused < 0 || frac <= p->used_frac)
		return true;
	p->used_frac = frac;
	p->peak.host = ss_host_hostname(h);
	p->peak.id = a->id;
	p->peak.used_bytes = (uint64_t)used;
	p->peak.capacity_bytes = (uint64_t)used + (uint64_t)unused;
	p->peak.fragmentation = d.stats.fragmentation;
	return name_largest(p, m, a, err);
}

static void release_host(void *data)
{
	struct ss_host_memory_peak *p = data;
	ss_arena_release(&p->arena);
	free(p);
}

static void *build_host(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	const struct ss_memory *m = ss_host_memory(h, err);
	struct ss_host_memory_peak *p = m ? calloc(1, sizeof(*p)) : NULL;
	if (!p) {
		if (m)
			ss_fail_mem(err);
		return NULL;
	}
	p->peak = nothing;
	bool ok = true;
	for (uint32_t k = 0; ok && k < m->nallocators; k++)
		ok = add_allocator(p, h, m, &m->allocators[k], err);
	if (ok)
		return p;
	release_host(p);
	return NULL;
}

static const struct ss_host_fact of_host = { SS_HOST_MEMORY_PEAK, build_host, release_host };

const struct ss_host_memory_peak *ss_host_memory_peak(struct ss_host *h, struct ss_err *err)
{
	return ss_host_fact_get(h, &of_host, err);
}

/* ---- all hosts ---- */

struct peak {
	struct ss_memory_peak out; /* first: what the getter returns points here */
	double used_frac;
	struct ss_intern intern;
};

static bool begin(void *data, const struct ss_model *m)
{
	struct peak *f = data;
	(void)m;
	f->out = nothing;
	return true;
}

static bool take_host(void *data, size_t i, struct ss_host *h, const void *fact, struct ss_err *err)
{
	struct peak *f = data;
	const struct ss_host_memory_peak *p = fact;
	(void)i, (void)h;
	if (p->used_frac <= f->used_frac)
		return true;
	f->used_frac = p->used_frac;
	f->out = p->peak;
	f->out.host = ss_intern_str(&f->intern, p->peak.host);
	f->out.id = ss_intern_str(&f->intern, p->peak.id);
	f->out.op = ss_intern_str(&f->intern, p->peak.op);
	return !f->intern.no_memory || ss_fail_mem(err);
}

static void release(void *data)
{
	struct peak *f = data;
	ss_intern_release(&f->intern);
	free(f);
}

const struct ss_fold ss_fold_memory_peak = {
	.part = SS_MODEL_MEMORY_PEAK,
	SS_FOLD_DATA(struct peak),
	.begin = begin,
	.of = &of_host,
	.take = take_host,
	.release = release,
};

const struct ss_memory_peak *ss_model_memory_peak(struct ss_model *m, struct ss_err *err)
{
	return ss_fold_get(m, &ss_fold_memory_peak, err);
}
