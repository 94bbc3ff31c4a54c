/* file.c - mapping files. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Mappings that the SIGBUS handler knows. A signal handler reaches nothing but globals: this table
 * and the size of a page are the only mutable globals of src/. A mapping beyond its size is simply
 * not guarded.
 */
static struct guarded {
	_Atomic(uintptr_t) begin;	/* 0: free */
	_Atomic(uintptr_t) end;
	atomic_bool torn;
} guarded[1024];
static uintptr_t page_bytes;	/* set before the handler is */

/* The page that is not in the file any more becomes a page of zeros, and the read that failed is done again. */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	uintptr_t page = at & ~(page_bytes - 1);
	(void)context;
	for (size_t i = 0; i < SS_COUNT(guarded); i++) {
		struct guarded *g = &guarded[i];
		if (at < atomic_load(&g->begin) || at >= atomic_load(&g->end))
			continue;
		if (mmap((void *)page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			break;
		atomic_store(&g->torn, true);
		return;
	}
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
	return f->guard && atomic_load(&guarded[f->guard - 1].torn);
}

static void guard(struct ss_file *f)
{
	for (size_t i = 0; i < SS_COUNT(guarded); i++) {
		uintptr_t none = 0;
		/* Claimed by a value that no address is below or at. */
		if (!atomic_compare_exchange_strong(&guarded[i].begin, &none, UINTPTR_MAX))
			continue;
		atomic_store(&guarded[i].torn, false);
		atomic_store(&guarded[i].end, (uintptr_t)f->bytes.p + f->bytes.n);
		atomic_store(&guarded[i].begin, (uintptr_t)f->bytes.p);
		f->guard = (int)i + 1;
		return;
	}
}

static int64_t mtime_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static bool map(struct ss_file *f, int fd, const char *path, struct ss_err *err)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return ss_fail(err, SS_EIO, "cannot read '%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return ss_fail(err, SS_EIO, "cannot read '%s': it is not a plain file", path);
	*f = (struct ss_file){ .mtime_ns = mtime_ns(&st), .inode = (uint64_t)st.st_ino };
	f->bytes = (struct ss_str){ "", 0 };
	if (st.st_size == 0)
		return true;
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return ss_fail(err, errno == ENOMEM ? SS_ENOMEM : SS_EIO, "cannot map '%s': %s", path,
			       strerror(errno));
	f->bytes = (struct ss_str){ p, (size_t)st.st_size };
	guard(f);
	return true;
}

bool ss_file_open(struct ss_file *f, const char *path, struct ss_err *err)
{
	*f = (struct ss_file){ 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return ss_fail(err, errno == ENOENT ? SS_ENOTFOUND : SS_EIO, "cannot open '%s': %s", path,
			       strerror(errno));
	bool ok = map(f, fd, path, err);
	close(fd);
	return ok;
}

void ss_file_close(struct ss_file *f)
{
	if (f->guard) {
		atomic_store(&guarded[f->guard - 1].end, 0);
		atomic_store(&guarded[f->guard - 1].begin, 0);
	}
	if (f->bytes.n && !f->borrowed)
		munmap((void *)(uintptr_t)f->bytes.p, f->bytes.n);
	*f = (struct ss_file){ 0 };
}

bool ss_file_changed(const struct ss_file *f, const char *path)
{
	struct stat st;
	return stat(path, &st) != 0 || (uint64_t)st.st_size != f->bytes.n ||
	       mtime_ns(&st) != f->mtime_ns || (uint64_t)st.st_ino != f->inode;
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
