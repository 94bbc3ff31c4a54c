/*
 * steps_torch.c - the steps of a trace of PyTorch: the marks of the program with their own numbers, and
 * each moment given to one kind of work (model/torch/steps.h).
 */
#include "model/steps/steps.h"
#include "model/torch/steps.h"

#include <stdlib.h>

static void divide(const struct ss_torch_step_time *s, uint64_t *work_ps)
{
	int64_t inside_ns = s->class_ns[SS_TORCH_IN_MEMCPY] - s->to_device_ns - s->to_host_ns;
	const struct {
		enum ss_work work;
		int64_t ns;
	} parts[] = {
		{ SS_WORK_DEVICE_COMPUTE_16, s->kernel_16bit_ns },
		{ SS_WORK_DEVICE_COMPUTE_32, s->class_ns[SS_TORCH_IN_KERNEL] - s->kernel_16bit_ns },
		{ SS_WORK_HOST_TO_DEVICE, s->to_device_ns },
		{ SS_WORK_DEVICE_TO_HOST, s->to_host_ns },
		{ SS_WORK_DEVICE_TO_DEVICE, inside_ns + s->class_ns[SS_TORCH_IN_MEMSET] },
		{ SS_WORK_COLLECTIVES, s->class_ns[SS_TORCH_IN_COMMUNICATION] },
		{ SS_WORK_HOST_PREPARE, s->class_ns[SS_TORCH_IN_RUNTIME] },
		{ SS_WORK_HOST_WAIT_INPUT, s->class_ns[SS_TORCH_IN_DATALOADER] },
		{ SS_WORK_HOST_COMPUTE, s->class_ns[SS_TORCH_IN_CPU_OP] },
		{ SS_WORK_UNKNOWN, s->class_ns[SS_TORCH_IN_OTHER] },
	};
	for (size_t i = 0; i < SS_COUNT(parts); i++)
		work_ps[parts[i].work] += (uint64_t)parts[i].ns * 1000;
}

static bool add_step(struct ss_host_steps *out, const struct ss_torch *t, const struct ss_torch_step_time *s)
{
	size_t i = out->steps.n++;
	uint64_t *work_ps = out->work_ps + i * SS_WORK_COUNT;
	int64_t begin_ps = s->step.begin_ns * 1000;
	uint64_t dur_ps = (uint64_t)(s->step.end_ns - s->step.begin_ns) * 1000;
	struct ss_str mark = ss_torch_text(t, s->step.mark);
	struct ss_str name = mark.n ? mark : ss_arena_printf(&out->arena, "step %lld", (long long)s->step.number);
	divide(s, work_ps);
	out->cores[i] = (struct ss_step_core){ .kind = SS_STEP_BY_WORK, .core_id = 1, .begin_ps = begin_ps, .dur_ps = dur_ps,
					       .work_ps = work_ps };
	out->steps.v[i] = (struct ss_step){ .num = s->step.number, .name = name, .begin_ps = begin_ps, .dur_ps = dur_ps,
					    .cores = &out->cores[i], .ncores = 1 };
	return name.p;
}

static int by_number(const void *a, const void *b)
{
	const struct ss_torch_step_time *x = a, *y = b;
	return SS_CMP(x->step.number, y->step.number);
}

static bool fill(struct ss_host_steps *out, const struct ss_torch *t)
{
	struct ss_torch_step_time *v = NULL;
	size_t n = t->steps.n;
	int64_t narrow_ns, wide_ns;
	bool ok = ss_torch_precision_ns(t, &narrow_ns, &wide_ns) && ss_torch_divide(t, t->steps.v, n, &v);
	out->steps.v = malloc((n + 1) * sizeof(*out->steps.v));
	out->cores = malloc((n + 1) * sizeof(*out->cores));
	out->work_ps = calloc((n + 1) * SS_WORK_COUNT, sizeof(*out->work_ps));
	ok = ok && out->steps.v && out->cores && out->work_ps;
	if (ok)
		qsort(v, n, sizeof(*v), by_number);
	for (size_t i = 0; ok && i < n; i++)
		ok = add_step(out, t, &v[i]);
	out->steps.compute_16bit_ps = ok ? (uint64_t)narrow_ns * 1000 : 0;
	out->steps.compute_32bit_ps = ok ? (uint64_t)wide_ns * 1000 : 0;
	free(v);
	return ok;
}

bool ss_steps_of_torch(struct ss_host_steps *out, struct ss_host *h, struct ss_err *err)
{
	const struct ss_torch *t = ss_host_torch(h, err);
	return t && (fill(out, t) || ss_fail_mem(err));
}
