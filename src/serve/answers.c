/*
 * answers.c - a short list, searched from the front: an entry is a whole answer.
 */
#include "serve/answers.h"

#include "base/heap.h"

#include <stdlib.h>

/* A block worth keeping, and one that is not kept for the case. */
#define MIN_SPARE ((size_t)64 << 10)
#define MAX_SPARE ((size_t)16 << 20)

void ss_answers_init(struct ss_answers *c, size_t max_bytes)
{
	*c = (struct ss_answers){ .max_bytes = max_bytes };
	pthread_mutex_init(&c->lock, NULL);
}

void ss_answers_release(struct ss_answers *c)
{
	for (struct ss_answer *a = c->list, *next; a; a = next) {
		next = a->next;
		ss_answer_drop(a);
	}
	c->list = NULL;
	free(c->spare);
	c->spare = NULL;
	pthread_mutex_destroy(&c->lock);
}

static size_t bytes_of(const struct ss_answer *a)
{
	return a->body.n + a->nwhat;
}

/* Under the lock: the entry, taken off the list. */
static struct ss_answer *take(struct ss_answers *c, struct ss_str what, bool gzip)
{
	for (struct ss_answer **at = &c->list, *a; (a = *at); at = &a->next)
		if (a->gzip == gzip && ss_str_eq((struct ss_str){ a->what, a->nwhat }, what)) {
			*at = a->next;
			c->n--;
			c->bytes -= bytes_of(a);
			return a;
		}
	return NULL;
}

/* Under the lock: to the front of the list. */
static void put(struct ss_answers *c, struct ss_answer *a)
{
	a->next = c->list;
	c->list = a;
	c->n++;
	c->bytes += bytes_of(a);
}

struct ss_answer *ss_answers_hold(struct ss_answers *c, struct ss_str what, bool gzip)
{
	pthread_mutex_lock(&c->lock);
	struct ss_answer *a = take(c, what, gzip);
	if (a) {
		put(c, a);
		atomic_fetch_add(&a->refs, 1);
	}
	pthread_mutex_unlock(&c->lock);
	return a;
}

void ss_answer_drop(void *answer)
{
	struct ss_answer *a = answer;
	if (!a || atomic_fetch_sub(&a->refs, 1) != 1)
		return;
	free((void *)(uintptr_t)a->body.p);
	free(a);
}

/* Under the lock: the larger of two blocks stays, the other is given back. */
static void *swap_spare(struct ss_answers *c, void *p)
{
	size_t bytes = ss_heap_block_bytes(p);
	if (bytes < MIN_SPARE || bytes > MAX_SPARE || bytes <= ss_heap_block_bytes(c->spare))
		return p;
	void *other = c->spare;
	c->spare = p;
	return other;
}

struct ss_str ss_answers_take_spare(struct ss_answers *c)
{
	pthread_mutex_lock(&c->lock);
	struct ss_str s = { c->spare, ss_heap_block_bytes(c->spare) };
	c->spare = NULL;
	pthread_mutex_unlock(&c->lock);
	return s;
}

void ss_answers_give_spare(struct ss_answers *c, void *p)
{
	pthread_mutex_lock(&c->lock);
	p = swap_spare(c, p);
	pthread_mutex_unlock(&c->lock);
	free(p);
}

static void shrink(struct ss_answers *c)
{
	while (c->bytes > c->max_bytes || c->n > SS_ANSWERS) {
		struct ss_answer **at = &c->list;
		while (*at && (*at)->next)
			at = &(*at)->next;
		if (!*at)
			return;
		c->n--;
		c->bytes -= bytes_of(*at);
		/* Nobody reads it, and nobody can begin to. */
		if (atomic_load(&(*at)->refs) == 1)
			(*at)->body.p = swap_spare(c, (void *)(uintptr_t)(*at)->body.p);
		ss_answer_drop(*at);
		*at = NULL;
	}
}

size_t ss_answers_limit(const struct ss_answers *c)
{
	return c->max_bytes / 4 * 3;
}

struct ss_answer *ss_answers_keep(struct ss_answers *c, struct ss_str what, struct ss_str body, bool gzip,
				  const char *type)
{
	bool fits = body.n + what.n <= ss_answers_limit(c) && strlen(type) < SS_ANSWER_TYPE;
	struct ss_answer *a = fits ? malloc(sizeof(*a) + what.n) : NULL;
	if (!a)
		return NULL;
	*a = (struct ss_answer){ .refs = 2, .gzip = gzip, .body = body, .nwhat = what.n };
	memcpy(a->what, what.p, what.n);
	strcpy(a->type, type);
	pthread_mutex_lock(&c->lock);
	struct ss_answer *old = take(c, what, gzip);
	put(c, a);
	shrink(c);
	pthread_mutex_unlock(&c->lock);
	ss_answer_drop(old);
	return a;
}
