/* turns.c - a few places, searched from the front. */
#include "serve/turns.h"

#include "base/system.h"

#include <time.h>

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void ss_turns_init(struct ss_turns *t, unsigned n, uint64_t wait_ms, uint64_t hold_ms)
{
	*t = (struct ss_turns){ .n = n < SS_TURNS_MOST ? n : SS_TURNS_MOST, .wait_ms = wait_ms, .hold_ms = hold_ms };
	pthread_mutex_init(&t->lock, NULL);
	ss_cond_init(&t->freed);
}

void ss_turns_release(struct ss_turns *t)
{
	pthread_cond_destroy(&t->freed);
	pthread_mutex_destroy(&t->lock);
}

/* Under the lock: a place that is free, or that was held for long enough. */
static struct ss_turn *free_place(struct ss_turns *t, uint64_t now)
{
	for (unsigned i = 0; i < t->n; i++)
		if (!t->places[i].number || now - t->places[i].since_ms >= t->hold_ms)
			return &t->places[i];
	return NULL;
}

/* Under the lock: until a place is given back, or held for long enough, or `end`. */
static void wait_for_place(struct ss_turns *t, uint64_t end)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->places[i].since_ms + t->hold_ms < end)
			end = t->places[i].since_ms + t->hold_ms;
	ss_cond_wait_until(&t->freed, &t->lock, (int64_t)end * 1000000);
}

uint64_t ss_turns_take(struct ss_turns *t)
{
	struct ss_turn *place;
	uint64_t number = 0;
	pthread_mutex_lock(&t->lock);
	uint64_t now = now_ms(), end = now + t->wait_ms;
	while (!(place = free_place(t, now)) && now < end) {
		wait_for_place(t, end);
		now = now_ms();
	}
	if (place) {
		number = ++t->given;
		*place = (struct ss_turn){ number, now };
	}
	pthread_mutex_unlock(&t->lock);
	return number;
}

void ss_turns_give(struct ss_turns *t, uint64_t number)
{
	pthread_mutex_lock(&t->lock);
	for (unsigned i = 0; number && i < t->n; i++)
		if (t->places[i].number == number) {
			t->places[i].number = 0;
			pthread_cond_signal(&t->freed);
		}
	pthread_mutex_unlock(&t->lock);
}
