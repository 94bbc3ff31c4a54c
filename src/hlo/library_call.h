/*
 * library_call.h - what calls of NVIDIA's libraries (matrix products of cuBLASLt, convolutions of
 * cuDNN) are set to: the part of their backend config that changes what they compute, and how.
 */
#ifndef SS_HLO_LIBRARY_CALL_H
#define SS_HLO_LIBRARY_CALL_H

#include "base/buf.h"
#include "hlo/hlo.h"

/*
 * "name=value", a line each: scale factors that are not 1, contracted dimensions, what is done to
 * the result, the algorithm chosen. Nothing for other instructions, and where the config cannot be
 * read. False when memory is out.
 */
bool ss_hlo_library_settings(struct ss_buf *b, const struct ss_hlo_instr *i, struct ss_str backend_config);

#endif
