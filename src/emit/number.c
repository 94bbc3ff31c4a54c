/*
 * number.c - see number.h.
 *
 * Between 0.0001 and 10^15, where most numbers of a table lie, everything is exact in 128 bits: a
 * number is m / 2^s with m below 2^53, its digits are those of m * 10^k / 2^s for the k that puts
 * 15, 16 or 17 of them before the point, and what rounding took away tells whether they read back:
 * it must be less than half of what lies between neighbouring doubles. printf and strtod for each
 * try, which all other numbers get, take ten times as long.
 */
#include "emit/number.h"

#include "base/str.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

#define MIN_DIGITS 15
#define MAX_DIGITS 17
#define MIN_COUNT 1e-4
#define BEYOND 1e15

static const uint64_t powers[] = {
	1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u, 10000000000u, 100000000000u,
	1000000000000u, 10000000000000u, 100000000000000u, 1000000000000000u, 10000000000000000u, 100000000000000000u,
	1000000000000000000u, 10000000000000000000u,
};

static u128 power(int k)
{
	return k < (int)SS_COUNT(powers) ? powers[k] : (u128)powers[19] * powers[k - 19];
}

/* The power of ten of the first digit. */
static int exponent_of(double v)
{
	int x = v < 1 ? -1 : 0;
	while (x < 0 && x > -4 && v * (double)powers[-x] < 1)
		x--;
	while (x >= 0 && x < 15 && v >= (double)powers[x + 1])
		x++;
	return x;
}

/* m / 2^s to `digits` digits, the first of which has exponent x; *same: it reads back. */
static uint64_t round_to(uint64_t m, unsigned s, int digits, int x, bool *same)
{
	u128 scale = power(digits - 1 - x), product = m * scale;
	u128 rest = product & (((u128)1 << s) - 1), half = (u128)1 << (s - 1);
	uint64_t q = (uint64_t)(product >> s);
	if (rest > half || (rest == half && q & 1)) {
		q++;
		rest = ((u128)1 << s) - rest;
	}
	*same = 2 * rest < scale || (2 * rest == scale && !(m & 1));
	return q;
}

/* The digits with a point behind the one of exponent 0, and no zeros at the end of a fraction. */
static size_t put_digits(char *out, uint64_t q, int digits, int x)
{
	char text[MAX_DIGITS];
	size_t n = 0;
	for (int i = digits; i-- > 0; q /= 10)
		text[i] = (char)('0' + q % 10);
	while (digits > 1 && digits > x + 1 && text[digits - 1] == '0')
		digits--;
	if (x < 0) {
		memcpy(out, "0.0000", 6);
		n = (size_t)(1 - x);
	}
	for (int i = 0; i < digits; i++) {
		if (x >= 0 && i == x + 1)
			out[n++] = '.';
		out[n++] = text[i];
	}
	return n;
}

static size_t put_exact(char *out, double v)
{
	int e;
	uint64_t m = (uint64_t)ldexp(frexp(v, &e), 53);
	unsigned s = (unsigned)(53 - e);
	int x = exponent_of(v);
	bool same = false;
	/* Below a power of two the doubles lie closer. */
	if (m == UINT64_C(1) << 52 || s < 1)
		return 0;
	for (int digits = MIN_DIGITS; digits <= MAX_DIGITS; digits++) {
		uint64_t q = round_to(m, s, digits, x, &same);
		/* Rounded up to one digit more, or the exponent was taken for the next. */
		if (q < powers[digits - 1] || q >= powers[digits])
			return 0;
		if (same)
			return put_digits(out, q, digits, x);
	}
	return 0;
}

size_t ss_put_number(char *out, double v)
{
	double size = fabs(v);
	bool minus = signbit(v);
	int n = 0;
	if (size >= MIN_COUNT && size < BEYOND) {
		size_t exact = put_exact(out + minus, size);
		out[0] = minus ? '-' : out[0];
		if (exact)
			return exact + minus;
	}
	for (int digits = MIN_DIGITS; digits <= MAX_DIGITS; digits++) {
		n = snprintf(out, SS_NUMBER_BYTES, "%.*g", digits, v);
		if (digits == MAX_DIGITS || strtod(out, NULL) == v)
			break;
	}
	return (size_t)n;
}
