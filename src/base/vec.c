/* vec.c - doubling growth. Large arrays move by remapping in the C library, not by copying. */
#include "base/vec.h"

#include "base/huge.h"

#include <stdint.h>
#include <stdlib.h>

/* The last large page of an array is half empty on average: that is little of one of this size. */
#define HUGE_FROM ((size_t)16 << 20)

bool ss_grow(void **v, size_t *cap, size_t need, size_t size)
{
	if (need <= *cap)
		return true;
	size_t n = *cap ? *cap : SS_VEC_FIRST;
	while (n < need) {
		if (n > SIZE_MAX / 2)
			return false;
		n *= 2;
	}
	if (n > SIZE_MAX / 2 / size)
		return false;
	void *grown = realloc(*v, n * size);
	if (!grown)
		return false;
	if (n * size >= HUGE_FROM)
		ss_huge_advise(grown, n * size);
	*v = grown;
	*cap = n;
	return true;
}
