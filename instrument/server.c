/*
 * server.c - tensorflow.ProfilerService inside a program: a request starts the recorder, waits,
 * stops it, and the file is sent or stays where it was asked for.
 *
 * Continuous profiling is a recording without an end, kept in a temporary folder; a snapshot stops
 * it, sends it and begins the next one.
 */
#include "ss_trace_gpu.h"
#include "ss_trace_server.h"

#include "base/buf.h"
#include "capture/messages.h"
#include "rpc/grpc_server.h"
#include "wire/pb.h"
#include "wire/pb_out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { XSPACE_PLANES = 1, XPLANE_LINES = 3, XLINE_EVENTS = 4 };

#define TICK_NS (10 * SS_NS_PER_MS)	/* how soon a Terminate is seen */
#define LONGEST_MS (UINT64_C(24) * 3600 * 1000)

/* The options of a request that a program can fulfil without our Python code. */
struct wanted {
	char root[PATH_MAX], session[256], host[256];
	uint64_t duration_ms, start_unix_ns;
	uint64_t host_level, device_level;
	bool emit;
	bool overridden;	/* host is a name that counts before others */
};

/* One server a program, guarded by the lock; calls run in threads of the gRPC server. */
static struct server {
	pthread_mutex_t lock;
	struct ss_grpc_server *grpc;
	char *token, *logdir;
	uint64_t max_bytes;
	bool busy;		/* a call or a continuous session records */
	bool continuous;
	bool end;		/* the recording of this session is to end now */
	char session[256];
	char folder[PATH_MAX];	/* temporary, of the continuous session */
	char error[512];
} server = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- requests ------------------------------------------------------------------------------------ */

/* A text of a request as a C string; false when it is too long or holds a zero. */
static bool take_text(char *out, size_t cap, struct ss_str s)
{
	if (s.n >= cap || memchr(s.p, '\0', s.n))
		return false;
	memcpy(out, s.p, s.n);
	out[s.n] = '\0';
	return true;
}

/* A number that is not there is 0, also the level of the host. */
static bool read_options(struct wanted *w, struct ss_str body)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	bool fits = true;
	w->host_level = w->device_level = 0;
	while (fits && ss_pb_next(&c, &f)) {
		if (f.key == PB_VAR(PROFILE_OPTIONS_HOST_TRACER_LEVEL))
			w->host_level = f.u;
		else if (f.key == PB_VAR(PROFILE_OPTIONS_DEVICE_TRACER_LEVEL))
			w->device_level = f.u;
		else if (f.key == PB_VAR(PROFILE_OPTIONS_DURATION_MS) && f.u)
			w->duration_ms = f.u;
		else if (f.key == PB_VAR(PROFILE_OPTIONS_START_TIMESTAMP_NS))
			w->start_unix_ns = f.u;
		else if (f.key == PB_LEN(PROFILE_OPTIONS_OVERRIDE_HOSTNAME) && f.bytes.n)
			w->overridden = fits = take_text(w->host, sizeof(w->host), f.bytes);
	}
	return fits;
}

