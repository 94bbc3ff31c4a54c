/*
 * visit.c - see visit.h.
 *
 * Hosts are admitted in order, and the first that is open is never waited for by anybody but the
 * threads behind it: there is always one that can go on.
 */
#include "model/visit.h"
#include "model/model.h"

#include "base/heap.h"
#include "base/pool.h"
#include "model/host/host.h"

#include <pthread.h>
#include <stdlib.h>

/* Files that are open at a time, together. */
#define OPEN_BYTES ((uint64_t)64 << 20)
#define TRIM_BYTES ((uint64_t)512 << 10)
#define TRIM_HOSTS 16	/* that are smaller */
#define MAX_THREADS 16

struct tour {
	struct ss_model *m;
	const struct ss_visit *v;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	/* Under the lock. */
	size_t next, admitted, taken;
	uint64_t open_bytes;
	size_t readable;		/* of those taken; whose turn it is counts */
	bool failed;
	size_t first_bad;
	struct ss_err bad, unreadable;	/* unreadable: why the first host was none */
};

/*
 * The next host to read, as soon as there is room for it. False: there is none, or a host has
 * failed.
 */
static bool admit(struct tour *t, size_t *i, uint64_t *bytes)
{
	pthread_mutex_lock(&t->lock);
	bool any = t->next < t->m->nhosts && !t->failed;
	if (any) {
		*i = t->next++;
		*bytes = t->m->opener.open ? 0 : t->m->hosts[*i]->source.file_bytes;
		while (!t->failed && (t->admitted != *i || (t->open_bytes && t->open_bytes + *bytes > OPEN_BYTES)))
			pthread_cond_wait(&t->moved, &t->lock);
		t->admitted++;
		t->open_bytes += *bytes;
		any = !t->failed;
		pthread_cond_broadcast(&t->moved);
	}
	pthread_mutex_unlock(&t->lock);
	return any;
}

/* True when it is this host's turn to be taken; false when one before it has failed. */
static bool await_turn(struct tour *t, size_t i)
{
	pthread_mutex_lock(&t->lock);
	while (t->taken != i && !(t->failed && t->first_bad < i))
		pthread_cond_wait(&t->moved, &t->lock);
	bool turn = t->taken == i;
	pthread_mutex_unlock(&t->lock);
	return turn;
}

static void leave(struct tour *t, size_t i, uint64_t bytes, bool ok, const struct ss_err *err)
{
	pthread_mutex_lock(&t->lock);
	t->open_bytes -= bytes;
	if (ok) {
		t->taken++;
	} else if (!t->failed || i < t->first_bad) {
		t->failed = true;
		t->first_bad = i;
		t->bad = *err;
	}
	pthread_cond_broadcast(&t->moved);
	pthread_mutex_unlock(&t->lock);
}

/*
 * What people are told of a host when it is closed again: its name for itself, and what its file
 * lacks.
 */
static bool describe(struct ss_model *m, struct ss_host *to, const struct ss_host *h, struct ss_err *err)
{
	bool ok = true;
	pthread_mutex_lock(&m->lock);
	if (!to->x.hostnames) {
		struct ss_str *names = SS_NEW_N(&to->arena, struct ss_str, 1);
		struct ss_str *notes = SS_NEW_N(&to->arena, struct ss_str, h->x.nnotes + 1);
		ok = names && notes;
		if (ok && h->x.nhostnames)
			ok = (names[0] = ss_arena_str(&to->arena, h->x.hostnames[0])).p;
		for (uint32_t i = 0; ok && i < h->x.nnotes; i++)
			ok = (notes[i] = ss_arena_str(&to->arena, h->x.notes[i])).p;
		if (ok) {
			to->x.hostnames = names;
			to->x.nhostnames = h->x.nhostnames ? 1 : 0;
			to->x.notes = notes;
			to->x.nnotes = h->x.nnotes;
		}
	}
	if (h->ndropped > to->ndropped)
		to->ndropped = h->ndropped;
	if (h->nclipped > to->nclipped)
		to->nclipped = h->nclipped;
	pthread_mutex_unlock(&m->lock);
	return ok || ss_fail_mem(err);
}

static bool open_host(const struct ss_model *m, struct ss_host *h, const struct ss_host *known, struct ss_err *why,
		      struct ss_err *err)
{
	if (m->opener.open)
		return m->opener.open(&m->opener, (size_t)(known - m->known), known->x.path.p, h, why, err);
	return ss_host_open_among(h, known->source.top, known->x.path.p, why, err);
}

static bool visit_host(struct tour *t, size_t i, uint64_t bytes, struct ss_err *err)
{
	struct ss_host h, *known = t->m->hosts[i];
	const struct ss_visit *v = t->v;
	struct ss_err why;
	if (!open_host(t->m, &h, known, &why, err))
		return false;
	/* The other cores have hosts of their own, unless this one is alone. */
	h.threads = bytes > OPEN_BYTES ? 0 : 1;
	bool ok = (!v->read || v->read(v->arg, i, &h, err)) && await_turn(t, i);
	ok = ok && v->take(v->arg, i, &h, err) && describe(t->m, known, &h, err);
	if (ok && why.code == SS_OK)
		t->readable++;
	else if (ok && i == 0)
		t->unreadable = why;
	if (ok && ss_file_torn(&h.x.file))
		ok = ss_fail(err, SS_EIO, "'" SS_FMT "' was truncated while it was being read", SS_ARG(known->x.path));
	ss_host_close(&h);
	return ok;
}

/* One thread of the tour. Failures are the tour's, not the pool's. */
static bool go(void *arg, size_t thread, struct ss_err *err)
{
	struct tour *t = arg;
	size_t i;
	uint64_t bytes;
	(void)thread;
	(void)err;
	while (admit(t, &i, &bytes)) {
		struct ss_err bad = { 0 };
		bool ok = visit_host(t, i, bytes, &bad);
		leave(t, i, bytes, ok, &bad);
		/* Small pieces that stay keep what is free between them resident: 0.5 MB a host without this. */
		if (bytes >= TRIM_BYTES || i % TRIM_HOSTS == TRIM_HOSTS - 1)
			ss_heap_trim();
	}
	return true;
}

static bool visit_closed(struct ss_model *m, const struct ss_visit *v, struct ss_err *err)
{
	struct tour t = { .m = m, .v = v };
	size_t threads = m->nhosts < MAX_THREADS ? m->nhosts : MAX_THREADS;
	pthread_mutex_init(&t.lock, NULL);
	pthread_cond_init(&t.moved, NULL);
	/*
	 * As many pieces of work as there may be threads: the first to come does all that others do
	 * not.
	 */
	ss_parallel(threads, 0, go, &t, NULL);
	pthread_cond_destroy(&t.moved);
	pthread_mutex_destroy(&t.lock);
	/* Memory of the hosts lies in the malloc pools of threads that have ended. */
	ss_heap_trim();
	if (!t.failed && !t.readable && m->nhosts)
		return ss_fail(err, t.unreadable.code, "%s", t.unreadable.text);
	if (t.failed)
		return ss_fail(err, t.bad.code ? t.bad.code : SS_ENOMEM, "%s", t.bad.code ? t.bad.text : "out of memory");
	return true;
}

bool ss_model_visit(struct ss_model *m, const struct ss_visit *v, struct ss_err *err)
{
	if (m->visited)
		return visit_closed(m, v, err);
	for (size_t i = 0; i < m->nhosts; i++)
		if ((v->read && !v->read(v->arg, i, m->hosts[i], err)) || !v->take(v->arg, i, m->hosts[i], err))
			return false;
	return true;
}
