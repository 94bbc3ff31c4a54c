/* facts_ops.c - operations and kernels of a host. */
#include "model/ops/ops.h"
#include "model/reduced/facts.h"

static void costs(struct ss_pack *p, struct ss_op *v, size_t n)
{
	PACK_COLUMN(p, PACK_F, v, n, cost.flops);
	PACK_COLUMN(p, PACK_F, v, n, cost.model_flops);
	PACK_COLUMN(p, PACK_U, v, n, cost.bytes);
	PACK_COLUMN(p, PACK_U, v, n, cost.has_mem);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; v[i].cost.has_mem && k < SS_MEM_COUNT; k++)
			PACK_U(p, v[i].cost.mem[k]);
}

/* Without the texts of single operations, which no tool over all hosts shows. */
static void ops(struct ss_pack *p, struct ss_op_db *db)
{
	PACK_ARRAY(p, db->v, db->n, 16);
	struct ss_op *v = db->v;
	size_t n = v ? db->n : 0;
	PACK_COLUMN(p, PACK_U, v, n, program_id);
	PACK_COLUMN(p, PACK_S, v, n, name);
	PACK_COLUMN(p, PACK_S, v, n, category);
	PACK_COLUMN(p, PACK_S, v, n, provenance);
	PACK_COLUMN(p, PACK_U, v, n, is_eager);
	PACK_COLUMN(p, PACK_U, v, n, one_scope);
	PACK_COLUMN(p, PACK_U, v, n, core_type);
	PACK_COLUMN(p, PACK_U, v, n, occurrences);
	costs(p, v, n);
	PACK_COLUMN(p, PACK_U, v, n, time_ps);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].self_ps, v[i].time_ps);
	PACK_COLUMN(p, PACK_U, v, n, min_ps);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].normalized_ps, v[i].self_ps);
	PACK_COLUMN(p, PACK_U, v, n, dma_stall_ps);
	for (size_t i = 0; p->reading && i < n; i++) {
		v[i].long_name = v[i].dedup_name = v[i].source_file = v[i].source_stack = SS_STR("");
		v[i].source_line = -1;
	}
	PACK_U(p, db->total_ps);
	PACK_U(p, db->op_ps);
	PACK_U(p, db->normalized_op_ps);
	PACK_U(p, db->infeed_enq_ps);
	PACK_U(p, db->infeed_enq_period_ps);
}

static void kernels(struct ss_pack *p, struct ss_kernels *k)
{
	PACK_ARRAY(p, k->v, k->n, 16);
	struct ss_kernel *v = k->v;
	size_t n = v ? k->n : 0;
	PACK_COLUMN(p, PACK_S, v, n, name);
	PACK_COLUMN(p, PACK_S, v, n, op_name);
	PACK_COLUMN(p, PACK_U, v, n, regs);
	PACK_COLUMN(p, PACK_U, v, n, static_shmem_bytes);
	PACK_COLUMN(p, PACK_U, v, n, dynamic_shmem_bytes);
	for (unsigned d = 0; d < 3; d++) {
		PACK_COLUMN(p, PACK_U, v, n, block[d]);
		PACK_COLUMN(p, PACK_U, v, n, grid[d]);
	}
	PACK_COLUMN(p, PACK_F, v, n, occupancy_pct);
	PACK_COLUMN(p, PACK_U, v, n, uses_tensor_core);
	PACK_COLUMN(p, PACK_U, v, n, is_eligible);
	PACK_COLUMN(p, PACK_U, v, n, occurrences);
	PACK_COLUMN(p, PACK_U, v, n, total_ns);
	PACK_COLUMN(p, PACK_U, v, n, min_ns);
	PACK_COLUMN(p, PACK_U, v, n, max_ns);
}

bool ss_facts_ops(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	struct ss_host_ops own, *o = SS_FACTS(p, h, SS_HOST_OPS, ss_host_ops(h, err), &own);
	if (!o)
		return p->reading;
	ops(p, &o->device);
	ops(p, &o->host);
	ops(p, &o->resolved);
	ops(p, &o->cpu);
	PACK_U(p, o->graph_ps);
	PACK_U(p, o->graph_known_ps);
	kernels(p, &o->kernels);
	return true;
}
