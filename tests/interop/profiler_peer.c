/*
 * profiler_peer.c - a program with a profiler's port, without the program: it sends or writes a
 * profile that it was given.
 *
 *	profiler_peer PROFILE [monitor] [master] [slow] [empty] [later=PROFILE] [continuous] [forgets] [rude]
 *
 * Prints its port and serves until its standard input ends. monitor: it answers Monitor. master: it
 * answers NewSession, writing the profile for each of the hosts. slow: a minute an answer.
 * empty: there is never a trace. later: from the fourth request on it is that profile. continuous: it
 * knows continuous profiling; forgets: and has lost it after the second snapshot, as a program that
 * was started anew. rude: it refuses with text that would act on a terminal. Requests are printed as
 * "method host_name duration_ms".
 */
#include "capture/messages.h"
#include "capture/run_dir.h"
#include "rpc/grpc_server.h"
#include "wire/pb.h"
#include "wire/pb_out.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOW_NS 60000000000

struct peer {
	const char *path;
	const char *later;	/* what is sent from the fourth request on, or NULL */
	unsigned asked;
	bool slow, empty, rude;
	bool gathers, forgets;
};

struct request {
	struct ss_str root, session, host;
	uint64_t duration_ms;
	bool emit;
};

static struct request read_request(struct ss_str bytes)
{
	struct request r = { .root = SS_STR("") };
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(PROFILE_REQUEST_DURATION_MS):
			r.duration_ms = f.u;
			break;
		case PB_LEN(PROFILE_REQUEST_REPOSITORY_ROOT):
			r.root = f.bytes;
			break;
		case PB_LEN(PROFILE_REQUEST_SESSION_ID):
			r.session = f.bytes;
			break;
		case PB_LEN(PROFILE_REQUEST_HOST_NAME):
			r.host = f.bytes;
			break;
		case PB_VAR(PROFILE_REQUEST_EMIT_XSPACE):
			r.emit = f.u;
			break;
		}
	return r;
}

static void say(const char *what, struct ss_str host, uint64_t duration_ms)
{
	printf("%s " SS_FMT " %llu\n", what, SS_ARG(host), (unsigned long long)duration_ms);
	fflush(stdout);
}

static bool write_profile(const struct peer *p, const struct request *r, struct ss_str host)
{
	struct ss_arena a = { 0 };
	char path[2048], buf[4096];
	struct ss_str name = ss_arena_str(&a, host), stem = ss_host_file_stem(&a, name.p);
	snprintf(path, sizeof(path), SS_FMT "/" SS_FMT "/" SS_FMT ".xplane.pb", SS_ARG(r->root), SS_ARG(r->session), SS_ARG(stem));
	ss_arena_release(&a);
	/* Who writes by itself makes the directories. */
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0777);
		*at = '/';
	}
	FILE *in = fopen(p->path, "rb"), *out = fopen(path, "wb");
	for (size_t n; in && out && (n = fread(buf, 1, sizeof(buf), in)) > 0;)
		fwrite(buf, 1, n, out);
	if (in)
		fclose(in);
	return out && fclose(out) == 0;
}

static void send_profile(const struct peer *p, struct ss_grpc_answer *answer)
{
	struct stat st;
	answer->fd = open(p->path, O_RDONLY | O_CLOEXEC);
	if (answer->fd < 0 || fstat(answer->fd, &st) != 0) {
		ss_grpc_fail(&answer->status, SS_GRPC_INTERNAL, "there is no profile");
		return;
	}
	answer->fd_bytes = (uint64_t)st.st_size;
	ss_pbo_varint(&answer->body, PB_LEN(PROFILE_RESPONSE_XSPACE));
	ss_pbo_varint(&answer->body, answer->fd_bytes);
}

static void profile(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	struct peer *p = arg;
	struct request r = read_request(asked->request);
	say("Profile", r.host, r.duration_ms);
	if (++p->asked > 3 && p->later)
		p->path = p->later;
	if (p->slow && !ss_grpc_asked_sleep(asked, SLOW_NS))
		return;
	if (p->rude)
		ss_grpc_fail(&answer->status, SS_GRPC_INTERNAL, "\x1b]0;title\a\x1b[2J\nstepscope: done\xc2\x9b" "5m");
	else if (p->empty)
		ss_pbo_uint(&answer->body, PROFILE_RESPONSE_EMPTY_TRACE, 1);
	else if (!r.emit)
		write_profile(p, &r, r.host);
	else
		send_profile(p, answer);
}

