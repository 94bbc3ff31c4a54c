/*
 * roofline.h - how fast an operation ran, and which limit of the device it comes closest to
 * (docs/tools/roofline_model.md).
 */
#ifndef SS_MODEL_OPS_ROOFLINE_H
#define SS_MODEL_OPS_ROOFLINE_H

#include "model/device/env.h"
#include "model/ops/ops.h"

struct ss_roofline {
	double flop_rate, model_flop_rate; /* GFLOP/s */
	double memory_bw;		   /* all bytes, GiB/s */
	double hbm_bw, cmem_read_bw, cmem_write_bw, vmem_read_bw, vmem_write_bw; /* GiB/s */
	/* FLOP per byte; 0 where no bytes are moved. */
	double intensity, hbm_intensity, cmem_read_intensity, cmem_write_intensity,
		vmem_read_intensity, vmem_write_intensity;
	double bound_intensity; /* against the bytes of the limit it is bound by */
	double bound_util;	/* share of that limit that was reached, 0..1 */
	double max_memory_util; /* largest share of any memory's bandwidth */
	struct ss_str bound_by; /* "Compute", "HBM", "CMEM Read" ..., "Shm/L1", "Unknown" */
};

/*
 * `normalized_ps`: time at nominal clock, for memories on the chip; 0: as time_ps.
 */
struct ss_roofline ss_roofline_of(const struct ss_cost *cost, uint64_t time_ps,
				  uint64_t normalized_ps, const struct ss_peaks *peaks,
				  enum ss_hardware hw);

/* Of infeed, outfeed and the parts of an asynchronous operation it is known that they do not compute. */
bool ss_op_work_is_known(const struct ss_op *op);

/* 0 where there is nothing to divide by; to XProf that is less than 1e-10. */
static inline double ss_ratio(double a, double b)
{
	return b < 1e-10 && b > -1e-10 ? 0 : a / b;
}

#endif
