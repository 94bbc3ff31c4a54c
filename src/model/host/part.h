/*
 * part.h - something derived from a host or a model, built once on first use, then immutable and
 * shared by all threads.
 *
 * The getter of a part stands in the part's own file:
 *
 *	const struct ss_trace *ss_host_trace(struct ss_host *h, struct ss_err *err)
 *	{
 *		return ss_part_get(&h->parts[SS_HOST_TRACE], build, release, h, err);
 *	}
 *
 * A part may use other parts of the same owner or, in a model, of its hosts, but never in a cycle.
 */
#ifndef SS_MODEL_HOST_PART_H
#define SS_MODEL_HOST_PART_H

#include "base/err.h"

#include <pthread.h>

/* Facts derived from one host; the header of the same name describes each. */
enum ss_host_part {
#define HOST_PART(name) SS_HOST_##name,
#include "model/host/parts.def"
	SS_HOST_PART_COUNT
};

typedef void *ss_build_fn(void *owner, struct ss_err *err);
typedef void ss_release_fn(void *data);

struct ss_part {
	pthread_mutex_t lock;
	bool built;
	struct ss_err *err;	/* why building failed; a failure lasts, but for lack of memory */
	void *data;
	ss_release_fn *release;
};

void ss_part_init(struct ss_part *part);
/* The part, built now if it was not; NULL on failure. */
void *ss_part_get(struct ss_part *part, ss_build_fn *build, ss_release_fn *release, void *owner, struct ss_err *err);
/* Was it built, or found to be impossible? */
bool ss_part_is_built(struct ss_part *part);
/* Store data that another function has built for the part; it is released if another thread has built the part. */
void ss_part_put(struct ss_part *part, void *data, ss_release_fn *release);
/* Store the reason why the part cannot be built; without effect if it was built. False: out of memory. */
bool ss_part_put_failure(struct ss_part *part, const struct ss_err *why);
void ss_part_release(struct ss_part *part);

#endif
