/*
 * fetcher.c - the server's side: who needs a file asks for it, or joins who has; one thread reads the answers.
 */
#include "location/fetcher.h"

#include "base/system.h"
#include "base/write.h"
#include "location/bucket.h"
#include "location/fetcher_wire.h"
#include "location/tree_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 20000		/* for a file, and for a list */
#define REFRESH_MS 10000	/* a list that is younger is good enough ... */
#define REST 20			/* ... and one that took long, for as many times as long as it took */
#define END_MS 5000
#define SOCKET_BYTES (1 << 19)	/* room for all open questions: asking never blocks */

struct ticket {
	struct ticket *next;
	struct ss_fetch_question q;
	unsigned users;		/* that wait */
	bool done;
	struct ss_err err;
	char path[];		/* below the tree; "": a list */
};

struct ss_fetcher {
	int fd;
	pid_t pid;
	size_t root_bytes;	/* of the tree's path */
	pthread_t reader;
	bool reads;		/* there is one */
	int64_t wait_ns, refresh_ns;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct ticket *tickets;
	unsigned ntickets;
	uint32_t last_id;
	bool gone;		/* the process has ended */
	struct ss_tree_cost cost;
	/* Of the newest list. */
	int64_t asked_ns, took_ns;
	bool stale;		/* a file was another than it says */
	struct ss_err list_err;
	struct ss_arena arena;
	SS_VEC(struct ss_skipped) notes;
	size_t nnotes_all;
};

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- under the lock ---- */

static bool refuse_gone(struct ss_err *err)
{
	return ss_fail(err, SS_EIO,
		"the process that fetches files for this server has ended: files that it has not fetched cannot be read. Start "
		"stepscope serve again");
}

static void drop(struct ss_fetcher *f, struct ticket *t)
{
	struct ticket **at = &f->tickets;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	f->ntickets--;
	free(t);
}

static struct ticket *find(struct ss_fetcher *f, struct ss_str path, uint64_t bytes)
{
	for (struct ticket *t = f->tickets; t; t = t->next)
		if (!t->done && t->q.bytes >= bytes && ss_str_is(path, t->path))
			return t;
	return NULL;
}

/* A new question. There is room for it, in the list and in the socket. */
static struct ticket *ask(struct ss_fetcher *f, struct ss_str path, uint64_t bytes, struct ss_err *err)
{
	struct ticket *t = calloc(1, sizeof(*t) + path.n + 1);
	if (!t) {
		ss_fail_mem(err);
		return NULL;
	}
	t->q = (struct ss_fetch_question){ ++f->last_id, (uint32_t)path.n, bytes };
	if (path.n)
		memcpy(t->path, path.p, path.n);
	t->next = f->tickets;
	f->tickets = t;
	f->ntickets++;
	if (ss_write_all(f->fd, &t->q, sizeof(t->q)) && ss_write_all(f->fd, t->path, path.n))
		return t;
	drop(f, t);
	refuse_gone(err);
	return NULL;
}

/* Until it is answered; false: not in time. */
static bool wait_for(struct ss_fetcher *f, struct ticket *t, int64_t until_ns)
{
	t->users++;
	while (!t->done && now_ns() < until_ns)
		ss_cond_wait_until(&f->answered, &f->lock, until_ns);
	t->users--;
	return t->done;
}

/* What nobody waits for goes when it is answered, or now. */
static void leave(struct ss_fetcher *f, struct ticket *t)
{
	if (t->done && !t->users) {
		drop(f, t);
		pthread_cond_broadcast(&f->answered);
	}
}

/* ---- answers ---- */

static struct ss_str take_text(struct ss_str *rest)
{
	size_t end = ss_str_chr(*rest, '\0');
	struct ss_str s = ss_str_sub(*rest, 0, end);
	*rest = ss_str_sub(*rest, end == SS_NPOS ? rest->n : end + 1, rest->n);
	return s;
}

static void take_list(struct ss_fetcher *f, const struct ss_fetch_answer *a, struct ss_str text, const struct ss_err *err)
{
	f->took_ns = now_ns() - f->asked_ns;
	f->list_err = *err;
	if (err->code)
		return;
	f->notes.n = 0;
	ss_arena_release(&f->arena);
	f->nnotes_all = a->nnotes_all;
	struct ss_str copy = ss_arena_str(&f->arena, text);
	while (copy.p && copy.n && f->notes.n < SS_SKIPPED_MAX) {
		struct ss_str path = take_text(&copy), why = take_text(&copy);
		if (!why.n || !ss_vec_push(&f->notes, (struct ss_skipped){ path, why.p }))
			break;
	}
}

