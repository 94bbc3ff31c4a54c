/*
 * intern.h - texts that outlive their source.
 *
 * Each text is copied once, however often it occurs: memory grows with the number of different
 * texts.
 */
#ifndef SS_BASE_INTERN_H
#define SS_BASE_INTERN_H

#include "base/arena.h"
#include "base/map.h"

struct ss_intern {
	bool copies;		/* what texts come from goes away; else they are left where they are */
	bool no_memory;		/* sticky: ask once, at the end */
	struct ss_strmap known;
	struct ss_arena *into;	/* where the texts go; NULL: its own arena */
	struct ss_arena arena;	/* of the texts, and of what else is kept beside them */
};

/* `s`, or the copy of it. Never with p NULL. */
struct ss_str ss_intern_str(struct ss_intern *k, struct ss_str s);
/* A copy of n elements with room for one more, which outlives the host. NULL when memory is out. */
void *ss_intern_copy(struct ss_intern *k, const void *from, size_t n, size_t size);
void ss_intern_release(struct ss_intern *k);

#endif
