/* assert.c - the end of a program that is wrong about itself. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void ss_assert_failed(const char *truth, const char *file, int line)
{
	fprintf(stderr, "%s:%d: not true: %s\n", file, line, truth);
	abort();
}