static void take_answer(struct ss_fetcher *f, const struct ss_fetch_answer *a, struct ss_str text)
{
	struct ticket *t = f->tickets;
	while (t && (t->q.id != a->id || t->done))
		t = t->next;
	if (!t)
		return;
	if (a->code) {
		struct ss_str why = text.n && text.p[0] ? text : SS_STR("the process that fetches files gave no reason");
		ss_fail(&t->err, a->code <= SS_ELATER ? (enum ss_errcode)a->code : SS_EIO, SS_FMT, SS_ARG(why));
	}
	f->cost = a->cost;
	if (!t->path[0])
		take_list(f, a, text, &t->err);
	/* A file that is another than listed, or gone. */
	f->stale = t->path[0] && (f->stale || a->code == SS_ELATER || a->code == SS_ENOTFOUND);
	t->done = true;
	pthread_cond_broadcast(&f->answered);
	leave(f, t);
}

static bool read_answer(struct ss_fetcher *f)
{
	struct ss_fetch_answer a;
	if (!ss_fetch_read(f->fd, &a, sizeof(a)) || a.n > SS_FETCH_REPLY_BYTES)
		return false;
	/* With a zero behind it, which ends the last text whatever came. */
	char *text = malloc((size_t)a.n + 1);
	bool ok = text && ss_fetch_read(f->fd, text, a.n);
	if (ok) {
		text[a.n] = '\0';
		pthread_mutex_lock(&f->lock);
		take_answer(f, &a, (struct ss_str){ text, a.n });
		pthread_mutex_unlock(&f->lock);
	}
	free(text);
	return ok;
}

static void *read_answers(void *arg)
{
	struct ss_fetcher *f = arg;
	while (read_answer(f))
		;
	pthread_mutex_lock(&f->lock);
	f->gone = true;
	for (struct ticket *t = f->tickets, *next; t; t = next) {
		next = t->next;
		if (t->done)
			continue;
		refuse_gone(&t->err);
		t->done = true;
		leave(f, t);
	}
	pthread_cond_broadcast(&f->answered);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* The thread is started late: none may be there before the server has given up what it may not do. */
static bool is_reading(struct ss_fetcher *f, struct ss_err *err)
{
	if (f->gone)
		return refuse_gone(err);
	if (!f->reads)
		f->reads = ss_thread_start(&f->reader, read_answers, f) == 0;
	return f->reads || ss_fail(err, SS_EBUSY, "the server is busy: no thread is free for this request");
}

/* ---- what the server asks ---- */

static bool wait_for_file(struct ss_fetcher *f, struct ss_str below, const char *path, const struct stat *st, uint64_t bytes,
	struct ss_err *err)
{
	int64_t until_ns = now_ns() + f->wait_ns;
	struct ticket *t = NULL;
	while (is_reading(f, err) && !(t = find(f, below, bytes)) && f->ntickets >= SS_FETCH_MOST && now_ns() < until_ns)
		ss_cond_wait_until(&f->answered, &f->lock, until_ns);
	if (!f->reads || f->gone)
		return false;
	if (!t && f->ntickets >= SS_FETCH_MOST)
		return ss_fail(err, SS_ELATER, "'%s' is waiting for other files to be fetched: try again in a moment", path);
	if (!t && !(t = ask(f, below, bytes, err)))
		return false;
	bool ok = wait_for(f, t, until_ns);
	if (!ok)
		ss_fail(err, SS_ELATER, "'%s' (%.1f MiB) is being fetched: try again in a moment", path,
			(double)st->st_size / (1 << 20));
	else if (t->err.code)
		ok = ss_fail(err, t->err.code, "%s", t->err.text);
	leave(f, t);
	return ok;
}

bool ss_fetcher_provide(void *fetcher, const char *path, uint64_t bytes, struct ss_err *err)
{
	struct ss_fetcher *f = fetcher;
	struct stat st;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || ss_tree_has(&st, bytes))
		return true;
	pthread_mutex_lock(&f->lock);
	bool ok = wait_for_file(f, ss_str_sub(ss_str_from(path), f->root_bytes + 1, SIZE_MAX), path, &st, bytes, err);
	pthread_mutex_unlock(&f->lock);
	return ok;
}

static bool is_due(const struct ss_fetcher *f)
{
	int64_t age_ns = now_ns() - f->asked_ns;
	return f->stale || (age_ns > f->refresh_ns && age_ns > REST * f->took_ns);
}

