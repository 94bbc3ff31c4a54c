/* call.c - what routes share: parameters, runs, hosts, replies. */
#include "request/recorded.h"
#include "serve/call.h"

#include "base/assert.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/system.h"
#include "base/vec.h"
#include "serve/gzip.h"
#include "serve/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Answers up to this size are whole: they have a length and may be kept. Larger ones flow. */
#define WHOLE_BYTES ((size_t)8 << 20)
/* Smaller bodies are not worth compressing. */
#define GZIP_FROM_BYTES 1024

struct ss_str ss_call_arg(const struct ss_call *c, const char *name)
{
	struct ss_str v = SS_STR("");
	ss_http_arg(c->req, name, &v);
	return v;
}

bool ss_call_need(const struct ss_call *c, const char *name, struct ss_str *out, struct ss_err *err)
{
	*out = ss_call_arg(c, name);
	return out->n || ss_fail(err, SS_EINVAL, "the parameter '%s' is missing", name);
}

/*
 * session_path or run_path: a directory named by the client, which must lie inside the log
 * directory.
 */
static const struct ss_store *opened_store(struct ss_call *c, struct ss_str path, enum ss_scan what,
					   struct ss_err *err)
{
	struct ss_arena *a = c->req->arena;
	struct ss_str root = c->snapshot->store.root;
	/* A NUL in it would name another path than it shows. */
	if (ss_str_chr(path, '\0') != SS_NPOS) {
		ss_fail(err, SS_EINVAL, "a path cannot hold a zero byte");
		return NULL;
	}
	struct ss_str full = path.p[0] == '/'
				     ? ss_arena_str(a, path)
				     : ss_arena_printf(a, SS_FMT "/" SS_FMT, SS_ARG(root), SS_ARG(path));
	if (!full.p) {
		ss_fail_mem(err);
		return NULL;
	}
	/* Outside and absent look alike: what else this machine holds is nobody's business. */
	if (!ss_store_inside(root, full.p)) {
		ss_fail(err, SS_ENOTFOUND, "'" SS_FMT "' is not a directory of this log directory",
			SS_ARG(path));
		return NULL;
	}
	return ss_store_scan_below(&c->opened, root, full.p, what, err) ? &c->opened : NULL;
}

static bool pin(struct ss_call *c, int64_t max_age_ms, struct ss_err *err)
{
	struct ss_snapshot *s = ss_catalog_get(&c->srv->catalog, max_age_ms, err);
	if (!s)
		return false;
	if (c->snapshot)
		ss_catalog_put(&c->srv->catalog, c->snapshot);
	c->snapshot = s;
	return true;
}

const struct ss_store *ss_call_store(struct ss_call *c, int64_t max_age_ms, struct ss_err *err)
{
	if (c->opened.runs)
		return &c->opened;
	if (!pin(c, max_age_ms, err))
		return NULL;
	struct ss_str path = ss_call_arg(c, "session_path");
	if (path.n)
		return opened_store(c, path, SS_SCAN_RUN, err);
	path = ss_call_arg(c, "run_path");
	return path.n ? opened_store(c, path, SS_SCAN_RUNS, err) : &c->snapshot->store;
}

const struct ss_run *ss_call_find_run(struct ss_call *c, struct ss_str name, struct ss_err *err)
{
	const struct ss_store *s = ss_call_store(c, -1, err);
	const struct ss_run *run = s ? ss_store_run(s, name) : NULL;
	if (!s || s == &c->opened)
		return run;
	if (run && !ss_run_changed(run))
		return run;
	/*
	 * New or changed since the snapshot; but asking for nonsense in a loop does not make us
	 * scan in one.
	 */
	s = ss_call_store(c, run ? 0 : 500, err);
	return s ? ss_store_run(s, name) : NULL;
}

/* "a, b, c ..." of the runs there are. */
static struct ss_str run_names(struct ss_call *c, const struct ss_store *s)
{
	struct ss_str list = SS_STR("");
	for (size_t i = 0; i < s->nruns && i < 5 && list.p; i++)
		list = ss_arena_printf(c->req->arena, SS_FMT "%s" SS_FMT, SS_ARG(list), i ? ", " : "",
				       SS_ARG(s->runs[i].name));
	if (list.p && s->nruns > 5)
		list = ss_arena_printf(c->req->arena, SS_FMT " and %zu more", SS_ARG(list), s->nruns - 5);
	return list.p ? list : SS_STR("");
}