static bool read_request(struct wanted *w, struct ss_str body, struct ss_grpc_status *status)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	bool fits = true;
	*w = (struct wanted){ .host_level = SS_TRACE_INFO, .device_level = 1 };
	while (fits && ss_pb_next(&c, &f)) {
		if (f.key == PB_VAR(PROFILE_REQUEST_DURATION_MS))
			w->duration_ms = w->duration_ms ? w->duration_ms : f.u;
		else if (f.key == PB_LEN(PROFILE_REQUEST_OPTS))
			fits = read_options(w, f.bytes);
		else if (f.key == PB_LEN(PROFILE_REQUEST_REPOSITORY_ROOT))
			fits = take_text(w->root, sizeof(w->root), f.bytes);
		else if (f.key == PB_LEN(PROFILE_REQUEST_SESSION_ID))
			fits = take_text(w->session, sizeof(w->session), f.bytes);
		else if (f.key == PB_LEN(PROFILE_REQUEST_HOST_NAME) && !w->overridden)
			fits = take_text(w->host, sizeof(w->host), f.bytes);
		else if (f.key == PB_VAR(PROFILE_REQUEST_EMIT_XSPACE))
			w->emit = f.u != 0;
	}
	if (!fits || c.bad)
		return ss_grpc_fail(status, SS_GRPC_INVALID_ARGUMENT, "the request is malformed, or a name in it is too long");
	if (w->duration_ms > LONGEST_MS)
		return ss_grpc_fail(status, SS_GRPC_INVALID_ARGUMENT, "%llu ms is longer than a day",
				    (unsigned long long)w->duration_ms);
	for (char *colon; (colon = strchr(w->host, ':'));)
		*colon = '_';
	if (!w->host[0] && gethostname(w->host, sizeof(w->host) - 1) != 0)
		memcpy(w->host, "localhost", sizeof("localhost"));
	return true;
}

/* Is a name one step of a path, and not out of it? */
static bool is_step(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	while (n > 1 && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0') && !strstr(path, "/../") &&
	       strcmp(path + strlen(path) - (strlen(path) < 3 ? 0 : 3), "/..") != 0;
}

/* The folder that the program itself is to write into. */
static bool set_folder(char *out, size_t cap, const struct wanted *w, struct ss_grpc_status *status)
{
	if (w->root[0] != '/')
		return ss_grpc_fail(status, SS_GRPC_INVALID_ARGUMENT,
				    "repository_root '%.200s' is not an absolute path, so the program does not know "
				    "where to write; ask it to send the profile (emit_xspace) instead", w->root);
	if (!is_step(w->session) || !is_step(w->host))
		return ss_grpc_fail(status, SS_GRPC_INVALID_ARGUMENT,
				    "'%.100s' and '%.100s' cannot be names of a directory and a file", w->session, w->host);
	if (server.logdir && !is_below(w->root, server.logdir))
		return ss_grpc_fail(status, SS_GRPC_PERMISSION_DENIED,
				    "this program writes profiles below '%.200s' only; ask it to send the profile "
				    "(emit_xspace) instead", server.logdir);
	int n = snprintf(out, cap, "%s/%s", w->root, w->session);
	if (n < 0 || (size_t)n >= cap)
		return ss_grpc_fail(status, SS_GRPC_INVALID_ARGUMENT, "the path of the run is too long");
	return true;
}

static bool make_temporary(char *out, size_t cap, struct ss_grpc_status *status)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(out, cap, "%s/sstrace-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
	if (n < 0 || (size_t)n >= cap || !mkdtemp(out))
		return ss_grpc_fail(status, SS_GRPC_INTERNAL, "cannot make a temporary directory '%.300s': %s", out,
				    strerror(errno));
	return true;
}

/* --- one recording at a time ---------------------------------------------------------------------- */

static bool take_turn(const char *session, bool continuous, struct ss_grpc_status *status)
{
	pthread_mutex_lock(&server.lock);
	bool free_now = !server.busy;
	if (free_now) {
		server.busy = true;
		server.continuous = continuous;
		server.end = false;
		snprintf(server.session, sizeof(server.session), "%s", session);
	}
	pthread_mutex_unlock(&server.lock);
	return free_now || ss_grpc_fail(status, SS_GRPC_ALREADY_EXISTS, "another client is profiling this program");
}

static void give_turn(void)
{
	pthread_mutex_lock(&server.lock);
	server.busy = server.continuous = false;
	pthread_mutex_unlock(&server.lock);
}

static bool is_to_end(void)
{
	pthread_mutex_lock(&server.lock);
	bool end = server.end;
	pthread_mutex_unlock(&server.lock);
	return end;
}

static bool begin_recording(const struct wanted *w, const char *folder, struct ss_grpc_status *status)
{
	struct ss_trace_options o = {
		.size = sizeof(o), .dir = folder, .host = w->host, .session = "capture", .max_bytes = server.max_bytes,
		.level = w->host_level < SS_TRACE_VERBOSE ? (int)w->host_level : SS_TRACE_VERBOSE,
	};
	if (ss_trace_start(&o)) {
		/* A missing requirement becomes a warning in the profile. */
		if (w->device_level && ss_trace_gpu_used())
			ss_trace_gpu_start();
		return true;
	}
	/* Somebody in the program records already, or the file cannot be. */
	return ss_grpc_fail(status, ss_trace_on(SS_TRACE_CRITICAL) ? SS_GRPC_ALREADY_EXISTS : SS_GRPC_INTERNAL, "%.400s",
			    ss_trace_error());
}

/* Until the time is over or somebody ends the session; false when the caller has gone. */
static bool wait_for_end(const struct ss_grpc_asked *asked, int64_t until_ns)
{
	for (int64_t left; !is_to_end() && (left = until_ns - ss_net_now_ns()) > 0;)
		if (!ss_grpc_asked_sleep(asked, left < TICK_NS ? left : TICK_NS))
			return false;
	return true;
}

static int64_t after_ms(uint64_t ms)
{
	return ss_net_now_ns() + (int64_t)ms * SS_NS_PER_MS;
}

/* The moment, of the clock on the wall, at which all hosts of a capture begin; a day at most. */
static bool wait_for_begin(const struct ss_grpc_asked *asked, uint64_t start_unix_ns)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	uint64_t ms = start_unix_ns > now ? (start_unix_ns - now) / 1000000u : 0;
	return ms == 0 || wait_for_end(asked, after_ms(ms < LONGEST_MS ? ms : LONGEST_MS));
}

