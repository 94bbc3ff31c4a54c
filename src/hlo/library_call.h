/*
 * library_call.h - settings of calls of NVIDIA's libraries (matrix products of cuBLASLt, convolutions
 * of cuDNN): the part of their backend config that changes their result and their algorithm.
 */
#ifndef SS_HLO_LIBRARY_CALL_H
#define SS_HLO_LIBRARY_CALL_H

#include "base/buf.h"
#include "hlo/hlo.h"

/*
 * "name=value", one per line: scale factors other than 1, contracted dimensions, operations on the
 * result, the chosen algorithm. Nothing for other instructions, and where the config cannot be read.
 * False when memory is out.
 */
bool ss_hlo_library_settings(struct ss_buf *b, const struct ss_hlo_instr *i, struct ss_str backend_config);

#endif
