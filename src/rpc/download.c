/* download.c - threads that each ask for one range after the other. */
#include "rpc/download.h"

#include "base/system.h"
#include "rpc/curl.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RANGE_BYTES ((uint64_t)8 << 20)
#define AT_ONCE 4
#define MOST_TRIES 3			/* without so many bytes: */
#define PROGRESS_BYTES 65536
#define MOST_REDIRECTIONS 5
#define CONNECT_S 20L
#define QUIET_S 30		/* without a byte */
#define MOST_QUIET_S 3600
#define NO_LENGTH UINT64_MAX

/* One answer. */
struct answer {
	unsigned status;
	uint64_t first, last, total;	/* Content-Range, of 206 */
	uint64_t length;		/* Content-Length */
	char etag[SS_VALIDATOR_BYTES], modified[SS_VALIDATOR_BYTES];
	bool no_store;
	char *moved;			/* where a redirection leads, to be freed */
	char refusal[SS_AUTH_REFUSAL_BYTES]; /* how the body of another status begins */
	size_t refusal_bytes;
	char region[SS_REGION_BYTES];	/* x-amz-bucket-region */
};

struct ss_connection {
	struct ss_curl lib;
	void *handle;
};

struct download {
	struct ss_curl lib;
	const struct ss_auth *auth;	/* or NULL */
	uint64_t most;			/* bytes of the begin that are wanted */
	const char *url;		/* where redirections ended */
	char shown[400];
	int fd;
	struct answer begin;		/* the first answer: all others must be of the same file */
	uint64_t total;
	long quiet_s;
	_Atomic uint64_t next;		/* the next range that nobody asks for */
	_Atomic unsigned requests;
	pthread_mutex_t lock;		/* of `err` */
	struct ss_err err;
	_Atomic bool failed;
};

/* A request in work. */
struct request {
	struct download *d;
	struct answer answer;
	uint64_t at, end;		/* the bytes that are asked for; `at` moves on with what comes */
	uint64_t stop;			/* where those end that the answer says it has */
	bool whole;			/* the file itself, not a range of it */
	bool checked;			/* its headers were looked at */
	bool misses;			/* the answer is not what was asked for */
	int error;			/* errno of a write */
	char said[256];			/* what libcurl says of a failure: as many as its manual asks for */
};

/* ---- addresses ---- */

/* "https" and "host:port" of a URL. */
static struct ss_str origin(struct ss_str url)
{
	size_t scheme = ss_str_find(url, SS_STR("://"));
	if (scheme == SS_NPOS)
		return (struct ss_str){ url.p, 0 };
	size_t n = scheme + 3;
	while (n < url.n && url.p[n] != '/' && url.p[n] != '?' && url.p[n] != '#')
		n++;
	return ss_str_sub(url, 0, n);
}

void ss_address_shown(struct ss_str url, char *shown, size_t bytes)
{
	struct ss_str begin = origin(url);
	size_t at = ss_str_rchr(begin, '@'), scheme = ss_str_find(begin, SS_STR("://"));
	size_t n = begin.n;
	while (n < url.n && url.p[n] != '?' && url.p[n] != '#')
		n++;
	struct ss_str head = ss_str_sub(url, 0, at == SS_NPOS ? begin.n : scheme + 3);
	struct ss_str host = ss_str_sub(begin, at == SS_NPOS ? begin.n : at + 1, begin.n), path = ss_str_sub(url, begin.n, n);
	snprintf(shown, bytes, SS_FMT SS_FMT SS_FMT, SS_ARG(head), SS_ARG(host), SS_ARG(path));
}

/* By its text alone: a name that others give to this machine is none. */
static bool is_this_machine(struct ss_str begin)
{
	static const struct ss_str hosts[] = { SS_STR_INIT("http://localhost"), SS_STR_INIT("http://127.0.0.1"),
		SS_STR_INIT("http://[::1]") };
	for (size_t i = 0; i < SS_COUNT(hosts); i++)
		if (ss_str_eq(begin, hosts[i]) || (ss_str_starts(begin, hosts[i]) && begin.p[hosts[i].n] == ':'))
			return true;
	return false;
}