static void start_continuous(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	struct peer *p = arg;
	say("StartContinuousProfiling", SS_STR("-"), read_request(asked->request).duration_ms);
	if (p->gathers)
		ss_grpc_fail(&answer->status, SS_GRPC_ALREADY_EXISTS, "it is running");
	p->gathers = true;
}

static void get_snapshot(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	struct peer *p = arg;
	(void)asked;
	say("GetSnapshot", SS_STR("-"), 0);
	if (++p->asked == 3 && p->forgets)
		p->gathers = false;
	if (p->asked > 3 && p->later)
		p->path = p->later;
	if (p->gathers)
		send_profile(p, answer);
	else
		ss_grpc_fail(&answer->status, SS_GRPC_NOT_FOUND, "it is not running");
}

static void stop_continuous(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	struct peer *p = arg;
	(void)asked;
	(void)answer;
	say("StopContinuousProfiling", SS_STR("-"), 0);
	p->gathers = false;
}

static void monitor(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	const struct peer *p = arg;
	say("Monitor", SS_STR("-"), asked->request.n);
	if (p->slow && !ss_grpc_asked_sleep(asked, SLOW_NS))
		return;
	ss_pbo_bytes(&answer->body, MONITOR_RESPONSE_DATA,
		     SS_STR("TPU type: TPU v2\nUtilization of TPU Matrix Units is (higher is better): 10.7%\n"));
}

static void new_session(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	const struct peer *p = arg;
	struct ss_pb c = ss_pb_of(asked->request), hosts = c;
	struct ss_pb_field f;
	struct request r = { .root = SS_STR("") };
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(NEW_SESSION_REQUEST))
			r = read_request(f.bytes);
	say("NewSession", r.host, r.duration_ms);
	if (p->slow && !ss_grpc_asked_sleep(asked, SLOW_NS))
		return;
	ss_pbo_uint(&answer->body, NEW_SESSION_EMPTY_TRACE, p->empty);
	while (ss_pb_next(&hosts, &f))
		if (f.key == PB_LEN(NEW_SESSION_HOSTS) && !write_profile(p, &r, f.bytes)) {
			ss_pbo_bytes(&answer->body, NEW_SESSION_ERROR_MESSAGE, SS_STR("cannot write there"));
			return;
		}
}

int main(int argc, char **argv)
{
	struct peer p = { .path = argc > 1 ? argv[1] : "" };
	struct ss_grpc_method methods[6] = { { SS_METHOD_PROFILE, profile, &p } };
	size_t n = 1;
	struct ss_err err = { 0 };
	char drop[64];
	for (int i = 2; i < argc; i++) {
		if (strncmp(argv[i], "later=", 6) == 0)
			p.later = argv[i] + 6;
		p.slow |= strcmp(argv[i], "slow") == 0;
		p.rude |= strcmp(argv[i], "rude") == 0;
		p.empty |= strcmp(argv[i], "empty") == 0;
		p.forgets |= strcmp(argv[i], "forgets") == 0;
		if (strcmp(argv[i], "continuous") == 0) {
			methods[n++] = (struct ss_grpc_method){ SS_METHOD_START_CONTINUOUS, start_continuous, &p };
			methods[n++] = (struct ss_grpc_method){ SS_METHOD_GET_SNAPSHOT, get_snapshot, &p };
			methods[n++] = (struct ss_grpc_method){ SS_METHOD_STOP_CONTINUOUS, stop_continuous, &p };
		}
		if (strcmp(argv[i], "monitor") == 0)
			methods[n++] = (struct ss_grpc_method){ SS_METHOD_MONITOR, monitor, &p };
		if (strcmp(argv[i], "master") == 0)
			methods[n++] = (struct ss_grpc_method){ SS_METHOD_NEW_SESSION, new_session, &p };
	}
	struct ss_grpc_server *s = ss_grpc_server_start(
		&(struct ss_grpc_server_config){ .methods = methods, .nmethods = n }, &err);
	if (!s) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("%u\n", ss_grpc_server_port(s));
	fflush(stdout);
	while (read(0, drop, sizeof(drop)) > 0)
		;
	ss_grpc_server_stop(s, 0);
	return 0;
}
