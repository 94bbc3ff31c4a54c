/* capture.c - profiles of running programs. */
#include "capture/capture.h"

#include "base/pool.h"
#include "wire/pb_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TICK_NS INT64_C(200000000)
#define MARGIN_MS 120000		/* for gathering and sending a profile */
#define MAX_DURATION_MS 86400000
/* Several hosts are given a moment to hear of it, so that they begin at the same time. */
#define LEAD_MS 100
#define PAUSE_NS INT64_C(500000000)	/* between attempts */

static uint64_t unix_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void progress(const struct ss_capture_config *config, const struct ss_capture *c, const struct ss_capture_host *h)
{
	if (config->progress)
		config->progress(config->progress_arg, c, h);
}

/* ---- hosts ---- */

/* The next of a list that is ours, as a C string in its place. */
static const char *next_of(struct ss_str *list)
{
	struct ss_str one;
	if (!ss_next_target(list, &one))
		return NULL;
	((char *)(uintptr_t)one.p)[one.n] = '\0';
	return one.p;
}

/* Each must be a host and a port, and none may come twice. */
static bool list_hosts(struct ss_capture *c, const char *targets, struct ss_err *err)
{
	size_t max = 1;
	for (const char *p = targets; *p; p++)
		max += *p == ',';
	c->targets = strdup(targets);
	c->hosts = calloc(max, sizeof(*c->hosts));
	if (!c->targets || !c->hosts)
		return ss_fail_mem(err);
	struct ss_str list = ss_str_from(c->targets);
	for (const char *target; (target = next_of(&list)); c->nhosts++) {
		struct ss_net_name name;
		struct ss_capture_host *h = &c->hosts[c->nhosts];
		if (!ss_net_parse(&name, target, err))
			return false;
		h->target = target;
		ss_reply_init(&h->reply, &c->dir, "");
		for (size_t i = 0; i < c->nhosts; i++)
			if (strcmp(c->hosts[i].target, target) == 0)
				return ss_fail(err, SS_EINVAL, "'%s' is named twice", target);
	}
	return c->nhosts || ss_fail(err, SS_EINVAL, "no host is named");
}

/* The names of the hosts in the run, all different. */
static bool list_names(struct ss_capture *c, const char *names, struct ss_err *err)
{
	size_t n = 0;
	if (!names || !names[0])
		return true;
	if (!(c->names = strdup(names)))
		return ss_fail_mem(err);
	struct ss_str list = ss_str_from(c->names);
	for (const char *name; (name = next_of(&list)); n++) {
		if (name[0] == '.' || strchr(name, '/') || strlen(name) > 200)
			return ss_fail(err, SS_EINVAL, "'%s' cannot be the name of a host", name);
		for (size_t i = 0; i < n && i < c->nhosts; i++)
			if (strcmp(c->hosts[i].name, name) == 0)
				return ss_fail(err, SS_EINVAL, "two hosts cannot both be called '%s'", name);
		if (n < c->nhosts)
			c->hosts[n].name = name;
	}
	return n == c->nhosts || ss_fail(err, SS_EINVAL, "there are %zu names for %zu addresses", n, c->nhosts);
}

static bool name_stems(struct ss_capture *c, struct ss_err *err)
{
	for (size_t i = 0; i < c->nhosts; i++) {
		struct ss_capture_host *h = &c->hosts[i];
		char file[512];
		h->stem = ss_host_file_stem(&c->dir.arena, h->name ? h->name : h->target);
		if (!h->stem.p)
			return ss_fail_mem(err);
		snprintf(file, sizeof(file), SS_FMT ".xplane.pb", SS_ARG(h->stem));
		if (ss_run_dir_has(&c->dir, file))
			return ss_fail(err, SS_EINVAL,
				       "run '" SS_FMT "' has a profile of %s already: choose another --session_id",
				       SS_ARG(c->dir.run), h->target);
	}
	return true;
}

static void fail_host(struct ss_capture_host *h, enum ss_grpc_code code, const char *text)
{
	h->end = SS_CAPTURE_FAILED;
	h->status = (struct ss_grpc_status){ 0 };
	ss_grpc_fail(&h->status, code, "%s", text);
}

struct opening {
	struct ss_capture *c;
	const struct ss_capture_config *config;
};

/* Names are looked up in several threads: that may take seconds each. */
static bool open_host(void *arg, size_t i, struct ss_err *err)
{
	struct opening *o = arg;
	struct ss_capture_host *h = &o->c->hosts[i];
	struct ss_err why = { 0 };
	(void)err;
	if (h->channel && ss_grpc_channel_up(h->channel))
		return true;
	ss_grpc_channel_close(h->channel);
	h->channel = ss_grpc_channel_open(&(struct ss_grpc_channel_config){ .target = h->target, .tls = o->config->tls,
									    .token = o->config->token }, &why);
	if (!h->channel)
		fail_host(h, SS_GRPC_UNAVAILABLE, why.text);
	return true;
}

/* ---- an attempt ---- */

