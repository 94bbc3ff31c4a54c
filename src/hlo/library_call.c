/*
 * library_call.c - reading GpuBackendConfig, the JSON that compilers for GPUs attach to calls of
 * libraries.
 *
 * Numbers may be texts and names may be in camel case, as protobuf's JSON has it. Members that are
 * not known here are skipped.
 */
#include "hlo/library_call.h"

#include "base/vec.h"
#include "hlo/shape.h"
#include "wire/json.h"

#include <stdlib.h>

struct knob {
	int64_t id, value;
};

/* Of matrix products and convolutions; what a config does not say is 0, as in protos. */
struct settings {
	double alpha_real, alpha_imag, beta;
	struct ss_str lhs_batch, lhs_contracting, rhs_batch, rhs_contracting; /* JSON arrays, as they stand */
	bool has_algorithm;
	int64_t algorithm;
	struct ss_jtok epilogue;
	double result_scale, side_scale, leak;
	struct ss_jtok activation;
	SS_VEC(struct knob) knobs;
	bool has_epilogue, has_activation, no_memory;
};

typedef void member_fn(struct settings *s, struct ss_jsonr *r, const struct ss_jtok *key);

/* "alpha_real" is alphaReal, too. */
static bool is(const struct ss_jtok *key, const char *name)
{
	size_t at = 0;
	for (; *name; name++) {
		if (*name == '_' && at < key->text.n && key->text.p[at] != '_')
			continue;
		if (at == key->text.n || (key->text.p[at] | 0x20) != (*name | 0x20))
			return false;
		at++;
	}
	return at == key->text.n;
}

/* Every member of the object that comes next is given to `fn`, which reads or skips its value. */
static void members(struct settings *s, struct ss_jsonr *r, member_fn *fn)
{
	struct ss_jtok t;
	if (!ss_jsonr_next(r, &t))
		return;
	if (t.kind != SS_J_OBJECT) {
		ss_jsonr_skip(r, &t);
		return;
	}
	while (ss_jsonr_next(r, &t) && t.kind == SS_J_KEY)
		fn(s, r, &t);
}

static void number(struct ss_jsonr *r, double *out)
{
	struct ss_jtok t;
	if (ss_jsonr_next(r, &t) && !ss_jtok_f64(&t, out))
		ss_jsonr_skip(r, &t);
}

static bool integer(struct ss_jsonr *r, int64_t *out)
{
	struct ss_jtok t;
	if (ss_jsonr_next(r, &t) && ss_jtok_i64(&t, out))
		return true;
	if (!r->bad)
		ss_jsonr_skip(r, &t);
	return false;
}

/* A name, or its number. */
static bool name(struct ss_jsonr *r, struct ss_jtok *out)
{
	if (!ss_jsonr_next(r, out))
		return false;
	if (out->kind == SS_J_STRING || out->kind == SS_J_NUMBER)
		return true;
	ss_jsonr_skip(r, out);
	return false;
}

static void dims_member(struct settings *s, struct ss_jsonr *r, const struct ss_jtok *key)
{
	struct ss_str *to = is(key, "lhs_batch_dimensions")	     ? &s->lhs_batch
			    : is(key, "lhs_contracting_dimensions") ? &s->lhs_contracting
			    : is(key, "rhs_batch_dimensions")	     ? &s->rhs_batch
			    : is(key, "rhs_contracting_dimensions") ? &s->rhs_contracting
								     : NULL;
	struct ss_jtok t;
	(void)s;
	if (!ss_jsonr_next(r, &t))
		return;
	const char *begin = r->at - 1;
	bool array = t.kind == SS_J_ARRAY && ss_jsonr_skip(r, &t);
	if (array && to)
		*to = (struct ss_str){ begin, (size_t)(r->at - begin) };
	else if (!array)
		ss_jsonr_skip(r, &t);
}

static void gemm_member(struct settings *s, struct ss_jsonr *r, const struct ss_jtok *key)
{
	if (is(key, "alpha_real"))
		number(r, &s->alpha_real);
	else if (is(key, "alpha_imag"))
		number(r, &s->alpha_imag);
	else if (is(key, "beta"))
		number(r, &s->beta);
	else if (is(key, "dot_dimension_numbers"))
		members(s, r, dims_member);
	else if (is(key, "selected_algorithm"))
		s->has_algorithm |= integer(r, &s->algorithm);
	else if (is(key, "epilogue"))
		s->has_epilogue |= name(r, &s->epilogue);
	else
		ss_jsonr_skip(r, key);
}

