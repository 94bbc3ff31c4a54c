/*
 * intern.h - texts that outlive the host they come from.
 *
 * What is combined of hosts that are opened one after the other (visit.h) must not point into their
 * files. A keeper copies each text once, however many hosts say it: what it holds grows with what
 * differs between hosts, not with their number. Where hosts stay open it copies nothing.
 */
#ifndef SS_MODEL_INTERN_H
#define SS_MODEL_INTERN_H

#include "base/arena.h"
#include "base/map.h"
#include "model/model.h"

struct ss_intern {
	bool copies;		/* the hosts go away: ss_intern_of */
	bool no_memory;		/* sticky: ask once, at the end */
	struct ss_strmap known;
	struct ss_arena *into;	/* where the texts go; NULL: the keeper's own arena */
	struct ss_arena arena;	/* of the texts, and of what else is kept beside them */
};

struct ss_intern ss_intern_of(const struct ss_model *m);
/* For the tables of a request: the texts go into its arena and outlive the keeper. */
struct ss_intern ss_intern_into(const struct ss_model *m, struct ss_arena *arena);
/* `s`, or the copy of it. Never with p NULL. */
struct ss_str ss_intern_str(struct ss_intern *k, struct ss_str s);
/* A copy of n elements, room for one more behind them, whatever becomes of the host. NULL when memory is out. */
void *ss_intern_copy(struct ss_intern *k, const void *from, size_t n, size_t size);
void ss_intern_release(struct ss_intern *k);

#endif
