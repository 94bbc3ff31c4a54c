/* huge.c - large pages for blocks that the C library maps one by one. */
#include "base/huge.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* The size from which one aligned large page of 2 MB mostly fits. */
#define HUGE_FROM ((size_t)3 << 20)

/*
 * Blocks of this size stand alone, 16 bytes behind the begin of their mapping. The whole mapping is
 * named, so that remapping finds one and not two.
 */
void ss_huge_advise(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)p;
	if (bytes >= HUGE_FROM && at % page == 16)
		madvise((void *)(at - 16), (bytes + 16 + page - 1) / page * page, MADV_HUGEPAGE);
#else
	(void)p, (void)bytes;
#endif
}

void ss_huge_release(void *p, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)p + page - 1) / page * page, to = ((uintptr_t)p + bytes) / page * page;
	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
}
