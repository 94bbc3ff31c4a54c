/* framework_ops.c - operations by provenance. */
#include "model/ops/framework_ops.h"

#include "model/host/opname.h"

#include <stdlib.h>

/* The framework op of a device op. */
static struct ss_op_name origin(const struct ss_op *op)
{
	struct ss_op_name n = { .name = op->name, .type = SS_STR("Unknown") };
	if (op->provenance.n) {
		n = ss_op_name_parse(op->provenance);
		if (!n.type.n)
			n.type = SS_STR("Unknown");
	}
	return n;
}

static bool add(struct ss_op_db *out, const struct ss_op *op)
{
	bool idle = ss_op_is_idle(op);
	struct ss_op_name n =
		idle ? (struct ss_op_name){ .name = SS_STR("IDLE"), .type = SS_STR("IDLE") }
		     : origin(op);
	struct ss_op *to = ss_op_db_get(out, 0, n.name);
	if (!to)
		return false;
	to->category = n.type;
	if (op->occurrences > to->occurrences)
		to->occurrences = op->occurrences;
	to->is_eager = op->is_eager;
	to->time_ps += op->time_ps;
	to->self_ps += op->self_ps;
	to->cost.flops += op->cost.flops;
	to->cost.model_flops += op->cost.model_flops;
	to->cost.bytes += op->cost.bytes;
	return true;
}

bool ss_framework_ops(struct ss_op_db *out, const struct ss_op_db *device, bool idle)
{
	*out = (struct ss_op_db){ .total_ps = device->total_ps, .op_ps = device->op_ps };
	for (size_t i = 0; i < device->n; i++)
		if ((idle || !ss_op_is_idle(&device->v[i])) && !add(out, &device->v[i])) {
			ss_op_db_free(out);
			return false;
		}
	return true;
}

static int by_self_time(const void *a, const void *b)
{
	const struct ss_op *oa = *(const struct ss_op *const *)a,
			   *ob = *(const struct ss_op *const *)b;
	return SS_CMP(ob->self_ps, oa->self_ps) ?: ss_str_cmp(oa->name, ob->name) ?: SS_CMP(oa->program_id, ob->program_id);
}

const struct ss_op **ss_ops_by_self_time(const struct ss_op_db *db, struct ss_arena *arena)
{
	const struct ss_op **v = ss_arena_alloc(arena, (db->n + 1) * sizeof(*v));
	if (!v)
		return NULL;
	for (size_t i = 0; i < db->n; i++)
		v[i] = &db->v[i];
	qsort(v, db->n, sizeof(*v), by_self_time);
	return v;
}

bool ss_tensor_core_uses(struct ss_tensor_core_uses *out, const struct ss_kernels *kernels)
{
	*out = (struct ss_tensor_core_uses){ .v = calloc(kernels->n + 1, sizeof(*out->v)) };
	bool ok = out->v;
	for (size_t i = 0; ok && i < kernels->n; i++) {
		const struct ss_kernel *k = &kernels->v[i];
		uint32_t at = ss_strmap_add(&out->by_op, k->op_name);
		ok = at != SS_NONE;
		if (!ok)
			break;
		out->v[at].is_eligible |= k->is_eligible;
		out->v[at].total_ns += k->total_ns;
		out->v[at].tensor_core_ns += k->uses_tensor_core ? k->total_ns : 0;
	}
	if (!ok)
		ss_tensor_core_uses_free(out);
	return ok;
}

const struct ss_tensor_core_use *ss_tensor_core_use_of(const struct ss_tensor_core_uses *u,
						       struct ss_str op_name)
{
	uint32_t i = ss_strmap_get(&u->by_op, op_name);
	return i == SS_NONE ? NULL : &u->v[i];
}

void ss_tensor_core_uses_free(struct ss_tensor_core_uses *u)
{
	free(u->v);
	ss_strmap_free(&u->by_op);
	*u = (struct ss_tensor_core_uses){ 0 };
}
