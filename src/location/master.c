/*
 * master.c - grpc://HOST:PORT, or grpcs:// with TLS, a server of ProfileAnalysis (the master of a TPU pod; stepscope serve
 * --grpc): the answers that it gives for one session become the files in which older programs stored such answers, and its
 * trace a file of its own. From these everything is shown as of any other directory.
 */
#include "location/remote.h"

#include "base/write.h"
#include "capture/requests.h"
#include "location/bucket.h"
#include "location/unpack.h"
#include "rpc/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PLAIN "grpc://"
#define SECURE "grpcs://"
#define TOKEN_FILE "STEPSCOPE_GRPC_TOKEN_FILE"
#define TOKEN_BYTES ((size_t)65536)
#define ANSWER_NS INT64_C(600000000000) /* the server may have to read the whole profile first */
#define NAME_BYTES 200

/* The tool's name on that server, and the name of a file with its answer for each form of its bytes. NULL: the form is not read. */
static const struct stored {
	const char *tool, *json, *packed, *proto;
} stored[] = {
	{ "overview_page", "overview_page.json", NULL, "overview_page.pb" },
	{ "input_pipeline_analyzer", "input_pipeline.json", NULL, "input_pipeline.pb" },
	{ "input_pipeline", "input_pipeline.json", NULL, "input_pipeline.pb" },
	{ "op_profile", "op_profile.json", NULL, NULL },
	{ "pod_viewer", "pod_viewer.json", NULL, NULL },
	{ "memory_viewer", "memory_viewer.json", NULL, NULL },
	{ "framework_op_stats", NULL, NULL, "tensorflow_stats.pb" },
	{ "tensorflow_stats", NULL, NULL, "tensorflow_stats.pb" },
	{ "kernel_stats", NULL, NULL, "kernel_stats.pb" },
	{ "memory_profile", "memory_profile.json", "memory_profile.json.gz", NULL },
	{ "tf_data_bottleneck_analysis", "tf_data_bottleneck_analysis.json", "tf_data_bottleneck_analysis.json.gz", NULL },
	{ "trace_viewer", "trace.json", "trace.json.gz", "trace" },
	{ "trace_viewer@", "trace.json", "trace.json.gz", NULL },
};

struct master {
	struct ss_location *p;
	struct ss_peer peer;
	const char *scheme;
	struct ss_tls *tls;		/* NULL: none */
	struct ss_str host;		/* of the address, as files are named */
	struct ss_session session;
	size_t nsessions, nfiles;
	uint32_t asked;			/* bit i: the tool of stored[i] */
	struct ss_buf unread;		/* tools whose answers are not read */
	struct ss_err first;		/* why there is no answer */
};

static bool is_name(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:", s.p[i]) || !s.p[i])
			return false;
	return s.n && s.n < NAME_BYTES && s.p[0] != '.';
}

/* If a log directory contains others, the names have slashes. */
static bool is_run(struct ss_str s)
{
	bool ok = s.n;
	while (ok && s.n) {
		size_t slash = ss_str_chr(s, '/');
		ok = is_name(ss_str_sub(s, 0, slash == SS_NPOS ? s.n : slash)) && slash != s.n - 1;
		s = ss_str_sub(s, slash == SS_NPOS ? s.n : slash + 1, s.n);
	}
	return ok;
}

static struct ss_str last_part(struct ss_str s)
{
	size_t slash = ss_str_rchr(s, '/');
	return slash == SS_NPOS ? s : ss_str_sub(s, slash + 1, s.n);
}

/* Runs are called by their time, whatever stands before it. */
static bool is_newer(struct ss_str a, struct ss_str b)
{
	int order = ss_str_cmp(last_part(a), last_part(b));
	return order ? order > 0 : ss_str_cmp(a, b) > 0;
}