void ss_fetcher_refresh(struct ss_fetcher *f, bool waits)
{
	struct ss_err err = { 0 };
	pthread_mutex_lock(&f->lock);
	struct ticket *t = find(f, SS_STR(""), 0);
	bool due = is_due(f) && f->ntickets < SS_FETCH_MOST;
	if (!t && due && is_reading(f, &err)) {
		f->asked_ns = now_ns();
		f->stale = false;
		t = ask(f, SS_STR(""), 0, &err);
	}
	if (t && waits) {
		(void)wait_for(f, t, now_ns() + f->wait_ns);
		leave(f, t);
	}
	pthread_mutex_unlock(&f->lock);
}

/* The path is "" for what was named. */
static bool add(struct ss_store *s, struct ss_str path, struct ss_str why)
{
	struct ss_skipped one = { ss_arena_str(&s->arena, path), ss_arena_str(&s->arena, why).p };
	return one.path.p && one.why && ss_store_skip(s, &one, 1, 1);
}

bool ss_fetcher_notes(struct ss_fetcher *f, struct ss_store *s)
{
	struct ss_err gone = { 0 };
	pthread_mutex_lock(&f->lock);
	bool ok = true;
	for (size_t i = f->notes.n; ok && i--;)
		ok = add(s, f->notes.v[i].path, ss_str_from(f->notes.v[i].why));
	s->nskipped_all += f->nnotes_all - f->notes.n;
	const struct ss_err *why = f->gone ? &gone : &f->list_err;
	if (f->gone)
		refuse_gone(&gone);
	if (ok && why->code) {
		struct ss_str text = ss_arena_printf(&s->arena, "is shown as it was: %s", why->text);
		ok = text.p && add(s, s->named, text);
	}
	pthread_mutex_unlock(&f->lock);
	return ok;
}

struct ss_tree_cost ss_fetcher_cost(struct ss_fetcher *f)
{
	pthread_mutex_lock(&f->lock);
	struct ss_tree_cost c = f->cost;
	pthread_mutex_unlock(&f->lock);
	return c;
}

/* ---- begin and end ---- */

static bool open_pair(int ends[2], struct ss_err *err)
{
	const int room = SOCKET_BYTES;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return ss_fail(err, SS_EIO, "cannot start the process that fetches: %s", strerror(errno));
	for (int i = 0; i < 2; i++) {
		(void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
		(void)setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	}
	return true;
}

struct ss_fetcher *ss_fetcher_start(struct ss_tree *t, const struct ss_tree_cost *cost, ss_fetcher_fn *run,
	void (*tell)(struct ss_str text), struct ss_err *err)
{
	int ends[2];
	struct ss_fetcher *f = calloc(1, sizeof(*f));
	if (!f || !open_pair(ends, err)) {
		if (!f)
			ss_fail_mem(err);
		free(f);
		return NULL;
	}
	f->pid = fork();
	if (f->pid == 0) {
		close(ends[0]);
		run(t, ends[1], tell);
		_exit(0);
	}
	close(ends[1]);
	f->fd = ends[0];
	f->root_bytes = t->root.n;
	f->wait_ns = (int64_t)ss_patience_ms("STEPSCOPE_FETCH_WAIT_S", WAIT_MS) * 1000000;
	f->refresh_ns = (int64_t)ss_patience_ms("STEPSCOPE_REFRESH_S", REFRESH_MS) * 1000000;
	f->cost = *cost;
	f->asked_ns = now_ns();
	pthread_mutex_init(&f->lock, NULL);
	ss_cond_init(&f->answered);
	if (f->pid > 0)
		return f;
	ss_fail(err, SS_EIO, "cannot start the process that fetches: %s", strerror(errno));
	ss_fetcher_end(f);
	return NULL;
}

static void await_end(pid_t pid)
{
	const struct timespec pause = { 0, 5000000 };
	for (int64_t until_ns = now_ns() + END_MS * (int64_t)1000000; now_ns() < until_ns; nanosleep(&pause, NULL))
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return;
}

void ss_fetcher_end(struct ss_fetcher *f)
{
	(void)shutdown(f->fd, SHUT_RDWR);
	if (f->reads)
		pthread_join(f->reader, NULL);
	close(f->fd);
	if (f->pid > 0)
		await_end(f->pid);
	while (f->tickets)
		drop(f, f->tickets);
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->answered);
	ss_vec_free(&f->notes);
	ss_arena_release(&f->arena);
	free(f);
}
