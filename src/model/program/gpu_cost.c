/*
 * gpu_cost.c - bytes that HLO instructions move, and the cost model's entry.
 */
#include "model/program/gpu_coster.h"

#include <math.h>
#include <stdlib.h>

static void split_free(struct ss_gpu_split *s)
{
	ss_vec_free(&s->operands);
	ss_vec_free(&s->results);
}

struct ss_gpu_coster *ss_gpu_coster_new(const struct ss_hlo_module *m, bool once)
{
	struct ss_gpu_coster *c = calloc(1, sizeof(*c));
	size_t n = (size_t)m->ncomputations + 1;
	if (!c)
		return NULL;
	c->m = m;
	c->once = once;
	c->flops = calloc(n, sizeof(*c->flops));
	c->has_flops = calloc(n, sizeof(*c->has_flops));
	c->bytes = calloc(n, sizeof(*c->bytes));
	c->has_bytes = calloc(n, sizeof(*c->has_bytes));
	c->splits = calloc(n, sizeof(*c->splits));
	c->busy = calloc(n, sizeof(*c->busy));
	c->fusions = calloc(n, sizeof(*c->fusions));
	c->reached = calloc((size_t)m->ninstrs + 1, sizeof(*c->reached));
	if (c->flops && c->has_flops && c->bytes && c->has_bytes && c->splits && c->busy && c->fusions && c->reached &&
	    ss_gpu_reach(c, c->reached))
		return c;
	ss_gpu_coster_free(c);
	return NULL;
}

void ss_gpu_coster_free(struct ss_gpu_coster *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; c->fusions && i < c->m->ncomputations; i++)
		free(c->fusions[i].param_use);
	for (uint32_t i = 0; c->splits && i < c->m->ncomputations; i++)
		split_free(&c->splits[i]);
	free(c->splits);
	free(c->flops);
	free(c->has_flops);
	free(c->bytes);
	free(c->has_bytes);
	free(c->busy);
	free(c->reached);
	free(c->fusions);
	free(c);
}

/* The k-th dimension from the most minor one on; without a layout the last is most minor. */
static int64_t gpu_minor(struct ss_str shape, int64_t k)
{
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(SHAPE_LAYOUT))
			return ss_gpu_nth(f.bytes, LAYOUT_MINOR_TO_MAJOR, k);
	return (int64_t)ss_hlo_shape_rank(shape) - 1 - k;
}

/* Of an array whose layout packs several elements into a byte. */
static uint64_t packed_bits(struct ss_str shape)
{
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	uint64_t bits = 0;
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(SHAPE_LAYOUT))
			continue;
		struct ss_pb layout = ss_pb_of(f.bytes);
		while (ss_pb_next(&layout, &f))
			if (f.key == PB_VAR(LAYOUT_ELEMENT_BITS))
				bits = f.u;
	}
	return bits < 8 ? bits : 0;
}

static uint64_t bytes_of(struct ss_str shape)
{
	uint64_t bits = ss_hlo_type_bits(ss_hlo_shape_type(shape)) < 8 ? packed_bits(shape) : 0;
	uint64_t n = bits ? ss_hlo_shape_elements(shape) : 0;
	if (bits && n < UINT64_MAX / 8)
		return (n * bits + 7) / 8;
	return (uint64_t)ss_hlo_shape_bytes(shape);
}

/* A count that was computed in floats. */
static double whole(float v)
{
	return v > 0 && v < 1.8e19f ? (double)(uint64_t)v : 0;
}

/* Is it an array in the device's main memory? Only those are in the split. */
static bool in_hbm(struct ss_str shape)
{
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	if (ss_hlo_shape_type(shape) == SS_HLO_TUPLE)
		return false;
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(SHAPE_LAYOUT))
			continue;
		struct ss_pb layout = ss_pb_of(f.bytes);
		while (ss_pb_next(&layout, &f))
			if (f.key == PB_VAR(LAYOUT_MEMORY_SPACE) && f.u != 0)
				return false;
	}
	return true;
}

/* Places beyond so many are left out: computations that call each other could add them up without end. */
#define MAX_PLACES 1024u

/* Room for place `k`, zeroed. */
#define ROOM(split, v, k) \
	while (!(split)->no_memory && (v).n <= (k)) \
	(split)->no_memory = !ss_vec_push(&(v), 0)

