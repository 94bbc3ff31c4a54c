/* fetch.c - the glue to libcurl. */
#define CURL_DISABLE_TYPECHECK
#include "rpc/fetch.h"

#include <curl/curl.h>
#include <dlfcn.h>

#define FUNCTIONS(F)                                                                            \
	F(curl_easy_init) F(curl_easy_setopt) F(curl_easy_perform) F(curl_easy_getinfo)        \
	F(curl_easy_cleanup) F(curl_easy_strerror) F(curl_slist_append) F(curl_slist_free_all)

struct lib {
#define F(name) __typeof__(&(name)) name;
	FUNCTIONS(F)
#undef F
};

static bool load(struct lib *lib, struct ss_err *err)
{
	static const struct {
		const char *name;
		size_t at;
	} functions[] = {
#define F(name) { #name, offsetof(struct lib, name) },
		FUNCTIONS(F)
#undef F
	};
	void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		handle = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
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

bool ss_fetch(const char *url, const char *const *headers, struct ss_buf *body, long *status, struct ss_err *err)
{
	struct lib lib;
	struct curl_slist *list = NULL;
	if (!load(&lib, err))
		return false;
	CURL *c = lib.curl_easy_init();
	if (!c)
		return ss_fail_mem(err);
	for (; headers && *headers; headers++)
		list = lib.curl_slist_append(list, *headers);
	body->limit_bytes = SS_FETCH_BYTES;
	lib.curl_easy_setopt(c, CURLOPT_URL, url);
	lib.curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	lib.curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
	lib.curl_easy_setopt(c, CURLOPT_USERAGENT, "stepscope/" SS_VERSION);
	lib.curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	lib.curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, 10L);
	lib.curl_easy_setopt(c, CURLOPT_TIMEOUT, 30L);
	lib.curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
	lib.curl_easy_setopt(c, CURLOPT_WRITEDATA, body);
	CURLcode rc = lib.curl_easy_perform(c);
	if (rc == CURLE_OK)
		lib.curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, status);
	else if (body->over)
		ss_fail(err, SS_EFORMAT, "the answer of %s is too long", url);
	else
		ss_fail(err, SS_EIO, "no answer of %s: %s", url, lib.curl_easy_strerror(rc));
	lib.curl_slist_free_all(list);
	lib.curl_easy_cleanup(c);
	return rc == CURLE_OK;
}
