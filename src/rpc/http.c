/*
 * http.c - the glue to libmicrohttpd.
 *
 * A thread a connection, because handlers compute and readers block: a slow client then holds up
 * nobody but itself. Stacks are small, so that many idle connections cost little.
 */
#include "rpc/http.h"

#include "base/buf.h"

#include "base/system.h"
#include "rpc/net.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEADER_BYTES ((size_t)32 << 10)	/* of one connection: request line and headers */
#define STACK_BYTES ((size_t)1 << 20)
#define BODY_BYTES ((size_t)1 << 20)	/* of a request */
#define READ_BYTES ((size_t)64 << 10)	/* asked of a reader at once */
#define MAX_ARGS 64

/* How far a connection is: only what is in work is waited for without a limit. */
enum stage { READING, WORKING, BETWEEN };

struct conn {
	struct conn *next;
	int fd;
	enum stage stage;
	int64_t since_ns;	/* in this stage */
	struct ss_net_from from;
	bool ending;
};

struct ss_http {
	pthread_mutex_t lock;
	pthread_cond_t ends;
	struct conn *conns;	/* under the lock, with what is in them */
	size_t nconns;
	bool stopping;
	pthread_t watch;
	struct MHD_Daemon *daemon;
	struct ss_http_config config;
	uint16_t port;
	char *token, *cookie;	/* of the config; the cookie's name, for other servers of this machine have theirs */
	atomic_uint working;
};