/* `n` bytes of operand `k`, of this shape. */
static void read_part(struct ss_gpu_bytes *b, uint32_t k, struct ss_str shape, uint64_t n)
{
	b->bytes += (float)n;
	b->read += in_hbm(shape) ? n : 0;
	if (!b->split || k >= MAX_PLACES)
		return;
	ROOM(b->split, b->split->operands, k);
	if (!b->split->no_memory)
		b->split->operands.v[k] += (float)n;
}

/* `n` bytes of a result of this shape. */
static void write_part(struct ss_gpu_bytes *b, struct ss_str shape, uint64_t n)
{
	b->bytes += (float)n;
	b->write += in_hbm(shape) ? n : 0;
	if (b->split)
		b->split->result += (float)n;
}

/* The same of the k-th array of a tuple. */
static void write_array(struct ss_gpu_bytes *b, uint32_t k, struct ss_str shape, uint64_t n)
{
	b->bytes += (float)n;
	b->write += in_hbm(shape) ? n : 0;
	if (!b->split || k >= MAX_PLACES)
		return;
	ROOM(b->split, b->split->results, k);
	if (!b->split->no_memory)
		b->split->results.v[k] += (float)n;
}

/* All arrays of a result, those of tuples of tuples too. */
static uint64_t leaf_bytes(struct ss_str shape, unsigned depth)
{
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	uint64_t sum = 0;
	if (ss_hlo_shape_type(shape) != SS_HLO_TUPLE)
		return bytes_of(shape);
	while (depth && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(SHAPE_TUPLE_SHAPES))
			sum += leaf_bytes(f.bytes, depth - 1);
	return sum;
}

#define MAX_TUPLES 16 /* tuples within tuples */

/* Each array of a result for itself, so that those in the device's memory are told from the others. */
static void write_leaves(struct ss_gpu_bytes *b, struct ss_str shape, unsigned depth)
{
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	if (ss_hlo_shape_type(shape) != SS_HLO_TUPLE) {
		write_part(b, shape, bytes_of(shape));
		return;
	}
	while (depth && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(SHAPE_TUPLE_SHAPES))
			write_leaves(b, f.bytes, depth - 1);
}

/*
 * Operands from `from` on, which say where: in `bytes` the first alone counts, in the split all do.
 */
static void read_indices(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in,
			 uint32_t from, struct ss_gpu_bytes *b)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(in->body, HLO_INSTRUCTION_OPERAND_IDS);
	int64_t id;
	for (uint32_t k = 0; ss_hlo_ids_next(&it, &id); k++) {
		if (k < from)
			continue;
		struct ss_str shape = ss_gpu_shape(c, ss_hlo_instr_by_id(c->m, id));
		float before = b->bytes;
		read_part(b, k, shape, bytes_of(shape));
		if (k != from)
			b->bytes = before;
	}
}

static void all_operands(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in,
			 struct ss_gpu_bytes *b)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(in->body, HLO_INSTRUCTION_OPERAND_IDS);
	int64_t id;
	for (uint32_t k = 0; ss_hlo_ids_next(&it, &id); k++) {
		struct ss_str shape = ss_gpu_shape(c, ss_hlo_instr_by_id(c->m, id));
		read_part(b, k, shape, bytes_of(shape));
	}
}

/*
 * The bytes that a fusion writes for one array of its result: the whole array, or only the update if it
 * is updated in place.
 */
static uint64_t written(const struct ss_gpu_coster *c, uint32_t producer, struct ss_str shape)
{
	struct ss_hlo_instr in;
	if (producer != SS_NONE) {
		ss_hlo_instr_read(c->m->instrs[producer], &in);
		if (ss_str_is(in.opcode, "dynamic-update-slice"))
			return bytes_of(ss_gpu_shape(c, ss_gpu_operand(c, &in, 1)));
	}
	return bytes_of(shape);
}

