/* grpc_server.c - the server's connections, and the loop that serves them. */
#include "rpc/grpc_calls.h"

#include "base/system.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define GREET_S 10	/* for TLS and the first SETTINGS */
#define MOST_OF_ADDRESS 16

/* ---- connections ---- */

static void free_conn(struct ss_rpc_conn *c)
{
	while (c->calls)
		ss_rpc_leave_call(c->calls);
	ss_h2_close(&c->h2);
	free(c);
}

static void name_peer(struct ss_rpc_conn *c, int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage room;
	} a;
	socklen_t n = sizeof(a);
	char text[INET6_ADDRSTRLEN] = "";
	snprintf(c->peer, sizeof(c->peer), "a local socket");
	c->from = ss_net_from(fd);
	if (getpeername(fd, &a.any, &n) != 0)
		return;
	if (a.any.sa_family == AF_INET && inet_ntop(AF_INET, &a.v4.sin_addr, text, sizeof(text)))
		snprintf(c->peer, sizeof(c->peer), "%s:%u", text, ntohs(a.v4.sin_port));
	else if (a.any.sa_family == AF_INET6 && inet_ntop(AF_INET6, &a.v6.sin6_addr, text, sizeof(text)))
		snprintf(c->peer, sizeof(c->peer), "[%s]:%u", text, ntohs(a.v6.sin6_port));
}

static size_t max_conns(const struct ss_grpc_server *s)
{
	return s->config.max_connections ? s->config.max_connections : 64;
}

/* Has its address as many connections as it may? */
static bool too_many(const struct ss_grpc_server *s, const struct ss_rpc_conn *c)
{
	unsigned n = 0, most = s->config.max_of_address ? s->config.max_of_address : MOST_OF_ADDRESS;
	if (!c->from.known || (c->from.local && !s->config.max_of_address))
		return false;
	for (size_t i = 0; i < s->nconns; i++)
		n += ss_net_same(&s->conns[i]->from, &c->from);
	return n >= most;
}

/*
 * Since when it has waited for its peer; SS_NEVER_NS while a call is in work or its answer leaves.
 */
static int64_t waits_since(const struct ss_rpc_conn *c)
{
	int64_t since_ns = c->calls ? SS_NEVER_NS : c->since_ns;
	for (const struct ss_rpc_call *call = c->calls; call; call = call->next) {
		if (call->stage != SS_RPC_RECEIVING)
			return SS_NEVER_NS;
		since_ns = call->begun_ns < since_ns ? call->begun_ns : since_ns;
	}
	return since_ns;
}

/* The connection that gives way when another one comes; nconns: none. */
static size_t longest_waiting(const struct ss_grpc_server *s)
{
	size_t found = s->nconns;
	int64_t since_ns = SS_NEVER_NS;
	for (size_t i = 0; i < s->nconns; i++) {
		int64_t at_ns = waits_since(s->conns[i]);
		if (at_ns < since_ns) {
			since_ns = at_ns;
			found = i;
		}
	}
	return found;
}

static bool has_room(const struct ss_grpc_server *s)
{
	return s->nconns < max_conns(s) || longest_waiting(s) < s->nconns;
}

/* Where the server is full, the connection that has waited longest gives way. */
static bool make_room(struct ss_grpc_server *s)
{
	if (s->nconns < max_conns(s))
		return true;
	size_t i = longest_waiting(s);
	if (i == s->nconns)
		return false;
	free_conn(s->conns[i]);
	s->conns[i] = s->conns[--s->nconns];
	return true;
}

/* A connected socket becomes a connection, or is closed. */
static void add_conn(struct ss_grpc_server *s, int fd)
{
	struct ss_err err = { 0 };
	struct ss_rpc_conn *c = calloc(1, sizeof(*c));
	if (c)
		name_peer(c, fd);
	if (!c || too_many(s, c) || !ss_net_nonblocking(fd) || !make_room(s)) {
		free(c);
		close(fd);
		return;
	}
	c->server = s;
	c->since_ns = ss_net_now_ns();
	ss_net_tune(fd);
	if (ss_h2_open(&c->h2, fd, s->config.tls, NULL, &err) && ss_rpc_new_session(c, &err))
		s->conns[s->nconns++] = c;
	else
		free_conn(c);
}

