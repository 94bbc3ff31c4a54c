/*
 * graph_cost.c - FLOPs and bytes of instructions from their shapes, as XProf's command line counts
 * them.
 */
#include "xprof/cli/graph.h"

#include "model/program/hlo_op.h"
#include "xprof/cli/modules.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

static bool is_one_of(struct ss_str s, const char *const *list)
{
	for (; *list; list++)
		if (ss_str_ieq(s, ss_str_from(*list)))
			return true;
	return false;
}

static bool is(const struct xg_instr *i, const char *opcode)
{
	return ss_str_ieq(i->opcode, ss_str_from(opcode));
}

bool xg_is_blocker(const struct xg_instr *i)
{
	return ss_hlo_is_fusion_blocker(i->opcode) ||
	       ss_str_contains(i->expression, SS_STR("AnalyzeLayout")) ||
	       ss_str_contains(i->expression, SS_STR("AllocateBuffer"));
}

const char *xg_blocker_reason(const struct xg_instr *i)
{
	if (ss_str_contains(i->expression, SS_STR("AnalyzeLayout")))
		return "The custom call pins the layout of its operand";
	if (ss_str_contains(i->expression, SS_STR("AllocateBuffer")))
		return "The custom call makes a buffer of its own";
	return "It changes layout or type, or copies, between fusions";
}

/* --- shapes ------------------------------------------------------------------------------------ */

static void read_dims(struct ss_str s, struct xg_shape *out)
{
	double all[64];
	uint32_t n = 0;
	out->elements = 1;
	while (s.n) {
		size_t comma = ss_str_chr(s, ',');
		struct ss_str one = ss_str_sub(s, 0, comma == SS_NPOS ? s.n : comma);
		uint64_t v;
		s = ss_str_sub(s, comma == SS_NPOS ? s.n : comma + 1, s.n);
		while (one.n && one.p[0] == ' ')
			one = ss_str_sub(one, 1, one.n);
		if (!ss_str_to_u64(one, &v) || n == SS_COUNT(all))
			continue;
		all[n++] = (double)v;
		out->elements *= (double)v;
	}
	out->rank = n;
	for (uint32_t i = 0; i < n && i < XG_DIMS; i++)
		out->dims[XG_DIMS - 1 - i] = all[n - 1 - i];
}

/* Parts of a tuple with dimensions; single numbers in it do not count. */
static void read_tuple(struct ss_str s, struct xg_shape *out)
{
	for (size_t i = 0; i < s.n; i++) {
		size_t from = i, close = ss_str_chr(ss_str_sub(s, i, s.n), ']');
		if (s.p[i] != '[' || close == SS_NPOS || close == 1)
			continue;
		while (from > 0 && (isalnum((unsigned char)s.p[from - 1]) || s.p[from - 1] == '_'))
			from--;
		struct xg_shape one = { 0 };
		struct ss_str dims = ss_str_sub(s, i + 1, i + close);
		bool numbers = from < i && isalpha((unsigned char)s.p[from]);
		for (size_t k = 0; numbers && k < dims.n; k++)
			numbers = isdigit((unsigned char)dims.p[k]) || dims.p[k] == ',' ||
				  isspace((unsigned char)dims.p[k]);
		if (!numbers)
			continue;
		read_dims(dims, &one);
		double bytes =
			out->bytes + one.elements * xcli_type_bytes(ss_str_sub(s, from, i), 4);
		if (one.rank > out->rank || (one.rank == out->rank && one.elements > out->elements))
			*out = one;
		out->bytes = bytes;
	}
}

static struct xg_shape shape_of(struct ss_str s)
{
	struct xg_shape out = { 0 };
	size_t bracket = ss_str_chr(s, '['), close;
	if (!s.n || ss_str_is(s, "unknown") || ss_str_is(s, "token[]") || ss_str_is(s, "()"))
		return out;
	if (s.p[0] == '(' || bracket == SS_NPOS || bracket == 0) {
		read_tuple(s, &out);
		return out;
	}
	close = ss_str_chr(ss_str_sub(s, bracket, s.n), ']');
	read_dims(close == SS_NPOS ? SS_STR("") : ss_str_sub(s, bracket + 1, bracket + close),
		  &out);
	out.bytes = out.elements * xcli_type_bytes(ss_str_sub(s, 0, bracket), 4);
	return out;
}

/* --- bytes ------------------------------------------------------------------------------------- */

static const struct xg_instr *operand(const struct xg_graph *g, const struct xg_instr *i,
				      uint32_t k)
{
	return k < i->operands.n ? &g->instrs[xg_link(g, i->operands, k)] : NULL;
}

static double operand_bytes(const struct xg_graph *g, const struct xg_instr *i)
{
	double sum = 0;
	for (uint32_t k = 0; k < i->operands.n; k++)
		sum += operand(g, i, k)->out.bytes;
	return sum;
}

