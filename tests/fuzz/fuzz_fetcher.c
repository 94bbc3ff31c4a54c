/*
 * fuzz_fetcher.c - any bytes between a server and the process that fetches for it (serve --logdir s3://): answers to the server if
 * the first byte is even, and questions to the fetcher if it is odd. Nothing leaves the process, and there is only this one: the
 * fetcher's threads run one after the other when its questions are over (see CMakeLists.txt).
 */
#include "base/provide.h"
#include "base/sandbox.h"
#include "base/system.h"
#include "base/write.h"
#include "location/fetcher.h"
#include "location/fetcher_wire.h"
#include "location/tree_files.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define LENGTH 3000000u		/* of the files: more than their begin */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
pid_t __wrap_fork(void);
int __wrap_socketpair(int domain, int type, int protocol, int ends[2]);
bool __wrap_ss_fetch_read(int fd, void *p, size_t n);
int __wrap_ss_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
bool __wrap_ss_write_all(int fd, const void *p, size_t n);
void __wrap_ss_sandbox_enter(bool may_write, bool may_connect, const char *below);
void __wrap_ss_scratch_close(struct ss_scratch *s);
_Noreturn void __wrap__exit(int status);
struct ss_connection *__wrap_ss_connection_open(struct ss_err *err);
void __wrap_ss_connection_close(struct ss_connection *c);
bool __wrap_ss_download(struct ss_connection *c, const char *url, int fd, struct ss_download *d, struct ss_err *err);
int __real_socketpair(int domain, int type, int protocol, int ends[2]);
bool __real_ss_fetch_read(int fd, void *p, size_t n);
int __real_ss_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);
int __real_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
bool __real_ss_write_all(int fd, const void *p, size_t n);
void __real_ss_scratch_close(struct ss_scratch *s);

static struct ss_str rest;	/* of the input */

static bool take(void *p, size_t n)
{
	bool there = rest.n >= n;
	if (there && n)
		memcpy(p, rest.p, n);
	rest = ss_str_sub(rest, there ? n : rest.n, rest.n);
	return there;
}

static void tell(struct ss_str text)
{
	if (!text.p)
		abort();
}

/* ---- a bucket without a network ---- */

static unsigned nlists;

/* One file stays, one comes and goes, and one name is now a file and now a directory. */
static bool list(struct ss_bucket *b, struct ss_str prefix, struct ss_str from, struct ss_arena *arena, struct ss_page *page,
		 struct ss_err *err)
{
	bool odd = nlists++ & 1;
	(void)b, (void)prefix, (void)from, (void)arena;
	*page = (struct ss_page){ .next = SS_STR("") };
	if (nlists % 5 == 4)
		return ss_fail(err, SS_EIO, "the list cannot be read");
	struct ss_object all[] = {
		{ SS_STR("l/plugins/profile/r/a.xplane.pb"), odd ? SS_STR("t") : SS_STR("u"), LENGTH, 1000000000 },
		{ odd ? SS_STR("l/plugins/profile/r/b.xplane.pb") : SS_STR("l/plugins/profile/r/b.xplane.pb/c.xplane.pb"),
		  SS_STR(""), 100, 1000000000 },
		{ SS_STR("l/plugins/profile/r//d.xplane.pb"), SS_STR("t"), 100, 1000000000 },
	};
	for (size_t i = 0; i < SS_COUNT(all); i++)
		if (!ss_vec_push(&page->v, all[i]))
			return ss_fail_mem(err);
	return true;
}

static struct ss_str url_of(struct ss_bucket *b, struct ss_str key, struct ss_str tag, struct ss_arena *arena)
{
	(void)b, (void)tag;
	return ss_arena_printf(arena, "https://bucket.invalid/" SS_FMT, SS_ARG(key));
}

static bool auth(struct ss_bucket *b, struct ss_auth *a, struct ss_arena *arena, struct ss_err *err)
{
	(void)b, (void)arena, (void)err;
	*a = (struct ss_auth){ .stays = true };
	return true;
}

