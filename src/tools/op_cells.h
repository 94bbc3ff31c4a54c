/*
 * op_cells.h - cells that several tables of HLO operations share.
 */
#ifndef SS_TOOLS_OP_CELLS_H
#define SS_TOOLS_OP_CELLS_H

#include "model/ops/ops.h"

/*
 * The source of the operation as XProf prints it: an element with file and line, and the stack on
 * hovering; "" where it is unknown. Lives in `arena`; p is NULL when memory is out.
 */
struct ss_str ss_source_cell(const struct ss_op *op, struct ss_arena *arena);
/* A program's number in decimal. */
struct ss_str ss_program_cell(const struct ss_op *op, struct ss_arena *arena);
/* The instruction's name: what stands before " = " in its text, without the percent sign. */
struct ss_str ss_instruction_name(struct ss_str expression);
/* Does the operation talk to the host from outside of what XLA compiled? */
bool ss_op_is_outside_compilation(const struct ss_op *op);
/*
 * Are there kernels without an operation? They run in the time that is IDLE by XProf's definition.
 */
bool ss_has_kernels_alone(const struct ss_kernels *k);

#endif
