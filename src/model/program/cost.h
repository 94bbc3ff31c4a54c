/*
 * cost.h - what executing an operation costs: work, and bytes moved by memory space.
 */
#ifndef SS_MODEL_PROGRAM_COST_H
#define SS_MODEL_PROGRAM_COST_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes moved, by memory space and direction. */
enum ss_mem {
	SS_MEM_HBM_READ,
	SS_MEM_HBM_WRITE,
	SS_MEM_CMEM_READ,
	SS_MEM_CMEM_WRITE,
	SS_MEM_VMEM_READ,
	SS_MEM_VMEM_WRITE,
	SS_MEM_OTHER_READ,
	SS_MEM_OTHER_WRITE,
	SS_MEM_HBM_UNKNOWN, /* neither read nor written, by what the profile says */
	SS_MEM_COUNT
};

/* Costs of one execution, or of all of them. */
struct ss_cost {
	double flops;	    /* as the device does them: normalized to its widest type */
	double model_flops; /* as the model asks for them */
	uint64_t bytes;
	uint64_t mem[SS_MEM_COUNT];
	bool has_mem; /* the split by memory is known; otherwise all bytes count as HBM */
};

void ss_cost_add(struct ss_cost *to, const struct ss_cost *from, uint64_t times);
/* Take out `part`, which was added before. */
void ss_cost_subtract(struct ss_cost *from, const struct ss_cost *part);
/* Is anything known of the work? What is not known is not zero. */
bool ss_cost_is_known(const struct ss_cost *c);
/* Bytes of HBM: those of the split, or all where there is none. */
uint64_t ss_cost_hbm_bytes(const struct ss_cost *c);

#endif
