/* fetch.c - the glue to libcurl. */
#include "rpc/fetch.h"

#include "rpc/curl.h"
#include "rpc/loaded.h"

#include <stddef.h>
#include <stdio.h>

bool ss_curl_load(struct ss_curl *lib, struct ss_err *err)
{
	static const struct {
		const char *name;
		size_t at;
	} functions[] = {
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
	void *handle = NULL;
	for (size_t i = 0; i < SS_COUNT(names) && !handle; i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!handle && !ss_loads_libraries())
		return ss_fail(err, SS_ENOTFOUND, "this needs libcurl, which a static build of stepscope does not "
			       "load: use one of the wheels or packages");
	if (!handle)
		return ss_fail(err, SS_ENOTFOUND, "this needs libcurl, which is not installed: %s", dlerror());
	for (size_t i = 0; i < SS_COUNT(functions); i++) {
		void *f = dlsym(handle, functions[i].name);
		if (!f)
			return ss_fail(err, SS_ENOTFOUND, "this libcurl has no %s", functions[i].name);
		memcpy((char *)lib + functions[i].at, &f, sizeof(f));
	}
	return true;
}

static size_t take(char *p, size_t size, size_t n, void *arg)
{
	struct ss_buf *body = arg;
	ss_buf_str(body, (struct ss_str){ p, size * n });
	return body->no_memory || body->over ? 0 : size * n;
}

bool ss_fetch_version(char *text, size_t size)
{
	struct ss_curl lib;
	struct ss_err err = { 0 };
	if (ss_curl_load(&lib, &err))
		snprintf(text, size, "%s", lib.curl_version());
	return !err.code;
}

bool ss_fetch(const char *url, const char *const *headers, struct ss_buf *body, long *status, struct ss_err *err)
{
	struct ss_curl lib;
	struct curl_slist *list = NULL;
	if (!ss_curl_load(&lib, err))
		return false;
	void *c = lib.curl_easy_init();
	if (!c)
		return ss_fail_mem(err);
	if (lib.curl_easy_setopt(c, SS_CURLOPT_PROTOCOLS_STR, "http,https") != SS_CURLE_OK) {
		lib.curl_easy_cleanup(c);
		return ss_fail(err, SS_ENOTFOUND, "this needs libcurl 7.85 or later; the one that is installed is older");
	}
	for (; headers && *headers; headers++)
		list = lib.curl_slist_append(list, *headers);
	body->limit_bytes = SS_FETCH_BYTES;
	lib.curl_easy_setopt(c, SS_CURLOPT_URL, url);
	lib.curl_easy_setopt(c, SS_CURLOPT_HTTPHEADER, list);
	lib.curl_easy_setopt(c, SS_CURLOPT_USERAGENT, "stepscope/" SS_VERSION);
	lib.curl_easy_setopt(c, SS_CURLOPT_NOSIGNAL, 1L);
	lib.curl_easy_setopt(c, SS_CURLOPT_CONNECTTIMEOUT, 10L);
	lib.curl_easy_setopt(c, SS_CURLOPT_TIMEOUT, 30L);
	lib.curl_easy_setopt(c, SS_CURLOPT_WRITEFUNCTION, take);
	lib.curl_easy_setopt(c, SS_CURLOPT_WRITEDATA, body);
	unsigned rc = lib.curl_easy_perform(c);
	if (rc == SS_CURLE_OK)
		lib.curl_easy_getinfo(c, SS_CURLINFO_RESPONSE_CODE, status);
	else if (body->over)
		ss_fail(err, SS_EFORMAT, "the answer of %s is too long", url);
	else
		ss_fail(err, SS_EIO, "no answer of %s: %s", url, lib.curl_easy_strerror(rc));
	lib.curl_slist_free_all(list);
	lib.curl_easy_cleanup(c);
	return rc == SS_CURLE_OK;
}
