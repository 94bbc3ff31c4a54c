/*
 * text_attrs.c - what an instruction says beyond its operands, in the compiler's order: first what
 * its opcode has, then the computations that it calls.
 */
#include "hlo/literal.h"
#include "base/bisect.h"
#include "hlo/shape.h"
#include "hlo/text_parts.h"

static void begin_group(struct ss_hlo_printer *p)
{
	p->in_group = true;
	p->group_begin = p->b->n;
}

static void attr_i64(struct ss_hlo_printer *p, const char *name, uint64_t v)
{
	ss_hlo_attr(p, name);
	ss_buf_i64(p->b, (int64_t)v);
}

static void attr_bool(struct ss_hlo_printer *p, const char *name, bool v)
{
	ss_hlo_attr(p, name);
	ss_buf_z(p->b, v ? "true" : "false");
}

static void attr_true(struct ss_hlo_printer *p, const char *name, uint64_t v)
{
	if (v)
		attr_bool(p, name, true);
}

static void attr_quoted(struct ss_hlo_printer *p, const char *name, struct ss_str v)
{
	ss_hlo_attr(p, name);
	ss_buf_char(p->b, '"');
	ss_hlo_print_escaped(p->b, v);
	ss_buf_char(p->b, '"');
}

static void attr_list(struct ss_hlo_printer *p, const char *name, struct ss_str body, uint32_t number)
{
	ss_hlo_attr(p, name);
	ss_buf_char(p->b, '{');
	ss_hlo_print_ints(p->b, body, number);
	ss_buf_char(p->b, '}');
}

/* Only if there is something in it. */
static void attr_some(struct ss_hlo_printer *p, const char *name, struct ss_str body, uint32_t number)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(body, number);
	int64_t v;
	if (ss_hlo_ids_next(&it, &v))
		attr_list(p, name, body, number);
}

static void attr_word(struct ss_hlo_printer *p, const char *name, uint64_t v, const char *const *words, size_t n)
{
	ss_hlo_attr(p, name);
	ss_buf_z(p->b, v < n ? words[v] : "unknown");
}

static void dimensions(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	attr_list(p, "dimensions", i->body, HLO_INSTRUCTION_DIMENSIONS);
}

/* --- convolutions -------------------------------------------------------------------------------- */

static void group_counts(struct ss_hlo_printer *p, struct ss_str body)
{
	uint64_t features = ss_hlo_field_u64(body, HLO_INSTRUCTION_FEATURE_GROUPS);
	uint64_t batches = ss_hlo_field_u64(body, HLO_INSTRUCTION_BATCH_GROUPS);
	if (features > 1)
		attr_i64(p, "feature_group_count", features);
	if (batches > 1)
		attr_i64(p, "batch_group_count", batches);
}

static void precision(struct ss_hlo_printer *p, struct ss_str body)
{
	static const char *const words[] = { "default", "high", "highest" };
	static const char *const algorithms[] = {
		"unset", "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum", "dot_f16_f16_f16", "dot_f16_f16_f32",
		"dot_bf16_bf16_bf16", "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3", "dot_bf16_bf16_f32_x6", "dot_tf32_tf32_f32",
		"dot_tf32_tf32_f32_x3", "dot_f32_f32_f32", "dot_f64_f64_f64", "dot_bf16_bf16_f32_x9", "dot_bf16_bf16_fp8x3",
		"dot_bf16_bf16_fp8x4",
	};
	struct ss_str config;
	int64_t v;
	bool shown = false;
	if (!ss_hlo_field(body, HLO_INSTRUCTION_PRECISION, &config))
		return;
	struct ss_hlo_ids it = ss_hlo_ids_of(config, PRECISION_OPERANDS);
	while (ss_hlo_ids_next(&it, &v))
		shown |= v != 0;
	it = ss_hlo_ids_of(config, PRECISION_OPERANDS);
	if (shown)
		ss_hlo_attr(p, "operand_precision");
	for (const char *sep = "{"; shown && ss_hlo_ids_next(&it, &v); sep = ",") {
		ss_buf_z(p->b, sep);
		ss_buf_z(p->b, v >= 0 && v < 3 ? words[v] : "unknown");
	}
	if (shown)
		ss_buf_char(p->b, '}');
	uint64_t algorithm = ss_hlo_field_u64(config, PRECISION_ALGORITHM);
	if (algorithm)
		attr_word(p, "algorithm", algorithm, algorithms, SS_COUNT(algorithms));
}

