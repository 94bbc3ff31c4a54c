/* server.c - from a request to its route; the life of the server. */
#include "serve/server.h"

#include "base/file.h"
#include "base/system.h"
#include "rpc/tls.h"
#include "serve/analysis.h"
#include "serve/call.h"
#include "serve/early.h"
#include "serve/gzip.h"
#include "serve/page.h"
#include "serve/warm.h"
#include "wire/json.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "/data/plugin/profile"
#define KEEP_ANSWERS_BYTES ((size_t)64 << 20)
/* Requests in work at the end are given so long to finish. */
#define LAST_WAIT_MS 300
/* What takes much time and memory is done a few at a time; others wait. */
#define SQL_AT_ONCE 4
#define DIFFS_AT_ONCE 2
#define TURN_WAIT_MS 10000
#define TURN_HOLD_MS 20000

/* Everything from here, nothing from elsewhere; images may be inline. */
static const char csp[] =
	"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'";

/* A drawing has a style sheet of its own in it, and needs nothing else. */
static const char drawing_csp[] =
	"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

struct ss_server {
	struct ss_server_state state;
	struct ss_http *http;
	struct ss_location plain;	/* of the log directory, where the caller opened none */
	struct ss_analysis *analysis;
	char *src_prefix, *history, *allow_host, *why_empty, *capture_dir, *tls_cert, *tls_key;
	struct ss_tls *tls;
	uint64_t nruns;
};

static const struct route {
	struct ss_str path;
	unsigned methods;
	ss_route_fn *fn;
} routes[] = {
#define ROUTE(path, methods, fn) { SS_STR_INIT(path), methods, fn },
#include "serve/routes.def"
#undef ROUTE
};

static unsigned status_of(enum ss_errcode code)
{
	switch (code) {
	case SS_EINVAL:
		return 400;
	case SS_ENOTFOUND:
	case SS_ENODATA:
		return 404;
	case SS_EBUSY:
	case SS_ELATER:
		return 503;
	default:
		return 500;
	}
}

/* `more`: further members of the error. */
static void refuse_with(struct ss_call *c, unsigned status, const char *text, const char *more)
{
	struct ss_out o;
	ss_out_init(&o, NULL, NULL);
	ss_out_printf(&o, "{\"error\":{\"status\":%u,\"text\":", status);
	ss_out_json_str(&o, ss_str_from(text));
	ss_out_printf(&o, "%s}}", more);
	*c->reply = (struct ss_http_reply){ 0 };
	if (ss_reply_out(c, status, "application/json", &o, NULL))
		return;
	*c->reply = (struct ss_http_reply){ .status = 500, .type = "application/json" };
	c->reply->body = SS_STR("{\"error\":{\"status\":500,\"text\":\"out of memory\"}}");
}

static void refuse(struct ss_call *c, unsigned status, const char *text)
{
	refuse_with(c, status, text, "");
}

/* "host:port" or "[v6]:port" without the port. */
static struct ss_str without_port(struct ss_str host)
{
	if (host.n && host.p[0] == '[') {
		size_t close = ss_str_chr(host, ']');
		return close == SS_NPOS ? host : ss_str_sub(host, 1, close);
	}
	size_t colon = ss_str_rchr(host, ':');
	return colon == SS_NPOS ? host : ss_str_sub(host, 0, colon);
}

/*
 * A page elsewhere whose name suddenly leads to this machine ("DNS rebinding") would be let read
 * everything by the browser; its name in the header gives it away. Only on loopback: elsewhere we
 * do not know what we are called.
 */
static bool host_is_ours(const struct ss_server_state *s, struct ss_str header)
{
	struct ss_str host = without_port(header);
	/* A page elsewhere, under a name that it made lead here, has no token either. */
	if (!s->loopback || s->guarded || !header.n ||
	    (s->allow_host && (strcmp(s->allow_host, "*") == 0 || ss_str_ieq(host, ss_str_from(s->allow_host)))))
		return true;
	const struct ss_str local = SS_STR("localhost"), dot_local = SS_STR(".localhost");
	if (ss_str_ieq(host, local) || ss_str_is(host, "::1") ||
	    (host.n > dot_local.n && ss_str_ieq(ss_str_sub(host, host.n - dot_local.n, host.n), dot_local)))
		return true;
	if (!ss_str_starts(host, SS_STR("127.")))
		return false;
	for (size_t i = 0; i < host.n; i++)
		if ((host.p[i] < '0' || host.p[i] > '9') && host.p[i] != '.')
			return false;
	return true;
}

