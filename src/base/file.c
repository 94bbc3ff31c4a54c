/* file.c - mapping files. */
#include "base/file.h"

#include "base/below.h"
#include "base/provide.h"
#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GUARDED_AT_ONCE 1024
#define MOST_TRIES 8

/*
 * A mapping that the SIGBUS handler knows. `begin` is 0 where a place is free, and beyond every
 * address while somebody takes it.
 */
struct ss_guarded {
	_Atomic(uintptr_t) begin, end;
	atomic_bool torn;
};

/*
 * A signal handler reaches nothing but globals, and takes no lock: this list and the size of a page
 * are all that it needs. It grows by whole tables, and none of them ever goes.
 */
static struct table {
	struct ss_guarded v[GUARDED_AT_ONCE];
	atomic_uint used;	/* for a quick look: places of `v` that are taken */
	_Atomic(struct table *) next;
} tables;
static uintptr_t page_bytes;	/* set before the handler is */

static struct ss_guarded *find_guarded(uintptr_t at)
{
	for (struct table *t = &tables; t; t = atomic_load(&t->next))
		for (size_t i = 0; i < GUARDED_AT_ONCE; i++)
			if (at >= atomic_load(&t->v[i].begin) && at < atomic_load(&t->v[i].end))
				return &t->v[i];
	return NULL;
}

/*
 * The page that is not in the file any more, and all behind it, become zeros, and the read that
 * failed is done again.
 */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	uintptr_t page = at & ~(page_bytes - 1);
	struct ss_guarded *g = find_guarded(at);
	(void)context;
	if (g && mmap((void *)page, atomic_load(&g->end) - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
			 MAP_FAILED)
		atomic_store(&g->torn, true);
	else
		signal(sig, SIG_DFL);	/* not ours: the read is done again and ends the program */
}

void ss_file_guard(void)
{
	struct sigaction a = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_RESTART };
	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, &a, NULL);
}

bool ss_file_torn(const struct ss_file *f)
{
	return f->guard && atomic_load(&f->guard->torn);
}

static struct ss_guarded *take_place(struct table *t)
{
	for (size_t i = 0; i < GUARDED_AT_ONCE; i++) {
		uintptr_t none = 0;
		if (atomic_compare_exchange_strong(&t->v[i].begin, &none, UINTPTR_MAX)) {
			atomic_fetch_add(&t->used, 1);
			return &t->v[i];
		}
	}
	return NULL;
}

/* The table behind a full one, made where there is none; NULL when memory is out. */
static struct table *next_table(struct table *t)
{
	struct table *next = atomic_load(&t->next), *made;
	if (next || !(made = calloc(1, sizeof(*made))))
		return next;
	if (atomic_compare_exchange_strong(&t->next, &next, made))
		return made;
	free(made);	/* another thread was faster: `next` is what it made */
	return next;
}

static bool guard(struct ss_file *f)
{
	struct ss_guarded *g = NULL;
	for (struct table *t = &tables; t && !g; t = g ? NULL : next_table(t))
		if (atomic_load(&t->used) < GUARDED_AT_ONCE)
			g = take_place(t);
	if (!g)
		return false;
	atomic_store(&g->torn, false);
	atomic_store(&g->end, (uintptr_t)f->bytes.p + f->bytes.n);
	atomic_store(&g->begin, (uintptr_t)f->bytes.p);
	f->guard = g;
	return true;
}

static void unguard(struct ss_guarded *g)
{
	struct table *t = &tables;
	while (g < t->v || g >= t->v + GUARDED_AT_ONCE)
		t = atomic_load(&t->next);
	atomic_store(&g->end, 0);
	atomic_store(&g->begin, 0);
	atomic_fetch_sub(&t->used, 1);
}

static bool map(struct ss_file *f, int fd, const char *path, struct ss_err *err)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return ss_fail(err, SS_EIO, "cannot read '%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return ss_fail(err, SS_EIO, "cannot read '%s': it is not a plain file", path);
	*f = (struct ss_file){ .mtime_ns = ss_mtime_ns(&st) };
	f->bytes = (struct ss_str){ "", 0 };
	if (st.st_size == 0)
		return true;
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return ss_fail(err, errno == ENOMEM ? SS_ENOMEM : SS_EIO, "cannot map '%s': %s", path,
			       strerror(errno));
	f->bytes = (struct ss_str){ p, (size_t)st.st_size };
	if (guard(f))
		return true;
	munmap(p, f->bytes.n);
	*f = (struct ss_file){ 0 };
	return ss_fail_mem(err);
}

bool ss_file_open(struct ss_file *f, const char *path, struct ss_err *err)
{
	return ss_file_open_below(f, NULL, path, err);
}

bool ss_file_open_below(struct ss_file *f, const char *top, const char *path, struct ss_err *err)
{
	return ss_file_open_begin(f, top, path, SS_WHOLE_FILE, err);
}

bool ss_file_open_begin(struct ss_file *f, const char *top, const char *path, uint64_t bytes, struct ss_err *err)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
	int fd = -1;
	*f = (struct ss_file){ 0 };
	for (int tries = 0;; tries++) {
		if (!ss_provide(path, bytes, err))
			return false;
		fd = top ? ss_open_below(top, path, flags) : open(path, flags);
		if (fd < 0 || ss_provided(path, fd, bytes))
			break;
		close(fd);
		if (tries == MOST_TRIES)
			return ss_fail(err, SS_ELATER, "'%s' was replaced repeatedly while it was opened: try again", path);
	}
	if (fd < 0 && errno == EXDEV)
		return ss_fail(err, SS_EIO, "cannot open '%s': it is a link that leads out of '%s'", path, top ? top : "");
	if (fd < 0)
		return ss_fail(err, errno == ENOENT ? SS_ENOTFOUND : SS_EIO, "cannot open '%s': %s", path,
			       strerror(errno));
	bool ok = map(f, fd, path, err);
	close(fd);
	return ok;
}

bool ss_file_of_fd(struct ss_file *f, int fd)
{
	struct ss_err why = { 0 };
	return map(f, fd, "", &why);
}

void ss_file_close(struct ss_file *f)
{
	if (f->guard)
		unguard(f->guard);
	if (f->bytes.n && !f->borrowed)
		munmap((void *)(uintptr_t)f->bytes.p, f->bytes.n);
	*f = (struct ss_file){ 0 };
}

void ss_dir_sync(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

void ss_file_forget(const struct ss_file *f, struct ss_str part)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t lo = ((uintptr_t)part.p + page - 1) / page * page;
	uintptr_t hi = ((uintptr_t)part.p + part.n) / page * page;
	uintptr_t base = (uintptr_t)f->bytes.p, end = base + f->bytes.n;
	if (part.n == 0 || f->bytes.n == 0 || f->borrowed || lo < base || hi > end || lo >= hi)
		return;
	madvise((void *)lo, hi - lo, MADV_DONTNEED);
}
