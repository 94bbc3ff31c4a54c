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
 * _ROOT (number of the first process), _MAX_BYTES, _GPU (0: not), _STEP (NVTX ranges that are steps), _STATUS (a
 * file for one line a process).
 */
#include "gpu_trace.h"
#include "joined.h"
#include "nvtx.h"
#include "recorder.h"
#include "ss_trace_gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct inject {
	pthread_mutex_t lock;
	pid_t recording;	/* this process, if it records; a fork's child has another number */
} inject = { .lock = PTHREAD_MUTEX_INITIALIZER };

SS_TRACE_API int InitializeInjection(void);
SS_TRACE_API const struct recorder_table *ss_rec_injected_table(void);
SS_TRACE_API int InitializeInjectionNvtx2(nvtx_export_table_fn *get_table);

static bool is_root(void)
{
	const char *root = getenv("SS_RECORD_ROOT");
	return root && strtoll(root, NULL, 10) == (long long)getpid();
}

/* For programs with a recorder of their own. */
const struct recorder_table *ss_rec_injected_table(void)
{
	static const struct recorder_table table = {
		.size = sizeof(table), .start = ss_trace_start, .stop = ss_trace_stop, .error = ss_trace_error,
		.dropped = ss_trace_dropped, .begin = ss_trace_begin_now, .end = ss_trace_end_now, .instant = ss_trace_instant,
		.counter = ss_trace_counter, .thread_name = ss_trace_thread_name, .gpu_start = ss_trace_gpu_start,
		.gpu_error = ss_trace_gpu_error, .level = &ss_trace_level_now,
	};
	return &table;
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

/*
 * "<host>" for the program, "<host>_<pid>" for those that it starts. A program that replaced itself by
 * another has a file by that name already: then "<host>_<pid>_2" and so on.
 */
static void name_host(char *out, size_t n, unsigned attempt)
{
	const char *given = getenv("SS_RECORD_HOST");
	char system[256] = "localhost";
	gethostname(system, sizeof(system) - 1);
	const char *host = given && *given ? given : system;
	if (attempt == 0 && is_root())
		snprintf(out, n, "%s", host);
	else if (attempt <= 1)
		snprintf(out, n, "%s_%ld", host, (long)getpid());
	else
		snprintf(out, n, "%s_%ld_%u", host, (long)getpid(), attempt);
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

static void process_event(struct ss_trace_name *name)
{
	static struct ss_trace_name keys[] = { { "pid", 0 }, { "parent", 0 }, { "command", 0 } };
	char command[900];
	const struct ss_trace_arg args[] = {
		{ &keys[0], SS_TRACE_INT, { .i = getpid() } },
		{ &keys[1], SS_TRACE_INT, { .i = getppid() } },
		{ &keys[2], SS_TRACE_TEXT, { .text = command_line(command, sizeof(command)) } },
	};
	ss_trace_instant(SS_TRACE_CRITICAL, name, args, 3);
}

/* The end of the process, which a signal's handler may have come to in the middle of anything. */
static void stop(void)
{
	static struct ss_trace_name name = { "process stop", 0 };
	if (__atomic_load_n(&inject.recording, __ATOMIC_RELAXED) != getpid())
		return;		/* without the lock: after vfork it is the parent's */
	pthread_mutex_lock(&inject.lock);
	bool ours = inject.recording == getpid();
	inject.recording = 0;
	pthread_mutex_unlock(&inject.lock);
	if (!ours)
		return;
	process_event(&name);
	/* A program that ends between its own start and stop does not keep ours open. One that ends within a stop, or in
	 * the recorder, leaves the file as it is, which is whole. */
	if (!ss_rec_lock_session())
		return;
	ss_rec.joined = 0;
	ss_rec.joinable = false;
	ss_rec_unlock_session();
	const char *path = ss_trace_stop();
	if (path)
		report("profile", path);
	else
		report("failed", ss_trace_error());
}

static bool get_varint(const unsigned char **at, const unsigned char *end, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		unsigned char byte = *(*at)++;
		*v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* Messages at the end of a path of field numbers. Only what this library writes is understood: numbers and lengths. */
static size_t count_messages(const unsigned char *at, const unsigned char *end, const unsigned *path)
{
	size_t n = 0;
	uint64_t key, value;
	while (at < end && get_varint(&at, end, &key) && get_varint(&at, end, &value)) {
		if ((key & 7) == 0)
			continue;
		if ((key & 7) != 2 || value > (size_t)(end - at))
			break;
		if (key >> 3 == path[0])
			n += path[1] ? count_messages(at, at + value, path + 1) : 1;
		at += value;
	}
	return n;
}

/*
 * A shell that replaces itself by the program has recorded no more than that it started. Its file makes
 * room for the program's.
 */
static bool remove_bare(const char *path)
{
	static const unsigned events[] = { XSPACE_PLANES, XPLANE_LINES, XLINE_EVENTS, 0 };
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *bytes = MAP_FAILED;
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (bytes == MAP_FAILED)
		return false;
	bool bare = count_messages(bytes, (const unsigned char *)bytes + st.st_size, events) <= 1;
	munmap(bytes, (size_t)st.st_size);
	return bare && unlink(path) == 0;
}

static bool start_session(const char *logdir)
{
	enum { ATTEMPTS = 9 };
	const char *max = getenv("SS_RECORD_MAX_BYTES");
	char host[340];
	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		name_host(host, sizeof(host), attempt);
		const struct ss_trace_options o = { .size = sizeof(o), .logdir = logdir, .session = getenv("SS_RECORD_SESSION"),
						    .host = host, .max_bytes = max ? strtoull(max, NULL, 10) : 0 };
		errno = 0;
		if (ss_trace_start(&o))
			return true;
		if (errno != EEXIST)
			break;
		/* Nobody else has this process's number: what wrote that file is no more. */
		if (remove_bare(ss_rec.spool.path) && ss_trace_start(&o))
			return true;
	}
	report("failed", ss_trace_error());
	return false;
}

/* True: this process records. */
static bool begin(void)
{
	static struct ss_trace_name name = { "process start", 0 };
	const char *logdir = getenv("SS_RECORD_LOGDIR");
	if (!logdir || !*logdir)
		return false;
	pthread_mutex_lock(&inject.lock);
	bool on = inject.recording == getpid();
	if (!on && start_session(logdir)) {
		on = true;
		__atomic_store_n(&inject.recording, getpid(), __ATOMIC_RELAXED);
		ss_rec.joinable = true;
		process_event(&name);
	}
	pthread_mutex_unlock(&inject.lock);
	return on;
}

static void in_child(void)
{
	pthread_mutex_init(&inject.lock, NULL);
}

/* Called by the driver within cuInit. */
int InitializeInjection(void)
{
	const char *gpu = getenv("SS_RECORD_GPU");
	if (!begin() || (gpu && gpu[0] == '0'))
		return 1;
	if (ss_gpu_start(true))
		report("gpu", "recorded");
	else
		report("gpu-missing", ss_trace_gpu_error());
	/* Before the driver's own: what is still in CUPTI's buffers must come out. */
	atexit(stop);
	return 1;
}

int InitializeInjectionNvtx2(nvtx_export_table_fn *get_table)
{
	const char *step = getenv("SS_RECORD_STEP");
	begin();
	ss_nvtx_steps(step && *step ? step : NULL);
	return ss_nvtx_initialize(get_table);
}

__attribute__((constructor)) static void loaded(void)
{
	pthread_atfork(NULL, NULL, in_child);
	if (is_root())
		begin();
}

__attribute__((destructor)) static void unloaded(void)
{
	stop();
}

/* Shells, and children of Python's multiprocessing, end without their destructors. */
SS_TRACE_API void _exit(int status)
{
	stop();
	for (;;)
		syscall(SYS_exit_group, status);
}

SS_TRACE_API void _Exit(int status)
{
	_exit(status);
}
