/*
 * config.h - what the compiler's back ends say about an instruction: the JSON in its backend_config.
 */
#ifndef SS_HLO_CONFIG_H
#define SS_HLO_CONFIG_H

#include "base/str.h"

/* The backend_config of an instruction's proto, "" if it has none. */
struct ss_str ss_hlo_backend_config(struct ss_str instr_body);

/*
 * The greatest piece of scratch memory in this memory space that the instruction keeps for itself while it runs
 * (used_scoped_memory_configs of TPU programs), in bytes; 0 if there is none.
 */
int64_t ss_hlo_scoped_bytes(struct ss_str backend_config, int64_t memory_space);

#endif
