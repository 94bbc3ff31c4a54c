/*
 * tiling.h - how the tensors of an operation fill the tiles they are stored in.
 *
 * TPUs store a tensor in tiles; the compiler says so in the tensor's layout, f32[16,3]{1,0:T(8,128)}:
 * the last number of the tile belongs to the dimension that is contiguous (minor), the one before it
 * to the next. A dimension is padded to a multiple of its tile: 3 of 128 is what a feature size of 3
 * costs. Read off the operation's text, since that is all a trace has.
 */
#ifndef SS_MODEL_PROGRAM_TILING_H
#define SS_MODEL_PROGRAM_TILING_H

#include "base/arena.h"

#define SS_TILED_DIMS 16

struct ss_tiled {
	struct ss_str type;	/* "f32" */
	bool is_result;
	uint32_t number;	/* among the results or the operands, from 0 */
	bool has_tile;		/* otherwise padded == size: nothing is known */
	uint32_t ndims;		/* minor dimension first */
	uint64_t size[SS_TILED_DIMS], padded[SS_TILED_DIMS];
};

/* Reads the tensors of "%name = result opcode(operands), attributes" one by one. */
struct ss_tiling {
	struct ss_str rest;
	bool in_operands, tuple_result;
	uint32_t depth, nresults, noperands;
};

struct ss_tiling ss_tiling_of(struct ss_str expression);
/* The next tensor that has dimensions; false when there is none. What is malformed is passed over. */
bool ss_tiling_next(struct ss_tiling *t, struct ss_tiled *out);

/* Bytes of the elements, without padding; 0 for types whose size their name does not tell. */
uint64_t ss_tiled_bytes(const struct ss_tiled *t);

/*
 * All tiled tensors of an operation as a text, minor dimension first, size of padded size:
 * "result f32 3/128 16/16; operand 1 bf16 64/128". "" when none is tiled; p is NULL when memory is
 * out. *filled_frac: elements / elements with padding of the tensor that fills its tiles least; NaN
 * without one.
 */
struct ss_str ss_tiling_text(struct ss_str expression, struct ss_arena *arena, double *filled_frac);

#endif
