/*
 * gpu_fusion.c - the work inside a fusion.
 *
 * A fused instruction is executed as often as its users need its elements. From the root, which is
 * computed once, to the parameters: what is elementwise passes its users on to its operands, so
 * that a value used twice in the same place is computed once; anything else makes its operand a
 * place of use of its own, needed in proportion to the share of it that is read. The sum over
 * distinct places of use is how often an instruction is executed, for a parameter how much of it is
 * read.
 */
#include "model/program/gpu_coster.h"

#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

/* Places of use of one instruction: indices of instructions within the computation, descending. */
struct uses {
	SS_VEC(uint32_t) v;
};

struct pass {
	struct ss_gpu_coster *c;
	const struct ss_hlo_computation *k;
	struct uses *uses; /* per instruction */
	float *root_use;   /* per instruction as a place of use: how much of it is needed there */
	bool *is_output;   /* per instruction: the root, or an operand of a root that is a tuple */
	size_t budget;	   /* of entries in all lists */
};

/*
 * Programs as compilers make them have few places of use; sets could grow with the square of the
 * instructions, though. Beyond so many entries per instruction further ones are left out.
 */
#define USES_PER_INSTR 256

/* Fraction of operand `k` that an instruction reads; of a fusion, what its computation reads. */
static float operand_use(struct ss_gpu_coster *c, const struct ss_gpu_instr *i, uint32_t k);

static bool add_use(struct pass *s, struct uses *u, uint32_t root)
{
	size_t i = u->v.n;
	/* Instructions are walked from the last to the first: new roots are mostly the smallest. */
	while (i > 0 && u->v.v[i - 1] < root)
		i--;
	if (i > 0 && u->v.v[i - 1] == root)
		return true;
	if (s->budget == 0)
		return true;
	s->budget--;
	if (!ss_vec_push(&u->v, 0))
		return false;
	memmove(u->v.v + i + 1, u->v.v + i, (u->v.n - 1 - i) * sizeof(*u->v.v));
	u->v.v[i] = root;
	return true;
}

/* All uses of `from` are uses of `to`. Both descend; merged from the ends. */
static bool add_uses(struct pass *s, struct uses *to, const struct uses *from)
{
	if (to->v.n == 0 && s->budget >= from->v.n) {
		if (from->v.n && !ss_vec_reserve(&to->v, from->v.n))
			return false;
		if (from->v.n)
			memcpy(to->v.v, from->v.v, from->v.n * sizeof(*to->v.v));
		to->v.n = from->v.n;
		s->budget -= from->v.n;
		return true;
	}
	struct uses merged = { 0 };
	size_t i = 0, k = 0;
	if (s->budget < from->v.n)
		return true;
	if (!ss_vec_reserve(&merged.v, to->v.n + from->v.n))
		return false;
	while (i < to->v.n || k < from->v.n) {
		bool left = k == from->v.n || (i < to->v.n && to->v.v[i] >= from->v.v[k]);
		uint32_t root = left ? to->v.v[i] : from->v.v[k];
		i += i < to->v.n && to->v.v[i] == root;
		k += k < from->v.n && from->v.v[k] == root;
		merged.v.v[merged.v.n++] = root;
	}
	s->budget -= merged.v.n - to->v.n;
	ss_vec_free(&to->v);
	*to = merged;
	return true;
}

static bool passes_uses_on(const struct pass *s, const struct ss_hlo_instr *in)
{
	return ss_gpu_is_elementwise(s->c, in) || ss_str_is(in->opcode, "tuple") ||
	       ss_str_is(in->opcode, "get-tuple-element");
}

/* The needed part of an operand, rounded up to whole elements. */
static float whole_elements(float use, float elements)
{
	return elements > 0 ? ceilf(use * elements) / elements : 0;
}

/* Of an array that is updated elsewhere than in its place: what the update leaves of it. */
static float kept_share(const struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	float update = ss_gpu_elements(ss_gpu_shape(c, ss_gpu_operand(c, &i->in, 1)));
	return i->elements > 0 ? fmaxf(0, 1 - update / i->elements) : 0;
}

static bool visit(struct pass *s, uint32_t at, struct ss_gpu_fusion *f)
{
	struct ss_gpu_instr i;
	float use = 0;
	ss_gpu_instr_read(s->c, s->k->first + at, &i);
	for (size_t k = 0; k < s->uses[at].v.n; k++)
		use += s->root_use[s->uses[at].v.v[k]];
	use = s->c->once ? fminf(use, 1) : use;
	if (ss_str_is(i.in.opcode, "parameter")) {
		if (i.in.parameter_number >= 0 && i.in.parameter_number < f->nparams)
			f->param_use[i.in.parameter_number] = use;
		return true;
	}
	f->flops += use * ss_gpu_flops(s->c, s->k->first + at);
	bool pass_on = passes_uses_on(s, &i.in);
	struct ss_hlo_ids it = ss_hlo_ids_of(i.in.body, HLO_INSTRUCTION_OPERAND_IDS);
	int64_t id;
	for (uint32_t k = 0; ss_hlo_ids_next(&it, &id); k++) {
		uint32_t operand = ss_hlo_instr_by_id(s->c->m, id);
		/*
		 * An operand stands before its user, in the same computation; anything else is
		 * damage.
		 */
		if (operand == SS_NONE || operand < s->k->first || operand >= s->k->first + at)
			continue;
		uint32_t to = operand - s->k->first;
		if (pass_on) {
			if (!add_uses(s, &s->uses[to], &s->uses[at]))
				return false;
			continue;
		}
		if (!add_use(s, &s->uses[to], to))
			return false;
		float share = operand_use(s->c, &i, k);
		if (k == 0 && ss_str_is(i.in.opcode, "dynamic-update-slice"))
			share = s->is_output[at] ? 0 : kept_share(s->c, &i);
		s->root_use[to] += whole_elements(use * share,
						  ss_gpu_elements(ss_gpu_shape(s->c, operand)));
	}
	return true;
}