/* The host, as names of files have it. */
static struct ss_str host_of(struct ss_str address, struct ss_arena *a)
{
	struct ss_net_name name;
	struct ss_err why = { 0 };
	struct ss_str target = ss_arena_str(a, address);
	if (!target.p || !ss_net_parse(&name, target.p, &why) || !is_name(ss_str_from(name.host)))
		return SS_STR("");
	struct ss_str host = ss_arena_str(a, ss_str_from(name.host));
	for (size_t i = 0; i < host.n && host.p; i++)
		if (host.p[i] == ':')
			((char *)(uintptr_t)host.p)[i] = '_';
	return host;
}

/* "grpc://HOST:PORT/SESSION", "grpcs://[ADDRESS]:PORT" */
static bool take_address(struct master *m, struct ss_str *session, struct ss_err *err)
{
	struct ss_str rest = ss_str_from(m->p->named);
	m->scheme = ss_str_take(&rest, SS_STR(SECURE)) ? SECURE : PLAIN;
	(void)ss_str_take(&rest, SS_STR(PLAIN));
	size_t slash = ss_str_chr(rest, '/');
	struct ss_str address = ss_str_sub(rest, 0, slash == SS_NPOS ? rest.n : slash);
	*session = ss_str_sub(rest, slash == SS_NPOS ? rest.n : slash + 1, rest.n);
	m->host = host_of(address, &m->p->arena);
	if (m->host.p && (!m->host.n || (session->n && !is_run(*session))))
		return ss_fail(err, SS_EINVAL, "'%.300s' does not name a server: write %sHOST:PORT, or %sHOST:PORT/RUN",
			       m->p->named, m->scheme, m->scheme);
	m->peer = (struct ss_peer){ .target = ss_arena_str(&m->p->arena, address).p, .timeout_ns = ANSWER_NS };
	return (m->peer.target && m->host.p) || ss_fail_mem(err);
}

/* A token goes to others over TLS alone. */
static bool take_token(struct master *m, struct ss_err *err)
{
	struct ss_net_name name;
	const char *path = getenv(TOKEN_FILE);
	if (!path || !*path)
		return true;
	struct ss_str token = ss_small_file(path, TOKEN_BYTES, &m->p->arena);
	if (!token.p)
		return ss_fail_mem(err);
	token = ss_str_sub(token, 0, ss_str_chr(token, '\n'));
	while (token.n && (token.p[token.n - 1] == '\r' || token.p[token.n - 1] == ' '))
		token.n--;
	bool good = token.n;
	for (size_t i = 0; i < token.n; i++)
		good &= token.p[i] > ' ' && token.p[i] <= '~';
	if (!good)
		return ss_fail(err, SS_EIO, "'%.300s', which " TOKEN_FILE " names, holds no token: it must be one line without "
			       "spaces", path);
	if (strcmp(m->scheme, PLAIN) == 0 && ss_net_parse(&name, m->peer.target, err) && !ss_net_is_local(name.host))
		return ss_fail(err, SS_EINVAL, "'%.300s' is not encrypted, and the token in " TOKEN_FILE " would be: write " SECURE
			       "..., or unset it", m->p->named);
	m->peer.token = ss_arena_str(&m->p->arena, token).p;
	return m->peer.token || ss_fail_mem(err);
}

static bool take_tls(struct master *m, struct ss_err *err)
{
	if (strcmp(m->scheme, SECURE) == 0 && !(m->tls = ss_tls_new(&(struct ss_tls_config){ .server = false }, err)))
		return false;
	m->peer.tls = m->tls;
	return true;
}

/* The server's own words have no code. */
static bool fail(struct ss_err *err, const struct master *m, const struct ss_grpc_status *s)
{
	const char *code = s->code == SS_GRPC_UNKNOWN ? "" : ss_grpc_code_name(s->code);
	const char *advice = s->code == SS_GRPC_UNIMPLEMENTED
				     ? ". This port belongs to a program's profiler, which stores no runs: 'stepscope capture' "
				       "takes a profile of it"
			     : s->code == SS_GRPC_UNAUTHENTICATED
				     ? ". " TOKEN_FILE " names a file with the token to send"
				     : "";
	return ss_fail(err, SS_EIO, "'%s' does not answer: %s%s%s%s", m->p->named, code, code[0] ? ": " : "", s->text, advice);
}

/* ---- the session ---- */