static bool reply_page(struct ss_call *c, const struct ss_page_file *f)
{
	struct ss_http_reply *r = c->reply;
	struct ss_str body = { (const char *)f->begin, (size_t)(f->end - f->begin) };
	if (strcmp(f->path, "/") == 0)
		r->link = ss_early_link(c);
	r->etag = ss_etag_of(c->req->arena, body);
	r->vary = true;
	if (r->etag.p && ss_str_contains(c->req->if_none_match, ss_str_sub(r->etag, 2, r->etag.n))) {
		r->status = 304;
		return true;
	}
	r->status = 200;
	r->type = f->type;
	r->gzip = c->req->accepts_gzip;
	r->body = body;
	if (r->gzip)
		return true;
	r->body = ss_gunzip(body);
	r->owned = (void *)(uintptr_t)r->body.p;
	return r->body.p;
}

static const struct ss_page_file *page_file(struct ss_str path)
{
	for (const struct ss_page_file *f = ss_page_files; f->path; f++)
		if (ss_str_is(path, f->path))
			return f;
	return NULL;
}

static const struct route *find_route(struct ss_str path, struct ss_str *rest)
{
	*rest = SS_STR("");
	for (size_t i = 0; i < SS_COUNT(routes); i++) {
		const struct route *r = &routes[i];
		struct ss_str stem = ss_str_sub(r->path, 0, r->path.n - 1);
		if (ss_str_eq(path, r->path))
			return r;
		if (r->path.p[stem.n] == '*' && path.n > stem.n && ss_str_starts(path, stem)) {
			*rest = ss_str_sub(path, stem.n, path.n);
			return r;
		}
	}
	return NULL;
}

/*
 * Addresses of XProf's page, such as <prefix>/overview_page, lead to ours, so that links keep
 * working.
 */
static bool is_page_address(struct ss_str path, bool under_prefix)
{
	size_t slash = ss_str_rchr(path, '/');
	struct ss_str last = slash == SS_NPOS ? path : ss_str_sub(path, slash + 1, path.n);
	return !path.n || ss_str_is(path, "/") || ss_str_is(path, "/local") || ss_str_is(path, "/index.html") ||
	       (under_prefix && ss_str_chr(last, '.') == SS_NPOS);
}

static void run_route(struct ss_call *c, const struct route *r)
{
	struct ss_err err = { 0 };
	enum ss_http_method m = c->req->method;
	bool get = m == SS_HTTP_GET || m == SS_HTTP_HEAD;
	if (!(r->methods & (get ? SS_ROUTE_GET : m == SS_HTTP_POST ? SS_ROUTE_POST : 0))) {
		bool post = r->methods & SS_ROUTE_POST;
		refuse(c, 405, post ? "this route requires POST" : "this route requires GET");
		c->reply->allow = post ? "POST" : "GET, HEAD";
		return;
	}
	if (!get && !ss_origin_is_ours(c->req)) {
		refuse(c, 403, "this request comes from another site");
		return;
	}
	if (!r->fn(c, &err))
		refuse_with(c, status_of(err.code), err.text, err.code == SS_ELATER ? ",\"fetching\":true" : "");
}

/*
 * XProf's page asks for ///data/plugin/profile/data when it draws a graph, and XProf takes that for
 * /data/...
 */
static struct ss_str one_slash(struct ss_str path)
{
	while (path.n > 1 && path.p[0] == '/' && path.p[1] == '/')
		path = ss_str_sub(path, 1, path.n);
	return path;
}

