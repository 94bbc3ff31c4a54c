/*
 * answers.h - a cache of finished answers, in the form in which they were sent.
 *
 * Every answer has the text of what it answers: the request and the exact state of the files it was made
 * from. Texts are compared, not hashes of them, which somebody who chooses requests could make collide; so
 * an entry is never wrong, only unused. Bounded in bytes and in number; the one unused for longest goes first.
 */
#ifndef SS_SERVE_ANSWERS_H
#define SS_SERVE_ANSWERS_H

#include "base/str.h"

#include <pthread.h>
#include <stdatomic.h>

#define SS_ANSWER_TYPE 64	/* room for a content type */
#define SS_ANSWERS 1024		/* so many at most: the list is searched from the front */

struct ss_answer;

struct ss_answers {
	pthread_mutex_t lock;
	struct ss_answer *list;	/* last used first */
	size_t n, bytes, max_bytes;
	void *spare;		/* memory of an evicted answer, or NULL */
};

void ss_answers_init(struct ss_answers *c, size_t max_bytes);
void ss_answers_release(struct ss_answers *c);
/*
 * A cached answer. It stays valid until ss_answer_drop, even if it is evicted or the whole cache is
 * released meanwhile. Any number of readers may hold one; sending it needs no copy.
 */
struct ss_answer {
	struct ss_answer *next;
	atomic_uint refs;	/* the list's and the readers' */
	bool gzip;
	char type[SS_ANSWER_TYPE];
	struct ss_str body;	/* malloc'ed */
	size_t nwhat;
	char what[];
};

/* NULL when there is none. An answer may be cached twice, with and without gzip. */
struct ss_answer *ss_answers_hold(struct ss_answers *c, struct ss_str what, bool gzip);
void ss_answer_drop(void *answer);
/* An answer of more bytes is not cached. */
size_t ss_answers_limit(const struct ss_answers *c);
/*
 * Keep an answer, whose malloc'ed body becomes the store's, and hold it. NULL, and the body stays
 * the caller's, when it is too large a part of the whole, its type is longer than types are, or
 * memory is out.
 */
struct ss_answer *ss_answers_keep(struct ss_answers *c, struct ss_str what, struct ss_str body, bool gzip,
				  const char *type);

/*
 * Large answers reuse the memory of earlier answers, because fresh memory costs as much as filling
 * it. The block is malloc'ed, has n bytes, and belongs to the caller; p is NULL when there is none.
 */
struct ss_str ss_answers_take_spare(struct ss_answers *c);
/* Give back memory, malloc'ed or NULL. One block is kept, others are freed. */
void ss_answers_give_spare(struct ss_answers *c, void *p);

#endif