int64_t ss_capture_timeout_ns(const struct ss_capture_config *config)
{
	uint64_t usual_ms = config->delay_ms + 2 * config->options.duration_ms + MARGIN_MS;
	return (int64_t)(config->timeout_ms ? config->timeout_ms : usual_ms) * SS_NS_PER_MS;
}

static bool start_host(struct ss_capture *c, struct ss_capture_host *h, const struct ss_capture_config *config,
		       uint64_t start_unix_ns, struct ss_err *err)
{
	struct ss_profile_request request = {
		.options = &config->options,
		.start_unix_ns = start_unix_ns,
		.repository_root = c->dir.root.p,
		.session_id = c->dir.run.p,
		.host_name = h->target,
		.override_hostname = h->name,
		.emit_xspace = config->mode == SS_CAPTURE_SEND && !c->dir.remote,
	};
	ss_reply_release(&h->reply);
	ss_reply_init(&h->reply, &c->dir, h->stem.p);
	bool snapshot = config->mode == SS_CAPTURE_SNAPSHOT;
	h->request.n = 0;
	if (snapshot)
		ss_pbo_bytes(&h->request, SNAPSHOT_SESSION_ID, c->dir.run);
	else
		ss_put_profile_request(&h->request, &request);
	if (!ss_buf_ok(&h->request, "request", err))
		return false;
	const struct ss_grpc_call_config call = {
		.method = snapshot ? SS_METHOD_GET_SNAPSHOT : SS_METHOD_PROFILE,
		.request = ss_buf_get(&h->request),
		.timeout_ns = ss_capture_timeout_ns(config),
		.sink = c->dir.remote ? NULL : ss_reply_take,
		.sink_arg = &h->reply,
	};
	h->call = ss_grpc_call_start(h->channel, &call, err);
	return h->call;
}

/* A program that wrote its profile itself: where? */
static void find_written(struct ss_capture *c, struct ss_capture_host *h)
{
	char file[512];
	snprintf(file, sizeof(file), SS_FMT ".xplane.pb", SS_ARG(h->stem));
	h->end = ss_run_dir_has(&c->dir, file) ? SS_CAPTURE_KEPT : SS_CAPTURE_ELSEWHERE;
}

/* The result of a call that has ended. */
static void judge(struct ss_capture *c, struct ss_capture_host *h)
{
	const struct ss_grpc_status *s = ss_grpc_call_status(h->call);
	struct ss_err err = { 0 };
	if (s->code != SS_GRPC_OK) {
		fail_host(h, s->code, s->text);
	} else if (h->reply.empty_trace) {
		/* With it may come an empty profile, which is none. */
		ss_reply_undo(&h->reply);
		h->end = SS_CAPTURE_EMPTY;
	} else if (!ss_reply_finish(&h->reply, &err)) {
		fail_host(h, SS_GRPC_INTERNAL, err.text);
	} else if (h->reply.kept.n) {
		h->end = SS_CAPTURE_KEPT;
	} else {
		find_written(c, h);
	}
	if (h->end != SS_CAPTURE_KEPT)
		ss_reply_undo(&h->reply);
	ss_grpc_call_free(h->call);
	h->call = NULL;
}

static bool cancel_all(struct ss_capture *c, struct ss_err *err)
{
	c->cancelled = true;
	for (size_t i = 0; i < c->nhosts; i++)
		if (c->hosts[i].call)
			ss_grpc_call_cancel(c->hosts[i].call);
	return ss_fail(err, SS_EBUSY, "cancelled");
}

/* Has somebody asked us to stop? */
static bool is_woken(int fd)
{
	return fd >= 0 && ss_net_readable(fd);
}

static bool wait_for_all(struct ss_capture *c, const struct ss_capture_config *config, struct ss_grpc_channel **channels,
			 struct ss_err *err)
{
	for (;;) {
		size_t n = 0;
		for (size_t i = 0; i < c->nhosts; i++) {
			struct ss_capture_host *h = &c->hosts[i];
			if (h->call && ss_grpc_call_ended(h->call)) {
				judge(c, h);
				progress(config, c, h);
			}
			if (h->call)
				channels[n++] = h->channel;
		}
		if (!n)
			return !c->cancelled || ss_fail(err, SS_EBUSY, "cancelled");
		if (!ss_grpc_run(channels, n, config->wake_fd, ss_net_now_ns() + TICK_NS, err))
			return false;
		if (is_woken(config->wake_fd))
			cancel_all(c, NULL);
		else
			progress(config, c, NULL);
	}
}

