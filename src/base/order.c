/* order.c - see order.h. */
#include "base/order.h"

#include "base/str.h"

#include <stdint.h>

int ss_cmp_i64(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return SS_CMP(*x, *y);
}

int ss_cmp_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return SS_CMP(*x, *y);
}

int ss_cmp_double(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return SS_CMP(*x, *y);
}

int ss_cmp_str(const void *a, const void *b)
{
	const struct ss_str *x = a, *y = b;
	return ss_str_cmp(*x, *y);
}
