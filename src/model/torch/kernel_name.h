/*
 * kernel_name.h - reads number formats and the use of tensor cores from the name of a kernel or an
 * operator.
 *
 * Nothing but the name tells them. Names of new libraries may not be recognised: then the format is
 * "other", and no tensor core is assumed.
 */
#ifndef SS_MODEL_TORCH_KERNEL_NAME_H
#define SS_MODEL_TORCH_KERNEL_NAME_H

#include "base/str.h"

/* Does a kernel of this name use tensor cores (AMD: matrix cores)? */
bool ss_torch_uses_tensor_core(struct ss_str kernel);
/* "fp8", "bf16", "fp16", "tf32", "fp32", or "other". */
const char *ss_torch_precision(struct ss_str kernel);
/* Could PyTorch's operator of this name use them, given 16-bit inputs? */
bool ss_torch_could_use_tensor_core(struct ss_str op);

#endif
