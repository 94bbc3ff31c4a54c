/*
 * record.c - stepscope record -- PROGRAM: run a program and record it from outside.
 *
 * The program gets libsstrace_inject.so by the environment (instrument/inject.c tells how) and a
 * file in which each process that records says what became of it. What a killed program leaves of
 * its GPUs, files of their own beside the host's, is put together here.
 */
#include "cli.h"
#include "base/system.h"
#include "gpu_probe.h"

#include "capture/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern const struct cli_command cli_command_record;

#define LIBRARY "libsstrace_inject.so"
#define SUFFIX ".xplane.pb"

struct recording {
	const char *logdir, *session, *host, *step;
	uint64_t max_mb;	/* 0: as the library has it */
	bool no_gpu;
	char library[4096];
	struct ss_run_dir dir;
	const char *folder;	/* dir.path */
	char status[4200];	/* the file in which processes report */
};

/* The messages of the processes. */
struct outcome {
	size_t nprofiles, nfailed, ngpu, nmissing;
	char failure[1024], missing[1500]; /* the first of each */
};

/* --- before ------------------------------------------------------------------------------------- */

/* $STEPSCOPE_INJECT, or where the build and the installation put it, seen from the program. */
static bool find_library(char *out, size_t n, struct ss_err *err)
{
	static const char *const places[] = { "/instrument/" LIBRARY, "/../lib/stepscope/" LIBRARY,
					      "/../libexec/stepscope/" LIBRARY, "/" LIBRARY };
	const char *named = getenv("STEPSCOPE_INJECT");
	char self[3000];
	if (named && *named) {
		if (!realpath(named, out))
			return ss_fail(err, SS_ENOTFOUND, "STEPSCOPE_INJECT names '%s': %s", named, strerror(errno));
		return true;
	}
	char *slash = ss_program_path(self, sizeof(self)) ? strrchr(self, '/') : NULL;
	if (slash)
		*slash = '\0';
	for (size_t i = 0; slash && i < SS_COUNT(places); i++) {
		char path[4000], real[4096];
		snprintf(path, sizeof(path), "%s%s", self, places[i]);
		if (realpath(path, real) && strlen(real) < n) {
			strcpy(out, real);
			return true;
		}
	}
	return ss_fail(err, SS_ENOTFOUND,
		       "%s was not found beside this program: './dev build' or './dev install' makes it; $STEPSCOPE_INJECT "
		       "names one elsewhere",
		       LIBRARY);
}

/* A session that was named must be a new one. */
static bool make_run(struct recording *r, struct ss_err *err)
{
	if (!ss_run_dir_make(&r->dir, r->logdir, r->session, err))
		return false;
	if (r->dir.remote)
		return ss_fail(err, SS_EINVAL,
			       "'%s' is not on this machine: recordings are written to a local directory", r->logdir);
	if (!r->dir.made)
		return ss_fail(err, SS_EINVAL, "run '" SS_FMT "' already exists in '%s'", SS_ARG(r->dir.run), r->logdir);
	r->folder = r->dir.path.p;
	int n = snprintf(r->status, sizeof(r->status), "%s/.recording", r->folder);
	int fd = n > 0 && (size_t)n < sizeof(r->status) ? open(r->status, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
	if (fd < 0)
		return ss_fail(err, SS_EIO, "cannot write '%s': %s", r->status, strerror(errno));
	close(fd);
	return true;
}

/* --- the program -------------------------------------------------------------------------------- */

static bool prepend(const char *variable, const char *value)
{
	const char *old = getenv(variable);
	char *both = NULL;
	if (old && *old && asprintf(&both, "%s:%s", value, old) < 0)
		return false;
	bool ok = setenv(variable, both ? both : value, 1) == 0;
	free(both);
	return ok;
}

/*
 * In the child, before the program. The log directory's path is absolute: programs change
 * directories.
 */
static bool set_environment(const struct recording *r)
{
	char root[32], bytes[32], logdir[4096];
	snprintf(root, sizeof(root), "%ld", (long)getpid());
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)r->max_mb << 20);
	return realpath(r->logdir, logdir) && setenv("SS_RECORD_LOGDIR", logdir, 1) == 0 &&
	       setenv("SS_RECORD_SESSION", r->dir.run.p, 1) == 0 && setenv("SS_RECORD_ROOT", root, 1) == 0 &&
	       setenv("SS_RECORD_GPU", r->no_gpu ? "0" : "1", 1) == 0 && setenv("SS_RECORD_STATUS", r->status, 1) == 0 &&
	       (!r->step || setenv("SS_RECORD_STEP", r->step, 1) == 0) &&
	       (!r->host || setenv("SS_RECORD_HOST", r->host, 1) == 0) &&
	       (!r->max_mb || setenv("SS_RECORD_MAX_BYTES", bytes, 1) == 0) &&
	       (r->no_gpu || setenv("CUDA_INJECTION64_PATH", r->library, 1) == 0) &&
	       setenv("NVTX_INJECTION64_PATH", r->library, 1) == 0 && setenv("SSTRACE_LIBRARY", r->library, 1) == 0 &&
	       prepend("LD_PRELOAD", r->library);
}

