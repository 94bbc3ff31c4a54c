/* roofline.c - rates, intensities, and the limit that an operation is bound by. */
#include "model/ops/roofline.h"

#include "model/host/opname.h"

static double gib_per_s(uint64_t bytes, uint64_t time_ps)
{
	return ss_giga_to_gibi(ss_ratio((double)bytes, (double)time_ps / 1000));
}

/* A limit that the operation may be bound by: the first of equals wins. */
static void consider(struct ss_roofline *r, const char *name, double util, double intensity,
		     bool memory)
{
	if (memory && util > r->max_memory_util)
		r->max_memory_util = util;
	if (!(util > r->bound_util))
		return;
	r->bound_util = util;
	r->bound_by = ss_str_from(name);
	r->bound_intensity = intensity;
}

static void consider_memory(struct ss_roofline *r, const char *name, double bw,
			    double peak_gb_per_s, double intensity)
{
	if (bw > 0 && peak_gb_per_s > 0)
		consider(r, name, bw / ss_giga_to_gibi(peak_gb_per_s), intensity, true);
}

static void measure(struct ss_roofline *r, const struct ss_cost *c, uint64_t time_ps,
		    uint64_t chip_ps)
{
	double ns = (double)time_ps / 1000;
	uint64_t hbm = ss_cost_hbm_bytes(c);
	r->flop_rate = ss_ratio(c->flops, ns);
	r->model_flop_rate = ss_ratio(c->model_flops, ns);
	r->memory_bw = gib_per_s(c->bytes, time_ps);
	r->hbm_bw = gib_per_s(hbm, time_ps);
	r->cmem_read_bw = gib_per_s(c->mem[SS_MEM_CMEM_READ], chip_ps);
	r->cmem_write_bw = gib_per_s(c->mem[SS_MEM_CMEM_WRITE], chip_ps);
	r->vmem_read_bw = gib_per_s(c->mem[SS_MEM_VMEM_READ], chip_ps);
	r->vmem_write_bw = gib_per_s(c->mem[SS_MEM_VMEM_WRITE], chip_ps);
	r->intensity = ss_ratio(c->flops, (double)c->bytes);
	r->hbm_intensity = ss_ratio(c->flops, (double)hbm);
	r->cmem_read_intensity = ss_ratio(c->flops, (double)c->mem[SS_MEM_CMEM_READ]);
	r->cmem_write_intensity = ss_ratio(c->flops, (double)c->mem[SS_MEM_CMEM_WRITE]);
	r->vmem_read_intensity = ss_ratio(c->flops, (double)c->mem[SS_MEM_VMEM_READ]);
	r->vmem_write_intensity = ss_ratio(c->flops, (double)c->mem[SS_MEM_VMEM_WRITE]);
}

struct ss_roofline ss_roofline_of(const struct ss_cost *cost, uint64_t time_ps,
				  uint64_t normalized_ps, const struct ss_peaks *peaks,
				  enum ss_hardware hw)
{
	struct ss_roofline r = { .bound_by = SS_STR("Unknown") };
	const double *bw = peaks->bw_gb_per_s;
	measure(&r, cost, time_ps, normalized_ps ? normalized_ps : time_ps);
	consider(&r, "Compute", ss_ratio(r.flop_rate, peaks->tflops * 1000), r.intensity, false);
	consider_memory(&r, "HBM", r.hbm_bw, bw[SS_BW_HBM], r.hbm_intensity);
	if (hw == SS_HW_TPU) {
		consider_memory(&r, "CMEM Read", r.cmem_read_bw, bw[SS_BW_CMEM_RD],
				r.cmem_read_intensity);
		consider_memory(&r, "CMEM Write", r.cmem_write_bw, bw[SS_BW_CMEM_WR],
				r.cmem_write_intensity);
		consider_memory(&r, "VMEM Read", r.vmem_read_bw, bw[SS_BW_VMEM_RD],
				r.vmem_read_intensity);
		consider_memory(&r, "VMEM Write", r.vmem_write_bw, bw[SS_BW_VMEM_WR],
				r.vmem_write_intensity);
	} else if (hw == SS_HW_GPU) {
		consider_memory(&r, "Shm/L1", r.hbm_bw, bw[SS_BW_SRAM_WR], r.hbm_intensity);
	}
	return r;
}

bool ss_op_work_is_known(const struct ss_op *op)
{
	return ss_cost_is_known(&op->cost) || ss_hlo_is_infeed_or_outfeed(op->category) || ss_hlo_is_async_part(op->category);
}