bool ss_address_allowed(struct ss_str url, struct ss_err *err)
{
	char shown[300];
	struct ss_str begin = origin(url);
	ss_address_shown(url, shown, sizeof(shown));
	if (ss_str_chr(begin, '@') != SS_NPOS)
		return ss_fail(err, SS_EINVAL, "'%s' contains a name or a password, which stepscope does not send: download "
		    "it, and open the file", shown);
	for (size_t i = 0; i < url.n; i++)
		if ((unsigned char)url.p[i] <= ' ' || url.p[i] == 0x7f)
			return ss_fail(err, SS_EINVAL, "'%s' is not an address: it has blanks or control characters", shown);
	if (ss_str_starts(url, SS_STR("https://")) && begin.n > 8)
		return true;
	if (ss_str_starts(url, SS_STR("http://")) && is_this_machine(begin))
		return true;
	return ss_fail(err, SS_EINVAL,
		"'%s' is not encrypted: anybody between the server and you could replace the file. Use https://; http:// "
		       "works for this machine only", shown);
}

/* ---- headers ---- */

static bool is_header(struct ss_str line, struct ss_str name, struct ss_str *value)
{
	if (!ss_str_istarts(line, name))
		return false;
	*value = ss_str_sub(line, name.n, line.n);
	while (value->n && (value->p[0] == ' ' || value->p[0] == '\t'))
		*value = ss_str_sub(*value, 1, value->n);
	while (value->n && (unsigned char)value->p[value->n - 1] <= ' ')
		value->n--;
	return true;
}

/* One that is too long is as good as none. */
static void keep(char *to, struct ss_str value)
{
	to[0] = '\0';
	if (value.n < SS_VALIDATOR_BYTES)
		snprintf(to, SS_VALIDATOR_BYTES, SS_FMT, SS_ARG(value));
}

/* "bytes 0-99/1234". */
static void take_range(struct answer *a, struct ss_str v)
{
	if (!ss_str_take(&v, SS_STR("bytes ")) || !ss_str_take_u64(&v, &a->first) || !ss_str_take(&v, SS_STR("-")) ||
	    !ss_str_take_u64(&v, &a->last) || !ss_str_take(&v, SS_STR("/")) || !ss_str_take_u64(&v, &a->total) || v.n)
		a->total = NO_LENGTH;
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
	struct request *r = arg;
	struct answer *a = &r->answer;
	struct ss_str line = { p, size * n }, v;
	uint64_t status;
	if (ss_str_starts(line, SS_STR("HTTP/"))) {
		size_t blank = ss_str_chr(line, ' ');
		v = ss_str_sub(line, blank == SS_NPOS ? line.n : blank + 1, line.n);
		*a = (struct answer){ .total = NO_LENGTH, .length = NO_LENGTH };
		a->status = ss_str_take_u64(&v, &status) && status < 1000 ? (unsigned)status : 0;
	} else if (is_header(line, SS_STR("etag:"), &v)) {
		keep(a->etag, v);
	} else if (is_header(line, SS_STR("last-modified:"), &v)) {
		keep(a->modified, v);
	} else if (is_header(line, SS_STR("content-range:"), &v)) {
		take_range(a, v);
	} else if (is_header(line, SS_STR("content-length:"), &v)) {
		if (!ss_str_to_u64(v, &a->length))
			a->length = NO_LENGTH;
	} else if (is_header(line, SS_STR("x-amz-bucket-region:"), &v)) {
		snprintf(a->region, sizeof(a->region), SS_FMT, SS_ARG(v));
	} else if (is_header(line, SS_STR("cache-control:"), &v)) {
		a->no_store |= ss_str_contains(v, SS_STR("no-store"));
	}
	return line.n;
}

/* ---- bodies ---- */

static bool same_file(const struct answer *a, const struct answer *b)
{
	return strcmp(a->etag, b->etag) == 0 && strcmp(a->modified, b->modified) == 0;
}

/* Is what comes what was asked for? The first answer of a file is the measure of all others. */
static bool is_expected(const struct request *r)
{
	const struct answer *a = &r->answer, *begin = &r->d->begin;
	if (a->status == 200)
		return r->whole;
	return a->status == 206 && !r->whole && a->first == r->at && a->last < r->end && a->last >= a->first &&
		a->total != NO_LENGTH &&
	       a->last < a->total && (!begin->status || (a->total == begin->total && same_file(a, begin)));
}