static void convolution(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	ss_hlo_print_window(p, i->body);
	ss_hlo_print_dim_labels(p, i->body);
	group_counts(p, i->body);
	precision(p, i->body);
}

static void reduce_window(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	ss_hlo_print_window(p, i->body);
}

/* --- dots, gathers, scatters ------------------------------------------------------------------- */

static void dot_dims(struct ss_hlo_printer *p, struct ss_str dims)
{
	attr_some(p, "lhs_batch_dims", dims, DOT_LHS_BATCH);
	attr_some(p, "lhs_contracting_dims", dims, DOT_LHS_CONTRACTING);
	attr_some(p, "rhs_batch_dims", dims, DOT_RHS_BATCH);
	attr_some(p, "rhs_contracting_dims", dims, DOT_RHS_CONTRACTING);
}

static void dot(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str dims;
	begin_group(p);
	if (ss_hlo_field(i->body, HLO_INSTRUCTION_DOT, &dims))
		dot_dims(p, dims);
	p->in_group = false;
	precision(p, i->body);
}

static void ragged_dot(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str ragged, dims;
	begin_group(p);
	if (ss_hlo_field(i->body, HLO_INSTRUCTION_RAGGED_DOT, &ragged)) {
		if (ss_hlo_field(ragged, RAGGED_DOT_DOT, &dims))
			dot_dims(p, dims);
		attr_list(p, "lhs_ragged_dims", ragged, RAGGED_DOT_LHS_RAGGED);
		attr_some(p, "rhs_group_dims", ragged, RAGGED_DOT_RHS_GROUP);
	}
	p->in_group = false;
	precision(p, i->body);
}

static void gather(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str g = { "", 0 };
	ss_hlo_field(i->body, HLO_INSTRUCTION_GATHER, &g);
	begin_group(p);
	attr_list(p, "offset_dims", g, GATHER_OFFSET_DIMS);
	attr_list(p, "collapsed_slice_dims", g, GATHER_COLLAPSED_DIMS);
	attr_list(p, "start_index_map", g, GATHER_START_INDEX_MAP);
	attr_some(p, "operand_batching_dims", g, GATHER_OPERAND_BATCHING);
	attr_some(p, "start_indices_batching_dims", g, GATHER_INDICES_BATCHING);
	attr_i64(p, "index_vector_dim", ss_hlo_field_u64(g, GATHER_INDEX_VECTOR_DIM));
	p->in_group = false;
	attr_list(p, "slice_sizes", i->body, HLO_INSTRUCTION_GATHER_SLICE_SIZES);
	attr_true(p, "indices_are_sorted", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_INDICES_SORTED));
}

static void scatter(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str s = { "", 0 };
	ss_hlo_field(i->body, HLO_INSTRUCTION_SCATTER, &s);
	begin_group(p);
	attr_list(p, "update_window_dims", s, SCATTER_WINDOW_DIMS);
	attr_list(p, "inserted_window_dims", s, SCATTER_INSERTED_DIMS);
	attr_list(p, "scatter_dims_to_operand_dims", s, SCATTER_DIMS_TO_OPERAND);
	attr_some(p, "input_batching_dims", s, SCATTER_INPUT_BATCHING);
	attr_some(p, "scatter_indices_batching_dims", s, SCATTER_INDICES_BATCHING);
	attr_i64(p, "index_vector_dim", ss_hlo_field_u64(s, SCATTER_INDEX_VECTOR_DIM));
	p->in_group = false;
	attr_true(p, "indices_are_sorted", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_INDICES_SORTED));
	attr_true(p, "unique_indices", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_UNIQUE_INDICES));
}

/* --- collectives ------------------------------------------------------------------------------- */