/* Do all users of a parameter have this opcode and take it as their first operand? */
static bool only_used_by(const struct xg_graph *g, uint32_t parameter, const char *opcode)
{
	struct xg_list users = g->instrs[parameter].users;
	for (uint32_t k = 0; k < users.n; k++) {
		const struct xg_instr *u = &g->instrs[xg_link(g, users, k)];
		if (!is(u, opcode) || !u->operands.n || xg_link(g, u->operands, 0) != parameter)
			return false;
	}
	return users.n > 0;
}

/*
 * What a fusion reads of an operand: slices of it where its parameter is only sliced, nothing where
 * it is only written into.
 */
static double fused_read(const struct xg_graph *g, const struct xg_computation *c, uint32_t number,
			 double whole)
{
	uint32_t p = SS_NONE, seen = 0;
	for (uint32_t i = c->first; p == SS_NONE && i < c->first + c->n; i++)
		if (is(&g->instrs[i], "parameter") && seen++ == number)
			p = i;
	if (p == SS_NONE)
		return whole;
	if (only_used_by(g, p, "dynamic-update-slice"))
		return 0;
	if (!only_used_by(g, p, "dynamic-slice"))
		return whole;
	double sum = 0;
	for (uint32_t k = 0; k < g->instrs[p].users.n; k++)
		sum += g->instrs[xg_link(g, g->instrs[p].users, k)].out.bytes;
	return sum;
}

static double fusion_bytes(const struct xg_graph *g, const struct xg_instr *i)
{
	const struct xg_computation *c = &g->computations[xg_link(g, i->called, 0)];
	double out = i->out.bytes, in = 0;
	if (c->root != SS_NONE && is(&g->instrs[c->root], "dynamic-update-slice") &&
	    operand(g, &g->instrs[c->root], 1))
		out = operand(g, &g->instrs[c->root], 1)->out.bytes;
	for (uint32_t k = 0; k < i->operands.n; k++)
		in += fused_read(g, c, k, operand(g, i, k)->out.bytes);
	return out + in;
}

static double bytes_of(const struct xg_graph *g, const struct xg_instr *i)
{
	static const char *const none[] = {
		"add-dependency", "after-all", "all-gather-done", "all-reduce-done", "async-done", "async-update",
		"bitcast", "collective-permute-done", "constant", "copy-done", "domain", "get-tuple-element",
		"optimization-barrier", "parameter", "partition-id", "recv-done", "reduce-scatter-done", "replica-id",
		"send-done", "tuple",
		NULL,
	};
	if (is_one_of(i->opcode, none))
		return 0;
	if (is(i, "slice") || is(i, "dynamic-slice"))
		return 2 * i->out.bytes;
	if (is(i, "dynamic-update-slice"))
		return 2 * (operand(g, i, 1) ? operand(g, i, 1)->out.bytes : i->out.bytes);
	if (is(i, "fusion") && i->called.n)
		return fusion_bytes(g, i);
	if (is(i, "infeed"))
		return i->out.bytes;
	return (is(i, "outfeed") ? 0 : i->out.bytes) + operand_bytes(g, i);
}

/* --- FLOPs ------------------------------------------------------------------------------------- */

static bool is_elementwise(const struct xg_instr *i)
{
	static const char *const list[] = {
		"abs", "acos", "acosh", "add", "and", "asin", "asinh", "atan2", "atanh", "cbrt", "ceil", "clamp",
		"compare", "convert", "cos", "cosine", "cosh", "divide", "erf", "exp", "exponential",
		"exponential-minus-one", "expm1", "floor", "is-finite", "log", "log-plus-one", "log1p", "logistic",
		"maximum", "minimum", "multiply", "negate", "not", "or", "power", "remainder", "round-nearest-afz",
		"round-nearest-even", "rsqrt", "select", "shift-left", "shift-right-arithmetic",
		"shift-right-logical", "sign", "sin", "sine", "sinh", "sqrt", "subtract", "tan", "tanh", "xor",
		NULL,
	};
	return is_one_of(i->opcode, list);
}

/*
 * By the last two dimensions of result and operands, as for custom calls: the text does not say
 * what is contracted.
 */
static double dot_flops(const struct xg_graph *g, const struct xg_instr *i)
{
	const struct xg_instr *a = operand(g, i, 0), *b = operand(g, i, 1);
	if (!b || i->out.rank < 2 || a->out.rank < 2 || b->out.rank < 2)
		return 0;
	return 2 * i->out.elements *
	       xcli_contracted(&i->out.dims[XG_DIMS - 2], &a->out.dims[XG_DIMS - 2],
			       &b->out.dims[XG_DIMS - 2]);
}

static double convolution_flops(const struct xg_graph *g, const struct xg_instr *i)
{
	const struct xg_instr *b = operand(g, i, 1);
	double channels = i->out.rank ? i->out.dims[XG_DIMS - 1] : 1;
	return b ? 2 * i->out.elements * fmax(1, floor(b->out.elements / fmax(1, channels))) : 0;
}

