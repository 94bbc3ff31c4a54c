/*
 * fold.h - facts that combine hosts: parts of a model that are made by looking at each host in turn.
 *
 * A fold says how: what to read of a host, how to add it to what was taken of the hosts before, and
 * what to do at the end. Its result is a part of the model (part.h). Each fold can be asked for
 * alone; where hosts are visited (visit.h), several are made in one visit, so that each host is
 * opened once.
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
	/* Makes it of a model whose opener has what it takes, without a visit. NULL: a visit is needed always. */
	void *(*unvisited)(struct ss_model *m, struct ss_err *err);
};

/* The part, made now if it was not; NULL on failure. */
void *ss_fold_get(struct ss_model *m, const struct ss_fold *f, struct ss_err *err);

/*
 * Make those of the folds (at most SS_MAX_FOLDS) that were not made, in one visit. Does nothing where hosts stay open: the
 * parts of each are kept there, and facts are made when they are asked for.
 */
#define SS_MAX_FOLDS 32
bool ss_model_gather_folds(struct ss_model *m, const struct ss_fold *const *folds, size_t n, struct ss_err *err);

#endif