static void dispatch(struct ss_call *c)
{
	struct ss_str path = one_slash(c->req->path);
	const struct ss_str prefix = SS_STR(PREFIX);
	bool under_prefix = ss_str_starts(path, prefix) && (path.n == prefix.n || path.p[prefix.n] == '/');
	if (under_prefix)
		path = ss_str_sub(path, prefix.n, path.n);
	if (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	const struct route *r = find_route(path, &c->rest);
	if (r) {
		run_route(c, r);
		return;
	}
	const struct ss_page_file *f =
		is_page_address(path, under_prefix) ? page_file(SS_STR("/")) : page_file(path);
	if (!f || ss_str_starts(path, SS_STR("/api/")))
		refuse(c, 404, "unknown address");
	else if (c->req->method != SS_HTTP_GET && c->req->method != SS_HTTP_HEAD) {
		refuse(c, 405, "this route requires GET");
		c->reply->allow = "GET, HEAD";
	} else if (!reply_page(c, f))
		refuse(c, 500, "out of memory");
}

static void handle(void *arg, const struct ss_http_req *req, struct ss_http_reply *reply)
{
	struct ss_call c = { .srv = arg, .req = req, .reply = reply };
	if (host_is_ours(c.srv, req->host))
		dispatch(&c);
	else
		refuse(&c, 403,
		       "the Host header of this request names no address of this machine; stepscope serve "
		       "--allow-host NAME allows it");
	if (reply->type && strcmp(reply->type, "text/html") == 0)
		reply->csp = drawing_csp;
	if (c.snapshot)
		ss_catalog_put(&c.srv->catalog, c.snapshot);
	ss_store_free(&c.opened);
}

bool ss_server_ask(struct ss_server *s, const char *path, const struct ss_http_arg *args, size_t nargs, struct ss_buf *body,
		   struct ss_err *err)
{
	struct ss_arena arena = { 0 };
	const struct ss_http_req req = { .method = SS_HTTP_GET,
					 .path = ss_str_from(path),
					 .args = args,
					 .nargs = nargs,
					 .host = SS_STR("localhost"),
					 .origin = SS_STR(""),
					 .if_none_match = SS_STR(""),
					 .fetch_site = SS_STR(""),
					 .arena = &arena,
					 .client = -1 };
	struct ss_http_reply reply = { 0 };
	handle(&s->state, &req, &reply);
	bool whole = ss_reply_read(&reply, body);
	ss_arena_release(&arena);
	if (!whole)
		return ss_fail(err, SS_EIO, "the answer of %s is incomplete", path);
	if (reply.status == 200)
		return true;
	struct ss_jsonr r = ss_jsonr_of(ss_buf_get(body));
	struct ss_jtok t = { .kind = SS_J_NULL };
	while (ss_jsonr_next(&r, &t) && t.kind != SS_J_STRING)
		;
	return ss_fail(err, SS_ENODATA, SS_FMT, SS_ARG(t.kind == SS_J_STRING ? t.text : SS_STR("there is no answer")));
}

/* Another binary may answer otherwise: its tags must differ. */
static uint64_t build_id(void)
{
	char path[PATH_MAX];
	struct stat st;
	if (!ss_program_path(path, sizeof(path)) || stat(path, &st) != 0)
		return 1;
	return (uint64_t)st.st_size * 1000003u ^ (uint64_t)ss_mtime_ns(&st);
}

static uint64_t half_of_memory(void)
{
	uint64_t bytes = ss_memory_bytes();
	return bytes ? bytes / 2 : (uint64_t)2 << 30;
}

static bool first_look(struct ss_server *s, struct ss_err *err)
{
	struct ss_snapshot *snap = ss_catalog_get(&s->state.catalog, -1, err);
	struct ss_arena a = { 0 };
	if (!snap)
		return false;
	for (size_t i = 0; i < snap->store.nruns; i++)
		s->nruns += ss_run_holds(&snap->store.runs[i]);
	if (!s->nruns) {
		struct ss_str why = ss_store_why_empty(&snap->store, &a);
		s->why_empty = why.p ? strdup(why.p) : NULL;
	}
	ss_arena_release(&a);
	ss_catalog_put(&s->state.catalog, snap);
	return true;
}

/* Profiles go to the log directory, if it is one: a single run, or a heap of files, is not. */
static bool allow_capture(struct ss_server *s, const char *logdir, bool by_get, struct ss_err *err)
{
	struct ss_snapshot *snap = ss_catalog_get(&s->state.catalog, -1, err);
	const struct ss_str mark = SS_STR("/plugins/profile/");
	struct stat st;
	if (!snap)
		return false;
	bool plain = !ss_location_is_made(s->state.catalog.place);
	bool good = plain && stat(logdir, &st) == 0 && S_ISDIR(st.st_mode) && !ss_str_contains(snap->store.root, mark) &&
		    !ss_str_ends(snap->store.root, SS_STR("/plugins/profile"));
	for (size_t i = 0; good && i < snap->store.nruns; i++)
		good = ss_str_contains(snap->store.runs[i].dir, mark);
	s->capture_dir = good ? strdup(snap->store.root.p) : NULL;
	ss_catalog_put(&s->state.catalog, snap);
	if (!good)
		return ss_fail(err, SS_EINVAL,
			       "profiles can be taken only into a log directory; '%s' is not one: its runs would not be below "
			       "plugins/profile", logdir);
	if (access(logdir, W_OK | X_OK) != 0)
		return ss_fail(err, SS_EIO, "profiles cannot be taken: '%s' is not writable", logdir);
	s->state.capture_dir = s->capture_dir;
	s->state.capture_by_get = by_get;
	return (s->capture_dir && ss_pipe_open(s->state.stop)) || ss_fail_mem(err);
}

static void free_server(struct ss_server *s)
{
	ss_pipe_close(s->state.stop);
	free(s->capture_dir);
	ss_catalog_release(&s->state.catalog);
	ss_answers_release(&s->state.answers);
	ss_turns_release(&s->state.sql_turns);
	ss_turns_release(&s->state.diff_turns);
	ss_sessions_free(s->state.sessions);
	free(s->src_prefix);
	free(s->history);
	free(s->allow_host);
	free(s->why_empty);
	free(s->tls_cert);
	free(s->tls_key);
	ss_tls_free(s->tls);
	free(s);
}

static char *read_pem(const char *path, struct ss_err *err)
{
	struct ss_file f;
	if (!ss_file_open(&f, path, err))
		return NULL;
	char *text = strndup(f.bytes.p ? f.bytes.p : "", f.bytes.n);
	ss_file_close(&f);
	if (!text)
		ss_fail_mem(err);
	return text;
}

/* Certificate and key, for HTTP as texts; gRPC has a TLS of its own. */
static bool open_tls(struct ss_server *s, const struct ss_server_config *config, struct ss_err *err)
{
	const struct ss_tls_config tls = { .server = true, .cert_file = config->tls_cert, .key_file = config->tls_key };
	if (!config->tls_cert && !config->tls_key)
		return true;
	if (!config->tls_cert || !config->tls_key)
		return ss_fail(err, SS_EINVAL, "TLS needs both a certificate and its key");
	s->tls = ss_tls_new(&tls, err);
	if (!s->tls || !(s->tls_cert = read_pem(config->tls_cert, err)) || !(s->tls_key = read_pem(config->tls_key, err)))
		return false;
	return true;
}

static bool start_grpc(struct ss_server *s, const struct ss_server_config *config, struct ss_err *err)
{
	s->analysis = ss_analysis_start(&(struct ss_analysis_config){ .bind = config->bind ? config->bind : "127.0.0.1",
								      .port = config->grpc_port, .token = config->grpc_token,
								      .tls = s->tls,
								      .handler = handle, .srv = &s->state }, err);
	return s->analysis;
}

/* A copy of each text of the configuration that requests may need. */
static bool copy_texts(struct ss_server *s, const struct ss_server_config *config)
{
	const struct {
		const char *from;
		char **to;
		const char **seen; /* by requests */
	} texts[] = {
		{ config->src_prefix, &s->src_prefix, &s->state.src_prefix },
		{ config->history, &s->history, &s->state.history },
		{ config->allow_host, &s->allow_host, &s->state.allow_host },
	};
	for (size_t i = 0; i < SS_COUNT(texts); i++) {
		if (!texts[i].from)
			continue;
		*texts[i].seen = *texts[i].to = strdup(texts[i].from);
		if (!*texts[i].to)
			return false;
	}
	return true;
}

/* Nothing of it listens yet. NULL: memory is out. */
static struct ss_server *new_server(const struct ss_server_config *config)
{
	struct ss_server *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	struct ss_server_state *st = &s->state;
	st->stop[0] = st->stop[1] = -1;
	st->loopback = true; /* until it is known: no request is let through that should not be */
	st->guarded = config->token;
	st->build = build_id();
	st->most_rows = config->most_rows;
	ss_answers_init(&st->answers, config->offline ? 0 : KEEP_ANSWERS_BYTES);
	ss_turns_init(&st->sql_turns, SQL_AT_ONCE, TURN_WAIT_MS, TURN_HOLD_MS);
	ss_turns_init(&st->diff_turns, DIFFS_AT_ONCE, TURN_WAIT_MS, TURN_HOLD_MS);
	st->sessions = ss_sessions_new(config->memory_bytes ? config->memory_bytes : half_of_memory(),
				       config->idle_s ? config->idle_s : 300);
	if (st->sessions && config->visits)
		ss_sessions_visit_all(st->sessions);
	if (st->sessions && copy_texts(s, config))
		return s;
	free_server(s);
	return NULL;
}

/* The clients that may reach the port, and what they may do there. */
static bool check_exposure(const struct ss_server *s, const struct ss_server_config *config, struct ss_err *err)
{
	if (s->state.loopback)
		return true;
	if (!config->token && !config->open)
		return ss_fail(err, SS_EINVAL,
			       "'%s' is reachable from other machines: a token is required, or permission for everybody",
			       config->bind);
	return !config->allow_capture ||
	       ss_fail(err, SS_EINVAL,
		       "--allow-capture requires a loopback address, so that only this machine can request "
		       "profiles (use ssh -L from elsewhere)");
}

/* On failure nothing listens. */
static bool start_listening(struct ss_server *s, const struct ss_server_config *config, struct ss_err *err)
{
	const struct ss_http_config http = { .bind = config->bind ? config->bind : "127.0.0.1",
					     .port = config->port,
					     .csp = csp,
					     .token = config->token,
					     .tls_cert = s->tls_cert,
					     .tls_key = s->tls_key,
					     .handler = handle,
					     .arg = &s->state };
	s->http = ss_http_start(&http, &s->state.loopback, err);
	if (!s->http)
		return false;
	if (check_exposure(s, config, err) && (!config->grpc || start_grpc(s, config, err)))
		return true;
	ss_http_stop(s->http);
	return false;
}

struct ss_server *ss_server_start(const struct ss_server_config *config, struct ss_err *err)
{
	struct ss_server *s = new_server(config);
	if (!s) {
		ss_fail_mem(err);
		return NULL;
	}
	s->plain = ss_location_plain(config->logdir);
	ss_catalog_init(&s->state.catalog, config->place ? config->place : &s->plain);
	bool ok = open_tls(s, config, err) && first_look(s, err) &&
		  (!config->allow_capture || allow_capture(s, config->logdir, config->capture_by_get, err)) &&
		  (config->offline || start_listening(s, config, err));
	if (ok)
		return s;
	free_server(s);
	return NULL;
}

uint16_t ss_server_port(const struct ss_server *s)
{
	return ss_http_port(s->http);
}

uint16_t ss_server_grpc_port(const struct ss_server *s)
{
	return s->analysis ? ss_analysis_port(s->analysis) : 0;
}

uint64_t ss_server_nruns(const struct ss_server *s)
{
	return s->nruns;
}

const char *ss_server_why_empty(const struct ss_server *s)
{
	return s->why_empty;
}

void ss_server_sweep(struct ss_server *s)
{
	ss_sessions_sweep(s->state.sessions);
}

bool ss_server_stop(struct ss_server *s)
{
	/* A profile that is being taken leaves nothing half written. */
	ss_capture_cancel(&s->state);
	for (int i = 0; i < 400 && atomic_load(&s->state.capturing); i++)
		poll(NULL, 0, 5);
	ss_analysis_stop(s->analysis);
	s->analysis = NULL;
	if ((s->http && !ss_http_quiesce(s->http, LAST_WAIT_MS)) || ss_warm_busy(&s->state))
		return false;
	if (s->http)
		ss_http_stop(s->http);
	free_server(s);
	return true;
}
