/*
 * gpu_coster.h - shared parts of the GPU cost model: gpu_cost.c (bytes, and the public functions),
 * gpu_flops.c (work of single instructions), gpu_fusion.c (fusions).
 */
#ifndef SS_MODEL_PROGRAM_GPU_COSTER_H
#define SS_MODEL_PROGRAM_GPU_COSTER_H

#include "base/vec.h"
#include "hlo/shape.h"
#include "model/program/gpu_cost.h"
#include "model/program/hlo_op.h"

/*
 * Bytes as XLA keeps them: for each operand, for a result that is an array, and for each array of a
 * result that is a tuple. For a computation, XLA adds up the bytes at the same place of all its
 * instructions, and uses the sums for the calling instruction, as far as that has such places.
 */
struct ss_gpu_split {
	SS_VEC(float) operands;
	SS_VEC(float) results;
	float result;
	bool no_memory;
};

/* Bytes moved by one execution. `bytes` counts what XLA counts; read and write are exact. */
struct ss_gpu_bytes {
	float bytes;
	uint64_t read, write;
	struct ss_gpu_split *split; /* where to add them up as well, or NULL */
};

/* A fusion: of its computation, how much of what each parameter holds is read. */
struct ss_gpu_fusion {
	float flops;
	float *param_use; /* by parameter number; 0 for those not used */
	uint32_t nparams;
	bool known;
};

#define SS_GPU_MAX_DEPTH 64 /* of computations that call each other */

struct ss_gpu_coster {
	const struct ss_hlo_module *m;
	bool once; /* gpu_cost.h */
	float *flops, *bytes; /* per computation: of one execution, where known */
	bool *has_flops, *has_bytes;
	struct ss_gpu_split *splits;   /* per computation, with its bytes */
	bool *reached;		       /* per instruction: it has a cost at all */
	bool *busy;		       /* being computed; a cycle costs nothing */
	struct ss_gpu_fusion *fusions; /* per computation */
	unsigned depth;
	bool no_memory;
};

/* An instruction with what is asked of it most. */
struct ss_gpu_instr {
	struct ss_hlo_instr in;
	uint64_t type;	/* element type of the result */
	float elements; /* of the result; of a tuple 0 */
};

void ss_gpu_instr_read(const struct ss_gpu_coster *c, uint32_t instr, struct ss_gpu_instr *out);
/* Index of operand `k`, SS_NONE if there is none. */
uint32_t ss_gpu_operand(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in, uint32_t k);
uint32_t ss_gpu_operand_count(const struct ss_hlo_instr *in);
/* Shape of an instruction by index; empty for SS_NONE. */
struct ss_str ss_gpu_shape(const struct ss_gpu_coster *c, uint32_t instr);
/* The k-th computation that an instruction calls, SS_NONE if there is none. */
uint32_t ss_gpu_called(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in, uint32_t k);

/* Find the instructions that have a cost; `reached` is zeroed and has one entry for each instruction. False: out of memory. */
bool ss_gpu_reach(const struct ss_gpu_coster *c, bool *reached);

/* Elements of an array, or of all arrays of a tuple. */
float ss_gpu_elements(struct ss_str shape);
/* A shape; of a tuple its first element. */
struct ss_str ss_gpu_first_array(struct ss_str shape);
/* Size of dimension `d`, 0 if there is none. */
int64_t ss_gpu_dim(struct ss_str shape, int64_t d);

/* The k-th number of a repeated field of a message, -1 if there is none. */
int64_t ss_gpu_nth(struct ss_str body, uint32_t number, int64_t k);

/*
 * The gather or scatter that stands for a whole custom fusion, SS_NONE for any other instruction.
 */
uint32_t ss_gpu_custom_part(const struct ss_gpu_coster *c, const struct ss_hlo_instr *fusion);

/* gpu_ranks.c: devices in the largest group of a collective, whose message `body` is; none named: 1. */
uint64_t ss_gpu_ranks(struct ss_str body);
/*
 * The reduce-scatter that an async-start begins, SS_NONE if it begins anything else: of others XLA
 * counts nothing.
 */
uint32_t ss_gpu_begun(const struct ss_gpu_coster *c, const struct ss_hlo_instr *start);

/* Floating point operations of one instruction. */
float ss_gpu_flops(struct ss_gpu_coster *c, uint32_t instr);
/* The fusion that is `computation`; NULL when memory is out. */
const struct ss_gpu_fusion *ss_gpu_fusion_of(struct ss_gpu_coster *c, uint32_t computation);

/*
 * Does XLA's fusion pass count it as elementwise: each element of the result needs that of the
 * operands alone?
 */
bool ss_gpu_is_elementwise(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in);

#endif
