/*
 * sparse_ops.h - what SparseCores ran for operations of TensorCores
 * (docs/tools/hlo_stats.md).
 *
 * An operation that hands work over carries two stats, and so does the SparseCore's module that
 * does it: offload_core_id and tc_offload_start_id. The operations inside of such modules are the
 * children of that operation.
 */
#ifndef SS_MODEL_OPS_SPARSE_OPS_H
#define SS_MODEL_OPS_SPARSE_OPS_H

#include "model/ops/ops.h"

struct ss_host;

struct ss_sparse_ops {
	struct ss_sparse_db *v;
	size_t n, cap;
	struct ss_u64map by_key; /* hash of both ids to index; clashes step on by one */
};

/* All SparseCores of a host. Free with ss_sparse_ops_free, whatever is returned. */
bool ss_sparse_ops_read(struct ss_sparse_ops *out, const struct ss_host *h, struct ss_err *err);
/*
 * The operations that were offloaded under these ids, with IDLE: the rest of the time of its modules.
 * NULL: there are none.
 */
const struct ss_op_db *ss_sparse_ops_find(const struct ss_sparse_ops *s, uint64_t core, uint64_t start);
void ss_sparse_ops_free(struct ss_sparse_ops *s);

#endif
