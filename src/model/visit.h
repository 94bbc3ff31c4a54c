/*
 * visit.h - the hosts of a model one after the other.
 *
 * A model of a few hosts holds them open. One of many (ss_model_init_visited) knows only where they
 * are: a visit opens each, reads it, takes the needed data, and closes it before memory for the
 * next is missing. Results of a visit must not point into a host (intern.h).
 *
 * Hosts are read several at a time, as many as there are cores and as their files fit into a fixed
 * number of bytes together (a file larger than that is read alone, with all cores). They are taken
 * one at a time, in the order of the model: the answer is the same however many threads there are.
 */
#ifndef SS_MODEL_VISIT_H
#define SS_MODEL_VISIT_H

#include "base/err.h"

struct ss_host;
struct ss_model;

typedef bool ss_visit_fn(void *arg, size_t i, struct ss_host *h, struct ss_err *err);

struct ss_visit {
	ss_visit_fn *read;	/* in any order, of several hosts at a time; NULL: there is nothing to read ahead */
	ss_visit_fn *take;	/* in order, one at a time */
	void *arg;
};

/*
 * If hosts fail, the failure of the first in order is reported, and the data taken until then is
 * invalid. A file that is no profile is visited as an empty host with a note (ss_host_open_among),
 * unless none of them is one.
 */
bool ss_model_visit(struct ss_model *m, const struct ss_visit *v, struct ss_err *err);

#endif
