/*
 * fetch.h - one request over HTTP or HTTPS with libcurl, which is loaded when it is first needed: if
 * it were linked, every start of the program would load it and its own libraries.
 */
#ifndef SS_RPC_FETCH_H
#define SS_RPC_FETCH_H

#include "base/buf.h"
#include "rpc/auth.h"

#define SS_FETCH_BYTES ((size_t)1 << 20) /* a longer answer is refused */

struct ss_question {
	const char *url;
	const char *named;		/* what messages call it; NULL: the address */
	const char *method;		/* NULL: GET, or POST with a body */
	const char *body;		/* NULL: none */
	const char *const *headers;	/* "Name: value", NULL-terminated; NULL: none */
	const struct ss_auth *auth;	/* NULL: nothing else is sent */
	long timeout_ms;		/* 0: 30 s, 10 s of it to connect */
	size_t limit_bytes;		/* of the answer; 0: SS_FETCH_BYTES */
	bool direct;			/* past any proxy */
};

struct ss_reply {
	long status;
	struct ss_buf body;		/* whatever the status; to be freed */
	char region[SS_REGION_BYTES];	/* x-amz-bucket-region; "": none */
};

/* Redirections are not followed. SS_ENOTFOUND without libcurl, SS_EIO when there is no answer. */
bool ss_ask(const struct ss_question *q, struct ss_reply *a, struct ss_err *err);
/*
 * The body of the answer, whatever its status. `headers` are "Name: value", NULL-terminated or
 * NULL. Redirections are not followed; 30 s at most. SS_ENOTFOUND without libcurl, SS_EIO when
 * there is no answer.
 */
bool ss_fetch(const char *url, const char *const *headers, struct ss_buf *body, long *status, struct ss_err *err);
/* "libcurl/7.88.1 ...", of the one that would be loaded; false when there is none. */
bool ss_fetch_version(char *text, size_t size);

#endif
