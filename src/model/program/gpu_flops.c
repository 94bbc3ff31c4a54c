/* gpu_flops.c - floating point operations of single HLO instructions. */
#include "model/program/gpu_coster.h"
#include "model/program/gpu_elementwise.h"

#include <math.h>

#define FMA 2.0f    /* a multiply and an add */
#define MAX_RANK 64 /* dimensions beyond are damage */

/* Of one execution of a computation, whose instructions may call others. */
static float computation_flops(struct ss_gpu_coster *c, uint32_t computation);

/* The message in field `number` of another. */
static struct ss_str field(struct ss_str body, uint32_t number)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(number))
			return f.bytes;
	return (struct ss_str){ "", 0 };
}

static int64_t number(struct ss_str body, uint32_t which, int64_t preset)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_VAR(which))
			preset = (int64_t)f.u;
	return preset;
}

static struct ss_str operand_shape(const struct ss_gpu_coster *c, const struct ss_gpu_instr *i,
				   uint32_t k)
{
	return ss_gpu_shape(c, ss_gpu_operand(c, &i->in, k));
}

/*
 * The product over the contracted dimensions, times what comes out. `dims`: message with repeated
 * numbers `which`.
 */
static float dot_flops(struct ss_str lhs, struct ss_str result, struct ss_str dims, uint32_t which)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(dims, which);
	float inner = 1;
	int64_t d;
	for (unsigned k = 0; k < MAX_RANK && ss_hlo_ids_next(&it, &d); k++)
		inner *= (float)ss_gpu_dim(lhs, d);
	return FMA * ss_gpu_elements(result) * inner;
}

static float dot(const struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	return dot_flops(operand_shape(c, i, 0), i->in.shape,
			 field(i->in.body, HLO_INSTRUCTION_DOT), DOT_LHS_CONTRACTING);
}

/*
 * A matrix product of a library: its dimensions stand in the JSON of the backend's configuration,
 * as ["1"] or [1].
 */
static float library_dot(const struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	const struct ss_str key = SS_STR("\"lhs_contracting_dimensions\"");
	struct ss_str json = field(i->in.body, HLO_INSTRUCTION_BACKEND_CONFIG),
		      lhs = operand_shape(c, i, 0);
	size_t at = ss_str_find(json, key);
	float inner = 1;
	if (at == SS_NPOS)
		return 0;
	int64_t d = -1;
	size_t end = at + key.n + 16 * MAX_RANK;
	for (at += key.n; at < json.n && at < end && json.p[at] != ']'; at++) {
		char ch = json.p[at];
		if (ch >= '0' && ch <= '9' && d < INT32_MAX) {
			d = (d < 0 ? 0 : d) * 10 + (ch - '0');
		} else if (d >= 0) {
			inner *= (float)ss_gpu_dim(lhs, d);
			d = -1;
		}
	}
	if (d >= 0)
		inner *= (float)ss_gpu_dim(lhs, d);
	return FMA * ss_gpu_elements(ss_gpu_first_array(i->in.shape)) * inner;
}

static int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t r = a % b;
		a = b;
		b = r;
	}
	return a;
}

/*
 * How many n in [0, limit) are there with (n * step + from) divisible by `by` and the quotient in
 * [0, most)? All positive but `from`.
 */
static int64_t count_hits(int64_t limit, int64_t step, int64_t from, int64_t by, int64_t max)
{
	int64_t period = by / gcd(step, by), first = -1, hits = 0;
	/* The first n that divides, if any does within a period; dilations are small. */
	for (int64_t n = 0; n < period && n < limit && first < 0; n++)
		if ((n * step + from) % by == 0)
			first = n;
	if (first < 0)
		return 0;
	/* n = first + k * period: the values grow with k, so those in range stand together. */
	int64_t value = first * step + from, stride = period * step, top = by * (max - 1);
	int64_t k_max = (limit - 1 - first) / period;
	int64_t lo = value >= 0 ? 0 : (-value + stride - 1) / stride;
	int64_t hi = value > top ? -1 : (top - value) / stride;
	hi = hi > k_max ? k_max : hi;
	if (hi >= lo)
		hits = hi - lo + 1;
	return hits;
}

/* Sizes beyond this are not those of a program, and their products would not fit. */
#define MAX_SPATIAL ((int64_t)1 << 20)

/*
 * Pairs of output position and window position that meet an element of the input, in one dimension.
 */
static float valid_positions(const struct ss_hlo_window_dim *w, int64_t input, int64_t output)
{
	int64_t hits = 0, stride = w->stride > 0 ? w->stride : 1;
	int64_t base = w->base_dilation > 0 ? w->base_dilation : 1,
		dilation = w->window_dilation > 0 ? w->window_dilation : 1;
	if (input <= 0 || output <= 0 || w->size <= 0)
		return 0;
	if (w->size > MAX_SPATIAL || output > MAX_SPATIAL || input > MAX_SPATIAL ||
	    stride > MAX_SPATIAL || base > MAX_SPATIAL || dilation > MAX_SPATIAL ||
	    w->padding_low > MAX_SPATIAL || w->padding_low < -MAX_SPATIAL)
		return (float)w->size * (float)output;
	for (int64_t k = 0; k < w->size; k++)
		hits += count_hits(output, stride, k * dilation - w->padding_low, base, input);
	return (float)hits;
}

