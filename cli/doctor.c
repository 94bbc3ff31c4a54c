/*
 * doctor.c - stepscope doctor: is everything there to capture, record and serve, and what to do if
 * not. (Of a profile: doctor_path.c.)
 */
#include "doctor.h"

#include "base/sandbox.h"
#include "base/system.h"
#include "gpu_probe.h"
#include "rpc/fetch.h"
#include "rpc/loaded.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

extern const struct cli_command cli_command_doctor;

/* Less than this and a long recording will not fit; a short one takes 256 MiB at most. */
#define ROOM_GOOD ((uint64_t)1 << 30)
#define ROOM_MIN ((uint64_t)256 << 20)

/* A machine without a GPU is none to complain about, unless the GPU is what was asked for. */
static void check_gpu(struct doctor *d)
{
	struct ss_trace_gpu_report r = { .size = sizeof(r) };
	struct ss_err err = { 0 };
	if (!cli_gpu_probe(&r, &err)) {
		doctor_say(d, DOCTOR_BAD, "GPU driver", "%s", err.text);
		return;
	}
	bool needed = d->gpu_wanted || r.hardware || r.driver;
	if (!r.hardware && !r.driver && !d->gpu_wanted) {
		doctor_say(d, DOCTOR_NOTE, "GPU", "no NVIDIA GPU was found: GPUs cannot be recorded; everything else works");
		return;
	}
	doctor_say(d, r.hardware || r.driver ? DOCTOR_GOOD : DOCTOR_BAD, "GPU", "%s",
	    r.hardware ? "an NVIDIA GPU is present" : r.driver ? "the driver found a GPU" : "no NVIDIA GPU was found");
	doctor_say(d, r.driver ? DOCTOR_GOOD : needed ? DOCTOR_BAD : DOCTOR_NOTE, "GPU driver", "%s", r.driver_text);
	doctor_say(d, r.cupti ? DOCTOR_GOOD : needed ? DOCTOR_BAD : DOCTOR_NOTE, "CUPTI", "%s", r.cupti_text);
	if (r.driver && r.cupti)
		doctor_say(d, r.permission ? DOCTOR_GOOD : DOCTOR_BAD, "GPU permission", "%s", r.permission_text);
}

