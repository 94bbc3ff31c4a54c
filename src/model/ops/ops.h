/*
 * ops.h - what each operation cost: of one host (SS_HOST_OPS) and of all hosts together
 * (SS_MODEL_OPS).
 *
 * Device operations are HLO instructions of TPU cores, kernels' instructions or framework ops of
 * GPUs; host operations are framework ops on threads of /host:CPU. CPU programs have no device
 * operations: what threads of XLA's CPU backend ran is apart (cpu). Formulae:
 * docs/model/ops.md.
 *
 * Everything lives as long as its host or model. Sizes grow with distinct operations and with
 * steps, never with events.
 */
#ifndef SS_MODEL_OPS_OPS_H
#define SS_MODEL_OPS_OPS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "model/program/cost.h"

struct ss_host;
struct ss_model;

enum ss_core_type { SS_CORE_UNSPECIFIED, SS_CORE_TENSOR, SS_CORE_SPARSE };

struct ss_op_db;

struct ss_op {
	uint64_t program_id; /* 0: host ops, framework ops, IDLE */
	struct ss_str name;
	struct ss_str long_name;  /* HLO text, "" if unknown */
	struct ss_str category;	  /* HLO category, or the type of a framework op */
	struct ss_str provenance; /* "<framework op>:<type>" */
	struct ss_str dedup_name; /* the op this one is a copy of, or "" */
	struct ss_str source_file, source_stack;
	int64_t source_line; /* -1: unknown */
	bool is_eager;
	bool one_scope; /* the provenance is a name, no path of scopes: an operator of PyTorch, an NVTX range */
	uint8_t core_type; /* enum ss_core_type */
	uint64_t occurrences;
	uint64_t time_ps, self_ps; /* self: without the time of ops inside it */
	uint64_t min_ps;	   /* shortest execution */
	uint64_t normalized_ps;	   /* time at nominal clock (TPU with DVFS); 0 on GPUs */
	uint64_t dma_stall_ps;
	struct ss_cost cost; /* of all executions */
	double vdd_energy_j;
	uint64_t estimated_flops, estimated_bytes;
	/* The operations that a SparseCore ran for this op, owned by the host; NULL: none. */
	const struct ss_op_db *offloaded;
};

struct ss_op_db {
	struct ss_op *v; /* in the order of first appearance */
	size_t n, cap;
	struct ss_u64map by_key; /* hash of (program_id, name) to index; clashes step on by one */
	uint64_t total_ps;	 /* IDLE included */
	uint64_t op_ps;		 /* sum of self times without IDLE */
	uint64_t normalized_op_ps;
	uint64_t
		infeed_enq_ps; /* host: durations of all InfeedEnqueue ops of a line but the last */
	uint64_t infeed_enq_period_ps;		     /* ... and from start to start */
};

/* One GPU kernel with one launch geometry, summed over its executions. */
struct ss_kernel {
	struct ss_str name;    /* of the kernel */
	struct ss_str op_name; /* framework op it belongs to, "" if unknown */
	uint32_t regs, static_shmem_bytes, dynamic_shmem_bytes;
	uint32_t block[3], grid[3];
	double occupancy_pct;
	bool uses_tensor_core, is_eligible; /* eligible: the op could run on tensor cores */
	uint64_t occurrences, total_ns, min_ns, max_ns;
};

struct ss_kernels {
	struct ss_kernel *v; /* total_ns descending, then by all the rest */
	size_t n;
};

struct ss_tpu_core; /* tpu.h: sums per step */
struct ss_sparse_ops; /* sparse_ops.h */

struct ss_host_ops {
	struct ss_op_db device, host;
	/* For a host whose GPUs ran CUDA graphs: `device` with the kernels of graphs assigned to their instructions. */
	struct ss_op_db resolved;
	uint64_t graph_ps, graph_known_ps; /* of kernels in graphs, and of those whose instruction is known */
	struct ss_op_db cpu; /* of a host without devices: instructions of compiled programs that its threads ran */
	struct ss_kernels kernels;
	struct ss_tpu_core *cores; /* TensorCores in the order of their planes */
	size_t ncores;
	struct ss_sparse_ops *sparse; /* NULL without SparseCores */
	struct ss_arena *arenas; /* per GPU: texts that are not in the file */
	size_t narenas;
};

const struct ss_host_ops *ss_host_ops(struct ss_host *h, struct ss_err *err);

/* All hosts together. Of one host alone: its own. */
struct ss_ops {
	struct ss_op_db device, host, cpu;
	struct ss_op_db resolved; /* of all hosts, where one ran CUDA graphs; else empty */
	uint64_t graph_ps, graph_known_ps;
	struct ss_kernels kernels;
};

const struct ss_ops *ss_model_ops(struct ss_model *m, struct ss_err *err);

/*
 * The operations of programs: on devices, or without recorded devices on the threads of the CPU
 * backend. XProf knows only those on devices.
 */
static inline const struct ss_op_db *ss_ops_computed(const struct ss_ops *o, bool as_xprof)
{
	if (!as_xprof && o->resolved.n)
		return &o->resolved;
	return as_xprof || o->device.n || !o->cpu.n ? &o->device : &o->cpu;
}

/* op_db.c */

/*
 * The op of this key, added with zeros when new (source_line -1). NULL when memory is out. The
 * pointer is good until the next call.
 */
struct ss_op *ss_op_db_get(struct ss_op_db *db, uint64_t program_id, struct ss_str name);
const struct ss_op *ss_op_db_find(const struct ss_op_db *db, uint64_t program_id,
				  struct ss_str name);
/* Add the numbers of `from`, and texts where `to` has none. */
void ss_op_add(struct ss_op *to, const struct ss_op *from);
struct ss_intern; /* intern.h */

/*
 * Add all of `from`: ops by key, totals as sums. `intern` has the texts, and what SparseCores ran; NULL: `from` lives as long
 * as `db`.
 */
bool ss_op_db_merge(struct ss_op_db *db, const struct ss_op_db *from, struct ss_intern *intern);
/* Set the total and append IDLE, which takes what the ops leave of it. */
bool ss_op_db_finish(struct ss_op_db *db, uint64_t total_ps);
/* Drop ops that were named but never executed. */
bool ss_op_db_compact(struct ss_op_db *db);
void ss_op_db_free(struct ss_op_db *db);

static inline bool ss_op_is_idle(const struct ss_op *op)
{
	return ss_str_is(op->category, "IDLE");
}

#endif