const struct ss_run *ss_call_run(struct ss_call *c, struct ss_err *err)
{
	struct ss_str name;
	if (!ss_call_need(c, "run", &name, err))
		return NULL;
	struct ss_err why = { 0 };
	const struct ss_run *run = ss_call_find_run(c, name, &why);
	if (run)
		return run;
	if (why.code) {
		ss_fail(err, why.code, "%s", why.text);
		return NULL;
	}
	const struct ss_store *s = c->opened.runs ? &c->opened : &c->snapshot->store;
	struct ss_str names = run_names(c, s);
	ss_fail(err, SS_ENOTFOUND, "run '" SS_FMT "' is not in this log directory (it holds: " SS_FMT ")",
		name.n > 200 ? 200 : (int)name.n, name.p, names.n > 250 ? 250 : (int)names.n,
		names.n ? names.p : "nothing");
	return NULL;
}

static const struct ss_run *whole_session(struct ss_call *c, const struct ss_run *run, struct ss_err *err)
{
	const struct ss_run *whole = ss_recorded_run(c->opened.runs ? &c->opened : &c->snapshot->store, run, c->req->arena);
	if (!whole)
		ss_fail_mem(err);
	return whole;
}

const struct ss_run *ss_call_session(struct ss_call *c, struct ss_err *err)
{
	const struct ss_run *run = ss_call_run(c, err);
	return run ? whole_session(c, run, err) : NULL;
}

const struct ss_run *ss_call_find_session(struct ss_call *c, struct ss_str name, struct ss_err *err)
{
	const struct ss_run *run = ss_call_find_run(c, name, err);
	return run ? whole_session(c, run, err) : NULL;
}

/*
 * A host file as it is now, so that an answer is never kept beyond a change of what it was made
 * from.
 */
static const struct ss_host_file *fresh(struct ss_call *c, const struct ss_host_file *f, struct ss_err *err)
{
	struct stat st;
	struct ss_host_file *now = SS_NEW(c->req->arena, struct ss_host_file);
	if (!now) {
		ss_fail_mem(err);
		return NULL;
	}
	if (stat(f->path.p, &st) != 0 || !ss_store_inside(c->snapshot->store.root, f->path.p)) {
		ss_fail(err, SS_ENOTFOUND, "host '" SS_FMT "' was removed from the log directory", SS_ARG(f->name));
		return NULL;
	}
	*now = *f;
	now->bytes = (uint64_t)st.st_size;
	now->mtime_ns = ss_mtime_ns(&st);
	return now;
}

bool ss_call_select(struct ss_call *c, const struct ss_run *run, const struct ss_tool *tool,
		    struct ss_str names, struct ss_selection *out, struct ss_err *err)
{
	/* A tool without a name is none: a route that wants some hosts. */
	if (tool->name[0] && ss_request_lacks_profiles(tool, run))
		return ss_request_refuse_parts(tool, err);
	if (!ss_run_select(run, ss_request_file_kind(tool, run), names, ss_request_combines(tool, run), c->req->arena, out, err))
		return false;
	for (size_t i = 0; i < out->n; i++) {
		out->files[i] = fresh(c, out->files[i], err);
		if (!out->files[i])
			return false;
	}
	return true;
}

struct ss_str *ss_call_hosts(struct ss_call *c, const struct ss_run *run, const char *kind, bool all, bool only_all,
			     size_t *n)
{
	size_t nfiles;
	const struct ss_host_file **files = ss_run_files(run, kind, c->req->arena, &nfiles);
	struct ss_str *list = files ? SS_NEW_N(c->req->arena, struct ss_str, nfiles + 1) : NULL;
	*n = 0;
	if (!list)
		return NULL;
	size_t nhosts = 0;
	for (size_t i = 0; i < nfiles; i++)
		nhosts += !files[i]->duplicate;
	bool several = nhosts > 1, placed = !(several && (all || only_all));
	for (size_t i = 0; i < nfiles && !(several && only_all); i++) {
		/* In the order of bytes, so capitals come first: as XProf has it. */
		if (!placed && ss_str_cmp(SS_STR(SS_ALL_HOSTS), files[i]->name) < 0) {
			list[(*n)++] = SS_STR(SS_ALL_HOSTS);
			placed = true;
		}
		list[(*n)++] = files[i]->name;
	}
	if (!placed)
		list[(*n)++] = SS_STR(SS_ALL_HOSTS);
	return list;
}

