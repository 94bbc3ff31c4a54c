/*
 * call.h - a request in progress, for the files that answer routes. Internal to this folder.
 */
#ifndef SS_SERVE_CALL_H
#define SS_SERVE_CALL_H

#include "base/buf.h"
#include "emit/out.h"
#include "request/request.h"
#include "rpc/http.h"
#include "serve/answers.h"
#include "serve/catalog.h"
#include "serve/session.h"
#include "serve/turns.h"

#include <stdatomic.h>

struct ss_server_state {
	struct ss_catalog catalog;
	struct ss_sessions *sessions;
	struct ss_answers answers;
	struct ss_turns sql_turns, diff_turns;
	size_t most_rows;	/* of a table in JSON; 0: all */
	uint64_t build;		/* differs between binaries: part of every ETag */
	const char *src_prefix;
	const char *history;	/* a database of `stepscope track`, or NULL */
	const char *allow_host;	/* a further host name of this server; "*": any */
	bool guarded;		/* requests need a token */
	bool loopback;
	atomic_bool warming;	/* warm.h */
	bool capture_by_get;	/* any client may capture by GET; else only pages of this server */
	const char *capture_dir; /* where profiles may be written that are taken for a client; NULL: nowhere */
	atomic_bool capturing;	/* one at a time */
	int stop[2];		/* a pipe: readable when a profile that is being taken is to end now; -1 without capture_dir */
};

/*
 * One profile at a time: false while another is being taken. ss_capture_over ends what this has
 * begun.
 */
bool ss_capture_begin(struct ss_server_state *srv);
void ss_capture_over(struct ss_server_state *srv);
/* Cancel the profile that is being taken; nothing of it is kept. */
void ss_capture_cancel(struct ss_server_state *srv);

/* A form on another site can make a browser send a POST, but cannot hide its origin. */
bool ss_origin_is_ours(const struct ss_http_req *req);
/*
 * Could a page of another site have made the browser send this, for example by a form or an image?
 */
bool ss_from_elsewhere(const struct ss_http_req *req);

struct ss_call {
	struct ss_server_state *srv;
	const struct ss_http_req *req;
	struct ss_http_reply *reply;
	struct ss_snapshot *snapshot;	/* pinned, or NULL */
	struct ss_store opened;		/* of session_path or run_path; runs is NULL without */
	struct ss_str rest;		/* of the path, for routes that end in "*" */
};

/* Fill in the reply, or fail: then the error becomes the reply. */
typedef bool ss_route_fn(struct ss_call *c, struct ss_err *err);

enum ss_route_methods { SS_ROUTE_GET = 1, SS_ROUTE_POST = 2 };

#define ROUTE(path, methods, fn) ss_route_fn fn;
#include "serve/routes.def"
#undef ROUTE

/* A parameter, "" when absent. */
struct ss_str ss_call_arg(const struct ss_call *c, const char *name);
/* The same; SS_EINVAL when it is absent or empty. */
bool ss_call_need(const struct ss_call *c, const char *name, struct ss_str *out, struct ss_err *err);
/*
 * Runs to choose from: those of the log directory, no older than `max_age_ms`, or what session_path
 * or run_path name. NULL on failure.
 */
const struct ss_store *ss_call_store(struct ss_call *c, int64_t max_age_ms, struct ss_err *err);
/* The run of this name as it is now; NULL without a failure when there is none. */
const struct ss_run *ss_call_find_run(struct ss_call *c, struct ss_str name, struct ss_err *err);
/* The run asked for; SS_ENOTFOUND when there is none. */
const struct ss_run *ss_call_run(struct ss_call *c, struct ss_err *err);

/* The same with all hosts of its recording: store/session.h. What XProf's clients ask for is a run alone. */
const struct ss_run *ss_call_session(struct ss_call *c, struct ss_err *err);
const struct ss_run *ss_call_find_session(struct ss_call *c, struct ss_str name, struct ss_err *err);

/* The hosts asked for, as their files are now; see ss_run_select. "" chooses for the tool. */
bool ss_call_select(struct ss_call *c, const struct ss_run *run, const struct ss_tool *tool, struct ss_str names,
		    struct ss_selection *out, struct ss_err *err);
/*
 * The hosts of a run that may be asked for with this tool, ALL_HOSTS included; *n of them, in the
 * request's arena.
 */
struct ss_str *ss_call_hosts(struct ss_call *c, const struct ss_run *run, const char *kind, bool all, bool only_all,
			     size_t *n);

/* The ETag of a text, or of what the text describes. p is NULL when memory is out. */
struct ss_str ss_etag_of(struct ss_arena *a, struct ss_str text);
/* The whole body of a reply, whatever its source; the reply is released. False: the body is incomplete. */
bool ss_reply_read(struct ss_http_reply *r, struct ss_buf *body);
/* Replies. `o` is finished and freed. */
bool ss_reply_out(struct ss_call *c, unsigned status, const char *type, struct ss_out *o, struct ss_err *err);
/* A tool's answer, cached or computed now; `format` is one of those for HTTP. */
bool ss_reply_tool(struct ss_call *c, const struct ss_tool *tool, const struct ss_run *run, const struct ss_selection *sel,
		   enum ss_format format, struct ss_err *err);

/*
 * An answer that is made of a model by a function of ours: `key` names it among all answers of
 * these hosts. `make` is called with `arg` in another thread and may outlive the call: the argument
 * must lie in memory that ss_job_arg gave.
 */
struct ss_job;
typedef bool ss_job_fn(struct ss_model *m, void *arg, struct ss_arena *arena, struct ss_out *o, struct ss_err *err);
bool ss_reply_model(struct ss_call *c, const struct ss_selection *sel, struct ss_str key, const char *type, ss_job_fn *make,
		    const void *arg, size_t arg_bytes, struct ss_err *err);
/* The same for a function that also works with a model that visits its hosts. */
bool ss_reply_visit(struct ss_call *c, const struct ss_selection *sel, struct ss_str key, const char *type, ss_job_fn *make,
		    const void *arg, size_t arg_bytes, struct ss_err *err);

#endif
