/* heap.c - by mallopt and malloc_trim of the GNU C library; the size of a block by each library's own name for it. */
#include "base/heap.h"

#ifdef __APPLE__
#include <malloc/malloc.h>
#else
#include <malloc.h>
#endif

size_t ss_heap_block_bytes(void *p)
{
#ifdef __APPLE__
	return malloc_size(p);
#else
	return malloc_usable_size(p);
#endif
}

#ifdef __GLIBC__
void ss_heap_trim(void)
{
	malloc_trim(0);
}

void ss_heap_for_program(void)
{
	mallopt(M_ARENA_MAX, 4);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TOP_PAD, 1 << 20);
}

void ss_heap_for_server(void)
{
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 32 << 20);
}
#else
void ss_heap_trim(void)
{
}

void ss_heap_for_program(void)
{
}

void ss_heap_for_server(void)
{
}
#endif