/* Of an answer that is no file the begin is kept: it may say why. */
static size_t on_refusal(struct answer *a, const char *p, size_t n)
{
	size_t room = sizeof(a->refusal) - a->refusal_bytes, take = n < room ? n : room;
	memcpy(a->refusal + a->refusal_bytes, p, take);
	a->refusal_bytes += take;
	return take ? n : 0;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
	struct request *r = arg;
	size_t all = size * n, done = 0;
	if (r->answer.status >= 300)
		return on_refusal(&r->answer, p, all);
	if (!r->checked && r->answer.status == 200 && !r->d->begin.status) {
		r->whole = true;	/* it gives no ranges */
		r->end = NO_LENGTH;
	}
	if (!r->checked)
		r->stop = r->answer.status == 206 && is_expected(r) ? r->answer.last + 1 : r->end;
	r->misses |= (!r->checked && !is_expected(r)) || all > r->stop - r->at;
	r->checked = true;
	if (r->misses)
		return 0;
	while (done < all) {
		ssize_t k = pwrite(r->d->fd, p + done, all - done, (off_t)(r->at + done));
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			r->error = k ? errno : ENOSPC;
			return 0;
		}
		done += (size_t)k;
	}
	r->at += all;
	return all;
}

/* ---- requests ---- */

static long quiet_s(void)
{
	const char *set = getenv("STEPSCOPE_FETCH_TIMEOUT_S");
	uint64_t n;
	return set && ss_str_to_u64(ss_str_from(set), &n) && n && n <= MOST_QUIET_S ? (long)n : QUIET_S;
}

static void set_options(struct request *r, void *c, struct curl_slist *headers)
{
	const struct ss_curl *lib = &r->d->lib;
	const char *authorities = getenv("SSL_CERT_FILE");
	lib->curl_easy_setopt(c, SS_CURLOPT_URL, r->d->url);
	lib->curl_easy_setopt(c, SS_CURLOPT_HTTPHEADER, headers);
	lib->curl_easy_setopt(c, SS_CURLOPT_USERAGENT, "stepscope/" SS_VERSION);
	lib->curl_easy_setopt(c, SS_CURLOPT_NOSIGNAL, 1L);
	lib->curl_easy_setopt(c, SS_CURLOPT_PATH_AS_IS, r->d->auth ? 1L : 0L);	/* what is signed is not to be rewritten */
	lib->curl_easy_setopt(c, SS_CURLOPT_CONNECTTIMEOUT, r->d->quiet_s < CONNECT_S ? r->d->quiet_s : CONNECT_S);
	lib->curl_easy_setopt(c, SS_CURLOPT_LOW_SPEED_LIMIT, 1L);
	lib->curl_easy_setopt(c, SS_CURLOPT_LOW_SPEED_TIME, r->d->quiet_s);
	lib->curl_easy_setopt(c, SS_CURLOPT_HEADERFUNCTION, on_header);
	lib->curl_easy_setopt(c, SS_CURLOPT_HEADERDATA, r);
	lib->curl_easy_setopt(c, SS_CURLOPT_WRITEFUNCTION, on_body);
	lib->curl_easy_setopt(c, SS_CURLOPT_WRITEDATA, r);
	if (authorities && *authorities)
		lib->curl_easy_setopt(c, SS_CURLOPT_CAINFO, authorities);
	if (strncmp(r->d->url, "http://", 7) == 0)
		lib->curl_easy_setopt(c, SS_CURLOPT_PROXY, "");
}

