/*
 * safe.h - adding times and sizes that a file gives, which may be any 64 bits. Nothing here
 * overflows: what does not fit becomes the nearest number that does. 63 bits of picoseconds are 106
 * days, so a real profile meets no bound; readers of events count the events that do
 * (ss_xevents.clipped), and a note reports them.
 */
#ifndef SS_BASE_SAFE_H
#define SS_BASE_SAFE_H

#include <stdbool.h>
#include <stdint.h>

/* Would ss_safe_end cut it? */
static inline bool ss_safe_clips(int64_t begin, uint64_t length)
{
	return length > (uint64_t)INT64_MAX - (uint64_t)begin;
}

/* begin + length: never before `begin`. */
static inline int64_t ss_safe_end(int64_t begin, uint64_t length)
{
	return ss_safe_clips(begin, length) ? INT64_MAX : (int64_t)((uint64_t)begin + length);
}

/* end - begin, 0 where the end is before it. Always fits. */
static inline uint64_t ss_safe_between(int64_t begin, int64_t end)
{
	return end > begin ? (uint64_t)end - (uint64_t)begin : 0;
}

/* a + b, at the limit where it does not fit. */
static inline int64_t ss_safe_sum(int64_t a, int64_t b)
{
	int64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static inline uint64_t ss_safe_add(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Round a number to the nearest integer; 0 for NaN. */
static inline uint64_t ss_safe_u64(double d)
{
	return d >= 0x1p64 ? UINT64_MAX : d > 0 ? (uint64_t)d : 0;
}

static inline int64_t ss_safe_i64(double d)
{
	return d >= 0x1p63 ? INT64_MAX : d <= -0x1p63 ? INT64_MIN : d == d ? (int64_t)d : 0;
}

#endif
