/*
 * training.c - a training loop with an input pipeline on threads of its own, recorded by
 * libsstrace.
 *	training LOGDIR [STEPS]
 * Readers prepare batches and hand them over through a queue of one; every third batch is slow, so
 * that the profile has something to find.
 */
#include "ss_trace.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define READERS 2

static struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int batch;		/* 0: empty */
	int next, last;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static volatile double result;

/* Some arithmetic that takes about so many microseconds. */
static void work(int us)
{
	struct timespec begin, now;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (int i = 0; i < 200; i++)
			result += sqrt((double)i);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static void prepare(int batch)
{
	static struct ss_trace_name name = { "prepare batch", 0 }, key = { "batch", 0 };
	const struct ss_trace_arg arg = { &key, SS_TRACE_INT, { .i = batch } };
	SS_TRACE_HOLD(ss_trace_begin(SS_TRACE_INFO, &name, &arg, 1));
	{
		SS_TRACE("read file");
		work(batch % 3 ? 100 : 700);
	}
	SS_TRACE("decode");
	work(150);
}

static void put(int batch)
{
	static struct ss_trace_name name = { "batch ready", 0 };
	pthread_mutex_lock(&queue.lock);
	while (queue.batch)
		pthread_cond_wait(&queue.changed, &queue.lock);
	queue.batch = batch;
	ss_trace_produce(&name, (uint64_t)batch);
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
}

static void *reader(void *arg)
{
	(void)arg;
	ss_trace_thread_name("input pipeline");
	for (;;) {
		pthread_mutex_lock(&queue.lock);
		int batch = queue.next < queue.last ? ++queue.next : 0;
		pthread_mutex_unlock(&queue.lock);
		if (!batch)
			return NULL;
		prepare(batch);
		put(batch);
	}
}

static int take(void)
{
	SS_TRACE_WAIT_INPUT("next batch");
	pthread_mutex_lock(&queue.lock);
	while (!queue.batch)
		pthread_cond_wait(&queue.changed, &queue.lock);
	int batch = queue.batch;
	queue.batch = 0;
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
	return batch;
}

static void step(int number)
{
	static struct ss_trace_name forward = { "forward", 0 }, loss = { "loss", 0 };
	SS_TRACE_STEP("train", number);
	int batch = take();
	{
		SS_TRACE_HOLD(ss_trace_consume_begin(&forward, (uint64_t)batch));
		work(300);
	}
	SS_TRACE("backward");
	work(500);
	ss_trace_counter(&loss, 1.0 / (number + 1));
}

int main(int argc, char **argv)
{
	int steps = argc > 2 ? atoi(argv[2]) : 50;
	struct ss_trace_options options = { .size = sizeof(options), .logdir = argc > 1 ? argv[1] : NULL };
	if (!ss_trace_start(&options)) {
		fprintf(stderr, "training: %s\n", ss_trace_error());
		return 1;
	}
	pthread_t readers[READERS];
	queue.last = steps;
	ss_trace_thread_name("training loop");
	for (int i = 0; i < READERS; i++)
		if (pthread_create(&readers[i], NULL, reader, NULL) != 0)
			return 1;
	for (int i = 0; i < steps; i++)
		step(i);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	const char *path = ss_trace_stop();
	if (!path) {
		fprintf(stderr, "training: %s\n", ss_trace_error());
		return 1;
	}
	printf("%s\n", path);
	return 0;
}
