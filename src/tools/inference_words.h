/*
 * inference_words.h - the conclusion of inference_profile: sentences on how slow requests spent their
 * time.
 */
#ifndef SS_TOOLS_INFERENCE_WORDS_H
#define SS_TOOLS_INFERENCE_WORDS_H

#include "tools/tool.h"

/* Reads only the tables of the first model. */
bool ss_inference_conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err);

#endif
