/* pool.c - threads live for one call: starting one costs some 20 us, a piece of work is usually far longer. */
#include "base/pool.h"

#include "base/system.h"

#include <pthread.h>
#include <stdatomic.h>

#define MAX_THREADS 16u

struct parallel_work {
	size_t n;
	ss_work_fn *fn;
	void *arg;
	atomic_size_t next;
	atomic_bool failed;
	pthread_mutex_t lock;
	size_t first_bad;	/* guarded by lock, as is bad */
	struct ss_err bad;
};

static void *work(void *arg)
{
	struct parallel_work *parallel_work = arg;
	while (!atomic_load_explicit(&parallel_work->failed, memory_order_relaxed)) {
		size_t i = atomic_fetch_add(&parallel_work->next, 1);
		if (i >= parallel_work->n)
			break;
		struct ss_err err = { 0 };
		if (parallel_work->fn(parallel_work->arg, i, &err))
			continue;
		pthread_mutex_lock(&parallel_work->lock);
		if (!parallel_work->failed || i < parallel_work->first_bad) {
			parallel_work->first_bad = i;
			parallel_work->bad = err;
		}
		atomic_store(&parallel_work->failed, true);
		pthread_mutex_unlock(&parallel_work->lock);
	}
	return NULL;
}

static unsigned thread_count(size_t n, unsigned wanted)
{
	if (wanted == 0)
		wanted = ss_processors();
	if (wanted > MAX_THREADS)
		wanted = MAX_THREADS;
	return n < wanted ? (unsigned)n : wanted;
}

bool ss_parallel(size_t n, unsigned threads, ss_work_fn *fn, void *arg, struct ss_err *err)
{
	struct parallel_work parallel_work = { .n = n, .fn = fn, .arg = arg };
	pthread_mutex_init(&parallel_work.lock, NULL);
	pthread_t helpers[MAX_THREADS];
	unsigned nhelpers = 0, want = thread_count(n, threads);
	/* A thread that cannot be started only means that the others do its share. */
	while (nhelpers + 1 < want && ss_thread_start(&helpers[nhelpers], work, &parallel_work) == 0)
		nhelpers++;
	work(&parallel_work);
	for (unsigned i = 0; i < nhelpers; i++)
		pthread_join(helpers[i], NULL);
	pthread_mutex_destroy(&parallel_work.lock);
	if (parallel_work.failed)
		return ss_fail(err, parallel_work.bad.code ? parallel_work.bad.code : SS_ENOMEM, "%s",
			       parallel_work.bad.code ? parallel_work.bad.text : "out of memory");
	return true;
}
