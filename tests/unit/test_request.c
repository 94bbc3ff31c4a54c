/* test_request.c - which tools a run has data for: how many of its hosts are asked. */
#include "unit/unit.h"

#include "model/host/host.h"
#include "request/request.h"
#include "tools/tool.h"

static const char *const CPU = "tests/data/profiles/synth_cpu1/plugins/profile/run/host0.xplane.pb";
static const char *const TPU = "tests/data/profiles/synth_tpu_3hosts/plugins/profile/run/host1.xplane.pb";

#define MANY 18
struct many {
	struct ss_host_file files[MANY];
	struct ss_run run;
};

/* A run whose first `n` hosts are one without programs, and whose others are not there. */
static void make(struct many *m, size_t n, size_t nhosts)
{
	*m = (struct many){ 0 };
	for (size_t i = 0; i < nhosts; i++)
		m->files[i].path = ss_str_from(i < n ? CPU : "tests/data/profiles/none.xplane.pb");
	m->run = (struct ss_run){ .hosts = m->files, .nhosts = nhosts };
}

static void asks_sixteen_hosts(void **state)
{
	struct many m;
	struct ss_host first;
	(void)state;
	assert_true(ss_host_open(&first, CPU, NULL));
	make(&m, 16, 16);
	assert_false(ss_request_met(&m.run, &first, ~0u) & SS_NEEDS_RANKS);
	/* The last of sixteen is asked ... */
	m.files[15].path = ss_str_from(TPU);
	assert_true(ss_request_met(&m.run, &first, ~0u) & SS_NEEDS_RANKS);
	/* ... and the next is not: it may meet what the others do not. */
	make(&m, 16, 17);
	unsigned met = ss_request_met(&m.run, &first, ~0u);
	assert_int_equal(met & SS_NEEDS_OF_ANY_HOST, SS_NEEDS_OF_ANY_HOST);
	assert_false(met & SS_NEEDS_KERNELS);
	ss_host_close(&first);
}

static void asks_for_what_is_needed(void **state)
{
	struct many m;
	struct ss_host first;
	(void)state;
	assert_true(ss_host_open(&first, TPU, NULL));
	make(&m, 16, 17);
	assert_int_equal(ss_request_met(&m.run, &first, SS_NEEDS_RANKS), SS_NEEDS_RANKS);
	assert_int_equal(ss_request_met(&m.run, &first, SS_NEEDS_KERNELS), 0);
	assert_int_equal(ss_request_met(&m.run, &first, 0), 0);
	assert_int_equal(ss_request_met(&m.run, NULL, ~0u), 0);
	ss_host_close(&first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_sixteen_hosts),
		cmocka_unit_test(asks_for_what_is_needed),
	};
	return RUN_TESTS(tests);
}
