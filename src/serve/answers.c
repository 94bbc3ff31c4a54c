/*
 * answers.c - a short list, searched from the front: an entry is a whole answer, so there are hundreds at
 * most.
 */
#include "serve/answers.h"

#include "base/map.h"

#include <stdlib.h>

struct ss_answer {
	struct ss_answer *next;
	struct ss_key key;
	bool gzip;
	char type[SS_ANSWER_TYPE];
	size_t n;
	char body[];
};

struct ss_key ss_key_of(struct ss_str text)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (size_t i = 0; i < text.n; i++)
		h = (h ^ (unsigned char)text.p[i]) * 0x100000001b3u;
	return (struct ss_key){ ss_str_hash(text), ss_mix(h, text.n) };
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
		free(a);
	}
	c->list = NULL;
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

bool ss_answers_get(struct ss_answers *c, struct ss_key key, struct ss_str *body, bool *gzip, char type[SS_ANSWER_TYPE])
{
	char *copy = NULL;
	pthread_mutex_lock(&c->lock);
	struct ss_answer *a = take(c, key);
	if (a) {
		a->next = c->list;
		c->list = a;
		copy = malloc(a->n + 1);
		if (copy) {
			memcpy(copy, a->body, a->n);
			*body = (struct ss_str){ copy, a->n };
			*gzip = a->gzip;
			memcpy(type, a->type, sizeof(a->type));
		}
	}
	pthread_mutex_unlock(&c->lock);
	return copy;
}

static void shrink(struct ss_answers *c)
{
	while (c->bytes > c->max_bytes) {
		struct ss_answer **at = &c->list;
		while (*at && (*at)->next)
			at = &(*at)->next;
		if (!*at)
			return;
		c->bytes -= (*at)->n;
		free(*at);
		*at = NULL;
	}
}

size_t ss_answers_limit(const struct ss_answers *c)
{
	return c->max_bytes / 4;
}

void ss_answers_put(struct ss_answers *c, struct ss_key key, struct ss_str body, bool gzip, const char *type)
{
	bool fits = body.n <= ss_answers_limit(c) && strlen(type) < SS_ANSWER_TYPE;
	struct ss_answer *a = fits ? malloc(sizeof(*a) + body.n) : NULL;
	if (!a)
		return;
	a->key = key;
	a->gzip = gzip;
	strcpy(a->type, type);
	a->n = body.n;
	memcpy(a->body, body.p, body.n);
	pthread_mutex_lock(&c->lock);
	struct ss_answer *old = take(c, key);
	if (old)
		c->bytes -= old->n;
	a->next = c->list;
	c->list = a;
	c->bytes += a->n;
	shrink(c);
	pthread_mutex_unlock(&c->lock);
	free(old);
}
