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
 * By host of an aligned model: from its own times to those of the common clock, from the moment at
 * which the first recording began. A host that nothing ties to the others keeps its own clock. Behind
 * the last host is what was added to all. NULL on failure.
 */
const struct ss_clock_map *ss_model_clock_maps(struct ss_model *m, struct ss_err *err);

#endif
