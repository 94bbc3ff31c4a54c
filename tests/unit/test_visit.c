/* Hosts one after the other: their order, and which of several failures is reported. */
#include "model/host/host.h"
#include "unit.h"

#include "model/facts/facts.h"
#include "model/fold.h"
#include "model/ops/ops.h"
#include "model/preprocess/load.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOSTS = 40 };

static char top[64], paths[HOSTS][128];
static struct ss_host_file_at files[HOSTS];

static const char sample[] = SS_TEST_DATA "/profiles/synth_tpu1/plugins/profile/run/host0.xplane.pb";

/* Names are of equal length: their order is that of the numbers. */
static int make_files(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/ss_visit_XXXXXX");
	if (!mkdtemp(top))
		return 1;
	for (size_t i = 0; i < HOSTS; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/h%02zu.xplane.pb", top, i);
		if (symlink(sample, paths[i]))
			return 1;
		files[i] = (struct ss_host_file_at){ .path = paths[i], .bytes = 1 << 20 };
	}
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < HOSTS; i++)
		unlink(paths[i]);
	return rmdir(top);
}

struct seen {
	size_t n;
	bool in_order;
	size_t fails_at;	/* taking this host fails */
	size_t bad_read_at;	/* reading this one, and all behind it */
};

static bool read_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	const struct seen *s = arg;
	if (i >= s->bad_read_at)
		return ss_fail(err, SS_EFORMAT, "cannot read %zu", i);
	return ss_host_load(h, err);
}

static bool take_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct seen *s = arg;
	s->in_order = s->in_order && i == s->n && h->nevents > 0;
	s->n++;
	return i != s->fails_at || ss_fail(err, SS_EFORMAT, "cannot take %zu", i);
}

static bool visit(struct seen *s, struct ss_err *err)
{
	const struct ss_visit v = { .read = read_host, .take = take_host, .arg = s };
	struct ss_model m;
	if (!ss_model_init_visited(&m, files, HOSTS, err))
		return false;
	bool ok = ss_model_visit(&m, &v, err);
	ss_model_release(&m);
	return ok;
}

static void takes_hosts_in_order(void **state)
{
	struct seen s = { .in_order = true, .fails_at = SIZE_MAX, .bad_read_at = SIZE_MAX };
	(void)state;
	assert_ok(visit(&s, &err));
	assert_true(s.in_order);
	assert_int_equal(s.n, HOSTS);
}

static void reports_the_first_failure(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		struct seen s = { .in_order = true, .fails_at = SIZE_MAX, .bad_read_at = 7 };
		struct ss_err err = { 0 };
		assert_false(visit(&s, &err));
		assert_string_equal(err.text, "cannot read 7");
		s = (struct seen){ .in_order = true, .fails_at = 5, .bad_read_at = 6 };
		err = (struct ss_err){ 0 };
		assert_false(visit(&s, &err));
		assert_string_equal(err.text, "cannot take 5");
		assert_true(s.in_order);
		assert_int_equal(s.n, 6);
	}
}

/* One that is gone does not hide the others; but when none is there, the first is the failure. */
static void says_which_file_is_gone(void **state)
{
	struct ss_model m;
	(void)state;
	unlink(paths[11]);
	assert_ok(ss_model_init_visited(&m, files, HOSTS, &err));
	assert_ok(ss_model_gather(&m, SS_FACTS_OPS, &err));
	assert_int_equal(m.hosts[11]->x.nnotes, 1);
	assert_true(ss_str_contains(m.hosts[11]->x.notes[0], ss_str_from(paths[11])));
	assert_int_equal(m.hosts[12]->x.nnotes, 0);
	ss_model_release(&m);
	unlink(paths[12]);
	assert_ok(ss_model_init_visited(&m, files + 11, 2, &err));
	assert_fails(ss_model_gather(&m, SS_FACTS_OPS, &err), SS_ENOTFOUND);
	ss_model_release(&m);
	assert_int_equal(symlink(sample, paths[11]), 0);
	assert_int_equal(symlink(sample, paths[12]), 0);
}

/*
 * Files as large as all that may be open at a time: one after the other, and none waits for ever.
 */
static void visits_large_files_one_by_one(void **state)
{
	struct seen s = { .in_order = true, .fails_at = SIZE_MAX, .bad_read_at = SIZE_MAX };
	(void)state;
	for (size_t i = 0; i < HOSTS; i++)
		files[i].bytes = i % 3 ? UINT64_C(1) << 40 : 1;
	assert_ok(visit(&s, &err));
	assert_true(s.in_order);
	assert_int_equal(s.n, HOSTS);
	for (size_t i = 0; i < HOSTS; i++)
		files[i].bytes = 1 << 20;
}

/* A host that is only known cannot be mistaken for an empty one. */
static void does_not_read_what_is_closed(void **state)
{
	struct ss_model m;
	(void)state;
	assert_ok(ss_model_init_visited(&m, files, 2, &err));
	assert_str(m.hosts[1]->name, "h01");
	assert_fails(ss_host_load(m.hosts[0], &err), SS_EINVAL);
	assert_ok(ss_model_gather(&m, SS_FACTS_OPS, &err));
	struct ss_err err = { 0 };
	const struct ss_ops *ops = ss_model_ops(&m, &err);
	assert_non_null(ops);
	assert_true(ops->device.n > 0);
	ss_model_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_hosts_in_order),
		cmocka_unit_test(reports_the_first_failure),
		cmocka_unit_test(says_which_file_is_gone),
		cmocka_unit_test(visits_large_files_one_by_one),
		cmocka_unit_test(does_not_read_what_is_closed),
	};
	return cmocka_run_group_tests(tests, make_files, remove_files);
}
