/*
 * tpu_regs.h - names of the counters in tpu_counters.def. Shared by tpu_counters.c and tpu_use.c
 * only.
 */
#ifndef SS_MODEL_COUNTERS_TPU_REGS_H
#define SS_MODEL_COUNTERS_TPU_REGS_H

#include "model/counters/tpu_counters.h"

enum ss_tpu_unit {
	SS_TPU_UNIT_TC,	/* TensorCore */
	SS_TPU_UNIT_PWRMGR,	/* power manager */
	SS_TPU_UNIT_HBM,	/* memory controller */
	SS_TPU_UNIT_SCS,	/* sequencer of a SparseCore */
	SS_TPU_UNIT_TILE,	/* control and scalar unit of a SparseCore tile */
	SS_TPU_UNIT_TILEV,	/* vector unit of a SparseCore tile */
	SS_TPU_UNIT_ICR,	/* router of the interconnect between chips */
};

enum ss_tpu_counter {
#define COUNTER(kind, name, copies, v6e, v7x, doc) SS_CTR_##name,
#include "model/counters/tpu_counters.def"
#undef COUNTER
	SS_CTR_COUNT
};

#define SS_NO_OFFSET UINT32_MAX

struct ss_tpu_place {
	uint32_t die, group, member;
};

/* The id of one copy of a counter; false if the chip has no such place or counter. */
bool ss_tpu_counter_id(enum ss_tpu_chip chip, enum ss_tpu_counter counter, struct ss_tpu_place at, uint32_t copy, uint64_t *id);
uint32_t ss_tpu_counter_copies(enum ss_tpu_counter counter);

#endif