static void fusion_writes(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in,
			  uint32_t computation, struct ss_gpu_bytes *b)
{
	uint32_t root = ss_hlo_instr_by_id(c->m, c->m->computations[computation].root_id);
	struct ss_hlo_instr r = { .body = { "", 0 } };
	if (ss_hlo_shape_type(in->shape) != SS_HLO_TUPLE) {
		write_part(b, in->shape, written(c, root, in->shape));
		return;
	}
	if (root != SS_NONE)
		ss_hlo_instr_read(c->m->instrs[root], &r);
	bool is_tuple = ss_str_is(r.opcode, "tuple");
	struct ss_hlo_ids it = ss_hlo_ids_of(r.body, HLO_INSTRUCTION_OPERAND_IDS);
	struct ss_pb p = ss_pb_of(in->shape);
	struct ss_pb_field f;
	uint32_t k = 0;
	while (ss_pb_next(&p, &f)) {
		int64_t id;
		if (f.key != PB_LEN(SHAPE_TUPLE_SHAPES))
			continue;
		uint32_t producer = is_tuple && ss_hlo_ids_next(&it, &id)
					    ? ss_hlo_instr_by_id(c->m, id)
					    : SS_NONE;
		if (ss_hlo_shape_type(f.bytes) != SS_HLO_TUPLE)
			write_array(b, k, f.bytes, written(c, producer, f.bytes));
		k++;
	}
}

static void fusion_bytes(struct ss_gpu_coster *c, const struct ss_hlo_instr *in,
			 struct ss_gpu_bytes *b)
{
	uint32_t which = ss_gpu_called(c, in, 0);
	const struct ss_gpu_fusion *f = which == SS_NONE ? NULL : ss_gpu_fusion_of(c, which);
	struct ss_hlo_ids it = ss_hlo_ids_of(in->body, HLO_INSTRUCTION_OPERAND_IDS);
	int64_t id;
	if (!f)
		return;
	fusion_writes(c, in, which, b);
	for (uint32_t k = 0; k < f->nparams && ss_hlo_ids_next(&it, &id); k++) {
		struct ss_str shape = ss_gpu_shape(c, ss_hlo_instr_by_id(c->m, id));
		read_part(b, k, shape, (uint64_t)((float)bytes_of(shape) * fminf(1, f->param_use[k])));
	}
}

static void custom_call_bytes(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in,
			      struct ss_gpu_bytes *b)
{
	bool known = ss_str_starts(in->custom_call_target, SS_STR("__cudnn$conv")) ||
		     ss_str_is(in->custom_call_target, "__cublas$lt$matmul");
	if (!known)
		return;
	/* Only the array of the result (array, workspace). */
	bool tuple = ss_hlo_shape_type(in->shape) == SS_HLO_TUPLE;
	write_part(b, in->shape, bytes_of(tuple ? ss_hlo_tuple_at(in->shape, 0) : in->shape));
	all_operands(c, in, b);
}

/* A transposition that only renames dimensions: the elements stand where they stood. */
static bool is_bitcast(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in)
{
	struct ss_str from = ss_gpu_shape(c, ss_gpu_operand(c, in, 0));
	uint32_t rank = ss_hlo_shape_rank(in->shape);
	if (!ss_str_is(in->opcode, "transpose") || rank > 64 || ss_hlo_shape_rank(from) != rank ||
	    ss_hlo_shape_type(from) != ss_hlo_shape_type(in->shape))
		return false;
	for (uint32_t i = 0; i < rank; i++)
		if (ss_gpu_nth(in->body, HLO_INSTRUCTION_DIMENSIONS, gpu_minor(in->shape, i)) !=
		    gpu_minor(from, i))
			return false;
	return true;
}

static bool moves_nothing(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in)
{
	static const struct ss_str list[] = {
		SS_STR_INIT("parameter"),	  SS_STR_INIT("constant"),
		SS_STR_INIT("get-tuple-element"), SS_STR_INIT("bitcast"),
		SS_STR_INIT("after-all"),	  SS_STR_INIT("domain"),
	};
	for (size_t i = 0; i < SS_COUNT(list); i++)
		if (ss_str_eq(in->opcode, list[i]))
			return true;
	return is_bitcast(c, in);
}

