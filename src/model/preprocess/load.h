/*
 * load.h - from an opened host to a loaded one.
 */
#ifndef SS_MODEL_PREPROCESS_LOAD_H
#define SS_MODEL_PREPROCESS_LOAD_H

#include "base/err.h"

struct ss_host;

/* Read and preprocess all events, unless that was done before. Safe to call from several threads. */
bool ss_host_load(struct ss_host *h, struct ss_err *err);

#endif
