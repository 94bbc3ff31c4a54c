/*
 * framework_ops.h - device operations summed up by the framework op that they come from
 * (docs/tools/framework_op_stats.md).
 */
#ifndef SS_MODEL_OPS_FRAMEWORK_OPS_H
#define SS_MODEL_OPS_FRAMEWORK_OPS_H

#include "model/ops/ops.h"

/*
 * Fill `out` with one op per framework op: name and type (as its category) of the provenance; ops
 * without one stand for themselves, of type "Unknown". Occurrences are the most of any of its ops.
 * `idle`: keep IDLE. False when memory is out.
 */
bool ss_framework_ops(struct ss_op_db *out, const struct ss_op_db *device, bool idle);

/* Pointers to all ops by self time descending, then name; in `arena`, NULL when memory is out. */
const struct ss_op **ss_ops_by_self_time(const struct ss_op_db *db, struct ss_arena *arena);

/* Figures of the kernels of a framework op. */
struct ss_tensor_core_use {
	uint64_t total_ns, tensor_core_ns;
	bool is_eligible; /* some kernel of the op */
};

struct ss_tensor_core_uses {
	struct ss_tensor_core_use *v;
	struct ss_strmap by_op;
};

bool ss_tensor_core_uses(struct ss_tensor_core_uses *out, const struct ss_kernels *kernels);
/* NULL: the op has no kernels. */
const struct ss_tensor_core_use *ss_tensor_core_use_of(const struct ss_tensor_core_uses *u,
						       struct ss_str op_name);
void ss_tensor_core_uses_free(struct ss_tensor_core_uses *u);

#endif
