/*
 * arena.h - memory with one owner and one end of life.
 *
 * A pointer may be stored only in memory that dies no later than its target:
 *	mapped bytes  >  profile arena  >  request arena
 * An arena belongs to one thread at a time. Allocation returns NULL only when memory is out, and
 * the arena remembers it. Allocations in an arena for one answer (tables, notes, texts) need not be
 * checked one by one: the owner of the arena checks no_memory once, at the end.
 */
#ifndef SS_BASE_ARENA_H
#define SS_BASE_ARENA_H

#include "base/hold.h"
#include "base/str.h"

struct ss_arena_block;
struct ss_arena_hold;

struct ss_arena {
	struct ss_arena_block *blocks;	/* newest first */
	char *at, *end;			/* free part of the newest block */
	size_t used_bytes;		/* handed out, for reports and bounds */
	struct ss_arena_hold *holds;	/* to be closed with it */
	bool no_memory;			/* an allocation failed; sticky until the release */
};

/* A zeroed struct ss_arena is an empty arena. */
void *ss_arena_alloc(struct ss_arena *a, size_t size);	/* 16-byte aligned, not cleared */
void *ss_arena_zalloc(struct ss_arena *a, size_t count, size_t size); /* cleared; checks the product */
/* A copy of a string that lives in the arena, with a NUL after it; p is NULL when memory is out. */
struct ss_str ss_arena_str(struct ss_arena *a, struct ss_str s);
struct ss_str ss_arena_printf(struct ss_arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * A hold (hold.h) for the content of one file in this arena, closed when the arena is released;
 * NULL when memory is out.
 */
struct ss_hold *ss_arena_hold(struct ss_arena *a, uint64_t file_bytes);
/* Free everything. The arena is empty and can be used again. */
void ss_arena_release(struct ss_arena *a);

#define SS_NEW(arena, T) ((T *)ss_arena_zalloc((arena), 1, sizeof(T)))
#define SS_NEW_N(arena, T, n) ((T *)ss_arena_zalloc((arena), (n), sizeof(T)))

#endif
