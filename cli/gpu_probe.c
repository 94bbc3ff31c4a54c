/* gpu_probe.c - see gpu_probe.h. */
#include "gpu_probe.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __APPLE__
bool cli_gpu_probe(struct ss_trace_gpu_report *out, struct ss_err *err)
{
	memset(out, 0, sizeof(*out));
	return ss_fail(err, SS_ENOTFOUND, "NVIDIA has no driver for macOS");
}
#else
enum { PATIENCE_MS = 20000 };

static void answer(int fd)
{
	struct ss_trace_gpu_report r = { .size = sizeof(r) };
	ss_trace_gpu_check(&r);
	/* Smaller than a pipe's buffer: written whole. */
	_exit(write(fd, &r, sizeof(r)) == (ssize_t)sizeof(r) ? 0 : 1);
}

static bool read_answer(int fd, struct ss_trace_gpu_report *out, struct ss_err *err)
{
	size_t n = 0;
	while (n < sizeof(*out)) {
		struct pollfd p = { fd, POLLIN, 0 };
		int ready = poll(&p, 1, PATIENCE_MS);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return ss_fail(err, SS_EIO, "the GPU driver did not answer within %d seconds: see nvidia-smi and the "
				       "kernel's log", PATIENCE_MS / 1000);
		ssize_t got = read(fd, (char *)out + n, sizeof(*out) - n);
		if (got <= 0)
			return ss_fail(err, SS_EIO,
				       "the process that queried the GPU driver crashed: the driver or CUPTI is damaged");
		n += (size_t)got;
	}
	return true;
}

bool cli_gpu_probe(struct ss_trace_gpu_report *out, struct ss_err *err)
{
	int ends[2];
	memset(out, 0, sizeof(*out));
	if (pipe(ends) != 0)
		return ss_fail(err, SS_EIO, "cannot make a pipe to query the GPU driver: %s", strerror(errno));
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		answer(ends[1]);
	}
	close(ends[1]);
	bool ok = child > 0 ? read_answer(ends[0], out, err) :
			      ss_fail(err, SS_EIO, "cannot make a process to query the GPU driver: %s", strerror(errno));
	close(ends[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return ok;
}
#endif