/* Replies */

/* Two hashes, the same in every run of the program: what a browser has kept stays good when the server starts anew. */
struct ss_str ss_etag_of(struct ss_arena *a, struct ss_str text)
{
	uint64_t h = 0xcbf29ce484222325u, g = text.n, w;
	size_t i = 0;
	for (; i + 8 <= text.n; i += 8) {
		memcpy(&w, text.p + i, 8);
		g = ss_mix(g ^ w, i);
		h = (h ^ w) * 0x100000001b3u;
		h ^= h >> 32;
	}
	for (; i < text.n; i++) {
		g = ss_mix(g ^ (unsigned char)text.p[i], i);
		h = (h ^ (unsigned char)text.p[i]) * 0x100000001b3u;
	}
	return ss_arena_printf(a, "W/\"%016llx%016llx\"", (unsigned long long)g, (unsigned long long)ss_mix(h, text.n));
}

/* Is the tag among those of If-None-Match? Compared weakly, as the standard wants it. */
static bool has_tag(struct ss_str list, struct ss_str tag)
{
	struct ss_str bare = ss_str_sub(tag, 2, tag.n);
	return tag.n && (ss_str_is(list, "*") || ss_str_contains(list, bare));
}

static bool not_modified(struct ss_call *c, struct ss_str tag)
{
	if (!has_tag(c->req->if_none_match, tag))
		return false;
	c->reply->status = 304;
	c->reply->etag = tag;
	return true;
}

/* The bytes of an answer, as they go out. */
struct body {
	struct ss_str bytes;
	bool gzip;
	struct ss_answer *kept; /* holds the bytes; NULL: they are malloc'ed, and the reply frees them */
};

static void reply_body(struct ss_http_reply *r, struct body b)
{
	r->body = b.bytes;
	r->gzip = b.gzip;
	r->vary = true;
	r->owned = b.kept ? NULL : (void *)(uintptr_t)b.bytes.p;
	r->done = b.kept ? ss_answer_drop : NULL;
	r->read_arg = b.kept;
}

/* A whole answer, malloc'ed: packed if that pays. With a `key` it is kept. */
static void reply_whole(struct ss_call *c, struct ss_str answer, struct ss_str key)
{
	struct body b = { .bytes = answer };
	struct ss_str packed = { NULL, 0 };
	if (c->req->accepts_gzip && answer.n >= GZIP_FROM_BYTES)
		packed = ss_gzip(answer);
	if (packed.p) {
		ss_answers_give_spare(&c->srv->answers, (void *)(uintptr_t)answer.p);
		b.bytes = packed;
		b.gzip = true;
	}
	if (key.n)
		b.kept = ss_answers_keep(&c->srv->answers, key, b.bytes, b.gzip, c->reply->type);
	reply_body(c->reply, b);
}

bool ss_reply_out(struct ss_call *c, unsigned status, const char *type, struct ss_out *o, struct ss_err *err)
{
	if (!ss_out_finish(o, err)) {
		ss_out_free(o);
		return false;
	}
	c->reply->status = status;
	c->reply->type = type;
	struct ss_str body = { o->buf, o->n };
	if (!body.p)
		return true;
	if (status == 200) {
		struct ss_str tag = ss_etag_of(c->req->arena, body);
		if (not_modified(c, tag)) {
			ss_out_free(o);
			return true;
		}
		c->reply->etag = tag;
	}
	reply_whole(c, body, SS_STR(""));
	return true;
}

/* What an answer is made from and by; lives until the reply has gone out. */
struct ss_job {
	struct ss_server_state *srv;
	struct ss_session *session;
	struct ss_spool *spool;
	struct ss_tool_request ask; /* of a tool ... */
	ss_job_fn *make;   /* ... or of a function */
	void *arg;
	struct ss_arena arena;
	/* The bytes sent to the reader, kept when they are complete; type "": not kept. */
	SS_VEC(char) sent;
	struct ss_str key;
	bool gzip;
	char type[SS_ANSWER_TYPE];
};

