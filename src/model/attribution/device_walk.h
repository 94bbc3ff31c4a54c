/*
 * device_walk.h - one line of a device as a stream of claims: each moment goes to the innermost event. Internal to this
 * folder.
 */
#ifndef SS_MODEL_ATTRIBUTION_DEVICE_WALK_H
#define SS_MODEL_ATTRIBUTION_DEVICE_WALK_H

#include "model/attribution/build.h"

enum ss_device_event { SS_DEVICE_EVENT_FAILED, SS_DEVICE_EVENT_PASSES, SS_DEVICE_EVENT_CLAIMS };

/* Asked once for each event that lies in the window: what it claims. FAILED: memory is out. */
typedef enum ss_device_event ss_device_event_fn(void *arg, const struct ss_line *l, uint32_t i, struct ss_claim *out);

struct ss_device_walk {
	const struct ss_plane *p;
	const struct ss_line *l;
	const struct ss_windows *w;
	ss_device_event_fn *event;
	void *arg;
	uint32_t *order; /* of events; NULL: they stand in the order of time */
	size_t next, n;	 /* of these */
	int64_t now_ps;
	bool over;
	SS_VEC(struct ss_claim) open; /* innermost last */
	SS_VEC(struct ss_claim) made; /* the last one may grow until the walk is over */
	size_t given;		      /* of these */
};

/* Free `out` also where it fails. */
bool ss_device_walk_begin(struct ss_device_walk *out, const struct ss_plane *p, const struct ss_line *l,
			  const struct ss_windows *w, ss_device_event_fn *event, void *arg);
bool ss_device_walk_more(struct ss_claims *c); /* exclusive.h; `arg` is the walk */
void ss_device_walk_free(struct ss_device_walk *s);

#endif
