/* bucket_ask.c - requests that are repeated, credentials that expire. */
#include "location/bucket_ask.h"

#include <time.h>

#define SOON_NS ((int64_t)120 * 1000000000)
#define TRIES 3

bool ss_bucket_ask(struct ss_bucket *b, const struct ss_question *q, struct ss_reply *r, struct ss_err *err)
{
	for (int tries = 0;; tries++) {
		const struct timespec pause = { 0, 200000000L << tries };
		struct ss_err why = { 0 };
		b->requests++;
		bool ok = ss_ask(q, r, &why);
		bool busy = ok ? r->status == 429 || r->status >= 500 : why.code == SS_EIO;
		if (!busy || tries + 1 == TRIES)
			return ok || ss_fail(err, why.code, "%s", why.text);
		ss_buf_free(&r->body);
		nanosleep(&pause, NULL);
	}
}

bool ss_expires_soon(int64_t expires_ns)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return expires_ns && expires_ns <= (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + SOON_NS;
}
