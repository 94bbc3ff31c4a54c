/*
 * analysis.c - ProfileAnalysis: EnumSessions, GetSessionToolData, NewSession.
 *
 * Each becomes a request to a route, as if it had come over HTTP from this machine, so that both
 * doors lead to the same answers. What goes wrong with the question itself is said in
 * error_message, as the message has it, not in the status.
 */
#include "serve/analysis.h"

#include "capture/capture.h"
#include "wire/json.h"
#include "wire/pb.h"
#include "wire/pb_out.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_ARGS 32
#define MAX_BYTES ((size_t)1 << 30)

struct ss_analysis {
	struct ss_analysis_config config;
	struct ss_grpc_method methods[3];
	struct ss_grpc_server *server;
};

/* A request to a route. */
struct inner {
	struct ss_http_arg args[MAX_ARGS];
	size_t nargs;
	struct ss_arena arena;
	struct ss_buf body;	/* answered */
	unsigned status;
	char type[64];
};

static void put_arg(struct inner *q, const char *name, struct ss_str value)
{
	if (value.n && q->nargs < MAX_ARGS)
		q->args[q->nargs++] = (struct ss_http_arg){ ss_str_from(name), value };
}

/* All of a reply, from wherever it comes. */
static void take_reply(struct inner *q, struct ss_http_reply *r)
{
	q->status = r->status;
	q->body.limit_bytes = MAX_BYTES;
	snprintf(q->type, sizeof(q->type), "%s", r->type ? r->type : "");
	if (!ss_reply_read(r, &q->body))
		q->status = 500;
}

static bool ask_route(const struct ss_analysis *a, struct inner *q, const char *path)
{
	const struct ss_http_req req = {
		.method = SS_HTTP_GET, .path = ss_str_from(path), .args = q->args, .nargs = q->nargs, .host = SS_STR("localhost"),
		.origin = SS_STR(""), .if_none_match = SS_STR(""), .fetch_site = SS_STR(""), .arena = &q->arena, .client = -1,
	};
	struct ss_http_reply reply = { 0 };
	a->config.handler(a->config.srv, &req, &reply);
	take_reply(q, &reply);
	return q->status == 200;
}

static void free_inner(struct inner *q)
{
	ss_arena_release(&q->arena);
	ss_buf_free(&q->body);
}

/* The text of {"error":{"status":404,"text":"..."}}, or of {"error":"..."}. */
static struct ss_str error_text(struct inner *q)
{
	struct ss_jsonr r = ss_jsonr_of(ss_buf_get(&q->body));
	struct ss_jtok t;
	while (ss_jsonr_next(&r, &t))
		if (t.kind == SS_J_STRING)
			return ss_jtok_str(&t, &q->arena);
	return SS_STR("there is no answer");
}

/*
 * A directory of runs that the client names becomes the session's path; "" is the log directory's
 * own.
 */
static void name_session(struct inner *q, struct ss_str root, struct ss_str session)
{
	put_arg(q, "run", session);
	if (root.n)
		put_arg(q, "session_path", ss_arena_printf(&q->arena, SS_FMT "/" SS_FMT, SS_ARG(root), SS_ARG(session)));
}

static void get_tool_data(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	const struct ss_analysis *a = arg;
	struct ss_str root = SS_STR(""), session = SS_STR("");
	struct ss_pb c = ss_pb_of(asked->request);
	struct ss_pb_field f, m;
	struct inner q = { .nargs = 0 };
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(DATA_REPOSITORY_ROOT):
			root = f.bytes;
			break;
		case PB_LEN(DATA_SESSION_ID):
			session = f.bytes;
			break;
		case PB_LEN(DATA_TOOL_NAME):
			put_arg(&q, "tag", f.bytes);
			break;
		case PB_LEN(DATA_HOST_NAME):
			put_arg(&q, "host", f.bytes);
			break;
		case PB_LEN(DATA_PARAMETERS): {
			struct ss_pb entry = ss_pb_of(f.bytes);
			struct ss_str key = SS_STR(""), value = SS_STR("");
			while (ss_pb_next(&entry, &m))
				if (m.key == PB_LEN(1))
					key = m.bytes;
				else if (m.key == PB_LEN(2))
					value = m.bytes;
			struct ss_str z = ss_arena_str(&q.arena, key);
			if (z.p)
				put_arg(&q, z.p, value);
			break;
		}
		}
	name_session(&q, root, session);
	if (c.bad) {
		ss_grpc_fail(&answer->status, SS_GRPC_INVALID_ARGUMENT, "the request is malformed");
	} else if (ask_route(a, &q, "/data")) {
		bool json = strstr(q.type, "json");
		ss_pbo_bytes(&answer->body, DATA_OUTPUT_FORMAT, json ? SS_STR("json") : ss_str_from(q.type));
		ss_pbo_bytes(&answer->body, DATA_OUTPUT, ss_buf_get(&q.body));
	} else {
		ss_pbo_bytes(&answer->body, DATA_ERROR_MESSAGE, error_text(&q));
	}
	free_inner(&q);
}

