/* system.c - the ways of Linux, and those of macOS. */
#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <crt_externs.h>
#include <mach-o/dyld.h>
#endif
#ifdef __linux__
#include <sys/syscall.h>
#endif

#define STACK_BYTES ((size_t)8 << 20)
#define LOOK_MS 100

char **ss_environment(void)
{
#ifdef __APPLE__
	return *_NSGetEnviron();	/* a library has no `environ` there */
#else
	return environ;
#endif
}

int64_t ss_mtime_ns(const struct stat *st)
{
#ifdef __APPLE__
	const struct timespec t = st->st_mtimespec;
#else
	const struct timespec t = st->st_mtim;
#endif
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int ss_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	int error = pthread_create(thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	return error;
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
}

#ifdef __APPLE__
void ss_cond_init(pthread_cond_t *c)
{
	pthread_cond_init(c, NULL);
}

void ss_cond_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, int64_t until_ns)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t left_ns = until_ns - ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
	const struct timespec left = timespec_of(left_ns > 0 ? left_ns : 0);
	pthread_cond_timedwait_relative_np(c, lock, &left);
}

static bool mark(int fd, bool nonblocking)
{
	return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && (!nonblocking || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

bool ss_pipe_open(int ends[2])
{
	return pipe(ends) == 0 && mark(ends[0], true) && mark(ends[1], true);
}

static int mark_socket(int fd)
{
	int one = 1;
	if (fd >= 0) {
		mark(fd, false);
		setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &one, sizeof(one));
	}
	return fd;
}

int ss_socket(int family, int type, int protocol)
{
	return mark_socket(socket(family, type, protocol));
}

int ss_accept(int listener)
{
	return mark_socket(accept(listener, NULL, NULL));
}

bool ss_signal_wait(const sigset_t *set, unsigned ms)
{
	sigset_t pending;
	for (unsigned waited_ms = 0; waited_ms < ms; waited_ms += LOOK_MS) {
		if (sigpending(&pending) == 0)
			for (int number = 1; number < NSIG; number++)
				if (sigismember(set, number) && sigismember(&pending, number))
					return sigwait(set, &number) == 0;
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000L }, NULL);
	}
	return false;
}

bool ss_program_path(char *path, size_t bytes)
{
	uint32_t n = (uint32_t)bytes;
	return _NSGetExecutablePath(path, &n) == 0;
}
#else
void ss_cond_init(pthread_cond_t *c)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(c, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void ss_cond_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, int64_t until_ns)
{
	const struct timespec until = timespec_of(until_ns);
	pthread_cond_timedwait(c, lock, &until);
}

bool ss_pipe_open(int ends[2])
{
	return pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
}

int ss_socket(int family, int type, int protocol)
{
	return socket(family, type | SOCK_CLOEXEC, protocol);
}

int ss_accept(int listener)
{
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

bool ss_signal_wait(const sigset_t *set, unsigned ms)
{
	const struct timespec limit = timespec_of((int64_t)ms * 1000000);
	return sigtimedwait(set, NULL, &limit) > 0;
}

bool ss_program_path(char *path, size_t bytes)
{
	ssize_t n = readlink("/proc/self/exe", path, bytes);
	if (n < 0 || (size_t)n >= bytes)
		return false;
	path[n] = '\0';
	return true;
}
#endif

void ss_pipe_close(int ends[2])
{
	for (int i = 0; i < 2; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
		ends[i] = -1;
	}
}

unsigned ss_processors(void)
{
#ifdef __linux__
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
		return (unsigned)CPU_COUNT(&set);
#endif
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (unsigned)n : 1;
}

uint64_t ss_memory_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
}

bool ss_random_bytes(void *p, size_t n)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, p, n);
	int error = got >= 0 ? EIO : errno;
	if (fd >= 0)
		close(fd);
#ifdef SYS_getrandom
	/*
	 * For systems without /dev, such as a small container. The C library's own call is younger than
	 * the oldest that we run on.
	 */
	if (fd < 0)
		got = (ssize_t)syscall(SYS_getrandom, p, n, 0);
#endif
	errno = error;
	return got == (ssize_t)n;
}
