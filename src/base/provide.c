/* provide.c - see provide.h. */
#include "base/provide.h"

#include "base/below.h"
#include "base/system.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define AT_ONCE 4

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct ss_provider *_Atomic first;

void ss_provider_add(struct ss_provider *p)
{
	pthread_rwlock_wrlock(&lock);
	p->next = first;
	first = p;
	pthread_rwlock_unlock(&lock);
}

void ss_provider_remove(struct ss_provider *p)
{
	pthread_rwlock_wrlock(&lock);
	struct ss_provider *at = first;
	if (at == p)
		first = p->next;
	for (; at && at->next != p; at = at->next)
		;
	if (at)
		at->next = p->next;
	pthread_rwlock_unlock(&lock);
}

bool ss_provides(struct ss_str path)
{
	bool does = false;
	if (!first)
		return false;
	pthread_rwlock_rdlock(&lock);
	for (struct ss_provider *p = first; p && !does; p = p->next)
		does = ss_path_below(p->below, path).p;
	pthread_rwlock_unlock(&lock);
	return does;
}

bool ss_provide(const char *path, uint64_t bytes, struct ss_err *err)
{
	bool ok = true;
	if (!first)
		return true;
	pthread_rwlock_rdlock(&lock);
	for (struct ss_provider *p = first; p; p = p->next)
		if (ss_path_below(p->below, ss_str_from(path)).p) {
			ok = p->provide(p->arg, path, bytes, err);
			break;
		}
	pthread_rwlock_unlock(&lock);
	return ok;
}

bool ss_provided(const char *path, int fd, uint64_t bytes)
{
	struct stat st;
	bool has = true;
	if (!first)
		return true;
	pthread_rwlock_rdlock(&lock);
	for (struct ss_provider *p = first; p; p = p->next)
		if (ss_path_below(p->below, ss_str_from(path)).p) {
			has = !p->has || fstat(fd, &st) != 0 || p->has(&st, bytes);
			break;
		}
	pthread_rwlock_unlock(&lock);
	return has;
}

struct many {
	const char *const *paths;
	size_t n;
	uint64_t bytes;
	_Atomic size_t next;
	int64_t until_ns;	/* 0: as long as it takes */
	pthread_mutex_t lock;	/* of `err` */
	struct ss_err err;
};

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *provide_many(void *arg)
{
	struct many *m = arg;
	for (size_t i; (i = atomic_fetch_add(&m->next, 1)) < m->n;) {
		struct ss_err why = { 0 };
		if (m->until_ns && now_ns() > m->until_ns)
			ss_fail(&why, SS_ELATER, "%zu of %zu files have been fetched so far: try again in a moment", i, m->n);
		else if (ss_provide(m->paths[i], m->bytes, &why))
			continue;
		pthread_mutex_lock(&m->lock);
		ss_fail(&m->err, why.code, "%s", why.text);
		pthread_mutex_unlock(&m->lock);
		if (m->until_ns && why.code == SS_ELATER)
			break;
	}
	return NULL;
}

bool ss_provide_all(const char *const *paths, size_t n, uint64_t bytes, long most_ms, struct ss_err *err)
{
	struct many m = { .paths = paths, .n = n, .bytes = bytes,
			  .until_ns = most_ms ? now_ns() + (int64_t)most_ms * 1000000 : 0 };
	pthread_t threads[AT_ONCE - 1];
	size_t k = 0;
	if (!first || !n)
		return true;
	pthread_mutex_init(&m.lock, NULL);
	while (k < SS_COUNT(threads) && k + 1 < n && ss_thread_start(&threads[k], provide_many, &m) == 0)
		k++;
	provide_many(&m);
	while (k)
		pthread_join(threads[--k], NULL);
	pthread_mutex_destroy(&m.lock);
	return !m.err.code || ss_fail(err, m.err.code, "%s", m.err.text);
}
