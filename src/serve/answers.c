/*
 * answers.c - a short list, searched from the front: an entry is a whole answer, so there are
 * hundreds at most.
 */
#include "serve/answers.h"

#include "base/map.h"

#include <malloc.h>
#include <stdlib.h>

/* A block worth keeping, and one that is not kept for the case. */
#define MIN_SPARE ((size_t)64 << 10)
#define MAX_SPARE ((size_t)16 << 20)

/* Part of ETags: the same in every run of the program, so no ss_str_hash. */
struct ss_key ss_key_of(struct ss_str text)
{
	uint64_t h = 0xcbf29ce484222325u, g = text.n, w;
	size_t i = 0;
	for (; i + 8 <= text.n; i += 8) {
		memcpy(&w, text.p + i, 8);
		g = ss_mix(g ^ w, i);
		h = (h ^ w) * 0x100000001b3u;
		h ^= h >> 32;
	}
	for (; i < text.n; i++) {
		g = ss_mix(g ^ (unsigned char)text.p[i], i);
		h = (h ^ (unsigned char)text.p[i]) * 0x100000001b3u;
	}
	return (struct ss_key){ g, ss_mix(h, text.n) };
}

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

/* Under the lock: the entry, taken off the list. */
static struct ss_answer *take(struct ss_answers *c, struct ss_key key)
{
	for (struct ss_answer **at = &c->list, *a; (a = *at); at = &a->next)
		if (a->key.a == key.a && a->key.b == key.b) {
			*at = a->next;
			return a;
		}
	return NULL;
}

struct ss_answer *ss_answers_hold(struct ss_answers *c, struct ss_key key)
{
	pthread_mutex_lock(&c->lock);
	struct ss_answer *a = take(c, key);
	if (a) {
		a->next = c->list;
		c->list = a;
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
	size_t bytes = malloc_usable_size(p);
	if (bytes < MIN_SPARE || bytes > MAX_SPARE || bytes <= malloc_usable_size(c->spare))
		return p;
	void *other = c->spare;
	c->spare = p;
	return other;
}

struct ss_str ss_answers_take_spare(struct ss_answers *c)
{
	pthread_mutex_lock(&c->lock);
	struct ss_str s = { c->spare, malloc_usable_size(c->spare) };
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
	while (c->bytes > c->max_bytes) {
		struct ss_answer **at = &c->list;
		while (*at && (*at)->next)
			at = &(*at)->next;
		if (!*at)
			return;
		c->bytes -= (*at)->body.n;
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

struct ss_answer *ss_answers_keep(struct ss_answers *c, struct ss_key key, struct ss_str body, bool gzip,
				  const char *type)
{
	bool fits = body.n <= ss_answers_limit(c) && strlen(type) < SS_ANSWER_TYPE;
	struct ss_answer *a = fits ? malloc(sizeof(*a)) : NULL;
	if (!a)
		return NULL;
	*a = (struct ss_answer){ .key = key, .refs = 2, .gzip = gzip, .body = body };
	strcpy(a->type, type);
	pthread_mutex_lock(&c->lock);
	struct ss_answer *old = take(c, key);
	if (old)
		c->bytes -= old->body.n;
	a->next = c->list;
	c->list = a;
	c->bytes += body.n;
	shrink(c);
	pthread_mutex_unlock(&c->lock);
	ss_answer_drop(old);
	return a;
}