static void channel(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	uint64_t id = ss_hlo_field_u64(i->body, HLO_INSTRUCTION_CHANNEL_ID);
	if (id)
		attr_i64(p, "channel_id", id);
}

static void collective(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	channel(p, i);
	ss_hlo_print_replica_groups(p, i->body);
	attr_true(p, "constrain_layout", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_CONSTRAIN_LAYOUT));
}

static void global_ids(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	attr_true(p, "use_global_device_ids", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_GLOBAL_DEVICE_IDS));
}

static void all_gather(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	collective(p, i);
	dimensions(p, i);
	global_ids(p, i);
}

static void all_reduce(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	collective(p, i);
	global_ids(p, i);
}

static void reduce_scatter(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	all_reduce(p, i);
	dimensions(p, i);
}

static void all_to_all(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	collective(p, i);
	attr_some(p, "dimensions", i->body, HLO_INSTRUCTION_DIMENSIONS);
}

static void collective_broadcast(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	collective(p, i);
	attr_bool(p, "has_dynamic_root", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_DYNAMIC_ROOT));
}

static void permute(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_pb c = ss_pb_of(i->body);
	struct ss_str pair;
	channel(p, i);
	ss_hlo_attr(p, "source_target_pairs");
	ss_buf_char(p->b, '{');
	for (const char *comma = ""; ss_hlo_next_field(&c, HLO_INSTRUCTION_SOURCE_TARGETS, &pair); comma = ",")
		ss_buf_printf(p->b, "%s{%lld,%lld}", comma, (long long)ss_hlo_field_u64(pair, SOURCE_TARGET_SOURCE),
			      (long long)ss_hlo_field_u64(pair, SOURCE_TARGET_TARGET));
	ss_buf_char(p->b, '}');
	attr_some(p, "slice_sizes", i->body, HLO_INSTRUCTION_DYNAMIC_SLICE_SIZES);
}

static void transfer(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	channel(p, i);
	attr_true(p, "is_host_transfer", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_IS_HOST_TRANSFER));
}

/* --- slices, pads, comparisons and other single words ------------------------------------------ */

static void slice(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_pb c = ss_pb_of(i->body);
	struct ss_str dim;
	bool strides = false;
	while (ss_hlo_next_field(&c, HLO_INSTRUCTION_SLICES, &dim))
		strides |= ss_hlo_field_u64(dim, SLICE_STRIDE) != 1;
	ss_hlo_attr(p, "slice");
	ss_buf_char(p->b, '{');
	c = ss_pb_of(i->body);
	for (const char *comma = ""; ss_hlo_next_field(&c, HLO_INSTRUCTION_SLICES, &dim); comma = ", ") {
		ss_buf_printf(p->b, "%s[%lld:%lld", comma, (long long)ss_hlo_field_u64(dim, SLICE_START),
			      (long long)ss_hlo_field_u64(dim, SLICE_LIMIT));
		if (strides)
			ss_buf_printf(p->b, ":%lld", (long long)ss_hlo_field_u64(dim, SLICE_STRIDE));
		ss_buf_char(p->b, ']');
	}
	ss_buf_char(p->b, '}');
}

static void dynamic_slice(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	attr_list(p, "dynamic_slice_sizes", i->body, HLO_INSTRUCTION_DYNAMIC_SLICE_SIZES);
}

static void pad(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str config = { "", 0 }, dim;
	bool interior = false;
	ss_hlo_field(i->body, HLO_INSTRUCTION_PADDING, &config);
	struct ss_pb c = ss_pb_of(config);
	while (ss_hlo_next_field(&c, PADDING_DIMENSIONS, &dim))
		interior |= ss_hlo_field_u64(dim, PADDING_INTERIOR) != 0;
	ss_hlo_attr(p, "padding");
	c = ss_pb_of(config);
	for (const char *x = ""; ss_hlo_next_field(&c, PADDING_DIMENSIONS, &dim); x = "x") {
		ss_buf_printf(p->b, "%s%lld_%lld", x, (long long)ss_hlo_field_u64(dim, PADDING_LOW),
			      (long long)ss_hlo_field_u64(dim, PADDING_HIGH));
		if (interior)
			ss_buf_printf(p->b, "_%lld", (long long)ss_hlo_field_u64(dim, PADDING_INTERIOR));
	}
}

