/* auth.c - see auth.h. */
#include "rpc/auth.h"

#include "rpc/curl.h"

#include <stddef.h>

bool ss_auth_sign(const struct ss_auth *a, const struct ss_curl *lib, void *handle, struct ss_err *err)
{
	if (!a || !a->sigv4)
		return true;
	return (lib->curl_easy_setopt(handle, SS_CURLOPT_AWS_SIGV4, a->sigv4) == SS_CURLE_OK &&
		lib->curl_easy_setopt(handle, SS_CURLOPT_USERNAME, a->user) == SS_CURLE_OK &&
		lib->curl_easy_setopt(handle, SS_CURLOPT_PASSWORD, a->password) == SS_CURLE_OK) ||
	       ss_fail(err, SS_ENOTFOUND, "this libcurl was built without signatures for S3 (AWS_SIGV4): install another one");
}

struct curl_slist *ss_auth_headers(const struct ss_auth *a, const struct ss_curl *lib, struct curl_slist *list)
{
	for (size_t i = 0; a && a->headers && a->headers[i]; i++)
		list = lib->curl_slist_append(list, a->headers[i]);
	return list;
}