static bool never(struct ss_bucket *b)
{
	(void)b;
	return false;
}

static const struct ss_bucket_kind kind = {
	.scheme = SS_STR_INIT("s3://"), .list = list, .url = url_of, .auth = auth, .again = never, .tagged = true,
};

static char place;

struct ss_connection *__wrap_ss_connection_open(struct ss_err *err)
{
	(void)err;
	return (struct ss_connection *)(void *)&place;
}

void __wrap_ss_connection_close(struct ss_connection *c)
{
	(void)c;
}

bool __wrap_ss_download(struct ss_connection *c, const char *url, int fd, struct ss_download *d, struct ss_err *err)
{
	bool small = !strstr(url, "/a.xplane.pb");
	(void)c;
	d->bytes = small ? 100 : LENGTH;
	d->requests = 1;
	d->etag[0] = nlists & 1 ? 'u' : 't';
	return ftruncate(fd, (off_t)(d->most ? d->most : d->bytes)) == 0 || ss_fail(err, SS_EIO, "cannot write");
}

static void open_tree(struct ss_tree **t, struct ss_location *p)
{
	struct ss_bucket *b = calloc(1, sizeof(*b));
	struct ss_err err = { 0 };
	if (!b)
		abort();
	*b = (struct ss_bucket){ .kind = &kind, .named = SS_STR("s3://b/l"), .name = SS_STR("b"), .path = SS_STR("l") };
	pthread_mutex_init(&b->lock, NULL);
	*p = ss_location_plain("s3://b/l");
	nlists = 0;
	if (!ss_tree_open(t, b, p, &err))
		abort();
}

/* ---- answers to a server ---- */

static int own = -1, far = -1;	/* its end of the connection, and the other */
static unsigned open_questions;
static uint32_t last_id;

pid_t __wrap_fork(void)
{
	return 1 << 30;
}

int __wrap_socketpair(int domain, int type, int protocol, int ends[2])
{
	int failed = __real_socketpair(domain, type, protocol, ends);
	own = failed ? -1 : ends[0];
	far = failed ? -1 : dup(ends[1]);
	return failed;
}

static bool read_question(void)
{
	struct ss_fetch_question q;
	char path[SS_FETCH_PATH_BYTES];
	if (!__real_ss_fetch_read(far, &q, sizeof(q)) || q.n >= sizeof(path) || !__real_ss_fetch_read(far, path, q.n))
		return false;
	last_id = q.id;
	open_questions++;
	return true;
}

/* An answer comes when there is a question. Its id 0 stands for that of the question. */
bool __wrap_ss_fetch_read(int fd, void *p, size_t n)
{
	struct ss_fetch_answer *a = p;
	if (fd != own)
		return __real_ss_fetch_read(fd, p, n);
	if (n != sizeof(*a))
		return take(p, n);
	if ((!open_questions && !read_question()) || !take(p, n))
		return false;
	a->id = a->id ? a->id : last_id;
	open_questions -= a->id == last_id;
	return true;
}

static void as_fetcher(void)
{
	struct ss_tree *t;
	struct ss_location p;
	struct ss_store store = { .named = SS_STR("s3://b/l") };
	struct ss_err err = { 0 };
	struct ss_arena a = { 0 };
	open_tree(&t, &p);
	struct ss_tree_cost cost = ss_tree_cost(t);
	struct ss_str path = ss_arena_printf(&a, "%s/plugins/profile/r/a.xplane.pb", ss_tree_path(t));
	open_questions = last_id = 0;
	struct ss_fetcher *f = ss_fetcher_start(t, &cost, ss_fetcher_run, tell, &err);
	if (!f || !path.p)
		abort();
	for (int i = 0; i < 3; i++) {
		struct ss_err why = { 0 };
		if (!ss_fetcher_provide(f, path.p, i ? SS_WHOLE_FILE : 10, &why) && (!why.code || !why.text[0]))
			abort();
		ss_fetcher_refresh(f, true);
		if (!ss_fetcher_notes(f, &store))
			abort();
	}
	(void)ss_fetcher_cost(f);
	shutdown(far, SHUT_RDWR);
	ss_fetcher_end(f);
	close(far);
	own = -1;
	ss_store_free(&store);
	ss_arena_release(&a);
	ss_tree_close(t);
	ss_location_close(&p);
}