/* Floats are ordered in part (NaN is beside the order), integers wholly; only what differs is said. */
static void compare(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str direction = { "", 0 }, type = { "", 0 }, order = { "", 0 };
	ss_hlo_field(i->body, HLO_INSTRUCTION_DIRECTION, &direction);
	ss_hlo_field(i->body, HLO_INSTRUCTION_COMPARISON_TYPE, &type);
	ss_hlo_field(i->body, HLO_INSTRUCTION_COMPARISON_ORDER, &order);
	ss_hlo_attr(p, "direction");
	ss_buf_str(p->b, direction);
	if (ss_str_is(type, "TOTALORDER"))
		order = SS_STR("TOTAL");
	struct ss_hlo_ids it = ss_hlo_ids_of(i->body, HLO_INSTRUCTION_OPERAND_IDS);
	int64_t id;
	uint32_t at = ss_hlo_ids_next(&it, &id) ? ss_hlo_instr_by_id(p->m, id) : SS_NONE;
	struct ss_hlo_instr operand;
	ss_hlo_instr_read(at == SS_NONE ? SS_STR("") : p->m->instrs[at], &operand);
	const char *name = ss_hlo_type_name(ss_hlo_shape_type(operand.shape));
	bool is_float = name[0] == 'f' || name[0] == 'c' || (name[0] == 'b' && name[1] == 'f');
	if (order.n && !ss_str_is(order, is_float ? "PARTIAL" : "TOTAL")) {
		ss_hlo_attr(p, "order");
		ss_buf_str(p->b, order);
	}
}

static void index_of(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	attr_i64(p, "index", (uint64_t)i->tuple_index);
}

static void iota(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(i->body, HLO_INSTRUCTION_DIMENSIONS);
	int64_t v = 0;
	ss_hlo_ids_next(&it, &v);
	attr_i64(p, "iota_dimension", (uint64_t)v);
}

static void reshape(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(i->body, HLO_INSTRUCTION_DIMENSIONS);
	int64_t v;
	if (ss_hlo_ids_next(&it, &v))
		attr_i64(p, "inferred_dimension", (uint64_t)v);
}

static void reduce_precision(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	attr_i64(p, "exponent_bits", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_EXPONENT_BITS));
	attr_i64(p, "mantissa_bits", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_MANTISSA_BITS));
}

static void sort(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	dimensions(p, i);
	attr_true(p, "is_stable", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_IS_STABLE));
}

static void topk(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	attr_i64(p, "k", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_K));
	attr_bool(p, "largest", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_LARGEST));
	attr_bool(p, "is_stable", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_IS_STABLE));
}

static void rng(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	static const char *const words[] = { "rng_invalid", "rng_uniform", "rng_normal" };
	attr_word(p, "distribution", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_DISTRIBUTION), words, SS_COUNT(words));
}

static void rng_bits(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	static const char *const words[] = { "rng_default", "rng_three_fry", "rng_philox" };
	attr_word(p, "algorithm", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_RNG_ALGORITHM), words, SS_COUNT(words));
}

static void rng_state(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	attr_i64(p, "delta", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_DELTA));
}

static void fft(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	static const char *const words[] = { "FFT", "IFFT", "RFFT", "IRFFT" };
	attr_word(p, "fft_type", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_FFT_TYPE), words, SS_COUNT(words));
	attr_list(p, "fft_length", i->body, HLO_INSTRUCTION_FFT_LENGTH);
}

static void cholesky(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str options = { "", 0 };
	ss_hlo_field(i->body, HLO_INSTRUCTION_CHOLESKY, &options);
	attr_true(p, "lower", ss_hlo_field_u64(options, 1));
}

