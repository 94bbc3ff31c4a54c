/*
 * unit.h - what every unit test includes: cmocka, and checks that speak of borrowed strings and
 * errors.
 */
#ifndef SS_TESTS_UNIT_H
#define SS_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/str.h"

#define assert_str(got, want)                                                      \
	do {                                                                       \
		struct ss_str got_ = (got);                                        \
		if (!ss_str_is(got_, (want)))                                      \
			fail_msg("got \"" SS_FMT "\", wanted \"%s\"", SS_ARG(got_), (want)); \
	} while (0)

/* A call that must do its work: what it says otherwise is shown. */
#define assert_ok(call)                                              \
	do {                                                         \
		struct ss_err err = { 0 };                           \
		if (!(call))                                         \
			fail_msg("%s failed: %s", #call, err.text);  \
		assert_int_equal(err.code, SS_OK);                   \
	} while (0)

/* A call that must fail with this code and say something. */
#define assert_fails(call, want)                        \
	do {                                            \
		struct ss_err err = { 0 };              \
		if (call)                               \
			fail_msg("%s did not fail", #call); \
		assert_int_equal(err.code, (want));     \
		assert_true(err.text[0] != '\0');       \
	} while (0)

#define RUN_TESTS(tests) cmocka_run_group_tests((tests), NULL, NULL)

#endif
