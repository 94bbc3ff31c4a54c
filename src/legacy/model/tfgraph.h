/*
 * tfgraph.h - a TensorFlow graph by name scopes, and what of it a TPU could run.
 *
 * The names of operations are paths: "train/gradients/mul" stands in the scope "train/gradients". An
 * operation that is a scope as well (it has others below its name) stands in that scope. Functions of
 * the graph's library stand in a scope of their own, SS_TF_LIBRARY; several traced programs in graph_1,
 * graph_2 ...
 *
 * An operation is judged by its name alone, as TensorBoard's graph dashboard does it: compatible if
 * tpu_ops.def has it. Not judged is what was placed by hand on a device that is no TPU (its device
 * names a CPU or GPU, or no TPU), what was placed on the TPU's system device, what has no operator, and
 * what stands in the library. TensorBoard counts operations that are not judged as compatible. Nothing
 * is compiled: this is an estimate.
 */
#ifndef SS_LEGACY_MODEL_TFGRAPH_H
#define SS_LEGACY_MODEL_TFGRAPH_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "legacy/files/graphdef.h"

struct ss_host;

#define SS_TF_LIBRARY "__function_library__"
/* Deeper parts of a name belong to the operation. */
#define SS_TF_DEPTH 64

enum ss_tf_verdict {
	SS_TF_COMPATIBLE, SS_TF_INCOMPATIBLE, SS_TF_PLACED, SS_TF_FUNCTION, SS_TF_UNTYPED, SS_TF_LAYER, SS_TF_VERDICTS
};

/* "compatible", "incompatible", "not judged: placed by hand" ... */
const char *ss_tf_verdict_name(enum ss_tf_verdict v);
/* Members of an operation outside of functions. */
enum ss_tf_verdict ss_tf_judge(struct ss_str op, struct ss_str device);
/* Does a TPU run operators of this name? */
bool ss_tf_op_on_tpu(struct ss_str op);

struct ss_tf_scope {
	struct ss_str name;	/* "" is the whole graph */
	uint32_t parent;	/* SS_NONE of the whole graph */
	uint32_t depth;
	/* Operations in it and below, by verdict. */
	uint32_t nops, n[SS_TF_VERDICTS];
};

struct ss_tf_op {
	struct ss_str name;	/* the whole of it */
	const struct ss_graph_node *node;
	uint32_t scope, label_at; /* its part in the scope, of the name */
	uint8_t verdict;	/* enum ss_tf_verdict */
	bool is_scope;		/* others stand below its name */
};

/* Its part in the scope, in parentheses if it is a scope as well; in `arena` then. p NULL when memory is out. */
struct ss_str ss_tf_op_label(const struct ss_tf_op *op, struct ss_arena *arena);

struct ss_tfgraph {
	struct ss_graphdef def;
	struct ss_tf_scope *scopes; /* depth first, siblings by name; [0] is the whole graph */
	uint32_t nscopes;
	struct ss_tf_op *ops;	/* by scope, then by label */
	uint32_t nops;
	uint32_t *first_op;	/* of each scope: ops[first_op[s] .. first_op[s + 1]) */
	struct ss_str *notes;	/* what could not be read, for the user */
	size_t nnotes;
	struct ss_str source;	/* "event file", "GraphDef" ... */
	bool keras;		/* layers, and no operations */
	const struct ss_file *file; /* whose bytes the nodes' bodies are */
	struct ss_arena arena;
};

/* The graph of a raw host. SS_ENODATA when its file holds none. */
const struct ss_tfgraph *ss_host_tfgraph(struct ss_host *h, struct ss_err *err);
/* The layers of the model of Keras that its file holds, in the same form; nothing of it is judged. */
const struct ss_tfgraph *ss_host_keras_graph(struct ss_host *h, struct ss_err *err);

/*
 * Give the file's pages back. A walk over inputs or attributes of many operations calls this after each
 * SS_TF_FORGET operations, because operations are in another order than the file.
 */
void ss_tfgraph_forget(const struct ss_tfgraph *g);
#define SS_TF_FORGET 4096

/* Scope or operation of this exact name, SS_NONE if there is none. */
uint32_t ss_tfgraph_find_scope(const struct ss_tfgraph *g, struct ss_str name);
uint32_t ss_tfgraph_find_op(const struct ss_tfgraph *g, struct ss_str name);

/* Compatible and not judged over all, as TensorBoard has it; NaN for an empty scope. */
double ss_tf_scope_compatible_frac(const struct ss_tf_scope *s);
/* Compatible over judged; NaN where nothing was judged. */
double ss_tf_scope_judged_frac(const struct ss_tf_scope *s);

#endif
