/*
 * cxx_name.h - short forms of the names of GPU kernels and C++ functions, for people.
 *
 *	void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, ...>(int, ...)
 *		vectorized_elementwise_kernel<CUDAFunctor_add<BF16>, …>
 *	_ZN7cutlass6KernelINS_4gemm...			Kernel<gemm, …>
 *	Cijk_Ailk_Bljk_BBS_BH_MT256x224x64_MI16x16...	Cijk_Ailk_Bljk_BBS_BH_MT256x224x64
 *
 * Return type, namespaces, parameters and numbers among the template arguments are left out; types
 * of elements get the names of the field. Two kernels may share a short form, so it is not a key.
 * Show the full name on demand.
 */
#ifndef SS_BASE_CXX_NAME_H
#define SS_BASE_CXX_NAME_H

#include "base/arena.h"

/* In the arena, or a part of `name`; at most 96 bytes. `name` itself if nothing can be left out, or if memory is
 * out. */
struct ss_str ss_cxx_short_name(struct ss_str name, struct ss_arena *arena);

#endif
