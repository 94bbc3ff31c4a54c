/*
 * assert.h - what a function relies on and cannot see: an order, a bound, a pointer that an earlier call has set.
 *
 * Checked in debug and sanitizer builds; in a release build (NDEBUG) nothing of it is evaluated. What bytes from outside could
 * break is no invariant: it is an error (err.h).
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
