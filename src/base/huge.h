/*
 * huge.h - large pages for large arrays: a fault for each 4 kB costs more than filling them.
 */
#ifndef SS_BASE_HUGE_H
#define SS_BASE_HUGE_H

#include <stddef.h>

/*
 * Say that a block of malloc or realloc is to have large pages. Only a hint, and nothing is done
 * for blocks that are too small to hold one.
 */
void ss_huge_advise(void *p, size_t bytes);

#endif