static void triangular_solve(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	static const char *const words[] = { "TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT" };
	struct ss_str options = { "", 0 };
	ss_hlo_field(i->body, HLO_INSTRUCTION_TRIANGULAR_SOLVE, &options);
	attr_true(p, "left_side", ss_hlo_field_u64(options, 1));
	attr_true(p, "lower", ss_hlo_field_u64(options, 2));
	attr_true(p, "unit_diagonal", ss_hlo_field_u64(options, 3));
	if (ss_hlo_field_u64(options, 4))
		attr_word(p, "transpose_a", ss_hlo_field_u64(options, 4), words, SS_COUNT(words));
}

static void domain(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str entry = { "", 0 }, exit = { "", 0 };
	/* The text looks from inside of the domain, the proto from outside. */
	ss_hlo_field(i->body, HLO_INSTRUCTION_DOMAIN_ENTRY, &exit);
	ss_hlo_field(i->body, HLO_INSTRUCTION_DOMAIN_EXIT, &entry);
	ss_hlo_attr(p, "domain");
	ss_buf_lit(p->b, "{kind=\"sharding\", entry=");
	ss_hlo_print_sharding(p, entry);
	ss_buf_lit(p->b, ", exit=");
	ss_hlo_print_sharding(p, exit);
	ss_buf_char(p->b, '}');
}

static void batch_norm(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_pb c = ss_pb_of(i->body);
	struct ss_pb_field f;
	float epsilon = 0;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_I32(HLO_INSTRUCTION_EPSILON)) {
			uint32_t bits = (uint32_t)f.u;
			memcpy(&epsilon, &bits, sizeof(epsilon));
		}
	ss_hlo_attr(p, "epsilon");
	ss_buf_printf(p->b, "%g", (double)epsilon);
	attr_i64(p, "feature_index", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_FEATURE_INDEX));
}

static void infeed(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str config = { "", 0 };
	ss_hlo_field(i->body, HLO_INSTRUCTION_INFEED_CONFIG, &config);
	if (config.n && p->style != SS_HLO_EXPRESSION && p->style != SS_HLO_CANONICAL && !p->no_calls)
		attr_quoted(p, "infeed_config", config);
}

static void outfeed(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str config = { "", 0 }, shape;
	if (ss_hlo_field(i->body, HLO_INSTRUCTION_OUTFEED_SHAPE, &shape)) {
		ss_hlo_attr(p, "outfeed_shape");
		ss_hlo_shape_print(p->b, shape, true);
	}
	ss_hlo_field(i->body, HLO_INSTRUCTION_OUTFEED_CONFIG, &config);
	if (config.n && !p->no_calls)
		attr_quoted(p, "outfeed_config", config);
}

static void copy_start(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	if (ss_hlo_has(i->body, HLO_INSTRUCTION_PREFETCH_INDEX))
		attr_i64(p, "cross_program_prefetch_index", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_PREFETCH_INDEX));
}

static void parameter(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str leaves = { "", 0 };
	int64_t v;
	ss_hlo_field(i->body, HLO_INSTRUCTION_REPLICATION, &leaves);
	struct ss_hlo_ids it = ss_hlo_ids_of(leaves, REPLICATION_LEAVES);
	const char *sep = "{";
	while (ss_hlo_ids_next(&it, &v)) {
		if (*sep == '{')
			ss_hlo_attr(p, "parameter_replication");
		ss_buf_z(p->b, sep);
		ss_buf_z(p->b, v ? "true" : "false");
		sep = ",";
	}
	if (*sep == ',')
		ss_buf_char(p->b, '}');
}

static void result_accuracy(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_str accuracy, tolerance;
	if (!ss_hlo_field(i->body, HLO_INSTRUCTION_RESULT_ACCURACY, &accuracy))
		return;
	if (ss_hlo_field(accuracy, RESULT_ACCURACY_TOLERANCE, &tolerance)) {
		ss_hlo_attr(p, "result_accuracy");
		ss_buf_printf(p->b, "{tolerance={atol=%g,rtol=%g,ulps=%lld}}", ss_hlo_field_f64(tolerance, TOLERANCE_ATOL),
			      ss_hlo_field_f64(tolerance, TOLERANCE_RTOL), (long long)ss_hlo_field_u64(tolerance, TOLERANCE_ULPS));
	} else if (ss_hlo_field_u64(accuracy, RESULT_ACCURACY_MODE) == 1) {
		ss_hlo_attr(p, "result_accuracy");
		ss_buf_lit(p->b, "{mode=highest}");
	}
}

