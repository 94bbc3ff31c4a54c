/*
 * http.c - the glue to libmicrohttpd.
 *
 * A thread a connection, because handlers compute and readers block: a slow client then holds up
 * nobody but itself. Stacks are small, so that many idle connections cost little.
 */
#include "rpc/http.h"

#include "rpc/net.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER_BYTES ((size_t)32 << 10)	/* of one connection: request line and headers */
#define STACK_BYTES ((size_t)1 << 20)
#define BODY_BYTES ((size_t)1 << 20)	/* of a request */
#define READ_BYTES ((size_t)64 << 10)	/* asked of a reader at once */
#define MAX_ARGS 64

struct ss_http {
	struct MHD_Daemon *daemon;
	struct ss_http_config config;
	uint16_t port;
	char *token, *cookie;	/* of the config; the cookie's name, for other servers of this machine have theirs */
	atomic_uint working;
};

/* A request from its first call to its end. */
struct call {
	struct ss_arena arena;
	size_t body_bytes;
	bool begun;		/* the headers were seen */
	bool new_cookie;	/* the reply brings one */
};

bool ss_http_arg(const struct ss_http_req *req, const char *name, struct ss_str *out)
{
	for (size_t i = 0; i < req->nargs; i++)
		if (ss_str_is(req->args[i].name, name)) {
			*out = req->args[i].value;
			return true;
		}
	return false;
}

struct args {
	struct ss_arena *arena;
	struct ss_http_arg *v;
	size_t n;
	bool no_memory, too_many;
};

static enum MHD_Result take_arg(void *arg, enum MHD_ValueKind kind, const char *key, size_t key_n, const char *value,
				size_t value_n)
{
	struct args *a = arg;
	(void)kind;
	if (a->n == MAX_ARGS) {
		a->too_many = true;
		return MHD_NO;
	}
	a->v[a->n].name = ss_arena_str(a->arena, (struct ss_str){ key ? key : "", key ? key_n : 0 });
	a->v[a->n].value = ss_arena_str(a->arena, (struct ss_str){ value ? value : "", value ? value_n : 0 });
	a->no_memory = !a->v[a->n].name.p || !a->v[a->n].value.p;
	a->n++;
	return a->no_memory ? MHD_NO : MHD_YES;
}

