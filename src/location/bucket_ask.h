/* bucket_ask.h - what the kinds of buckets share when they ask their server. */
#ifndef SS_LOCATION_BUCKET_ASK_H
#define SS_LOCATION_BUCKET_ASK_H

#include "location/bucket.h"
#include "rpc/fetch.h"

/* Asks again, up to three times, where the server is busy or the connection breaks. Each try counts among b->requests. */
bool ss_bucket_ask(struct ss_bucket *b, const struct ss_question *q, struct ss_reply *r, struct ss_err *err);
/* Do credentials with this time of expiry, 0 for none, need to be renewed? */
bool ss_expires_soon(int64_t expires_ns);

#endif
