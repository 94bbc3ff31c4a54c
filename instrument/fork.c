/*
 * fork.c - the recorder in a process that forks and that unloads libraries.
 *
 * A child records nothing until it starts a recording of its own, and writes nothing into its
 * parent's file: the parent's buffers are taken out of it. The handlers of fork do so with the
 * recorder at rest. A child that was made without them (clone, _Fork), or by a signal's handler
 * that interrupted the recorder, is found out when it records: memory of the parent's is zeros
 * there (see struct thread).
 *
 * The library stays loaded from the first start on, also as a part of a plug-in that is unloaded:
 * threads may be in scopes, and the maker in its code. Nothing of it runs when a thread ends.
 */
#include "recorder.h"

#include <dlfcn.h>
#include <sys/mman.h>

void *ss_rec_map_wiped(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
#ifdef MADV_WIPEONFORK
	madvise(p, bytes, MADV_WIPEONFORK);
#endif
	return p;
}

bool ss_rec_is_orphan(void)
{
	const uint64_t *parent = __atomic_load_n(&ss_rec.parent, __ATOMIC_ACQUIRE);
	return parent && !*parent;
}

/* From a recorder that is at rest, or not: interrupted. */
static void forget(bool interrupted)
{
	__atomic_store_n(&ss_trace_level_now, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ss_rec.session, 1, __ATOMIC_RELAXED);
	ss_rec.running = ss_rec.joinable = false;
	ss_rec.source = NULL;
	ss_rec.joined = 0;
	ss_rec.threads = ss_rec.stopping = NULL;
	for (size_t i = 0; i < SHARED_LINES; i++)
		ss_rec.shared[i] = (struct thread){ 0 };
	ss_rec_forget_buffers(interrupted);
	ss_spool_close(&ss_rec.spool);
	if (interrupted) {	/* its chains may be cut; the entries, which callers have, stay */
		ss_rec.interned = NULL;
		ss_rec.ninterned = ss_rec.interned_slots = 0;
	}
	pthread_mutex_init(&ss_rec.session_lock, NULL);
	pthread_mutex_init(&ss_rec.intern_lock, NULL);
	pthread_mutex_init(&ss_rec.shared_lock, NULL);
	pthread_mutex_init(&ss_rec.lock, NULL);
	ss_rec_init_maker();
	ss_rec_self.thread = NULL;
	ss_rec_self.in_session = false;
	if (ss_rec.parent)
		*ss_rec.parent = 1;
}

void ss_rec_adopt(void)
{
	forget(true);
}

/*
 * Do not take session_lock: a fork does not wait for a stop. Memory that a stop is working on is given
 * up, not used.
 */
static void before_fork(void)
{
	if (ss_rec_self.busy)
		return;
	ss_rec_self.busy = BUSY_FORKING;
	pthread_mutex_lock(&ss_rec.intern_lock);
	pthread_mutex_lock(&ss_rec.shared_lock);
	pthread_mutex_lock(&ss_rec.lock);
}

static void in_parent(void)
{
	if (ss_rec_self.busy != BUSY_FORKING)
		return;
	pthread_mutex_unlock(&ss_rec.lock);
	pthread_mutex_unlock(&ss_rec.shared_lock);
	pthread_mutex_unlock(&ss_rec.intern_lock);
	ss_rec_self.busy = BUSY_NOT;
}

static void in_child(void)
{
	bool rest = ss_rec_self.busy == BUSY_FORKING;
	forget(!rest);
	if (rest)
		ss_rec_self.busy = BUSY_NOT;
}

void ss_rec_stay_loaded(void)
{
	Dl_info self;
	if (dladdr(&ss_rec, &self) && self.dli_fname)
		dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

bool ss_rec_prepare(void)
{
	if (ss_rec.ready)
		return true;
	uint64_t *parent = ss_rec_map_wiped(sizeof(*parent));
	if (parent)
		*parent = 1;
	__atomic_store_n(&ss_rec.parent, parent, __ATOMIC_RELEASE);
	ss_rec.ready = ss_rec_init_maker() && pthread_atfork(before_fork, in_parent, in_child) == 0;
	return ss_rec.ready;
}