/* The one asked for, or the newest: their names are times. The others are counted. */
static bool choose_session(struct master *m, struct ss_str wanted, struct ss_err *err)
{
	struct ss_grpc_status status;
	struct ss_sessions all;
	size_t unsafe = 0;
	m->p->requests++;
	if (!ss_request_sessions(&m->peer, NULL, &m->p->arena, &all, &status))
		return fail(err, m, &status);
	m->nsessions = all.n;
	for (size_t i = 0; i < all.n; i++) {
		struct ss_str id = all.v[i].id;
		bool fits = wanted.n ? ss_str_eq(id, wanted) : !m->session.id.n || is_newer(id, m->session.id);
		unsafe += !is_run(id);
		if (fits && is_run(id))
			m->session = all.v[i];
	}
	if (m->session.id.n)
		return true;
	if (wanted.n)
		return ss_fail(err, SS_ENOTFOUND, "there is no run '" SS_FMT "' in '%s%s': 'stepscope remote %s%s' lists them",
			       SS_ARG(wanted), m->scheme, m->peer.target, m->tls ? "--tls " : "", m->peer.target);
	return ss_fail(err, SS_ENODATA, "'%s' has no run%s", m->p->named,
		       unsafe ? " with a name that is valid for a directory" : "");
}

/* ---- its answers ---- */

static const struct stored *find_tool(struct ss_str tool)
{
	for (size_t i = 0; i < SS_COUNT(stored); i++)
		if (ss_str_is(tool, stored[i].tool))
			return &stored[i];
	return NULL;
}

/* NULL: it has a form that is not read. */
static const char *file_of(const struct stored *t, struct ss_str bytes)
{
	if (ss_str_starts(bytes, SS_STR("\x1f\x8b")))
		return t->packed;
	if (!bytes.n || (bytes.p[0] != '{' && bytes.p[0] != '['))
		return t->proto;
	/* The older one has the program itself, which the newer has looked at already. */
	bool program = ss_str_contains(bytes, SS_STR("\"hloModule\"")) || ss_str_contains(bytes, SS_STR("\"hlo_module\""));
	return strcmp(t->tool, "memory_viewer") == 0 && !program ? NULL : t->json;
}

