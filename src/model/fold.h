/*
 * fold.h - facts that combine hosts: parts of a model that are made by looking at each host in turn.
 *
 * A fold says how: what to read of a host, how to add it to what was taken of the hosts before, and
 * what to do at the end. Its result is a part of the model (part.h). Each fold can be asked for
 * alone; where hosts are visited (visit.h), ss_model_gather makes several in one visit, so that
 * each host is opened once.
 */
#ifndef SS_MODEL_FOLD_H
#define SS_MODEL_FOLD_H

#include "model/intern.h"
#include "model/visit.h"

#include <stddef.h>

/* The data of a fold: a struct with a member `intern`, whose first member is what the getter returns. */
#define SS_FOLD_DATA(type) .size = sizeof(type), .intern_at = offsetof(type, intern)

struct ss_fold {
	enum ss_model_part part;
	size_t size, intern_at; /* of the data: SS_FOLD_DATA; zeroed, but for the keeper (intern_at 0: it has none) */
	bool (*begin)(void *data, const struct ss_model *m); /* NULL: nothing else is set; false: no memory */
	/* What take() needs of the host: parts of it. NULL: nothing. */
	bool (*read)(struct ss_host *h, struct ss_err *err);
	bool (*take)(void *data, size_t i, struct ss_host *h, struct ss_err *err);
	bool (*end)(void *data, struct ss_err *err); /* NULL: nothing is left to do */
	ss_release_fn *release;
};

/* The part, made now if it was not; NULL on failure. */
void *ss_fold_get(struct ss_model *m, const struct ss_fold *f, struct ss_err *err);

/* What can be gathered. */
enum ss_facts {
	SS_FACTS_OPS = 1 << 0,		/* ops.h */
	SS_FACTS_STEPS = 1 << 1,	/* steps.h, marked steps */
	SS_FACTS_INFERRED_STEPS = 1 << 2,	/* inferred.h */
	SS_FACTS_ENV = 1 << 3,		/* env.h */
	SS_FACTS_REQUESTS = 1 << 4,	/* inference.h: latencies */
	SS_FACTS_BARRIERS = 1 << 5,	/* event_share.h */
	SS_FACTS_TRANSFERS = 1 << 6,	/* transfers.h */
	SS_FACTS_IDLE_ATTRIBUTION = 1 << 7,	/* idle_attribution.h */
	SS_FACTS_MEMORY_PEAK = 1 << 8,	/* memory.h: the device that came closest to the end of its memory */
	SS_FACTS_DUTY = 1 << 9,		/* ops.h: time that TPUs had work */
	SS_FACTS_ATTRIBUTION = 1 << 10, /* attribution.h */
};

extern const struct ss_fold ss_fold_ops, ss_fold_steps, ss_fold_inferred_steps, ss_fold_env, ss_fold_requests, ss_fold_barriers,
	ss_fold_transfers, ss_fold_idle_attribution, ss_fold_memory_peak, ss_fold_duty, ss_fold_attribution;

/*
 * Make those of the facts that are not there, in one visit. Does nothing where hosts stay open: the
 * parts of each are kept there, and facts are made when they are asked for.
 */
bool ss_model_gather(struct ss_model *m, unsigned facts, struct ss_err *err);

#endif
