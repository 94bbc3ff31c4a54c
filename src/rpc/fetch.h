/*
 * fetch.h - one GET over HTTP or HTTPS, by libcurl, which is loaded when it is first needed:
 * linked, it and what it drags in would be read at every start of the program.
 */
#ifndef SS_RPC_FETCH_H
#define SS_RPC_FETCH_H

#include "base/buf.h"

#define SS_FETCH_BYTES ((size_t)1 << 20) /* a longer answer is refused */

/*
 * The body of the answer, whatever its status. `headers` are "Name: value", NULL-terminated or
 * NULL. Redirections are not followed; 30 s at most. SS_ENOTFOUND without libcurl, SS_EIO when
 * there is no answer.
 */
bool ss_fetch(const char *url, const char *const *headers, struct ss_buf *body, long *status, struct ss_err *err);
/* "libcurl/7.88.1 ...", of the one that would be loaded; false when there is none. */
bool ss_fetch_version(char *text, size_t size);

#endif
