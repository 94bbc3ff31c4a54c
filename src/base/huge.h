/*
 * huge.h - large arrays: large pages, because a page fault for each 4 kB costs more than filling
 * it, and releasing memory that a walk has passed.
 */
#ifndef SS_BASE_HUGE_H
#define SS_BASE_HUGE_H

#include <stddef.h>

/*
 * Request large pages for a block of malloc or realloc. It is only a hint, and has no effect on
 * blocks that are too small to hold one.
 */
void ss_huge_advise(void *p, size_t bytes);
/*
 * The first `bytes` of a block are not needed any more: their pages are released, and their content
 * is lost. The block itself is freed as usual.
 */
void ss_huge_release(void *p, size_t bytes);

#endif