/* Instructions that read or write a part of an operand. */
static bool partial_bytes(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in,
			  struct ss_gpu_bytes *b)
{
	uint64_t result = bytes_of(in->shape);
	struct ss_str data = ss_gpu_shape(c, ss_gpu_operand(c, in, 0));
	if (ss_str_is(in->opcode, "slice")) {
		write_part(b, in->shape, result);
		read_part(b, 0, data, result);
	} else if (ss_str_is(in->opcode, "gather") || ss_str_is(in->opcode, "dynamic-slice")) {
		write_part(b, in->shape, result);
		read_part(b, 0, data, result);
		read_indices(c, in, 1, b);
	} else if (ss_str_is(in->opcode, "dynamic-update-slice")) {
		struct ss_str update = ss_gpu_shape(c, ss_gpu_operand(c, in, 1));
		write_part(b, in->shape, bytes_of(update));
		read_part(b, 1, update, bytes_of(update));
		read_indices(c, in, 2, b);
	} else if (ss_str_is(in->opcode, "scatter")) {
		uint32_t half = ss_gpu_operand_count(in) / 2;
		struct ss_str updates = ss_gpu_shape(c, ss_gpu_operand(c, in, half + 1));
		struct ss_str indices = ss_gpu_shape(c, ss_gpu_operand(c, in, half));
		write_part(b, in->shape, bytes_of(updates));
		read_part(b, 0, updates, bytes_of(updates));
		read_part(b, half, indices, bytes_of(indices));
		read_part(b, half + 1, updates, bytes_of(updates));
	} else {
		return false;
	}
	return true;
}

/* What stands in `split` at the places that `in` has, as its own reads and writes. */
static void take_split(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in, const struct ss_gpu_split *split,
		       struct ss_gpu_bytes *b)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(in->body, HLO_INSTRUCTION_OPERAND_IDS);
	int64_t id;
	for (uint32_t k = 0; k < split->operands.n && ss_hlo_ids_next(&it, &id); k++)
		if (in_hbm(ss_gpu_shape(c, ss_hlo_instr_by_id(c->m, id))))
			b->read += (uint64_t)whole(split->operands.v[k]);
	if (ss_hlo_shape_type(in->shape) != SS_HLO_TUPLE) {
		b->write += in_hbm(in->shape) ? (uint64_t)whole(split->result) : 0;
		return;
	}
	struct ss_pb p = ss_pb_of(in->shape);
	struct ss_pb_field f;
	for (uint32_t k = 0; k < split->results.n && ss_pb_next(&p, &f);) {
		if (f.key != PB_LEN(SHAPE_TUPLE_SHAPES))
			continue;
		b->write += in_hbm(f.bytes) ? (uint64_t)whole(split->results.v[k]) : 0;
		k++;
	}
}

static void add_places(struct ss_gpu_split *to, const struct ss_gpu_split *from, bool largest)
{
#define ADD(place, add) (place) = largest ? fmaxf((place), (add)) : (place) + (add)
	for (size_t k = 0; k < from->operands.n; k++) {
		ROOM(to, to->operands, k);
		if (!to->no_memory)
			ADD(to->operands.v[k], from->operands.v[k]);
	}
	for (size_t k = 0; k < from->results.n; k++) {
		ROOM(to, to->results, k);
		if (!to->no_memory)
			ADD(to->results.v[k], from->results.v[k]);
	}
	ADD(to->result, from->result);
#undef ADD
}

/*
 * As the gather or scatter inside, at the places that the fusion has; in the split also the operands
 * of the fusion that those have not.
 */
static void custom_part_bytes(struct ss_gpu_coster *c, const struct ss_hlo_instr *fusion,
			      uint32_t part, struct ss_gpu_bytes *b)
{
	struct ss_hlo_instr in;
	struct ss_gpu_split split = { .result = 0 };
	struct ss_gpu_bytes inner = { .split = &split };
	ss_hlo_instr_read(c->m->instrs[part], &in);
	uint32_t n = ss_gpu_operand_count(&in);
	struct ss_hlo_ids it = ss_hlo_ids_of(fusion->body, HLO_INSTRUCTION_OPERAND_IDS);
	int64_t id;
	partial_bytes(c, &in, &inner);
	for (uint32_t k = 0; ss_hlo_ids_next(&it, &id); k++) {
		if (k < n)
			continue;
		struct ss_str shape = ss_gpu_shape(c, ss_hlo_instr_by_id(c->m, id));
		float before = inner.bytes;
		read_part(&inner, k, shape, bytes_of(shape));
		inner.bytes = before;
	}
	b->bytes += inner.bytes;
	take_split(c, fusion, &split, b);
	if (b->split)
		add_places(b->split, &split, false);
	c->no_memory |= split.no_memory;
	split_free(&split);
}

