/* file.c - mapping files. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