static double flops_of(const struct xg_graph *g, const struct xg_instr *i)
{
	if (is_elementwise(i))
		return (is(i, "clamp") ? 3 : 1) * i->out.elements;
	if (is(i, "dot") || is(i, "ragged-dot") || is(i, "scaled-dot"))
		return dot_flops(g, i);
	if (is(i, "convolution"))
		return convolution_flops(g, i);
	if ((is(i, "reduce") || is(i, "reduce-window")) && i->operands.n)
		return fmax(0, operand(g, i, 0)->out.elements - i->out.elements);
	return 0;
}

/* A custom call by the text with the shapes of its operands. */
static bool custom_cost(struct xcli *x, const struct xg_graph *g, struct xg_instr *i)
{
	struct ss_buf b = { 0 };
	bool stated = ss_str_contains(i->expression, SS_STR("\"cost_estimate\""));
	ss_buf_printf(&b, "%%" SS_FMT " = ", SS_ARG(i->name));
	ss_buf_str(&b, i->shape);
	ss_buf_printf(&b, " " SS_FMT "(", SS_ARG(i->opcode));
	for (uint32_t k = 0; k < i->operands.n; k++) {
		ss_buf_z(&b, k ? ", " : "");
		ss_buf_str(&b, operand(g, i, k)->shape);
		ss_buf_printf(&b, " %%" SS_FMT, SS_ARG(operand(g, i, k)->name));
	}
	ss_buf_lit(&b, ") ");
	ss_buf_str(&b, i->expression);
	if (b.no_memory) {
		ss_buf_free(&b);
		return xcli_no_memory(x);
	}
	struct xcli_custom_call c =
		xcli_custom_call(stated ? i->expression : ss_buf_get(&b), i->opcode, i->name);
	if (c.known) {
		i->flops = c.flops;
		if (c.derived || stated || c.bytes == 0)
			i->bytes = c.bytes;
	}
	ss_buf_free(&b);
	return true;
}

/* --- computations ------------------------------------------------------------------------------ */

static void mark_computations(struct xg_graph *g)
{
	static const char *const reducers[] = {
		"reduce",     "reduce-window",	"scatter", "select-and-scatter", "map", "sort",
		"all-reduce", "reduce-scatter", NULL
	};
	for (uint32_t c = 0; c < g->ncomputations; c++)
		g->computations[c].fused =
			ss_str_starts(g->computations[c].name, SS_STR("fused_computation"));
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t k = 0; k < g->instrs[i].called.n; k++) {
			struct xg_computation *c =
				&g->computations[xg_link(g, g->instrs[i].called, k)];
			c->fused = c->fused || is(&g->instrs[i], "fusion");
			c->reducer = c->reducer || is_one_of(g->instrs[i].opcode, reducers);
		}
}

/* The cost of a computation counts for its callers; repeated, for calls within calls. */
static bool roll_up(struct xcli *x, struct xg_graph *g)
{
	static const char *const callers[] = { "fusion",      "call",	     "while",
					       "conditional", "async-start", NULL };
	double *sums = SS_NEW_N(&x->arena, double, 2 * (size_t)g->ncomputations + 2),
	       *bytes = sums ? sums + g->ncomputations : NULL;
	uint32_t passes = g->ncomputations < 2 ? 2 : g->ncomputations > 8 ? 8 : g->ncomputations;
	if (!sums)
		return xcli_no_memory(x);
	for (uint32_t pass = 0; pass < passes; pass++) {
		memset(sums, 0, 2 * (size_t)g->ncomputations * sizeof(*sums));
		for (uint32_t i = 0; i < g->n; i++) {
			sums[g->instrs[i].computation] += g->instrs[i].flops;
			bytes[g->instrs[i].computation] += g->instrs[i].bytes;
		}
		for (uint32_t i = 0; i < g->n; i++) {
			struct xg_instr *in = &g->instrs[i];
			if (!in->called.n || !is_one_of(in->opcode, callers))
				continue;
			in->flops = 0;
			for (uint32_t k = 0; k < in->called.n; k++)
				in->flops += sums[xg_link(g, in->called, k)];
			if (is(in, "fusion"))
				continue;
			in->bytes = 0;
			for (uint32_t k = 0; k < in->called.n; k++)
				in->bytes += bytes[xg_link(g, in->called, k)];
		}
	}
	return true;
}

bool xg_cost(struct xcli *x, struct xg_graph *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		g->instrs[i].out = shape_of(g->instrs[i].shape);
	mark_computations(g);
	for (uint32_t i = 0; i < g->n; i++) {
		struct xg_instr *in = &g->instrs[i];
		const struct xg_computation *c = &g->computations[in->computation];
		bool custom = ss_str_contains(in->opcode, SS_STR("custom-call")) ||
			      ss_str_contains(in->opcode, SS_STR("custom_call"));
		in->bytes = bytes_of(g, in);
		in->flops = flops_of(g, in);
		if (custom && !custom_cost(x, g, in))
			return false;
		if (c->fused || c->reducer)
			in->bytes = 0;
		if (c->reducer)
			in->flops = 0;
	}
	return roll_up(x, g);
}
