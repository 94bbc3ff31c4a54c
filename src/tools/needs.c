/*
 * needs.c - what an opened host has data for, from its index: planes, lines, and the names of
 * events and stats.
 */
#include "tools/tool.h"

#include "model/cluster/comm_op.h"
#include "model/host/host.h"
#include "model/host/opname.h"
#include "model/host/plane.h"
#include "model/runtime/memory.h"
#include "model/torch/torch.h"
#include "tools/module_pick.h"

static bool has_ops(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (ss_plane_is_device(&h->planes[i]))
			return true;
	return ss_host_runs_programs(h) && ss_module_present(h);
}

/*
 * Operations of compiled programs name themselves; those that TensorFlow launches on GPUs one by
 * one do not.
 */
static bool has_hlo_ops(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++) {
		const struct ss_plane *p = &h->planes[i];
		bool named = ss_xplane_has(p->x, SS_STAT_HLO_OP) || ss_xplane_has(p->x, SS_STAT_HLO_CATEGORY);
		if ((named || ss_plane_has_events_of(p, SS_STR("XLA Ops"), 1)) && has_ops(h))
			return true;
	}
	return false;
}

static bool has_framework_ops(const struct ss_host *h)
{
	bool found = !h->imported.any;
	for (uint32_t i = 0; i < h->nplanes; i++) {
		const struct ss_xplane *x = h->planes[i].x;
		found |= ss_xplane_has(x, SS_STAT_TF_OP) || ss_xplane_has(x, SS_STAT_HLO_OP) ||
			 ss_xplane_has(x, SS_STAT_HLO_CATEGORY);
	}
	return found;
}

static bool of_category(const struct ss_host *h, enum ss_kineto kind)
{
	return h->imported.categories >> kind & 1;
}

static bool has_operators(const struct ss_host *h)
{
	return of_category(h, SS_KINETO_OPERATOR) || of_category(h, SS_KINETO_ANNOTATION);
}

static bool both_have(const struct ss_host *h, enum ss_stat stat)
{
	bool device = false, host = false;
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (ss_xplane_has(h->planes[i].x, stat))
			*(ss_plane_is_device(&h->planes[i]) ? &device : &host) = true;
	return device && host;
}

/* ... that name what they start, as this names them, or arrows do. */
static bool has_calls(const struct ss_host *h)
{
	return of_category(h, SS_KINETO_CALL) && (both_have(h, SS_STAT_CORRELATION_ID) || both_have(h, SS_STAT_FLOW));
}

static bool has_kernels(const struct ss_host *h)
{
	return of_category(h, SS_KINETO_KERNEL);
}

static bool has_copies(const struct ss_host *h)
{
	return of_category(h, SS_KINETO_MEMCPY) || of_category(h, SS_KINETO_MEMSET);
}

static bool has_device_work(const struct ss_host *h)
{
	return has_kernels(h) || has_copies(h);
}

static bool has_paths(const struct ss_host *h)
{
	return ss_host_runs_programs(h) || (has_operators(h) && ss_host_is_kineto(h));
}

static bool is_transfer(enum ss_comm kind)
{
	return kind == SS_COMM_SEND || kind == SS_COMM_RECV;
}

/*
 * By the names of events. PyTorch's are also events of its host, which describe what a kernel does.
 * What a TPU sends and receives goes to its host or to another slice, whose end is not recorded.
 * `ranges`: operators and ranges of torch.distributed count, too.
 */
static bool names_collectives(const struct ss_host *h, bool ranges)
{
	struct ss_arena texts = { 0 };
	bool found = false, kernels = !h->imported.any || has_kernels(h) || !ss_host_is_torch(h);
	for (uint32_t i = 0; (kernels || ranges) && !found && i < h->nplanes; i++) {
		const struct ss_xplane *x = h->planes[i].x;
		bool core = h->planes[i].kind == SS_PLANE_TENSOR_CORE;
		for (uint32_t k = 0; !found && k < x->nevent_meta; k++) {
			struct ss_comm_op op;
			struct ss_str name = x->event_meta[k].name;
			found = ranges && ss_op_is_torch_collective(name);
			if (!found && kernels)
				found = ss_comm_of_kernel(name) != SS_COMM_NONE ||
					!ss_comm_op_read(&op, name, SS_STR(""), SS_STR(""), &texts) ||
					(op.kind != SS_COMM_NONE && !(core && is_transfer(op.kind)));
		}
	}
	ss_arena_release(&texts);
	return found;
}

