/*
 * arena.c - bump allocation in blocks that double up to 1 MiB; a request larger than a quarter of a
 * block gets a block of its own, so that big arrays waste nothing.
 *
 * Under AddressSanitizer a gap that may not be touched follows each piece, as behind a malloc.
 */
#include "base/arena.h"

#include "base/huge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define GAP ALIGN
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define GAP 0u
#endif

#define ALIGN 16u
#define FIRST_BLOCK 4096u
#define MAX_BLOCK (1u << 20)

struct ss_arena_block {
	struct ss_arena_block *next;
	size_t size;			/* bytes after this header */
};

static char *data(struct ss_arena_block *b)
{
	return (char *)b + ALIGN;
}

static void *own_block(struct ss_arena *a, size_t size)
{
	struct ss_arena_block *b = malloc(ALIGN + size);
	if (!b)
		return NULL;
	ss_huge_advise(b, ALIGN + size);
	b->size = size;
	/* Behind the newest block, whose free part stays in use. */
	if (a->blocks) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		b->next = NULL;
		a->blocks = b;
		a->at = a->end = data(b) + size;
	}
	return data(b);
}

static bool new_block(struct ss_arena *a)
{
	size_t size = FIRST_BLOCK;
	if (a->blocks)
		size = a->blocks->size * 2 < MAX_BLOCK ? a->blocks->size * 2 : MAX_BLOCK;
	if (size < FIRST_BLOCK)
		size = FIRST_BLOCK;
	struct ss_arena_block *b = malloc(ALIGN + size);
	if (!b)
		return false;
	*b = (struct ss_arena_block){ .next = a->blocks, .size = size };
	a->blocks = b;
	a->at = data(b);
	a->end = a->at + size;
	ASAN_POISON_MEMORY_REGION(a->at, size);
	return true;
}

static void *fail(struct ss_arena *a)
{
	a->no_memory = true;
	return NULL;
}

void *ss_arena_alloc(struct ss_arena *a, size_t size)
{
	size_t asked = size;
	if (size > SIZE_MAX - 4 * ALIGN)
		return fail(a);
	/* Nothing is something too: NULL means that memory is out. */
	size = (size ? (size + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN) + GAP;
	void *p;
	if (size > FIRST_BLOCK / 4 && size > (size_t)(a->end - a->at)) {
		p = own_block(a, size);
	} else {
		if (size > (size_t)(a->end - a->at) && !new_block(a))
			return fail(a);
		p = a->at;
		a->at += size;
		ASAN_UNPOISON_MEMORY_REGION(p, asked);
	}
	if (!p)
		return fail(a);
	ASAN_POISON_MEMORY_REGION((char *)p + size - GAP, GAP);
	a->used_bytes += size - GAP;
	return p;
}

void *ss_arena_zalloc(struct ss_arena *a, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / 2 / size)
		return fail(a);
	void *p = ss_arena_alloc(a, count * size);
	if (p)
		memset(p, 0, count * size);
	return p;
}

struct ss_str ss_arena_str(struct ss_arena *a, struct ss_str s)
{
	char *p = ss_arena_alloc(a, s.n + 1);
	if (!p)
		return (struct ss_str){ NULL, 0 };
	if (s.n)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return (struct ss_str){ p, s.n };
}

struct ss_str ss_arena_printf(struct ss_arena *a, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *p = n < 0 ? NULL : ss_arena_alloc(a, (size_t)n + 1);
	/*
	 * The arguments may lie in a mapped file that another process writes: the result can be shorter
	 * or longer than it was.
	 */
	int now = p ? vsnprintf(p, (size_t)n + 1, fmt, again) : 0;
	va_end(again);
	return (struct ss_str){ p, (size_t)(now < 0 ? 0 : now < n ? now : n) };
}

struct ss_arena_hold {
	struct ss_arena_hold *next;
	struct ss_hold *hold;
};

struct ss_hold *ss_arena_hold(struct ss_arena *a, uint64_t file_bytes)
{
	struct ss_arena_hold *h = ss_arena_alloc(a, sizeof(*h));
	struct ss_hold *hold = h ? ss_hold_open(file_bytes) : NULL;
	if (hold) {
		*h = (struct ss_arena_hold){ a->holds, hold };
		a->holds = h;
	}
	return hold;
}

void ss_arena_release(struct ss_arena *a)
{
	for (struct ss_arena_hold *h = a->holds; h; h = h->next)
		ss_hold_close(h->hold);
	struct ss_arena_block *b = a->blocks;
	while (b) {
		struct ss_arena_block *next = b->next;
		free(b);
		b = next;
	}
	*a = (struct ss_arena){ 0 };
}