/* All of each array to reduce, and for each result its initial value. */
static void reduce_bytes(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in,
			 struct ss_gpu_bytes *b)
{
	uint32_t n = ss_gpu_operand_count(in);
	float results = ss_gpu_elements(ss_gpu_first_array(in->shape));
	write_part(b, in->shape, leaf_bytes(in->shape, MAX_TUPLES));
	struct ss_hlo_ids it = ss_hlo_ids_of(in->body, HLO_INSTRUCTION_OPERAND_IDS);
	int64_t id;
	for (uint32_t k = 0; ss_hlo_ids_next(&it, &id); k++) {
		struct ss_str shape = ss_gpu_shape(c, ss_hlo_instr_by_id(c->m, id));
		float times = k < n / 2 ? 1 : results;
		read_part(b, k, shape, (uint64_t)whole((float)bytes_of(shape) * times));
	}
}

/* Half of a triangular matrix is zeros. */
static bool triangular_bytes(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in,
			     struct ss_gpu_bytes *b)
{
	struct ss_str a = ss_gpu_shape(c, ss_gpu_operand(c, in, 0));
	if (ss_str_is(in->opcode, "cholesky")) {
		write_part(b, in->shape, bytes_of(a) / 2);
		read_part(b, 0, a, bytes_of(a) / 2);
		return true;
	}
	if (!ss_str_is(in->opcode, "triangular-solve"))
		return false;
	struct ss_str right = ss_gpu_shape(c, ss_gpu_operand(c, in, 1));
	write_part(b, in->shape, bytes_of(in->shape));
	read_part(b, 1, right, bytes_of(right));
	/* In XLA's split the right side stands in the place of the matrix as well. */
	float before = b->bytes;
	read_part(b, 0, right, bytes_of(right));
	b->bytes = before + (float)bytes_of(a) / 2;
	return true;
}

static struct ss_gpu_bytes count_bytes(struct ss_gpu_coster *c, const struct ss_hlo_instr *in, struct ss_gpu_split *split);

/* All that a computation moves, each instruction counted once. */
static float computation_bytes(struct ss_gpu_coster *c, uint32_t computation)
{
	const struct ss_hlo_computation *k = &c->m->computations[computation];
	if (c->has_bytes[computation])
		return c->bytes[computation];
	if (c->busy[computation] || c->depth == SS_GPU_MAX_DEPTH)
		return 0;
	c->busy[computation] = true;
	c->depth++;
	float sum = 0;
	for (uint32_t i = 0; i < k->ninstrs; i++) {
		struct ss_hlo_instr in;
		ss_hlo_instr_read(c->m->instrs[k->first + i], &in);
		sum += count_bytes(c, &in, &c->splits[computation]).bytes;
	}
	c->depth--;
	c->busy[computation] = false;
	c->no_memory |= c->splits[computation].no_memory;
	c->bytes[computation] = sum;
	c->has_bytes[computation] = true;
	return sum;
}

/* Instructions that are what they call: the sum, of branches the largest, place by place. */
static bool calling_bytes(struct ss_gpu_coster *c, const struct ss_hlo_instr *in,
			  struct ss_gpu_bytes *b)
{
	bool branches = ss_str_is(in->opcode, "conditional");
	struct ss_hlo_ids it = ss_hlo_ids_of(in->body, HLO_INSTRUCTION_CALLED_IDS);
	struct ss_gpu_split split = { .result = 0 };
	int64_t id;
	if (!branches && !ss_str_is(in->opcode, "while") && !ss_str_is(in->opcode, "call"))
		return false;
	while (ss_hlo_ids_next(&it, &id)) {
		uint32_t which = ss_hlo_computation_by_id(c->m, id);
		float bytes = which == SS_NONE ? 0 : computation_bytes(c, which);
		b->bytes = branches ? fmaxf(b->bytes, bytes) : b->bytes + bytes;
		if (which != SS_NONE && c->has_bytes[which])
			add_places(&split, &c->splits[which], branches);
	}
	take_split(c, in, &split, b);
	if (b->split)
		add_places(b->split, &split, false);
	c->no_memory |= split.no_memory;
	split_free(&split);
	return true;
}

/*
 * Data that each of n devices has the n-th part of in the end, or in the beginning, goes round in
 * such parts: read and written n - 1 times, and the whole once more.
 */
static float exchanged(uint64_t bytes, uint64_t ranks)
{
	return (float)(bytes / ranks) * (3 * (float)ranks - 1);
}

