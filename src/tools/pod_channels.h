/*
 * pod_channels.h - the pod viewer's table of channels: the transfers between cores in each step.
 */
#ifndef SS_TOOLS_POD_CHANNELS_H
#define SS_TOOLS_POD_CHANNELS_H

#include "model/steps/steps.h"
#include "table/cols.h"

/* Adds the table "channels". */
bool ss_pod_channels(struct ss_model *m, const struct ss_steps *steps, struct ss_result *out, struct ss_err *err);

#endif
