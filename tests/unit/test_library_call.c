/* test_library_call.c - settings of calls of cuBLASLt and cuDNN, as XProf shows them. */
#include "unit/unit.h"

#include "hlo/library_call.h"

#define GEMM "__cublas$lt$matmul"
#define CONV "__cudnn$convForward"
#define DIMS                                                                                                  \
	"\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[\"1\"],\"rhs_contracting_dimensions\":[\"0\"]," \
	"\"lhs_batch_dimensions\":[],\"rhs_batch_dimensions\":[]}"

static const char complex_shape[] = { 0x10, 0x0f };	/* element_type: C64 */
static const char real_shape[] = { 0x10, 0x0b };	/* element_type: F32 */

static void prints_settings(void **state)
{
	static const struct {
		const char *target, *config, *want;
		bool is_complex;
	} cases[] = {
		{ GEMM, "{\"gemm_backend_config\":{\"alpha_real\":0.5,\"beta\":0.25," DIMS ",\"epilogue\":\"BIAS_RELU\"}}",
		  "alpha=0.5\nbeta=0.25\nlhs_contracting_dims={1}\nrhs_contracting_dims={0}\nepilogue=BIAS_RELU", false },
		{ GEMM, "{\"gemm_backend_config\":{\"alpha_real\":2,\"alpha_imag\":-1,\"beta\":1," DIMS "}}",
		  "alpha_real=2\nalpha_imag=-1\nlhs_contracting_dims={1}\nrhs_contracting_dims={0}", true },
		{ GEMM "$f8",
		  "{\"gemm_backend_config\":{\"alpha_real\":1,\"selected_algorithm\":\"5\",\"epilogue\":\"DEFAULT\"," DIMS "}}",
		  "lhs_contracting_dims={1}\nrhs_contracting_dims={0}\nalgorithm=5", false },
		/* Camel case, numbers as texts, a name as its number. */
		{ GEMM, "{\"gemmBackendConfig\":{\"alphaReal\":\"0.3333333333\",\"beta\":1234567.891,\"epilogue\":3}}",
		  "alpha=0.333333\nbeta=1.23457e+06\nlhs_contracting_dims={}\nrhs_contracting_dims={}\nepilogue=BIAS_RELU", false },
		{ "__cublas$gemm", "{\"gemm_backend_config\":{\"alpha_real\":0.5," DIMS "}}", "", false },
		{ GEMM, "garbage", "", false },
		{ GEMM, "{\"gemm_backend_config\":{\"alpha_real\":0.5", "", false },
		{ CONV, "{\"cudnn_conv_backend_config\":{\"activation_mode\":\"kRelu\",\"conv_result_scale\":1,\"algorithm\":{"
			"\"algo_id\":\"28\",\"tuning_knobs\":{\"13\":\"1\",\"2\":\"5\",\"3\":\"0\"}}}}",
		  "activation_mode=relu\nalgo=eng28{k2=5,k3=0,k13=1}", false },
		{ CONV, "{\"cudnn_conv_backend_config\":{\"conv_result_scale\":0.125,\"activation_mode\":\"kLeakyRelu\","
			"\"leakyrelu_alpha\":0.2,\"side_input_scale\":2.5}}",
		  "conv_result_scale=0.125\nside_input_scale=2.5\nleakyrelu_alpha=0.2\nactivation_mode=leakyrelu\nalgo=eng0{}",
		  false },
		{ CONV, "{\"cudnn_conv_backend_config\":{\"conv_result_scale\":1,\"activation_mode\":4}}",
		  "activation_mode=reluX\nalgo=eng0{}", false },
	};

	(void)state;
	for (size_t k = 0; k < SS_COUNT(cases); k++) {
		struct ss_buf b = { 0 };
		struct ss_hlo_instr i;

		ss_hlo_instr_read(SS_STR(""), &i);
		i.opcode = SS_STR("custom-call");
		i.custom_call_target = ss_str_from(cases[k].target);
		i.shape = cases[k].is_complex ? (struct ss_str){ complex_shape, sizeof(complex_shape) } :
						(struct ss_str){ real_shape, sizeof(real_shape) };
		assert_true(ss_hlo_library_settings(&b, &i, ss_str_from(cases[k].config)));
		if (!ss_str_is(ss_buf_get(&b), cases[k].want))
			fail_msg("case %zu: got '%.*s'", k, (int)b.n, b.n ? b.p : "");
		ss_buf_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_settings),
	};
	return RUN_TESTS(tests);
}