/* One session with its tools. */
static void put_session(const struct ss_analysis *a, struct ss_buf *out, struct ss_str root, struct ss_str session)
{
	struct inner q = { .nargs = 0 };
	struct ss_buf b = { 0 };
	struct ss_jtok t;
	name_session(&q, root, session);
	ss_pbo_bytes(&b, SESSION_ID, session);
	if (ask_route(a, &q, "/run_tools")) {
		struct ss_jsonr r = ss_jsonr_of(ss_buf_get(&q.body));
		while (ss_jsonr_next(&r, &t))
			if (t.kind == SS_J_STRING)
				ss_pbo_bytes(&b, SESSION_TOOLS, ss_jtok_str(&t, &q.arena));
	}
	ss_pbo_bytes(out, ENUM_SESSIONS, ss_buf_get(&b));
	out->no_memory |= b.no_memory;
	ss_buf_free(&b);
	free_inner(&q);
}

static void enum_sessions(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	const struct ss_analysis *a = arg;
	struct ss_str root = SS_STR("");
	struct ss_pb c = ss_pb_of(asked->request);
	struct ss_pb_field f;
	struct ss_jtok t;
	struct inner q = { .nargs = 0 };
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(ENUM_REPOSITORY_ROOT))
			root = f.bytes;
	put_arg(&q, "run_path", root);
	if (c.bad) {
		ss_grpc_fail(&answer->status, SS_GRPC_INVALID_ARGUMENT, "the request is malformed");
	} else if (ask_route(a, &q, "/runs")) {
		struct ss_jsonr r = ss_jsonr_of(ss_buf_get(&q.body));
		while (ss_jsonr_next(&r, &t) && !ss_grpc_asked_gone(asked))
			if (t.kind == SS_J_STRING)
				put_session(a, &answer->body, root, ss_jtok_str(&t, &q.arena));
	} else {
		ss_pbo_bytes(&answer->body, ENUM_ERROR_MESSAGE, error_text(&q));
	}
	free_inner(&q);
}

/* ---- NewSession ---- */

struct session {
	struct ss_capture_config config;
	struct ss_str root, session;
	struct ss_buf hosts;
};

static void read_options(struct ss_str bytes, struct ss_profile_options *o)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	/* A missing value is zero. */
	o->host_level = o->device_level = o->python_level = 0;
	o->include_dataset_ops = false;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(PROFILE_OPTIONS_HOST_TRACER_LEVEL):
			o->host_level = f.u;
			break;
		case PB_VAR(PROFILE_OPTIONS_DEVICE_TRACER_LEVEL):
			o->device_level = f.u;
			break;
		case PB_VAR(PROFILE_OPTIONS_PYTHON_TRACER_LEVEL):
			o->python_level = f.u;
			break;
		case PB_VAR(PROFILE_OPTIONS_INCLUDE_DATASET_OPS):
			o->include_dataset_ops = f.u;
			break;
		}
}

static bool read_session(struct session *s, struct ss_str bytes)
{
	struct ss_pb c = ss_pb_of(bytes), r = { 0 };
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(NEW_SESSION_REQUEST):
			r = ss_pb_of(f.bytes);
			break;
		case PB_LEN(NEW_SESSION_REPOSITORY_ROOT):
			s->root = f.bytes;
			break;
		case PB_LEN(NEW_SESSION_SESSION_ID):
			s->session = f.bytes;
			break;
		case PB_LEN(NEW_SESSION_HOSTS):
			if (s->hosts.n)
				ss_buf_char(&s->hosts, ',');
			ss_buf_str(&s->hosts, f.bytes);
			break;
		}
	while (ss_pb_next(&r, &f))
		if (f.key == PB_VAR(PROFILE_REQUEST_DURATION_MS))
			s->config.options.duration_ms = f.u;
		else if (f.key == PB_LEN(PROFILE_REQUEST_OPTS))
			read_options(f.bytes, &s->config.options);
	ss_buf_char(&s->hosts, '\0');
	return !c.bad && !r.bad && !s->hosts.no_memory;
}