static void knobs_member(struct settings *s, struct ss_jsonr *r, const struct ss_jtok *key)
{
	struct ss_jtok id = *key;
	struct knob k;
	id.kind = SS_J_STRING;
	if (integer(r, &k.value) && ss_jtok_i64(&id, &k.id))
		s->no_memory |= !ss_vec_push(&s->knobs, k);
}

static void algorithm_member(struct settings *s, struct ss_jsonr *r, const struct ss_jtok *key)
{
	if (is(key, "algo_id"))
		integer(r, &s->algorithm);
	else if (is(key, "tuning_knobs"))
		members(s, r, knobs_member);
	else
		ss_jsonr_skip(r, key);
}

static void conv_member(struct settings *s, struct ss_jsonr *r, const struct ss_jtok *key)
{
	if (is(key, "conv_result_scale"))
		number(r, &s->result_scale);
	else if (is(key, "side_input_scale"))
		number(r, &s->side_scale);
	else if (is(key, "leakyrelu_alpha"))
		number(r, &s->leak);
	else if (is(key, "activation_mode"))
		s->has_activation |= name(r, &s->activation);
	else if (is(key, "algorithm"))
		members(s, r, algorithm_member);
	else
		ss_jsonr_skip(r, key);
}

static void gemm_config(struct settings *s, struct ss_jsonr *r, const struct ss_jtok *key)
{
	if (is(key, "gemm_backend_config"))
		members(s, r, gemm_member);
	else
		ss_jsonr_skip(r, key);
}

static void conv_config(struct settings *s, struct ss_jsonr *r, const struct ss_jtok *key)
{
	if (is(key, "cudnn_conv_backend_config"))
		members(s, r, conv_member);
	else
		ss_jsonr_skip(r, key);
}

/* --- printing ---------------------------------------------------------------------------------- */

static void line(struct ss_buf *b, size_t before)
{
	if (b->n > before)
		ss_buf_char(b, '\n');
}

static void print_number(struct ss_buf *b, size_t before, const char *label, double v)
{
	line(b, before);
	ss_buf_printf(b, "%s=%g", label, v);
}

/* ["1","2"] as {1,2}. */
static void print_dims(struct ss_buf *b, size_t before, const char *label, struct ss_str array)
{
	struct ss_jsonr r = ss_jsonr_of(array);
	struct ss_jtok t;
	const char *comma = "";
	int64_t v;
	line(b, before);
	ss_buf_printf(b, "%s={", label);
	for (ss_jsonr_next(&r, &t); ss_jsonr_next(&r, &t) && ss_jtok_i64(&t, &v); comma = ",")
		ss_buf_printf(b, "%s%lld", comma, (long long)v);
	ss_buf_char(b, '}');
}

static bool is_empty(struct ss_str array)
{
	struct ss_jsonr r = ss_jsonr_of(array);
	struct ss_jtok t;
	return !ss_jsonr_next(&r, &t) || t.kind != SS_J_ARRAY || !ss_jsonr_next(&r, &t) || t.kind == SS_J_END;
}

static void print_epilogue(struct ss_buf *b, size_t before, const struct settings *s)
{
	static const char *const names[] = { "DEFAULT", "BIAS", "RELU", "BIAS_RELU", "GELU", "BIAS_GELU", "GELU_AUX",
					     "BIAS_GELU_AUX", "SILU", "BIAS_SILU" };
	int64_t n = 0;
	bool is_number = s->has_epilogue && s->epilogue.kind == SS_J_NUMBER && ss_jtok_i64(&s->epilogue, &n);
	if (!s->has_epilogue || (is_number && n == 0) || ss_str_is(s->epilogue.text, names[0]))
		return;
	line(b, before);
	ss_buf_lit(b, "epilogue=");
	if (is_number && n > 0 && (uint64_t)n < SS_COUNT(names))
		ss_buf_z(b, names[n]);
	else
		ss_buf_str(b, s->epilogue.text);
}