static struct ss_str header(struct MHD_Connection *c, const char *name)
{
	const char *v = MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
	return ss_str_from(v ? v : "");
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct ss_str trim(struct ss_str s)
{
	size_t a = 0, b = s.n;
	while (a < b && is_blank(s.p[a]))
		a++;
	while (b > a && is_blank(s.p[b - 1]))
		b--;
	return ss_str_sub(s, a, b);
}

/* The next item of a list separated by `sep`, trimmed; the rest stays in *s. */
static struct ss_str next_item(struct ss_str *s, char sep)
{
	size_t end = ss_str_chr(*s, sep);
	struct ss_str item = trim(ss_str_sub(*s, 0, end == SS_NPOS ? s->n : end));
	*s = ss_str_sub(*s, end == SS_NPOS ? s->n : end + 1, s->n);
	return item;
}

/* Is the weight of a coding "gzip;q=0.5" above zero? Nonsense counts as no. */
static bool weight_above_zero(struct ss_str params)
{
	while (params.n) {
		struct ss_str p = next_item(&params, ';');
		double q;
		if (ss_str_istarts(p, SS_STR("q=")))
			return ss_str_to_f64(trim(ss_str_sub(p, 2, p.n)), &q) && q > 0;
	}
	return true;
}

static bool accepts_gzip(struct ss_str list)
{
	bool any = false;
	while (list.n) {
		struct ss_str rest = next_item(&list, ','), coding = next_item(&rest, ';');
		if (ss_str_ieq(coding, SS_STR("gzip")) || ss_str_ieq(coding, SS_STR("x-gzip")))
			return weight_above_zero(rest);
		if (ss_str_is(coding, "*"))
			any = weight_above_zero(rest);
	}
	return any;
}

static enum ss_http_method method_of(const char *m)
{
	if (strcmp(m, MHD_HTTP_METHOD_GET) == 0)
		return SS_HTTP_GET;
	if (strcmp(m, MHD_HTTP_METHOD_HEAD) == 0)
		return SS_HTTP_HEAD;
	return strcmp(m, MHD_HTTP_METHOD_POST) == 0 ? SS_HTTP_POST : SS_HTTP_OTHER;
}

/* The token among the arguments, which is taken out of them. */
static struct ss_str take_token(struct args *a)
{
	struct ss_str token = SS_STR("");
	for (size_t i = 0; i < a->n; i++)
		if (ss_str_is(a->v[i].name, "token")) {
			token = a->v[i].value;
			memmove(&a->v[i], &a->v[i + 1], (--a->n - i) * sizeof(*a->v));
			break;
		}
	return token;
}

/* Does whoever asks know the secret? */
static bool may_ask(const struct ss_http *h, struct MHD_Connection *c, struct call *call, struct args *args)
{
	const struct ss_str bearer = SS_STR("Bearer ");
	if (!h->token)
		return true;
	struct ss_str header_value = header(c, "Authorization"), given = take_token(args);
	const char *cookie = MHD_lookup_connection_value(c, MHD_COOKIE_KIND, h->cookie);
	if (ss_str_istarts(header_value, bearer) &&
	    ss_net_knows(ss_str_sub(header_value, bearer.n, header_value.n), h->token))
		return true;
	call->new_cookie = given.n && ss_net_knows(given, h->token);
	return call->new_cookie || (cookie && ss_net_knows(ss_str_from(cookie), h->token));
}

static void refuse(struct ss_http_reply *r, unsigned status, struct ss_str json)
{
	*r = (struct ss_http_reply){ .status = status, .type = "application/json", .body = json };
}

static void handle(struct ss_http *h, struct MHD_Connection *c, struct call *call, const char *url, const char *method,
		   struct ss_http_reply *reply)
{
	struct args args = { .arena = &call->arena };
	args.v = SS_NEW_N(&call->arena, struct ss_http_arg, MAX_ARGS);
	if (args.v)
		MHD_get_connection_values_n(c, MHD_GET_ARGUMENT_KIND, take_arg, &args);
	if (!args.v || args.no_memory) {
		refuse(reply, 500, SS_STR("{\"error\":{\"status\":500,\"text\":\"out of memory\"}}"));
		return;
	}
	if (args.too_many) {
		refuse(reply, 400, SS_STR("{\"error\":{\"status\":400,\"text\":\"the request has more than 64 parameters\"}}"));
		return;
	}
	if (!may_ask(h, c, call, &args)) {
		refuse(reply, 401, SS_STR("{\"error\":{\"status\":401,\"text\":\"this server requires a token: open the "
					  "address that it printed at start, or send 'Authorization: Bearer TOKEN'\"}}"));
		return;
	}
	/* The secret goes out of a page's address at once: addresses are copied, shown and kept. */
	if (call->new_cookie && !args.n && url[0] && url[strlen(url) - 1] == '/' && strcmp(method, MHD_HTTP_METHOD_GET) == 0) {
		*reply = (struct ss_http_reply){ .status = 303, .location = "?" };
		return;
	}
	struct ss_http_req req = {
		.method = method_of(method),
		.path = ss_str_from(url),
		.args = args.v,
		.nargs = args.n,
		.host = header(c, "Host"),
		.origin = header(c, "Origin"),
		.fetch_site = header(c, "Sec-Fetch-Site"),
		.if_none_match = header(c, "If-None-Match"),
		.accepts_gzip = accepts_gzip(header(c, "Accept-Encoding")),
		.arena = &call->arena,
	};
	h->config.handler(h->config.arg, &req, reply);
}

/* What a streamed reply needs until its end. */
struct stream {
	ss_http_read_fn *read;
	ss_http_done_fn *done;
	void *arg;
};

static ssize_t pull(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct stream *s = arg;
	(void)pos;
	long n = s->read(s->arg, buf, max);
	return n > 0 ? (ssize_t)n : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void end_stream(void *arg)
{
	struct stream *s = arg;
	if (s->done)
		s->done(s->arg);
	free(s);
}

/* The reply's body as MHD wants it. NULL when memory is out; the reply is done with either way. */
static struct MHD_Response *response_of(const struct ss_http_reply *r)
{
	struct MHD_Response *m = NULL;
	if (r->read) {
		struct stream *s = malloc(sizeof(*s));
		if (s) {
			*s = (struct stream){ r->read, r->done, r->read_arg };
			m = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, READ_BYTES, pull, s, end_stream);
		}
		if (!m) {
			free(s);
			if (r->done)
				r->done(r->read_arg);
		}
		return m;
	}
	void *body = (void *)(uintptr_t)(r->body.n ? r->body.p : "");
	if (r->done) {
		m = MHD_create_response_from_buffer_with_free_callback_cls(r->body.n, body, r->done, r->read_arg);
		if (!m)
			r->done(r->read_arg);
		return m;
	}
	if (r->owned && r->owned == body)
		m = MHD_create_response_from_buffer(r->body.n, body, MHD_RESPMEM_MUST_FREE);
	else
		m = MHD_create_response_from_buffer(r->body.n, body, r->owned ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT);
	if (r->owned && (!m || r->owned != body))
		free(r->owned);
	return m;
}

static bool add(struct MHD_Response *m, const char *name, const char *value)
{
	return MHD_add_response_header(m, name, value) == MHD_YES;
}

static bool add_str(struct MHD_Response *m, struct ss_arena *a, const char *name, struct ss_str value)
{
	if (!value.n)
		return true;
	struct ss_str z = ss_arena_str(a, value);
	return z.p && add(m, name, z.p);
}

/* For this server only, out of reach of scripts, and not sent along from pages elsewhere. */
static bool add_cookie(const struct ss_http *h, struct MHD_Response *m, struct call *call)
{
	if (!call->new_cookie)
		return true;
	struct ss_str value = ss_arena_printf(&call->arena, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s", h->cookie, h->token,
					      h->config.tls_key ? "; Secure" : "");
	return value.p && add(m, "Set-Cookie", value.p);
}

static bool add_headers(const struct ss_http *h, struct MHD_Response *m, struct call *call, const struct ss_http_reply *r)
{
	/*
	 * "Not modified" has no body to protect, and its headers would replace those of the kept
	 * answer.
	 */
	const char *csp = !r->type ? NULL : r->csp ? r->csp : h->config.csp;
	return (!r->type || add(m, "Content-Type", r->type)) && add_cookie(h, m, call) &&
	       (!r->location || add(m, "Location", r->location)) &&
	       (r->status != 401 || add(m, "WWW-Authenticate", "Bearer")) && add(m, "X-Content-Type-Options", "nosniff") &&
	       add(m, "Cache-Control", "no-cache") && add(m, "Referrer-Policy", "no-referrer") &&
	       (!csp || add(m, "Content-Security-Policy", csp)) &&
	       (!r->gzip || add(m, "Content-Encoding", "gzip")) && (!r->vary || add(m, "Vary", "Accept-Encoding")) &&
	       (!r->allow || add(m, "Allow", r->allow)) && add_str(m, &call->arena, "ETag", r->etag) &&
	       add_str(m, &call->arena, "Content-Disposition", r->disposition);
}

static enum MHD_Result queue(const struct ss_http *h, struct MHD_Connection *c, struct call *call,
			     const struct ss_http_reply *r)
{
	struct MHD_Response *m = response_of(r);
	if (!m)
		return MHD_NO;
	enum MHD_Result ok = add_headers(h, m, call, r) ? MHD_queue_response(c, r->status, m) : MHD_NO;
	MHD_destroy_response(m);
	return ok;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url, const char *method,
				  const char *version, const char *upload, size_t *upload_n, void **state)
{
	struct ss_http *h = arg;
	struct call *call = *state;
	struct ss_http_reply reply = { 0 };
	(void)version;
	(void)upload;
	if (!call)
		return MHD_NO;
	if (!call->begun) {
		call->begun = true;
		return MHD_YES;	/* a body may follow */
	}
	if (*upload_n) {
		/* No route reads a body; a large one is not waited for. */
		call->body_bytes += *upload_n;
		*upload_n = 0;
		if (call->body_bytes <= BODY_BYTES)
			return MHD_YES;
		return MHD_NO;
	}
	handle(h, c, call, url, method, &reply);
	return queue(h, c, call, &reply);
}

/* Called with the raw request line, before anything else of the request. */
static void *on_begin(void *arg, const char *uri, struct MHD_Connection *c)
{
	struct ss_http *h = arg;
	struct call *call = calloc(1, sizeof(*call));
	(void)uri;
	(void)c;
	if (call)
		atomic_fetch_add(&h->working, 1);
	return call;
}

static void on_end(void *arg, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
	struct ss_http *h = arg;
	struct call *call = *state;
	(void)c;
	(void)why;
	if (!call)
		return;
	ss_arena_release(&call->arena);
	free(call);
	*state = NULL;
	atomic_fetch_sub(&h->working, 1);
}

/* MHD reports each broken request; the client knows already. */
static void on_log(void *arg, const char *fmt, va_list ap)
{
	(void)arg;
	(void)fmt;
	(void)ap;
}

static void free_http(struct ss_http *h)
{
	free(h->token);
	free(h->cookie);
	free(h);
}

struct ss_http *ss_http_start(const struct ss_http_config *config, bool *loopback, struct ss_err *err)
{
	struct ss_http *h = calloc(1, sizeof(*h));
	if (!h) {
		ss_fail_mem(err);
		return NULL;
	}
	h->config = *config;
	h->token = config->token ? strdup(config->token) : NULL;
	if (config->token && !h->token) {
		free(h);
		ss_fail_mem(err);
		return NULL;
	}
	int fd = ss_net_listen(config->bind, config->port, loopback, err);
	if (fd < 0) {
		free_http(h);
		return NULL;
	}
	h->port = ss_net_port(fd);
	if (asprintf(&h->cookie, "stepscope_%u", h->port) < 0)
		h->cookie = NULL;
	unsigned connections = config->max_connections ? config->max_connections : 256;
	const struct MHD_OptionItem tls[] = {
		{ config->tls_key ? MHD_OPTION_HTTPS_MEM_KEY : MHD_OPTION_END, 0, (void *)(uintptr_t)config->tls_key },
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)config->tls_cert },
		{ MHD_OPTION_END, 0, NULL },
	};
	h->daemon = !h->cookie ? NULL : MHD_start_daemon(
		MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ERROR_LOG |
			MHD_USE_ITC | (config->tls_key ? MHD_USE_TLS : 0),
		0, NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT,
		config->idle_s ? config->idle_s : 60, MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADER_BYTES,
		MHD_OPTION_THREAD_STACK_SIZE, STACK_BYTES, MHD_OPTION_URI_LOG_CALLBACK, on_begin, h,
		MHD_OPTION_NOTIFY_COMPLETED, on_end, h, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	if (h->daemon)
		return h;
	if (config->tls_key)
		ss_fail(err, SS_EIO, "cannot start the server with this certificate and key");
	else
		ss_fail(err, SS_EIO, "cannot start the server: %s", strerror(errno));
	close(fd);
	free_http(h);
	return NULL;
}

uint16_t ss_http_port(const struct ss_http *h)
{
	return h->port;
}

bool ss_http_quiesce(struct ss_http *h, unsigned wait_ms)
{
	MHD_socket fd = MHD_quiesce_daemon(h->daemon);
	if (fd != MHD_INVALID_SOCKET)
		close(fd);
	for (unsigned waited = 0; atomic_load(&h->working) && waited < wait_ms; waited += 5)
		poll(NULL, 0, 5);
	return atomic_load(&h->working) == 0;
}

void ss_http_stop(struct ss_http *h)
{
	if (!h)
		return;
	MHD_stop_daemon(h->daemon);
	free_http(h);
}
