/* facts_ops.c - operations and kernels of a host. */
#include "model/ops/ops.h"
#include "model/reduced/facts.h"
#include "model/reduced/pieces.h"

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

/* The piece that takes so long in all; its name was packed before. */
static void piece(struct ss_pack *p, uint64_t ps, uint64_t *expected)
{
	uint64_t at = p->reading ? 0 : ss_pieces_find(p->pieces, ps);
	PACK_NEAR(p, at, *expected);
	p->bad |= at >= p->pieces->n;
	if (p->bad)
		return;
	*expected = at ? at + 2 : *expected;
	p->no_memory |= !ss_vec_push(&p->pieces->of_op, (uint32_t)at) ||
			(at && !ss_pieces_name(p->pieces, p->text, (uint32_t)at));
}

/* Their names, and which piece of the skeleton each is, if it is one. */
static void names(struct ss_pack *p, struct ss_op *v, size_t n)
{
	uint64_t expected = 1;
	p->pieces->of_op.n = 0;
	for (size_t i = 0; i < n && !p->bad && !p->no_memory; i++) {
		PACK_S(p, v[i].name);
		piece(p, v[i].time_ps, &expected);
	}
}

static void times(struct ss_pack *p, struct ss_op *v)
{
	const struct ss_pieces *m = p->pieces;
	size_t n = m->of_op.n;
	bool normalized = false;
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].time_ps, m->host[m->of_op.v[i]].ps);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].self_ps, v[i].time_ps);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].min_ps, m->host[m->of_op.v[i]].min_ps);
	for (size_t i = 0; i < n; i++)
		normalized |= v[i].normalized_ps != 0;
	PACK_U(p, normalized);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].normalized_ps, normalized ? v[i].self_ps : 0);
}

static void totals(struct ss_pack *p, struct ss_op_db *db, size_t n)
{
	uint64_t time_ps = 0, op_ps = 0, normalized_ps = 0;
	for (size_t i = 0; i < n; i++) {
		time_ps += db->v[i].self_ps;
		op_ps += db->v[i].occurrences ? db->v[i].self_ps : 0; /* all but IDLE */
		normalized_ps += db->v[i].normalized_ps;
	}
	PACK_NEAR(p, db->total_ps, time_ps);
	PACK_NEAR(p, db->op_ps, op_ps);
	PACK_NEAR(p, db->normalized_op_ps, normalized_ps);
}

/* Without the texts of single operations, which no tool over all hosts shows. */
static void ops(struct ss_pack *p, struct ss_op_db *db)
{
	PACK_ARRAY(p, db->v, db->n, 16);
	struct ss_op *v = db->v;
	size_t n = v ? db->n : 0;
	PACK_COLUMN(p, PACK_U, v, n, program_id);
	names(p, v, n);
	n = p->pieces->of_op.n;
	PACK_COLUMN(p, PACK_S, v, n, category);
	PACK_COLUMN(p, PACK_S, v, n, provenance);
	PACK_COLUMN(p, PACK_U, v, n, is_eager);
	PACK_COLUMN(p, PACK_U, v, n, one_scope);
	PACK_COLUMN(p, PACK_U, v, n, core_type);
	PACK_COLUMN(p, PACK_U, v, n, occurrences);
	costs(p, v, n);
	times(p, v);
	PACK_COLUMN(p, PACK_U, v, n, dma_stall_ps);
	for (size_t i = 0; p->reading && i < n; i++) {
		v[i].long_name = v[i].dedup_name = v[i].source_file = v[i].source_stack = SS_STR("");
		v[i].source_line = -1;
	}
	totals(p, db, n);
	PACK_U(p, db->infeed_enq_ps);
	PACK_U(p, db->infeed_enq_period_ps);
}

static void kernels(struct ss_pack *p, struct ss_kernels *k)
{
	PACK_ARRAY(p, k->v, k->n, 16);
	struct ss_kernel *v = k->v;
	size_t n = v ? k->n : 0;
	p->pieces->of_op.n = 0;
	uint64_t expected = 1;
	for (size_t i = 0; i < n && !p->bad && !p->no_memory; i++) {
		PACK_S(p, v[i].name);
		piece(p, v[i].total_ns * 1000, &expected);
	}
	n = p->pieces->of_op.n;
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
	const struct ss_pieces *m = p->pieces;
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].total_ns, m->host[m->of_op.v[i]].ps / 1000);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].min_ns, m->host[m->of_op.v[i]].min_ps / 1000);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].max_ns, m->host[m->of_op.v[i]].longest_ps / 1000);
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