/* A request from its first call to its end. */
struct call {
	struct conn *conn;
	struct ss_arena arena;
	size_t body_bytes;	/* that came; body.n of them are held */
	struct ss_buf body;
	bool begun;		/* the headers were seen */
	bool zero;		/* its path holds a zero byte, where libmicrohttpd ends it */
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

/* Every request names its host once: a name or an address, and a port or none. */
static bool is_host(struct ss_str s)
{
	uint64_t port;
	size_t colon = ss_str_rchr(s, ':');
	bool v6 = s.n && s.p[0] == '[';
	size_t end = v6 ? ss_str_chr(s, ']') : colon == SS_NPOS ? s.n : colon;
	if (end == SS_NPOS || end + v6 == 0 || (v6 && end < 3))
		return false;
	for (size_t i = v6; i < end; i++) {
		char c = s.p[i];
		bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.';
		if (!word && !(v6 ? c == ':' || c == '%' : c == '-' || c == '_'))
			return false;
	}
	struct ss_str rest = ss_str_sub(s, end + v6, s.n);
	return !rest.n || (rest.p[0] == ':' && rest.n > 1 && ss_str_to_u64(ss_str_sub(rest, 1, rest.n), &port) && port >= 1 &&
			   port <= 65535);
}

static enum MHD_Result count_hosts(void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
	unsigned *n = arg;
	(void)kind;
	if (strcasecmp(key, "Host") == 0)
		*n += is_host(ss_str_from(value ? value : "")) ? 1 : 2;
	return MHD_YES;
}

static bool names_one_host(struct MHD_Connection *c)
{
	unsigned n = 0;
	MHD_get_connection_values(c, MHD_HEADER_KIND, count_hosts, &n);
	return n == 1;
}

/*
 * What says who asks, each at most once and not empty: whoever stands between may go by another of
 * them.
 */
static const char *const claims[] = { "Authorization", "Origin", "Sec-Fetch-Site" };

static enum MHD_Result count_claims(void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
	unsigned *n = arg;
	(void)kind;
	for (size_t i = 0; i < SS_COUNT(claims); i++)
		if (strcasecmp(key, claims[i]) == 0)
			n[i] += value && value[0] ? 1 : 2;
	return MHD_YES;
}

static bool claims_once(struct MHD_Connection *c)
{
	unsigned n[SS_COUNT(claims)] = { 0 }, most = 0;
	MHD_get_connection_values(c, MHD_HEADER_KIND, count_claims, n);
	for (size_t i = 0; i < SS_COUNT(claims); i++)
		most = n[i] > most ? n[i] : most;
	return most <= 1;
}

/* libmicrohttpd takes "Transfer-Encoding : chunked" for a header of another name; who stands between may not. */
static bool is_header_name(const char *key)
{
	return key[0] && !key[strcspn(key, " \t\r\n\"(),/:;<=>?@[\\]{}")];
}

static enum MHD_Result count_lengths(void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
	unsigned *n = arg;
	(void)kind;
	(void)value;
	*n += strcasecmp(key, "Content-Length") == 0 || strcasecmp(key, "Transfer-Encoding") == 0 ? 1 : is_header_name(key) ? 0 : 2;
	return MHD_YES;
}

/* Where a body ends is said once, or whoever stands between could see another request in it. */
static bool ends_once(struct MHD_Connection *c)
{
	unsigned n = 0;
	MHD_get_connection_values(c, MHD_HEADER_KIND, count_lengths, &n);
	return n <= 1;
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
	if (call->zero) {
		refuse(reply, 400, SS_STR("{\"error\":{\"status\":400,\"text\":\"a path cannot hold a zero byte\"}}"));
		return;
	}
	if (!names_one_host(c)) {
		refuse(reply, 400, SS_STR("{\"error\":{\"status\":400,\"text\":\"the request must have one Host header: a name "
					  "or an address, and a port or none\"}}"));
		return;
	}
	if (!claims_once(c)) {
		refuse(reply, 400, SS_STR("{\"error\":{\"status\":400,\"text\":\"the request has an empty or a second "
					  "Authorization, Origin or Sec-Fetch-Site header: send each once, or not at all\"}}"));
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
	const union MHD_ConnectionInfo *connection = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
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
		.body = ss_buf_get(&call->body),
		.body_cut = call->body_bytes > call->body.n,
		.arena = &call->arena,
		.client = connection ? connection->connect_fd : -1,
	};
	h->config.handler(h->config.arg, &req, reply);
}

bool ss_http_client_left(int client)
{
	struct pollfd p = { .fd = client, .events = POLLRDHUP };
	return client >= 0 && poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* The state of a streamed reply. */
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
	return (!r->type || add(m, "Content-Type", r->type)) && (!r->ends || add(m, "Connection", "close")) &&
	       add_cookie(h, m, call) &&
	       (!r->location || add(m, "Location", r->location)) &&
	       (r->status != 401 || add(m, "WWW-Authenticate", "Bearer")) && add(m, "X-Content-Type-Options", "nosniff") &&
	       add(m, "Cache-Control", "no-cache") && add(m, "Referrer-Policy", "no-referrer") &&
	       (!csp || add(m, "Content-Security-Policy", csp)) &&
	       (!r->gzip || add(m, "Content-Encoding", "gzip")) && (!r->vary || add(m, "Vary", "Accept-Encoding")) &&
	       (!r->allow || add(m, "Allow", r->allow)) && add_str(m, &call->arena, "ETag", r->etag) &&
	       add_str(m, &call->arena, "Content-Disposition", r->disposition) && add_str(m, &call->arena, "Link", r->link);
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

/*
 * The next request begins to count when its first line is there, the first one with the connection.
 */
static void enter(struct ss_http *h, struct conn *c, enum stage stage)
{
	if (!c)
		return;
	pthread_mutex_lock(&h->lock);
	c->stage = stage;
	c->since_ns = ss_net_now_ns();
	pthread_mutex_unlock(&h->lock);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url, const char *method,
				  const char *version, const char *upload, size_t *upload_n, void **state)
{
	struct ss_http *h = arg;
	struct call *call = *state;
	struct ss_http_reply reply = { 0 };
	(void)version;
	if (!call)
		return MHD_NO;
	if (!call->begun && !ends_once(c)) {
		refuse(&reply, 400, SS_STR("{\"error\":{\"status\":400,\"text\":\"the request gives its length more than once, "
					    "or a header has a name with a blank or a separator in it\"}}"));
		reply.ends = true;
		return queue(h, c, call, &reply);
	}
	if (!call->begun) {
		call->begun = true;
		return MHD_YES;	/* a body may follow */
	}
	if (*upload_n) {
		/* Routes read short bodies; a large one is not waited for. */
		size_t room = SS_HTTP_BODY_BYTES - call->body.n;
		ss_buf_str(&call->body, (struct ss_str){ upload, *upload_n < room ? *upload_n : room });
		call->body_bytes += *upload_n;
		*upload_n = 0;
		if (call->body_bytes <= BODY_BYTES)
			return MHD_YES;
		return MHD_NO;
	}
	enter(h, call->conn, WORKING);
	handle(h, c, call, url, method, &reply);
	return queue(h, c, call, &reply);
}

/* Called with the raw request line, before anything else of the request. */
static void *on_begin(void *arg, const char *uri, struct MHD_Connection *c)
{
	struct ss_http *h = arg;
	struct call *call = calloc(1, sizeof(*call));
	if (!call)
		return NULL;
	const char *zero = strstr(uri, "%00");
	call->zero = zero && (size_t)(zero - uri) < strcspn(uri, "?");
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	call->conn = info ? info->socket_context : NULL;
	if (call->conn && call->conn->stage == BETWEEN)
		enter(h, call->conn, READING);
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
	enter(h, call->conn, BETWEEN);
	ss_arena_release(&call->arena);
	ss_buf_free(&call->body);
	free(call);
	*state = NULL;
	atomic_fetch_sub(&h->working, 1);
}

/* ---- connections that take their time ---- */

static unsigned max_connections(const struct ss_http *h)
{
	return h->config.max_connections ? h->config.max_connections : 256;
}

/* Let its thread find the connection closed. Under the lock. */
static void end_conn(struct conn *c)
{
	c->ending = true;
	shutdown(c->fd, SHUT_RDWR);
}

/*
 * Full: of those that nobody works for, the one that has been waiting longest gives way. Under the
 * lock.
 */
static void make_way(struct ss_http *h)
{
	struct conn *oldest = NULL;
	for (struct conn *c = h->conns; c; c = c->next)
		if (!c->ending && c->stage != WORKING && (!oldest || c->since_ns < oldest->since_ns))
			oldest = c;
	if (oldest)
		end_conn(oldest);
}

/*
 * A quarter of the connections is for one address at most; on this machine many may stand behind
 * one (ssh, a proxy). Under the lock.
 */
static bool is_one_too_many(const struct ss_http *h, const struct conn *one)
{
	size_t n = 0;
	for (const struct conn *c = h->conns; c && !one->from.local; c = c->next)
		n += ss_net_same(&c->from, &one->from);
	return n > max_connections(h) / 4;
}

static void on_connection(void *arg, struct MHD_Connection *m, void **context, enum MHD_ConnectionNotificationCode code)
{
	struct ss_http *h = arg;
	struct conn *c = *context;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info = MHD_get_connection_info(m, MHD_CONNECTION_INFO_CONNECTION_FD);
		c = info ? calloc(1, sizeof(*c)) : NULL;
		*context = c;
		if (!c)
			return;
		*c = (struct conn){ .fd = info->connect_fd, .since_ns = ss_net_now_ns(), .from = ss_net_from(info->connect_fd) };
		pthread_mutex_lock(&h->lock);
		c->next = h->conns;
		h->conns = c;
		if (++h->nconns > max_connections(h))
			make_way(h);
		if (is_one_too_many(h, c))
			end_conn(c);
		pthread_mutex_unlock(&h->lock);
	} else if (c) {
		pthread_mutex_lock(&h->lock);
		for (struct conn **at = &h->conns; *at; at = &(*at)->next)
			if (*at == c) {
				*at = c->next;
				h->nconns--;
				break;
			}
		pthread_mutex_unlock(&h->lock);
		free(c);
		*context = NULL;
	}
}

/* A request is given so long, from its first byte to its last, however slowly the bytes come. */
static void *watch(void *arg)
{
	struct ss_http *h = arg;
	const int64_t limit_s[] = {
		[READING] = h->config.request_s ? h->config.request_s : 30,
		[WORKING] = INT32_MAX,
		[BETWEEN] = h->config.idle_s ? h->config.idle_s : 60,
	};
	pthread_mutex_lock(&h->lock);
	while (!h->stopping) {
		int64_t now_ns = ss_net_now_ns();
		for (struct conn *c = h->conns; c; c = c->next)
			if (!c->ending && now_ns - c->since_ns >= limit_s[c->stage] * 1000000000)
				end_conn(c);
		ss_cond_wait_until(&h->ends, &h->lock, (now_ns / 1000000000 + 1) * 1000000000);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

static bool start_watch(struct ss_http *h)
{
	pthread_mutex_init(&h->lock, NULL);
	ss_cond_init(&h->ends);
	return pthread_create(&h->watch, NULL, watch, h) == 0;
}

static void stop_watch(struct ss_http *h)
{
	pthread_mutex_lock(&h->lock);
	h->stopping = true;
	pthread_cond_signal(&h->ends);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->watch, NULL);
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
	if (!start_watch(h)) {
		close(fd);
		free_http(h);
		ss_fail(err, SS_EIO, "cannot start the server: no thread");
		return NULL;
	}
	/* Some more than are kept: they come in, and the oldest go. */
	unsigned connections = max_connections(h) + 32;
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
		MHD_OPTION_NOTIFY_COMPLETED, on_end, h, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
		MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	if (h->daemon)
		return h;
	if (config->tls_key && MHD_is_feature_supported(MHD_FEATURE_SSL) != MHD_YES)
		ss_fail(err, SS_EINVAL, "this build of stepscope cannot serve TLS: its libmicrohttpd has none. Use ssh -L or a "
			"proxy, or build stepscope from source");
	else if (config->tls_key)
		ss_fail(err, SS_EIO, "cannot start the server with this certificate and key");
	else
		ss_fail(err, SS_EIO, "cannot start the server: %s", strerror(errno));
	close(fd);
	stop_watch(h);
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
	stop_watch(h);
	MHD_stop_daemon(h->daemon);
	free_http(h);
}
