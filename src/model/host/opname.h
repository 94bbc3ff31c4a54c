/*
 * opname.h - parsing the names of operations.
 *
 * Frameworks write an operation as "<name>:<type>", where the name is a path of scopes:
 * "model/dense/MatMul:MatMul". Compilers write the same into HLO metadata, JAX with a primitive as
 * the type. Everything here borrows from the string it was given.
 */
#ifndef SS_MODEL_HOST_OPNAME_H
#define SS_MODEL_HOST_OPNAME_H

#include "base/str.h"

enum ss_op_category {
	SS_OP_UNKNOWN = 0,
	SS_OP_TENSORFLOW,
	SS_OP_JAX,
	SS_OP_TFDATA,
	SS_OP_MEMCPY_HTOD,
	SS_OP_MEMCPY_DTOH,
	SS_OP_MEMCPY_DTOD,
	SS_OP_MEMCPY_HTOH,
};

struct ss_op_name {
	enum ss_op_category category;
	struct ss_str name;	/* before the colon; the whole string for unknown, tf.data and copies */
	struct ss_str type;	/* "MatMul", "dot_general", "Dataset", "MemcpyHToD"; "" when unknown */
};

struct ss_op_name ss_op_name_parse(struct ss_str full);

/*
 * The name on a timeline: the type, or an unknown name without the spaces at its end. The caller makes
 * "Iterator::<last>".
 */
struct ss_str ss_op_label(const struct ss_op_name *op);

/*
 * The scopes of a name, outermost first: every component but the last.
 *
 *	struct ss_str rest = op.name, scope;
 *	while (ss_op_scope_next(&rest, &scope)) ...
 *
 * Afterwards `rest` is the last component.
 */
bool ss_op_scope_next(struct ss_str *rest, struct ss_str *scope);
/* All components, the last included; false after it. *rest = { NULL, 0 } is the end. */
bool ss_path_next(struct ss_str *rest, struct ss_str *component);

static inline bool ss_op_is_infeed_enqueue(struct ss_str type)
{
	return ss_str_starts(type, SS_STR("InfeedEnqueue"));
}

static inline bool ss_op_is_dataset(struct ss_str type)
{
	return ss_str_eq(type, SS_STR("Dataset"));
}

static inline bool ss_op_is_memcpy(enum ss_op_category c)
{
	return c >= SS_OP_MEMCPY_HTOD && c <= SS_OP_MEMCPY_HTOH;
}

/* Was the operation computed again to save memory? `text` is the HLO instruction, `framework_name` its provenance. */
bool ss_op_is_remat(struct ss_str text, struct ss_str framework_name);

/*
 * Does the name of an operation say that it computes gradients? In names of JAX, and names without
 * a type, a component "transpose(..." says so; in all others a scope "gradient_tape..." or
 * "gradients...".
 */
bool ss_op_is_gradient(struct ss_str name, struct ss_str type);

/* Of torch.distributed: an operator, "c10d::allreduce_", or a range with the backend before the colon, "nccl:all_reduce". */
bool ss_op_is_torch_collective(struct ss_str full);

/* HLO categories. */
bool ss_hlo_may_have_inner_ops(struct ss_str category);	/* its time is the time of the ops inside */
bool ss_hlo_is_infeed_or_outfeed(struct ss_str category);
/*
 * The start or the end of an asynchronous operation: the cost model counts the bytes of the whole for both, and they move between
 * the two. Divided by the time of either they are no rate: a copy's start that takes 2 ns would reach a million times the peak.
 */
bool ss_hlo_is_async_part(struct ss_str category);
bool ss_hlo_is_off_duty(struct ss_str category);	/* the core waits for another core or the host */

#endif