/* --- fusions, custom calls --------------------------------------------------------------------- */

/* {{0}: (1, {2})}: that part of the result takes the place of that part of that operand. */
static void output_aliasing(struct ss_hlo_printer *p, struct ss_str body)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_str one;
	const char *sep = "{";
	while (ss_hlo_next_field(&c, HLO_INSTRUCTION_OUTPUT_ALIASING, &one)) {
		if (*sep == '{')
			ss_hlo_attr(p, "output_to_operand_aliasing");
		ss_buf_z(p->b, sep);
		ss_buf_char(p->b, '{');
		ss_hlo_print_ints(p->b, one, OUTPUT_ALIASING_OUTPUT);
		ss_buf_printf(p->b, "}: (%lld, {", (long long)ss_hlo_field_u64(one, OUTPUT_ALIASING_OPERAND));
		ss_hlo_print_ints(p->b, one, OUTPUT_ALIASING_OPERAND_INDEX);
		ss_buf_lit(p->b, "})");
		sep = ", ";
	}
	if (*sep == ',')
		ss_buf_char(p->b, '}');
}

static void fusion(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	ss_hlo_attr(p, "kind");
	ss_buf_str(p->b, i->fusion_kind);
	output_aliasing(p, i->body);
}

static void operand_layouts(struct ss_hlo_printer *p, struct ss_str body)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_str shape;
	ss_hlo_attr(p, "operand_layout_constraints");
	ss_buf_char(p->b, '{');
	for (const char *comma = ""; ss_hlo_next_field(&c, HLO_INSTRUCTION_OPERAND_SHAPES, &shape); comma = ", ") {
		ss_buf_z(p->b, comma);
		ss_hlo_shape_print(p->b, shape, true);
	}
	ss_buf_char(p->b, '}');
}

static void custom_call(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	static const char *const schedules[] = { "SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST" };
	static const char *const versions[] = { "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
						"API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI" };
	struct ss_str literal;
	ss_hlo_print_window(p, i->body);
	ss_hlo_print_dim_labels(p, i->body);
	group_counts(p, i->body);
	precision(p, i->body);
	attr_quoted(p, "custom_call_target", i->custom_call_target);
	if (ss_hlo_field_u64(i->body, HLO_INSTRUCTION_CONSTRAIN_LAYOUT))
		operand_layouts(p, i->body);
	attr_true(p, "custom_call_has_side_effect", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_SIDE_EFFECT));
	if (ss_hlo_field(i->body, HLO_INSTRUCTION_LITERAL, &literal)) {
		ss_hlo_attr(p, "literal");
		ss_buf_char(p->b, '(');
		p->no_memory |= !ss_hlo_literal_print(p->b, literal, UINT64_MAX);
		ss_buf_char(p->b, ')');
	}
	output_aliasing(p, i->body);
	uint64_t schedule = ss_hlo_field_u64(i->body, HLO_INSTRUCTION_CALL_SCHEDULE);
	if (schedule)
		attr_word(p, "schedule", schedule, schedules, SS_COUNT(schedules));
	uint64_t version = ss_hlo_field_u64(i->body, HLO_INSTRUCTION_API_VERSION);
	if (version > 1)
		attr_word(p, "api_version", version, versions, SS_COUNT(versions));
}

/* --- called computations ----------------------------------------------------------------------- */

static bool next_called(struct ss_hlo_printer *p, struct ss_hlo_ids *it, uint32_t *computation)
{
	int64_t id;
	if (!ss_hlo_ids_next(it, &id))
		return false;
	*computation = ss_hlo_computation_by_id(p->m, id);
	return true;
}

static void print_called(struct ss_hlo_printer *p, uint32_t computation)
{
	if (computation == SS_NONE)
		ss_hlo_print_name(p, SS_STR("?"));
	else if (p->style == SS_HLO_CANONICAL)
		p->body(p, computation);
	else
		ss_hlo_print_name(p, p->m->computations[computation].name);
}

