/*
 * aligned.h - the same hosts with their clocks aligned (cluster.h): a model beside the model, whose
 * timeline and events have the common clock's times.
 *
 * Part of the model.
 */
#ifndef SS_MODEL_CLUSTER_ALIGNED_H
#define SS_MODEL_CLUSTER_ALIGNED_H

#include "model/clock_map.h"
#include "model/cluster/cluster.h"

/* Lives as long as the model, whose hosts are open. NULL on failure. */
struct ss_model *ss_model_aligned(struct ss_model *m, struct ss_err *err);
/*
 * For each host of an aligned model, the map from its own times to those of the common clock, which
 * begins with the first recording. A host without a collective in common with the others keeps its own
 * clock. The entry after the last host is the offset that was added to all hosts. NULL on failure.
 */
const struct ss_clock_map *ss_model_clock_maps(struct ss_model *m, struct ss_err *err);

#endif