/* --- what was recorded ---------------------------------------------------------------------------- */

/* Has a message a field of this number whose body passes? */
static bool any_field(struct ss_str body, uint32_t number, bool (*passes)(struct ss_str))
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(number) && (!passes || passes(f.bytes)))
			return true;
	return false;
}

static bool has_event(struct ss_str line)
{
	return any_field(line, XLINE_EVENTS, NULL);
}

static bool has_line(struct ss_str plane)
{
	return any_field(plane, XPLANE_LINES, has_event);
}

static bool is_empty(int fd, uint64_t bytes)
{
	void *map = bytes ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	if (map == MAP_FAILED)
		return bytes == 0;
	bool any = any_field((struct ss_str){ map, bytes }, XSPACE_PLANES, has_line);
	munmap(map, bytes);
	return !any;
}

/*
 * The file as the answer's XSpace, or empty_trace. The fields of a message are bytes in any order.
 */
static bool answer_with(struct ss_grpc_answer *answer, const char *path, bool emit)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0) {
		int why = errno;
		if (fd >= 0)
			close(fd);
		return ss_grpc_fail(&answer->status, SS_GRPC_INTERNAL, "cannot read '%.300s': %s", path, strerror(why));
	}
	uint64_t bytes = (uint64_t)st.st_size;
	if (is_empty(fd, bytes)) {
		ss_pbo_uint(&answer->body, PROFILE_RESPONSE_EMPTY_TRACE, 1);
	} else if (emit) {
		ss_pbo_varint(&answer->body, PB_LEN(PROFILE_RESPONSE_XSPACE));
		ss_pbo_varint(&answer->body, bytes);
		answer->fd = fd;
		answer->fd_bytes = bytes;
		return true;
	}
	close(fd);
	return true;
}

/* End the recording and answer with it. What is only sent is kept nowhere. */
static void end_recording(struct ss_grpc_answer *answer, bool wanted, bool keep, const char *folder)
{
	char path[PATH_MAX + 512];
	const char *made = ss_trace_stop();
	snprintf(path, sizeof(path), "%s", made ? made : "");
	if (!made)
		ss_grpc_fail(&answer->status, SS_GRPC_INTERNAL, "%.400s", ss_trace_error());
	else if (wanted)
		answer_with(answer, path, !keep);
	if (made && (!keep || !wanted))
		unlink(path);
	if (!keep || !wanted)
		rmdir(folder);
}