/* ---- questions to a fetcher ---- */

static bool runs;	/* the fetcher does, in this thread */
static struct ss_tree *tree;
static jmp_buf over, idle;
static struct {
	void *(*run)(void *);
	void *arg;
} threads[2];

int __wrap_ss_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	if (!runs)
		return __real_ss_thread_start(thread, run, arg);
	size_t i = threads[0].run && threads[0].run != run;
	threads[i].run = run;
	threads[i].arg = arg;
	return 0;
}

/* A thread that finds no question has done its work. */
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	if (!runs)
		return __real_pthread_cond_wait(c, m);
	pthread_mutex_unlock(m);
	longjmp(idle, 1);
}

bool __wrap_ss_write_all(int fd, const void *p, size_t n)
{
	if (!runs || fd != own)
		return __real_ss_write_all(fd, p, n);
	if (n > SS_FETCH_REPLY_BYTES || (n && !p))
		abort();
	return true;
}

void __wrap_ss_sandbox_enter(bool may_write, bool may_connect, const char *below)
{
	if (may_write || !may_connect || !below)
		abort();
}

/* The questions are over: now its threads answer them, and then it ends. */
void __wrap_ss_scratch_close(struct ss_scratch *s)
{
	if (runs && s == &tree->scratch) {
		tree->ended = false;
		pthread_mutex_unlock(&tree->lock);
		for (size_t i = 0; i < SS_COUNT(threads); i++)
			if (threads[i].run && setjmp(idle) == 0)
				threads[i].run(threads[i].arg);
		pthread_mutex_lock(&tree->lock);
		tree->ended = true;
	}
	__real_ss_scratch_close(s);
}

_Noreturn void __wrap__exit(int status)
{
	if (!runs || status)
		abort();
	longjmp(over, 1);
}

/* Its signals are this process's. */
static void as_server(void)
{
	static const int changed[] = { SIGINT, SIGHUP, SIGTERM, SIGPIPE };
	struct sigaction before[SS_COUNT(changed)];
	struct ss_location p;
	int ends[2];
	const int room = 1 << 20;
	for (size_t i = 0; i < SS_COUNT(changed); i++)
		sigaction(changed[i], NULL, &before[i]);
	if (__real_socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		abort();
	setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (send(ends[1], rest.p, rest.n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && rest.n)
		abort();
	close(ends[1]);
	open_tree(&tree, &p);
	threads[0].run = threads[1].run = NULL;
	own = ends[0];
	runs = true;
	if (setjmp(over) == 0)
		ss_fetcher_run(tree, ends[0], tell);
	runs = false;
	own = -1;
	pthread_mutex_unlock(&tree->lock);
	close(ends[0]);
	ss_tree_close(tree);
	ss_location_close(&p);
	for (size_t i = 0; i < SS_COUNT(changed); i++)
		sigaction(changed[i], &before[i], NULL);
}

static struct ss_scratch cache;

static void end(void)
{
	__real_ss_scratch_close(&cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ss_err err = { 0 };
	if (!cache.path[0]) {
		if (access("/dev/shm", W_OK) == 0)	/* on a disk nearly all the time would go into waiting for it */
			setenv("TMPDIR", "/dev/shm", 1);
		if (!ss_scratch_open(&cache, &err))
			abort();
		setenv("STEPSCOPE_CACHE", cache.path, 1);
		setenv("STEPSCOPE_FETCH_WAIT_S", "1", 1);
		setenv("STEPSCOPE_REFRESH_S", "1", 1);
		atexit(end);
	}
	if (!size)
		return 0;
	rest = (struct ss_str){ (const char *)data + 1, size - 1 };
	if (data[0] & 1)
		as_server();
	else
		as_fetcher();
	return 0;
}