static void accept_some(struct ss_grpc_server *s)
{
	for (int i = 0; i < 16 && has_room(s); i++) {
		int fd = ss_accept(s->listener);
		if (fd < 0)
			return;
		add_conn(s, fd);
	}
}

static int64_t idle_limit_ns(const struct ss_rpc_conn *c)
{
	const struct ss_grpc_server_config *config = &c->server->config;
	unsigned idle_s = config->idle_s ? config->idle_s : 600;
	return (int64_t)(c->settled ? idle_s : GREET_S) * 1000000000;
}

/*
 * Does a call of this connection wait for the other side: for the rest of a request, or to be read?
 */
static bool waits_for_peer(const struct ss_rpc_conn *c)
{
	for (const struct ss_rpc_call *call = c->calls; call; call = call->next)
		if (call->stage != SS_RPC_WORKING)
			return true;
	return false;
}

/* Deadlines of calls, connections that say nothing. */
static void check_conn(struct ss_rpc_conn *c, int64_t now_ns)
{
	unsigned request_s = c->server->config.request_s ? c->server->config.request_s : 60;
	unsigned stall_s = c->server->config.stall_s ? c->server->config.stall_s : 60;
	int64_t last_ns = c->h2.heard_ns > c->h2.sent_ns ? c->h2.heard_ns : c->h2.sent_ns;
	if (!c->calls && now_ns - c->since_ns >= idle_limit_ns(c))
		nghttp2_session_terminate_session(c->h2.session, NGHTTP2_NO_ERROR);
	/* Nor is a word of goodbye waited for. */
	if ((!c->calls && now_ns - c->since_ns >= idle_limit_ns(c) + (int64_t)GREET_S * 1000000000) ||
	    (!c->settled && !c->calls && now_ns - c->since_ns >= idle_limit_ns(c)) ||
	    (waits_for_peer(c) && now_ns - last_ns >= (int64_t)stall_s * 1000000000))
		c->h2.over = true;
	for (struct ss_rpc_call *call = c->calls, *next; call; call = next) {
		next = call->next;
		if (call->stage == SS_RPC_RECEIVING && !call->refused &&
		    now_ns - call->begun_ns >= (int64_t)request_s * 1000000000) {
			ss_rpc_refuse(call, SS_GRPC_DEADLINE_EXCEEDED, "the request did not end in time");
			continue;
		}
		if (now_ns < call->asked.deadline_ns || call->refused || call->stage == SS_RPC_SENDING)
			continue;
		if (call->stage == SS_RPC_RECEIVING)
			ss_rpc_refuse(call, SS_GRPC_DEADLINE_EXCEEDED, "the deadline has passed");
		else
			ss_rpc_give_up(call);
	}
}

static int64_t next_moment(const struct ss_grpc_server *s, int64_t now_ns)
{
	/* Connections are looked after each second, deadlines in time. */
	int64_t at = s->nconns ? now_ns + 1000000000 : SS_NEVER_NS;
	for (size_t i = 0; i < s->nconns; i++) {
		if (s->conns[i]->h2.backlog)
			return now_ns;
		for (const struct ss_rpc_call *call = s->conns[i]->calls; call; call = call->next)
			if (call->stage != SS_RPC_SENDING && !call->refused && call->asked.deadline_ns < at)
				at = call->asked.deadline_ns;
	}
	return at;
}

/* ---- the loop ---- */

