/* provide.c - see provide.h. */
#include "base/provide.h"

#include "base/below.h"
#include "base/system.h"

#include <pthread.h>
#include <stdatomic.h>

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

bool ss_provides(void)
{
	return first;
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

struct many {
	const char *const *paths;
	size_t n;
	_Atomic size_t next;
};

static void *provide_many(void *arg)
{
	struct many *m = arg;
	for (size_t i; (i = atomic_fetch_add(&m->next, 1)) < m->n;)
		(void)ss_provide(m->paths[i], SS_WHOLE_FILE, NULL);
	return NULL;
}

void ss_provide_all(const char *const *paths, size_t n)
{
	struct many m = { .paths = paths, .n = n };
	pthread_t threads[AT_ONCE - 1];
	size_t k = 0;
	if (!first || n < 2)
		return;
	while (k < SS_COUNT(threads) && k + 1 < n && ss_thread_start(&threads[k], provide_many, &m) == 0)
		k++;
	provide_many(&m);
	while (k)
		pthread_join(threads[--k], NULL);
}