static uint32_t count_params(const struct pass *s)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->k->ninstrs; i++) {
		struct ss_hlo_instr in;
		ss_hlo_instr_read(s->c->m->instrs[s->k->first + i], &in);
		n += ss_str_is(in.opcode, "parameter");
	}
	return n;
}

/* Index of the root within the computation: the one that is named, or else the last. */
static uint32_t root_of(const struct pass *s)
{
	uint32_t i = ss_hlo_instr_by_id(s->c->m, s->k->root_id);
	if (i != SS_NONE && i >= s->k->first && i < s->k->first + s->k->ninstrs)
		return i - s->k->first;
	return s->k->ninstrs - 1;
}

/* The results of the fusion. It updates an array that it returns updated in place. */
static void mark_outputs(struct pass *s, uint32_t root)
{
	struct ss_hlo_instr in;
	int64_t id;
	s->is_output[root] = true;
	ss_hlo_instr_read(s->c->m->instrs[s->k->first + root], &in);
	if (!ss_str_is(in.opcode, "tuple"))
		return;
	struct ss_hlo_ids it = ss_hlo_ids_of(in.body, HLO_INSTRUCTION_OPERAND_IDS);
	while (ss_hlo_ids_next(&it, &id)) {
		uint32_t at = ss_hlo_instr_by_id(s->c->m, id);
		if (at != SS_NONE && at >= s->k->first && at < s->k->first + root)
			s->is_output[at - s->k->first] = true;
	}
}

static bool analyse(struct pass *s, struct ss_gpu_fusion *f)
{
	uint32_t n = s->k->ninstrs;
	f->nparams = count_params(s);
	f->param_use = calloc((size_t)f->nparams + 1, sizeof(*f->param_use));
	s->uses = calloc((size_t)n + 1, sizeof(*s->uses));
	s->root_use = calloc((size_t)n + 1, sizeof(*s->root_use));
	s->is_output = calloc((size_t)n + 1, sizeof(*s->is_output));
	s->budget = (size_t)n * USES_PER_INSTR;
	bool ok = f->param_use && s->uses && s->root_use && s->is_output;
	if (ok && n) {
		uint32_t root = root_of(s);
		s->root_use[root] = 1;
		mark_outputs(s, root);
		ok = add_use(s, &s->uses[root], root);
	}
	for (uint32_t i = n; ok && i-- > 0;)
		ok = visit(s, i, f);
	for (uint32_t i = 0; s->uses && i < n; i++)
		ss_vec_free(&s->uses[i].v);
	free(s->uses);
	free(s->root_use);
	free(s->is_output);
	if (!ok) {
		/* It may be tried again. */
		free(f->param_use);
		f->param_use = NULL;
		f->nparams = 0;
	}
	return ok;
}

const struct ss_gpu_fusion *ss_gpu_fusion_of(struct ss_gpu_coster *c, uint32_t computation)
{
	struct ss_gpu_fusion *f = &c->fusions[computation];
	if (f->known)
		return f;
	/* Asked for again while it is being analysed: a cycle, which costs nothing. */
	if (c->busy[computation] || c->depth == SS_GPU_MAX_DEPTH)
		return f;
	c->busy[computation] = true;
	c->depth++;
	struct pass s = { .c = c, .k = &c->m->computations[computation] };
	bool ok = analyse(&s, f);
	c->depth--;
	c->busy[computation] = false;
	f->known = ok;
	if (!ok) {
		free(f->param_use);
		*f = (struct ss_gpu_fusion){ 0 };
	}
	c->no_memory |= !ok;
	return ok ? f : NULL;
}

static float operand_use(struct ss_gpu_coster *c, const struct ss_gpu_instr *i, uint32_t k)
{
	struct ss_str op = i->in.opcode;
	if (ss_str_is(op, "fusion")) {
		uint32_t which = ss_gpu_called(c, &i->in, 0);
		const struct ss_gpu_fusion *f =
			which == SS_NONE ? NULL : ss_gpu_fusion_of(c, which);
		return f && k < f->nparams ? f->param_use[k] : 0;
	}
	/* The value that a reduction begins with is needed for each of its results. */
	if (ss_str_is(op, "reduce") && k >= ss_gpu_operand_count(&i->in) / 2)
		return ss_gpu_elements(ss_gpu_first_array(i->in.shape));
	if (k != 0)
		return 1;
	if (ss_str_is(op, "slice") || ss_str_is(op, "dynamic-slice") || ss_str_is(op, "gather")) {
		float elements = ss_gpu_elements(ss_gpu_shape(c, ss_gpu_operand(c, &i->in, 0)));
		return elements > 0 ? i->elements / elements : 0;
	}
	return 1;
}
