/*
 * op_programs.h - the hosts whose files carry the programs of some operations: of a model whose
 * hosts are open those, of one whose hosts are visited the first ones that name each program.
 */
#ifndef SS_MODEL_OPS_OP_PROGRAMS_H
#define SS_MODEL_OPS_OP_PROGRAMS_H

#include "base/err.h"
#include "model/ops/ops.h"

struct ss_host;
struct ss_model;

struct ss_op_programs {
	struct ss_host *const *hosts;
	size_t n;
	struct ss_host **opened; /* those that were opened for it; NULL: they are the model's */
};

/* Pointers into programs are valid until the programs are closed. Close it in either case. */
bool ss_op_programs_open(struct ss_op_programs *p, const struct ss_model *m, const struct ss_op_db *db, struct ss_err *err);
void ss_op_programs_close(struct ss_op_programs *p);

#endif
