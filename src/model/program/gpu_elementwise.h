/*
 * gpu_elementwise.h - floating point operations per element of elementwise instructions on GPUs.
 */
#ifndef SS_MODEL_PROGRAM_GPU_ELEMENTWISE_H
#define SS_MODEL_PROGRAM_GPU_ELEMENTWISE_H

#include "base/str.h"

/* `type`: element type of the result, enum ss_hlo_type. */
float ss_gpu_elementwise_flops(uint64_t type, struct ss_str opcode);

#endif