/* name=%a for each in turn. */
static void called_as(struct ss_hlo_printer *p, const struct ss_hlo_instr *i, const char *first, const char *second)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(i->body, HLO_INSTRUCTION_CALLED_IDS);
	uint32_t c;
	const char *const names[] = { first, second };
	for (size_t k = 0; k < 2 && next_called(p, &it, &c); k++) {
		ss_hlo_attr(p, names[k]);
		print_called(p, c);
	}
}

/* name={%a, %b}, or without braces name=%a, %b. */
static void called_list(struct ss_hlo_printer *p, const struct ss_hlo_instr *i, const char *name, bool braces)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(i->body, HLO_INSTRUCTION_CALLED_IDS);
	uint32_t called;
	bool first = true;
	for (; next_called(p, &it, &called); first = false) {
		if (first)
			ss_hlo_attr(p, name);
		ss_buf_z(p->b, !first ? ", " : braces ? "{" : "");
		print_called(p, called);
	}
	if (!first && braces)
		ss_buf_char(p->b, '}');
}

/* condition before body, though the proto has them the other way round. */
static void while_calls(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(i->body, HLO_INSTRUCTION_CALLED_IDS);
	uint32_t body, condition;
	if (!next_called(p, &it, &body) || !next_called(p, &it, &condition))
		return;
	ss_hlo_attr(p, "condition");
	print_called(p, condition);
	ss_hlo_attr(p, "body");
	print_called(p, body);
}

static void conditional_calls(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(i->body, HLO_INSTRUCTION_OPERAND_IDS);
	struct ss_hlo_instr selector;
	int64_t id;
	uint32_t at = ss_hlo_ids_next(&it, &id) ? ss_hlo_instr_by_id(p->m, id) : SS_NONE;
	ss_hlo_instr_read(at == SS_NONE ? SS_STR("") : p->m->instrs[at], &selector);
	if (ss_hlo_shape_type(selector.shape) == SS_HLO_PRED)
		called_as(p, i, "true_computation", "false_computation");
	else
		called_list(p, i, "branch_computations", true);
}

static void select_and_scatter_calls(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	called_as(p, i, "select", "scatter");
}

static void custom_calls(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	bool canonical = p->style == SS_HLO_CANONICAL;
	called_list(p, i, canonical ? "calls" : "called_computations", !canonical);
}

static void to_apply(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	called_list(p, i, "to_apply", false);
	attr_true(p, "is_composite", ss_hlo_field_u64(i->body, HLO_INSTRUCTION_IS_COMPOSITE));
}

static void reduce_scatter_calls(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	called_list(p, i, p->style == SS_HLO_CANONICAL ? "calls" : "to_apply", false);
}

/* --- the table --------------------------------------------------------------------------------- */

typedef void part_fn(struct ss_hlo_printer *p, const struct ss_hlo_instr *i);