static float convolution(const struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	struct ss_str lhs = operand_shape(c, i, 0), rhs = operand_shape(c, i, 1),
		      result = ss_gpu_first_array(i->in.shape);
	struct ss_str dims = field(i->in.body, HLO_INSTRUCTION_CONVOLUTION);
	struct ss_hlo_window w = ss_hlo_window_of(i->in.body);
	struct ss_hlo_window_dim d;
	int64_t groups = number(i->in.body, HLO_INSTRUCTION_BATCH_GROUPS, 1);
	float positions = 1;
	for (uint32_t k = 0; k < MAX_RANK && ss_hlo_window_next(&w, &d); k++)
		positions *= valid_positions(
			&d, ss_gpu_dim(lhs, ss_gpu_nth(dims, CONVOLUTION_INPUT_SPATIAL, k)),
			ss_gpu_dim(result, ss_gpu_nth(dims, CONVOLUTION_OUTPUT_SPATIAL, k)));
	float features = (float)ss_gpu_dim(rhs, number(dims, CONVOLUTION_KERNEL_INPUT_FEATURE, 0)) *
			 (float)ss_gpu_dim(result, number(dims, CONVOLUTION_OUTPUT_FEATURE, 0));
	float batch = (float)(ss_gpu_dim(lhs, number(dims, CONVOLUTION_INPUT_BATCH, 0)) /
			      (groups > 0 ? groups : 1));
	return FMA * features * batch * positions;
}

static float window_elements(const struct ss_gpu_instr *i)
{
	struct ss_hlo_window w = ss_hlo_window_of(i->in.body);
	struct ss_hlo_window_dim d;
	float n = 1;
	while (ss_hlo_window_next(&w, &d))
		n *= (float)d.size;
	return n;
}

static float called(struct ss_gpu_coster *c, const struct ss_gpu_instr *i, uint32_t k)
{
	uint32_t which = ss_gpu_called(c, &i->in, k);
	return which == SS_NONE ? 0 : computation_flops(c, which);
}

/*
 * Choosing the operand that an element comes from is a compare and a branch; where the threads of a
 * warp differ, both ways are taken. Told by the first boundary alone.
 */
static float concatenate(const struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	int64_t dim = ss_gpu_nth(i->in.body, HLO_INSTRUCTION_DIMENSIONS, 0);
	bool split = dim > 0 && ss_gpu_dim(operand_shape(c, i, 0), dim) % 32;
	return (split ? 400 : 6) * i->elements;
}

static float log2_ceil(float n)
{
	return n > 1 ? ceilf(log2f(n)) : 0;
}

static float fft(const struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(i->in.body, HLO_INSTRUCTION_FFT_LENGTH);
	float factors = 1;
	int64_t length;
	while (ss_hlo_ids_next(&it, &length))
		factors *= length > 1 ? floorf(log2f((float)length)) : 0;
	return FMA * 4 * factors * ss_gpu_elements(operand_shape(c, i, 0));
}

/* Ops on triangles of matrices: the last dimension is their size. */
static float matrix_size(struct ss_str shape)
{
	return (float)ss_gpu_dim(shape, (int64_t)ss_hlo_shape_rank(shape) - 1);
}

static float reduce(struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	float times = ss_gpu_elements(operand_shape(c, i, 0)) -
		      ss_gpu_elements(ss_gpu_first_array(i->in.shape));
	/* Less than nothing where nothing is reduced to something: so XLA counts, and takes it from a sum. */
	return times * called(c, i, 0);
}

static float scatter(struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	/* Operands are n inputs, the indices, n updates. */
	uint32_t first_update = ss_gpu_operand_count(&i->in) / 2 + 1;
	return ss_gpu_elements(operand_shape(c, i, first_update)) * called(c, i, 0);
}

static float select_and_scatter(struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	float source = ss_gpu_elements(operand_shape(c, i, 1));
	return source * (window_elements(i) - 1) * called(c, i, 0) + source * called(c, i, 1);
}

static float largest_branch(struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(i->in.body, HLO_INSTRUCTION_CALLED_IDS);
	float max = 0;
	int64_t id;
	while (ss_hlo_ids_next(&it, &id)) {
		uint32_t which = ss_hlo_computation_by_id(c->m, id);
		max = which == SS_NONE ? max : fmaxf(max, computation_flops(c, which));
	}
	return max;
}

/* The cost per element of the last instruction of a reduction; XLA counts no other. */
static float root_flops(const struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	uint32_t which = ss_gpu_called(c, &i->in, 0);
	uint32_t root = which == SS_NONE ? SS_NONE : ss_hlo_instr_by_id(c->m, c->m->computations[which].root_id);
	struct ss_hlo_instr r;
	if (root == SS_NONE)
		return 0;
	ss_hlo_instr_read(c->m->instrs[root], &r);
	return ss_gpu_elementwise_flops(i->type, r.opcode);
}

