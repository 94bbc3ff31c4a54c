/* fetch.c - the glue to libcurl. */
#include "rpc/fetch.h"

#include "rpc/curl.h"
#include "rpc/loaded.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

bool ss_curl_load(struct ss_curl *lib, struct ss_err *err)
{
	static const struct ss_loaded_function functions[] = {
#define F(type, name, parameters) { #name, offsetof(struct ss_curl, name) },
#include "rpc/curl.def"
	};
	static const char *const names[] = {
#ifdef __APPLE__
		"libcurl.4.dylib",
#else
		"libcurl.so.4", "libcurl-gnutls.so.4",
#endif
	};
	static const struct ss_loaded curl = { "this needs libcurl", "curl", names, SS_COUNT(names) };
	void *handle = ss_load_library(&curl, err);
	return handle && ss_load_functions(handle, functions, SS_COUNT(functions), lib, "libcurl", err);
}

static size_t take(char *p, size_t size, size_t n, void *arg)
{
	struct ss_buf *body = &((struct ss_reply *)arg)->body;
	ss_buf_str(body, (struct ss_str){ p, size * n });
	return body->no_memory || body->over ? 0 : size * n;
}

static size_t take_header(char *p, size_t size, size_t n, void *arg)
{
	struct ss_reply *a = arg;
	struct ss_str line = { p, size * n };
	const struct ss_str name = SS_STR("x-amz-bucket-region:");
	if (!ss_str_istarts(line, name))
		return line.n;
	line = ss_str_sub(line, name.n, line.n);
	while (line.n && line.p[0] == ' ')
		line = ss_str_sub(line, 1, line.n);
	while (line.n && (unsigned char)line.p[line.n - 1] <= ' ')
		line.n--;
	snprintf(a->region, sizeof(a->region), SS_FMT, SS_ARG(line));
	return size * n;
}

bool ss_fetch_version(char *text, size_t size)
{
	struct ss_curl lib;
	struct ss_err err = { 0 };
	if (ss_curl_load(&lib, &err))
		snprintf(text, size, "%s", lib.curl_version());
	return !err.code;
}

static void set_options(const struct ss_curl *lib, void *c, const struct ss_question *q, struct curl_slist *headers,
	struct ss_reply *a)
{
	const char *authorities = getenv("SSL_CERT_FILE");
	lib->curl_easy_setopt(c, SS_CURLOPT_URL, q->url);
	lib->curl_easy_setopt(c, SS_CURLOPT_HTTPHEADER, headers);
	lib->curl_easy_setopt(c, SS_CURLOPT_USERAGENT, "stepscope/" SS_VERSION);
	lib->curl_easy_setopt(c, SS_CURLOPT_NOSIGNAL, 1L);
	lib->curl_easy_setopt(c, SS_CURLOPT_CONNECTTIMEOUT_MS, q->timeout_ms ? q->timeout_ms : 10000L);
	lib->curl_easy_setopt(c, SS_CURLOPT_TIMEOUT_MS, q->timeout_ms ? q->timeout_ms : 30000L);
	lib->curl_easy_setopt(c, SS_CURLOPT_WRITEFUNCTION, take);
	lib->curl_easy_setopt(c, SS_CURLOPT_WRITEDATA, a);
	lib->curl_easy_setopt(c, SS_CURLOPT_HEADERFUNCTION, take_header);
	lib->curl_easy_setopt(c, SS_CURLOPT_HEADERDATA, a);
	if (q->body)
		lib->curl_easy_setopt(c, SS_CURLOPT_COPYPOSTFIELDS, q->body);
	if (q->method)
		lib->curl_easy_setopt(c, SS_CURLOPT_CUSTOMREQUEST, q->method);
	if (authorities && *authorities)
		lib->curl_easy_setopt(c, SS_CURLOPT_CAINFO, authorities);
	if (q->direct)
		lib->curl_easy_setopt(c, SS_CURLOPT_PROXY, "");
}

static void *open_handle(const struct ss_curl *lib, const struct ss_auth *auth, struct ss_err *err)
{
	void *c = lib->curl_easy_init();
	if (!c) {
		ss_fail_mem(err);
		return NULL;
	}
	if (lib->curl_easy_setopt(c, SS_CURLOPT_PROTOCOLS_STR, "http,https") == SS_CURLE_OK) {
		if (ss_auth_sign(auth, lib, c, err))
			return c;
	} else {
		ss_fail(err, SS_ENOTFOUND, "this needs libcurl 7.85 or later; the one that is installed is older");
	}
	lib->curl_easy_cleanup(c);
	return NULL;
}

bool ss_ask(const struct ss_question *q, struct ss_reply *a, struct ss_err *err)
{
	struct ss_curl lib;
	*a = (struct ss_reply){ .body.limit_bytes = q->limit_bytes ? q->limit_bytes : SS_FETCH_BYTES };
	void *c = ss_curl_load(&lib, err) ? open_handle(&lib, q->auth, err) : NULL;
	if (!c)
		return false;
	struct curl_slist *list = ss_auth_headers(q->auth, &lib, NULL);
	for (size_t i = 0; q->headers && q->headers[i]; i++)
		list = lib.curl_slist_append(list, q->headers[i]);
	set_options(&lib, c, q, list, a);
	unsigned rc = lib.curl_easy_perform(c);
	const char *named = q->named ? q->named : q->url;
	if (rc == SS_CURLE_OK)
		lib.curl_easy_getinfo(c, SS_CURLINFO_RESPONSE_CODE, &a->status);
	else if (a->body.over)
		ss_fail(err, SS_EFORMAT, "the answer from %s is too long", named);
	else
		ss_fail(err, SS_EIO, "no answer from %s: %s", named, lib.curl_easy_strerror(rc));
	lib.curl_slist_free_all(list);
	lib.curl_easy_cleanup(c);
	return rc == SS_CURLE_OK;
}

bool ss_fetch(const char *url, const char *const *headers, struct ss_buf *body, long *status, struct ss_err *err)
{
	const struct ss_question q = { .url = url, .headers = headers };
	struct ss_reply a;
	bool ok = ss_ask(&q, &a, err);
	ss_buf_free(body);
	*body = a.body;
	*status = a.status;
	return ok;
}