static const struct row {
	const char *opcode;
	part_fn *own, *calls;	/* calls NULL: "calls=" */
} rows[] = {
	{ "all-gather", all_gather, NULL },
	{ "all-gather-start", all_gather, NULL },
	{ "all-reduce", all_reduce, to_apply },
	{ "all-reduce-start", all_reduce, to_apply },
	{ "all-to-all", all_to_all, NULL },
	{ "batch-norm-grad", batch_norm, NULL },
	{ "batch-norm-inference", batch_norm, NULL },
	{ "batch-norm-training", batch_norm, NULL },
	{ "broadcast", dimensions, NULL },
	{ "call", NULL, to_apply },
	{ "cbrt", result_accuracy, NULL },
	{ "cholesky", cholesky, NULL },
	{ "collective-broadcast", collective_broadcast, NULL },
	{ "collective-permute", permute, NULL },
	{ "collective-permute-start", permute, NULL },
	{ "compare", compare, NULL },
	{ "concatenate", dimensions, NULL },
	{ "conditional", NULL, conditional_calls },
	{ "convolution", convolution, NULL },
	{ "copy-start", copy_start, NULL },
	{ "cosine", result_accuracy, NULL },
	{ "custom-call", custom_call, custom_calls },
	{ "domain", domain, NULL },
	{ "dot", dot, NULL },
	{ "dynamic-slice", dynamic_slice, NULL },
	{ "erf", result_accuracy, NULL },
	{ "exponential", result_accuracy, NULL },
	{ "exponential-minus-one", result_accuracy, NULL },
	{ "fft", fft, NULL },
	{ "fusion", fusion, NULL },
	{ "gather", gather, NULL },
	{ "get-dimension-size", dimensions, NULL },
	{ "get-tuple-element", index_of, NULL },
	{ "infeed", infeed, NULL },
	{ "iota", iota, NULL },
	{ "log", result_accuracy, NULL },
	{ "log-plus-one", result_accuracy, NULL },
	{ "logistic", result_accuracy, NULL },
	{ "map", dimensions, to_apply },
	{ "outfeed", outfeed, NULL },
	{ "pad", pad, NULL },
	{ "parameter", parameter, NULL },
	{ "ragged-all-to-all", collective, NULL },
	{ "ragged-dot", ragged_dot, NULL },
	{ "recv", transfer, NULL },
	{ "recv-done", transfer, NULL },
	{ "reduce", dimensions, to_apply },
	{ "reduce-precision", reduce_precision, NULL },
	{ "reduce-scatter", reduce_scatter, reduce_scatter_calls },
	{ "reduce-window", reduce_window, to_apply },
	{ "reshape", reshape, NULL },
	{ "reverse", dimensions, NULL },
	{ "rng", rng, NULL },
	{ "rng-bit-generator", rng_bits, NULL },
	{ "rng-get-and-update-state", rng_state, NULL },
	{ "rsqrt", result_accuracy, NULL },
	{ "scatter", scatter, to_apply },
	{ "select-and-scatter", reduce_window, select_and_scatter_calls },
	{ "send", transfer, NULL },
	{ "send-done", transfer, NULL },
	{ "set-dimension-size", dimensions, NULL },
	{ "sine", result_accuracy, NULL },
	{ "slice", slice, NULL },
	{ "sort", sort, to_apply },
	{ "sqrt", result_accuracy, NULL },
	{ "tan", result_accuracy, NULL },
	{ "tanh", result_accuracy, NULL },
	{ "topk", topk, to_apply },
	{ "transpose", dimensions, NULL },
	{ "triangular-solve", triangular_solve, NULL },
	{ "while", NULL, while_calls },
};

static const struct row *find_row(struct ss_str opcode)
{
	size_t lo = 0, hi = SS_COUNT(rows);
	SS_BISECT(lo, hi, mid, ss_str_cmp(ss_str_from(rows[mid].opcode), opcode) < 0);
	return lo < SS_COUNT(rows) && ss_str_is(opcode, rows[lo].opcode) ? &rows[lo] : NULL;
}

void ss_hlo_print_attributes(struct ss_hlo_printer *p, const struct ss_hlo_instr *i)
{
	if (ss_str_starts(i->opcode, SS_STR("async-"))) {
		struct ss_hlo_instr wrapped;
		struct ss_str thread = { "", 0 };
		if (!ss_str_is(i->opcode, "async-start"))
			return;
		ss_hlo_field(i->body, HLO_INSTRUCTION_ASYNC_THREAD, &thread);
		if (thread.n && !ss_str_is(thread, "main"))
			attr_quoted(p, "async_execution_thread", thread);
		bool expands = ss_hlo_wrapped_instr(p->m, i, &wrapped);
		if (expands && !ss_str_starts(wrapped.opcode, SS_STR("async-")))
			ss_hlo_print_attributes(p, &wrapped);
		if ((!expands || p->style == SS_HLO_CANONICAL) && !p->no_calls)
			called_list(p, i, "calls", false);
		return;
	}
	const struct row *row = find_row(i->opcode);
	if (row && row->own)
		row->own(p, i);
	if (p->no_calls)
		return;
	if (row && row->calls)
		row->calls(p, i);
	else
		called_list(p, i, "calls", false);
}