/* Nothing is written but below the log directory. */
static bool root_is_ours(const struct ss_analysis *a, struct ss_str root)
{
	struct ss_str own = ss_str_from(a->config.srv->capture_dir), rest = ss_str_sub(root, own.n, root.n);
	return !root.n || (ss_str_starts(root, own) &&
			   (ss_str_is(rest, "/plugins/profile") || ss_str_is(rest, "/plugins/profile/")));
}

struct waiting {
	const struct ss_grpc_asked *asked;
	struct ss_server_state *srv;
};

/* What nobody waits for any more is not taken to its end. */
static void look_after(void *arg, const struct ss_capture *c, const struct ss_capture_host *host)
{
	const struct waiting *w = arg;
	(void)c;
	(void)host;
	if (ss_grpc_asked_gone(w->asked))
		ss_capture_cancel(w->srv);
}

static void take_session(const struct ss_analysis *a, const struct ss_grpc_asked *asked, struct session *s,
			 struct ss_arena *arena, struct ss_buf *out)
{
	struct waiting waiting = { asked, a->config.srv };
	struct ss_capture c;
	struct ss_err err = { 0 };
	struct ss_str run = ss_arena_str(arena, s->session);
	s->config.targets = s->hosts.p;
	s->config.logdir = a->config.srv->capture_dir;
	s->config.run = run.n ? run.p : NULL;
	s->config.wake_fd = a->config.srv->stop[0];
	s->config.progress = look_after;
	s->config.progress_arg = &waiting;
	if (!ss_capture_begin(a->config.srv)) {
		ss_pbo_bytes(out, NEW_SESSION_ERROR_MESSAGE, SS_STR("another profile is being taken"));
		return;
	}
	if (!ss_capture_run(&c, &s->config, &err)) {
		if (err.code == SS_ENODATA)
			ss_pbo_uint(out, NEW_SESSION_EMPTY_TRACE, 1);
		else
			ss_pbo_bytes(out, NEW_SESSION_ERROR_MESSAGE, ss_str_from(err.text));
	}
	ss_capture_release(&c);
	ss_capture_over(a->config.srv);
}

static void new_session(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	const struct ss_analysis *a = arg;
	struct session s = { .config = { .options = ss_profile_defaults, .attempts = 1 } };
	struct ss_arena arena = { 0 };
	if (!a->config.srv->capture_dir)
		ss_grpc_fail(&answer->status, SS_GRPC_PERMISSION_DENIED,
			     "this server does not capture profiles: start it with stepscope serve --allow-capture");
	else if (!read_session(&s, asked->request))
		ss_grpc_fail(&answer->status, SS_GRPC_INVALID_ARGUMENT, "the request is malformed");
	else if (!root_is_ours(a, s.root))
		ss_pbo_bytes(&answer->body, NEW_SESSION_ERROR_MESSAGE, SS_STR("this server writes to its own log directory only"));
	else
		take_session(a, asked, &s, &arena, &answer->body);
	ss_arena_release(&arena);
	ss_buf_free(&s.hosts);
}

/* ---- its life ---- */

struct ss_analysis *ss_analysis_start(const struct ss_analysis_config *config, struct ss_err *err)
{
	struct ss_analysis *a = calloc(1, sizeof(*a));
	if (!a) {
		ss_fail_mem(err);
		return NULL;
	}
	a->config = *config;
	a->methods[0] = (struct ss_grpc_method){ SS_METHOD_ENUM_SESSIONS, enum_sessions, a };
	a->methods[1] = (struct ss_grpc_method){ SS_METHOD_SESSION_TOOL_DATA, get_tool_data, a };
	a->methods[2] = (struct ss_grpc_method){ SS_METHOD_NEW_SESSION, new_session, a };
	a->server = ss_grpc_server_start(&(struct ss_grpc_server_config){ .bind = config->bind, .port = config->port,
									  .methods = a->methods, .nmethods = SS_COUNT(a->methods),
									  .token = config->token, .tls = config->tls }, err);
	if (a->server && (ss_grpc_server_loopback(a->server) || config->token))
		return a;
	if (a->server)
		ss_fail(err, SS_EINVAL, "gRPC on an address that others reach needs a token: --grpc-token-file");
	ss_grpc_server_stop(a->server, 0);
	free(a);
	return NULL;
}

uint16_t ss_analysis_port(const struct ss_analysis *a)
{
	return ss_grpc_server_port(a->server);
}

void ss_analysis_stop(struct ss_analysis *a)
{
	if (!a)
		return;
	ss_grpc_server_stop(a->server, 300);
	free(a);
}
