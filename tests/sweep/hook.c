/* hook.c - see hook.h. Sizes are the allocator's own, so that free needs no header of ours. */
#include "sweep/hook.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);

static atomic_size_t fail_at, calls, live, peak;

void hook_arm(size_t n)
{
	fail_at = n;
	calls = 0;
	peak = atomic_load(&live);
}

bool hook_fired(void)
{
	return fail_at && calls >= fail_at;
}

size_t hook_calls(void)
{
	return calls;
}

size_t hook_live_bytes(void)
{
	return live;
}

size_t hook_peak_bytes(void)
{
	return peak;
}

static bool refuse(void)
{
	return atomic_fetch_add(&calls, 1) + 1 == fail_at;
}

static void *gained(void *p)
{
	if (!p)
		return NULL;
	size_t now = atomic_fetch_add(&live, malloc_usable_size(p)) + malloc_usable_size(p), top = peak;
	while (now > top && !atomic_compare_exchange_weak(&peak, &top, now))
		continue;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return refuse() ? NULL : gained(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return refuse() ? NULL : gained(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (refuse())
		return NULL;
	size_t old = p ? malloc_usable_size(p) : 0;
	void *q = __real_realloc(p, size);
	if (q || size == 0)
		atomic_fetch_sub(&live, old);
	return gained(q);
}

void __wrap_free(void *p)
{
	if (p)
		atomic_fetch_sub(&live, malloc_usable_size(p));
	__real_free(p);
}