static bool has_collectives(const struct ss_host *h)
{
	return names_collectives(h, false);
}

/* A program of one process calls no collectives: its rank, and waiting for others, are not zero but unknown. */
static bool has_ranks(const struct ss_host *h)
{
	return names_collectives(h, true);
}

static bool has_async(const struct ss_host *h)
{
	static const struct ss_str words[] = { SS_STR_INIT("-start"), SS_STR_INIT("-done"), SS_STR_INIT("send"),
					       SS_STR_INIT("recv") };
	for (uint32_t i = 0; i < h->nplanes; i++) {
		const struct ss_plane *p = &h->planes[i];
		bool core = p->kind == SS_PLANE_TENSOR_CORE || p->kind == SS_PLANE_SPARSE_CORE;
		if (core && ss_plane_has_events_of(p, SS_STR("Async XLA Ops"), 1))
			return true;
		for (uint32_t k = 0; core && k < p->x->nevent_meta; k++)
			for (size_t n = 0; n < SS_COUNT(words); n++)
				if (ss_str_contains(p->x->event_meta[k].name, words[n]))
					return true;
	}
	return false;
}

/* Lines of a plane with counters are theirs, but for those of a TPU's own. */
static bool has_times(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++) {
		const struct ss_plane *p = &h->planes[i];
		if (ss_xplane_has(p->x, SS_STAT_COUNTER_VALUE) ? ss_plane_has_events_of(p, SS_STR("XLA Modules"), 1) ||
								 ss_plane_has_events_of(p, SS_STR("XLA Ops"), 1) ||
								 ss_plane_has_events_of(p, SS_STR("Steps"), 1)
							       : ss_plane_has_events(p))
			return true;
	}
	return false;
}

static bool marks_two_steps(const struct ss_host *h)
{
	return ss_host_marks_steps(h, 2);
}

static bool marks_steps(const struct ss_host *h)
{
	return ss_host_marks_steps(h, 1);
}

unsigned ss_host_meets(const struct ss_host *h, unsigned needs)
{
	static const struct {
		enum ss_needs need;
		bool (*met)(const struct ss_host *h);
	} checks[] = {
		{ SS_NEEDS_PROGRAMS, ss_host_runs_programs },
		{ SS_NEEDS_OPS, has_ops },
		{ SS_NEEDS_HLO_OPS, has_hlo_ops },
		{ SS_NEEDS_PATHS, has_paths },
		{ SS_NEEDS_ALLOCATIONS, ss_host_has_allocations },
		{ SS_NEEDS_COLLECTIVES, has_collectives },
		{ SS_NEEDS_FRAMEWORK_OPS, has_framework_ops },
		{ SS_NEEDS_OPERATORS, has_operators },
		{ SS_NEEDS_CALLS, has_calls },
		{ SS_NEEDS_KERNELS, has_kernels },
		{ SS_NEEDS_COPIES, has_copies },
		{ SS_NEEDS_DEVICE_WORK, has_device_work },
		{ SS_NEEDS_STEPS, marks_steps },
		{ SS_NEEDS_TWO_STEPS, marks_two_steps },
		{ SS_NEEDS_HLO, ss_module_present },
		{ SS_NEEDS_RANKS, has_ranks },
		{ SS_NEEDS_ASYNC, has_async },
		{ SS_NEEDS_TIMES, has_times },
	};
	unsigned met = 0;
	for (size_t i = 0; i < SS_COUNT(checks); i++)
		if (needs & checks[i].need && checks[i].met(h))
			met |= checks[i].need;
	return met;
}
