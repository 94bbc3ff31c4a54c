/* memory_peak.c - which device of all hosts came closest to the end of its memory. */
#include "model/fold.h"
#include "model/host/host.h"
#include "model/runtime/memory.h"

#include <stdlib.h>

struct peak {
	struct ss_memory_peak out; /* first: what the getter returns points here */
	double used_frac;
	struct ss_intern intern;
};

static bool begin(void *data, const struct ss_model *m)
{
	struct peak *f = data;
	(void)m;
	f->out = (struct ss_memory_peak){ .host = SS_STR(""), .id = SS_STR(""), .op = SS_STR("") };
	return true;
}

static bool read_host(struct ss_host *h, struct ss_err *err)
{
	return ss_host_memory(h, err) != NULL;
}

/* The host's own memory is no bound that a program feels: "cpu", "mklcpu", "gpu_host_bfc". */
static bool is_of_device(struct ss_str id)
{
	return !ss_str_contains(id, SS_STR("cpu")) && !ss_str_contains(id, SS_STR("CPU")) && !ss_str_contains(id, SS_STR("host"));
}

static bool name_largest(struct peak *f, const struct ss_memory *m, const struct ss_mem_allocator *a, struct ss_err *err)
{
	struct ss_arena arena = { 0 };
	struct ss_mem_active *rows;
	size_t n;
	bool ok = ss_mem_at_peak(m, a, &arena, &rows, &n, err);
	f->out.op = SS_STR("");
	f->out.op_bytes = 0;
	for (size_t i = 0; ok && i < n; i++) {
		uint64_t bytes = (uint64_t)rows[i].bytes * rows[i].count;
		if (rows[i].event == SS_NONE || rows[i].bytes <= 0 || bytes <= f->out.op_bytes)
			continue;
		f->out.op = ss_intern_str(&f->intern, rows[i].d.tf_op);
		f->out.op_bytes = bytes;
	}
	if (ss_str_is(f->out.op, "(null)"))
		f->out.op = SS_STR("");
	ss_arena_release(&arena);
	return ok;
}

static bool take_allocator(struct peak *f, struct ss_host *h, const struct ss_memory *m, const struct ss_mem_allocator *a,
			   struct ss_err *err)
{
	struct ss_mem_details d;
	if (!a->n || !is_of_device(a->id))
		return true;
	if (!ss_mem_details(m, a, a->peak, &f->intern.arena, &d))
		return ss_fail_mem(err);
	int64_t used = a->events[a->peak].in_use_bytes, unused = d.stats.free_bytes;
	double frac = (double)used / ((double)used + (double)unused);
	if (used <= 0 || unused < 0 || frac <= f->used_frac)
		return true;
	f->used_frac = frac;
	f->out.host = ss_intern_str(&f->intern, ss_host_hostname(h));
	f->out.id = ss_intern_str(&f->intern, a->id);
	f->out.used_bytes = (uint64_t)used;
	f->out.capacity_bytes = (uint64_t)used + (uint64_t)unused;
	f->out.fragmentation = d.stats.fragmentation;
	return name_largest(f, m, a, err);
}

static bool take_host(void *data, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct peak *f = data;
	const struct ss_memory *m = ss_host_memory(h, err);
	bool ok = m;
	(void)i;
	for (uint32_t k = 0; ok && k < m->nallocators; k++)
		ok = take_allocator(f, h, m, &m->allocators[k], err);
	return ok && (!f->intern.no_memory || ss_fail_mem(err));
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
	.read = read_host,
	.take = take_host,
	.release = release,
};

const struct ss_memory_peak *ss_model_memory_peak(struct ss_model *m, struct ss_err *err)
{
	return ss_fold_get(m, &ss_fold_memory_peak, err);
}