/* Collectives that cost other than what they read and write; that is in the split all the same. */
static void collective_bytes(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in, struct ss_gpu_bytes *b)
{
	if (ss_str_is(in->opcode, "all-gather")) {
		b->bytes = exchanged(leaf_bytes(in->shape, MAX_TUPLES), ss_gpu_ranks(in->body));
	} else if (ss_str_is(in->opcode, "all-gather-start")) {
		/* Its result is (what is gathered, what will have been). */
		struct ss_str after = ss_hlo_tuple_at(in->shape, 1);
		b->bytes = exchanged(leaf_bytes(after, MAX_TUPLES), ss_gpu_ranks(in->body));
	} else if (ss_str_is(in->opcode, "reduce-scatter")) {
		struct ss_gpu_bytes all = { .bytes = 0 };
		all_operands(c, in, &all);
		b->bytes = exchanged((uint64_t)whole(all.bytes), ss_gpu_ranks(in->body));
	} else if (ss_str_is(in->opcode, "all-reduce-start")) {
		b->bytes = (float)leaf_bytes(in->shape, MAX_TUPLES);
	}
}

/* One execution of an instruction; also added to `split`, if that is not NULL. */
static struct ss_gpu_bytes count_bytes(struct ss_gpu_coster *c, const struct ss_hlo_instr *in, struct ss_gpu_split *split)
{
	struct ss_gpu_bytes b = { .split = split };
	if (moves_nothing(c, in) || partial_bytes(c, in, &b) || triangular_bytes(c, in, &b) ||
	    calling_bytes(c, in, &b))
		return b;
	uint32_t part = ss_gpu_custom_part(c, in);
	if (part != SS_NONE) {
		custom_part_bytes(c, in, part, &b);
	} else if (ss_str_is(in->opcode, "fusion")) {
		fusion_bytes(c, in, &b);
	} else if (ss_str_is(in->opcode, "custom-call")) {
		custom_call_bytes(c, in, &b);
	} else if (ss_str_is(in->opcode, "async-start")) {
		uint32_t begun = ss_gpu_begun(c, in);
		struct ss_hlo_instr r;
		if (begun != SS_NONE) {
			ss_hlo_instr_read(c->m->instrs[begun], &r);
			collective_bytes(c, &r, &b);
		}
	} else if (ss_str_is(in->opcode, "reduce")) {
		reduce_bytes(c, in, &b);
	} else if (ss_str_is(in->opcode, "tuple")) {
		write_part(&b, in->shape, bytes_of(in->shape));
	} else if (ss_str_is(in->opcode, "infeed")) {
		write_leaves(&b, in->shape, MAX_TUPLES);
	} else {
		write_part(&b, in->shape, leaf_bytes(in->shape, MAX_TUPLES));
		all_operands(c, in, &b);
		collective_bytes(c, in, &b);
	}
	return b;
}

/*
 * The device does work on narrow types faster: as if it were less. By the widest operand; flags do
 * not count.
 */
static double speedup(const struct ss_gpu_coster *c, const struct ss_hlo_instr *in)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(in->body, HLO_INSTRUCTION_OPERAND_IDS);
	unsigned widest = 0;
	int64_t id;
	while (ss_hlo_ids_next(&it, &id)) {
		uint64_t type = ss_hlo_shape_type(ss_gpu_shape(c, ss_hlo_instr_by_id(c->m, id)));
		unsigned bits = type == SS_HLO_PRED ? 0 : ss_hlo_type_bits(type);
		widest = bits > widest ? bits : widest;
	}
	return widest == 8 ? 2 : widest == 4 ? 4 : 1;
}

bool ss_gpu_cost(struct ss_gpu_coster *c, uint32_t instr, struct ss_cost *out)
{
	struct ss_hlo_instr in;
	*out = (struct ss_cost){ 0 };
	if (!c->reached[instr])
		return true;
	ss_hlo_instr_read(c->m->instrs[instr], &in);
	float flops = ss_gpu_flops(c, instr);
	struct ss_gpu_bytes b = count_bytes(c, &in, NULL);
	*out = (struct ss_cost){
		.model_flops = whole(flops),
		.flops = ceil(whole(flops) / speedup(c, &in)),
		.bytes = (uint64_t)whole(b.bytes),
	};
	out->mem[SS_MEM_HBM_READ] = b.read;
	out->mem[SS_MEM_HBM_WRITE] = b.write;
	out->has_mem = b.read || b.write;
	return !c->no_memory;
}