static bool make(void *arg, struct ss_out *o, struct ss_err *err)
{
	struct ss_job *j = arg;
	bool ok = j->make ? j->make(ss_session_model(j->session), j->arg, &j->arena, o, err)
			  : ss_tool_answer(&j->ask, o, err);
	return ok && ss_session_intact(j->session, err);
}

static void end_job(void *arg)
{
	struct ss_job *j = arg;
	if (!j)
		return;
	bool large = j->spool && ss_spool_flowed(j->spool);
	ss_spool_end(j->spool);
	ss_tool_request_release(&j->ask);
	ss_session_close(j->srv->sessions, j->session);
	ss_arena_release(&j->arena);
	ss_vec_free(&j->sent);
	free(j);
	if (large)
		ss_heap_trim();
}

static struct ss_job *new_job(struct ss_call *c, const struct ss_selection *sel, bool visits, struct ss_err *err)
{
	struct ss_job *j = calloc(1, sizeof(*j));
	if (!j) {
		ss_fail_mem(err);
		return NULL;
	}
	j->srv = c->srv;
	j->session = (visits ? ss_session_open_visiting : ss_session_open)(c->srv->sessions, sel->files, sel->n, err);
	if (j->session)
		return j;
	free(j);
	return NULL;
}

static void keep_no_more(struct ss_job *j)
{
	j->type[0] = '\0';
	ss_vec_free(&j->sent);
}

/* All of it has been sent: it becomes the store's, without what room is left over. */
static void keep_sent(struct ss_job *j)
{
	char *fit = j->sent.n ? realloc(j->sent.v, j->sent.n) : NULL;
	if (fit)
		j->sent.v = fit;
	struct ss_answer *a = ss_answers_keep(&j->srv->answers, j->key, (struct ss_str){ j->sent.v, j->sent.n }, j->gzip,
					      j->type);
	if (a)
		j->sent.v = NULL;
	ss_answer_drop(a);
	keep_no_more(j);
}

/* A large answer that somebody asks for again costs no more than sending it. */
static void remember(struct ss_job *j, const char *p, long n)
{
	if (n < 0) {
		keep_no_more(j);
	} else if (n == 0) {
		keep_sent(j);
	} else if (j->sent.n + (size_t)n > ss_answers_limit(&j->srv->answers) ||
		   !ss_vec_reserve(&j->sent, j->sent.n + (size_t)n)) {
		keep_no_more(j);
	} else {
		memcpy(j->sent.v + j->sent.n, p, (size_t)n);
		j->sent.n += (size_t)n;
	}
}

static long read_job(void *arg, char *buf, size_t n)
{
	struct ss_job *j = arg;
	long got = ss_spool_read(j->spool, buf, n);
	if (j->type[0])
		remember(j, buf, got);
	return got;
}

/* The reply reads what the job makes, and ends the job. */
static void reply_stream(struct ss_call *c, struct ss_job *j)
{
	struct ss_http_reply *r = c->reply;
	size_t n = strlen(r->type);
	ss_assert(j->sent.n == 0 && !j->type[0]);
	j->gzip = c->req->accepts_gzip && ss_spool_gzip(j->spool);
	if (j->key.p && n < sizeof(j->type)) /* else it is sent and not kept */
		memcpy(j->type, r->type, n + 1);
	r->gzip = j->gzip;
	r->vary = true;
	r->read = read_job;
	r->read_arg = j;
	r->done = end_job;
}

/*
 * Start the job and reply with what it makes; `type` NULL: the tool says. The job is ended here or
 * after the reply.
 */