static void print_gemm(struct ss_buf *b, const struct settings *s, bool is_complex)
{
	size_t before = b->n;
	if (is_complex && (s->alpha_real != 1 || s->alpha_imag != 1)) {
		print_number(b, before, "alpha_real", s->alpha_real);
		print_number(b, before, "alpha_imag", s->alpha_imag);
	} else if (!is_complex && s->alpha_real != 1) {
		print_number(b, before, "alpha", s->alpha_real);
	}
	if (s->beta != 0 && s->beta != 1)
		print_number(b, before, "beta", s->beta);
	if (!is_empty(s->lhs_batch))
		print_dims(b, before, "lhs_batch_dims", s->lhs_batch);
	print_dims(b, before, "lhs_contracting_dims", s->lhs_contracting);
	if (!is_empty(s->rhs_batch))
		print_dims(b, before, "rhs_batch_dims", s->rhs_batch);
	print_dims(b, before, "rhs_contracting_dims", s->rhs_contracting);
	if (s->has_algorithm) {
		line(b, before);
		ss_buf_printf(b, "algorithm=%lld", (long long)s->algorithm);
	}
	print_epilogue(b, before, s);
}

static int by_id(const void *a, const void *b)
{
	int64_t ka = ((const struct knob *)a)->id, kb = ((const struct knob *)b)->id;
	return SS_CMP(ka, kb);
}

static const char *const activations[] = { "kNone", "kSigmoid", "kRelu", "kRelu6", "kReluX",
					   "kTanh", "kBandPass", "kElu", "kLeakyRelu" };

/* The number of the activation, -1 for a name that is not known. */
static int64_t activation(const struct settings *s)
{
	int64_t n = 0;
	if (!s->has_activation || (s->activation.kind == SS_J_NUMBER && ss_jtok_i64(&s->activation, &n)))
		return n;
	for (size_t i = 0; i < SS_COUNT(activations); i++)
		if (ss_jtok_is(&s->activation, activations[i]))
			return (int64_t)i;
	return -1;
}

/* "relu6" for kRelu6; the X at the end of kReluX stays. */
static void print_activation(struct ss_buf *b, const struct settings *s)
{
	int64_t mode = activation(s);
	ss_buf_lit(b, "activation_mode=");
	if (mode == 4) {
		ss_buf_lit(b, "reluX");
	} else if (mode >= 0 && (uint64_t)mode < SS_COUNT(activations)) {
		for (const char *c = activations[mode] + 1; *c; c++)
			ss_buf_char(b, (char)(*c | 0x20));
	} else {
		ss_buf_str(b, s->activation.text);
	}
}

static void print_conv(struct ss_buf *b, const struct settings *s)
{
	size_t before = b->n;
	const char *comma = "";
	if (s->result_scale != 1)
		print_number(b, before, "conv_result_scale", s->result_scale);
	if (s->side_scale != 0 && s->side_scale != 1)
		print_number(b, before, "side_input_scale", s->side_scale);
	if (activation(s) == 8)
		print_number(b, before, "leakyrelu_alpha", s->leak);
	line(b, before);
	print_activation(b, s);
	ss_buf_printf(b, "\nalgo=eng%lld{", (long long)s->algorithm);
	for (size_t i = 0; i < s->knobs.n; i++, comma = ",")
		ss_buf_printf(b, "%sk%lld=%lld", comma, (long long)s->knobs.v[i].id, (long long)s->knobs.v[i].value);
	ss_buf_char(b, '}');
}

bool ss_hlo_library_settings(struct ss_buf *b, const struct ss_hlo_instr *i, struct ss_str config)
{
	struct ss_str target = i->custom_call_target;
	bool gemm = ss_str_starts(target, SS_STR("__cublas$lt$"));
	bool conv = ss_str_starts(target, SS_STR("__cudnn$conv"));
	uint64_t type = ss_hlo_shape_type(i->shape);
	struct settings s = { 0 };
	if (!ss_str_is(i->opcode, "custom-call") || (!gemm && !conv) || !config.n)
		return true;
	struct ss_jsonr r = ss_jsonr_of(config);
	members(&s, &r, gemm ? gemm_config : conv_config);
	if (s.knobs.n)
		qsort(s.knobs.v, s.knobs.n, sizeof(*s.knobs.v), by_id);
	if (!r.bad && r.done && gemm)
		print_gemm(b, &s, type == SS_HLO_C64 || type == SS_HLO_C128);
	else if (!r.bad && r.done)
		print_conv(b, &s);
	ss_vec_free(&s.knobs);
	return !s.no_memory;
}
