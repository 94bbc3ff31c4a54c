/*
 * fold.h - facts that combine hosts: parts of a model that are made by looking at each host in turn.
 *
 * A fold has three functions: read a host, add it to the data of the previous hosts, and finish.
 * Its result is a part of the model (part.h). Each fold can be made alone; where hosts are visited
 * (visit.h), one visit makes several folds, so that each host is opened once.
 */
#ifndef SS_MODEL_FOLD_H
#define SS_MODEL_FOLD_H

#include "base/intern.h"
#include "model/host/part.h"
#include "model/model.h"
#include "model/visit.h"

#include <stddef.h>

/* The data of a fold: a struct with a member `intern`, whose first member is what the getter returns. */
#define SS_FOLD_DATA(type) .size = sizeof(type), .intern_at = offsetof(type, intern)

/* A part of a host, and how it is built. */
struct ss_host_fact {
	enum ss_host_part part;
	ss_build_fn *build;
	ss_release_fn *release;
};

const void *ss_host_fact_get(struct ss_host *h, const struct ss_host_fact *f, struct ss_err *err);

struct ss_fold {
	enum ss_model_part part;
	size_t size, intern_at; /* of the data: SS_FOLD_DATA; zeroed, except for the intern (intern_at 0: there is none) */
	const struct ss_host_fact *of; /* the fact of each host that take() gets; NULL: read() chooses, and take() gets NULL */
	bool (*begin)(void *data, const struct ss_model *m); /* NULL: nothing else is set; false: no memory */
	bool (*read)(struct ss_host *h, struct ss_err *err); /* builds the parts of the host that take() will ask for */
	bool (*take)(void *data, size_t i, struct ss_host *h, const void *fact, struct ss_err *err);
	bool (*end)(void *data, struct ss_err *err); /* NULL: nothing is left to do */
	ss_release_fn *release;
	/* Makes the fact of a model whose opener provides its data, without a visit. NULL: a visit is needed always. */
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