/* Orders from outside, and calls whose handlers have returned. */
static enum ss_rpc_order take_orders(struct ss_grpc_server *s)
{
	char drop[64];
	int fds[16];
	while (read(s->wake[0], drop, sizeof(drop)) > 0)
		;
	pthread_mutex_lock(&s->lock);
	struct ss_rpc_call *done = s->done;
	size_t nfds = s->nadopted;
	enum ss_rpc_order order = s->order;
	memcpy(fds, s->adopted, nfds * sizeof(*fds));
	s->done = NULL;
	s->nadopted = 0;
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < nfds; i++)
		add_conn(s, fds[i]);
	for (struct ss_rpc_call *call = done, *next; call; call = next) {
		next = call->next_done;
		if (!call->conn)
			ss_rpc_free_call(call);
		else if (call->refused)
			call->stage = SS_RPC_SENDING;
		else
			ss_rpc_send_answer(call);
	}
	return order;
}

/* Say goodbye to those who are connected; calls in work go on. */
static void say_goodbye(struct ss_grpc_server *s)
{
	if (s->listener >= 0)
		close(s->listener);
	s->listener = -1;
	for (size_t i = 0; i < s->nconns; i++) {
		struct ss_rpc_conn *c = s->conns[i];
		int32_t last = nghttp2_session_get_last_proc_stream_id(c->h2.session);
		if (!c->leaving)
			nghttp2_submit_goaway(c->h2.session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
		c->leaving = true;
	}
}

static void wait_for(struct ss_grpc_server *s)
{
	int64_t now_ns = ss_net_now_ns(), left_ms = (next_moment(s, now_ns) - now_ns) / SS_NS_PER_MS + 1;
	s->fds[0] = (struct pollfd){ .fd = s->wake[0], .events = POLLIN };
	/* Where every connection has a call in work, others wait in the queue of the system. */
	s->fds[1] = (struct pollfd){ .fd = !has_room(s) ? -1 : s->listener, .events = POLLIN };
	for (size_t i = 0; i < s->nconns; i++)
		s->fds[2 + i] = (struct pollfd){ .fd = s->conns[i]->h2.link.fd, .events = ss_h2_events(&s->conns[i]->h2) };
	int ms = now_ns >= next_moment(s, now_ns) ? 0 : left_ms > 3600000 ? 3600000 : (int)left_ms;
	if (poll(s->fds, 2 + (nfds_t)s->nconns, ms) < 0)
		for (size_t i = 0; i < s->nconns + 2; i++)
			s->fds[i].revents = 0;
}

static void serve_conns(struct ss_grpc_server *s)
{
	int64_t now_ns = ss_net_now_ns();
	for (size_t i = 0; i < s->nconns; i++) {
		struct ss_rpc_conn *c = s->conns[i];
		if (s->fds[2 + i].revents || ss_h2_busy(&c->h2))
			ss_h2_pump(&c->h2);
		if (!c->h2.over)
			check_conn(c, now_ns);
		if (!c->h2.over && ss_h2_busy(&c->h2))
			ss_h2_pump(&c->h2);
	}
	size_t kept = 0;
	for (size_t i = 0; i < s->nconns; i++) {
		struct ss_rpc_conn *c = s->conns[i];
		if (c->h2.over || (c->leaving && !c->calls && !ss_h2_busy(&c->h2)))
			free_conn(c);
		else
			s->conns[kept++] = c;
	}
	s->nconns = kept;
}

static void *loop(void *arg)
{
	struct ss_grpc_server *s = arg;
	for (;;) {
		wait_for(s);
		serve_conns(s);
		enum ss_rpc_order now = take_orders(s);
		if (now != SS_RPC_RUN)
			say_goodbye(s);
		else if (s->fds[1].revents)
			accept_some(s);
		for (size_t i = 0; i < s->nconns; i++)
			if (ss_h2_busy(&s->conns[i]->h2) && !s->conns[i]->h2.over)
				ss_h2_pump(&s->conns[i]->h2);
		if (now == SS_RPC_END || (now == SS_RPC_DRAIN && !s->nconns))
			break;
	}
	while (s->nconns)
		free_conn(s->conns[--s->nconns]);
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- its life ---- */

static void free_server(struct ss_grpc_server *s)
{
	if (s->listener >= 0)
		close(s->listener);
	for (int i = 0; i < 2; i++)
		if (s->wake[i] >= 0)
			close(s->wake[i]);
	for (size_t i = 0; i < s->nadopted; i++)
		close(s->adopted[i]);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s->conns);
	free(s->fds);
	free(s->token);
	free(s);
}

static bool start_loop(struct ss_grpc_server *s, struct ss_err *err)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int rc = pthread_create(&s->thread, NULL, loop, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc == 0 || ss_fail(err, SS_EIO, "cannot start the server's thread: %s", strerror(rc));
}

struct ss_grpc_server *ss_grpc_server_start(const struct ss_grpc_server_config *config, struct ss_err *err)
{
	struct ss_grpc_server *s = calloc(1, sizeof(*s));
	if (!s) {
		ss_fail_mem(err);
		return NULL;
	}
	s->config = *config;
	s->listener = s->wake[0] = s->wake[1] = -1;
	pthread_mutex_init(&s->lock, NULL);
	ss_cond_init(&s->changed);
	s->conns = calloc(max_conns(s), sizeof(struct ss_rpc_conn *));
	s->fds = calloc(max_conns(s) + 2, sizeof(*s->fds));
	s->token = config->token ? strdup(config->token) : NULL;
	bool ok = (s->conns && s->fds && (s->token || !config->token)) || ss_fail_mem(err);
	ok = ok && (ss_pipe_open(s->wake) || ss_fail(err, SS_EIO, "pipe: %s", strerror(errno)));
	if (ok) {
		s->listener = ss_net_listen(config->bind ? config->bind : "127.0.0.1", config->port, &s->loopback, err);
		ok = s->listener >= 0 && (ss_net_nonblocking(s->listener) || ss_fail(err, SS_EIO, "%s", strerror(errno)));
		s->port = ok ? ss_net_port(s->listener) : 0;
	}
	if (ok && start_loop(s, err))
		return s;
	free_server(s);
	return NULL;
}

uint16_t ss_grpc_server_port(const struct ss_grpc_server *s)
{
	return s->port;
}

bool ss_grpc_server_loopback(const struct ss_grpc_server *s)
{
	return s->loopback;
}

bool ss_grpc_server_adopt(struct ss_grpc_server *s, int fd)
{
	pthread_mutex_lock(&s->lock);
	bool room = s->nadopted < SS_COUNT(s->adopted) && s->order == SS_RPC_RUN;
	if (room)
		s->adopted[s->nadopted++] = fd;
	pthread_mutex_unlock(&s->lock);
	if (!room)
		close(fd);
	ss_rpc_wake(s);
	return room;
}

static void give_order(struct ss_grpc_server *s, enum ss_rpc_order what)
{
	pthread_mutex_lock(&s->lock);
	s->order = what;
	pthread_mutex_unlock(&s->lock);
	ss_rpc_wake(s);
}

/* Wait for the loop's end, at most until then. */
static void wait_ended(struct ss_grpc_server *s, int64_t until_ns)
{
	pthread_mutex_lock(&s->lock);
	while (!s->ended && ss_net_now_ns() < until_ns)
		ss_cond_wait_until(&s->changed, &s->lock, until_ns);
	pthread_mutex_unlock(&s->lock);
}

void ss_grpc_server_stop(struct ss_grpc_server *s, unsigned grace_ms)
{
	if (!s)
		return;
	/* Drained, the loop ends by itself when the last answer has left. */
	give_order(s, SS_RPC_DRAIN);
	wait_ended(s, ss_net_now_ns() + grace_ms * SS_NS_PER_MS);
	give_order(s, SS_RPC_END);
	pthread_join(s->thread, NULL);
	pthread_mutex_lock(&s->lock);
	while (s->working)
		pthread_cond_wait(&s->changed, &s->lock);
	struct ss_rpc_call *done = s->done;
	pthread_mutex_unlock(&s->lock);
	for (struct ss_rpc_call *next; done; done = next) {
		next = done->next_done;
		ss_rpc_free_call(done);
	}
	free_server(s);
}