/* --- methods -------------------------------------------------------------------------------------- */

static void record_once(const struct wanted *w, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	char folder[PATH_MAX];
	bool keep = !w->emit;
	if (!wait_for_begin(asked, w->start_unix_ns))
		return;
	if (!w->host_level) {	/* the host is not to be traced, and there is nothing else */
		wait_for_end(asked, after_ms(w->duration_ms));
		ss_pbo_uint(&answer->body, PROFILE_RESPONSE_EMPTY_TRACE, 1);
		return;
	}
	if (!(keep ? set_folder(folder, sizeof(folder), w, &answer->status)
		   : make_temporary(folder, sizeof(folder), &answer->status)))
		return;
	if (!begin_recording(w, folder, &answer->status)) {
		rmdir(folder);
		return;
	}
	bool wanted = wait_for_end(asked, after_ms(w->duration_ms));
	end_recording(answer, wanted, keep, folder);
}

static void profile(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	struct wanted w;
	(void)arg;
	if (!read_request(&w, asked->request, &answer->status))
		return;
	if (!w.duration_ms) {
		ss_grpc_fail(&answer->status, SS_GRPC_INVALID_ARGUMENT, "duration_ms must be greater than zero");
		return;
	}
	if (!take_turn(w.session, false, &answer->status))
		return;
	record_once(&w, asked, answer);
	give_turn();
}

/* Ends the recording of a session early; its profile is answered to whoever asked for it. */
static void terminate(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	struct ss_pb c = ss_pb_of(asked->request);
	struct ss_pb_field f;
	struct ss_str session = { "", 0 };
	(void)arg;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(TERMINATE_REQUEST_SESSION_ID))
			session = f.bytes;
	pthread_mutex_lock(&server.lock);
	bool ours = server.busy && !server.continuous && ss_str_eq(session, ss_str_from(server.session));
	server.end = server.end || ours;
	pthread_mutex_unlock(&server.lock);
	if (!ours)
		ss_grpc_fail(&answer->status, SS_GRPC_NOT_FOUND, "no session '" SS_FMT "' is being recorded", SS_ARG(session));
}

static const struct wanted any_host = { .host = "snapshot", .host_level = SS_TRACE_INFO, .emit = true };

static void start_continuous(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	struct wanted w;
	(void)arg;
	if (!read_request(&w, asked->request, &answer->status) || !take_turn(w.session, true, &answer->status))
		return;
	if (!make_temporary(server.folder, sizeof(server.folder), &answer->status)) {
		give_turn();
	} else if (!begin_recording(&any_host, server.folder, &answer->status)) {
		rmdir(server.folder);
		give_turn();
	}
}

/* Takes the continuous session out of the hands of other calls for a moment. */
static bool hold_continuous(struct ss_grpc_status *status)
{
	pthread_mutex_lock(&server.lock);
	bool held = server.continuous;
	server.continuous = false;
	pthread_mutex_unlock(&server.lock);
	return held || ss_grpc_fail(status, SS_GRPC_NOT_FOUND, "continuous profiling is not running");
}

static void get_snapshot(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	(void)asked;
	if (!hold_continuous(&answer->status))
		return;
	end_recording(answer, true, false, server.folder);
	struct ss_grpc_status next = { 0 };
	bool on = make_temporary(server.folder, sizeof(server.folder), &next) && begin_recording(&any_host, server.folder, &next);
	pthread_mutex_lock(&server.lock);
	server.continuous = server.busy = on;
	pthread_mutex_unlock(&server.lock);
}

static void stop_continuous(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	(void)asked;
	if (!hold_continuous(&answer->status))
		return;
	end_recording(answer, false, false, server.folder);
	give_turn();
}