static bool write_answer(struct master *m, const char *suffix, struct ss_str bytes, struct ss_err *err)
{
	struct ss_str run = last_part(m->session.id);
	struct ss_str above = ss_str_sub(m->session.id, 0, m->session.id.n - run.n);
	struct ss_str path = ss_arena_printf(&m->p->arena, "%s/" SS_FMT "plugins/profile/" SS_FMT "/" SS_FMT ".%s", m->p->path,
					     SS_ARG(above), SS_ARG(run), SS_ARG(m->host), suffix);
	if (!path.p)
		return ss_fail_mem(err);
	bool made = ss_make_dirs_above((char *)(uintptr_t)path.p, NULL);
	int fd = made ? open(path.p, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
	bool ok = fd >= 0 && ss_write_all(fd, bytes.p, bytes.n);
	ok = fd >= 0 && close(fd) == 0 && ok;
	m->nfiles += ok;
	m->p->fetched_bytes += bytes.n;
	return ok || (fd < 0 && errno == EEXIST) ||	/* a tool of two names */
	       ss_fail(err, SS_EIO, "cannot write '" SS_FMT "': %s. $TMPDIR sets another place", SS_ARG(path), strerror(errno));
}

static bool leave_out(struct master *m, struct ss_str tool)
{
	ss_buf_printf(&m->unread, "%s" SS_FMT, m->unread.n ? ", " : "", SS_ARG(ss_str_sub(tool, 0, NAME_BYTES)));
	return true;
}

/* What else the server has. */
static bool say_left_out(struct master *m, struct ss_err *err)
{
	struct ss_arena *a = &m->p->arena;
	struct ss_str runs = SS_STR(""), tools = SS_STR("");
	if (m->nsessions > 1)
		runs = ss_arena_printf(a, "; run '" SS_FMT "' of %zu, another is %s%s/RUN", SS_ARG(m->session.id),
				       m->nsessions, m->scheme, m->peer.target);
	if (m->unread.n)
		tools = ss_arena_printf(a, "; not read: " SS_FMT " ('stepscope remote' prints them)",
					SS_ARG(ss_buf_get(&m->unread)));
	struct ss_str both = runs.p && tools.p ? ss_arena_printf(a, SS_FMT SS_FMT, SS_ARG(runs), SS_ARG(tools)) : tools;
	m->p->left_out = both.p;
	return (both.p && !m->unread.no_memory) || ss_fail_mem(err);
}

static bool ask_tool(struct master *m, struct ss_str name, struct ss_err *err)
{
	static const char *const every_event[] = { "resolution=0" };
	const struct stored *t = find_tool(name);
	struct ss_tool_question q = { .session = m->session.id.p, .tool = ss_arena_str(&m->p->arena, name).p };
	struct ss_grpc_status status;
	struct ss_buf out = { 0 };
	char format[64];
	if (!q.tool)
		return ss_fail_mem(err);
	if (!t)
		return leave_out(m, name);
	/* The server says what it has, and may say it any number of times. */
	if (m->asked >> (t - stored) & 1)
		return true;
	m->asked |= 1u << (t - stored);
	if (ss_str_is(name, "trace_viewer@")) {
		q.params = every_event;
		q.nparams = 1;
	}
	m->p->requests++;
	bool ok = true;
	if (!ss_request_tool_data(&m->peer, &q, &out, format, &status)) {
		if (!m->first.code)
			fail(&m->first, m, &status);
		struct ss_str why = ss_arena_printf(&m->p->arena, "was not answered: %s", status.text);
		ok = (why.p && ss_location_note(m->p, m->p->named, name, why.p)) || ss_fail_mem(err);
	} else {
		const char *suffix = file_of(t, ss_buf_get(&out));
		ok = suffix ? write_answer(m, suffix, ss_buf_get(&out), err) : leave_out(m, name);
	}
	ss_buf_free(&out);
	return ok;
}

static bool ask_session(struct master *m, struct ss_err *err)
{
	struct ss_location *p = m->p;
	struct ss_str rest;
	struct ss_str dir = ss_arena_printf(&p->arena, "%s/" SS_FMT, p->scratch.path, SS_ARG(m->host));
	if (!dir.p)
		return ss_fail_mem(err);
	p->path = dir.p;
	for (rest = m->session.tools; rest.n;) {
		size_t end = ss_str_find(rest, SS_STR(", "));
		struct ss_str tool = ss_str_sub(rest, 0, end == SS_NPOS ? rest.n : end);
		rest = ss_str_sub(rest, end == SS_NPOS ? rest.n : end + 2, rest.n);
		if (tool.n && !ask_tool(m, tool, err))
			return false;
	}
	if (m->nfiles)
		return say_left_out(m, err);
	return m->first.code ? ss_fail(err, m->first.code, "%s", m->first.text)
			     : ss_fail(err, SS_ENODATA, "'%s' has no answer for run '" SS_FMT "' that can be read", p->named,
				       SS_ARG(m->session.id));
}

/* OpenSSL writes to sockets in its own way, and a connection that breaks must not end the program. */
static void quietly(sigset_t *before, bool begins)
{
	sigset_t broken, pending;
	int number;
	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	if (begins) {
		pthread_sigmask(SIG_BLOCK, &broken, before);
		return;
	}
	if (!sigismember(before, SIGPIPE) && sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE))
		sigwait(&broken, &number);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

bool ss_location_ask(struct ss_location *p, struct ss_err *err)
{
	struct master m = { .p = p };
	struct ss_str wanted;
	sigset_t before;
	quietly(&before, true);
	bool ok = take_address(&m, &wanted, err) && take_token(&m, err) && take_tls(&m, err) && choose_session(&m, wanted, err) &&
		  ss_scratch_open(&p->scratch, err) && ask_session(&m, err);
	quietly(&before, false);
	ss_tls_free(m.tls);
	ss_buf_free(&m.unread);
	return ok;
}
