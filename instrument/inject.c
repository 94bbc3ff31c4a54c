/*
 * inject.c - libsstrace_inject.so: what `stepscope record` puts into a program that knows nothing of it.
 *
 * It comes in by three doors. LD_PRELOAD: at the start of every process, where the functions of
 * ss_trace.h also take the place of a libsstrace.so that the program is linked with. CUDA's driver
 * loads the library that CUDA_INJECTION64_PATH names when it is initialized. NVTX loads the one of
 * NVTX_INJECTION64_PATH at its first use. The first process records from its start; those that it
 * starts only once they do something worth it, or a profile of a training run would come with one of every `ls`.
 *
 * Environment (set by the command): SS_RECORD_LOGDIR (without it nothing happens), _SESSION, _HOST,
 * _ROOT (number of the first process), _MAX_BYTES, _GPU (0: not), _STATUS (a file for one line a process).
 */
#include "nvtx.h"
#include "recorder.h"
#include "ss_trace_gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct inject {
	pthread_mutex_t lock;
	pid_t recording;	/* this process, if it records; a fork's child has another number */
} inject = { .lock = PTHREAD_MUTEX_INITIALIZER };

SS_TRACE_API int InitializeInjection(void);
SS_TRACE_API int InitializeInjectionNvtx2(nvtx_export_table_fn *get_table);

static bool is_root(void)
{
	const char *root = getenv("SS_RECORD_ROOT");
	return root && strtoll(root, NULL, 10) == (long long)getpid();
}

/* One line for the command, whole or not at all. */
static void report(const char *what, const char *text)
{
	const char *path = getenv("SS_RECORD_STATUS");
	char line[1500];
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	int n = snprintf(line, sizeof(line), "%s %ld %s\n", what, (long)getpid(), text);
	if (n > 0 && (size_t)n < sizeof(line) && write(fd, line, (size_t)n) != n)
		errno = 0;	/* nobody to tell */
	close(fd);
}

/* "<host>" for the program, "<host>_<pid>" for those that it starts. */
static void name_host(char *out, size_t n)
{
	const char *given = getenv("SS_RECORD_HOST");
	char system[256] = "localhost";
	gethostname(system, sizeof(system) - 1);
	if (is_root())
		snprintf(out, n, "%s", given && *given ? given : system);
	else
		snprintf(out, n, "%s_%ld", given && *given ? given : system, (long)getpid());
}

/* The command line, words apart by spaces. */
static const char *command_line(char *out, size_t n)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, out, n - 1) : 0;
	if (fd >= 0)
		close(fd);
	got = got > 0 ? got : 0;
	for (ssize_t i = 0; i + 1 < got; i++)
		if (out[i] == '\0')
			out[i] = ' ';
	out[got] = '\0';
	return out;
}

static void process_event(const char *what)
{
	static struct ss_trace_name keys[] = { { "pid", 0 }, { "parent", 0 }, { "command", 0 } };
	char command[900];
	const struct ss_trace_arg args[] = {
		{ &keys[0], SS_TRACE_INT, { .i = getpid() } },
		{ &keys[1], SS_TRACE_INT, { .i = getppid() } },
		{ &keys[2], SS_TRACE_TEXT, { .text = command_line(command, sizeof(command)) } },
	};
	struct ss_trace_name *name = ss_trace_intern(what);
	if (name)
		ss_trace_instant(SS_TRACE_CRITICAL, name, args, 3);
}

static void stop(void)
{
	pthread_mutex_lock(&inject.lock);
	bool ours = inject.recording == getpid();
	inject.recording = 0;
	pthread_mutex_unlock(&inject.lock);
	if (!ours)
		return;
	process_event("process stop");
	/* A program that ends between its own start and stop does not keep ours open. */
	pthread_mutex_lock(&ss_rec.lock);
	ss_rec.joined = 0;
	ss_rec.joinable = false;
	pthread_mutex_unlock(&ss_rec.lock);
	const char *path = ss_trace_stop();
	if (path)
		report("profile", path);
	else
		report("failed", ss_trace_error());
}

/* True: this process records. */
static bool begin(void)
{
	const char *logdir = getenv("SS_RECORD_LOGDIR"), *most = getenv("SS_RECORD_MAX_BYTES");
	if (!logdir || !*logdir)
		return false;
	pthread_mutex_lock(&inject.lock);
	bool on = inject.recording == getpid();
	if (!on) {
		char host[320];
		name_host(host, sizeof(host));
		const struct ss_trace_options o = { .size = sizeof(o), .logdir = logdir, .session = getenv("SS_RECORD_SESSION"),
						    .host = host, .max_bytes = most ? strtoull(most, NULL, 10) : 0 };
		on = ss_trace_start(&o);
		if (on) {
			inject.recording = getpid();
			ss_rec.joinable = true;
			process_event("process start");
		} else {
			report("failed", ss_trace_error());
		}
	}
	pthread_mutex_unlock(&inject.lock);
	return on;
}

/* Called by the driver within cuInit. */
int InitializeInjection(void)
{
	const char *gpu = getenv("SS_RECORD_GPU");
	if (!begin() || (gpu && gpu[0] == '0'))
		return 1;
	if (ss_trace_gpu_start())
		report("gpu", "recorded");
	else
		report("gpu-missing", ss_trace_gpu_error());
	/* Before the driver's own: what is still in CUPTI's buffers must come out. */
	atexit(stop);
	return 1;
}

int InitializeInjectionNvtx2(nvtx_export_table_fn *get_table)
{
	begin();
	return ss_nvtx_initialize(get_table);
}

__attribute__((constructor)) static void loaded(void)
{
	if (is_root())
		begin();
}

__attribute__((destructor)) static void unloaded(void)
{
	stop();
}