static void check_port(struct doctor *d, uint16_t port)
{
	char what[24];
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = ss_socket(AF_INET, SOCK_STREAM, 0), one = 1;
	snprintf(what, sizeof(what), "port %u", port);
	if (fd < 0) {
		doctor_say(d, DOCTOR_BAD, what, "cannot create a socket: %s", strerror(errno));
		return;
	}
	/* Like servers: a port whose last server has just ended is free. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	bool good = bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
	int why = errno;
	close(fd);
	if (good)
		doctor_say(d, DOCTOR_GOOD, what, "free");
	else if (why == EADDRINUSE)
		doctor_say(d, DOCTOR_BAD, what, "another program uses this port: stop it (ss -ltnp shows which), or use --port N");
	else if (why == EACCES)
		doctor_say(d, DOCTOR_BAD, what, "only root may use this port: choose 1024 or higher");
	else
		doctor_say(d, DOCTOR_BAD, what, "cannot listen on this port: %s", strerror(why));
}

static bool can_write(const char *dir)
{
	char path[4200];
	snprintf(path, sizeof(path), "%s/.stepscope-doctor-XXXXXX", dir);
	int fd = mkstemp(path);
	if (fd < 0)
		return false;
	close(fd);
	unlink(path);
	return true;
}

static void check_logdir(struct doctor *d, const char *logdir)
{
	char dir[4096];
	doctor_existing(logdir, dir, sizeof(dir));
	bool there = strcmp(dir, logdir) == 0;
	if (!can_write(dir)) {
		doctor_say(d, DOCTOR_BAD, "log directory",
		    "'%s' is not writable: %s. Choose another directory with --logdir, or change its permissions", dir,
		    strerror(errno));
		return;
	}
	doctor_say(d, DOCTOR_GOOD, "log directory", there ? "'%s' is writable" : "'%s' does not exist yet and can be created",
		   logdir);
	struct statvfs v;
	if (statvfs(dir, &v) != 0) {
		doctor_say(d, DOCTOR_NOTE, "disk space", "unknown: %s", strerror(errno));
		return;
	}
	uint64_t room = (uint64_t)v.f_bavail * v.f_frsize;
	double gib = (double)room / (double)((uint64_t)1 << 30);
	if (room < ROOM_MIN)
		doctor_say(d, DOCTOR_BAD, "disk space",
		    "%.2f GiB are free, which is too little for one recording. Free disk space, or choose another "
		    "--logdir",
		    gib);
	else
		doctor_say(d, room < ROOM_GOOD ? DOCTOR_NOTE : DOCTOR_GOOD, "disk space", "%.1f GiB are free%s", gib,
		    room < ROOM_GOOD ? ": enough for a few recordings" : "");
}

/* Programs that are recorded from outside need it. */
static void check_preload(struct doctor *d)
{
	const char *old = getenv("CUDA_INJECTION64_PATH");
	if (old && *old)
		doctor_say(d, DOCTOR_NOTE, "other tools", "CUDA_INJECTION64_PATH names '%s': 'stepscope record' replaces it", old);
}

/* The sandbox of serve. */
static void check_sandbox(struct doctor *d)
{
	int version = ss_sandbox_landlock();
	if (version)
		doctor_say(d, DOCTOR_GOOD, "sandbox", "Landlock version %d%s: serve cannot write files or run programs", version,
		    ss_sandbox_seccomp() ? " and seccomp" : "");
	else
		doctor_say(d, DOCTOR_NOTE, "sandbox",
			   "this kernel has no Landlock%s: serve writes no files, but the kernel does not enforce that",
		    ss_sandbox_seccomp() ? ", but seccomp" : " and no seccomp");
}

#define CURL_LEAST "7.85" /* that knows CURLOPT_PROTOCOLS_STR */
#define CURL_NEEDED "https:// addresses cannot be fetched, and TPUs cannot be found by name"

/* The word of libcurl's version that names what it encrypts with: "OpenSSL/3.0.19", also in parentheses. "": none. */
static struct ss_str tls_of(struct ss_str version)
{
	static const char *const names[] = { "OpenSSL", "LibreSSL", "BoringSSL", "quictls", "AWS-LC", "GnuTLS", "mbedTLS",
					     "wolfSSL", "rustls", "SecureTransport", "NSS", "BearSSL" };
	while (version.n) {
		size_t blank = ss_str_chr(version, ' ');
		struct ss_str word = ss_str_sub(version, 0, blank == SS_NPOS ? version.n : blank), name = word;
		(void)ss_str_take(&name, SS_STR("("));
		for (size_t i = 0; i < SS_COUNT(names); i++)
			if (ss_str_starts(name, ss_str_from(names[i])))
				return word;
		version = ss_str_sub(version, word.n + (blank != SS_NPOS), version.n);
	}
	return SS_STR("");
}

static bool is_too_old(struct ss_str version)
{
	uint64_t major = 0, minor = 0;
	return !ss_str_take(&version, SS_STR("libcurl/")) || !ss_str_take_u64(&version, &major) ||
	       !ss_str_take(&version, SS_STR(".")) || !ss_str_take_u64(&version, &minor) || major < 7 || (major == 7 && minor < 85);
}

/* Loaded where a file is fetched; what lies on this machine is read without it. */
static void check_curl(struct doctor *d)
{
	char text[300];
	bool there = ss_fetch_version(text, sizeof(text));
	struct ss_str version = ss_str_from(there ? text : ""), tls = tls_of(version);
	struct ss_str first = ss_str_sub(version, 0, ss_str_chr(version, ' '));
	if (!there && !ss_loads_libraries())
		doctor_say(d, DOCTOR_NOTE, "libcurl", "a static build loads no libcurl: " CURL_NEEDED
			   ". Use a wheel or a package of stepscope");
	else if (!there)
		doctor_say(d, DOCTOR_NOTE, "libcurl", "not installed, or incomplete: " CURL_NEEDED
			   ". The package 'curl' brings it: apt, dnf, apk or brew install curl");
	else if (is_too_old(version))
		doctor_say(d, DOCTOR_NOTE, "libcurl", SS_FMT " is older than " CURL_LEAST ": " CURL_NEEDED
			   ". Install a newer one (curl of a newer system, or of conda-forge)", SS_ARG(first));
	else if (!tls.n)
		doctor_say(d, DOCTOR_NOTE, "libcurl", SS_FMT " was built without TLS: " CURL_NEEDED
			   ". Install the system's own: apt, dnf, apk or brew install curl", SS_ARG(first));
	else
		doctor_say(d, DOCTOR_GOOD, "libcurl", SS_FMT " with TLS by " SS_FMT ": https:// addresses can be fetched",
			   SS_ARG(first), SS_ARG(tls));
}

struct ports {
	uint16_t port[16];
	size_t n;
};

static bool add_port(void *arg, const char *value)
{
	struct ports *p = arg;
	uint64_t v;
	if (p->n == SS_COUNT(p->port) || !cli_number(value, 65535, &v) || !v)
		return false;
	p->port[p->n++] = (uint16_t)v;
	return true;
}

static int run(int argc, char **argv)
{
	const char *logdir = ".";
	bool gpu = false;
	struct ports ports = { .n = 0 };
	const struct cli_opt opts[] = {
		CLI_TEXT("logdir", 'l', &logdir),
		CLI_EACH("port", 'p', add_port, &ports),
		CLI_FLAG("gpu", 0, &gpu),
		CLI_STRICT,
	};
	int status = cli_parse(&cli_command_doctor, argc, argv, opts, SS_COUNT(opts), 0, 1);
	struct cli_sink sink;
	struct ss_err err = { 0 };
	if (status >= 0)
		return status;
	if (!cli_sink_open(&sink, NULL, &err))
		return cli_fail(&err);
	if (!ports.n)
		ports.port[ports.n++] = 6006;
	struct doctor d = { .out = &sink.out, .gpu_wanted = gpu };
	if (argc > optind) {
		doctor_path(&d, argv[optind]);
	} else {
		check_gpu(&d);
		check_preload(&d);
		check_sandbox(&d);
		check_curl(&d);
		for (size_t i = 0; i < ports.n; i++)
			check_port(&d, ports.port[i]);
		check_logdir(&d, logdir);
	}
	if (!cli_sink_close(&sink, true, &err))
		return cli_fail(&err);
	return d.bad ? CLI_FAILED : CLI_DONE;
}

const struct cli_command cli_command_doctor = {
	.name = "doctor",
	.args = "[PATH] [--logdir D] [--port N]... [--gpu]",
	.summary = "check a profile or a directory; or what capturing, recording and serving need",
	.help = "With PATH: opens every profile in the file or directory and names what is wrong with it, and with the files\n"
		"around it, and says what to do.\n\n"
		"Without PATH: checks the GPU, its driver, CUPTI and permissions, libcurl, the ports, the log directory\n"
		"and its free disk space, and says how to fix each problem.\n\n"
		"Exit status 0: no check is BAD; 1: at least one is.\n\n"
		"  -l, --logdir D  directory for profiles (default: .)\n"
		"  -p, --port N    port to check; may be repeated (default: 6006)\n"
		"      --gpu       fail if this machine has no GPU\n"
		"      --strict    as in other commands; an incomplete profile is BAD even without it\n",
	.run = run,
};
