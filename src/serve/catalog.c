/*
 * catalog.c - at most one scan at a time; who comes meanwhile waits for it and shares its outcome.
 */
#include "serve/catalog.h"

#include <stdlib.h>
#include <time.h>

#define SLOW_MS 50	/* a scan that takes longer is not repeated at every request */

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void ss_catalog_init(struct ss_catalog *c, const struct ss_location *place)
{
	*c = (struct ss_catalog){ .place = place };
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->scanning, NULL);
}

void ss_catalog_release(struct ss_catalog *c)
{
	if (!c->place)
		return;
	if (c->now)
		ss_catalog_put(c, c->now);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->scanning);
	*c = (struct ss_catalog){ 0 };
}

void ss_catalog_put(struct ss_catalog *c, struct ss_snapshot *s)
{
	pthread_mutex_lock(&c->lock);
	bool last = --s->refs == 0;
	pthread_mutex_unlock(&c->lock);
	if (last) {
		ss_store_free(&s->store);
		free(s);
	}
}

static struct ss_snapshot *young_enough(struct ss_catalog *c, int64_t max_age_ms)
{
	pthread_mutex_lock(&c->lock);
	struct ss_snapshot *s = c->now;
	if (s && max_age_ms >= 0) {
		int64_t age_ms = now_ms() - s->made_ms, rest_ms = s->took_ms > SLOW_MS ? 10 * s->took_ms : 0;
		if (age_ms > max_age_ms && age_ms > rest_ms)
			s = NULL;
	}
	if (s)
		s->refs++;
	pthread_mutex_unlock(&c->lock);
	return s;
}

static struct ss_snapshot *scan(struct ss_catalog *c, struct ss_err *err)
{
	struct ss_snapshot *s = calloc(1, sizeof(*s));
	if (!s) {
		ss_fail_mem(err);
		return NULL;
	}
	int64_t begin_ms = now_ms();
	s->refs = 2;	/* the catalog's and the caller's */
	if (!ss_location_scan(c->place, &s->store, err)) {
		free(s);
		return NULL;
	}
	/* As of its beginning: what changed since may have been missed. */
	s->made_ms = begin_ms;
	s->took_ms = now_ms() - begin_ms;
	pthread_mutex_lock(&c->lock);
	struct ss_snapshot *old = c->now;
	c->now = s;
	pthread_mutex_unlock(&c->lock);
	if (old)
		ss_catalog_put(c, old);
	return s;
}

struct ss_snapshot *ss_catalog_get(struct ss_catalog *c, int64_t max_age_ms, struct ss_err *err)
{
	struct ss_snapshot *s = young_enough(c, max_age_ms);
	if (s) {
		ss_location_refresh(c->place);
		return s;
	}
	int64_t asked_ms = now_ms();
	pthread_mutex_lock(&c->scanning);
	/*
	 * Whoever scanned while we waited has begun after we asked, if it took less than our
	 * waiting.
	 */
	int64_t waited_ms = now_ms() - asked_ms;
	s = young_enough(c, waited_ms > max_age_ms ? waited_ms : max_age_ms);
	if (!s)
		s = scan(c, err);
	pthread_mutex_unlock(&c->scanning);
	return s;
}
