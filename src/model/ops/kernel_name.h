/*
 * kernel_name.h - kernels by a name that a person can read.
 *
 * C++ puts 200 characters of types into the name of a kernel: "void at::native::reduce_kernel<512, 1, ...>(...)" is
 * "native::reduce_kernel". Where the types are the name, as in cutlass::Kernel2<cutlass_80_..._gemm_...>, they stay.
 */
#ifndef SS_MODEL_OPS_KERNEL_NAME_H
#define SS_MODEL_OPS_KERNEL_NAME_H

#include "base/str.h"

/* A part of `full`, or all of it. */
struct ss_str ss_kernel_short_name(struct ss_str full);

#endif
