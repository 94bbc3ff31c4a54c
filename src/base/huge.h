/*
 * huge.h - large arrays: large pages, since a fault for each 4 kB costs more than filling them, and
 * giving back what a walk has passed.
 */
#ifndef SS_BASE_HUGE_H
#define SS_BASE_HUGE_H

#include <stddef.h>

/*
 * Say that a block of malloc or realloc is to have large pages. Only a hint, and nothing is done
 * for blocks that are too small to hold one.
 */
void ss_huge_advise(void *p, size_t bytes);
/*
 * The first `bytes` of a block are not needed any more: their pages are given back, and what stood
 * there is lost. The block itself is freed as ever.
 */
void ss_huge_release(void *p, size_t bytes);

#endif