static bool attempt(struct ss_capture *c, const struct ss_capture_config *config, struct ss_err *err)
{
	struct opening opening = { c, config };
	struct ss_grpc_channel **channels = calloc(c->nhosts, sizeof(struct ss_grpc_channel *));
	if (!channels)
		return ss_fail_mem(err);
	for (size_t i = 0; i < c->nhosts; i++)
		c->hosts[i].end = SS_CAPTURE_WAITING;
	bool ok = ss_parallel(c->nhosts, 16, open_host, &opening, err);
	uint64_t lead_ms = config->delay_ms ? config->delay_ms : c->nhosts > 1 ? LEAD_MS : 0;
	uint64_t start_ns = unix_now_ns() + lead_ms * 1000000;
	c->begin_ns = ss_net_now_ns();
	for (size_t i = 0; ok && i < c->nhosts; i++) {
		if (c->hosts[i].end == SS_CAPTURE_WAITING)
			ok = start_host(c, &c->hosts[i], config, start_ns, err);
		else
			progress(config, c, &c->hosts[i]);
	}
	ok = ok && wait_for_all(c, config, channels, err);
	free(channels);
	return ok;
}

/* ---- all of it ---- */

size_t ss_capture_count(const struct ss_capture *c, enum ss_capture_end end)
{
	size_t n = 0;
	for (size_t i = 0; i < c->nhosts; i++)
		n += c->hosts[i].end == end;
	return n;
}

static bool have_any(const struct ss_capture *c)
{
	return ss_capture_count(c, SS_CAPTURE_KEPT) || ss_capture_count(c, SS_CAPTURE_ELSEWHERE);
}

/* A failure that has to do with the moment. */
static bool may_pass(const struct ss_grpc_status *s)
{
	return s->code == SS_GRPC_UNAVAILABLE || s->code == SS_GRPC_ALREADY_EXISTS ||
	       /* The same in JAX's and TensorFlow's words: somebody else takes a profile. */
	       (s->code == SS_GRPC_INTERNAL && strstr(s->text, "session active")) ||
	       /* The words of gRPC's C core for a connection that was lost during a call. */
	       (s->code == SS_GRPC_UNKNOWN && strcmp(s->text, "Stream removed") == 0);
}

/* Could another attempt end better? */
static bool worth_another(const struct ss_capture *c)
{
	for (size_t i = 0; i < c->nhosts; i++) {
		const struct ss_capture_host *h = &c->hosts[i];
		if (h->end == SS_CAPTURE_EMPTY || (h->end == SS_CAPTURE_FAILED && may_pass(&h->status)))
			return true;
	}
	return false;
}

/* A moment, or until somebody asks us to stop. */
static bool pause_for(const struct ss_capture_config *config)
{
	return !ss_net_wait_readable(config->wake_fd, (int)(PAUSE_NS / SS_NS_PER_MS));
}

static bool check(const struct ss_capture_config *config, struct ss_err *err)
{
	if (!config->options.duration_ms)
		return ss_fail(err, SS_EINVAL, "the duration must be greater than zero");
	if (config->options.duration_ms > MAX_DURATION_MS || config->delay_ms > MAX_DURATION_MS)
		return ss_fail(err, SS_EINVAL, "the duration and the delay may be a day at most");
	return true;
}

static bool explain(const struct ss_capture *c, struct ss_err *err)
{
	size_t empty = ss_capture_count(c, SS_CAPTURE_EMPTY);
	if (empty)
		return ss_fail(err, SS_ENODATA,
			       "no trace event was collected after %u attempt%s: the program was idle; try a longer "
			       "duration or more attempts", c->attempt, c->attempt == 1 ? "" : "s");
	if (c->nhosts == 1)
		return ss_fail(err, SS_EIO, "no profile: %s: %s", ss_grpc_code_name(c->hosts[0].status.code),
			       c->hosts[0].status.text);
	return ss_fail(err, SS_EIO, "no profile: none of the %zu hosts returned one", c->nhosts);
}

bool ss_capture_run(struct ss_capture *c, const struct ss_capture_config *config, struct ss_err *err)
{
	*c = (struct ss_capture){ 0 };
	if (!check(config, err) || !list_hosts(c, config->targets, err) || !list_names(c, config->names, err) ||
	    !ss_run_dir_make(&c->dir, config->logdir, config->run, err) || !name_stems(c, err))
		return false;
	for (c->attempt = 1;; c->attempt++) {
		if (!attempt(c, config, err)) {
			/* Files that were complete before stay, and are usable. */
			if (!have_any(c) || !c->cancelled)
				return false;
			if (err)
				*err = (struct ss_err){ 0 };
			return true;
		}
		if (have_any(c))
			return true;
		if (c->attempt >= (config->attempts ? config->attempts : 1) || !worth_another(c))
			return explain(c, err);
		if (!pause_for(config)) {
			c->cancelled = true;
			return ss_fail(err, SS_EBUSY, "cancelled");
		}
	}
}

void ss_capture_release(struct ss_capture *c)
{
	for (size_t i = 0; i < c->nhosts; i++) {
		struct ss_capture_host *h = &c->hosts[i];
		ss_grpc_call_free(h->call);
		ss_grpc_channel_close(h->channel);
		ss_reply_release(&h->reply);
		ss_buf_free(&h->request);
	}
	free(c->hosts);
	free(c->targets);
	free(c->names);
	ss_run_dir_release(&c->dir);
	*c = (struct ss_capture){ 0 };
}
