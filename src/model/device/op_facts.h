/*
 * op_facts.h - what the metadata of a TPU event says
 * about its operation.
 */
#ifndef SS_MODEL_DEVICE_OP_FACTS_H
#define SS_MODEL_DEVICE_OP_FACTS_H

#include "base/str.h"
#include "model/program/cost.h"

struct ss_xplane;

struct ss_op_facts {
	struct ss_str name, long_name;
	struct ss_str category, provenance, dedup_name, source_file, source_stack;
	int64_t source_line; /* 0: unknown */
	uint64_t program_id, symbol_id;
	struct ss_cost cost; /* of one execution */
};

/* False if the entry names no program or no symbol: then it is no operation. */
bool ss_op_facts_read(struct ss_op_facts *f, const struct ss_xplane *x, uint32_t meta);

#endif