/* One request; what came of it is in r. Returns what libcurl says. */
static unsigned perform(struct request *r, void *c, const char *known)
{
	const struct ss_curl *lib = &r->d->lib;
	char range[64], unless[SS_VALIDATOR_BYTES + 20];
	struct curl_slist *headers = ss_auth_headers(r->d->auth, lib, NULL);
	const char *moved = NULL;
	r->answer = (struct answer){ .total = NO_LENGTH, .length = NO_LENGTH };
	r->checked = r->misses = false;
	snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)r->at, (unsigned long long)r->end - 1);
	snprintf(unless, sizeof(unless), "If-None-Match: %s", known ? known : "");
	if (known && *known)
		headers = lib->curl_slist_append(headers, unless);
	set_options(r, c, headers);
	lib->curl_easy_setopt(c, SS_CURLOPT_RANGE, r->whole ? NULL : range);
	lib->curl_easy_setopt(c, SS_CURLOPT_ERRORBUFFER, r->said);
	atomic_fetch_add(&r->d->requests, 1);
	unsigned rc = lib->curl_easy_perform(c);
	lib->curl_easy_setopt(c, SS_CURLOPT_ERRORBUFFER, NULL);
	if (r->answer.status >= 300 && r->answer.status < 400 &&
	    lib->curl_easy_getinfo(c, SS_CURLINFO_REDIRECT_URL, &moved) == SS_CURLE_OK && moved)
		r->answer.moved = strdup(moved);
	lib->curl_easy_setopt(c, SS_CURLOPT_HTTPHEADER, NULL);
	lib->curl_slist_free_all(headers);
	return rc;
}

/* Why this answer is not what was asked for. */
static bool explain_status(const struct download *d, const struct answer *a, struct ss_err *err)
{
	unsigned status = a->status;
	if (status == 416)
		return ss_fail(err, SS_EFORMAT, "'%s' is empty (status 416)", d->shown);
	if (d->auth && d->auth->explain)
		return d->auth->explain(d->auth->arg,
			&(struct ss_refusal){ status, { a->refusal, a->refusal_bytes }, a->region, d->shown }, err);
	if (status == 404 || status == 410)
		return ss_fail(err, SS_ENOTFOUND, "there is no '%s' (status %u)", d->shown, status);
	if (status == 401 || status == 403)
		return ss_fail(err, SS_EIO,
			"'%s' may not be read (status %u): stepscope sends no credentials there%s", d->shown, status,
			       strchr(d->url, '?') ? ", and the address's query (after its '?') does not allow it, or no longer"
						   : ". Use a signed address that has not expired");
	return ss_fail(err, SS_EIO, "the server answered '%s' with status %u instead of the file", d->shown, status);
}

static bool explain(const struct request *r, unsigned rc, struct ss_err *err)
{
	const struct download *d = r->d;
	const struct answer *a = &r->answer, *begin = &d->begin;
	if (r->error)
		return ss_fail(err, SS_EIO, "cannot keep '%s': %s", d->shown, strerror(r->error));
	if (r->misses && a->status == 206 && (!begin->status || (a->total == begin->total && same_file(a, begin))))
		return ss_fail(err, SS_EFORMAT, "'%s': the server answers a range request with other bytes than requested",
			d->shown);
	bool refused = a->status == 200 || a->status == 412 || a->status == 416 || (a->status == 206 && r->misses);
	if (begin->status && refused)
		return ss_fail(err, SS_EIO, "'%s' changed while it was fetched: try again", d->shown);
	if (a->status && a->status != 200 && a->status != 206)
		return explain_status(d, a, err);
	if (rc == SS_CURLE_OPERATION_TIMEDOUT)
		return ss_fail(err, SS_EBUSY, "'%s': the server sent nothing for %ld s, or could not be reached in that time",
			d->shown, d->quiet_s);
	if (rc == SS_CURLE_OK || rc == SS_CURLE_PARTIAL_FILE)
		return ss_fail(err, SS_EIO, "'%s' is incomplete: the server ended the connection after %llu bytes", d->shown,
			(unsigned long long)r->at);
	if (rc == SS_CURLE_PEER_FAILED_VERIFICATION)
		return ss_fail(err, SS_EIO,
			"'%s' cannot be fetched: the certificate of its server is not accepted (%s). SSL_CERT_FILE names a file "
			       "of authorities to trust", d->shown, r->said[0] ? r->said : d->lib.curl_easy_strerror(rc));
	bool other = rc == SS_CURLE_UNSUPPORTED_PROTOCOL || rc == SS_CURLE_GOT_NOTHING || rc == SS_CURLE_SEND_ERROR ||
		     rc == SS_CURLE_RECV_ERROR;
	other = other && !a->status && strncmp(d->url, "http://", 7) == 0;
	return ss_fail(err, SS_EIO, "'%s' cannot be fetched: %s%s", d->shown, d->lib.curl_easy_strerror(rc),
		       other ? ". A server for https:// answers http:// requests like this" : "");
}