static void become(const struct recording *r, char **program, const sigset_t *signals)
{
	pthread_sigmask(SIG_SETMASK, signals, NULL);
	if (set_environment(r))
		execvp(program[0], program);
	fprintf(stderr, "stepscope: cannot run '%s': %s\n", program[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/*
 * Ctrl-C reaches the program from the terminal; other requests to end are passed on, and we wait
 * for it.
 */
static int wait_for(pid_t child, const sigset_t *watched)
{
	for (;;) {
		int status, signal = 0;
		pid_t ended = waitpid(child, &status, WNOHANG);
		if (ended == child)
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		if (sigwait(watched, &signal) == 0 && (signal == SIGTERM || signal == SIGHUP))
			kill(child, signal);
	}
}

static bool run_program(const struct recording *r, char **program, int *status, struct ss_err *err)
{
	sigset_t watched, before;
	sigemptyset(&watched);
	static const int signals[] = { SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	for (size_t i = 0; i < SS_COUNT(signals); i++)
		sigaddset(&watched, signals[i]);
	pthread_sigmask(SIG_BLOCK, &watched, &before);
	pid_t child = fork();
	if (child == 0)
		become(r, program, &before);
	if (child > 0)
		*status = wait_for(child, &watched);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return child > 0 || ss_fail(err, SS_EIO, "cannot make a process: %s", strerror(errno));
}

/* --- after -------------------------------------------------------------------------------------- */

static void read_outcome(const struct recording *r, struct outcome *o)
{
	char line[2000];
	FILE *f = fopen(r->status, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char what[16];
		int at = 0;
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%15s %*d %n", what, &at) < 1 || !at)
			continue;
		if (strcmp(what, "profile") == 0)
			o->nprofiles++;
		else if (strcmp(what, "gpu") == 0)
			o->ngpu++;
		else if (strcmp(what, "failed") == 0 && !o->nfailed++)
			snprintf(o->failure, sizeof(o->failure), "%s", line + at);
		else if (strcmp(what, "gpu-missing") == 0 && !o->nmissing++)
			snprintf(o->missing, sizeof(o->missing), "%s", line + at);
	}
	if (f)
		fclose(f);
	unlink(r->status);
}

static bool append_file(const char *from, const char *to)
{
	char bytes[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC), out = in < 0 ? -1 : open(to, O_WRONLY | O_APPEND | O_CLOEXEC);
	off_t before = out < 0 ? -1 : lseek(out, 0, SEEK_END);
	bool ok = before >= 0;
	for (ssize_t got; ok && (got = read(in, bytes, sizeof(bytes))) != 0;)
		ok = got > 0 && write(out, bytes, (size_t)got) == got;
	if (!ok && before >= 0 && ftruncate(out, before) != 0)
		ok = false;
	if (in >= 0)
		close(in);
	if (out >= 0)
		ok = close(out) == 0 && ok;
	return ok;
}

/* "<host>.gpu<N>.xplane.pb": the length of "<host>", else 0. */
static size_t part_of(const char *name)
{
	const char *dot = strstr(name, ".gpu"), *end = dot;
	for (const char *next; dot && (next = strstr(dot + 1, ".gpu")); end = dot)
		dot = next;
	if (!dot)
		return 0;
	end = dot + 4 + strspn(dot + 4, "0123456789");
	return end > dot + 4 && strcmp(end, SUFFIX) == 0 ? (size_t)(dot - name) : 0;
}

/*
 * XSpaces one after the other are an XSpace. Returns how many parts there were; a part that cannot
 * be joined stays a file.
 */
static size_t join_parts(const struct recording *r)
{
	size_t n = 0;
	DIR *dir = opendir(r->folder);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		size_t host = part_of(e->d_name);
		char part[4400], whole[4400];
		if (!host)
			continue;
		snprintf(part, sizeof(part), "%s/%s", r->folder, e->d_name);
		snprintf(whole, sizeof(whole), "%s/%.*s%s", r->folder, (int)host, e->d_name, SUFFIX);
		if (append_file(part, whole))
			unlink(part);
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

static size_t count_profiles(const struct recording *r)
{
	size_t n = 0;
	DIR *dir = opendir(r->folder);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		size_t length = strlen(e->d_name);
		n += length > strlen(SUFFIX) && strcmp(e->d_name + length - strlen(SUFFIX), SUFFIX) == 0;
	}
	if (dir)
		closedir(dir);
	return n;
}

static void say_gpus(const struct recording *r, const struct outcome *o)
{
	struct ss_trace_gpu_report probe = { .size = sizeof(probe) };
	struct ss_err err = { 0 };
	if (r->no_gpu)
		return;
	if (o->nmissing)
		cli_say("no GPU was recorded", ss_str_from(o->missing));
	if (o->ngpu || o->nmissing)
		return;
	if (!cli_gpu_probe(&probe, &err))
		cli_say("no GPU was recorded", ss_str_from(err.text));
	else if (!probe.driver)
		cli_say("no GPU was recorded", ss_str_from(probe.driver_text));
	else
		cli_say("no GPU was recorded", SS_STR("the program did not use CUDA"));
}

static int finish(const struct recording *r, int status)
{
	struct outcome o = { 0 };
	char text[5000];
	read_outcome(r, &o);
	size_t parts = join_parts(r), profiles = count_profiles(r);
	if (o.nfailed)
		cli_say("warning", ss_str_from(o.failure));
	if (!profiles) {
		cli_say(NULL, status == 126 || status == 127 ? SS_STR("nothing was recorded") :
			SS_STR("nothing was recorded: the program did not load the injected library. It may be "
			       "statically linked or set-user-ID, or it may not write to the log directory"));
		return status ? status : CLI_FAILED;
	}
	if (profiles > o.nprofiles || parts)
		cli_say("warning", SS_STR("a process was killed before its recording ended; events up to that moment are kept"));
	say_gpus(r, &o);
	snprintf(text, sizeof(text), "recorded %zu process%s in '%s'", profiles, profiles == 1 ? "" : "es", r->folder);
	cli_say(NULL, ss_str_from(text));
	return status;
}

/*
 * The begin of the program's command line: after "--", else the first word that is neither an option
 * nor its value.
 */
static int program_at(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *a = argv[i];
		if (strcmp(a, "--") == 0)
			return i + 1;
		if (a[0] != '-')
			return i;
		bool alone = strchr(a, '=') || strcmp(a, "--no-gpu") == 0 || strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0 ||
			     (a[1] != '-' && a[2]);
		i += !alone;
	}
	return argc;
}

static int run(int argc, char **argv)
{
	struct recording r = { .logdir = "." };
	struct ss_err err = { 0 };
	const struct cli_command *self = &cli_command_record;
	const struct cli_opt opts[] = {
		CLI_TEXT("logdir", 'l', &r.logdir), CLI_TEXT("session", 0, &r.session),
		CLI_TEXT("host", 0, &r.host),	    CLI_NUMBER("max-mb", 0, (uint64_t)1 << 24, &r.max_mb),
		CLI_FLAG("no-gpu", 0, &r.no_gpu),   CLI_TEXT("step", 0, &r.step),
	};
	int at = program_at(argc, argv), program_status = 0;
	int status = cli_parse(self, at, argv, opts, SS_COUNT(opts), 0, 0);
	if (status >= 0)
		return status;
	if (at >= argc)
		return cli_misuse(self, "which program?");
	if ((r.session && (strchr(r.session, '/') || !*r.session)) || (r.host && (strchr(r.host, '/') || !*r.host)))
		return cli_misuse(self, "--session and --host must be valid file names");
	if (!find_library(r.library, sizeof(r.library), &err) || !make_run(&r, &err) ||
	    !run_program(&r, argv + at, &program_status, &err))
		status = cli_fail(&err);
	else
		status = finish(&r, program_status);
	/* With nothing in it, it goes away again. */
	ss_run_dir_release(&r.dir);
	return status;
}

const struct cli_command cli_command_record = {
	.name = "record",
	.args = "[--logdir D] [--] PROGRAM [ARG...]",
	.summary = "run a program and record its GPUs, its NVTX ranges and its own events",
	.help = "Runs PROGRAM, unchanged, and writes a run below D: NVIDIA GPUs (kernels, copies, memsets, allocations),\n"
		"the calls of the driver, NVTX ranges, and what the program records with libsstrace. Without a GPU the\n"
		"rest is recorded and the reason is printed ('stepscope doctor' shows details). Child processes that\n"
		"use CUDA or NVTX are recorded too, each as a separate host. Exits with the status of PROGRAM.\n\n"
		"  -l, --logdir D      log directory (default: .)\n"
		"      --session NAME  name of the run (default: the time)\n"
		"      --host NAME     name of this machine in the run\n"
		"      --max-mb N      size limit of a recording (default: 256), for the host and for each GPU\n"
		"      --step RANGE    NVTX ranges of this name, with or without a number, mark the steps\n"
		"      --no-gpu        do not use CUPTI, for programs that another profiler records\n",
	.run = run,
};
