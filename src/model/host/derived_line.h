/* derived_line.h - the ids of the lines that preprocessing and the timeline derive. */
#ifndef SS_MODEL_HOST_DERIVED_LINE_H
#define SS_MODEL_HOST_DERIVED_LINE_H

#include <stdbool.h>
#include <stdint.h>

/* Derived line ids: their low 32 bits lie in [SS_DERIVED_BASE, SS_DERIVED_BASE + 289]. */
#define SS_DERIVED_BASE 0xdeadbeefu
enum ss_derived_line {
	SS_DERIVED_STEPS = 0,
	SS_DERIVED_LAUNCH_STATS = 1,
	SS_DERIVED_NAME_SCOPE = 2,
	SS_DERIVED_FRAMEWORK_OP = 3,
	SS_DERIVED_HLO_MODULE = 4,
	SS_DERIVED_HLO_OP = 5,
	SS_DERIVED_OVERHEAD = 6,
	SS_DERIVED_SOURCE = 7,
	SS_DERIVED_HOST_OFFLOAD = 8,	/* .. 48 */
	SS_DERIVED_HOST_XLA = 49,	/* .. 289 */
	SS_DERIVED_COUNT = 290,
};

static inline bool ss_line_id_is_derived(int64_t id)
{
	return (uint32_t)((uint64_t)id & UINT32_MAX) - SS_DERIVED_BASE < SS_DERIVED_COUNT;
}

#endif