/* Is it worth asking again? What the server says of the file is not. */
static bool may_pass(const struct request *r, unsigned rc)
{
	unsigned status = r->answer.status;
	return !r->misses && !r->error && rc != SS_CURLE_OPERATION_TIMEDOUT && (status == 0 || status == 200 || status == 206 ||
		status == 429 || status >= 500);
}

/* A range, in as many requests as it takes. */
static bool fetch_range(struct download *d, void *c, uint64_t at, uint64_t end, struct ss_err *err)
{
	struct request r = { .d = d, .at = at, .end = end };
	for (int tries = 0; r.at < r.end;) {
		uint64_t before = r.at;
		unsigned rc = perform(&r, c, NULL);
		free(r.answer.moved);
		bool miss = r.misses || (r.answer.status != 206 && r.answer.status < 500 && r.answer.status);
		tries = r.at - before >= PROGRESS_BYTES ? 0 : tries + 1;
		if (r.at < r.end && (miss || !may_pass(&r, rc) || tries == MOST_TRIES || atomic_load(&d->failed)))
			return explain(&r, rc, err);
	}
	return true;
}

static void *open_handle(const struct ss_curl *lib, const struct ss_auth *auth, struct ss_err *err)
{
	void *c = lib->curl_easy_init();
	if (!c) {
		ss_fail_mem(err);
		return NULL;
	}
	bool speaks = lib->curl_easy_setopt(c, SS_CURLOPT_PROTOCOLS_STR, "http,https") == SS_CURLE_OK;
	if (speaks && ss_auth_sign(auth, lib, c, err))
		return c;
	lib->curl_easy_cleanup(c);
	if (!speaks)
		ss_fail(err, SS_ENOTFOUND, "this needs libcurl 7.85 or later; the one that is installed is older");
	return NULL;
}

static void *work(void *arg)
{
	struct download *d = arg;
	struct ss_err err = { 0 };
	void *c = open_handle(&d->lib, d->auth, &err);
	bool ok = c;
	for (uint64_t at; ok && !atomic_load(&d->failed) && (at = atomic_fetch_add(&d->next, RANGE_BYTES)) < d->total;)
		ok = fetch_range(d, c, at, d->total - at < RANGE_BYTES ? d->total : at + RANGE_BYTES, &err);
	if (c)
		d->lib.curl_easy_cleanup(c);
	if (!ok) {
		pthread_mutex_lock(&d->lock);
		if (!atomic_exchange(&d->failed, true))
			d->err = err;
		pthread_mutex_unlock(&d->lock);
	}
	return NULL;
}

/* What lies behind the first range. This thread works, too, so that it needs no other. */
static bool fetch_rest(struct download *d, struct ss_err *err)
{
	pthread_t threads[AT_ONCE - 1];
	size_t n = 0;
	if (d->next >= d->total)
		return true;
	while (n < SS_COUNT(threads) && n + 1 < (d->total - d->next + RANGE_BYTES - 1) / RANGE_BYTES &&
		ss_thread_start(&threads[n], work, d) == 0)
		n++;
	work(d);
	while (n)
		pthread_join(threads[--n], NULL);
	return !d->failed || ss_fail(err, d->err.code, "%s", d->err.text);
}

/* ---- the first range ---- */

/* Another address for the same file. */
static bool follow(struct download *d, char **url, struct request *r, struct ss_err *err)
{
	char to[300];
	struct ss_str old = ss_str_from(*url), new = ss_str_from(r->answer.moved);
	ss_address_shown(new, to, sizeof(to));
	bool encrypted = ss_str_starts(new, SS_STR("https://")), named = ss_str_chr(origin(new), '@') != SS_NPOS;
	const char *why = named				      ? "an address with a name or a password in it"
			  : encrypted			      ? NULL
			  : !ss_str_starts(new, SS_STR("http://")) ? "an address that is neither https:// nor http://"
								   : "a server without encryption";
	if (why && !ss_str_eq(origin(old), origin(new)))
		return ss_fail(err, SS_EIO, "'%s' redirects to '%s', %s, and stepscope does not follow it", d->shown, to, why);
	free(*url);
	d->url = *url = r->answer.moved;
	r->answer.moved = NULL;
	return true;
}

