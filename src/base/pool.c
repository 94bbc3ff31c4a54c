/* pool.c - threads live for one call: starting one costs some 20 us, a piece of work is usually far longer. */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define MAX_THREADS 16u

struct job {
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
	struct job *job = arg;
	while (!atomic_load_explicit(&job->failed, memory_order_relaxed)) {
		size_t i = atomic_fetch_add(&job->next, 1);
		if (i >= job->n)
			break;
		struct ss_err err = { 0 };
		if (job->fn(job->arg, i, &err))
			continue;
		pthread_mutex_lock(&job->lock);
		if (!job->failed || i < job->first_bad) {
			job->first_bad = i;
			job->bad = err;
		}
		atomic_store(&job->failed, true);
		pthread_mutex_unlock(&job->lock);
	}
	return NULL;
}

static unsigned thread_count(size_t n, unsigned wanted)
{
	if (wanted == 0) {
		long cores = sysconf(_SC_NPROCESSORS_ONLN);
		wanted = cores > 0 ? (unsigned)cores : 1;
	}
	if (wanted > MAX_THREADS)
		wanted = MAX_THREADS;
	return n < wanted ? (unsigned)n : wanted;
}

bool ss_parallel(size_t n, unsigned threads, ss_work_fn *fn, void *arg, struct ss_err *err)
{
	struct job job = { .n = n, .fn = fn, .arg = arg };
	pthread_mutex_init(&job.lock, NULL);
	pthread_t helpers[MAX_THREADS];
	unsigned nhelpers = 0, want = thread_count(n, threads);
	/* A thread that cannot be started only means that the others do its share. */
	while (nhelpers + 1 < want && pthread_create(&helpers[nhelpers], NULL, work, &job) == 0)
		nhelpers++;
	work(&job);
	for (unsigned i = 0; i < nhelpers; i++)
		pthread_join(helpers[i], NULL);
	pthread_mutex_destroy(&job.lock);
	if (job.failed)
		return ss_fail(err, job.bad.code ? job.bad.code : SS_ENOMEM, "%s",
			       job.bad.code ? job.bad.text : "out of memory");
	return true;
}