static float begun_flops(const struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	uint32_t begun = ss_gpu_begun(c, &i->in);
	struct ss_gpu_instr r;
	if (begun == SS_NONE)
		return 0;
	ss_gpu_instr_read(c, begun, &r);
	return ss_gpu_elements(r.in.shape) * root_flops(c, &r);
}

static float custom_call(const struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	if (ss_str_starts(i->in.custom_call_target, SS_STR("__cudnn$conv")))
		return convolution(c, i);
	if (ss_str_is(i->in.custom_call_target, "__cublas$lt$matmul"))
		return library_dot(c, i);
	return 0;
}

static float fusion(struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	uint32_t which = ss_gpu_called(c, &i->in, 0), part = ss_gpu_custom_part(c, &i->in);
	if (part != SS_NONE)
		return ss_gpu_flops(c, part);
	const struct ss_gpu_fusion *f = which == SS_NONE ? NULL : ss_gpu_fusion_of(c, which);
	return f ? f->flops : 0;
}

/* Instructions whose work follows from sizes alone. */
static bool plain_flops(struct ss_gpu_coster *c, const struct ss_gpu_instr *i, float *out)
{
	struct ss_str op = i->in.opcode;
	if (ss_str_is(op, "dot"))
		*out = dot(c, i);
	else if (ss_str_is(op, "convolution"))
		*out = convolution(c, i);
	else if (ss_str_is(op, "custom-call"))
		*out = custom_call(c, i);
	else if (ss_str_is(op, "concatenate"))
		*out = concatenate(c, i);
	else if (ss_str_is(op, "sort"))
		*out = ss_gpu_elements(operand_shape(c, i, 0)) *
		       log2_ceil(ss_gpu_elements(operand_shape(c, i, 0)));
	else if (ss_str_is(op, "fft"))
		*out = fft(c, i);
	else if (ss_str_is(op, "cholesky"))
		*out = i->elements * matrix_size(i->in.shape) / 3;
	else if (ss_str_is(op, "triangular-solve"))
		*out = FMA * i->elements * matrix_size(operand_shape(c, i, 0));
	else
		return false;
	return true;
}

/* Instructions that call computations. */
static float calling_flops(struct ss_gpu_coster *c, const struct ss_gpu_instr *i)
{
	struct ss_str op = i->in.opcode;
	if (ss_str_is(op, "fusion"))
		return fusion(c, i);
	if (ss_str_is(op, "reduce"))
		return reduce(c, i);
	if (ss_str_is(op, "reduce-window"))
		return ss_gpu_elements(ss_gpu_first_array(i->in.shape)) * (window_elements(i) - 1) *
		       called(c, i, 0);
	if (ss_str_is(op, "select-and-scatter"))
		return select_and_scatter(c, i);
	if (ss_str_is(op, "scatter"))
		return scatter(c, i);
	if (ss_str_is(op, "map"))
		return i->elements * called(c, i, 0);
	if (ss_str_is(op, "all-reduce") || ss_str_is(op, "all-reduce-start") || ss_str_is(op, "reduce-scatter"))
		return ss_gpu_elements(i->in.shape) * root_flops(c, i);
	if (ss_str_is(op, "async-start"))
		return begun_flops(c, i);
	if (ss_str_is(op, "call"))
		return called(c, i, 0);
	if (ss_str_is(op, "while"))
		return called(c, i, 0) + called(c, i, 1);
	if (ss_str_is(op, "conditional"))
		return largest_branch(c, i);
	return 0;
}

float ss_gpu_flops(struct ss_gpu_coster *c, uint32_t instr)
{
	struct ss_gpu_instr i;
	float flops;
	ss_gpu_instr_read(c, instr, &i);
	bool free_of_charge = ss_str_is(i.in.opcode, "constant") || ss_str_is(i.in.opcode, "rng") ||
			      ss_str_is(i.in.opcode, "map");
	if (!free_of_charge && ss_hlo_is_elementwise(i.in.opcode))
		return i.elements * ss_gpu_elementwise_flops(i.type, i.in.opcode);
	return plain_flops(c, &i, &flops) ? flops : calling_flops(c, &i);
}

static float computation_flops(struct ss_gpu_coster *c, uint32_t computation)
{
	const struct ss_hlo_computation *k = &c->m->computations[computation];
	if (c->has_flops[computation])
		return c->flops[computation];
	if (c->busy[computation] || c->depth == SS_GPU_MAX_DEPTH)
		return 0;
	c->busy[computation] = true;
	c->depth++;
	float sum = 0;
	for (uint32_t i = 0; i < k->ninstrs; i++)
		sum += ss_gpu_flops(c, k->first + i);
	c->depth--;
	c->busy[computation] = false;
	c->flops[computation] = sum;
	c->has_flops[computation] = true;
	return sum;
}