static bool is_redirection(unsigned status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* The beginning of the file, or all of it where the server gives no ranges, wherever redirections lead. */
static bool fetch_begin(struct download *d, void *c, char **url, struct request *r, const char *known, struct ss_err *err)
{
	int moves = 0, tries = 0;
	for (;;) {
		*r = (struct request){ .d = d, .end = r->whole ? NO_LENGTH : d->most, .whole = r->whole };
		unsigned rc = perform(r, c, known);
		unsigned status = r->answer.status;
		if (is_redirection(status) && r->answer.moved && !(d->auth && d->auth->stays)) {
			if (++moves > MOST_REDIRECTIONS)
				return ss_fail(err, SS_EIO, "'%s' is redirected more than %d times", d->shown, MOST_REDIRECTIONS);
			if (!follow(d, url, r, err))
				return false;
			continue;
		}
		if (status == 304 && known && *known)
			return true;
		uint64_t want = status == 206 ? r->answer.last + 1 : r->answer.length;
		if (rc == SS_CURLE_OK && (status == 200 || (status == 206 && !r->misses && r->at)) && (want == NO_LENGTH ||
			r->at == want))
			return true;
		if (!may_pass(r, rc) || ++tries == MOST_TRIES)
			return explain(r, rc, err);
	}
}

static bool fetch(struct download *d, void *c, char **url, struct ss_download *out, struct ss_err *err)
{
	struct request r = { 0 };
	bool ok = fetch_begin(d, c, url, &r, out->etag, err);
	/* Pieces of a file of which nothing tells whether it changed may be of two versions. */
	bool all = d->most == RANGE_BYTES;
	if (ok && all && r.answer.status == 206 && !r.answer.etag[0] && !r.answer.modified[0] && r.at < r.answer.total) {
		r.whole = true;
		ok = fetch_begin(d, c, url, &r, NULL, err);
	}
	out->same = ok && r.answer.status == 304;
	if (!ok || out->same)
		return ok;
	d->begin = r.answer;
	out->bytes = r.answer.status == 206 ? r.answer.total : r.at;
	d->total = all ? out->bytes : r.at;
	d->next = r.at;
	memcpy(out->etag, r.answer.etag, sizeof(out->etag));
	memcpy(out->modified, r.answer.modified, sizeof(out->modified));
	out->no_store = r.answer.no_store;
	if (!d->total)
		return ss_fail(err, SS_EFORMAT, "'%s' is empty (0 bytes)", d->shown);
	return fetch_rest(d, err);
}

struct ss_connection *ss_connection_open(struct ss_err *err)
{
	struct ss_connection *c = calloc(1, sizeof(*c));
	if (!c)
		ss_fail_mem(err);
	if (c && ss_curl_load(&c->lib, err) && (c->handle = open_handle(&c->lib, NULL, err)))
		return c;
	free(c);
	return NULL;
}

void ss_connection_close(struct ss_connection *c)
{
	if (!c)
		return;
	c->lib.curl_easy_cleanup(c->handle);
	free(c);
}

bool ss_download(struct ss_connection *c, const char *url, int fd, struct ss_download *out, struct ss_err *err)
{
	struct download d = { .lib = c->lib, .auth = out->auth, .fd = fd, .quiet_s = quiet_s() };
	d.most = out->most && out->most < RANGE_BYTES ? out->most : RANGE_BYTES;
	char *at = strdup(url);
	if (!at)
		return ss_fail_mem(err);
	d.url = at;
	ss_address_shown(ss_str_from(out->named ? out->named : url), d.shown, sizeof(d.shown));
	pthread_mutex_init(&d.lock, NULL);
	bool ok = ss_auth_sign(d.auth, &d.lib, c->handle, err) && fetch(&d, c->handle, &at, out, err);
	pthread_mutex_destroy(&d.lock);
	out->requests = d.requests;
	free(at);
	return ok;
}
