/*
 * fetcher_run.c - the fetcher itself. The first thread reads questions until the server is gone; one lists, others fetch.
 */
#include "location/fetcher_wire.h"

#include "base/buf.h"
#include "base/sandbox.h"
#include "base/system.h"
#include "base/write.h"
#include "location/tree_files.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct question {
	uint32_t id;
	uint64_t bytes;
	char *path;	/* malloc'ed; "": a list */
};

struct queue {
	struct question v[2 * SS_FETCH_MOST];
	size_t begin, n;
};

struct runner {
	struct ss_tree *t;
	int fd;
	void (*tell)(struct ss_str text);
	const char *named;
	pthread_mutex_t lock, writing;
	pthread_cond_t asked;
	struct queue files, lists;
	unsigned nlists;
};

static void answer(struct runner *r, uint32_t id, const struct ss_err *err, struct ss_str text, size_t nnotes_all)
{
	struct ss_fetch_answer a = { .id = id, .code = (uint32_t)err->code, .nnotes_all = (uint32_t)nnotes_all };
	if (err->code)
		text = ss_str_from(err->text);
	a.n = (uint32_t)text.n;
	a.cost = ss_tree_cost(r->t);
	pthread_mutex_lock(&r->writing);
	a.cost.nlists = r->nlists;
	/* A server that is gone is noticed by the thread that reads. */
	(void)(ss_write_all(r->fd, &a, sizeof(a)) && ss_write_all(r->fd, text.p, text.n));
	pthread_mutex_unlock(&r->writing);
}

static void tell(struct runner *r, struct ss_str text)
{
	if (text.p)
		r->tell(text);
}

/* ---- one question ---- */

static void fetch(struct runner *r, const struct question *q)
{
	struct ss_err err = { 0 };
	struct ss_arena a = { 0 };
	struct ss_tree_cost before = ss_tree_cost(r->t);
	(void)ss_tree_fetch(r->t, ss_str_from(q->path), q->bytes, &err);
	struct ss_tree_cost now = ss_tree_cost(r->t);
	if (err.code)
		tell(r, ss_arena_printf(&a, "warning: %s", err.text));
	else if (now.requests != before.requests)
		tell(r, ss_arena_printf(&a, "'%s/%s' was fetched; so far %.2f MiB in %u requests", r->named, q->path,
					(double)now.fetched_bytes / (1 << 20), now.requests));
	answer(r, q->id, &err, SS_STR(""), 0);
	ss_arena_release(&a);
}

static struct ss_str notes_of(const struct ss_location *p, struct ss_buf *b)
{
	for (size_t i = 0; i < p->notes.n; i++) {
		struct ss_str why = ss_str_from(p->notes.v[i].why);
		ss_buf_str(b, p->notes.v[i].path);
		ss_buf_str(b, (struct ss_str){ "", 1 });
		ss_buf_str(b, (struct ss_str){ why.p, why.n + 1 });
	}
	return b->over || b->no_memory ? SS_STR("") : ss_buf_get(b);
}

static void list(struct runner *r, const struct question *q)
{
	struct ss_err err = { 0 };
	struct ss_tree_change change;
	struct ss_location p = ss_location_plain(r->named);
	struct ss_buf b = { .limit_bytes = SS_FETCH_REPLY_BYTES };
	(void)ss_tree_list(r->t, &p, &change, &err);
	pthread_mutex_lock(&r->writing);
	r->nlists++;
	pthread_mutex_unlock(&r->writing);
	if (err.code)
		tell(r, ss_arena_printf(&p.arena, "warning: %s", err.text));
	else if (change.added || change.changed || change.gone)
		tell(r, ss_arena_printf(&p.arena,
					"'%s' was listed again: %zu files added, %zu changed, %zu removed; %u requests so far",
					r->named, change.added, change.changed, change.gone, ss_tree_cost(r->t).requests));
	answer(r, q->id, &err, notes_of(&p, &b), p.nnotes_all);
	ss_buf_free(&b);
	ss_location_close(&p);
}

/* ---- threads ---- */

static bool push(struct runner *r, struct queue *to, struct question q)
{
	pthread_mutex_lock(&r->lock);
	bool room = to->n < SS_COUNT(to->v);
	if (room)
		to->v[(to->begin + to->n++) % SS_COUNT(to->v)] = q;
	pthread_cond_broadcast(&r->asked);
	pthread_mutex_unlock(&r->lock);
	return room;
}

static struct question pop(struct runner *r, struct queue *from)
{
	pthread_mutex_lock(&r->lock);
	while (!from->n)
		pthread_cond_wait(&r->asked, &r->lock);
	struct question q = from->v[from->begin];
	from->begin = (from->begin + 1) % SS_COUNT(from->v);
	from->n--;
	pthread_mutex_unlock(&r->lock);
	return q;
}

static void *fetch_files(void *arg)
{
	struct runner *r = arg;
	for (struct question q; (q = pop(r, &r->files)).path; free(q.path))
		fetch(r, &q);
	return NULL;
}

static void *make_lists(void *arg)
{
	struct runner *r = arg;
	for (struct question q; (q = pop(r, &r->lists)).path; free(q.path))
		list(r, &q);
	return NULL;
}

/* A question that makes no sense ends the connection: it is not from the server as we know it. */
static bool read_question(struct runner *r)
{
	struct ss_fetch_question head;
	if (!ss_fetch_read(r->fd, &head, sizeof(head)) || head.n >= SS_FETCH_PATH_BYTES)
		return false;
	struct question q = { head.id, head.bytes, calloc(1, head.n + 1) };
	if (!q.path || !ss_fetch_read(r->fd, q.path, head.n) || strlen(q.path) != head.n) {
		free(q.path);
		return false;
	}
	if (push(r, head.n ? &r->files : &r->lists, q))
		return true;
	struct ss_err err = { 0 };
	ss_fail(&err, SS_ELATER, "too many files are being fetched: try again in a moment");
	answer(r, q.id, &err, SS_STR(""), 0);
	free(q.path);
	return true;
}

/* The server is gone. What is in work is left behind: nothing of it is in the tree or the cache yet. */
static _Noreturn void end(struct runner *r)
{
	pthread_mutex_lock(&r->t->lock);
	r->t->ended = true;
	ss_scratch_close(&r->t->scratch);
	_exit(0);
}

static void start_threads(struct runner *r)
{
	pthread_t thread;
	bool ok = ss_thread_start(&thread, make_lists, r) == 0;
	for (size_t i = 0; ok && i < SS_TREE_IDLE; i++)
		ok = ss_thread_start(&thread, fetch_files, r) == 0 || i;
	if (!ok)
		end(r);
}

_Noreturn void ss_fetcher_run(struct ss_tree *t, int fd, void (*tell_one)(struct ss_str text))
{
	static struct runner r;	/* its threads outlive this call */
	char root[PATH_MAX];
	t->bounded = true;
	r = (struct runner){ .t = t, .fd = fd, .tell = tell_one, .named = t->bucket->named.p };
	/* A signal to all processes of a terminal or a service ends the server, and that ends this one. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	pthread_mutex_init(&r.lock, NULL);
	pthread_mutex_init(&r.writing, NULL);
	pthread_cond_init(&r.asked, NULL);
	/* A program that renews the credentials may need what this one does not. */
	if (!t->bucket->runs_programs && ss_cache_root(root, sizeof(root), &(struct ss_err){ 0 }))
		ss_sandbox_enter(false, true, root);
	start_threads(&r);
	while (read_question(&r))
		;
	end(&r);
}