static bool run_job(struct ss_call *c, struct ss_job *j, const char *type, struct ss_str tag, struct ss_str key,
		    struct ss_err *err)
{
	char *answer;
	size_t n;
	ss_assert(!j->spool && tag.p);
	j->key = ss_arena_str(&j->arena, key); /* the arena is the job's from its start on */
	j->spool = ss_spool_start(make, j, WHOLE_BYTES, ss_answers_take_spare(&c->srv->answers), err);
	if (!j->spool || !ss_spool_settle(j->spool, err)) {
		end_job(j);
		return false;
	}
	/* The job's own memory is gone before the reply is sent. */
	c->reply->status = 200;
	c->reply->etag = tag;
	c->reply->type = ss_arena_str(c->req->arena, ss_str_from(type ? type : j->ask.content_type)).p;
	if (!c->reply->type) {
		end_job(j);
		return ss_fail_mem(err);
	}
	if (!ss_spool_take(j->spool, &answer, &n)) {
		reply_stream(c, j);
		return true;
	}
	ss_answers_give_spare(&c->srv->answers, ss_spool_take_room(j->spool));
	end_job(j);
	reply_whole(c, (struct ss_str){ answer, n }, key);
	return true;
}

/* With its length, so that no two lists of strings look alike. */
static void key_str(struct ss_out *o, struct ss_str s)
{
	ss_out_u64(o, s.n);
	ss_out_char(o, ':');
	ss_out_str(o, s);
}

/* The exact state of the files and everything that shapes the answer. */
static bool key_of(struct ss_call *c, const struct ss_selection *sel, struct ss_str what, struct ss_str *key,
		   struct ss_str *tag, struct ss_err *err)
{
	struct ss_out o;
	ss_out_init(&o, NULL, NULL);
	ss_out_u64(&o, c->srv->build);
	key_str(&o, what);
	key_str(&o, sel->name);
	for (size_t i = 0; i < sel->n; i++) {
		key_str(&o, sel->files[i]->path);
		ss_out_u64(&o, sel->files[i]->bytes);
		ss_out_char(&o, '@');
		ss_out_i64(&o, sel->files[i]->mtime_ns);
	}
	bool ok = ss_out_finish(&o, err);
	if (ok) {
		*key = ss_arena_str(c->req->arena, (struct ss_str){ o.buf, o.n });
		*tag = ss_etag_of(c->req->arena, *key);
		ok = (key->p && tag->p) || ss_fail_mem(err);
	}
	ss_out_free(&o);
	return ok;
}

/*
 * The kept answer in the client's encoding; where only the other is kept it is made from that,
 * once.
 */
static struct body recode(struct ss_call *c, struct ss_answer *a, struct ss_str key)
{
	struct body b = { a->body, a->gzip, a };
	struct ss_str other = { NULL, 0 };
	if (a->gzip && !c->req->accepts_gzip)
		other = ss_gunzip(a->body);
	else if (!a->gzip && c->req->accepts_gzip && a->body.n >= GZIP_FROM_BYTES)
		other = ss_gzip(a->body);
	if (!other.p)
		return b;
	b.bytes = other;
	b.gzip = !a->gzip;
	b.kept = ss_answers_keep(&c->srv->answers, key, other, b.gzip, a->type);
	ss_answer_drop(a);
	return b;
}

static bool reply_kept(struct ss_call *c, struct ss_answer *a, struct ss_str tag, struct ss_str key)
{
	struct ss_str type = ss_arena_str(c->req->arena, ss_str_from(a->type));
	if (!type.p) {
		ss_answer_drop(a);
		return false;
	}
	c->reply->status = 200;
	c->reply->type = type.p;
	c->reply->etag = tag;
	reply_body(c->reply, recode(c, a, key));
	return true;
}

/* Answered from what the client or we have kept? */
static bool kept(struct ss_call *c, struct ss_str tag, struct ss_str key)
{
	bool want = c->req->accepts_gzip;
	if (not_modified(c, tag))
		return true;
	struct ss_answer *a = ss_answers_hold(&c->srv->answers, key, want);
	if (!a)
		a = ss_answers_hold(&c->srv->answers, key, !want);
	return a && reply_kept(c, a, tag, key);
}

static bool reply_model(struct ss_call *c, const struct ss_selection *sel, struct ss_str what, const char *type,
			ss_job_fn *fn, const void *arg, size_t arg_bytes, bool visits, struct ss_err *err)
{
	struct ss_str key, tag;
	if (!key_of(c, sel, what, &key, &tag, err))
		return false;
	if (kept(c, tag, key))
		return true;
	struct ss_job *j = new_job(c, sel, visits, err);
	if (!j)
		return false;
	j->make = fn;
	j->arg = ss_arena_alloc(&j->arena, arg_bytes);
	if (!j->arg) {
		end_job(j);
		return ss_fail_mem(err);
	}
	memcpy(j->arg, arg, arg_bytes);
	return run_job(c, j, type, tag, key, err);
}