static const struct ss_grpc_method methods[] = {
	{ SS_METHOD_PROFILE, profile, NULL },
	{ SS_METHOD_TERMINATE, terminate, NULL },
	{ SS_METHOD_START_CONTINUOUS, start_continuous, NULL },
	{ SS_METHOD_GET_SNAPSHOT, get_snapshot, NULL },
	{ SS_METHOD_STOP_CONTINUOUS, stop_continuous, NULL },
};

/* --- start and stop ------------------------------------------------------------------------------- */

static char *copy_of(const char *text, bool *ok)
{
	char *copy = text ? strdup(text) : NULL;
	*ok = *ok && (copy || !text);
	return copy;
}

/* The threads that serve are the parent's: a child has no server. */
static void in_child(void)
{
	memset(&server, 0, sizeof(server));
	pthread_mutex_init(&server.lock, NULL);
}

static bool start(const struct ss_trace_server_options *o, struct ss_err *err)
{
	static bool forks;	/* children are told */
	bool ok = true;
	forks = forks || pthread_atfork(NULL, NULL, in_child) == 0;
	if (server.grpc)
		return ss_fail(err, SS_EBUSY, "a server is already listening on port %u", ss_grpc_server_port(server.grpc));
	if (o->logdir && o->logdir[0] != '/')
		return ss_fail(err, SS_EINVAL, "logdir '%s' is not an absolute path", o->logdir);
	server.max_bytes = o->max_bytes;
	server.token = copy_of(o->token, &ok);
	server.logdir = copy_of(o->logdir, &ok);
	const struct ss_grpc_server_config config = {
		.bind = o->bind, .port = o->port, .methods = methods, .nmethods = SS_COUNT(methods), .token = server.token,
		.max_request_bytes = 1 << 20, .max_calls = 8,
	};
	server.grpc = ok ? ss_grpc_server_start(&config, err) : NULL;
	if (server.grpc && (ss_grpc_server_loopback(server.grpc) || o->token || o->open))
		return true;
	if (server.grpc) {
		ss_fail(err, SS_EINVAL,
			"'%s' is reachable from other machines: a token is required, or permission for everybody "
			"(open)",
			o->bind);
		ss_grpc_server_stop(server.grpc, 0);
		server.grpc = NULL;
	}
	free(server.token);
	free(server.logdir);
	server.token = server.logdir = NULL;
	return ok ? false : ss_fail_mem(err);
}

bool ss_trace_server_start_with(const struct ss_trace_server_options *options)
{
	struct ss_trace_server_options o = { .size = sizeof(o) };
	struct ss_err err = { 0 };
	memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	pthread_mutex_lock(&server.lock);
	bool ok = start(&o, &err);
	if (!ok)
		snprintf(server.error, sizeof(server.error), "%s", err.text);
	pthread_mutex_unlock(&server.lock);
	return ok;
}

bool ss_trace_server_start(uint16_t port)
{
	const struct ss_trace_server_options o = { .size = sizeof(o), .port = port };
	return ss_trace_server_start_with(&o);
}

uint16_t ss_trace_server_port(void)
{
	pthread_mutex_lock(&server.lock);
	uint16_t port = server.grpc ? ss_grpc_server_port(server.grpc) : 0;
	pthread_mutex_unlock(&server.lock);
	return port;
}

const char *ss_trace_server_error(void)
{
	return server.error;
}

void ss_trace_server_stop(void)
{
	struct ss_grpc_answer nobody = { 0 };
	pthread_mutex_lock(&server.lock);
	struct ss_grpc_server *grpc = server.grpc;
	server.grpc = NULL;
	server.end = true;
	pthread_mutex_unlock(&server.lock);
	if (!grpc)
		return;
	/* Callers get what was recorded until now; handlers take the lock, so it is not held. */
	ss_grpc_server_stop(grpc, 2000);
	if (server.continuous)
		end_recording(&nobody, false, false, server.folder);
	server.busy = server.continuous = false;
	free(server.token);
	free(server.logdir);
	server.token = server.logdir = NULL;
}
