/*
 * messages.h - stored overview pages and input pipeline analyses as protobuf: OverviewPage and
 * InputPipelineAnalysisResult, which TensorBoard's plug-in turned into tables when it was asked.
 */
#ifndef SS_LEGACY_MESSAGES_H
#define SS_LEGACY_MESSAGES_H

#include "legacy/answers.h"

struct ss_host;

bool ss_legacy_overview_message(const struct ss_request *q, const struct ss_host *h, struct ss_result *out, struct ss_err *err);
bool ss_legacy_input_message(const struct ss_request *q, const struct ss_host *h, struct ss_result *out, struct ss_err *err);
/* Means and extremes of the steps of several hosts on other hardware than TPUs, as properties, anew from the rows. */
bool ss_legacy_sum_up_steps(struct ss_table *steps);

#endif
