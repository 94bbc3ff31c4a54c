/*
 * config.h - the settings of the compiler's back ends for an instruction: the JSON in its
 * backend_config.
 */
#ifndef SS_HLO_CONFIG_H
#define SS_HLO_CONFIG_H

#include "base/buf.h"

/* The backend_config of an instruction's proto, "" if it has none. */
struct ss_str ss_hlo_backend_config(struct ss_str instr_body);

/* The config as XProf shows it: without an empty member that compilers for GPUs write and no program reads. */
void ss_hlo_backend_config_print(struct ss_buf *b, struct ss_str config);

/*
 * The greatest piece of scratch memory in this memory space that the instruction keeps for itself
 * while it runs (used_scoped_memory_configs of TPU programs), in bytes; 0 if there is none.
 */
int64_t ss_hlo_scoped_bytes(struct ss_str backend_config, int64_t memory_space);

/*
 * The program inside of a custom call (a Pallas or Mosaic kernel): custom_call_config.body, which
 * is MLIR between quotes, or base64 of it. SS_ENODATA where there is none, or where it is MLIR's
 * binary form, which has no text.
 */
bool ss_hlo_custom_call_body(struct ss_str backend_config, struct ss_buf *out, struct ss_err *err);

#endif
