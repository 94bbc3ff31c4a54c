/* cost.c - see cost.h. */
#include "model/program/cost.h"

void ss_cost_add(struct ss_cost *to, const struct ss_cost *from, uint64_t times)
{
	to->flops += from->flops * (double)times;
	to->model_flops += from->model_flops * (double)times;
	to->bytes += from->bytes * times;
	for (int i = 0; i < SS_MEM_COUNT; i++)
		to->mem[i] += from->mem[i] * times;
	to->has_mem |= from->has_mem;
}

void ss_cost_subtract(struct ss_cost *from, const struct ss_cost *part)
{
	from->flops -= part->flops;
	from->model_flops -= part->model_flops;
	from->bytes -= part->bytes;
	for (int i = 0; i < SS_MEM_COUNT; i++)
		from->mem[i] -= part->mem[i];
}

bool ss_cost_is_known(const struct ss_cost *c)
{
	for (int i = 0; i < SS_MEM_COUNT; i++)
		if (c->mem[i])
			return true;
	return c->flops > 0 || c->model_flops > 0 || c->bytes;
}

uint64_t ss_cost_hbm_bytes(const struct ss_cost *c)
{
	if (!c->has_mem)
		return c->bytes;
	return c->mem[SS_MEM_HBM_READ] + c->mem[SS_MEM_HBM_WRITE] + c->mem[SS_MEM_HBM_UNKNOWN];
}
