/*
 * turns.h - limits how many requests of a kind are in progress at the same time.
 *
 * If all places are taken, a thread waits for one. A place that is held for longer than `hold_ms` is
 * given to a waiting thread, because its holder only waits for its client by then: a client that reads
 * slowly must not keep others out. Any number of threads may use one.
 */
#ifndef SS_SERVE_TURNS_H
#define SS_SERVE_TURNS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define SS_TURNS_MOST 8u

struct ss_turns {
	unsigned n;			/* places */
	uint64_t wait_ms, hold_ms;
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct ss_turn {
		uint64_t number;	/* of who holds it; 0: nobody */
		uint64_t since_ms;
	} places[SS_TURNS_MOST];
	uint64_t given;			/* turns so far */
};

void ss_turns_init(struct ss_turns *t, unsigned n, uint64_t wait_ms, uint64_t hold_ms);
void ss_turns_release(struct ss_turns *t);
/* The number of the turn; 0: none became free in wait_ms. */
uint64_t ss_turns_take(struct ss_turns *t);
/* 0 and a turn that was given to another are allowed. */
void ss_turns_give(struct ss_turns *t, uint64_t number);

#endif
