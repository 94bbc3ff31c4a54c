/* skeleton_parts.c - see skeleton_read.h: what all kinds of devices add to a skeleton. */
#include "model/cluster/skeleton.h"

#include "base/bisect.h"
#include "hlo/text.h"
#include "model/cluster/skeleton_read.h"

#include <stdio.h>
#include <stdlib.h>

uint32_t ss_skel_op(struct ss_skel_reading *r, const struct ss_skel_op *op)
{
	struct ss_arena *a = &r->s->arena;
	char head[64];
	int n = snprintf(head, sizeof(head), "%u %u %llx %llx %x ", (unsigned)op->cls, (unsigned)op->kind,
			 (unsigned long long)op->program_id, (unsigned long long)op->bytes, (unsigned)op->expected);
	size_t size = (size_t)n + op->name.n + op->groups.n + op->program.n + 2;
	char scratch[512], *key = size <= sizeof(scratch) ? scratch : malloc(size);
	if (!key)
		return SS_NONE;
	struct ss_str parts[] = { { head, (size_t)n }, op->name, SS_STR("\n"), op->groups, SS_STR("\n"), op->program };
	size_t at = 0;
	for (size_t i = 0; i < SS_COUNT(parts); i++) {
		if (parts[i].n)
			memcpy(key + at, parts[i].p, parts[i].n);
		at += parts[i].n;
	}
	uint32_t k = ss_strmap_get(&r->op_keys, (struct ss_str){ key, at });
	if (k == SS_NONE) {
		struct ss_skel_op copy = *op;
		struct ss_str kept = ss_arena_str(&r->arena, (struct ss_str){ key, at });
		copy.name = ss_arena_str(a, op->name);
		copy.groups = ss_arena_str(a, op->groups);
		copy.program = ss_arena_str(a, op->program);
		if (kept.p && copy.name.p && copy.groups.p && copy.program.p && ss_vec_push(&r->s->ops, copy))
			k = ss_strmap_add(&r->op_keys, kept);
	}
	if (key != scratch)
		free(key);
	return k;
}

struct ss_skel_device *ss_skel_device_at(struct ss_skel_reading *r, int64_t ordinal)
{
	size_t at = 0;
	while (at < r->s->devices.n && r->s->devices.v[at].ordinal < ordinal)
		at++;
	if (at < r->s->devices.n && r->s->devices.v[at].ordinal == ordinal)
		return &r->s->devices.v[at];
	if (!ss_vec_push(&r->s->devices, ((struct ss_skel_device){ .global = -1 })))
		return NULL;
	struct ss_skel_device *v = r->s->devices.v;
	memmove(&v[at + 1], &v[at], (r->s->devices.n - 1 - at) * sizeof(*v));
	v[at] = (struct ss_skel_device){ .ordinal = (int32_t)ordinal, .global = -1 };
	return &v[at];
}

static int comms_by_begin(const void *a, const void *b)
{
	const struct ss_skel_comm *x = a, *y = b;
	return SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(x->end_ps, y->end_ps) ?: SS_CMP(x->op, y->op);
}

void ss_skel_sort_comms(struct ss_skel_device *d)
{
	ss_sort(d->comms.v, d->comms.n, sizeof(*d->comms.v), comms_by_begin);
}

int64_t ss_skel_device_step(const struct ss_skel_device *d, int64_t at_ps)
{
	size_t lo = 0, hi = d->steps.n;
	SS_BISECT(lo, hi, mid, d->steps.v[mid].begin_ps <= at_ps);
	return lo && d->steps.v[lo - 1].end_ps > at_ps ? d->steps.v[lo - 1].num : SS_NO_STEP;
}

bool ss_skel_instruction(struct ss_skel_reading *r, uint64_t program_id, struct ss_str name, struct ss_comm_op *out,
			 struct ss_err *err)
{
	const struct ss_hlo_module *m = NULL;
	if (!ss_comm_op_read(out, name, name, SS_STR(""), &r->arena))
		return ss_fail_mem(err);
	/*
	 * JAX calls an all-reduce psum.3 on a CPU; kernels of GPUs say themselves that they
	 * communicate.
	 */
	if (!out->kind && !r->cpu_ops.n)
		return true;
	if (!ss_hlo_map_get(r->hlo, (int64_t)program_id, &m, err))
		return false;
	uint32_t i = m ? ss_hlo_instr_by_name(m, name) : SS_NONE;
	if (i == SS_NONE)
		return true;
	struct ss_hlo_instr in;
	ss_hlo_instr_read(m->instrs[i], &in);
	if (!out->kind && !ss_comm_of_opcode(in.opcode))
		return true;
	struct ss_buf b = { .limit_bytes = (size_t)64 << 20 };
	bool ok = ss_hlo_instr_text(&b, m, i, SS_HLO_EXPRESSION) && ss_buf_ok(&b, "an operation", err);
	struct ss_str text = ok ? ss_arena_str(&r->arena, ss_buf_get(&b)) : SS_STR("");
	ok = ok && text.p && ss_comm_op_read(out, text, name, SS_STR(""), &r->arena);
	ss_buf_free(&b);
	return ok || ss_fail_mem(err);
}
