/* vec.c - doubling growth. Large arrays move by remapping in the C library, not by copying. */
#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>

bool ss_grow(void **v, size_t *cap, size_t need, size_t size)
{
	if (need <= *cap)
		return true;
	size_t n = *cap ? *cap : 8;
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
	*v = grown;
	*cap = n;
	return true;
}
