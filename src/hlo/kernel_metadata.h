/* kernel_metadata.h - the metadata for profilers that the author of a custom kernel wrote into its HLO instruction. */
#ifndef SS_HLO_KERNEL_METADATA_H
#define SS_HLO_KERNEL_METADATA_H

#include "base/arena.h"

/*
 * From an instruction's text, `... custom-call(...), custom_call_target="t", frontend_attributes={
 * kernel_metadata={"xprof_metadata":"{...}"}}`: the JSON that xprof_metadata is or holds as a string,
 * without blanks. Empty where there is none; p is NULL when memory is out.
 */
struct ss_str ss_hlo_kernel_metadata(struct ss_str text, struct ss_arena *arena);

#endif