bool ss_reply_model(struct ss_call *c, const struct ss_selection *sel, struct ss_str what, const char *type, ss_job_fn *fn,
		    const void *arg, size_t arg_bytes, struct ss_err *err)
{
	return reply_model(c, sel, what, type, fn, arg, arg_bytes, false, err);
}

bool ss_reply_visit(struct ss_call *c, const struct ss_selection *sel, struct ss_str what, const char *type, ss_job_fn *fn,
		    const void *arg, size_t arg_bytes, struct ss_err *err)
{
	return reply_model(c, sel, what, type, fn, arg, arg_bytes, true, err);
}

/* The parameters that the tool knows, copied for the job; the first of each name counts. */
static bool take_params(struct ss_call *c, struct ss_job *j, const struct ss_tool *tool, struct ss_err *err)
{
	struct ss_param_value *v = SS_NEW_N(&j->arena, struct ss_param_value, tool->nparams);
	if (!v)
		return ss_fail_mem(err);
	for (size_t i = 0; i < tool->nparams; i++) {
		struct ss_str value;
		if (!ss_http_arg(c->req, tool->params[i].name, &value))
			continue;
		value = ss_arena_str(&j->arena, value);
		if (!value.p)
			return ss_fail_mem(err);
		v[j->ask.nparams++] = (struct ss_param_value){ ss_str_from(tool->params[i].name), value };
	}
	j->ask.params = v;
	return true;
}

/* XProf's clients get the first table as CSV; others may name one, or "all". */
static struct ss_str table_of(struct ss_call *c, enum ss_format format)
{
	return format == SS_FORMAT_CSV ? ss_call_arg(c, "table") : SS_STR("");
}

static bool wants_drawing(struct ss_call *c)
{
	return ss_str_is(ss_call_arg(c, "drawing"), "true");
}

/* A tool, a format and the tool's parameters as one string. */
static struct ss_str tool_key(struct ss_call *c, const struct ss_tool *tool, const struct ss_run *run,
			      enum ss_format format, struct ss_err *err)
{
	struct ss_out o;
	struct ss_str value, key = { NULL, 0 };
	ss_out_init(&o, NULL, NULL);
	key_str(&o, ss_str_from(tool->name));
	ss_out_u64(&o, (uint64_t)format);
	key_str(&o, run->name);
	key_str(&o, table_of(c, format));
	ss_out_u64(&o, wants_drawing(c));
	for (size_t i = 0; i < tool->nparams; i++)
		if (ss_http_arg(c->req, tool->params[i].name, &value)) {
			key_str(&o, ss_str_from(tool->params[i].name));
			key_str(&o, value);
		}
	if (ss_out_finish(&o, err)) {
		key = ss_arena_str(c->req->arena, (struct ss_str){ o.buf, o.n });
		if (!key.p)
			ss_fail_mem(err);
	}
	ss_out_free(&o);
	return key;
}

bool ss_reply_tool(struct ss_call *c, const struct ss_tool *tool, const struct ss_run *run,
		   const struct ss_selection *sel, enum ss_format format, struct ss_err *err)
{
	struct ss_str key, tag, what = tool_key(c, tool, run, format, err);
	if (!what.p || !key_of(c, sel, what, &key, &tag, err))
		return false;
	if (kept(c, tag, key))
		return true;
	struct ss_job *j = new_job(c, sel, tool->flags & SS_TOOL_VISITS, err);
	if (!j)
		return false;
	j->ask = (struct ss_tool_request){ .tool = tool,
					   .model = ss_session_model(j->session),
					   .format = format,
					   .drawing = wants_drawing(c),
					   .most_rows = c->srv->most_rows };
	j->ask.run = ss_arena_str(&j->arena, run->name);
	j->ask.host = ss_arena_str(&j->arena, sel->name);
	j->ask.table = ss_arena_str(&j->arena, table_of(c, format));
	if (!j->ask.run.p || !j->ask.host.p || !j->ask.table.p || !take_params(c, j, tool, err)) {
		end_job(j);
		return ss_fail_mem(err);
	}
	return run_job(c, j, NULL, tag, key, err);
}
