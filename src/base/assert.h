/*
 * assert.h - assertions of properties on which a function relies and that it cannot see: an order,
 * a bound, a pointer that an earlier call has set.
 *
 * Checked in debug and sanitizer builds; a release build (NDEBUG) does not evaluate them. A
 * property that bytes from outside could break is not an invariant: report an error (err.h).
 */
#ifndef SS_BASE_ASSERT_H
#define SS_BASE_ASSERT_H

#ifdef NDEBUG
#define ss_assert(truth) ((void)sizeof(!(truth)))
#else
#define ss_assert(truth) ((truth) ? (void)0 : ss_assert_failed(#truth, __FILE__, __LINE__))
#endif

_Noreturn void ss_assert_failed(const char *truth, const char *file, int line);

#endif
