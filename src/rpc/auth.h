/*
 * auth.h - authentication of HTTP requests: headers, a signature, and the message for a refusal.
 */
#ifndef SS_RPC_AUTH_H
#define SS_RPC_AUTH_H

#include "base/err.h"
#include "base/str.h"

#define SS_AUTH_REFUSAL_BYTES 4096	/* of the body of an answer that is no success */

#define SS_REGION_BYTES 64

/* An answer that is no success. */
struct ss_refusal {
	unsigned status;
	struct ss_str body;	/* how it begins */
	const char *region;	/* x-amz-bucket-region; "": none */
	const char *shown;	/* the address that was requested, as messages show it */
};

struct ss_auth {
	const char *const *headers;	/* "Name: value", NULL-terminated; or NULL */
	const char *sigv4;		/* "aws:amz:REGION:s3": sign requests for it with the next two; NULL: do not sign */
	const char *user, *password;
	bool stays;			/* redirections are refused: they would take credentials elsewhere */
	/* Reports what a refusal means, and returns false. NULL: the message for any server is used. */
	bool (*explain)(void *arg, const struct ss_refusal *r, struct ss_err *err);
	void *arg;
};

struct ss_curl;
struct curl_slist;
/* Makes libcurl sign the request. False: this libcurl cannot. */
bool ss_auth_sign(const struct ss_auth *a, const struct ss_curl *lib, void *handle, struct ss_err *err);
/* The list with the headers of each request in front; NULL when it is empty or memory is out. */
struct curl_slist *ss_auth_headers(const struct ss_auth *a, const struct ss_curl *lib, struct curl_slist *list);

#endif
